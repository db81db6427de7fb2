/** Changes of events, in the terms of stored outcomes. */
import { Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/endpoints/endpoint.ts"
import { type StoredEvent } from "../../../core/kernel/events/event-type.ts"
import { type Json, sameJson } from "../../../core/kernel/fields/field.ts"
import { fieldOut } from "../../../core/kernel/endpoints/resource.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { AnyRow, Table } from "../../../core/kernel/tables/table.ts"
import { users } from "../../../core/people/users/permissions.ts"
import { isWorthShowing, rowKey, type RowTouch, touchesOf } from "../../protocol/touches.ts"
import type { Actor, RowLabel } from "../outbox/outcome.ts"

export { isWorthShowing, rowKey, type RowTouch, touchesOf }

export interface DescriptionContext {
  readonly catalogue: Catalogue
  readonly base_currency: string
  readonly replica_id: number
  /** The company's, for rows of no store. */
  readonly timezone: string | null
}

export const isByOtherDevice = ({ replica_id }: DescriptionContext, event: StoredEvent): boolean =>
  event.replica_id !== replica_id

/** A column's value as in answers; `around` is the row, or the known part of it. */
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

/**
 * The row by what it is called now or, once it is deleted, was called in the first of `earlier` versions that is known.
 */
export const rowLabel = Effect.fnUntraced(function* (
  { catalogue }: DescriptionContext,
  { table, key }: Pick<RowTouch, "table" | "key">,
  ...earlier: ReadonlyArray<AnyRow | undefined>
) {
  const row: AnyRow | undefined = (yield* Store.get(table, key)) ?? earlier.find((one) => one !== undefined)
  const number = textIn(row, "number")
  const label = { table: table.name, key, ...(number === null ? {} : { number }) }
  for (const column of table.named_by) {
    const type = table.columns[column]?.type
    const id = row?.[column]
    const name =
      type?.kind !== "ref"
        ? textIn(row, column)
        : typeof id === "number"
          ? textIn(yield* Store.get(catalogue.table(type.table), id), "name")
          : null
    if (name !== null) return { ...label, name } satisfies RowLabel
  }
  return { ...label, name: null } satisfies RowLabel
})
const textIn = (row: AnyRow | undefined, column: string): string | null => {
  const value = row?.[column]
  return typeof value === "string" && value !== "" ? value : null
}
export const actorOf = Effect.fnUntraced(function* ({ actor_id }: StoredEvent) {
  if (actor_id === null) return null
  const user = yield* Store.get(users, actor_id)
  return { id: actor_id, name: user?.name ?? null } satisfies Actor
})
export const isSameValue = (one: unknown, other: unknown): boolean =>
  sameJson((one ?? null) as Json, (other ?? null) as Json)
