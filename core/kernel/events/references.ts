/**
 * References between tables, declared on columns, and their part in the projection: holders (the referring rows) that
 * are cleared or deleted with a row, and holders that follow a merge. Their part in commands is in
 * `reference-checks.ts`. The referring slice declares them; the slice it refers to does not know them.
 */
import { Schema } from "effect"
import { type EventType, eventType, type Projection, type Projector } from "./event-type.ts"
import { type ColumnValues, isJsonObject, type Json, type OnDelete, type ReferenceRule } from "../fields/field.ts"
import { type SomeColumns, someColumns } from "../tables/field-schema.ts"
import type { AnyRow, MergedBy, RowChange, Table } from "../tables/table.ts"
import { oneOf, remove, removeWhere, update, updateWhere } from "../tables/table.ts"

export interface Reference {
  readonly holder: Table
  readonly column: string
  /** Whether the column holds a list of ids. */
  readonly is_list: boolean
  /** Values of other columns for which the column refers to this table; empty if it always does. */
  readonly where: ColumnValues
  readonly target: string
  /** Undefined if the column does not declare the effect of deleting its target, which a test reports. */
  readonly rule: ReferenceRule | undefined
}
export type References = ReadonlyMap<string, ReadonlyArray<Reference>>

/** All references in these tables, by the table they point to. */
export const referencesOf = (tables: ReadonlyArray<Table>): References =>
  Map.groupBy(
    tables.flatMap((holder): ReadonlyArray<Reference> => [
      ...Object.entries(holder.columns).flatMap(([column, { type }]): ReadonlyArray<Reference> => {
        const is_list = type.kind === "list"
        const one = is_list ? type.of.type : type
        return one.kind === "ref" ? [{ holder, column, is_list, where: {}, target: one.table, rule: one.rule }] : []
      }),
      ...holder.references.map(({ column, rule, table: target, where }): Reference => ({
        holder,
        column,
        is_list: false,
        where,
        target,
        rule
      }))
    ]),
    ({ target }) => target
  )

/** Effect of a deletion on holders that do not prevent it. */
export const onDeleteEffect = ({ rule }: Reference): OnDelete =>
  rule?.on_delete === "refuse" ? (rule.otherwise ?? "keep") : (rule?.on_delete ?? "keep")
export const clearedColumns = ({ column, rule }: Reference): AnyRow =>
  Object.fromEntries([column, ...(rule?.clears ?? [])].map((name) => [name, null]))

/** Changes of holders when one row is deleted. Lists are cleared by separate events (`reference-checks.ts`). */
const followUps = (references: References, table: Table, key: number | string, at: string): ReadonlyArray<RowChange> =>
  (references.get(table.name) ?? [])
    .filter((one) => !one.is_list)
    .flatMap((one): ReadonlyArray<RowChange> => {
      const where = { ...one.where, [one.column]: key }
      const effect = onDeleteEffect(one)
      return effect === "clear"
        ? [updateWhere(one.holder, where, clearedColumns(one))]
        : effect !== "delete"
          ? []
          : one.holder.soft_delete
            ? [updateWhere(one.holder, { ...where, deleted_at: null }, { deleted_at: at })]
            : [removeWhere(one.holder, where)]
    })

/** References to a table that follow the merge of one of its rows into another. */
const followersOf = (references: References, table: Table): ReadonlyArray<Reference> =>
  (references.get(table.name) ?? []).filter(({ rule }) => rule?.on_merge !== undefined && rule.on_merge !== "stay")
/** Those of which only one row for each value of the column `per` may refer to the merged row. */
export const followersOnce = (
  references: References,
  table: Table
): ReadonlyArray<Reference & { readonly per: string }> =>
  followersOf(references, table).flatMap((one) =>
    one.rule?.merge_once_per === undefined ? [] : [{ ...one, per: one.rule.merge_once_per }]
  )

const idsIn = (doubled: Json | undefined, table: string): ReadonlyArray<number> => {
  const ids = isJsonObject(doubled) ? doubled[table] : undefined
  return Array.isArray(ids) ? ids.map(Number) : []
}
/** Changes of holders when one row is merged into another. */
const mergeFollowers = (references: References, table: Table, { doubled, from, into }: MergedBy): Projector => {
  const followers = followersOf(references, table)
  return (data, { recorded_at }) =>
    followers.flatMap((one) => {
      const doubles =
        one.rule?.merge_once_per === undefined || doubled === undefined ? [] : idsIn(data[doubled], one.holder.name)
      return [
        ...doubles.map((id) => remove(one.holder, id)),
        updateWhere(
          one.holder,
          { ...one.where, ...one.rule?.merge_while, [one.column]: Number(data[from]) },
          {
            [one.column]: Number(data[into]),
            ...(one.rule?.on_merge === "follow_updated" ? { updated_at: recorded_at } : {})
          }
        )
      ]
    })
}

/** Type of the event that removes deleted rows from one holder's references. */
export const referenceCleared = (holder: Table): string => `${holder.entity}.reference_cleared`
/**
 * Holders whose references events may clear: those with lists, and those whose target is deleted with its own parent.
 */
export const clearableTables = (references: References): ReadonlyArray<Table> => [
  ...new Set(
    [...references.values()]
      .flat()
      .filter((one) => onDeleteEffect(one) === "clear")
      .map(({ holder }) => holder)
  )
]

interface Cleared {
  readonly id: number
  readonly set: SomeColumns<Table>
}
export const referenceClearedEvent = (holder: Table): EventType<Cleared> =>
  eventType(referenceCleared(holder), {
    meaning: `The reference of ${oneOf(holder)} was cleared, as its target was deleted.`,
    data: () => Schema.Struct({ id: Schema.Int, set: someColumns(holder) }),
    project: ({ id, set }, { recorded_at }) => [update(holder, id, { ...set, updated_at: recorded_at })]
  })

/** The projection plus the effects of references: holders of deleted rows, and followers of merges. */
export const withReferences = (
  projection: Projection,
  tables: ReadonlyArray<Table>,
  references: References
): Projection => {
  const folds: { [eventType: string]: Projector } = { ...projection }
  for (const table of tables) {
    if (table.merged_by === undefined) continue
    const follow = mergeFollowers(references, table, table.merged_by)
    const own = folds[table.merged_by.event]
    folds[table.merged_by.event] = (data, meta) => {
      const changes = own?.(data, meta) ?? []
      // Before the deletion, which would clear its holders.
      const last = changes.findIndex((change) => change.op === "delete" && change.table === table)
      return last < 0
        ? [...changes, ...follow(data, meta)]
        : [...changes.slice(0, last), ...follow(data, meta), ...changes.slice(last)]
    }
  }
  return Object.fromEntries(
    Object.entries(folds).map(([type, fold]): readonly [string, Projector] => [
      type,
      (data, meta) => {
        const changes = fold(data, meta)
        return changes.some(({ op, table }) => op === "delete" && references.has(table.name))
          ? changes.flatMap((change) =>
              change.op === "delete"
                ? [...followUps(references, change.table, change.key, meta.recorded_at), change]
                : [change]
            )
          : changes
      }
    ])
  )
}
