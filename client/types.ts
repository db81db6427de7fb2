/**
 * Types and errors of `flightcase/client` besides those of the API. It declares the little it needs of fetch, so that
 * it can be read without the types of Node or of browsers.
 */

export interface ClientOptions {
  /** Address of the server, such as https://hire.example.com */
  readonly url: string
  /** API token, or a function that returns one */
  readonly token?: string | (() => string | Promise<string>) | undefined
  /** Further attempts after a failure that may pass; 3 unless set */
  readonly retries?: number | undefined
  /** Milliseconds an attempt may take; 30,000 unless set */
  readonly timeout?: number | undefined
  /** Refuses unknown fields and parameters, which are ignored otherwise */
  readonly strict?: boolean | undefined
  /** Headers of every request */
  readonly headers?: Headers | undefined
  /** Replaces the global fetch */
  readonly fetch?: ((url: string, init: never) => Promise<FileAnswer>) | undefined
}
/** Options of one call. `Q`: query parameters of a write */
export interface Call<Q = { readonly [name: string]: QueryValue }> extends Pick<
  ClientOptions,
  "retries" | "timeout" | "strict" | "headers"
> {
  /** Ends the call, or the stream */
  readonly signal?: Signal | undefined
  /** Key that makes a POST happen once, however often it is sent; random unless set */
  readonly idempotencyKey?: string | undefined
  readonly query?: Q | undefined
}
/** Options of a call to any path */
export interface Request extends Call {
  readonly body?: unknown
}
type Headers = { readonly [name: string]: string }
/** An AbortSignal */
export interface Signal {
  readonly aborted: boolean
  readonly reason: any
}
/** A Response, as far as it is declared here */
export interface FileAnswer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  arrayBuffer(): Promise<ArrayBuffer>
  text(): Promise<string>
}
/** A Blob or a File, for forms */
export interface FilePart {
  readonly size: number
  readonly type: string
  arrayBuffer(): Promise<ArrayBuffer>
}

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
/** ISO 8601 in UTC with milliseconds */
export type Timestamp = string
/** YYYY-MM-DD */
export type PlainDate = string
/** A decimal number as text, such as "12.50" */
export type Decimal = string
/** A point in time of a request */
export type Instant = string | Date
/** Money or another decimal of a request. Of money, integers are minor units: 1250 is "12.50" */
export type Amount = number | string

export type QueryValue = string | number | boolean | Date | readonly (string | number)[] | undefined
export type OneOrMore<T> = T | readonly T[]
type Predicate =
  | "blank"
  | "cont"
  | "end"
  | "eq"
  | "false"
  | "gt"
  | "gteq"
  | "in"
  | "lt"
  | "lteq"
  | "not_cont"
  | "not_eq"
  | "not_in"
  | "not_null"
  | "null"
  | "present"
  | "start"
  | "true"
/** Filters: `{ name_cont: "fog" }`, `{ "cf.colour_eq": "red" }` */
export type Filters<Field extends PropertyKey> = {
  readonly [name in `${Field & string}_${Predicate}` | `cf.${string}`]?: QueryValue
}
export interface ListQuery<Field extends PropertyKey, Sort extends PropertyKey, Include extends string = never> {
  readonly page?: number
  /** At most 100 */
  readonly per_page?: number
  readonly sort?: (Sort & string) | `-${Sort & string}`
  readonly include?: OneOrMore<Include>
  /** Id of a saved view */
  readonly view_id?: number
  readonly q?: Filters<Field>
}
/** Awaited, one page; iterated by `for await`, the rows of this page and all after it */
export interface List<Page, Row> extends PromiseLike<Page>, AsyncIterable<Row> {}
export interface StreamEvent<Data> {
  readonly id: string
  readonly event: string
  readonly data: Data
}
/** `T` with these fields required */
export type Need<T, Field extends keyof T> = T & { [F in Field]-?: T[F] }

interface ErrorDetails {
  /** 0 where no answer came */
  readonly status: number
  readonly body?: unknown
  readonly errors?: FieldErrors
  readonly requestId?: string | undefined
  readonly retryAfter?: number | undefined
  readonly cause?: unknown
}
/** Texts by field, as dotted paths: `items.0.quantity` */
export interface FieldErrors {
  readonly [field: string]: readonly string[]
}
/** Thrown by every call that fails: its class says how */
export class FlightcaseError extends Error {
  readonly status: number
  readonly errors: FieldErrors
  /** The answer's body */
  readonly body: unknown
  /** Names the request in the server's log */
  readonly requestId: string | undefined
  /** Seconds to wait before another attempt, where the server said */
  readonly retryAfter: number | undefined
  constructor(message: string, details: ErrorDetails) {
    super(message, { cause: details.cause })
    this.name = new.target.name
    this.status = details.status
    this.errors = details.errors ?? {}
    this.body = details.body
    this.requestId = details.requestId
    this.retryAfter = details.retryAfter
  }
}
/** 401: no token, or one that is not valid */
export class UnauthorizedError extends FlightcaseError {}
/** 403: a permission or an ability is missing */
export class ForbiddenError extends FlightcaseError {}
/** 404 */
export class NotFoundError extends FlightcaseError {}
/** 409: the idempotency key was used for another request, or the state does not allow it */
export class ConflictError extends FlightcaseError {}
/** 422: refused; `errors` says why, by field */
export class ValidationError extends FlightcaseError {}
/** 429: too often; `retryAfter` says how long to wait */
export class RateLimitError extends FlightcaseError {}
/** 500 and above: the server failed, or cannot answer now */
export class ServerError extends FlightcaseError {}
/** No answer came: no connection, or none in time */
export class ConnectionError extends FlightcaseError {}
