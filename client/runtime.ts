/** The calls behind `flightcase/client`: addresses, attempts, pages and streams. It runs in Node and in browsers. */
import {
  type Call,
  type ClientOptions,
  ConflictError,
  ConnectionError,
  type FieldErrors,
  FlightcaseError,
  ForbiddenError,
  type List,
  NotFoundError,
  RateLimitError,
  type Request,
  ServerError,
  type StreamEvent,
  UnauthorizedError,
  ValidationError
} from "./types.ts"

interface Operation {
  readonly method: string
  readonly path: string
  /** Takes a query (GET) or a body after the parameters of its path. */
  readonly takes_input: boolean
  readonly answers: "json" | "page" | "file" | "stream"
}
type Names = { readonly [name: string]: unknown }

/** Longest wait between attempts; a server that asks for more is not asked again. */
const longest_wait_millis = 60_000
/** Silence after which a stream is opened again; the server sends something every 15 seconds. */
const silence_millis = 45_000

/** A client. `operations`: a line each, such as `members.list GET /members qp`, as `declarations.ts` writes them. */
export const clientOf = <Client>(operations: string, options: ClientOptions): Client => {
  const send = senderOf(options)
  const client: { [name: string]: unknown } = {
    request: async (method: string, path: string, request: Request = {}) =>
      read(await send({ method, path, query: request.query, body: request.body }, request))
  }
  for (const line of operations.split("\n")) {
    const [name = "", method = "", path = "", marks = ""] = line.split(" ")
    const answers = marks.includes("p")
      ? "page"
      : marks.includes("f")
        ? "file"
        : marks.includes("s")
          ? "stream"
          : "json"
    const words = name.split(".")
    const verb = words.pop() ?? ""
    let resource = client
    for (const word of words) resource = (resource[word] ??= {}) as typeof client
    resource[verb] = callOf({ method, path: `/api/v1${path}`, takes_input: /[bq]/.test(marks), answers }, send)
  }
  return client as Client
}

const callOf =
  (operation: Operation, send: Send) =>
  (...args: ReadonlyArray<unknown>): unknown => {
    const rest = [...args]
    const path = operation.path.replace(/\{\w+\}/g, () => {
      const value = rest.shift()
      if (value === undefined || value === null || value === "")
        throw new TypeError(`A parameter of ${operation.path} is missing.`)
      return encodeURIComponent(String(value))
    })
    const input = operation.takes_input ? rest.shift() : undefined
    const call = (rest.shift() ?? {}) as Call
    const { method } = operation
    const wanted: Wanted =
      method === "GET"
        ? { method, path, query: input as Names | undefined }
        : { method, path, body: input, query: call.query }
    switch (operation.answers) {
      case "page":
        return listOf(wanted, call, send)
      case "stream":
        return eventsOf(wanted, call, send)
      case "file":
        return send(wanted, call)
      case "json":
        return send(wanted, call).then(read)
    }
  }

const read = async (response: Response): Promise<unknown> => (response.status === 204 ? undefined : response.json())

// Sending a request, again where that is safe.

interface Wanted {
  readonly method: string
  readonly path: string
  readonly query?: Names | undefined
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
}
type Send = (wanted: Wanted, call: Call, isEndless?: boolean) => Promise<Response>

const senderOf = (options: ClientOptions): Send => {
  const base = options.url.replace(/\/+$/, "")
  return async (wanted, call, isEndless = false) => {
    const { body, method } = wanted
    const asForm = isObject(body) && Object.values(body).some((value) => value instanceof Blob)
    const fixed: { [name: string]: string } = {
      accept: "application/json",
      ...(body === undefined || asForm ? {} : { "content-type": "application/json" }),
      ...(method === "POST" ? { "idempotency-key": call.idempotencyKey ?? randomKey() } : {}),
      ...((call.strict ?? options.strict) === true ? { prefer: "handling=strict" } : {}),
      ...options.headers,
      ...call.headers,
      ...wanted.headers
    }
    const url = base + wanted.path + queryString(wanted.query ?? {})
    const retries = call.retries ?? options.retries ?? 3
    const millis = isEndless ? undefined : (call.timeout ?? options.timeout ?? 30_000)
    const content = body === undefined ? {} : { body: asForm ? formOf(body) : JSON.stringify(body) }
    const signal = call.signal as AbortSignal | undefined
    for (let tries = 0; ; tries++) {
      const token = typeof options.token === "function" ? await options.token() : options.token
      const headers = token === undefined ? fixed : { ...fixed, authorization: `Bearer ${token}` }
      const limit = deadline(signal, millis)
      const ask = (options.fetch ?? fetch) as typeof fetch
      const failure = await attempt(ask, url, { method, headers, signal: limit, ...content }, signal)
      if (!(failure instanceof FlightcaseError)) return failure
      const wait = failure.retryAfter === undefined ? backoffMillis(tries) : failure.retryAfter * 1_000
      if (tries >= retries || wait > longest_wait_millis || !mayRepeat(method, failure.status)) throw failure
      await pause(wait, signal)
    }
  }
}
/** The response of one attempt, or the error it ended with. */
const attempt = async (
  ask: typeof fetch,
  url: string,
  request: RequestInit,
  stop: AbortSignal | undefined
): Promise<Response | FlightcaseError> => {
  try {
    const response = await ask(url, request)
    return response.ok ? response : await errorOf(response)
  } catch (cause) {
    if (stop?.aborted === true) throw cause
    return new ConnectionError(`${request.method} ${url}: no answer came.`, { status: 0, cause })
  }
}
/** A signal that aborts with the caller's, or after some time. */
const deadline = (signal: AbortSignal | undefined, millis: number | undefined): AbortSignal =>
  AbortSignal.any([
    ...(signal === undefined ? [] : [signal]),
    ...(millis === undefined ? [] : [AbortSignal.timeout(millis)])
  ])
/**
 * Whether another attempt is safe: after 425, 429 and 503 nothing was done. Without an answer (0, 502, 504) all but
 * DELETE are repeated, POST by its idempotency key: a second DELETE would not find what the first one deleted.
 */
const mayRepeat = (method: string, status: number): boolean =>
  [425, 429, 503].includes(status) || ([0, 502, 504].includes(status) && method !== "DELETE")
const backoffMillis = (tries: number): number => Math.min(500 * 2 ** tries, 15_000) * (0.5 + Math.random() / 2)
/** A random key of 32 hexadecimal digits, without randomUUID, which pages without TLS do not have. */
const randomKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")

const pause = (millis: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, millis)
    signal?.addEventListener("abort", stop, { once: true })
  })

const isObject = (value: unknown): value is Names => typeof value === "object" && value !== null

const valueText = (value: unknown): string =>
  Array.isArray(value) ? value.map(valueText).join(",") : value instanceof Date ? value.toISOString() : String(value)
const queryString = (query: Names): string => {
  const named = Object.entries(query).flatMap(([name, value]) =>
    name === "q" && isObject(value)
      ? Object.entries(value).map(([filter, one]) => [`q[${filter}]`, one] as const)
      : [[name, value] as const]
  )
  const parameters = new URLSearchParams()
  for (const [name, value] of named) if (value !== undefined) parameters.append(name, valueText(value))
  const text = parameters.toString()
  return text === "" ? "" : `?${text}`
}
const formOf = (body: Names): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    if (value instanceof Blob) form.append(name, value)
    else if (value !== undefined)
      form.append(name, isObject(value) && !(value instanceof Date) ? JSON.stringify(value) : valueText(value))
  }
  return form
}

const classes: { readonly [status: number]: typeof FlightcaseError } = {
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  422: ValidationError,
  429: RateLimitError
}
const errorOf = async (response: Response): Promise<FlightcaseError> => {
  const { headers, status } = response
  const text = await response.text().catch(() => "")
  let body: unknown = text
  try {
    body = JSON.parse(text)
  } catch {
    // A proxy's page, which stays text.
  }
  const { errors, message } = (isObject(body) ? body : {}) as {
    readonly errors?: FieldErrors
    readonly message?: string
  }
  const after = Number(headers.get("retry-after") ?? Number.NaN)
  const Class = classes[status] ?? (status >= 500 ? ServerError : FlightcaseError)
  return new Class(message ?? `The server answered ${status}.`, {
    status,
    body,
    errors: errors ?? {},
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfter: Number.isNaN(after) ? undefined : after
  })
}

// Lists, page after page.

interface Page {
  readonly meta: { readonly total: number; readonly page: number; readonly per_page: number }
}
const rowsIn = (page: Page): ReadonlyArray<unknown> => Object.values(page).find((value) => Array.isArray(value)) ?? []

const listOf = (wanted: Wanted, call: Call, send: Send): List<Page, unknown> => {
  const page = async (query: Names): Promise<Page> =>
    (await read(await send({ ...wanted, query: { ...wanted.query, ...query } }, call))) as Page
  return {
    // A list is awaited as one page, on purpose.
    // eslint-disable-next-line unicorn/no-thenable
    then: (done, failed) => page({}).then(done, failed),
    async *[Symbol.asyncIterator]() {
      const per_page = wanted.query?.["per_page"] ?? 100
      for (let number = Number(wanted.query?.["page"] ?? 1); ; number++) {
        const one = await page({ per_page, page: number })
        yield* rowsIn(one)
        if (rowsIn(one).length === 0 || number * one.meta.per_page >= one.meta.total) return
      }
    }
  }
}

// Server-sent events, over as many connections as it takes.

async function* eventsOf(wanted: Wanted, call: Call, send: Send): AsyncGenerator<StreamEvent<unknown>> {
  const signal = call.signal as AbortSignal | undefined
  let last: string | undefined
  for (let tries = 0; signal?.aborted !== true; tries++) {
    const silence = new AbortController()
    const stop = (): void => silence.abort(signal?.reason)
    signal?.addEventListener("abort", stop, { once: true })
    let timer = setTimeout(stop, silence_millis)
    try {
      const headers = { accept: "text/event-stream", ...(last === undefined ? {} : { "last-event-id": last }) }
      const listening = { ...call, signal: silence.signal, ...(tries === 0 ? {} : { retries: Infinity }) }
      const response = await send({ ...wanted, headers }, listening, true)
      for await (const event of eventsIn(response)) {
        clearTimeout(timer)
        timer = setTimeout(stop, silence_millis)
        if (event === undefined) continue
        last = event.id
        yield { ...event, data: JSON.parse(event.data) }
      }
    } catch (cause) {
      if (cause instanceof FlightcaseError) throw cause
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener("abort", stop)
      // Closes the connection if the reader stopped early.
      silence.abort()
    }
    await pause(backoffMillis(1), signal).catch(() => undefined)
  }
}
/** Events of a response, and undefined for each part received, which shows that the connection is alive. */
async function* eventsIn(response: Response): AsyncGenerator<StreamEvent<string> | undefined> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    const blocks = (rest + part.value).replaceAll("\r\n", "\n").split("\n\n")
    rest = blocks.pop() ?? ""
    yield undefined
    for (const block of blocks) {
      const fields = (name: string): ReadonlyArray<string> =>
        block
          .split("\n")
          .flatMap((line) => (line.startsWith(`${name}:`) ? line.slice(name.length + 1).replace(/^ /, "") : []))
      const data = fields("data").join("\n")
      if (data !== "") yield { id: fields("id").at(-1) ?? "", event: fields("event").at(-1) ?? "message", data }
    }
  }
}
