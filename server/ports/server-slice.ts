/**
 * Extensions of a slice on the server: middleware around a call, within its transaction, after its answer, and in the
 * background.
 */
import type { Context, Effect, Scope } from "effect"
import type { Store } from "../../core/kernel/store/store.ts"
import type { InboundHandler } from "./inbound.ts"
import type { AnyJobKind, Headers, Process, ServerContext, TimedWork } from "./server-context.ts"
import type { Answer, CommandRuntime, Failure, Slice } from "../../core/kernel/endpoints/endpoint.ts"
import type { EndpointCall } from "../../core/kernel/runtime/engine.ts"
import type { StoredEvent } from "../../core/kernel/events/event-type.ts"

/** Metrics of slices in Prometheus' text format, read on request. */
export interface Measurement {
  /** `flightcase_webhook_attempts_total` */
  readonly name: string
  readonly description: string
  readonly kind: "counter" | "gauge"
  readonly labels: { readonly [name: string]: string }
  readonly value: number
}

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')
const line = ({ labels, name, value }: Measurement): string => {
  const given = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${given.length === 0 ? "" : `{${given.join(",")}}`} ${value}`
}
/** Each family once, with its help and type. */
export const measurementsText = (measured: ReadonlyArray<Measurement>): string =>
  [...Map.groupBy(measured, ({ name }) => name)]
    .flatMap(([name, of]) => [
      `# HELP ${name} ${of[0]?.description ?? ""}`,
      `# TYPE ${name} ${of[0]?.kind ?? "gauge"}`,
      ...of.map(line)
    ])
    .map((text) => `${text}\n`)
    .join("")

export type { Headers } from "./server-context.ts"

/**
 * A call over HTTP that is authenticated, within its rate limit and matched. Rows, permission and body are checked
 * later.
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
  /** Path and query as requested. */
  readonly target: string
  /** The path as it may be written down: of paths that hold a key, their pattern. */
  readonly uri: string
  /** The endpoint's name; null for a path there is none for. */
  readonly endpoint: string | null
  readonly ability: string | null
  readonly metering_weight: number
  readonly user_id: number | null
  readonly token_id: number | null
  readonly status: number
  /** Milliseconds since 1970. */
  readonly started_millis: number
  /** Until its answer was complete; of a streamed one, until its last byte was given away. */
  readonly duration_ms: number
  readonly request_bytes: number
  /** For a file, the bytes sent; 0 for an endless stream. */
  readonly response_bytes: number
  readonly remote_address: string
  readonly user_agent: string | null
}

export type ServerEndpoint<A> = Effect.Effect<A, Failure, Store | CommandRuntime | ServerContext>

export interface ServerSlice extends Slice {
  /** Wraps a call, to replay a stored answer or store a new one. `next` runs the call in a transaction of its own. */
  readonly around?: (call: ServerCall, next: ServerEndpoint<Answer>) => ServerEndpoint<Answer>
  /** Runs in the transaction that recorded the events; a failure rejects the command. */
  readonly recorded?: (events: ReadonlyArray<StoredEvent>) => ServerEndpoint<void>
  /** Called after every request under /api/v1 was answered; must be quick and must not fail. */
  readonly answered?: (call: AnsweredServerCall) => void
  /** Runs from the start of the server to its end: timers, queues. Interrupted when the server stops. */
  readonly background?: Effect.Effect<void, Failure, Store | CommandRuntime | ServerContext | Scope.Scope>
  /** Kinds of durable work it queues. */
  readonly jobs?: ReadonlyArray<AnyJobKind>
  /** Jobs that follow from events, queued in the transaction that records them. */
  readonly processes?: ReadonlyArray<Process>
  /** Handlers of inbound webhooks. */
  readonly inbound?: ReadonlyArray<InboundHandler>
  /** Work that is due at certain times. */
  readonly timed?: ReadonlyArray<TimedWork>
  /** Metrics, for /metrics. */
  readonly measured?: ServerEndpoint<ReadonlyArray<Measurement>>
  /** Services its endpoints need besides store and command runtime. */
  readonly services?: (server: ServerContext["Service"]) => Context.Context<never>
}
