/**
 * Works out what became of this device's commands when their verdicts are pulled, while tables and journal hold only
 * what is confirmed: for a refused command what others changed since it was recorded; for an accepted one whose values
 * it overwrote, and where its outcome differs from what was shown here. The replica's table `accounts` keeps the
 * outcomes until they are moved to the outbox.
 */
import { Effect } from "effect"
import type { Failure } from "../../../core/kernel/endpoint.ts"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { StoredEvent } from "../../../core/kernel/event.ts"
import { journal } from "../../../core/kernel/journal.ts"
import { baseCurrency, settingText } from "../../../core/kernel/settings.ts"
import { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import { Store, type StoreShape } from "../../../core/kernel/store/store.ts"
import { commandDecided, decidedIn } from "../../protocol/events.ts"
import { replicaStream } from "../../protocol/wire.ts"
import { provisional_base } from "../replica/local-tables.ts"
import { decodeOutcome } from "../replica/rows.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand, RecordedEffects } from "../outbox/command.ts"
import { concurrentChanges } from "./concurrent-changes.ts"
import { findDifferencesInRows, findDifferences, overwrittenFields } from "./differences.ts"
import type { DescriptionContext } from "./describe-event.ts"
import type { CommandOutcome } from "./outcome.ts"

interface Parts {
  readonly catalogue: Catalogue
  readonly outbox: Outbox
  readonly replica_id: number
}
/** Outcomes of the commands that these confirmed events decide. */
export const recordOutcomes = Effect.fnUntraced(function* (parts: Parts, events: ReadonlyArray<StoredEvent>) {
  const { outbox, replica_id } = parts
  const verdicts = events.filter(
    (event) => event.type === commandDecided.type && event.stream === replicaStream(replica_id)
  )
  if (verdicts.length === 0) return
  const store = yield* Store
  const context = yield* contextOf(parts)
  for (const verdict of verdicts) {
    const command = outbox.find(decidedIn(verdict.data).command_id)
    if (command === undefined || command.account !== null) continue
    yield* saveOutcome(store, command.n, yield* outcomeOf(context, command, outbox, verdict))
  }
})

const outcomeOf = Effect.fnUntraced(function* (
  context: DescriptionContext,
  command: OutboxCommand,
  outbox: Outbox,
  verdict: StoredEvent
): Effect.fn.Return<CommandOutcome, Failure, Store> {
  const { status, error } = decidedIn(verdict.data)
  const recorded = outbox.recordedOf(command.n) ?? nothing_recorded
  if (status === "rejected")
    return withoutEmpty({ changes: yield* concurrentChanges(context, command, recorded, verdict.position, error) })
  const own = yield* confirmedEventsOf(yield* Store, context.replica_id, command.id)
  return withoutEmpty({
    merged: yield* overwrittenFields(context, command, recorded, own),
    differences: yield* findDifferences(context, command, recorded, own)
  })
})
const nothing_recorded: RecordedEffects = { events: [], rows: {} }
const withoutEmpty = ({ changes = [], merged = [], differences = [] }: CommandOutcome): CommandOutcome => ({
  ...(changes.length === 0 ? {} : { changes }),
  ...(merged.length === 0 ? {} : { merged }),
  ...(differences.length === 0 ? {} : { differences })
})
const saveOutcome = (store: StoreShape, n: number, outcome: CommandOutcome) =>
  store.run("insert or replace into accounts (n, account) values (?, ?)", [n, JSON.stringify(outcome)])
const contextOf = Effect.fnUntraced(function* ({ catalogue, replica_id }: Parts) {
  const settings = yield* (yield* CommandRuntime).settings
  const timezone = settingText(settings, "company", "timezone")
  return { catalogue, replica_id, base_currency: baseCurrency(settings), timezone } satisfies DescriptionContext
})
const confirmedEventsOf = (store: StoreShape, replica_id: number, command_id: string) =>
  Effect.map(
    // Another device may have used the id as well.
    store.find(journal, { command_id, replica_id }, { order: ["position"] }),
    (events): ReadonlyArray<StoredEvent> =>
      events.filter((event) => event.position < provisional_base && event.type !== commandDecided.type)
  )

/**
 * Outcomes of accepted commands whose verdict came with the rows of a fill: the events before those rows are not here.
 */
export const recordOutcomesOfRows = Effect.fnUntraced(function* (
  parts: Parts,
  settled: ReadonlyArray<{ readonly n: number; readonly status: string }>
) {
  if (settled.length === 0) return
  const { outbox } = parts
  const store = yield* Store
  const context = yield* contextOf(parts)
  const accepted = new Set(settled.filter((one) => one.status === "accepted").map((one) => one.n))
  for (const command of outbox.pending().filter((one) => accepted.has(one.n))) {
    const recorded = outbox.recordedOf(command.n) ?? nothing_recorded
    const differences = yield* findDifferencesInRows(context, command, recorded)
    yield* saveOutcome(store, command.n, withoutEmpty({ differences }))
  }
})

/** Moves outcomes from the replica to the outbox; safe to repeat after a crash. */
export const moveOutcomesToOutbox = Effect.fnUntraced(function* (outbox: Outbox) {
  const store = yield* Store
  const rows = yield* store.run<{ n: number; account: string }>("select n, account from accounts order by n")
  if (rows.length === 0) return
  outbox.saveOutcomes(rows.map(({ n, account }) => ({ n, account: decodeOutcome(account) })))
  yield* store.transaction(store.run("delete from accounts"))
})
