/**
 * What became of this device's commands, worked out when their verdicts are pulled, while tables and journal hold just what
 * is confirmed: for a refused one what changed meanwhile and by whom; for an accepted one whose values it put aside, and
 * where the outcome is not what was shown here when it was recorded. It waits in the replica until the outbox is told.
 */
import { Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { StoredEvent } from "../../../core/kernel/event.ts"
import { journal } from "../../../core/kernel/journal.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { baseCurrency } from "../../../core/kernel/settings.ts"
import { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import { Store, type StoreShape } from "../../../core/kernel/store/store.ts"
import { commandDecided, decidedIn } from "../../protocol/events.ts"
import { replicaStream } from "../../protocol/wire.ts"
import { provisional_base } from "../replica/local-tables.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand } from "../outbox/command.ts"
import { concurrentChanges } from "./concurrent-changes.ts"
import { findDifferencesInRows, findDifferences, overwrittenFields } from "./differences.ts"
import type { CommandOutcome, DescriptionContext } from "./describe-event.ts"

interface Parts {
  readonly catalogue: Catalogue
  readonly outbox: Outbox
  readonly replica_id: number
}
/** Accounts for the commands that these confirmed events decide. */
export const recordOutcomes = Effect.fnUntraced(function* (
  { catalogue, outbox, replica_id }: Parts,
  events: ReadonlyArray<StoredEvent>
) {
  const verdicts = events.filter(
    (event) => event.type === commandDecided.type && event.stream === replicaStream(replica_id)
  )
  if (verdicts.length === 0) return
  const store = yield* Store
  const description_context: DescriptionContext = {
    catalogue,
    replica_id,
    base_currency: baseCurrency(yield* (yield* CommandRuntime).settings)
  }
  for (const verdict of verdicts) {
    const command = outbox.find(decidedIn(verdict.data).command_id)
    if (command === undefined || command.account !== null) continue
    yield* store.run("insert or replace into accounts (n, account) values (?, ?)", [
      command.n,
      JSON.stringify(yield* accountOf(description_context, command, outbox, verdict))
    ])
  }
})

const accountOf = Effect.fnUntraced(function* (
  description_context: DescriptionContext,
  command: OutboxCommand,
  outbox: Outbox,
  verdict: StoredEvent
) {
  const { status, error } = decidedIn(verdict.data)
  const recorded = outbox.recordedOf(command.n) ?? { events: [], rows: {} }
  const account: { -readonly [K in keyof CommandOutcome]: CommandOutcome[K] } = {}
  if (status === "rejected")
    account.changes = yield* concurrentChanges(description_context, command, recorded, verdict.position, error)
  else {
    const own = yield* confirmedOf(yield* Store, description_context.replica_id, command.id)
    account.merged = yield* overwrittenFields(description_context, command, recorded, own)
    account.differences = yield* findDifferences(description_context, command, recorded, own)
  }
  return Object.fromEntries(
    Object.entries(account).filter(([, told]) => told !== undefined && told.length > 0)
  ) as CommandOutcome
})
const confirmedOf = (store: StoreShape, replica_id: number, command_id: string) =>
  Effect.map(
    // Another device may have used the id as well.
    store.find(journal, { command_id, replica_id }, { order: ["position"] }),
    (events): ReadonlyArray<StoredEvent> =>
      events.filter((event) => event.position < provisional_base && event.type !== commandDecided.type)
  )

/** Accounts for accepted commands whose verdict came with the rows of a fill. What changed before those is not known here. */
export const recordOutcomesOfRows = Effect.fnUntraced(function* (
  { catalogue, outbox, replica_id }: Parts,
  settled: ReadonlyArray<{ readonly n: number; readonly status: string }>
) {
  if (settled.length === 0) return
  const store = yield* Store
  const description_context: DescriptionContext = {
    catalogue,
    replica_id,
    base_currency: baseCurrency(yield* (yield* CommandRuntime).settings)
  }
  const accepted = new Set(settled.filter((one) => one.status === "accepted").map((one) => one.n))
  for (const command of outbox.pending().filter((one) => accepted.has(one.n))) {
    const differences = yield* findDifferencesInRows(
      description_context,
      command,
      outbox.recordedOf(command.n) ?? { events: [], rows: {} }
    )
    yield* store.run("insert or replace into accounts (n, account) values (?, ?)", [
      command.n,
      JSON.stringify(differences.length === 0 ? {} : ({ differences } satisfies CommandOutcome))
    ])
  }
})

/** Tells the outbox; safe to repeat. */
export const moveOutcomesToOutbox = Effect.fnUntraced(function* (outbox: Outbox) {
  const store = yield* Store
  const rows = yield* store.run<{ n: number; account: string }>("select n, account from accounts order by n")
  if (rows.length === 0) return
  outbox.saveOutcomes(rows.map(({ n, account }) => ({ n, account: JSON.parse(account) as JsonObject })))
  yield* store.transaction(store.run("delete from accounts"))
})
