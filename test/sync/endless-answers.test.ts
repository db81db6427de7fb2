/** Servers with endless or nonsensical responses. */
import { createServer, type Server, type ServerResponse } from "node:http"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { exitFrom } from "../../cli/context/error-report.ts"
import { type Timeouts, remoteAt } from "../../sync/device/exchange/remote.ts"

let server: Server | undefined
afterEach(async () => {
  server?.closeAllConnections()
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)))
  server = undefined
})
const listening = async (answer: (response: ServerResponse, asked: number, url: URL) => void): Promise<string> => {
  let asked = 0
  server = createServer((request, response) => answer(response, ++asked, new URL(request.url!, "http://x"))).listen(
    0,
    "127.0.0.1"
  )
  await once(server, "listening")
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
const shape = (response: ServerResponse, offset: string, messages: ReadonlyArray<unknown>, status = 200): void => {
  response.writeHead(status, {
    "content-type": "application/json",
    "electric-handle": "1-1-1-1",
    "electric-offset": offset,
    "electric-schema": "{}"
  })
  response.end(JSON.stringify(messages))
}
const event = (position: number, data = "{}") => ({
  key: `"journal"/"${position}"`,
  headers: { operation: "insert" },
  value: {
    position: String(position),
    stream: "lamp:1",
    version: String(position),
    type: "lamp.updated",
    data,
    command_id: "c",
    actor_id: null,
    replica_id: null,
    recorded_at: "2026-06-18T12:00:00.000Z"
  }
})
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => exitFrom(undefined),
    (cause: unknown) => exitFrom(cause)
  )
const patience: Timeouts = { call: 400, news: 400, pull: 60_000 }
const patient = { ...patience, news: 30_000 }
const pulled = async (url: string, how: Timeouts = patience) => {
  const positions: Array<number> = []
  const { code, message } = await failureOf(
    remoteAt(url, "t", how).pull(
      1,
      { offset: "0_0", handle: "1-1-1-1" },
      {
        chunk: async ({ events }) => {
          positions.push(...events.map(({ position }) => position))
        },
        refetch: async () => {}
      }
    )
  )
  return { positions, code, message }
}

/** Either limit may be reached first, as waits between requests are random. */
const too_long = /nothing new for 0\.4 seconds|it says the same again and again/

describe("a device's pull", () => {
  it.each<[string, Parameters<typeof listening>[0], Timeouts, RegExp]>([
    ["sends empty answers until the wait for news is over", (to) => shape(to, "0_0", []), patience, too_long],
    ["sends the same empty answer too often", (to) => shape(to, "0_0", []), patient, /the same again and again/],
    ["sends the same event again and again", (to) => shape(to, "1_1", [event(1)]), patience, too_long],
    ["accepts the request and never answers", () => {}, patience, /nothing new for/]
  ])("ends as a network failure if the server %s", async (_, answer, how, words) => {
    expect(await pulled(await listening(answer), how)).toMatchObject({ code: 7, message: expect.stringMatching(words) })
  })
  it("ends as a network failure if the server sends events for ever, and keeps those received", async () => {
    const url = await listening((response, asked) => shape(response, `${asked}_1`, [event(asked)]))
    const { positions, code, message } = await pulled(url, { ...patience, news: 60_000, pull: 400 })
    expect([code, message]).toEqual([7, expect.stringContaining("there is more")])
    expect(positions.length).toBeGreaterThan(1)
    expect(positions).toEqual(positions.map((_, at) => at + 1))
  })
  it("ends as a network failure if the server restarts its history at each request", async () => {
    const url = await listening((response, asked) => {
      response.writeHead(409, { "content-type": "application/json", "electric-handle": `1-1-1-${asked}` })
      response.end(JSON.stringify([{ headers: { control: "must-refetch" } }]))
    })
    expect((await pulled(url, { ...patience, news: 20_000 })).code).toBe(7)
  })
  it("does not time out while received events are being stored", async () => {
    const url = await listening((response, asked) =>
      shape(response, `${asked}_1`, asked < 3 ? [event(asked)] : [{ headers: { control: "up-to-date" } }])
    )
    await expect(
      remoteAt(url, "t", patience).pull(
        1,
        { offset: "0_0", handle: "1-1-1-1" },
        { chunk: () => new Promise((resolve) => setTimeout(resolve, 2 * patience.news)), refetch: async () => {} }
      )
    ).resolves.toBeUndefined()
  })
})

describe("pages of a fill", () => {
  it.each(["rows", "checksums"] as const)(
    "end as a network failure if the same page of %s comes again",
    async (kind) => {
      const url = await listening((response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.end(
          JSON.stringify({ page: { position: 5, offset: "5_1", events: [], sections: [], sums: [], next: "lamps:7" } })
        )
      })
      const asked = { handle: "h", offset: "5_1", after: "lamps:7" }
      expect(await failureOf(remoteAt(url, "t", patience)[kind](1, asked))).toMatchObject({
        code: 7,
        message: expect.stringContaining("the same rows come again")
      })
    }
  )
})

describe("an invalid response of the server", () => {
  const deep = `${"[".repeat(3_000)}1${"]".repeat(3_000)}`
  it("is refused with a message if it nests three thousand levels deep", async () => {
    const url = await listening((response) => {
      response.end(`{"verdicts":${deep}}`)
    })
    expect(await failureOf(remoteAt(url, "t", patience).push(1, []))).toMatchObject({
      code: 1,
      message: expect.stringContaining("nests deeper than")
    })
  })
  it("is refused with a message if an event in it nests three thousand levels deep", async () => {
    const url = await listening((response) =>
      shape(response, "1_1", [event(1, deep), { headers: { control: "up-to-date" } }])
    )
    expect(await pulled(url)).toMatchObject({
      code: 1,
      message: expect.stringContaining("nests deeper than"),
      positions: []
    })
  })
  it("is refused with a message if it is not JSON", async () => {
    const url = await listening((response) => {
      response.end("<html>Log in to the hotel's network</html>")
    })
    expect(await failureOf(remoteAt(url, "t", patience).push(1, []))).toMatchObject({
      code: 1,
      message: expect.stringContaining("Is it a Flightcase server?")
    })
  })
})
