/**
 * Outcome of an accepted command: values of others it overwrote, and differences between the server's result and the
 * one shown here.
 */
import { Effect } from "effect"
import { zoneOfRow } from "../../../core/overview/calendar/kinds.ts"
import { isJsonObject, journal, Store } from "../../../core/kernel/index.ts"
import type { AnyRow, Json, JsonObject, StoredEvent, Table } from "../../../core/kernel/index.ts"
import { dayOf, millisOf } from "../../../core/values/time.ts"
import type { EventSummary, OutboxCommand, RecordedEffects } from "../outbox/rows.ts"
import { actorOf, describeValue, type DescriptionContext, isByOtherDevice, isSameValue } from "./describe-event.ts"
import { isWorthShowing, rowKey, rowLabel, type RowTouch, touchesOf } from "./describe-event.ts"
import type { OverwrittenValue, ValueDifference } from "../outbox/outcome.ts"

/** Columns of a row after several events; the last event to set a column counts. */
interface RowResult {
  readonly touch: RowTouch
  readonly columns: { [column: string]: Json }
  op: RowTouch["op"]
}
const resultsOf = (
  context: DescriptionContext,
  { issued_at }: Pick<OutboxCommand, "issued_at">,
  events: ReadonlyArray<EventSummary & { readonly recorded_at: string }>
): ReadonlyMap<string, RowResult> => {
  const rows = new Map<string, RowResult>()
  for (const { event, touch } of touchesIn(context, events)) {
    // A row's occupancy is derived from other rows, whose differences are reported.
    if (touch.table.occupancy !== undefined) continue
    const result: RowResult = rows.get(rowKey(touch)) ?? { touch, columns: {}, op: touch.op }
    if (touch.op === "delete") result.op = "delete"
    for (const [column, value] of Object.entries(touch.columns)) {
      const is_now = (value === event.recorded_at || value === issued_at) && !touch.table.days.includes(column)
      if (isWorthShowing(touch.table, column) && !is_now) result.columns[column] = value
    }
    rows.set(rowKey(touch), result)
  }
  return rows
}
const touchesIn = <E extends EventSummary & { readonly recorded_at: string }>(
  context: DescriptionContext,
  events: ReadonlyArray<E>
): ReadonlyArray<{ readonly event: E; readonly touch: RowTouch }> =>
  events.flatMap((event) => touchesOf(context, event, event.recorded_at).map((touch) => ({ event, touch })))

/**
 * Fields that the command overwrote although somebody else had set them after its recording: the server decided it
 * later. `own`: the command's confirmed events.
 */
export const overwrittenFields = Effect.fnUntraced(function* (
  context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects,
  own: ReadonlyArray<StoredEvent>
): Store.Reads<ReadonlyArray<OverwrittenValue>> {
  const first = own[0]?.position
  if (first === undefined || command.base === null || first <= command.base + 1) return []
  const { base } = command
  const streams = [...new Set(own.map((event) => event.stream))]
  const events_of_others = (yield* Store.select(
    journal,
    (sql) => sql`where stream in ${sql.in(streams)} and position > ${base} and position < ${first} order by position`
  )).filter((event) => isByOtherDevice(context, event))
  if (events_of_others.length === 0) return []
  const results = resultsOf(context, command, own)
  const overwritten = new Map<string, OverwrittenValue>()
  for (const { event, touch } of touchesIn(context, events_of_others)) {
    const result = touch.op === "update" ? results.get(rowKey(touch)) : undefined
    if (result === undefined) continue
    const seen: AnyRow = recorded.rows[rowKey(touch)] ?? {}
    for (const { field, valueIn } of fieldsSet(touch.columns, command.payload.body)) {
      const [was, theirs, mine] = [valueIn(seen), valueIn(touch.columns), valueIn(result.columns)]
      const place = `${rowKey(touch)}/${field}`
      if (mine === undefined || isSameValue(theirs, mine)) overwritten.delete(place)
      else if (!isSameValue(theirs, was)) {
        const around = { ...seen, ...touch.columns, ...result.columns }
        const described = (value: Json | undefined): Json =>
          // Custom fields are stored as in answers.
          field.includes(".") ? (value ?? null) : describeValue(context, touch.table, field, value, around)
        overwritten.set(place, {
          row: yield* rowLabel(context, touch),
          field,
          was: described(was),
          theirs: described(theirs),
          mine: described(mine),
          actor: yield* actorOf(event),
          when: event.recorded_at
        })
      }
    }
  }
  return [...overwritten.values()]
})
interface FieldSet {
  readonly field: string
  readonly valueIn: (row: AnyRow) => Json | undefined
}
/** Fields of the body among these columns; custom fields one by one: `custom_fields.colour`. */
const fieldsSet = (columns: AnyRow, body: JsonObject): ReadonlyArray<FieldSet> =>
  Object.keys(columns)
    .filter((column) => column in body)
    .flatMap((column): ReadonlyArray<FieldSet> => {
      const sent = body[column]
      if (column !== "custom_fields" || !isJsonObject(sent)) return [{ field: column, valueIn: (row) => row[column] }]
      return Object.keys(sent).map((key) => ({
        field: `custom_fields.${key}`,
        valueIn: ({ custom_fields }) => (isJsonObject(custom_fields) ? custom_fields[key] : undefined)
      }))
    })

const differences_max = 50
/** Fields with another value than shown here when the command was recorded. `own`: its confirmed events. */
export const findDifferences = Effect.fnUntraced(function* (
  context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects,
  own: ReadonlyArray<StoredEvent>
): Store.Reads<ReadonlyArray<ValueDifference>> {
  return recorded.events.length === 0 || own.length === 0
    ? []
    : yield* comparison(context, command, recorded, {
        results: resultsOf(context, command, own),
        at: own[0]?.recorded_at
      })
})
/**
 * Like `findDifferences`, for a command whose confirmed events are not here, as it was decided before the rows of a
 * fill.
 */
export const findDifferencesInRows = Effect.fnUntraced(function* (
  context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects
): Store.Reads<ReadonlyArray<ValueDifference>> {
  return yield* comparison(context, command, recorded, { results: undefined, at: undefined })
})

/** Compares effects recorded here with the confirmed results, or with the present rows if those are not here. */
const comparison = Effect.fnUntraced(function* (
  context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects,
  decided: { readonly results: ReadonlyMap<string, RowResult> | undefined; readonly at: string | undefined }
): Store.Reads<ReadonlyArray<ValueDifference>> {
  const here = resultsOf(
    context,
    command,
    recorded.events.map((event) => ({ ...event, recorded_at: command.issued_at }))
  )
  const confirmed = decided.results
  const there = confirmed ?? here
  const found: Array<ValueDifference> = []
  for (const [key, { touch }] of new Map([...here, ...there])) {
    if (touch.table.is_detail) continue
    const [mine, theirs] = [here.get(key), there.get(key)]
    const row = yield* rowLabel(context, touch, mine?.columns, theirs?.columns)
    if (isMadeOrDeletedOnce(mine, theirs)) {
      found.push({ row, field: null, here: mine?.op ?? null, there: theirs?.op ?? null })
      continue
    }
    const now: AnyRow | undefined = yield* Store.get(touch.table, touch.key)
    // If the command has no confirmed events here and the row does not exist, there is nothing to compare.
    if (confirmed === undefined && now === undefined) continue
    const of = { mine: mine?.columns, theirs: confirmed?.get(key)?.columns, now, seen: recorded.rows[key] }
    const clocks: Clocks = {
      here: command.issued_at,
      there: decided.at ?? String(now?.["updated_at"] ?? command.issued_at),
      zone: touch.table.days.length === 0 ? "UTC" : yield* zoneOfRow({ ...of.seen, ...now }, context.timezone)
    }
    found.push(...columnDifferences(context, touch, clocks, of).map((one) => ({ row, ...one })))
  }
  return found.slice(0, differences_max)
})
/** Whether the row was created or deleted on one side only. */
const isMadeOrDeletedOnce = (mine: RowResult | undefined, theirs: RowResult | undefined): boolean =>
  (["insert", "delete"] as const).some((op) => (mine?.op === op) !== (theirs?.op === op))

/** Times of a command's recording here and its decision at the server, and the time zone of its rows. */
interface Clocks {
  readonly here: string
  readonly there: string
  readonly zone: string
}
/**
 * Whether a column differs only because the server decided later: it was "now" here or, in a column of days, has moved
 * by just that time within the same day.
 */
const isClockAlone = (table: Table, column: string, shown: unknown, final: unknown, clocks: Clocks): boolean => {
  if (!table.days.includes(column)) return shown === clocks.here
  if (typeof shown !== "string" || typeof final !== "string") return false
  return (
    millisOf(final) - millisOf(shown) === millisOf(clocks.there) - millisOf(clocks.here) &&
    dayOf(millisOf(final), clocks.zone) === dayOf(millisOf(shown), clocks.zone)
  )
}

/**
 * A document with the command's own timestamps (such as "out of service since now") replaced, so that the rest can be
 * compared.
 */
const withNow = <V extends Json | undefined>(value: V, own: ReadonlyArray<string>): V | Json => {
  const inside = (one: Json): Json => (typeof one === "string" && own.includes(one) ? "now" : withNow(one, own))
  return Array.isArray(value)
    ? value.map(inside)
    : isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inside(one)]))
      : value
}

/**
 * Entries of a list that the command itself changed; differences in others are reported with the commands that changed
 * those.
 */
const own = <V extends Json | undefined>(value: V, before: Json | undefined, shown: Json | undefined): V | Json => {
  if (!Array.isArray(value) || !Array.isArray(before) || !Array.isArray(shown)) return value
  return value.length === shown.length ? value.filter((_one, at) => !isSameValue(shown[at], before[at])) : value
}

/** Document numbers, which only the server assigns: their first assignment is no difference. */
const server_numbers: ReadonlySet<string> = new Set(["number", "document_number"])

/**
 * Differing columns of a row. `mine`: as the command set them here; `theirs`: as its confirmed events did, if those are
 * here; `seen`: the row when it was recorded; `now`: the current row.
 */
const columnDifferences = (
  context: DescriptionContext,
  { table }: RowTouch,
  clocks: Clocks,
  { mine = {}, theirs = {}, seen, now }: { readonly [K in "mine" | "theirs" | "seen" | "now"]: AnyRow | undefined }
): ReadonlyArray<Omit<ValueDifference, "row">> => {
  const around = { ...seen, ...now, ...theirs }
  return [...new Set([...Object.keys(mine), ...Object.keys(theirs)])].flatMap((column) => {
    const shown = column in mine ? mine[column] : seen?.[column]
    const final = column in theirs ? theirs[column] : now?.[column]
    const before = seen?.[column]
    return shown === undefined ||
      (shown === null && server_numbers.has(column)) ||
      isSameValue(
        withNow(own(shown, before, shown), [clocks.here]),
        withNow(own(final, before, shown), [clocks.here, clocks.there])
      ) ||
      isClockAlone(table, column, shown, final, clocks)
      ? []
      : [
          {
            field: column,
            here: describeValue(context, table, column, shown, { ...around, ...mine }),
            there: describeValue(context, table, column, final, around)
          }
        ]
  })
}
