/** How events are told to a person: which row, which field, from what to what, by whom. */
import { Effect } from "effect"
import { type Catalogue, foldStored } from "../../../core/kernel/catalogue.ts"
import type { Key, RowChange } from "../../../core/kernel/row-change.ts"
import { type StoredEvent } from "../../../core/kernel/event.ts"
import { type Json, sameJson } from "../../../core/kernel/json.ts"
import { fieldOut } from "../../../core/kernel/resource.ts"
import { settings_table } from "../../../core/kernel/settings.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { type AnyRow, caseFoldedName, isSearchable, type Table } from "../../../core/kernel/table.ts"
import { users } from "../../../core/users/schema.ts"
import type { EventSummary } from "../outbox/command.ts"
import { wordsOf } from "../../../core/kernel/words.ts"

/** What somebody else did meanwhile. Values are as answers give them. */
export interface Change {
  readonly who: string | null
  readonly when: string
  /** The row in words: `product 7 Moving head`. */
  readonly what: string
  readonly event: string
  /** Null: the event as a whole is what matters. */
  readonly field: string | null
  readonly from: Json
  readonly to: Json
}
/** A field that somebody else set meanwhile, too: the later writer's value stands, the other is kept here. */
export interface OverwrittenField {
  readonly what: string
  readonly field: string
  readonly was: Json
  readonly theirs: Json
  readonly mine: Json
  readonly who: string | null
  readonly when: string
}
/** Where the confirmed outcome is not what was shown here. */
export interface Difference {
  readonly what: string
  readonly field: string | null
  readonly here: Json
  readonly there: Json
}
export interface CommandOutcome {
  readonly changes?: ReadonlyArray<Change>
  readonly merged?: ReadonlyArray<OverwrittenField>
  readonly differences?: ReadonlyArray<Difference>
}

export interface DescriptionContext {
  readonly catalogue: Catalogue
  readonly base_currency: string
  readonly replica_id: number
}

/** One row as an event leaves it: all columns of a new one, the changed ones of another, nothing of one that goes. */
export interface RowTouch {
  readonly table: Table
  readonly key: Key
  readonly op: "insert" | "update" | "delete"
  readonly columns: AnyRow
}
export const rowKey = ({ table, key }: { readonly table: Table; readonly key: Key }): string => `${table.name}/${key}`

export const touchesOf = (
  { catalogue }: DescriptionContext,
  event: EventSummary,
  recorded_at: string
): ReadonlyArray<RowTouch> =>
  foldStored(catalogue, event, { recorded_at, actor_id: null, position: 0 }).flatMap(
    (change: RowChange): ReadonlyArray<RowTouch> => {
      const { table } = change
      // Rows that are no thing of their own (what streams a product is in) tell a person nothing.
      if (table.key !== "id" && table !== settings_table) return []
      if (change.op === "insert")
        return [{ table, key: change.row[table.key] as Key, op: "insert", columns: change.row }]
      if (change.op === "update") return [{ table, key: change.key, op: "update", columns: change.set }]
      return change.op === "delete" ? [{ table, key: change.key, op: "delete", columns: {} }] : []
    }
  )
export const isByOtherDevice = ({ replica_id }: DescriptionContext, event: StoredEvent): boolean =>
  event.replica_id !== replica_id

const dull = new Set([
  "id",
  "created_at",
  "updated_at",
  "path",
  "quantity_allocated",
  "active_version_id",
  "version_id"
])
/** Columns a person would ask about. */
export const isWorthShowing = (table: Table, column: string): boolean => {
  const field = table.columns[column]
  return (
    field !== undefined &&
    !field.hidden &&
    !dull.has(column) &&
    !Object.entries(table.columns).some(([name, one]) => isSearchable(one) && caseFoldedName(name) === column)
  )
}

/** A column's value as answers give it; `around` is the row, or as much of it as is known. */
export const describeValue = (
  { base_currency }: DescriptionContext,
  table: Table,
  column: string,
  value: unknown,
  around: AnyRow
): Json => {
  const field = table.columns[column]
  return field === undefined || value === undefined ? null : fieldOut(field, value, around, base_currency)
}

/** `stock level` of `stock level 7 MH-1`. */
export const entityLabel = (table: Table): string => wordsOf(table)
/** The row in words, by what it is called now, or was when it was last seen. */
export const describeRow = Effect.fnUntraced(function* (
  { table, key }: Pick<RowTouch, "table" | "key">,
  ...seen: ReadonlyArray<AnyRow | undefined>
) {
  const store = yield* Store
  const row = ((yield* store.get(table, key)) ?? seen.find((one) => one !== undefined)) as AnyRow | undefined
  const called = table.named_by
    .map((column) => row?.[column])
    .find((value) => typeof value === "string" && value !== "")
  return `${entityLabel(table)} ${key}${called === undefined ? "" : ` ${String(called)}`}`
})
export const describeActor = Effect.fnUntraced(function* ({ actor_id }: StoredEvent) {
  return actor_id === null ? null : ((yield* (yield* Store).get(users, actor_id))?.name ?? `user ${actor_id}`)
})
export const isSameValue = (one: unknown, other: unknown): boolean =>
  sameJson((one ?? null) as Json, (other ?? null) as Json)
