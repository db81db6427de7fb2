/** Describes changes by events in the form of stored outcomes. */
import { Effect } from "effect"
import { fieldOut, rowWords, sameJson, Store } from "../../../core/kernel/index.ts"
import type { AnyRow, Catalogue, Json, StoredEvent, Table } from "../../../core/kernel/index.ts"
import { users } from "../../../core/people/users/permissions.ts"
import { isWorthShowing, rowKey, type RowTouch, touchesOf } from "../../protocol/events.ts"
import type {
  Actor,
  ConcurrentChange,
  Holding,
  OverwrittenValue,
  RowLabel,
  ValueDifference
} from "../outbox/outcome.ts"

export { isWorthShowing, rowKey, type RowTouch, touchesOf }

export interface DescriptionContext {
  readonly catalogue: Catalogue
  readonly base_currency: string
  readonly replica_id: number
  /** The company's time zone, for rows without a store. */
  readonly timezone: string | null
}

export const isByOtherDevice = ({ replica_id }: DescriptionContext, event: StoredEvent): boolean =>
  event.replica_id !== replica_id

/** A column's value as in answers. `around`: the row, or its known columns. */
export const describeValue = (
  { base_currency }: DescriptionContext,
  table: Table,
  column: string,
  value: Json | undefined,
  around: AnyRow
): Json => {
  const field = table.columns[column]
  return field === undefined || value === undefined ? null : fieldOut(field, value, around, base_currency)
}

/** Label of a row: its current name or, if it was deleted, the name in the first known of the `earlier` versions. */
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
export const isSameValue = (one: Json | undefined, other: Json | undefined): boolean =>
  sameJson(one ?? null, other ?? null)

// Outcomes of commands for display, with rows, people and times in words.

/**
 * A change by somebody else between a command's recording and its refusal. Values are as in answers, codes as their
 * labels.
 */
export interface Change {
  readonly who: string | null
  readonly when: string
  /** Name of the row: `product Moving head`. */
  readonly what: string
  readonly event: string
  /** Changed field; null if the event as a whole matters. For `held_by`, `to` describes holder and period. */
  readonly field: string | null
  readonly from: Json
  readonly to: Json
}
/** A field that somebody else also set before the command was decided: `mine` overwrote `theirs`. */
export interface OverwrittenField {
  readonly what: string
  readonly field: string
  readonly was: Json
  readonly theirs: Json
  readonly mine: Json
  readonly who: string | null
  readonly when: string
}
/** A difference between the confirmed outcome and the one shown here. */
export interface Difference {
  readonly what: string
  readonly field: string | null
  readonly here: Json
  readonly there: Json
}

const rowText = (catalogue: Catalogue, row: RowLabel): string => rowWords(catalogue.table(row.table), row)
/** Label of a code: `Dispatched` for the unit status 2; other values unchanged. */
const labelled = (catalogue: Catalogue, { table }: RowLabel, field: string | null, value: Json): Json => {
  const type = field === null ? undefined : catalogue.table(table).columns[field]?.type
  if (type === undefined || (type.kind !== "code" && type.kind !== "choice")) return value
  const labels: { readonly [value: string]: string } = type.labels
  return labels[String(value)] ?? value
}
const actorText = (actor: Actor | null): string | null => (actor === null ? null : (actor.name ?? `user ${actor.id}`))
const holdingText = (catalogue: Catalogue, { quantity, by, from, to }: Holding): string =>
  `${quantity === null ? "" : `${quantity} by `}${rowText(catalogue, by)} from ${from} to ${to}`

export const changeInWords = (
  catalogue: Catalogue,
  { actor, when, row, event, field, from, to, holding }: ConcurrentChange
): Change => ({
  who: actorText(actor),
  when,
  event,
  what: rowText(catalogue, row),
  field: holding === undefined ? field : "held_by",
  from: labelled(catalogue, row, field, from),
  to: holding === undefined ? labelled(catalogue, row, field, to) : holdingText(catalogue, holding)
})
export const overwrittenInWords = (
  catalogue: Catalogue,
  { row, field, was, theirs, mine, actor, when }: OverwrittenValue
): OverwrittenField => ({
  what: rowText(catalogue, row),
  field,
  was: labelled(catalogue, row, field, was),
  theirs: labelled(catalogue, row, field, theirs),
  mine: labelled(catalogue, row, field, mine),
  who: actorText(actor),
  when
})
export const differenceInWords = (catalogue: Catalogue, { row, field, here, there }: ValueDifference): Difference => ({
  what: rowText(catalogue, row),
  field,
  here: labelled(catalogue, row, field, here),
  there: labelled(catalogue, row, field, there)
})
