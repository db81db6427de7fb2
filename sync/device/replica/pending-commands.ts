/** Pending commands on a replica: decided again after a pull, after a crash, or when another process recorded them. */
import { Effect } from "effect"
import type { EndpointCall } from "../../../core/kernel/engine.ts"
import { bodyOf, Rejection, statusOf } from "../../../core/kernel/rejection.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import { filesOfPayload, type WireError } from "../../protocol/wire.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand } from "../outbox/command.ts"
import { saveLastRun } from "../recovery/missing-commands.ts"
import { readMeta } from "./local-tables.ts"
import type { ReplicaParts } from "./replica-parts.ts"

/** Pending commands without a verdict in the journal, in order. */
export const unsettled = Effect.fnUntraced(function* (outbox: Outbox) {
  const store = yield* Store
  const rows = yield* store.run<{ n: number }>("select n from verdicts")
  const settled = new Set(rows.map((row) => row.n))
  return outbox.pending().filter((command) => !settled.has(command.n))
})

/**
 * Decides a recorded command by the rules of today; where it no longer holds it is listed as stalled, with the reason.
 */
const redecideOne = Effect.fnUntraced(function* (parts: ReplicaParts, command: OutboxCommand, viewer: Viewer) {
  const store = yield* Store
  const endpoint = parts.catalogue.endpoint(command.name)
  const { body, params } = command.payload
  const files = filesOfPayload(command.payload)
  const refused: WireError | undefined =
    endpoint === undefined
      ? { status: 422, message: `This release knows no command ${command.name}.` }
      : yield* runAgain(
          parts,
          {
            endpoint,
            viewer,
            params,
            request: { method: endpoint.method, path: endpoint.path, query: [], body, ...files }
          },
          command
        )
  if (refused !== undefined)
    yield* store.run("insert or replace into stalled (n, error) values (?, ?)", [command.n, JSON.stringify(refused)])
})
/** The refusal, where it is refused. */
const runAgain = ({ decide, outbox }: ReplicaParts, call: EndpointCall, command: OutboxCommand) =>
  Effect.gen(function* () {
    const { ids } = yield* decide(call, command.id, command)
    if (Object.entries(ids).some(([table, used]) => used.length > (command.ids[table]?.length ?? 0)))
      outbox.extendIds(command.n, { ...command.ids, ...ids })
    return undefined
  }).pipe(
    Effect.catch((failure) =>
      failure instanceof Rejection
        ? Effect.succeed({ status: statusOf[failure.kind], ...bodyOf(failure) } satisfies WireError)
        : Effect.fail(failure)
    )
  )

export const redecide = Effect.fnUntraced(function* (parts: ReplicaParts, due: ReadonlyArray<OutboxCommand>) {
  const last = due.at(-1)
  if (last === undefined) return
  // Before a replica is filled it has no users: what is due waits.
  const viewer = yield* parts.viewer.pipe(
    Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(undefined) : Effect.fail(failure)))
  )
  if (viewer === undefined) return
  for (const command of due) yield* redecideOne(parts, command, viewer)
  yield* saveLastRun(last.n)
})

const lastRun = Effect.gen(function* () {
  return Number((yield* readMeta(yield* Store, "run_n")) ?? 0)
})
/**
 * Whether another process recorded commands, or a crash came before they were run here. Cheap, however many are
 * pending.
 */
export const hasDueCommands = Effect.fnUntraced(function* (outbox: Outbox) {
  return outbox.lastPending() > (yield* lastRun)
})
export const runDue = Effect.fnUntraced(function* (parts: ReplicaParts) {
  if (!(yield* hasDueCommands(parts.outbox))) return
  const run_n = yield* lastRun
  yield* redecide(
    parts,
    (yield* unsettled(parts.outbox)).filter((command) => command.n > run_n)
  )
})
