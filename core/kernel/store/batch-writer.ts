/**
 * Applies row changes in few statements: inserts, updates by key and deletions by parent are batched, and changes of
 * unwritten rows applied in memory. Updates of columns in a constraint are applied one at a time, in order.
 */
import { itemAt } from "../../values/text.ts"
import type { AnyRow, Key, RowChange, Table, Where } from "../tables/table.ts"
import type { Field, Json } from "../fields/field.ts"
import { keyOf } from "../tables/table.ts"
import { bindings, chunked, encodeRow, givenRows, inPowersOfTwo, quote } from "./statement.ts"
import type { BoundSql, Dialect } from "./statement.ts"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"

// Updates of many rows by key: rows that set the same columns share a statement.

interface KeyedSet {
  readonly key: Key
  readonly set: AnyRow
}

const constrained = new WeakMap<Table, ReadonlySet<string>>()
/** Whether these columns are part of a constraint between rows, so that the order of changes matters. */
const isConstrained = (table: Table, set: AnyRow): boolean => {
  let columns = constrained.get(table)
  if (columns === undefined) {
    constrained.set(
      table,
      (columns = new Set([
        ...table.uniques.flatMap((unique) => [
          ...unique.columns,
          ...Object.keys(table.columns).filter((name) => unique.where?.includes(name) === true)
        ]),
        ...table.no_overlap.flatMap(({ active, from, key, to }) => [active, from, key, to]),
        table.key
      ]))
    )
  }
  for (const name of Object.keys(set)) if (columns.has(name)) return true
  return false
}

/** Rows per statement on SQLite, well below its 32,766 bound values. */
const rows_bound_max = 64
const rows_sent_max = 2_000

/** Groups updates into statements; a statement contains each row once. */
const updatesOf = (rows: ReadonlyArray<KeyedSet>, dialect: Dialect): ReadonlyArray<ReadonlyArray<KeyedSet>> =>
  [...Map.groupBy(rows, ({ set }) => Object.keys(set).join()).values()].flatMap((alike) =>
    alike.length === 1
      ? [alike]
      : dialect === "pg"
        ? chunked(alike, rows_sent_max)
        : inPowersOfTwo(alike, rows_bound_max)
  )

export const updateOne = (table: Table, { key, set }: KeyedSet, dialect: Dialect): BoundSql => {
  const { bind, values } = bindings(dialect)
  const columns = Object.entries(encodeRow(table, set, dialect))
    .map(([name, value]) => `${quote(name)} = ${bind(value)}`)
    .join(", ")
  return { text: `update ${quote(table.name)} set ${columns} where ${quote(table.key)} = ${bind(key)}`, values }
}

const setting = (columns: ReadonlyArray<string>): string =>
  columns.map((name) => `${quote(name)} = given.${quote(name)}`).join(", ")

const bound = (table: Table, rows: ReadonlyArray<KeyedSet>): BoundSql => {
  const encoded = rows.map(({ key, set }) => ({ key, set: encodeRow(table, set, "sqlite") }))
  const columns = Object.keys(itemAt(encoded, 0).set)
  const row = `(${Array.from({ length: columns.length + 1 }, () => "?").join(", ")})`
  return {
    text:
      `with given (given_key, ${columns.map(quote).join(", ")}) as (values ${encoded.map(() => row).join(", ")}) ` +
      `update ${quote(table.name)} set ${setting(columns)} from given where ${quote(table.name)}.${quote(table.key)} = given.given_key`,
    values: encoded.flatMap(({ key, set }) => [key, ...columns.map((name) => set[name])])
  }
}

/** All rows in one parameter per column, so that the statement's text is the same for any number. */
const sent = (table: Table, rows: ReadonlyArray<KeyedSet>): BoundSql => {
  const columns = Object.keys(itemAt(rows, 0).set).map((name) => ({
    name,
    field: fieldOf(table, name),
    values: rows.map(({ set }) => set[name] ?? null)
  }))
  const key = { name: table.key, field: fieldOf(table, table.key), values: rows.map((row) => row.key) }
  const { from, names, value, values } = givenRows([key, ...columns])
  const set = names.slice(1).map((name) => `${quote(name)} = ${value(name)}`)
  return {
    text:
      `update ${quote(table.name)} set ${set.join(", ")} ` +
      `from ${from()} where ${quote(table.name)}.${quote(table.key)} = ${value(table.key)}`,
    values
  }
}
const fieldOf = (table: Table, name: string): Field => {
  const field = table.columns[name]
  if (field === undefined) throw new Error(`table ${table.name} has no column ${name}`)
  return field
}

type Sql = Effect.Effect<void, SqlError.SqlError>
interface WriteOperations {
  readonly dialect: Dialect
  readonly insertRows: (table: Table, rows: ReadonlyArray<AnyRow>) => Sql
  readonly sendMany: (table: Table, statement: BoundSql) => Sql
  readonly change: (one: Exclude<RowChange, { op: "insert" }>) => Sql
}

/** Deletions whose conditions differ only in the value of one column, which are collected. */
interface PendingDelete {
  readonly fixed: Where
  readonly column: string
  readonly values: Set<string | number>
}
/** Pending changes of one table, applied in this order. */
interface WriteBatch {
  pending_delete: PendingDelete | undefined
  inserts: Map<unknown, AnyRow>
  updates: Map<Key, AnyRow>
  index: BatchIndex | undefined
}
/** Keys of unwritten rows, by the value of a column. */
interface BatchIndex {
  readonly column: string
  readonly keys: Map<unknown, Array<unknown>>
}
const delete_batch_max = 1_000

const flushDeletes = ({ change }: WriteOperations, table: Table, waiting: WriteBatch): Sql => {
  const { pending_delete } = waiting
  waiting.pending_delete = undefined
  return pending_delete === undefined
    ? Effect.void
    : Effect.forEach(
        chunked([...pending_delete.values], delete_batch_max),
        (values) =>
          change({
            op: "delete_where",
            table,
            where: {
              ...pending_delete.fixed,
              [pending_delete.column]: values.length === 1 ? itemAt(values, 0) : values
            }
          }),
        { discard: true }
      )
}
const flushUpdates = ({ change, dialect, sendMany }: WriteOperations, table: Table, waiting: WriteBatch): Sql => {
  const { updates } = waiting
  waiting.updates = new Map()
  return updates.size === 0
    ? Effect.void
    : Effect.forEach(
        updatesOf(
          [...updates].map(([key, set]) => ({ key, set })),
          dialect
        ),
        (some) => {
          const [first] = some
          return first !== undefined && some.length === 1
            ? change({ op: "update", table, ...first })
            : sendMany(table, dialect === "pg" ? sent(table, some) : bound(table, some))
        },
        { discard: true }
      )
}
const flush = Effect.fnUntraced(function* (operations: WriteOperations, table: Table, waiting: WriteBatch) {
  yield* flushDeletes(operations, table, waiting)
  const { inserts } = waiting
  waiting.inserts = new Map()
  waiting.index = undefined
  if (inserts.size > 0) yield* operations.insertRows(table, [...inserts.values()])
  yield* flushUpdates(operations, table, waiting)
})

/** Adds a change to the batch. Returns a statement that must run first; undefined if the change can wait. */
const collect = (operations: WriteOperations, next: RowChange, waiting: WriteBatch): Sql | undefined => {
  switch (next.op) {
    case "insert":
      return collectInsert(operations, next, waiting)
    case "update":
      return collectUpdate(operations, next, waiting)
    case "update_where":
      return inSequence(flush(operations, next.table, waiting), operations.change(next))
    case "delete_where":
      return collectDeletes(operations, next, waiting)
    case "delete":
      if (waiting.inserts.delete(next.key)) return undefined
      waiting.updates.delete(next.key)
      return operations.change(next)
  }
}
type Change<Op extends RowChange["op"]> = Extract<RowChange, { op: Op }>

const collectInsert = (
  operations: WriteOperations,
  { row, table }: Change<"insert">,
  waiting: WriteBatch
): Sql | undefined => {
  const { index, inserts, updates } = waiting
  const key = keyOf(table, row)
  // Updates collected before the row's insert had no effect.
  updates.delete(key)
  if (!inserts.has(key)) {
    inserts.set(key, row)
    if (index !== undefined) addToIndex(index, storedValue(table, row, index.column), key)
    return undefined
  }
  // The database must refuse a second row with the same key.
  if (table.on_conflict_ignore) return undefined
  return inSequence(flushDeletes(operations, table, waiting), operations.insertRows(table, [row]))
}

const collectUpdate = (operations: WriteOperations, next: Change<"update">, waiting: WriteBatch): Sql | undefined => {
  const { inserts, updates } = waiting
  const { key, set, table } = next
  const row = inserts.get(key)
  if (row !== undefined) {
    if (waiting.index !== undefined && Object.hasOwn(set, waiting.index.column)) waiting.index = undefined
    inserts.set(key, changed(table, row, set))
    return undefined
  }
  if (Object.keys(set).length === 0) return undefined
  if (table.on_conflict_ignore || isConstrained(table, set))
    return inSequence(
      flushDeletes(operations, table, waiting),
      flushUpdates(operations, table, waiting),
      operations.change(next)
    )
  updates.set(key, { ...updates.get(key), ...set })
  return undefined
}

const collectDeletes = (
  operations: WriteOperations,
  next: Change<"delete_where">,
  waiting: WriteBatch
): Sql | undefined => {
  const { inserts } = waiting
  const { table, where } = next
  const added = waiting.updates.size === 0 ? asPendingDelete(table, where) : undefined
  if (added === undefined) return inSequence(flush(operations, table, waiting), operations.change(next))
  for (const key of keysMatching(table, waiting, added)) {
    const row = inserts.get(key)
    if (row !== undefined && rowMatches(table, where, row)) inserts.delete(key)
  }
  const before = waiting.pending_delete
  if (before !== undefined && canMerge(before, added)) {
    for (const value of added.values) before.values.add(value)
    return undefined
  }
  const flushed = before === undefined ? undefined : flushDeletes(operations, table, waiting)
  waiting.pending_delete = added
  return flushed
}

export const makeBatchWriter = (operations: WriteOperations): ((changes: ReadonlyArray<RowChange>) => Sql) => {
  const batched = Effect.fnUntraced(function* (changes: ReadonlyArray<RowChange>) {
    const tables = new Map<Table, WriteBatch>()
    for (const next of changes) {
      let waiting = tables.get(next.table)
      if (waiting === undefined)
        tables.set(
          next.table,
          (waiting = { pending_delete: undefined, inserts: new Map(), updates: new Map(), index: undefined })
        )
      const now = collect(operations, next, waiting)
      if (now !== undefined) yield* now
    }
    for (const [table, waiting] of tables) yield* flush(operations, table, waiting)
  })
  return (changes) => {
    const [one] = changes
    return one === undefined ? Effect.void : changes.length === 1 ? applyOne(operations, one) : batched(changes)
  }
}
const applyOne = ({ change, insertRows }: WriteOperations, one: RowChange): Sql => {
  if (one.op === "insert") return insertRows(one.table, [one.row])
  return "set" in one && Object.keys(one.set).length === 0 ? Effect.void : change(one)
}
const inSequence = (...steps: ReadonlyArray<Sql>): Sql => Effect.forEach(steps, (step) => step, { discard: true })

/** Keys of unwritten rows by a column's value, from an index; some may have changed or been deleted since. */
const keysMatching = (table: Table, waiting: WriteBatch, { column, values }: PendingDelete): ReadonlyArray<unknown> => {
  if (waiting.inserts.size === 0) return []
  if (waiting.index?.column !== column) {
    const found: BatchIndex = (waiting.index = { column, keys: new Map() })
    for (const [key, row] of waiting.inserts) addToIndex(found, storedValue(table, row, column), key)
  }
  const { keys } = waiting.index
  return [...values].flatMap((value) => keys.get(value) ?? [])
}
const addToIndex = ({ keys }: BatchIndex, value: unknown, key: unknown): void => {
  const others = keys.get(value)
  if (others === undefined) keys.set(value, [key])
  else others.push(key)
}

/** An unwritten row after a change. */
const changed = (table: Table, row: AnyRow, set: AnyRow): AnyRow => {
  const next: { [column: string]: Json } = { ...row }
  for (const name of Object.keys(set)) {
    if (table.columns[name] === undefined) throw new Error(`table ${table.name} has no column ${name}`)
    next[name] = set[name] ?? null
  }
  return next
}

/** Types that match a deletion with unwritten rows: values that are equal in memory are equal once stored. */
const plain_kinds: ReadonlySet<string> = new Set(["integer", "ref", "code", "choice", "boolean"])
/** Conditions as a collectable deletion, if rows in memory can be compared: plain values, one a number or a text. */
const asPendingDelete = (table: Table, where: Where): PendingDelete | undefined => {
  const names = Object.keys(where).sort()
  // Collect the last numeric column: typically the parent's id, while the kind stays fixed.
  const column = names.findLast((name) => typeof where[name] === "number") ?? names.at(-1)
  const value = column === undefined ? undefined : where[column]
  const isPlain = names.every((name) => {
    const type = table.columns[name]?.type
    return (
      type !== undefined &&
      (plain_kinds.has(type.kind) || (type.kind === "text" && !type.search)) &&
      ["string", "number", "boolean"].includes(typeof where[name])
    )
  })
  if (!isPlain || column === undefined || (typeof value !== "number" && typeof value !== "string")) return undefined
  const { [column]: _last, ...fixed } = where
  return { fixed, column, values: new Set([value]) }
}
const canMerge = (one: PendingDelete, other: PendingDelete): boolean => {
  const names = Object.keys(other.fixed)
  return (
    one.column === other.column &&
    names.length === Object.keys(one.fixed).length &&
    names.every((name) => one.fixed[name] === other.fixed[name])
  )
}
const rowMatches = (table: Table, where: Where, row: AnyRow): boolean =>
  Object.entries(where).every(([name, wanted]) => storedValue(table, row, name) === wanted)
/** The value as it will be stored. */
const storedValue = (table: Table, row: AnyRow, name: string): unknown => {
  const field = table.columns[name]!
  const given = row[name]
  return given === undefined || (given === null && !field.nullable) ? (field.default ?? null) : given
}
