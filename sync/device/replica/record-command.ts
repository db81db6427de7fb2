/**
 * Recording a command on a device: decided by the same rules as on the server, and written to the outbox before it is
 * answered.
 */
import { Clock, Effect } from "effect"
import type { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import type { Failure } from "../../../core/kernel/endpoint.ts"
import type { EndpointCall, Outcome } from "../../../core/kernel/engine.ts"
import { isJsonObject } from "../../../core/kernel/json.ts"
import { Rejection } from "../../../core/kernel/rejection.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { instantOf } from "../../../core/values/time.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import { redactionFor } from "../../protocol/redaction.ts"
import { redactionOfOutbox } from "../outbox/redact-outbox.ts"
import type { CommandContext, OutboxCommand } from "../outbox/command.ts"
import { refuseWhileMissing, saveLastRun } from "../recovery/missing-commands.ts"
import { readMeta } from "./local-tables.ts"
import { toPatch } from "./patch.ts"
import { runDue } from "./pending-commands.ts"
import { type QueryResult, relaxedDurability, type ReplicaParts, type Rerecording } from "./replica-parts.ts"
import { referencesOfCommand, rowPreconditions, rowReference, rowsOfPath } from "./references.ts"

/** Ends the transaction of a command that is only tried out: its events are taken back, its outcome is kept. */
class Planned extends Error {
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    super("planned")
    this.outcome = outcome
  }
}
const eventsOf = ({ events }: Outcome) => events.map(({ stream, type, data }) => ({ stream, type, data }))

/** Decides an update by the fields its person changed; where that is refused or changes nothing, as it was sent. */
const decidePatch = Effect.fnUntraced(function* (
  { catalogue, decide }: ReplicaParts,
  call: EndpointCall,
  id: string,
  ids: OutboxCommand["ids"]
) {
  const own = yield* toPatch(catalogue, call, instantOf(yield* Clock.currentTimeMillis))
  const outcome =
    own === call
      ? undefined
      : yield* decide(own, id, ids).pipe(
          Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(undefined) : Effect.fail(failure)))
        )
  return outcome !== undefined && outcome.events.length > 0
    ? { decided: own, outcome }
    : { decided: call, outcome: yield* decide(call, id, ids) }
})

/** With `plan` nothing is recorded: the answer holds the events it would have made. `again`: it resolves a conflict. */
export const recordCommand = (
  parts: ReplicaParts,
  call: EndpointCall,
  plan: boolean,
  again?: Rerecording
): Effect.Effect<QueryResult, Failure, Store | CommandRuntime> =>
  Effect.flatMap(Store, (store) => relaxedDurability(store.transaction(recordInside(parts, call, plan, again)))).pipe(
    Effect.catchDefect((defect) =>
      defect instanceof Planned
        ? Effect.succeed<QueryResult>({ ...defect.outcome.answer, events: eventsOf(defect.outcome) })
        : Effect.die(defect)
    )
  )

const recordInside = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  call: EndpointCall,
  plan: boolean,
  again: Rerecording | undefined
): Effect.fn.Return<QueryResult, Failure, Store | CommandRuntime> {
  const { at, catalogue, outbox, replica_id } = parts
  yield* refuseWhileMissing(outbox)
  yield* runDue(parts)
  const id = parts.commandId()
  const rows = yield* rowsOfPath(call.endpoint, call.params)
  const { decided, outcome } = yield* decidePatch(parts, call, id, again?.ids ?? {})
  if (plan) return yield* Effect.die(new Planned(outcome))
  const [first] = outcome.events
  // A write that changes nothing needs no verdict.
  if (first === undefined) return outcome.answer
  at("decided")
  const { files } = call.request
  const payload: WireCommand["payload"] = {
    params: call.params,
    body: isJsonObject(decided.request.body) ? decided.request.body : {},
    ...(files === undefined ? {} : { files })
  }
  const references = referencesOfCommand(call.endpoint, payload)
  const about: CommandContext = {
    base: Number((yield* readMeta(yield* Store, "position")) ?? 0),
    named: references.map(rowReference),
    rows_seen: yield* rowPreconditions(catalogue, references),
    recorded: redactionOfOutbox(catalogue, redactionFor(catalogue, call.viewer, replica_id)).recorded({
      events: eventsOf(outcome),
      rows
    }),
    ...(again === undefined ? {} : { replaces: { id: again.replaces, how: again.how } })
  }
  const kept = yield* Effect.sync(() =>
    outbox.append({ id, name: call.endpoint.name, payload, ids: outcome.ids, issued_at: first.recorded_at }, about)
  )
  at("in the outbox")
  yield* saveLastRun(kept.n)
  return { ...outcome.answer, command: { n: kept.n, id } }
})
