import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { afterItsWord, httpClientAt, jsonOf, textOf, Unreachable } from "../../sync/http-client.ts"

type HttpClientOptions = Parameters<typeof httpClientAt>[0]

describe("the HTTP client", () => {
  const opened: Array<() => void> = []
  afterEach(() => {
    for (const close of opened.splice(0)) close()
  })

  /** A server with this response, and the requests it received. */
  const serving = async (
    answer: (request: IncomingMessage, response: ServerResponse, asked: number) => void,
    options: Partial<HttpClientOptions> = {}
  ) => {
    const asked: Array<IncomingMessage & { body?: string }> = []
    const server = createServer((request, response) => {
      let body = ""
      request.on("data", (part) => (body += part))
      request.on("end", () => {
        asked.push(Object.assign(request, { body }))
        answer(request, response, asked.length)
      })
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    opened.push(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return { url, asked, client: httpClientAt({ url: `${url}//`, token: "secret", timeout_millis: 5_000, ...options }) }
  }
  const refusing =
    (status: number, retry_after?: string) =>
    (_: IncomingMessage, response: ServerResponse, asked: number): void => {
      if (asked > 2) return void response.end("{}")
      response.writeHead(status, retry_after === undefined ? {} : { "retry-after": retry_after }).end("{}")
    }

  it("sends the token, and plain data as JSON", async () => {
    const { client, asked } = await serving((_, response) => response.writeHead(201).end(`{"made":[1]}`))
    const answer = await client.send({
      method: "POST",
      path: "/things?a=1",
      body: { name: "é" },
      headers: { "x-own": "1" }
    })
    expect([answer.status, jsonOf(answer), textOf(answer)]).toEqual([201, { made: [1] }, `{"made":[1]}`])
    expect(asked[0]).toMatchObject({ method: "POST", url: "/things?a=1", body: `{"name":"é"}` })
    expect(asked[0]!.headers).toMatchObject({
      authorization: "Bearer secret",
      "content-type": "application/json",
      accept: "application/json",
      "x-own": "1"
    })
  })
  it("sends forms as multipart, and no authorization header without a token", async () => {
    const { client, asked } = await serving((_, response) => response.end(), { token: "" })
    const form = new FormData()
    form.set("name", "A file")
    await client.send({ method: "POST", path: "/", body: form })
    expect(asked[0]!.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/)
    expect(asked[0]!.headers["authorization"]).toBeUndefined()
  })
  it("retries 429 and 425 that carry Retry-After, and does not retry 503", async () => {
    for (const status of [429, 425]) {
      const { client, asked } = await serving(refusing(status, "0"), { again: afterItsWord(5, 60) })
      expect((await client.send({ method: "POST", path: "/", body: 1 })).status).toBe(200)
      expect(asked.map(({ body }) => body)).toEqual(["1", "1", "1"])
    }
    const other = await serving(refusing(503, "0"), { again: afterItsWord(5, 60) })
    expect((await other.client.send({ method: "GET", path: "/" })).status).toBe(503)
  })
  it("returns a 429 whose Retry-After is too long or no number, or that repeats too often", async () => {
    const handed = async (retry_after: string, times: number): Promise<[number, number]> => {
      const { client, asked } = await serving(refusing(429, retry_after), { again: afterItsWord(times, 60) })
      return [(await client.send({ method: "GET", path: "/" })).status, asked.length]
    }
    expect(await handed("61", 5)).toEqual([429, 1])
    // A month's quota that is used up.
    expect(await handed("2592000", 5)).toEqual([429, 1])
    expect(await handed("Wed, 21 Oct 2026 07:28:00 GMT", 5)).toEqual([429, 1])
    expect(await handed("0", 1)).toEqual([429, 2])
  })
  it("waits for the seconds of Retry-After", async () => {
    const begun = performance.now()
    const { client } = await serving(
      (_, response, asked) => (asked > 1 ? response.end() : response.writeHead(429, { "retry-after": "1" }).end()),
      { again: afterItsWord(5, 60) }
    )
    await client.send({ method: "GET", path: "/" })
    expect(performance.now() - begun).toBeGreaterThan(950)
  })
  it("fails as unreachable, with the address and the cause, if the connection is refused", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await new Promise((resolve) => server.close(resolve))
    const error = await httpClientAt({ url, token: "", timeout_millis: 1_000 })
      .send({ method: "GET", path: "/" })
      .catch((error: unknown) => error)
    expect(error).toBeInstanceOf(Unreachable)
    expect(error).toMatchObject({ url, message: `The server at ${url} cannot be reached.` })
    expect(String((error as Error & { cause: Error & { cause: Error } }).cause.cause)).toContain("ECONNREFUSED")
  })
  it("fails as unreachable if a response misses its deadline, breaks off or is aborted", async () => {
    const slow = await serving((_, response) => response.writeHead(200).write("{"), { timeout_millis: 200 })
    await expect(slow.client.send({ method: "GET", path: "/" })).rejects.toThrow(Unreachable)
    const broken = await serving((_, response) => {
      response.writeHead(200, { "content-length": "9" }).write("{")
      setTimeout(() => response.destroy(), 20)
    })
    await expect(broken.client.send({ method: "GET", path: "/" })).rejects.toThrow(Unreachable)
    const held = await serving(() => {})
    const giving_up = new AbortController()
    const asked = held.client.send({ method: "GET", path: "/", signal: giving_up.signal })
    giving_up.abort()
    await expect(asked).rejects.toThrow(Unreachable)
  })
})
