/**
 * Records outcomes of this device's commands when verdicts are pulled, while tables and journal contain only confirmed
 * data: changes by others that relate to a refusal; values that an accepted command overwrote, and differences from
 * what was shown. Stored in `accounts` until moved to the outbox.
 */
import { Effect } from "effect"
import { baseCurrency, CommandRuntime, isJsonObject, journal, redacted_event } from "../../../core/kernel/index.ts"
import { settingText, Store } from "../../../core/kernel/index.ts"
import type { AnyRow, Catalogue, Json, JsonObject, Occupancy, StoredEvent } from "../../../core/kernel/index.ts"
import type { StoreShape, Table } from "../../../core/kernel/index.ts"
import { replicaStream, type WireError } from "../../protocol/wire.ts"
import { type CommandReference, referencesOfCommand, rowReference } from "../outbox/references.ts"
import type { OutboxCommand, RecordedEffects } from "../outbox/rows.ts"
import type { DescriptionContext, RowTouch } from "./describe-event.ts"
import {
  actorOf,
  describeValue,
  isByOtherDevice,
  isSameValue,
  isWorthShowing,
  rowKey,
  rowLabel,
  touchesOf
} from "./describe-event.ts"
import type { CommandOutcome, ConcurrentChange } from "../outbox/outcome.ts"
import { commandDecided, decidedIn } from "../../protocol/events.ts"
import { provisional_base } from "../outbox/replica-tables.ts"
import type { Outbox } from "../outbox/outbox.ts"
import { findDifferences, findDifferencesInRows, overwrittenFields } from "./differences.ts"

// Finds changes by others, between a command's recording on this device and its refusal, that relate to the refusal.

/** Maximum number of events read, and of changes kept: the latest. */
const events_max = 10_000
const changes_max = 20

/** A change of a row. `is_relevant`: it relates to the refusal, and not just to the same row. */
interface FoundChange {
  readonly is_relevant: boolean
  readonly change: ConcurrentChange
}

/**
 * Changes before position `until`: those related to the refusal, or, if there are none, all changes of the same rows.
 */
const concurrentChanges = Effect.fnUntraced(function* (
  context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects,
  until: number,
  error: WireError | undefined
): Store.Reads<ReadonlyArray<ConcurrentChange>> {
  if (command.base === null) return []
  const { base } = command
  const events = (yield* Store.select(
    journal,
    (sql) => sql`where position > ${base} and position < ${until} and replica_id is not ${context.replica_id}
    order by position desc limit ${events_max}`
  ))
    .filter((event) => isByOtherDevice(context, event))
    .reverse()
  const scope = yield* scopeOf(context, command, recorded, error)
  const found: Array<FoundChange> = []
  // Value of each column before the next event that changes it.
  const values = new Map<string, Json | undefined>()
  for (const event of events) {
    for (const touch of touchesOf(context, event, event.recorded_at)) {
      found.push(...(yield* changesOf(context, scope, { event, touch }, recorded.rows[rowKey(touch)], values)))
    }
  }
  const relevant = found.filter((one) => one.is_relevant)
  return (relevant.length > 0 ? relevant : found).slice(-changes_max).map((one) => one.change)
})

/** The event's type before redaction, if it was redacted. */
const originalTypeOf = ({ type, data }: { readonly type: string; readonly data: JsonObject }): string =>
  type === redacted_event ? String(data["of"]) : type
/**
 * Changes of one row by one event, as far as they concern the command. `seen`: the row when the command was recorded.
 */
const changesOf = Effect.fnUntraced(function* (
  context: DescriptionContext,
  scope: Scope,
  { event, touch }: { readonly event: StoredEvent; readonly touch: RowTouch },
  seen: AnyRow | undefined,
  values: Map<string, Json | undefined>
): Store.Reads<ReadonlyArray<FoundChange>> {
  const { table, columns } = touch
  const is_own = scope.streams.has(event.stream) || scope.rows.has(rowKey(touch))
  const about = { actor: yield* actorOf(event), when: event.recorded_at, event: originalTypeOf(event) }
  const whole = { field: null, from: null, to: null }
  if (table.occupancy !== undefined) {
    if (is_own || !scope.isTakenBy(table.occupancy, columns)) return []
    const held = yield* holdingOf(context, table, table.occupancy, columns)
    return held === undefined ? [] : [{ is_relevant: true, change: { ...about, ...whole, ...held } }]
  }
  if (is_own && (touch.op !== "update" || columns["deleted_at"])) {
    const row = yield* rowLabel(context, touch, columns, seen)
    return [{ is_relevant: touch.op !== "insert", change: { ...about, ...whole, row } }]
  }
  const found: Array<FoundChange> = []
  for (const column of Object.keys(columns)) {
    if (!isWorthShowing(table, column) || !(is_own || scope.isSameWish(touch, column))) continue
    const place = `${rowKey(touch)}/${column}`
    const before = values.has(place) ? values.get(place) : (valueBefore(event, column) ?? seen?.[column])
    values.set(place, columns[column])
    if (isSameValue(before, columns[column])) continue
    const around = { ...seen, ...columns }
    found.push({
      is_relevant: !is_own || scope.isAbout(table, column),
      change: {
        ...about,
        row: yield* rowLabel(context, touch, columns, seen),
        field: column,
        from: describeValue(context, table, column, before, around),
        to: describeValue(context, table, column, columns[column], around)
      }
    })
  }
  return found
})

/** Value of a column before an event, from its before-snapshot (`was`); undefined if it has none. */
const valueBefore = (event: StoredEvent, column: string): Json | undefined => {
  const was = event.data["was"]
  return isJsonObject(was) ? was[column] : undefined
}

/** Rows and columns that a refused command is about. */
interface Scope {
  readonly streams: ReadonlySet<string>
  /** Rows it references (`products/7`): those in its path, and those in its body that it was refused for. */
  readonly rows: ReadonlySet<string>
  /** Whether the command sets this column or was refused for it. */
  readonly isAbout: (table: Table, column: string) => boolean
  /** Whether another row got the same value in this column that the command was refused for. */
  readonly isSameWish: (touch: RowTouch, column: string) => boolean
  /** Whether this row occupies the stock that the refused command needed. */
  readonly isTakenBy: (occupancy: Occupancy, row: AnyRow) => boolean
}
const scopeOf = Effect.fnUntraced(function* (
  context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects,
  error: WireError | undefined
): Store.Reads<Scope> {
  const { catalogue } = context
  const endpoint = catalogue.endpoint(command.name)
  const references = endpoint === undefined ? [] : referencesOfCommand(endpoint, command.payload)
  const refused_fields = Object.keys(error?.errors ?? {})
  const body: JsonObject = command.payload.body
  const of_path = references.filter((row) => row.field === undefined)
  const refused = references.filter((row) => row.field !== undefined && refused_fields.includes(row.field))
  const leaves = refused_fields.map((path) => path.split(".").at(-1) ?? path)
  const fields = new Set([...Object.keys(body), ...leaves, "deleted_at"])
  const own_tables = new Set(
    recorded.events.flatMap((event) => touchesOf(context, event, command.issued_at).map(({ table }) => table))
  )
  return {
    streams: new Set([
      ...recorded.events.map((event) => event.stream),
      ...of_path.map((row) => `${catalogue.table(row.table).entity}:${row.id}`)
    ]),
    rows: new Set([...of_path, ...refused].map(rowReference)),
    isAbout: (table, column) =>
      fields.has(column) || leaves.some((leaf) => table.refused_as[leaf]?.includes(column) === true),
    isSameWish: ({ table, columns }, column) => {
      const wish = refused_fields.includes(column) ? body[column] : undefined
      return (
        (wish ?? null) !== null &&
        typeof wish !== "object" &&
        own_tables.has(table) &&
        isSameValue(wish, columns[column])
      )
    },
    isTakenBy: yield* takenFrom(catalogue.tables, { of_path, refused, refused_fields })
  }
})

/**
 * Returns a predicate for rows of tables with an occupancy: whether they hold the unit a command referenced, or some of
 * a kind it could not get enough of.
 */
const takenFrom = Effect.fnUntraced(function* (
  tables: ReadonlyArray<Table>,
  command: {
    readonly of_path: ReadonlyArray<CommandReference>
    readonly refused: ReadonlyArray<CommandReference>
    readonly refused_fields: ReadonlyArray<string>
  }
): Store.Reads<Scope["isTakenBy"]> {
  const refused_rows = new Set(command.refused.map(rowReference))
  const judges = new Map<Occupancy, (row: AnyRow) => boolean>()
  for (const table of tables) {
    const { occupancy } = table
    if (occupancy === undefined) continue
    const { wanted } = occupancy
    const things = tableOf(table, occupancy.thing)
    const holders = tableOf(table, wanted.holder)
    const holder = command.of_path.find((row) => row.table === holders)?.id
    const wanting = tables.find((one) => one.name === wanted.table)
    const is_short = command.refused_fields.includes(wanted.field) && holder !== undefined && wanting !== undefined
    const lines: ReadonlyArray<AnyRow> = is_short ? yield* Store.find(wanting, { [wanted.holder]: holder }) : []
    const kinds = new Set(lines.map((line) => line[wanted.kind]))
    judges.set(
      occupancy,
      (row) =>
        row[occupancy.active] === true &&
        (refused_rows.has(`${things}/${String(row[occupancy.thing])}`) ||
          (kinds.has(row[occupancy.kind]) && row[wanted.holder] !== holder))
    )
  }
  return (occupancy, row) => judges.get(occupancy)?.(row) === true
})

const tableOf = ({ columns }: Table, column: string): string | undefined => {
  const type = columns[column]?.type
  return type?.kind === "ref" ? type.table : undefined
}

/** Holding of a row in a table with an occupancy: quantity, holder and period; undefined without a holder. */
const holdingOf = Effect.fnUntraced(function* (
  context: DescriptionContext,
  table: Table,
  occupancy: Occupancy,
  row: AnyRow
) {
  const labelOf = (column: string) => {
    const name = tableOf(table, column)
    const key = row[column] ?? null
    return name !== undefined && (typeof key === "number" || typeof key === "string")
      ? rowLabel(context, { table: context.catalogue.table(name), key })
      : Effect.undefined
  }
  const thing = yield* labelOf(occupancy.thing)
  const held = thing ?? (yield* labelOf(occupancy.kind))
  const holder = occupancy.holders.find((column) => (row[column] ?? null) !== null)
  const by = holder === undefined ? undefined : yield* labelOf(holder)
  if (held === undefined || by === undefined) return undefined
  return {
    row: held,
    holding: {
      quantity: thing === undefined ? Number(row[occupancy.quantity]) : null,
      by,
      from: String(row[occupancy.from]),
      to: String(row[occupancy.to])
    }
  }
})

interface Parts {
  readonly catalogue: Catalogue
  readonly outbox: Outbox
  readonly replica_id: number
}
/** Records outcomes of the commands that these confirmed events decide. */
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
): Store.Reads<CommandOutcome> {
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
    // Another device may have used the same command id.
    store.find(journal, { command_id, replica_id }, { order: ["position"] }),
    (events): ReadonlyArray<StoredEvent> =>
      events.filter((event) => event.position < provisional_base && event.type !== commandDecided.type)
  )

/** Records outcomes of accepted commands whose verdicts came with a fill: the events before its rows are not here. */
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
