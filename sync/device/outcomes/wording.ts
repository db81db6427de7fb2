/** Outcomes of commands as people read them: rows, people and times in words. */
import type { Catalogue } from "../../../core/kernel/endpoints/endpoint.ts"
import type { Json } from "../../../core/kernel/fields/field.ts"
import { rowWords } from "../../../core/kernel/tables/table.ts"
import type {
  Actor,
  ConcurrentChange,
  Holding,
  OverwrittenValue,
  RowLabel,
  ValueDifference
} from "../outbox/outcome.ts"

/**
 * Change by somebody else between a command's recording and its refusal. Values are as in answers, here and below;
 * codes as their labels.
 */
export interface Change {
  readonly who: string | null
  readonly when: string
  /** The row in words: `product Moving head`. */
  readonly what: string
  readonly event: string
  /**
   * Null: the event as a whole is what matters. `held_by`: `to` says for whom the row was taken, and from when to when.
   */
  readonly field: string | null
  readonly from: Json
  readonly to: Json
}
/** A field that somebody else set as well: the later writer's value stands, the other is kept here. */
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

const rowText = (catalogue: Catalogue, row: RowLabel): string => rowWords(catalogue.table(row.table), row)
/** A code by its label: `Dispatched` for the 2 of a unit's status. */
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
