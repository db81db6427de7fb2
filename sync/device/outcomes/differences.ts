/** What an accepted command came to: whose values it put aside, and where the server's outcome is not what was shown here. */
import { Effect } from "effect"
import type { Failure } from "../../../core/kernel/endpoint.ts"
import type { StoredEvent } from "../../../core/kernel/event.ts"
import { journal } from "../../../core/kernel/journal.ts"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { AnyRow } from "../../../core/kernel/table.ts"
import { demands } from "../../../core/demands/schema.ts"
import type { OutboxCommand, RecordedEffects } from "../outbox/command.ts"
import {
  type Difference,
  isByOtherDevice,
  type OverwrittenField,
  rowKey,
  isSameValue,
  isWorthShowing,
  type DescriptionContext,
  type RowTouch,
  touchesOf,
  describeValue,
  describeRow,
  describeActor
} from "./describe-event.ts"

/** Rows as the last of several events leaves them. Custom fields are fields of their own. */
interface Left {
  readonly touch: RowTouch
  readonly columns: { [column: string]: unknown }
  op: RowTouch["op"]
}
const leftBy = (
  description_context: DescriptionContext,
  events: ReadonlyArray<{
    readonly stream: string
    readonly type: string
    readonly data: JsonObject
    readonly recorded_at: string
  }>
): ReadonlyMap<string, Left> => {
  const rows = new Map<string, Left>()
  for (const event of events) {
    for (const touch of touchesOf(description_context, event, event.recorded_at)) {
      if (touch.table === demands) continue
      const left: Left = rows.get(rowKey(touch)) ?? { touch, columns: {}, op: touch.op }
      if (touch.op === "delete") left.op = "delete"
      for (const [column, value] of Object.entries(touch.columns)) {
        if (isWorthShowing(touch.table, column) && !(value === event.recorded_at)) left.columns[column] = value
      }
      rows.set(rowKey(touch), left)
    }
  }
  return rows
}

/** Fields a command set that somebody else had set meanwhile to something else: by server order its value stands. */
export const overwrittenFields = Effect.fnUntraced(function* (
  description_context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects,
  own: ReadonlyArray<StoredEvent>
): Effect.fn.Return<ReadonlyArray<OverwrittenField>, Failure, Store> {
  const first = own[0]?.position
  if (first === undefined || command.base === null || first <= command.base + 1) return []
  const store = yield* Store
  const streams = [...new Set(own.map((event) => event.stream))]
  const theirs = (yield* store.run(
    `select * from journal where stream in (${streams.map(() => "?").join(", ")}) and position > ? and position < ? order by position`,
    [...streams, command.base, first]
  ))
    .map((row) => store.decode(journal, row) as StoredEvent)
    .filter((event) => isByOtherDevice(description_context, event))
  if (theirs.length === 0) return []
  const body = command.payload.body
  const mine = leftBy(description_context, own)
  const notes = new Map<string, OverwrittenField>()
  for (const event of theirs) {
    for (const touch of touchesOf(description_context, event, event.recorded_at)) {
      const set = touch.op === "update" ? mine.get(rowKey(touch)) : undefined
      const seen: AnyRow | undefined = recorded.rows[rowKey(touch)]
      for (const { field, of } of set === undefined ? [] : fieldsIn(touch.columns, body)) {
        const [was, their, my] = [of(seen ?? {}), of(touch.columns), of(set!.columns)]
        if (my === undefined || isSameValue(their, my)) {
          notes.delete(`${rowKey(touch)}/${field}`)
          continue
        }
        if (isSameValue(their, was)) continue
        const around = { ...seen, ...touch.columns, ...set!.columns }
        const told = (value: unknown) =>
          field.includes(".")
            ? ((value ?? null) as string)
            : describeValue(description_context, touch.table, field, value, around)
        notes.set(`${rowKey(touch)}/${field}`, {
          what: yield* describeRow(touch),
          field,
          was: told(was),
          theirs: told(their),
          mine: told(my),
          who: yield* describeActor(event),
          when: event.recorded_at
        })
      }
    }
  }
  return [...notes.values()]
})
interface Named {
  readonly field: string
  readonly of: (row: AnyRow) => unknown
}
/** The fields of the body among these columns; of custom fields each for itself. */
const fieldsIn = (columns: AnyRow, body: JsonObject): ReadonlyArray<Named> =>
  Object.keys(columns)
    .filter((column) => column in body)
    .flatMap((column): ReadonlyArray<Named> => {
      const sent = body[column]
      if (column !== "custom_fields" || !isJsonObject(sent)) return [{ field: column, of: (row) => row[column] }]
      return Object.keys(sent).map((key) => ({
        field: `custom_fields.${key}`,
        of: (row) => (row["custom_fields"] as AnyRow | null | undefined)?.[key]
      }))
    })

const differences_max = 50
/** Fields that came out otherwise than they were shown here when the command was recorded. */
export const findDifferences = Effect.fnUntraced(function* (
  description_context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects,
  own: ReadonlyArray<StoredEvent>
): Effect.fn.Return<ReadonlyArray<Difference>, Failure, Store> {
  return recorded.events.length === 0 || own.length === 0
    ? []
    : yield* compared(description_context, command, recorded, leftBy(description_context, own))
})
/** The same where the command's own events are not at hand (it was decided before the rows a device was filled with). */
export const findDifferencesInRows = Effect.fnUntraced(function* (
  description_context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects
): Effect.fn.Return<ReadonlyArray<Difference>, Failure, Store> {
  return yield* compared(description_context, command, recorded, undefined)
})

const compared = Effect.fnUntraced(function* (
  description_context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects,
  confirmed: ReadonlyMap<string, Left> | undefined
): Effect.fn.Return<ReadonlyArray<Difference>, Failure, Store> {
  const store = yield* Store
  const here = leftBy(
    description_context,
    recorded.events.map((event) => ({ ...event, recorded_at: command.issued_at }))
  )
  const there = confirmed ?? here
  const found: Array<Difference> = []
  for (const key of new Set([...here.keys(), ...there.keys()])) {
    const [mine, theirs] = [here.get(key), there.get(key)]
    const { touch } = (mine ?? theirs)!
    const seen: AnyRow | undefined = recorded.rows[key]
    const now = (yield* store.get(touch.table, touch.key)) as AnyRow | undefined
    const what = yield* describeRow(touch, mine?.columns, theirs?.columns)
    if (
      (mine?.op === "insert") !== (theirs?.op === "insert") ||
      (mine?.op === "delete") !== (theirs?.op === "delete")
    ) {
      if ((mine ?? theirs)!.op !== "update" || (theirs ?? mine)!.op !== "update")
        found.push({ what, field: null, here: mine?.op ?? null, there: theirs?.op ?? null })
      continue
    }
    for (const column of new Set([...Object.keys(mine?.columns ?? {}), ...Object.keys(theirs?.columns ?? {})])) {
      const shown = mine !== undefined && column in mine.columns ? mine.columns[column] : seen?.[column]
      const stands =
        confirmed !== undefined && theirs !== undefined && column in theirs.columns
          ? theirs.columns[column]
          : now?.[column]
      if (
        shown === undefined ||
        (confirmed === undefined && now === undefined) ||
        isSameValue(shown, stands) ||
        isMoment(shown, command.issued_at)
      )
        continue
      const around = { ...seen, ...now, ...(confirmed === undefined ? {} : theirs?.columns) }
      found.push({
        what,
        field: column,
        here: describeValue(description_context, touch.table, column, shown, { ...around, ...mine?.columns }),
        there: describeValue(description_context, touch.table, column, stands, around)
      })
    }
  }
  return found.slice(0, differences_max)
})
/** "Now" is another moment on the server, and nobody minds. */
const isMoment = (value: unknown, recorded_at: string): boolean => value === recorded_at
