/**
 * The replica's own tables: its cursor, provisional changes, and the highest number it ever ran, which shows that the
 * outbox has lost acknowledged commands. Nothing is recorded or synced until the user decides about those, as a pull
 * would delete their last traces.
 */
import { firstOf } from "../../../core/values/text.ts"
import { Effect, Schema } from "effect"
import { inPowersOfTwo, jsonObject, Store, wholeNumber } from "../../../core/kernel/index.ts"
import type { AnyRow, Catalogue, Failure, JsonObject, Key, RowChange, StoreShape } from "../../../core/kernel/index.ts"
import { scrub, settledCommand, storedEvent } from "../../protocol/snapshot.ts"
import { DecodeFailure, decoderOf, jsonText, optionalDecoderOf, wireError } from "../../protocol/wire.ts"
import { DeviceFailure, ReplicaTextFailure } from "./device-failure.ts"
import type { Outbox } from "./outbox.ts"

// Tables that only a replica has: its cursor, images of rows for reverting provisional changes, and data to move to the
// outbox.

/** First position of provisional events: above all confirmed ones. */
export const provisional_base = 2 ** 50

const statements = [
  `create table if not exists replica_meta (key text primary key, value text not null)`,
  // Images of rows before provisional changes; reverted newest first.
  `create table if not exists undo (seq integer primary key, table_name text not null, row_key text not null, before text)`,
  // Pending commands that the rules now refuse here, and that the server will probably refuse.
  `create table if not exists stalled (n integer primary key, error text not null)`,
  // Verdicts found in the journal; passed on to the outbox after the commit, and again on opening.
  `create table if not exists verdicts (n integer primary key, status text not null, error text)`,
  // Outcomes of commands (`outbox/outcome.ts`); passed on to the outbox with the verdicts.
  `create table if not exists accounts (n integer primary key, account text not null)`,
  // Events of a new history, staged until they are complete.
  `create table if not exists incoming (position integer primary key, event text not null)`
]
const names = statements.flatMap((statement) => /exists (\w+)/.exec(statement)?.[1] ?? [])
export const ensureLocalTables = Effect.gen(function* () {
  // Only if one is missing, as DDL makes SQLite compile all statements again.
  const there = yield* Store.run<{ tables: number }>(
    `select count(*) as tables from sqlite_master where type = 'table' and name in (${names.map((name) => `'${name}'`).join(", ")})`
  )
  if (firstOf(there).tables < names.length) for (const statement of statements) yield* Store.run(statement)
})

/** Redacts the outbox and empties the log if requested; postponed while another process reads. */
export const purge = Effect.fnUntraced(function* (redactOutbox: Effect.Effect<boolean, Failure, Store>) {
  const store = yield* Store
  if ((yield* readMeta(store, "purge")) !== "yes") return
  const is_redacted = yield* redactOutbox
  const [done] = yield* store.run<{ busy: number }>("pragma wal_checkpoint(truncate)")
  if (is_redacted && done?.busy === 0) yield* store.run("delete from replica_meta where key = 'purge'")
})

export const readMeta = (store: StoreShape, key: string) =>
  Effect.map(
    store.run<{ value: string }>("select value from replica_meta where key = ?", [key]),
    (rows) => rows[0]?.value
  )
export const writeMeta = (store: StoreShape, key: string, value: string) =>
  Effect.asVoid(
    store.run(
      "insert into replica_meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
      [key, value]
    )
  )

// Documents in the replica's own tables, stored as JSON and decoded by Schemas. Unknown keys of other releases are
// dropped. Invalid text throws a ReplicaTextFailure, so that the replica is refilled; invalid explanatory data is
// dropped.

const textDecoderOf = <T>(subject: string, schema: () => Schema.Codec<T>): ((text: string) => T) => {
  const decode = decoderOf(subject, () => jsonText(schema()))
  return (text) => {
    try {
      return decode(text)
    } catch (error) {
      throw error instanceof DecodeFailure ? new ReplicaTextFailure(error) : error
    }
  }
}

const fillState = Schema.suspend(() =>
  Schema.Struct({
    generation: wholeNumber,
    handle: Schema.String,
    /** Journal position of the staged rows. */
    position: wholeNumber,
    offset: Schema.String,
    after: Schema.String,
    /** Tables whose rows are all staged. */
    done: Schema.Array(Schema.String),
    /**
     * Position at which the fill began: earlier events are contained in the rows; the local journal begins after it.
     */
    from: wholeNumber,
    rows: wholeNumber,
    rows_total: wholeNumber,
    settled: Schema.Array(settledCommand),
    erased: Schema.optionalKey(Schema.Array(scrub))
  })
)
/** Progress of a fill; stored with the rows (`filling` of `replica_meta`). */
export type FillState = typeof fillState.Type
export const decodeFillState = textDecoderOf("how far a fill has come", () => fillState)
/** Personal data erased before the rows of a fill were read (`erased` of `replica_meta`). */
export const decodeErased = textDecoderOf("what was erased before a fill", () => Schema.Array(scrub))
/** Decodes a staged event, which waits for the rest of its history (`incoming`). */
export const decodeIncoming = textDecoderOf("an event that was fetched", () => storedEvent)
/** Decodes the error of a verdict, or of a command that the rules now refuse here (`verdicts`, `stalled`). */
export const decodeError = textDecoderOf("the error of a command", () => wireError)
/** Decodes the key of a row changed provisionally (`undo`). */
const decodeKey: (text: string) => Key = textDecoderOf("the key of a changed row", () =>
  Schema.Union([Schema.Finite, Schema.String])
)
const decodeImage: (text: string) => JsonObject = textDecoderOf("a row before its change", () => jsonObject)

const outcome = optionalDecoderOf("the outcome of a command", () => jsonText(jsonObject))
/** Decodes an outcome (`accounts`); an unreadable one is empty, as nothing is decided by it. */
export const decodeOutcome = (text: string): JsonObject => outcome(text) ?? {}

// Provisional changes: recorded with images of the changed rows, so that they can be reverted exactly.

/** A row before a change of it; undefined if the change creates it. */
export interface Image {
  readonly table: string
  readonly key: Key
  readonly row: AnyRow | undefined
}
const images_bound_max = 64

const nameOf = (table: string, key: Key): string => `${table}/${key}`
/** Applies changes and stores images of the rows before them, one each; returns the images. */
export const projectProvisionally = Effect.fnUntraced(function* (changes: ReadonlyArray<RowChange>) {
  const store = yield* Store
  const found = new Map<string, Image>()
  const due: Array<RowChange> = []
  for (const change of changes) {
    const { table } = change
    // A condition is met by rows as earlier changes leave them.
    if ("where" in change && due.some((one) => one.table === table)) yield* store.apply(due.splice(0))
    if (!("key" in change && found.has(nameOf(table.name, change.key)))) {
      const before = yield* store.imagesBefore(change)
      if (before.length === 0) continue
      for (const image of before) {
        const name = nameOf(table.name, image.key)
        if (!found.has(name)) found.set(name, { ...image, table: table.name })
      }
    }
    due.push(change)
  }
  yield* store.apply(due)
  const images = [...found.values()]
  for (const some of inPowersOfTwo(images, images_bound_max))
    yield* store.run(
      `insert into undo (table_name, row_key, before) values ${some.map(() => "(?, ?, ?)").join(", ")}`,
      some.flatMap(({ key, row, table }) => [
        table,
        JSON.stringify(key),
        row === undefined ? null : JSON.stringify(row)
      ])
    )
  return images
})

/** Restores every changed row from its oldest image and deletes the provisional events. */
export const revertProvisional = Effect.fnUntraced(function* (catalogue: Catalogue) {
  const store = yield* Store
  const images = yield* store.run<{ table_name: string; row_key: string; before: string | null }>(
    "select table_name, row_key, before from undo order by seq desc"
  )
  const oldest = new Map(images.map((image) => [nameOf(image.table_name, image.row_key), image]))
  const rows = [...oldest.values()].map((image) => ({ ...image, table: catalogue.table(image.table_name) }))
  // All are deleted before any is restored, as each may hold values that must be unique.
  yield* store.apply(rows.map(({ row_key, table }) => ({ op: "delete", table, key: decodeKey(row_key) })))
  yield* store.apply(
    rows.flatMap(({ before, table }) => (before === null ? [] : [{ op: "insert", table, row: decodeImage(before) }]))
  )
  yield* store.run("delete from undo")
  yield* store.run("delete from stalled")
  yield* store.run("delete from journal where position >= ?", [provisional_base])
})

/** A range of command numbers, both ends included. */
export interface MissingCommands {
  readonly from: number
  readonly to: number
}

/** Query for the highest number ever run here; earlier releases stored only the last one (`run_n`). */
export const highestKnown =
  "select max(cast(value as integer)) as n from replica_meta where key in ('acknowledged_n', 'run_n')"

/** Records that a command was run here, so that its loss from the outbox is detected. */
export const saveLastRun = (n: number) =>
  Store.run(
    "insert into replica_meta (key, value) values ('run_n', ?), ('acknowledged_n', ?) " +
      "on conflict (key) do update set value = case key when 'run_n' then excluded.value " +
      "else max(cast(value as integer), cast(excluded.value as integer)) end",
    [String(n), String(n)]
  )

/** How far the replica has come: in the journal, in the numbers of commands, and in commits of other processes. */
const readProgress = Effect.gen(function* () {
  const rows = yield* Store.run<{ key: string; value: string | number }>(
    "select key, value from replica_meta where key in ('position', 'run_n', 'acknowledged_n') " +
      "union all select 'data_version', data_version from pragma_data_version"
  )
  const numberOf = (name: string): number => Number(rows.find(({ key }) => key === name)?.value ?? 0)
  const run_n = numberOf("run_n")
  return {
    data_version: numberOf("data_version"),
    position: numberOf("position"),
    run_n,
    highest_n: Math.max(run_n, numberOf("acknowledged_n"))
  }
})

/**
 * Missing commands; undefined if none. Reads the replica before the outbox, as commands recorded meanwhile are in the
 * outbox first.
 */
export const missingNow = Effect.fnUntraced(function* (outbox: Pick<Outbox, "lastN">) {
  return missingBetween((yield* readProgress).highest_n, outbox.lastN())
})
export const missingBetween = (known: number, last: number): MissingCommands | undefined =>
  known > last ? { from: last + 1, to: known } : undefined

/** Dies with a DeviceFailure if the outbox has lost commands; returns how far the replica and the outbox have come. */
export const refuseWhileMissing = Effect.fnUntraced(function* (outbox: Pick<Outbox, "lastN">) {
  const progress = yield* readProgress
  const last_n = outbox.lastN()
  const missing = missingBetween(progress.highest_n, last_n)
  return missing === undefined ? { ...progress, last_n } : yield* Effect.die(missingFailure(missing))
})
/** Continues without the lost commands: reverts their changes, and numbers continue after the outbox's last. */
export const acceptMissing = Effect.fnUntraced(function* (catalogue: Catalogue, outbox: Pick<Outbox, "lastN">) {
  const store = yield* Store
  yield* store.transaction(
    Effect.gen(function* () {
      yield* revertProvisional(catalogue)
      yield* store.run("delete from verdicts where n > ?", [outbox.lastN()])
      yield* writeMeta(store, "run_n", "0")
      yield* writeMeta(store, "acknowledged_n", String(outbox.lastN()))
    })
  )
})

export const missingText = ({ from, to }: MissingCommands): string =>
  `${from === to ? `Command ${from} was` : `Commands ${from} to ${to} were`} acknowledged here, and the outbox does not have ${from === to ? "it" : "them"} any more`
export const missing_advice =
  "Put outbox.sqlite with its -wal file back from a backup. Without one, flightcase sync export-pending FILE writes out what is there and what is " +
  "still known of the lost ones; then flightcase doctor --accept-loss goes on without them."
const missingFailure = (missing: MissingCommands): DeviceFailure =>
  new DeviceFailure(
    "commands missing",
    `${missingText(missing)}: its file or its -wal was lost or replaced. Nothing was recorded or sent.`,
    missing_advice
  )
