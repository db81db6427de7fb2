/**
 * What comes from the server: confirmed events and verdicts, applied in one transaction with the cursor they lead to.
 */
import { Clock, Effect } from "effect"
import { type Catalogue, foldStored } from "../../../core/kernel/catalogue.ts"
import type { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import type { Failure } from "../../../core/kernel/endpoint.ts"
import { scrubsOf, type StoredEvent } from "../../../core/kernel/event.ts"
import { journal, scrubEarlierEvents } from "../../../core/kernel/journal.ts"
import { isWithheldIn } from "../../../core/kernel/redacted-event.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { instantOf } from "../../../core/values/time.ts"
import { merge, type SettledCommand } from "../../protocol/merge.ts"
import type { SnapshotPage } from "../../protocol/snapshot.ts"
import { replicaStream } from "../../protocol/wire.ts"
import { recordOutcomes, recordOutcomesOfRows } from "../outcomes/record.ts"
import { currentFill, type StagedPage, stagePage, swapTables } from "./fill.ts"
import { purgeLater, readMeta, writeMeta } from "./local-tables.ts"
import { redecide, unsettled } from "./pending-commands.ts"
import { hasProvisional, revertProvisional } from "./provisional.ts"
import type { PulledEvents, ReplicaParts } from "./replica-parts.ts"
import { decodeIncoming, type FillState } from "./rows.ts"

/** `settled`: commands that got a verdict. */
interface Applied {
  readonly applied: number
  readonly settled: number
}

const projectEvents = Effect.fnUntraced(function* (catalogue: Catalogue, events: ReadonlyArray<StoredEvent>) {
  const store = yield* Store
  yield* store.apply(events.flatMap((event) => foldStored(catalogue, event, event)))
  yield* store.apply(events.map((row) => ({ op: "insert" as const, table: journal, row: { ...row } })))
  // A person erased on the server is erased here.
  yield* scrubEarlierEvents(store, catalogue.scrubs, events, isWithheldIn(catalogue.tables))
  if (scrubsOf(catalogue.scrubs, events).length > 0) yield* purgeLater(store)
})
export const saveVerdicts = Effect.fnUntraced(function* (settled: ReadonlyArray<SettledCommand>) {
  const store = yield* Store
  for (const { n, status, error } of settled) {
    yield* store.run("insert or replace into verdicts (n, status, error) values (?, ?, ?)", [
      n,
      status,
      error === undefined ? null : JSON.stringify(error)
    ])
  }
})
const saveCursor = Effect.fnUntraced(function* (
  pulled: Pick<PulledEvents, "offset" | "handle" | "up_to_date">,
  position: number
) {
  const store = yield* Store
  yield* writeMeta(store, "position", String(position))
  yield* writeMeta(store, "offset", pulled.offset)
  yield* writeMeta(store, "handle", pulled.handle)
  if (pulled.up_to_date) yield* writeMeta(store, "synced_at", instantOf(yield* Clock.currentTimeMillis))
})

/** Events that follow those the replica has. */
export const applyHere = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  pulled: PulledEvents
): Effect.fn.Return<Applied, Failure, Store | CommandRuntime> {
  const { at, catalogue, outbox, replica_id } = parts
  const store = yield* Store
  const pending = yield* unsettled(outbox)
  const position = Number((yield* readMeta(store, "position")) ?? 0)
  const verdict = merge({ replica_id, position, provisional: yield* hasProvisional, pending }, pulled)
  if (verdict.kind === "reject")
    return yield* Effect.die(new Error(`The server's journal is out of order: ${verdict.reason}.`))
  const events = verdict.kind === "stay" ? [] : verdict.events
  yield* saveCursor(pulled, events.at(-1)?.position ?? position)
  if (verdict.kind === "stay") return { applied: 0, settled: 0 }
  yield* revertProvisional(catalogue)
  yield* writeMeta(store, "run_n", "0")
  yield* projectEvents(catalogue, events)
  yield* saveVerdicts(verdict.settled)
  yield* recordOutcomes({ catalogue, outbox, replica_id }, events)
  yield* redecide(
    parts,
    pending.filter((command) => verdict.redo.includes(command.n))
  )
  at("applied")
  return { applied: events.length, settled: verdict.settled.length }
})

/**
 * Events of a new history: staged page by page in `incoming`; complete, they replace all that was there, in one step.
 */
export const applyStaged = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  pulled: PulledEvents
): Effect.fn.Return<Applied, Failure, Store | CommandRuntime> {
  const { at, catalogue, outbox, replica_id } = parts
  const store = yield* Store
  for (const event of pulled.events)
    yield* store.run("insert or replace into incoming (position, event) values (?, ?)", [
      event.position,
      JSON.stringify(event)
    ])
  yield* writeMeta(store, "offset", pulled.offset)
  yield* writeMeta(store, "handle", pulled.handle)
  if (!pulled.up_to_date) return { applied: pulled.events.length, settled: 0 }
  yield* revertProvisional(catalogue)
  for (const table of [...catalogue.tables, journal]) yield* store.run(`delete from "${table.name}"`)
  const { position, settled } = yield* projectIncoming(parts)
  yield* saveVerdicts(settled)
  yield* recordOutcomes(
    { catalogue, outbox, replica_id },
    yield* store.find(journal, { stream: replicaStream(replica_id) }, { order: ["position"] })
  )
  yield* saveCursor(pulled, position)
  yield* store.run("delete from incoming")
  yield* writeMeta(store, "anew", "no")
  yield* writeMeta(store, "run_n", "0")
  yield* writeMeta(store, "journal_from", "0")
  yield* purgeLater(store)
  yield* redecide(parts, yield* unsettled(outbox))
  at("applied")
  return { applied: pulled.events.length, settled: settled.length }
})
/** Projects the staged events; gives the position of the last, and the commands they settle. */
const projectIncoming = Effect.fnUntraced(function* ({ catalogue, outbox, replica_id }: ReplicaParts) {
  const store = yield* Store
  const pending = yield* unsettled(outbox)
  let position = 0
  const settled: Array<SettledCommand> = []
  for (;;) {
    const page = yield* store.run<{ event: string }>(
      "select event from incoming where position > ? order by position limit 2000",
      [position]
    )
    const events = page.map((row) => decodeIncoming(row.event))
    const last = events.at(-1)
    if (last === undefined) return { position, settled }
    const verdict = merge({ replica_id, position, provisional: false, pending }, { events, up_to_date: false })
    if (verdict.kind === "advance") settled.push(...verdict.settled)
    yield* projectEvents(catalogue, events)
    position = last.position
  }
})

/** A page of rows of a fill: staged, or with the last page put in place of the tables in use, which gives undefined. */
export const applyPage = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  requested: StagedPage["requested"],
  page: SnapshotPage
): Effect.fn.Return<FillState | undefined, Failure, Store | CommandRuntime> {
  const { at, catalogue, outbox, replica_id } = parts
  const store = yield* Store
  const staged = yield* stagePage(catalogue, { replica_id, pending: yield* unsettled(outbox), requested, page })
  if (staged === undefined) return yield* currentFill(store)
  at("page laid down")
  if (page.next !== null) return staged
  yield* swapTables(catalogue, staged)
  yield* saveVerdicts(staged.settled.filter((one) => outbox.pending().some(({ n }) => n === one.n)))
  yield* recordOutcomesOfRows({ catalogue, outbox, replica_id }, staged.settled)
  yield* saveCursor({ offset: staged.offset, handle: staged.handle, up_to_date: false }, staged.position)
  yield* purgeLater(store)
  yield* redecide(parts, yield* unsettled(outbox))
  at("rows taken over")
  return undefined
})
