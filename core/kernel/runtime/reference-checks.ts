/** References in commands: 422 for rows in use, events that clear lists, and locks on referenced rows. */
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import { event, type NewEvent, streamOfRow } from "../events/event-type.ts"
import type { ColumnValues, Json } from "../fields/field.ts"
import type { Reference, References } from "../events/references.ts"
import { clearedColumns, followersOnce, onDeleteEffect, referenceCleared } from "../events/references.ts"
import { invalidField, type Rejection, type Viewer } from "../fields/rejection.ts"
import { without } from "../tables/field-schema.ts"
import { visibleColumnsOf } from "../tables/visibility.ts"
import { type Bindings, bindings, chunked, columnList, quote, whereSql } from "../store/statement.ts"
import { Store, type StoreShape } from "../store/store.ts"
import { type AnyRow, type RowChange, type Table, type Where, withId, wordsOf } from "../tables/table.ts"

/**
 * Rows that a command deletes, by table; `along`: those deleted with their parent, which the projection's changes do
 * not list one by one.
 */
interface DeletedRows {
  readonly ids: ReadonlyArray<number>
  readonly along: ReadonlySet<number>
}
type Deleted = ReadonlyMap<Table, DeletedRows>

/** The parts of the catalogue that the checks need. */
interface Declared {
  readonly references: References
  readonly table: (name: string) => Table
}
/**
 * Checks every reference to rows that these changes delete: 422 under the deleted row's entity, naming the holder, if
 * it is in use; otherwise returns the events that clear references to it. Reads nothing without deletions.
 */
export const cascadeDeletions = (
  declared: Declared,
  changes: ReadonlyArray<RowChange>,
  viewer: Viewer
): Effect.Effect<ReadonlyArray<NewEvent>, Rejection | SqlError.SqlError, Store> =>
  changes.some((change) => isDeletion(change) || isArchiving(change)) ? cascade(declared, changes, viewer) : no_events
const no_events = Effect.succeed<ReadonlyArray<NewEvent>>([])
const isDeletion = ({ op }: RowChange): boolean => op === "delete" || op === "delete_where"
const isArchiving = (change: RowChange): boolean => "set" in change && typeof change.set["deleted_at"] === "string"
const cascade = Effect.fnUntraced(function* (
  { references, table }: Declared,
  changes: ReadonlyArray<RowChange>,
  viewer: Viewer
): Effect.fn.Return<ReadonlyArray<NewEvent>, Rejection | SqlError.SqlError, Store> {
  const deleted = yield* deletedBy(references, changes)
  if (deleted.size === 0) return []
  yield* lockDeleted(deleted)
  const refusal = yield* stillInUse(references, deleted, viewer, table)
  return refusal === undefined ? yield* clearedEvents(references, deleted) : yield* refusal
})
/** Waits for transactions that are about to refer to these rows; later ones see the deletion. Postgres only. */
const lockDeleted = Effect.fnUntraced(function* (deleted: Deleted) {
  const store = yield* Store
  if (store.dialect !== "pg") return
  for (const [table, { ids }] of deleted) {
    const bound = bindings(store.dialect)
    yield* store.run(
      `select 1 from ${quote(table.name)} where ${whereSql(table, { [table.key]: [...ids].sort((a, b) => a - b) }, store.dialect, bound)} for update`,
      bound.values
    )
  }
})

/** References of a table's own columns whose targets may be deleted, computed once. */
const holding = new WeakMap<References, ReadonlyMap<Table, ReadonlyArray<Reference>>>()
const referencesByHolder = (references: References): ReadonlyMap<Table, ReadonlyArray<Reference>> => {
  let found = holding.get(references)
  if (found === undefined) {
    const going = [...references.values()]
      .flat()
      .filter(({ rule }) => rule !== undefined && rule.on_delete !== "keep" && rule.on_delete !== "handled")
    holding.set(references, (found = Map.groupBy(going, ({ holder }) => holder)))
  }
  return found
}
const isMet = (where: ColumnValues, values: AnyRow): boolean =>
  Object.entries(where).every(([name, wanted]) =>
    Array.isArray(wanted) ? wanted.some((one) => one === values[name]) : (values[name] ?? null) === wanted
  )
/** Whether a new row counts as holder, by its own columns; false if that depends on another row. */
const counts = ({ rule }: Reference, values: AnyRow): boolean =>
  rule?.while_of === undefined && (rule?.while === undefined || rule.while.some((one) => isMet(one, values)))
/** Tolerance: a list may name rows deleted by an earlier release; a deletion this recent is concurrent. */
const at_once_ms = 60_000
interface ReferredIds {
  readonly single: Set<number>
  readonly listed: Set<number>
  readonly past: Set<number>
}
const kindOf = (one: Reference, values: AnyRow, is_new: boolean): keyof ReferredIds => {
  if (one.is_list) return "listed"
  return onDeleteEffect(one) !== "keep" || (is_new && counts(one, values)) ? "single" : "past"
}
const valuesSet = (change: RowChange): AnyRow =>
  change.op === "insert" ? change.row : change.op === "update" ? change.set : {}
/** Ids that new and changed rows refer to, by table. */
const referredIds = (
  columns: ReadonlyMap<Table, ReadonlyArray<Reference>>,
  changes: ReadonlyArray<RowChange>,
  tableNamed: (name: string) => Table
): ReadonlyMap<Table, ReferredIds> => {
  const referred = new Map<Table, ReferredIds>()
  for (const change of changes) {
    const values = valuesSet(change)
    for (const one of columns.get(change.table) ?? []) {
      const value = values[one.column] ?? null
      if (value === null || !isMet(one.where, values)) continue
      const table = tableNamed(one.target)
      let ids = referred.get(table)
      if (ids === undefined) referred.set(table, (ids = { single: new Set(), listed: new Set(), past: new Set() }))
      const kind = kindOf(one, values, change.op === "insert")
      for (const id of one.is_list ? idsListed(value) : [Number(value)]) ids[kind].add(id)
    }
  }
  return referred
}
/** Keys of the rows that these changes insert, of tables in which they delete none. */
const keysMade = (changes: ReadonlyArray<RowChange>): ReadonlyMap<Table, ReadonlySet<unknown>> => {
  const made = new Map<Table, Set<unknown>>()
  const shrinking = new Set<Table>()
  for (const change of changes) {
    const { table } = change
    const keys = made.get(table) ?? new Set()
    if (change.op === "insert" && !table.on_conflict_ignore) made.set(table, keys.add(change.row[table.key]))
    const archives = (valuesSet(change)["deleted_at"] ?? null) !== null
    if (archives || (change.op !== "insert" && change.op !== "update")) shrinking.add(table)
  }
  for (const table of shrinking) made.delete(table)
  return made
}
/**
 * Locks the rows that the events refer to until the commit, like a foreign key. If one was deleted meanwhile, the
 * transaction is retried. Other transactions cannot delete the rows that this one makes. Postgres only.
 */
export const lockReferencedRows = (declared: Declared, changes: ReadonlyArray<RowChange>, recorded_at: string) =>
  Effect.flatMap(Store, (store) =>
    store.dialect === "pg" ? lockRowsOf(store, declared, changes, recorded_at) : Effect.void
  )
const lockRowsOf = Effect.fnUntraced(function* (
  store: StoreShape,
  { references, table: tableNamed }: Declared,
  changes: ReadonlyArray<RowChange>,
  recorded_at: string
) {
  const wanted = referredIds(referencesByHolder(references), changes, tableNamed)
  const made = keysMade(changes)
  for (const [table, referred] of [...wanted].sort(([one], [other]) => (one.name < other.name ? -1 : 1))) {
    const own = made.get(table)
    const others = (ids: ReadonlySet<number>): ReadonlyArray<number> =>
      own === undefined ? [...ids] : [...ids].filter((id) => !own.has(id))
    const [listed, single] = [others(referred.listed), others(referred.single)]
    const rows = new Map(
      (yield* store.getManyLocked(table, [...single, ...listed, ...others(referred.past)])).map((row) => [
        row["id"],
        row
      ])
    )
    const isGoing = (row: AnyRow | undefined): boolean =>
      typeof row?.["deleted_at"] === "string" && Date.parse(recorded_at) - Date.parse(row["deleted_at"]) < at_once_ms
    if (single.some((id) => !rows.has(id)) || listed.some((id) => isGoing(rows.get(id)))) {
      return yield* new SqlError.SqlError({
        reason: new SqlError.SerializationError({
          cause: undefined,
          message: `a row of ${table.name} was deleted meanwhile`
        })
      })
    }
  }
})

/** Rows that these changes delete, for referenced tables. Queries only if rows are deleted with their parent. */
const deletedBy = Effect.fnUntraced(function* (references: References, changes: ReadonlyArray<RowChange>) {
  const deleted = new Map<Table, { readonly ids: Set<number>; readonly along: Set<number> }>()
  const goes = (table: Table, id: unknown, along = false): void => {
    if (typeof id !== "number") return
    const gone = deleted.get(table) ?? { ids: new Set(), along: new Set() }
    gone.ids.add(id)
    if (along) gone.along.add(id)
    deleted.set(table, gone)
  }
  for (const change of changes) {
    const { op, table } = change
    if (op === "insert" || ((op === "update" || op === "update_where") && !isArchiving(change))) continue
    const is_guarded = references
      .get(table.name)
      ?.some((reference) => reference.rule?.on_delete === "refuse" || onDeleteEffect(reference) === "clear")
    if (is_guarded !== true) continue
    if (op === "delete" || op === "update") goes(table, change.key)
    else {
      for (const row of yield* Store.find(table, change.where)) goes(table, row[table.key], true)
    }
  }
  return new Map([...deleted].map(([table, { along, ids }]) => [table, { ids: [...ids], along }]))
})

/** Events that remove deleted rows from lists, and rows deleted with their parent from any column. */
const clearedEvents = Effect.fnUntraced(function* (references: References, deleted: Deleted) {
  const store = yield* Store
  const events: Array<NewEvent> = []
  for (const [table, { along, ids }] of deleted) {
    for (const one of references.get(table.name) ?? []) {
      const named = one.is_list ? ids : ids.filter((id) => along.has(id))
      if (onDeleteEffect(one) !== "clear" || named.length === 0) continue
      // Locked, so that a concurrent change of the list is not lost.
      for (const row of yield* holders(store, one, named, false)) {
        const set = one.is_list ? withoutIds(one, row, ids) : clearedColumns(one)
        events.push(clearedEvent(one.holder, row, set))
      }
    }
  }
  return events
})
/** The ids in a list column. */
const idsListed = (value: Json | undefined) => value as ReadonlyArray<number>
const withoutIds = ({ column, rule }: Reference, row: AnyRow, ids: ReadonlyArray<number>): AnyRow => {
  const listed = idsListed(row[column])
  const into = rule?.clears_into
  return {
    [column]: listed.filter((id) => !ids.includes(id)),
    ...(into === undefined ? {} : { [into]: [...idsListed(row[into]), ...listed.filter((id) => ids.includes(id))] })
  }
}
const clearedEvent = (holder: Table, row: AnyRow & { readonly id: number }, set: AnyRow): NewEvent => {
  const whole: AnyRow = { ...row, ...set }
  // Rows with row-level visibility are recorded in full.
  return event(streamOfRow(holder, row), referenceCleared(holder), {
    id: row.id,
    set: holder.visibility?.by_row === undefined ? set : without(whole, "id", "updated_at", "deleted_at")
  })
}

/** The 422 for the first row still in use; undefined if none is. */
const stillInUse = Effect.fnUntraced(function* (
  references: References,
  deleted: Deleted,
  viewer: Viewer,
  tableNamed: (name: string) => Table
): Effect.fn.Return<Rejection | undefined, SqlError.SqlError, Store> {
  const store = yield* Store
  for (const [table, { ids }] of deleted) {
    for (const one of references.get(table.name) ?? []) {
      if (one.rule?.on_delete !== "refuse") continue
      const [holder] = yield* holders(store, one, ids, true, tableNamed)
      if (holder !== undefined) return inUseRejection(table, one, holder, viewer)
    }
  }
  return undefined
})
const inUseRejection = (
  table: Table,
  one: Reference,
  row: AnyRow & { readonly id: number },
  viewer: Viewer
): Rejection => {
  const seen = visibleColumnsOf(one.holder, viewer)
  const named = one.holder.named_by.find(
    (column) => typeof row[column] === "string" && (seen === "whole" || seen?.has(column) === true)
  )
  const holder = `${wordsOf(one.holder)} ${row.id}${named === undefined ? "" : ` "${String(row[named])}"`}`
  return invalidField(
    table.entity,
    `The ${wordsOf(table)} is in use by ${holder}${one.rule?.way_out === undefined ? "" : `; ${one.rule.way_out}`}.`
  )
}

/** Rows that refer to these ids, locked; with `counting`, only the first that prevents their deletion, not locked. */
const holders = Effect.fnUntraced(function* (
  store: StoreShape,
  one: Reference,
  ids: ReadonlyArray<number>,
  counting: boolean,
  tableNamed?: (name: string) => Table
): Effect.fn.Return<ReadonlyArray<AnyRow & { readonly id: number }>, SqlError.SqlError> {
  const found: Array<AnyRow & { readonly id: number }> = []
  for (const some of chunked(ids, 500)) {
    const bound = bindings(store.dialect)
    const conditions = [
      namesOneOf(one, some, store, bound),
      whereSql(one.holder, one.where, store.dialect, bound),
      ...(counting ? countsSql(one, store, bound, tableNamed) : [])
    ]
    const rows = yield* store.run(
      `select ${columnList(one.holder)} from ${quote(one.holder.name)} where ${conditions.join(" and ")} order by ${quote(one.holder.key)}${counting ? " limit 1" : store.dialect === "pg" ? " for update" : ""}`,
      bound.values
    )
    for (const row of rows) found.push(withId(store.decode(one.holder, row)))
    if (counting && found.length > 0) break
  }
  return found
})
const namesOneOf = (
  { column, holder, is_list }: Reference,
  ids: ReadonlyArray<number>,
  store: StoreShape,
  bound: Bindings
): string => {
  if (!is_list) return whereSql(holder, { [column]: ids }, store.dialect, bound)
  const given = ids.map((id) => bound.bind(id)).join(", ")
  return store.dialect === "pg"
    ? `exists (select 1 from jsonb_array_elements_text(${quote(column)}) as listed (id) where listed.id::bigint in (${given}))`
    : `exists (select 1 from json_each(${quote(column)}) as listed where listed.value in (${given}))`
}
const anyOf = (table: Table, conditions: ReadonlyArray<Where>, store: StoreShape, bound: Bindings): string =>
  `(${conditions.map((one) => whereSql(table, one, store.dialect, bound)).join(" or ")})`
export const countsSql = (
  { holder, rule }: Reference,
  store: StoreShape,
  bound: Bindings,
  tableNamed?: (name: string) => Table
): ReadonlyArray<string> => {
  const own = rule?.while === undefined ? [] : [anyOf(holder, rule.while, store, bound)]
  if (rule?.while_of === undefined || tableNamed === undefined) return own
  const table = tableNamed(rule.while_of.table)
  return [
    ...own,
    `${quote(rule.while_of.column)} in (select ${quote(table.key)} from ${quote(table.name)} where ${anyOf(table, rule.while_of.is, store, bound)})`
  ]
}

/** Ids of holders that a merge deletes, by table. */
interface Doubled {
  readonly [table: string]: ReadonlyArray<number>
}

/** Ids, by table, of rows that refer to `from` and would double one of `into` after the merge (`merge_once_per`). */
export const doublesOf = Effect.fnUntraced(function* (
  references: References,
  table: Table,
  { from, into }: { readonly from: number; readonly into: number }
): Effect.fn.Return<Doubled, SqlError.SqlError, Store> {
  const doubled: { [table: string]: ReadonlyArray<number> } = {}
  for (const { column, holder, per } of followersOnce(references, table)) {
    const rows = (yield* Store.find(holder, { [column]: [into, from] })).map(withId)
    const taken = new Set(rows.filter((row) => row[column] === into).map((row) => row[per]))
    doubled[holder.name] = rows.filter((row) => row[column] === from && taken.has(row[per])).map(({ id }) => id)
  }
  return doubled
})
