/** What is done about webhooks from outside: slices list a handler for each kind of event they understand. */
import { Effect, Schema } from "effect"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import { GivenUp } from "../jobs/job-kind.ts"
import type { ServerContext } from "../server-context.ts"
import type { SourceKind } from "./signature.ts"

/** A delivery whose signature held, as handlers get it. */
export interface Delivery {
  /** The source's name. */
  readonly source: string
  readonly kind: SourceKind
  /** The sender's own name of it. */
  readonly delivery_id: string
  readonly received_at: string
}
export type Handling<A> = Effect.Effect<A, unknown, Store | CommandRuntime | ServerContext>

export interface InboundHandler {
  readonly kinds: ReadonlyArray<SourceKind>
  /** The event's type, as the sender calls it. */
  readonly event: string
  readonly handle: (body: JsonObject, delivery: Delivery) => Handling<string>
}

/**
 * Declares a handler. `run` says in a few words what came of it; it runs in the transaction that notes it as done, so
 * that what it records is recorded once. A body that is not of `body` is given up.
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
