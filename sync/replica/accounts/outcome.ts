/** What an accepted command came to: whose values it put aside, and where the server's outcome is not what was shown here. */
import { Effect } from "effect"
import type { Fault } from "../../../core/kernel/endpoint.ts"
import type { StoredEvent } from "../../../core/kernel/event.ts"
import { journal } from "../../../core/kernel/journal.ts"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { AnyRow } from "../../../core/kernel/table.ts"
import { claims } from "../../../core/claims/schema.ts"
import type { KeptCommand, Recorded } from "../outbox/kept-command.ts"
import { type Difference, isTheirs, type Merged, rowKey, same, saysSomething, type Teller, type Touch, touchesOf, valueTold, whatOf, whoOf } from "./telling.ts"

/** Rows as the last of several events leaves them. Custom fields are fields of their own. */
interface Left { readonly touch: Touch; readonly columns: { [column: string]: unknown }; op: Touch["op"] }
const leftBy = (teller: Teller, events: ReadonlyArray<{ readonly stream: string; readonly type: string; readonly data: JsonObject; readonly recorded_at: string }>): ReadonlyMap<string, Left> => {
  const rows = new Map<string, Left>()
  for (const event of events) {
    for (const touch of touchesOf(teller, event, event.recorded_at)) {
      if (touch.table === claims) continue
      const left: Left = rows.get(rowKey(touch)) ?? { touch, columns: {}, op: touch.op }
      if (touch.op === "delete") left.op = "delete"
      for (const [column, value] of Object.entries(touch.columns)) {
        if (saysSomething(touch.table, column) && !(value === event.recorded_at)) left.columns[column] = value
      }
      rows.set(rowKey(touch), left)
    }
  }
  return rows
}

/** Fields a command set that somebody else had set meanwhile to something else: by server order its value stands. */
export const mergedOf = Effect.fnUntraced(function*(
  teller: Teller, command: KeptCommand, recorded: Recorded, own: ReadonlyArray<StoredEvent>
): Effect.fn.Return<ReadonlyArray<Merged>, Fault, Store> {
  const first = own[0]?.position
  if (first === undefined || command.base === null || first <= command.base + 1) return []
  const store = yield* Store
  const streams = [...new Set(own.map((event) => event.stream))]
  const theirs = (yield* store.run(
    `select * from journal where stream in (${streams.map(() => "?").join(", ")}) and position > ? and position < ? order by position`, [...streams, command.base, first]))
    .map((row) => store.decode(journal, row) as StoredEvent).filter((event) => isTheirs(teller, event))
  if (theirs.length === 0) return []
  const body = command.payload.body
  const mine = leftBy(teller, own)
  const notes = new Map<string, Merged>()
  for (const event of theirs) {
    for (const touch of touchesOf(teller, event, event.recorded_at)) {
      const set = touch.op === "update" ? mine.get(rowKey(touch)) : undefined
      const seen: AnyRow | undefined = recorded.rows[rowKey(touch)]
      for (const { field, of } of set === undefined ? [] : fieldsIn(touch.columns, body)) {
        const [was, their, my] = [of(seen ?? {}), of(touch.columns), of(set!.columns)]
        if (my === undefined || same(their, my)) { notes.delete(`${rowKey(touch)}/${field}`); continue }
        if (same(their, was)) continue
        const around = { ...seen, ...touch.columns, ...set!.columns }
        const told = (value: unknown) => field.includes(".") ? (value ?? null) as string : valueTold(teller, touch.table, field, value, around)
        notes.set(`${rowKey(touch)}/${field}`, {
          what: yield* whatOf(touch), field, was: told(was), theirs: told(their), mine: told(my), who: yield* whoOf(event), when: event.recorded_at
        })
      }
    }
  }
  return [...notes.values()]
})
interface Named { readonly field: string; readonly of: (row: AnyRow) => unknown }
/** The fields of the body among these columns; of custom fields each for itself. */
const fieldsIn = (columns: AnyRow, body: JsonObject): ReadonlyArray<Named> => Object.keys(columns).filter((column) => column in body).flatMap((column): ReadonlyArray<Named> => {
  const sent = body[column]
  if (column !== "custom_fields" || !isJsonObject(sent)) return [{ field: column, of: (row) => row[column] }]
  return Object.keys(sent).map((key) => ({ field: `custom_fields.${key}`, of: (row) => (row["custom_fields"] as AnyRow | null | undefined)?.[key] }))
})

const differences_max = 50
/** Fields that came out otherwise than they were shown here when the command was recorded. */
export const differencesOf = Effect.fnUntraced(function*(
  teller: Teller, command: KeptCommand, recorded: Recorded, own: ReadonlyArray<StoredEvent>
): Effect.fn.Return<ReadonlyArray<Difference>, Fault, Store> {
  return recorded.events.length === 0 || own.length === 0 ? [] : yield* compared(teller, command, recorded, leftBy(teller, own))
})
/** The same where the command's own events are not at hand (it was decided before the rows a device was filled with). */
export const differencesInRows = Effect.fnUntraced(function*(teller: Teller, command: KeptCommand, recorded: Recorded): Effect.fn.Return<ReadonlyArray<Difference>, Fault, Store> {
  return yield* compared(teller, command, recorded, undefined)
})

const compared = Effect.fnUntraced(function*(
  teller: Teller, command: KeptCommand, recorded: Recorded, confirmed: ReadonlyMap<string, Left> | undefined
): Effect.fn.Return<ReadonlyArray<Difference>, Fault, Store> {
  const store = yield* Store
  const here = leftBy(teller, recorded.events.map((event) => ({ ...event, recorded_at: command.issued_at })))
  const there = confirmed ?? here
  const found: Array<Difference> = []
  for (const key of new Set([...here.keys(), ...there.keys()])) {
    const [mine, theirs] = [here.get(key), there.get(key)]
    const { touch } = (mine ?? theirs)!
    const seen: AnyRow | undefined = recorded.rows[key]
    const now = (yield* store.get(touch.table, touch.key)) as AnyRow | undefined
    const what = yield* whatOf(touch, mine?.columns, theirs?.columns)
    if ((mine?.op === "insert") !== (theirs?.op === "insert") || (mine?.op === "delete") !== (theirs?.op === "delete")) {
      if ((mine ?? theirs)!.op !== "update" || (theirs ?? mine)!.op !== "update") found.push({ what, field: null, here: mine?.op ?? null, there: theirs?.op ?? null })
      continue
    }
    for (const column of new Set([...Object.keys(mine?.columns ?? {}), ...Object.keys(theirs?.columns ?? {})])) {
      const shown = mine !== undefined && column in mine.columns ? mine.columns[column] : seen?.[column]
      const stands = confirmed !== undefined && theirs !== undefined && column in theirs.columns ? theirs.columns[column] : now?.[column]
      if (shown === undefined || (confirmed === undefined && now === undefined) || same(shown, stands) || isMoment(shown, command.issued_at)) continue
      const around = { ...seen, ...now, ...(confirmed === undefined ? {} : theirs?.columns) }
      found.push({
        what, field: column, here: valueTold(teller, touch.table, column, shown, { ...around, ...mine?.columns }), there: valueTold(teller, touch.table, column, stands, around)
      })
    }
  }
  return found.slice(0, differences_max)
})
/** "Now" is another moment on the server, and nobody minds. */
const isMoment = (value: unknown, recorded_at: string): boolean => value === recorded_at
