/**
 * HTTP requests to a Flightcase server. One deadline covers a request from the first byte sent to the last received;
 * every failure to get an answer is Unreachable. Uses Node's fetch, so that the command line loads no other library.
 */
import { Duration, Effect, Schedule } from "effect"
import { parseJson, wire_body_depth_max, type Json } from "../core/kernel/index.ts"

/** No answer was received completely in time. Answers of any status do not cause this error. */
export class Unreachable extends Error {
  override readonly name = "Unreachable"
  readonly url: string
  constructor(url: string, cause: unknown, message = `The server at ${url} cannot be reached.`) {
    super(message, { cause })
    this.url = url
  }
}

interface HttpRequest {
  readonly method: string
  /** Path, with the query if there is one. */
  readonly path: string
  readonly headers?: { readonly [name: string]: string }
  /** Body: a form, or a value to send as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}
export interface HttpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
}
interface HttpClient {
  /** Base URL without a trailing slash. */
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  /** Sends a request. Rejects with Unreachable. */
  readonly send: (request: HttpRequest) => Promise<HttpAnswer>
  /** Sends a request whose answer's body is read as it arrives, within the same deadline. Rejects with Unreachable. */
  readonly open: (request: HttpRequest) => Promise<Response>
}
interface HttpClientOptions {
  readonly url: string
  /** Bearer token; "" sends none. */
  readonly token: string
  readonly timeout_millis: number
  readonly headers?: { readonly [name: string]: string }
  /** Schedule for repeating requests that a busy server refused (429, 425); by default they are not repeated. */
  readonly again?: Schedule.Schedule<unknown, HttpAnswer>
}

export const httpClientAt = ({
  url: address,
  token,
  timeout_millis,
  headers: more = {},
  again
}: HttpClientOptions): HttpClient => {
  const url = address.replace(/\/+$/, "")
  const headers = { accept: "application/json", ...(token === "" ? {} : { authorization: `Bearer ${token}` }), ...more }
  const open = async ({ method, path, headers: own, body, signal }: HttpRequest): Promise<Response> => {
    const deadline = AbortSignal.timeout(timeout_millis)
    const json = body !== undefined && !(body instanceof FormData)
    try {
      return await fetch(url + path, {
        method,
        signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
        headers: { ...headers, ...(json ? { "content-type": "application/json" } : {}), ...own },
        ...(json ? { body: JSON.stringify(body) } : body === undefined ? {} : { body })
      })
    } catch (cause) {
      throw new Unreachable(url, cause)
    }
  }
  const once = async (request: HttpRequest): Promise<HttpAnswer> => {
    const response = await open(request)
    try {
      return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
    } catch (cause) {
      throw new Unreachable(url, cause)
    }
  }
  return {
    url,
    headers,
    open,
    send: (request) => (again === undefined ? once(request) : repeated(() => once(request), again, isBusy))
  }
}
const isBusy = ({ status }: HttpAnswer): boolean => status === 429 || status === 425

/** Repeats a request by the schedule while `unfinished` holds for its answer. */
export const repeated = <A>(
  ask: () => Promise<A>,
  schedule: Schedule.Schedule<unknown, A>,
  unfinished: (answer: A) => boolean
): Promise<A> => Effect.runPromise(Effect.repeat(Effect.promise(ask), { schedule, while: unfinished }))

const seconds_min = 0.2
/**
 * Schedule of up to `times` repetitions, each after the server's Retry-After (default: 1 second); ends if that exceeds
 * `seconds_max`. Calls `onWait` before each.
 */
export const afterItsWord = (
  times: number,
  seconds_max: number,
  onWait = (_seconds: number): void => {}
): Schedule.Schedule<unknown, HttpAnswer> =>
  Schedule.setInputType<HttpAnswer>()(Schedule.recurs(times)).pipe(
    Schedule.while(({ input }) => secondsNamed(input) <= seconds_max),
    Schedule.modifyDelay(({ input }) =>
      Effect.sync(() => {
        onWait(secondsNamed(input))
        return Duration.seconds(Math.max(secondsNamed(input), seconds_min))
      })
    )
  )
const secondsNamed = ({ headers }: HttpAnswer): number => Number(headers.get("retry-after") ?? "1")

const utf8 = new TextDecoder()
export const textOf = ({ bytes }: HttpAnswer): string => utf8.decode(bytes)
/** Parses the body as JSON. Throws a SyntaxError, or TooDeep if it nests beyond the limit. */
export const jsonOf = (answer: HttpAnswer): Json => parseJson(textOf(answer), wire_body_depth_max)
