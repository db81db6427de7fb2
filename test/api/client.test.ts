/** `flightcase/client` against a fake fetch, without a server. */
import { describe, expect, it, vi } from "vitest"
import { clientOf } from "../../client/runtime.ts"
import {
  type Call,
  ConnectionError,
  type FieldErrors,
  FlightcaseError,
  type List,
  NotFoundError,
  RateLimitError,
  ServerError,
  type StreamEvent,
  ValidationError
} from "../../client/types.ts"

const operations = [
  "members.list GET /members qp",
  "members.show GET /members/{id} q",
  "members.create POST /members b",
  "members.delete DELETE /members/{id}",
  "members.addresses.create POST /members/{member}/addresses b",
  "attachments.create POST /attachments b",
  "invoices.pdf GET /invoices/{id}/pdf f",
  "notifications.stream GET /notifications/stream qs"
].join("\n")

type Values = { readonly [name: string]: unknown }
interface Tested {
  readonly members: {
    list(query?: Values): List<{ readonly meta: { readonly total: number } }, unknown>
    show(id?: number | string, query?: Values, call?: Call): Promise<unknown>
    create(body: Values, call?: Call): Promise<unknown>
    delete(id: number): Promise<void>
    readonly addresses: { create(member: number, body: Values, call: Call): Promise<unknown> }
  }
  readonly attachments: { create(body: Values): Promise<unknown> }
  readonly invoices: { pdf(id: number): Promise<Response> }
  readonly notifications: { stream(query?: Values, call?: Call): AsyncIterable<StreamEvent<{ readonly id: number }>> }
}
interface Asked {
  readonly url: string
  readonly method: string
  readonly headers: { readonly [name: string]: string }
  readonly body?: string | FormData
  readonly signal: AbortSignal
  readonly at: number
}
type Answer = Response | Error | ((asked: Asked) => Promise<Response>)
const json = (body: unknown, status = 200, headers: { readonly [name: string]: string } = {}): Response =>
  new Response(JSON.stringify(body), { status, headers })

/** A client whose requests get these responses in order, and the requests it sent. */
const answeredBy = (...answers: ReadonlyArray<Answer>) => {
  const asked: Array<Asked> = []
  const fetch = async (url: string, init: Omit<Asked, "url" | "at">): Promise<Response> => {
    const answer = answers[asked.push({ url, ...init, at: Date.now() }) - 1] ?? new Error("Nobody answers.")
    if (answer instanceof Error) throw answer
    return typeof answer === "function" ? answer(asked.at(-1)!) : answer
  }
  const options = { url: "https://hire.test/", token: "secret", fetch }
  const client = clientOf<Tested>(operations, options)
  return {
    client,
    asked,
    paths: () => asked.map(({ url }) => decodeURIComponent(url).slice("https://hire.test".length))
  }
}
const failure = (call: Promise<unknown>): Promise<FlightcaseError> =>
  call.then(
    () => Promise.reject(new Error("It succeeded.")),
    (cause) => cause
  )
/** Runs the body with waits that end at once. */
const withoutWaiting = async <A>(body: () => Promise<A>): Promise<A> => {
  vi.useFakeTimers()
  try {
    const [result] = await Promise.allSettled([body(), vi.advanceTimersByTimeAsync(600_000)])
    if (result.status === "rejected") throw result.reason
    return result.value
  } finally {
    vi.useRealTimers()
  }
}

describe("a call of the client", () => {
  it("puts parameters into the path, the query or the body", async () => {
    const { asked, client, paths } = answeredBy(
      json({ member: {} }),
      json({ address: {} }, 201),
      new Response(null, { status: 204 })
    )
    await client.members.show("a/b", {
      include: ["emails", "phones"],
      q: { name_cont: "é&" },
      at: new Date(0),
      no: undefined
    })
    await client.members.addresses.create(7, { city: "Ghent" }, { query: { include: "country" }, strict: true })
    expect(await client.members.delete(7)).toBeUndefined()
    expect(paths()).toEqual([
      "/api/v1/members/a/b?include=emails,phones&q[name_cont]=é&&at=1970-01-01T00:00:00.000Z",
      "/api/v1/members/7/addresses?include=country",
      "/api/v1/members/7"
    ])
    expect(asked[0]?.url).toContain("/a%2Fb?")
    expect(asked.map(({ body }) => body)).toEqual([undefined, '{"city":"Ghent"}', undefined])
    expect(asked[0]?.headers).toEqual({ accept: "application/json", authorization: "Bearer secret" })
    expect(asked[1]?.headers).toMatchObject({ "content-type": "application/json", "prefer": "handling=strict" })
    expect(() => client.members.show()).toThrow("A parameter of /api/v1/members/{id} is missing.")
  })
  it("sends a body with a file as a form", async () => {
    const { asked, client } = answeredBy(json({}, 201))
    await client.attachments.create({ attachable_id: 7, tags: ["a"], file: new File(["x"], "x.txt") })
    const form = asked[0]?.body as FormData
    expect([form.get("attachable_id"), form.get("tags")]).toEqual(["7", '["a"]'])
    expect((form.get("file") as File).name).toBe("x.txt")
    expect(asked[0]?.headers["content-type"]).toBeUndefined()
  })
  it("returns a download as the response itself", async () => {
    const { client } = answeredBy(new Response("%PDF-"))
    expect(await (await client.invoices.pdf(7)).text()).toBe("%PDF-")
  })
})

describe("a list of the client", () => {
  const pages = [
    json({ members: [{ id: 1 }, { id: 2 }], meta: { total: 3, page: 1, per_page: 2 } }),
    json({ members: [{ id: 3 }], meta: { total: 3, page: 2, per_page: 2 } })
  ]
  it("requests nothing until it is awaited, and then one page", async () => {
    const { asked, client, paths } = answeredBy(pages[0]!.clone())
    const list = client.members.list()
    expect(asked).toEqual([])
    expect((await list).meta.total).toBe(3)
    expect(paths()).toEqual(["/api/v1/members"])
  })
  it("yields the rows of all pages when iterated", async () => {
    const { client, paths } = answeredBy(...pages)
    const rows: Array<unknown> = []
    for await (const row of client.members.list({ per_page: 2 })) rows.push(row)
    expect(rows).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
    expect(paths()).toEqual(["/api/v1/members?per_page=2&page=1", "/api/v1/members?per_page=2&page=2"])
  })
})

describe("an error response", () => {
  it("is thrown as the error class of its status, with the server's message and field errors", async () => {
    const errors: FieldErrors = { name: ["The name field is required."] }
    const body = { message: "The name field is required.", errors }
    const { client } = answeredBy(
      json(body, 422, { "x-request-id": "r1" }),
      json({ message: "Not found." }, 404),
      new Response("oops", { status: 500 })
    )
    const invalid = await failure(client.members.create({}))
    expect(invalid).toBeInstanceOf(ValidationError)
    expect(invalid).toMatchObject({
      name: "ValidationError",
      message: body.message,
      errors,
      requestId: "r1",
      status: 422,
      body
    })
    expect(await failure(client.members.show(7))).toBeInstanceOf(NotFoundError)
    const broken = await failure(client.members.show(7))
    expect(broken).toBeInstanceOf(ServerError)
    expect(broken).toMatchObject({ message: "The server answered 500.", body: "oops" })
  })
})

describe("a retry of the client", () => {
  it("follows a 503 or a network error, waits for Retry-After, and keeps the idempotency key", async () => {
    const busy = json({ message: "Busy." }, 503, { "retry-after": "7" })
    const { asked, client } = answeredBy(busy, new TypeError("fetch failed"), json({ member: { id: 1 } }, 201))
    await withoutWaiting(() => client.members.create({ name: "Ann" }))
    expect(asked.length).toBe(3)
    expect((asked[1]?.at ?? 0) - (asked[0]?.at ?? 0)).toBe(7_000)
    const keys = new Set(asked.map(({ headers }) => headers["idempotency-key"]))
    expect(keys.size).toBe(1)
    expect([...keys][0]).toMatch(/^[0-9a-f]{32}$/)
  })
  it("uses the idempotency key that the caller gives", async () => {
    const { asked, client } = answeredBy(json({}, 201))
    await client.members.create({ name: "Ann" }, { idempotencyKey: "shop-4711" })
    expect(asked[0]?.headers["idempotency-key"]).toBe("shop-4711")
  })
  it("is made at most as often as the option retries says", async () => {
    const { asked, client } = answeredBy()
    const cause = await withoutWaiting(() => failure(client.members.show(7, {}, { retries: 2 })))
    expect(cause).toBeInstanceOf(ConnectionError)
    expect(cause).toMatchObject({ status: 0, message: "GET https://hire.test/api/v1/members/7: no answer came." })
    expect(asked.length).toBe(3)
  })
  it("is not made for an unanswered DELETE, nor if Retry-After is longer than a minute", async () => {
    const { asked, client } = answeredBy(
      new TypeError("fetch failed"),
      json({ message: "Quota." }, 429, { "retry-after": "86400" })
    )
    expect(await failure(client.members.delete(7))).toBeInstanceOf(ConnectionError)
    const limited = await failure(client.members.show(7))
    expect(limited).toBeInstanceOf(RateLimitError)
    expect(limited.retryAfter).toBe(86_400)
    expect(asked.length).toBe(2)
  })
  it("is not made once the caller aborts the call", async () => {
    const abort = new AbortController()
    const hangs = ({ signal }: Asked): Promise<Response> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
    const { asked, client } = answeredBy(hangs)
    const call = client.members.show(7, {}, { signal: abort.signal })
    setTimeout(() => abort.abort(new Error("Enough.")), 1)
    await expect(call).rejects.toThrow("Enough.")
    expect(asked.length).toBe(1)
  })
  it("is not made after a timeout if retries is 0, and the call fails with a ConnectionError", async () => {
    const hangs = ({ signal }: Asked): Promise<Response> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
    const { asked, client } = answeredBy(hangs)
    expect(await failure(client.members.show(7, {}, { timeout: 5, retries: 0 }))).toBeInstanceOf(ConnectionError)
    expect(asked.length).toBe(1)
  })
})

describe("an event stream of the client", () => {
  /** A response that arrives in chunks. */
  const streamed = (...parts: ReadonlyArray<string>): Response =>
    new Response(ReadableStream.from(parts).pipeThrough(new TextEncoderStream()))

  it("yields events, and resumes after the last one when its connection ends", async () => {
    const { asked, client } = answeredBy(
      streamed(
        ": \n\nid: 1\nevent: notif",
        'ication\ndata: {"id":1}\n\nid: 2\r\nevent: notification\r\ndata: {"id":\r\ndata: 2}\r\n\r\n'
      ),
      new TypeError("fetch failed"),
      streamed('id: 3\nevent: notification\ndata: {"id":3}\n\n')
    )
    const ids: Array<number> = []
    await withoutWaiting(async () => {
      for await (const { data, event } of client.notifications.stream({ after: 0 })) {
        expect(event).toBe("notification")
        if (ids.push(data.id) === 3) break
      }
    })
    expect(ids).toEqual([1, 2, 3])
    expect(asked.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "2", "2"])
    expect(asked.map(({ headers }) => headers["accept"])).toEqual(Array(3).fill("text/event-stream"))
    expect(asked.at(-1)?.signal.aborted).toBe(true)
  })
  it("ends when the caller aborts, and fails with the server's refusal", async () => {
    const abort = new AbortController()
    const { client } = answeredBy(streamed("id: 1\ndata: {}\n\n"), json({ message: "Forbidden." }, 403))
    for await (const _ of client.notifications.stream({}, { signal: abort.signal })) abort.abort()
    const refused = (async () => {
      for await (const _ of client.notifications.stream());
    })()
    expect((await failure(refused)).status).toBe(403)
  })
})
