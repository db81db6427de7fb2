/**
 * Server extensions of a slice: middleware around calls, work within their transactions and after their responses, and
 * background work.
 */
import { type Context, Effect, Schema, type Scope } from "effect"
import type { Answer, CommandRuntime, EndpointCall, Failure, JsonObject, Slice } from "../../core/kernel/index.ts"
import type { NewEvent, Store, StoredEvent } from "../../core/kernel/index.ts"
import type { AnyJobKind, Headers, Process, RawRequestShape, ServerContext, TimedWork } from "./server-context.ts"
import { GivenUp } from "./server-context.ts"
import { createHash, createHmac } from "node:crypto"
import { isSameSignature } from "./secret-box.ts"

/** A metric of a slice with its value, read on request. */
export interface Measurement {
  /** Name of the metric: `flightcase_webhook_attempts_total`. */
  readonly name: string
  readonly description: string
  readonly kind: "counter" | "gauge"
  readonly labels: { readonly [name: string]: string }
  readonly value: number
}

export type { Headers } from "./server-context.ts"

/**
 * An HTTP call that is authenticated unless the endpoint is public, within its rate limit, and matched to an endpoint.
 * Rows, permission and body are not checked yet.
 */
export interface ServerCall extends EndpointCall {
  readonly headers: Headers
  readonly request_id: string
  readonly remote_address: string
}

/** The record of an answered request (rules/conventions 16). */
export interface AnsweredServerCall {
  readonly request_id: string
  readonly method: string
  /** Path and query, as received. */
  readonly target: string
  /** Path for logs: the pattern of a public endpoint; of others, `…` for segments that may be secrets. */
  readonly uri: string
  /** Name of the endpoint; null if none matched. */
  readonly endpoint: string | null
  readonly ability: string | null
  readonly metering_weight: number
  readonly user_id: number | null
  readonly token_id: number | null
  readonly status: number
  /** Milliseconds since 1970. */
  readonly started_millis: number
  /** Milliseconds until the response was complete; until the start of an endless stream. */
  readonly duration_ms: number
  readonly request_bytes: number
  /** Bytes of the response; 0 for an endless stream. */
  readonly response_bytes: number
  readonly remote_address: string
  readonly user_agent: string | null
}

export type ServerEndpoint<A> = Effect.Effect<A, Failure, Store | CommandRuntime | ServerContext>

export interface ServerSlice extends Slice {
  /** Middleware around a call, for example to replay a stored answer. `next` runs the call in its own transaction. */
  readonly around?: (call: ServerCall, next: ServerEndpoint<Answer>) => ServerEndpoint<Answer>
  /** Runs in the transaction that recorded the events; a failure rejects the command. */
  readonly recorded?: (events: ReadonlyArray<StoredEvent>) => ServerEndpoint<void>
  /** Whether `recorded` is for these events, not stored yet; by default it is. "erasures": if one has a scrub. */
  readonly concerns?: "erasures" | ((events: ReadonlyArray<NewEvent>) => ServerEndpoint<boolean>)
  /** Called after every request under /api/v1 was answered; must be quick and must not fail. */
  readonly answered?: (call: AnsweredServerCall) => void
  /** Runs from the start of the server to its end: timers, queues. Interrupted when the server stops. */
  readonly background?: Effect.Effect<void, Failure, Store | CommandRuntime | ServerContext | Scope.Scope>
  /** Kinds of jobs that the slice queues. */
  readonly jobs?: ReadonlyArray<AnyJobKind>
  /** Jobs that follow from events, queued in the transaction that records them. */
  readonly processes?: ReadonlyArray<Process>
  readonly inbound?: ReadonlyArray<InboundHandler>
  readonly timed?: ReadonlyArray<TimedWork>
  /** Metrics for /metrics. */
  readonly measured?: ServerEndpoint<ReadonlyArray<Measurement>>
  /** Checks of `doctor --server`, after the server's own. */
  readonly checks?: Effect.Effect<
    ReadonlyArray<{ readonly check: string; readonly ok: boolean; readonly detail: string }>
  >
  /** Services that its endpoints need in addition to store and command runtime. */
  readonly services?: (server: ServerContext["Service"]) => Context.Context<never>
}

// Inbound webhooks: verification of signatures, and handlers of slices. Each kind of source signs the raw body with its
// secret, in its own headers (rules/conventions 14). Signatures are compared in constant time.

export const source_kinds = {
  generic: "X-Signals-Signature, the hex HMAC-SHA256 of the body, keyed with the secret",
  standard: "Standard Webhooks",
  stripe: "Stripe-Signature"
} as const
export type SourceKind = keyof typeof source_kinds

/** Maximum difference in seconds between a signature's time and now. */
const tolerance_seconds = 300

interface Signed {
  /** Signed id of the delivery, equal for repetitions; null if the body contains it. */
  readonly delivery_id: string | null
}
type Verify = (secret: string, received: RawRequestShape, now_millis: number) => Signed | undefined

/** Verifies a signature; undefined if it is invalid. */
export const signedBy = (
  kind: SourceKind,
  secret: string,
  received: RawRequestShape,
  now_millis: number
): Signed | undefined => verify_by_kind[kind](secret, received, now_millis)

/** Verifies a hex HMAC of the body. As no time is signed, repetitions are recognised by their content alone. */
const generic: Verify = (secret, { headers, bytes }) => {
  const given = headerOf(headers, "x-signals-signature")?.trim().toLowerCase() ?? ""
  return isSameSignature(given, hmac(secret, [bytes]).toString("hex"))
    ? { delivery_id: createHash("sha256").update(bytes).digest("hex") }
    : undefined
}

/** Verifies Standard Webhooks: `v1,` and base64; several signatures separated by spaces during a rotation. */
const standard: Verify = (secret, { headers, bytes }, now_millis) => {
  const id = headerOf(headers, "webhook-id") ?? "",
    time = headerOf(headers, "webhook-timestamp") ?? "",
    given = headerOf(headers, "webhook-signature") ?? ""
  const key = standardKey(secret)
  if (key === undefined || !isDeliveryId(id) || !isTimely(time, now_millis)) return undefined
  const right = `v1,${hmac(key, [`${id}.${time}.`, bytes]).toString("base64")}`
  return anyIsSame(given.split(" "), right) ? { delivery_id: id } : undefined
}

/** Verifies Stripe: `t=1755000000,v1=<hex>,v1=<hex>`; other schemes, such as `v0` of its test mode, are ignored. */
const stripe: Verify = (secret, { headers, bytes }, now_millis) => {
  const parts = (headerOf(headers, "stripe-signature") ?? "").split(",").map((part) => part.trim())
  const valuesOf = (scheme: string): ReadonlyArray<string> =>
    parts.filter((part) => part.startsWith(`${scheme}=`)).map((part) => part.slice(scheme.length + 1))
  const [time = "", ...more] = valuesOf("t")
  if (more.length > 0 || !isTimely(time, now_millis)) return undefined
  const right = hmac(secret, [`${time}.`, bytes]).toString("hex")
  return anyIsSame(valuesOf("v1"), right) ? { delivery_id: null } : undefined
}
const verify_by_kind: { readonly [K in SourceKind]: Verify } = { generic, standard, stripe }

const key_bytes = { min: 24, max: 64 }
/** The key in a secret of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64; undefined if malformed. */
export const standardKey = (secret: string): Buffer | undefined => {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  const key = encoded === undefined ? undefined : Buffer.from(encoded, "base64")
  return key !== undefined && key.length >= key_bytes.min && key.length <= key_bytes.max ? key : undefined
}

/** Whether a sender's delivery id is valid. */
export const isDeliveryId = (id: string): boolean => /^[\x21-\x7e]{1,255}$/.test(id)

const isTimely = (seconds: string, now_millis: number): boolean =>
  /^\d{1,12}$/.test(seconds) && Math.abs(now_millis / 1_000 - Number(seconds)) <= tolerance_seconds

const headerOf = (headers: Headers, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : undefined
}
const hmac = (key: string | Buffer, parts: ReadonlyArray<string | Uint8Array>): Buffer => {
  const made = createHmac("sha256", key)
  for (const part of parts) made.update(part)
  return made.digest()
}
/** Maximum number of signatures; senders send two during a rotation. */
const signatures_max = 10
const anyIsSame = (given: ReadonlyArray<string>, right: string): boolean =>
  given.length <= signatures_max && given.some((one) => isSameSignature(one, right))

/** A verified delivery, as given to handlers. */
export interface Delivery {
  readonly source: string
  readonly kind: SourceKind
  /** The sender's id for the delivery; for generic sources the SHA-256 of its body. */
  readonly delivery_id: string
  readonly received_at: string
}
export type Handling<A> = Effect.Effect<A, unknown, Store | CommandRuntime | ServerContext>

export interface InboundHandler {
  readonly kinds: ReadonlyArray<SourceKind>
  /** Event type named by the sender. */
  readonly event: string
  readonly handle: (body: JsonObject, delivery: Delivery) => Handling<string>
}

/**
 * Declares a handler. `run` returns a short description of its result, in the transaction that marks the delivery as
 * done. A body that does not match `body` is not retried.
 */
export const inboundHandler = <A>(draft: {
  readonly kinds: ReadonlyArray<SourceKind>
  readonly event: string
  readonly body: Schema.Codec<A, unknown>
  readonly run: (data: NoInfer<A>, delivery: Delivery) => Handling<string>
}): InboundHandler => ({
  kinds: draft.kinds,
  event: draft.event,
  handle: (body, delivery) =>
    Effect.flatMap(
      Effect.mapError(
        Schema.decodeUnknownEffect(draft.body)(body),
        (failure) => new GivenUp({ message: `${draft.event} is not of the form expected: ${failure.message}` })
      ),
      (data) => draft.run(data, delivery)
    )
})
