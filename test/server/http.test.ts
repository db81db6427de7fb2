import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { connect, type Socket } from "node:net"
import { once } from "node:events"
import { Effect, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Listening, listenOn } from "../../server/host/http.ts"
import { makeLog } from "../../server/ports/log.ts"
import type { HttpResponse } from "../../server/http/http-message.ts"
import { openListener, owner_token, serve, type Serving } from "./serving.ts"

describe("an HTTP server on a socket", () => {
  let server: Serving
  let http: Listening
  beforeAll(async () => {
    server = await serve()
    http = await openListener(server.app.answer)
  })
  afterAll(async () => {
    await http.stop(1_000)
    await server.close()
  })
  const headers = { authorization: `Bearer ${owner_token}`, "content-type": "application/json" }

  /** Sends raw bytes and reads until the server closes, or has sent `answers` response heads. */
  const raw = async (text: string | Uint8Array, answers = 1): Promise<string> => {
    const socket = connect(Number(new URL(http.url).port), "127.0.0.1")
    let got = ""
    const enough = new Promise<void>((resolve) => {
      socket.on("data", (part) => {
        got += part
        if ((got.match(/^HTTP\/1\.1 (?!100)/gm) ?? []).length >= answers && got.endsWith("}")) resolve()
      })
      socket.on("close", () => resolve())
      socket.on("error", () => resolve())
    })
    await once(socket, "connect")
    socket.write(text)
    await enough
    socket.destroy()
    return got
  }
  const head = (line: string, more: ReadonlyArray<string> = []): string =>
    [line, "Host: x", `Authorization: Bearer ${owner_token}`, ...more, "", ""].join("\r\n")
  const stillServes = async () => expect((await fetch(`${http.url}/api/v1/system/health`)).status).toBe(200)

  it("sends a Content-Length, and for HEAD the same length and no body", async () => {
    const whole = await fetch(`${http.url}/api/v1/products`, { headers })
    const bare = await fetch(`${http.url}/api/v1/products`, { method: "HEAD", headers })
    expect(bare.headers.get("content-length")).toBe(whole.headers.get("content-length"))
    expect(Number(whole.headers.get("content-length"))).toBe((await whole.arrayBuffer()).byteLength)
    expect((await bare.arrayBuffer()).byteLength).toBe(0)
  })
  it("compresses a long response as its client accepts, and a short one never", async () => {
    const long = "/api/v1/permissions"
    const plain = await raw(head(`GET ${long} HTTP/1.1`))
    const body = plain.slice(plain.indexOf("\r\n\r\n") + 4)
    expect(plain).not.toMatch(/^content-encoding/im)
    for (const [accepted, coding] of [
      ["gzip", "gzip"],
      ["gzip, br", "br"],
      ["gzip;q=0, identity", null]
    ] as const) {
      const got = await fetch(http.url + long, { headers: { ...headers, "accept-encoding": accepted } })
      expect([accepted, got.headers.get("content-encoding"), await got.text()]).toEqual([accepted, coding, body])
      expect(got.headers.get("vary")).toBe("accept-encoding")
    }
    const short = await fetch(`${http.url}/api/v1/system/health`, { headers: { "accept-encoding": "gzip" } })
    expect(short.headers.get("content-encoding")).toBeNull()
  })
  it("lets pages of the origins in api.cors_origins call the API, and refuses others with the reason", async () => {
    const origin = "https://shop.example"
    const asked = (more: { readonly [name: string]: string }, method = "GET", token: string | null = owner_token) =>
      server.ask("/api/v1/products", { method, token, headers: { origin, ...more } })
    const preflight = () => asked({ "access-control-request-method": "POST" }, "OPTIONS", null)
    const refused = await preflight()
    expect([refused.status, refused.body.message, refused.headers["access-control-allow-origin"]]).toEqual([
      403,
      expect.stringContaining("api.cors_origins"),
      undefined
    ])
    const allow = (cors_origins: ReadonlyArray<string>) =>
      server.ask("/api/v1/settings/api", { method: "PUT", json: { settings: { cors_origins } } })
    expect((await allow([origin])).status).toBe(200)
    expect(await preflight()).toMatchObject({
      status: 204,
      headers: {
        "access-control-allow-origin": origin,
        "access-control-allow-headers": expect.stringContaining("authorization")
      }
    })
    for (const token of [owner_token, "none"])
      expect((await asked({}, "GET", token)).headers["access-control-allow-origin"]).toBe(origin)
    expect((await asked({ origin: "https://other.example" })).headers["access-control-allow-origin"]).toBeUndefined()
    expect((await allow([])).status).toBe(200)
  })
  it("sends a JSON response and its headers in a single write", async () => {
    const writes: Array<string> = []
    const watch = (message: unknown): void => {
      const { socket } = message as { readonly socket: Socket }
      const write = socket._write.bind(socket),
        writev = socket._writev?.bind(socket)
      socket._write = (chunk, encoding, done) => {
        writes.push(String(chunk))
        write(chunk, encoding, done)
      }
      socket._writev = (chunks, done) => {
        writes.push(...chunks.map(({ chunk }) => String(chunk)))
        writev?.(chunks, done)
      }
    }
    subscribe("net.server.socket", watch)
    try {
      expect(await raw(head("GET /api/v1/products?per_page=1 HTTP/1.1", ["Connection: close"]))).toMatch(
        /^HTTP\/1\.1 200 /
      )
    } finally {
      unsubscribe("net.server.socket", watch)
    }
    expect(writes).toHaveLength(1)
    expect(writes[0]).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\r\n\{"products":[^]*\}$/)
  })
  it("limits a body without a Content-Length by the bytes that arrive", async () => {
    const stream = (length: number) =>
      new ReadableStream({
        start: (to) => {
          for (let left = length; left > 0; left -= 65_536)
            to.enqueue(new Uint8Array(Math.min(left, 65_536)).fill(0x20))
          to.close()
        }
      })
    const send = (length: number) =>
      fetch(`${http.url}/api/v1/products`, {
        method: "POST",
        headers,
        body: stream(length),
        duplex: "half"
      } as RequestInit)
    expect((await send(1_048_576)).status).toBe(422)
    expect((await send(1_048_577)).status).toBe(413)
    expect((await send(5_000_000)).status).toBe(413)
  })
  it("refuses a body declared far too long at once, and ends the connection", async () => {
    const got = await raw(
      head("POST /api/v1/products HTTP/1.1", ["Content-Type: application/json", "Content-Length: 99999999999"]) + "{"
    )
    expect(got).toMatch(/^HTTP\/1\.1 413 /)
    expect(got.toLowerCase()).toContain("connection: close")
    await stillServes()
  })
  it("does not take an unread body for the next request", async () => {
    const body = `{"name":"smuggled"}`
    const first = head("GET /api/v1/products/999999 HTTP/1.1", [`Content-Length: ${body.length}`]) + body
    const got = await raw(first + head("GET /api/v1/products?per_page=1 HTTP/1.1", ["Connection: close"]), 2)
    expect(got).toMatch(/^HTTP\/1\.1 404 /)
    // The next request is answered, or the connection is closed before.
    expect(got.match(/HTTP\/1\.1 \d+ /g)?.slice(1)).toEqual(expect.toBeOneOf([[], ["HTTP/1.1 200 "]]))
    await stillServes()
  })
  it.each([
    ["no HTTP at all", "hello there\r\n\r\n"],
    ["a TLS greeting", new Uint8Array([0x16, 0x03, 0x01, 0x00, 0xa5, 0x01, 0x00, 0x00, 0xa1, 0x03, 0x03])],
    [
      "both a length and chunks",
      "POST /api/v1/products HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ],
    ["a header with a NUL", "GET / HTTP/1.1\r\nHost: x\r\nX-Y: a\u0000b\r\n\r\n"],
    ["a chunk without a size", "POST /api/v1/products HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]
  ])("answers 400 as JSON for %s", async (_, text) => {
    const got = await raw(text)
    expect(got).toMatch(/^HTTP\/1\.1 400 /)
    expect(JSON.parse(got.slice(got.indexOf("\r\n\r\n") + 4)).message).toBeTypeOf("string")
    await stillServes()
  })
  it("answers Expect: 100-continue, and refuses an unknown expectation as JSON", async () => {
    const sent = (expectation: string): string =>
      head("POST /api/v1/product_groups HTTP/1.1", [
        "Content-Type: application/json",
        `Expect: ${expectation}`,
        "Content-Length: 13"
      ]) + `{"name":"Go"}`
    expect(await raw(sent("100-continue"))).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /)
    const other = await raw(sent("a-miracle"))
    expect(other).toMatch(/^HTTP\/1\.1 417 /)
    expect(JSON.parse(other.slice(other.indexOf("\r\n\r\n") + 4)).message).toBeTypeOf("string")
    await stillServes()
  })
  it("answers 401 for a long body without a token, and keeps the connection usable", async () => {
    const sent = (authorization: ReadonlyArray<string>) =>
      [
        "POST /api/v1/products HTTP/1.1",
        "Host: x",
        ...authorization,
        "Content-Type: application/json",
        "Content-Length: 3000000",
        "",
        ""
      ].join("\r\n") + " ".repeat(3_000_000)
    const got = await raw(sent([]) + sent([`Authorization: Bearer ${owner_token}`, "Connection: close"]), 2)
    expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 401", "HTTP/1.1 413"])
    expect(
      got
        .toLowerCase()
        .match(/^connection: .*$/gm)
        ?.map((line) => line.trim())
    ).toEqual(["connection: keep-alive", "connection: close"])
  })
  it("answers a request to upgrade the protocol in HTTP/1.1", async () => {
    const body = `{"name":"Upgraded"}`
    const offer = [
      "Content-Type: application/json",
      "Connection: Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA",
      `Content-Length: ${body.length}`
    ]
    expect(await raw(head("POST /api/v1/product_groups HTTP/1.1", offer) + body)).toMatch(/^HTTP\/1\.1 201 /)
  })
  it("refuses a request header of 100,000 characters", async () => {
    expect(await raw(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(100_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /)
    await stillServes()
  })
  it("answers a request with an absolute URL, and refuses an invalid path with 400 or 404", async () => {
    expect(await raw(head("GET http://elsewhere.example/api/v1/products HTTP/1.1", ["Connection: close"]))).toMatch(
      /^HTTP\/1\.1 200 /
    )
    expect(await raw(head("GET * HTTP/1.1", ["Connection: close"]))).toMatch(/^HTTP\/1\.1 (400|404) /)
    expect(await raw(head("GET /%%%/%c0%ae HTTP/1.1", ["Connection: close"]))).toMatch(/^HTTP\/1\.1 404 /)
  })
  it("survives clients that hang up in the middle of a body or response", async () => {
    for (let times = 0; times < 20; times++) {
      const socket = connect(Number(new URL(http.url).port), "127.0.0.1")
      socket.on("error", () => {})
      await once(socket, "connect")
      socket.write(
        times % 2 === 0
          ? head("POST /api/v1/products HTTP/1.1", ["Content-Type: application/json", "Content-Length: 1000"]) + `{"na`
          : head("GET /api/v1/openapi.json HTTP/1.1")
      )
      await new Promise((resolve) => setImmediate(resolve))
      socket.resetAndDestroy()
    }
    await stillServes()
  })
  it("repeats a valid request id in its response, and forbids sniffing and storing", async () => {
    const response = await fetch(`${http.url}/api/v1/products`, { headers: { ...headers, "x-request-id": "ok-1" } })
    expect(response.headers.get("x-request-id")).toBe("ok-1")
    expect(response.headers.get("x-content-type-options")).toBe("nosniff")
    expect(response.headers.get("cache-control")).toBe("no-store")
  })
})

describe("a socket with a custom handler", () => {
  const listening = async <A>(
    answer: Effect.Effect<HttpResponse>,
    use: (url: string, said: () => string) => Promise<A>
  ): Promise<A> => {
    let said = ""
    const log = makeLog({
      write: (text) => {
        said += text
      },
      human: false,
      least: "info"
    })
    const http = await listenOn({ host: "127.0.0.1", port: 0, log, answer: () => answer })
    try {
      return await use(http.url, () => said)
    } finally {
      await http.stop(1_000)
    }
  }
  it.each([1_024, 65_535, 65_536, 300_000])("compresses bodies of %s bytes without changing them", async (length) => {
    const body = JSON.stringify({ text: "Ünïcode ".repeat(length) }).slice(0, length)
    const bytes = Buffer.from(body).subarray(0, length)
    const headers = { "content-type": "application/json" }
    for (const sent of [body, bytes])
      await listening(Effect.succeed({ status: 200, headers, body: sent }), async (url) => {
        for (const coding of ["gzip", "br"]) {
          const got = await fetch(url, { headers: { "accept-encoding": coding } })
          expect(got.headers.get("content-encoding")).toBe(coding)
          expect(Buffer.from(await got.arrayBuffer()).equals(Buffer.from(sent))).toBe(true)
        }
      })
  })
  it("interrupts requests whose client has hung up, silently", async () => {
    let begin = (): void => {},
      end = (): void => {}
    const begun = new Promise<void>((resolve) => {
        begin = resolve
      }),
      interrupted = new Promise<void>((resolve) => {
        end = resolve
      })
    await listening(
      Effect.onInterrupt(
        Effect.andThen(
          Effect.sync(() => begin()),
          Effect.never
        ),
        () => Effect.sync(() => end())
      ),
      async (url, said) => {
        const giving_up = new AbortController()
        const asked = fetch(url, { signal: giving_up.signal })
        await begun
        giving_up.abort()
        await expect(asked).rejects.toThrow()
        await interrupted
        expect(said()).toBe("")
      }
    )
  })
  it("answers an exception with 500 without its message, ends the connection and logs it", () =>
    listening(Effect.die(new Error("a secret")), async (url, said) => {
      const response = await fetch(url)
      expect([response.status, response.headers.get("connection"), await response.json()]).toEqual([
        500,
        "close",
        { message: "Something went wrong here." }
      ])
      expect(said()).toContain("request failed outside the pipeline")
      expect(said()).toContain("a secret")
    }))
  it("answers 500 where Node refuses a header, also of a stream", async () => {
    const headers = { "x-of-two-lines": "one\ntwo" }
    for (const body of ["text", { size_bytes: 4, stream: Stream.make(Buffer.from("text")) }])
      await listening(Effect.succeed({ status: 200, headers, body }), async (url, said) => {
        expect((await fetch(url)).status).toBe(500)
        expect(said()).toContain("Invalid character in header content")
      })
  })
  it("answers requests that arrive in one turn each on its own connection, in any number", async () => {
    let count = 0
    const numbered = Effect.sync(() => ({ status: 200, headers: {}, body: String(count++) }))
    await listening(numbered, async (url) => {
      const texts = await Promise.all(Array.from({ length: 40 }, async () => (await fetch(url)).text()))
      expect(texts.map(Number).sort((one, other) => one - other)).toEqual(Array.from({ length: 40 }, (_, at) => at))
    })
  })
  it("answers others while a client sends requests ahead whose responses it does not read", async () => {
    let answered = 0
    const long = Effect.sync(() => ({ status: 200, headers: {}, body: String(++answered).padEnd(10_000) }))
    await listening(long, async (url) => {
      const ahead = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {})
      await once(ahead, "connect")
      ahead.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(200_000))
      for (let at = 0; at < 20; at++) await fetch(url)
      ahead.destroy()
      expect(answered).toBeLessThan(10_000)
    })
  })
  it("sends no body with 204, 304 and an empty 200, and a length only with 200", async () => {
    for (const [status, length] of [
      [204, null],
      [304, null],
      [200, "0"]
    ] as const) {
      await listening(Effect.succeed({ status, headers: { etag: `"1"` }, body: undefined }), async (url) => {
        const response = await fetch(url)
        expect([
          response.status,
          response.headers.get("content-length"),
          response.headers.get("transfer-encoding"),
          response.headers.get("etag")
        ]).toEqual([status, length, null, `"1"`])
      })
    }
  })
})
