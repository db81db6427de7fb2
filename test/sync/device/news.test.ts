/** What a watching device hears of the server: by streams, and by single answers where these do not pass. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { newsReader } from "../../../sync/device/exchange/news.ts"
import { Unreachable } from "../../../sync/http-client.ts"

/** Waits up to 20 seconds. */
const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 20_000 })
const event = (position: number) => ({
  key: `"public"."journal"/"${position}"`,
  value: {
    position: String(position),
    stream: "product:1",
    version: "1",
    type: "product.deleted",
    data: "{}",
    command_id: "c",
    actor_id: "1",
    replica_id: null,
    recorded_at: "2030-11-03T09:00:00.000Z"
  },
  headers: { operation: "insert", relation: ["public", "journal"], lsn: String(position), op_position: 0 }
})
const upTo = (position: number) => ({ headers: { control: "up-to-date", global_last_seen_lsn: String(position) } })
/** A batch of a stream that ends after an event. */
const batch = (...positions: ReadonlyArray<number>): string => {
  const last = positions.at(-1)!
  const messages = positions.map((position) => `data: ${JSON.stringify(event(position))}\n\n`)
  return [...messages, `id: ${last}_1\ndata: ${JSON.stringify(upTo(last))}\n\n`].join("")
}
const shape_headers = { "electric-handle": "h", "electric-up-to-date": "" }
const answered = (position: number, status = 200): Response =>
  new Response(JSON.stringify([event(position), upTo(position)]), {
    status,
    headers: { ...shape_headers, "content-type": "application/json", "electric-offset": `${position}_1` }
  })

/** A server that answers each request by the next of these, and then stays silent. */
interface Stream {
  readonly send: (text: string) => void
  readonly end: (error?: Error) => void
}
let asked: Array<{ readonly offset: string | null; readonly is_stream: boolean; readonly signal: AbortSignal }>
let answers: Array<() => Response | Error>
let streams: Array<Stream>
const readers: Array<() => void> = []
beforeEach(() => {
  asked = []
  answers = []
  streams = []
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, { signal } = {}) => {
    const query = new URL(String(url)).searchParams
    asked.push({ offset: query.get("offset"), is_stream: query.get("live_sse") === "true", signal: signal! })
    const answer = answers.shift()?.()
    if (answer instanceof Error) throw answer
    return (
      answer ?? new Promise<Response>((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)))
    )
  })
})
afterEach(() => {
  for (const close of readers.splice(0)) close()
  vi.restoreAllMocks()
  vi.useRealTimers()
})
const stream =
  (...begun: ReadonlyArray<string>) =>
  (): Response => {
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>({
      start: (control) => {
        const send = (text: string): void => control.enqueue(encoder.encode(text))
        streams.push({ send, end: (error) => (error === undefined ? control.close() : control.error(error)) })
        ;[": following\n\n", ...begun].forEach(send)
      }
    })
    return new Response(body, { headers: { ...shape_headers, "content-type": "text/event-stream" } })
  }
const reader = (offset = "7_1") => {
  const place = { url: "http://server", token: "t", replica_id: 1, offset, handle: "h" }
  const { close, next } = newsReader(async () => ({ ...place }))
  readers.push(close)
  return { place, next: (signal = new AbortController().signal) => next(signal) }
}
const shown = (news: Awaited<ReturnType<ReturnType<typeof reader>["next"]>>) =>
  news && [news.after, news.events.map(({ position }) => position), news.offset]

describe("the news of a watching device", () => {
  it("comes by one request as long as its stream lasts, and by the next one from where it ended", async () => {
    const { next, place } = reader()
    answers = [stream(batch(8)), stream(batch(12))]
    expect(shown(await next())).toEqual(["7_1", [8], "8_1"])
    place.offset = "8_1"
    const waiting = next()
    // In parts that end anywhere.
    const text = batch(9, 10)
    streams[0]!.send(text.slice(0, 40))
    streams[0]!.send(text.slice(40))
    expect(shown(await waiting)).toEqual(["8_1", [9, 10], "10_1"])
    place.offset = "10_1"
    streams[0]!.end()
    expect(shown(await next())).toEqual(["10_1", [12], "12_1"])
    expect(asked.map(({ is_stream, offset }) => [offset, is_stream])).toEqual([
      ["7_1", true],
      ["10_1", true]
    ])
  })

  it("is whole where several batches came meanwhile, without what a sync has fetched", async () => {
    const { next, place } = reader()
    answers = [stream(batch(8), batch(9), batch(10))]
    await eventually(async () => expect(shown(await next())).toEqual(["7_1", [8, 9, 10], "10_1"]))
    place.offset = "9_1"
    expect(shown(await next())).toEqual(["9_1", [10], "10_1"])
    expect(asked).toHaveLength(1)
  })

  it("is fetched again where the device stands elsewhere", async () => {
    const { next, place } = reader()
    answers = [stream(batch(8)), stream(batch(22)), stream(batch(31))]
    await next()
    place.offset = "20_1"
    expect(shown(await next())).toEqual(["20_1", [22], "22_1"])
    expect(asked[0]!.signal.aborted).toBe(true)
    place.offset = "22_9"
    expect(shown(await next())).toEqual(["22_9", [31], "31_1"])
    place.handle = "other"
    next().catch(() => {})
    await eventually(() => expect(asked.map(({ offset }) => offset)).toEqual(["7_1", "20_1", "22_9", "22_9"]))
  })

  it("goes to the last of several waits, and an aborted wait ends its request", async () => {
    const { next } = reader()
    const stop = new AbortController()
    answers = [stream()]
    const first = next()
    await eventually(() => expect(streams).toHaveLength(1))
    const second = next(stop.signal)
    streams[0]!.send(batch(8))
    expect(await first).toBeUndefined()
    expect(shown(await second)).toEqual(["7_1", [8], "8_1"])
    stop.abort()
    expect(asked[0]!.signal.aborted).toBe(true)
  })

  it("comes by single answers of servers without streams, which may have nothing new", async () => {
    const { next, place } = reader()
    answers = [() => answered(7), () => answered(8), () => answered(9)]
    expect(shown(await next())).toEqual(["7_1", [8], "8_1"])
    place.offset = "8_1"
    expect(shown(await next())).toEqual(["8_1", [9], "9_1"])
  })

  it.each<[string, () => Response]>([
    ["refuses the request", () => answered(8, 409)],
    ["answers for another handle", () => new Response("[]", { headers: { "electric-offset": "8_1" } })],
    [
      "answers without an end",
      () => new Response("[]", { headers: { "electric-handle": "h", "electric-offset": "8_1" } })
    ],
    ["sends what cannot be read", stream(`id: 8_1\ndata: {"value": 1}\n\n`)],
    ["sends what is no JSON", stream(`id: 8_1\ndata: {\n\n`)]
  ])("is left to a sync where the server %s", async (_, answer) => {
    answers = [answer]
    expect(await reader().next()).toBeUndefined()
  })

  it.each<[string, () => Response | Error]>([
    ["cannot be reached", () => new TypeError("fetch failed")],
    ["is unavailable", () => new Response("{}", { status: 503 })],
    ["limits requests", () => new Response("{}", { status: 429 })]
  ])("fails where the server %s", async (_, answer) => {
    answers = [answer]
    await expect(reader().next()).rejects.toBeInstanceOf(Unreachable)
  })

  it("fails after a stream that broke, once what it brought is known", async () => {
    const { next, place } = reader()
    answers = [stream(batch(8))]
    await next()
    streams[0]!.send(batch(9))
    streams[0]!.end(new TypeError("terminated"))
    place.offset = "8_1"
    expect(shown(await next())).toEqual(["8_1", [9], "9_1"])
    place.offset = "9_1"
    await expect(next()).rejects.toThrow("terminated")
  })

  it("comes by single answers once streams were cut three times in a row", async () => {
    answers = [stream(), stream(), stream(), () => answered(7), () => answered(8), stream()]
    const { next, place } = reader()
    const begun = performance.now()
    const waiting = next()
    for (let at = 0; at < 3; at++) {
      await eventually(() => expect(streams).toHaveLength(at + 1))
      streams[at]!.end()
    }
    expect(shown(await waiting)).toEqual(["7_1", [8], "8_1"])
    expect(asked.map(({ is_stream }) => is_stream)).toEqual([true, true, true, false, false])
    // Requests that bring nothing and end at once are not sent a thousand times a second.
    expect(performance.now() - begun).toBeGreaterThanOrEqual(1_900)
    // Streams are tried again later.
    const later = vi.spyOn(performance, "now").mockImplementation(() => begun + 700_000)
    place.offset = "8_1"
    next().catch(() => {})
    await eventually(() => expect(asked.map(({ is_stream }) => is_stream).at(-1)).toBe(true))
    later.mockRestore()
  })

  it("does not count the requests that the device ends itself as cut", async () => {
    const { next, place } = reader()
    for (let at = 0; at < 4; at++) {
      next().catch(() => {})
      await eventually(() => expect(asked).toHaveLength(at + 1))
      place.offset = `${20 + at}_1`
    }
    next().catch(() => {})
    await eventually(() => expect(asked).toHaveLength(5))
    expect(asked.map(({ is_stream }) => is_stream)).toEqual([true, true, true, true, true])
  })

  it("is left to a sync where a stream ends within a batch, or brings a long one without end", async () => {
    const part = (from: number, count: number): string =>
      Array.from({ length: count }, (_, at) => `data: ${JSON.stringify(event(from + at))}\n\n`).join("")
    answers = [stream(part(8, 3))]
    const waiting = reader().next()
    await eventually(() => expect(streams).toHaveLength(1))
    streams[0]!.end()
    expect(await waiting).toBeUndefined()
    answers = [stream(part(8, 2_000), part(2_008, 2_000))]
    expect(await reader().next()).toBeUndefined()
    expect(asked).toHaveLength(2)
  })

  it("comes by single answers once something on the way holds a stream back", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const waiting = reader().next()
    await vi.advanceTimersByTimeAsync(9_000)
    expect(asked.map(({ is_stream }) => is_stream)).toEqual([true])
    answers = [() => answered(8)]
    await vi.advanceTimersByTimeAsync(2_000)
    expect(shown(await waiting)).toEqual(["7_1", [8], "8_1"])
    expect(asked.map(({ is_stream, signal }) => [is_stream, signal.aborted])).toEqual([
      [true, true],
      [false, false]
    ])
  })

  it("ends a stream that brings more than the device takes", async () => {
    const { next, place } = reader("0_1")
    answers = [stream(batch(...Array.from({ length: 2_001 }, (_, at) => at + 1))), stream(batch(2_002))]
    const news = await next()
    expect(news!.events).toHaveLength(2_001)
    place.offset = news!.offset
    expect(shown(await next())).toEqual(["2001_1", [2_002], "2002_1"])
  })
})
