/**
 * A Flightcase server as programs ask it over HTTP: one way to send, one deadline from the first byte sent to the last
 * received, and one account of what stood in the way. Node's own fetch carries it: the command line starts without more.
 */
import { Duration, Effect, Schedule } from "effect"
import { parseJson, wire_body_depth_max } from "../core/kernel/body-limits.ts"
import type { Json } from "../core/kernel/json.ts"

/** Nobody answers at the server's address, or nobody who comes to an end with it. Any answer, whatever its status, is none of these. */
export class Unreachable extends Error {
  override readonly name = "Unreachable"
  readonly url: string
  constructor(url: string, cause: unknown, message = `The server at ${url} cannot be reached.`) {
    super(message, { cause })
    this.url = url
  }
}

export interface HttpRequest {
  readonly method: string
  /** With its query, if it has one. */
  readonly path: string
  readonly headers?: { readonly [name: string]: string }
  /** Sent as JSON, unless it is a form. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}
export interface HttpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
}
export interface HttpClient {
  /** Without a slash at its end. */
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  /** Rejects with Unreachable. */
  readonly send: (request: HttpRequest) => Promise<HttpAnswer>
}
export interface HttpClientOptions {
  readonly url: string
  /** "" asks without one. */
  readonly token: string
  readonly timeout_millis: number
  readonly headers?: { readonly [name: string]: string }
  /** When what a busy server refused (429, 425) is asked again; not at all without it. */
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
  const once = async ({ method, path, headers: own, body, signal }: HttpRequest): Promise<HttpAnswer> => {
    const deadline = AbortSignal.timeout(timeout_millis)
    const json = body !== undefined && !(body instanceof FormData)
    try {
      const response = await fetch(url + path, {
        method,
        signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
        headers: { ...headers, ...(json ? { "content-type": "application/json" } : {}), ...own },
        ...(json ? { body: JSON.stringify(body) } : body === undefined ? {} : { body })
      })
      return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
    } catch (cause) {
      throw new Unreachable(url, cause)
    }
  }
  return {
    url,
    headers,
    send: (request) => (again === undefined ? once(request) : repeated(() => once(request), again, isBusy))
  }
}
const isBusy = ({ status }: HttpAnswer): boolean => status === 429 || status === 425

/** Asks again when the schedule says, for as long as the answer is no end of it. */
export const repeated = <A>(
  ask: () => Promise<A>,
  schedule: Schedule.Schedule<unknown, A>,
  unfinished: (answer: A) => boolean
): Promise<A> => Effect.runPromise(Effect.repeat(Effect.promise(ask), { schedule, while: unfinished }))

const seconds_min = 0.2
/** As often as `times`, after what the server names in Retry-After (seconds; one when it names none), if that is not too long to wait. */
export const afterItsWord = (times: number, seconds_max: number): Schedule.Schedule<unknown, HttpAnswer> =>
  Schedule.setInputType<HttpAnswer>()(Schedule.recurs(times)).pipe(
    Schedule.while(({ input }) => secondsNamed(input) <= seconds_max),
    Schedule.modifyDelay(({ input }) => Effect.succeed(Duration.seconds(Math.max(secondsNamed(input), seconds_min))))
  )
const secondsNamed = ({ headers }: HttpAnswer): number => Number(headers.get("retry-after") ?? "1")

const utf8 = new TextDecoder()
export const textOf = ({ bytes }: HttpAnswer): string => utf8.decode(bytes)
/** Throws where it is none, or nests too deep. */
export const jsonOf = (answer: HttpAnswer): Json => parseJson(textOf(answer), wire_body_depth_max)
