/**
 * Recording a command on a device: decided by the same rules as on the server, and written to the outbox before it is
 * answered.
 */
import { Clock, Effect } from "effect"
import type { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import type { Failure } from "../../../core/kernel/endpoint.ts"
import type { EndpointCall, Outcome } from "../../../core/kernel/engine.ts"
import { isJsonObject } from "../../../core/kernel/json.ts"
import { bodyOf, Rejection, statusOf } from "../../../core/kernel/rejection.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { instantOf } from "../../../core/values/time.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import { redactionFor } from "../../protocol/redaction.ts"
import { redactionOfOutbox } from "../outbox/redact-outbox.ts"
import type { CommandContext } from "../outbox/command.ts"
import { refuseWhileMissing, saveLastRun } from "../recovery/missing-commands.ts"
import { readMeta } from "./local-tables.ts"
import { changedRows, lastImage } from "./images.ts"
import { toPatch, withSeen } from "./patch.ts"
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
/** The same for several commands, of which some may have been refused. */
class PlannedSeries extends Error {
  readonly answers: ReadonlyArray<QueryResult>
  constructor(answers: ReadonlyArray<QueryResult>) {
    super("planned")
    this.answers = answers
  }
}
const eventsOf = ({ events }: Outcome) => events.map(({ stream, type, data }) => ({ stream, type, data }))

/** Decides an update by the fields its person changed; where that is refused or changes nothing, as it was sent. */
const decidePatch = Effect.fnUntraced(function* (
  { catalogue, decide }: ReplicaParts,
  sent: EndpointCall,
  id: string,
  recorded: Parameters<ReplicaParts["decide"]>[2],
  continues = false
) {
  const call = yield* withSeen(sent)
  const own = yield* toPatch(catalogue, call, instantOf(yield* Clock.currentTimeMillis))
  const outcome =
    own === call
      ? undefined
      : yield* decide(own, id, recorded, continues).pipe(
          Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(undefined) : Effect.fail(failure)))
        )
  return outcome !== undefined && outcome.events.length > 0
    ? { decided: own, outcome }
    : { decided: call, outcome: yield* decide(call, id, recorded, continues) }
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

/** A command that may name rows which those before it in a series made: their ids, by the place of the command. */
export type CallAfter = (made: ReadonlyArray<WireCommand["ids"]>) => EndpointCall | Rejection
/**
 * What several commands would come to one after the other, each decided on what those before it would have done; a
 * refusal changes nothing for the next. Nothing is recorded.
 */
export const planSeries = (
  parts: ReplicaParts,
  calls: ReadonlyArray<CallAfter>,
  ids: ReadonlyArray<WireCommand["ids"]>
): Effect.Effect<ReadonlyArray<QueryResult>, Failure, Store | CommandRuntime> =>
  Effect.flatMap(Store, (store) => store.transaction(planInside(parts, calls, ids))).pipe(
    Effect.catchDefect((defect) =>
      defect instanceof PlannedSeries ? Effect.succeed(defect.answers) : Effect.die(defect)
    )
  )
const refusalOf = (rejection: Rejection): QueryResult => ({ status: statusOf[rejection.kind], body: bodyOf(rejection) })
const planInside = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  calls: ReadonlyArray<CallAfter>,
  first_ids: ReadonlyArray<WireCommand["ids"]>
): Effect.fn.Return<ReadonlyArray<QueryResult>, Failure, Store | CommandRuntime> {
  yield* refuseWhileMissing(parts.outbox)
  yield* runDue(parts)
  const answers: Array<QueryResult> = []
  const made: Array<WireCommand["ids"]> = []
  for (const [at, callAfter] of calls.entries()) {
    const call = callAfter(made)
    const planned = (
      call instanceof Rejection
        ? Effect.fail(call)
        : decidePatch(parts, call, parts.commandId(), { ids: first_ids[at] ?? {} }, at > 0)
    ).pipe(
      Effect.map(({ outcome }) => ({
        answer: { ...outcome.answer, events: eventsOf(outcome) } satisfies QueryResult,
        ids: outcome.ids
      })),
      Effect.catch((failure) =>
        failure instanceof Rejection ? Effect.succeed({ answer: refusalOf(failure), ids: {} }) : Effect.fail(failure)
      )
    )
    const { answer, ids } = yield* planned
    answers.push(answer)
    made.push(ids)
  }
  return yield* Effect.die(new PlannedSeries(answers))
})

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
  const images_before = yield* lastImage
  const { decided, outcome } = yield* decidePatch(parts, call, id, again ?? {})
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
  const recordedHere = redactionOfOutbox(catalogue, redactionFor(catalogue, call.viewer, replica_id)).recorded
  const done = yield* changedRows(images_before)
  const base = Number((yield* readMeta(yield* Store, "position")) ?? 0)
  const about: CommandContext = {
    base,
    named: references.map(rowReference),
    rows_seen: yield* rowPreconditions(catalogue, references),
    recorded: recordedHere({ events: eventsOf(outcome), rows }),
    ...(again?.replaces === undefined ? {} : { replaces: again.replaces }),
    ...(again?.undoes === undefined ? {} : { undoes: again.undoes }),
    ...(again?.needs === undefined ? {} : { needs: again.needs }),
    ...(again?.unless_changed === undefined ? {} : { unless_changed: { ...again.unless_changed, since: base } }),
    ...(parts.run === undefined ? {} : { run: parts.run }),
    ...(done === undefined
      ? {}
      : { done: { ...recordedHere({ events: eventsOf(outcome), rows: done.rows }), made: done.made } })
  }
  const kept = yield* Effect.sync(() =>
    outbox.append(
      { id, name: call.endpoint.name, payload, ids: outcome.ids, issued_at: again?.issued_at ?? first.recorded_at },
      about
    )
  )
  at("in the outbox")
  yield* saveLastRun(kept.n)
  return { ...outcome.answer, command: { n: kept.n, id } }
})
