/**
 * Ids: integers from one sequence per table, never reused (rules/rulings 32). Sequences live outside the journal, on
 * the server.
 */
import { firstOf, itemAt } from "../../values/text.ts"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { integer, text } from "../fields/field.ts"
import { chunked } from "../store/statement.ts"
import { Store, type StoreShape } from "../store/store.ts"
import { plainTable, type Table } from "../tables/table.ts"

export const id_sequences = plainTable("id_sequences", "name", {
  name: text(),
  next: integer({ max: Number.MAX_SAFE_INTEGER })
})
export const number_sequences = plainTable("number_sequences", "name", {
  name: text(),
  next: integer({ max: Number.MAX_SAFE_INTEGER })
})

/** Name of a table's sequence on Postgres. */
export const sequenceName = (table: string): string => `ids_${table}`
export const hasOwnIds = (table: Table): boolean => table.key === "id" && table.columns["id"]?.computed === true

/**
 * Allocates ids: on Postgres from a native sequence, which does not block writers; on SQLite in the single writer's
 * transaction.
 */
export const allocateIds = Effect.fnUntraced(function* (table: string, count: number) {
  const store = yield* Store
  if (store.dialect === "pg") {
    const rows = yield* store.run<{ id: number }>(
      `select nextval('${sequenceName(table)}') as id from generate_series(1, $1::int)`,
      [count]
    )
    return rows.map((row) => Number(row.id))
  }
  const rows = yield* store.run<{ next: number }>(
    "update id_sequences set next = next + ? where name = ? returning next",
    [count, table]
  )
  const after = Number(itemAt(rows, 0).next)
  return Array.from({ length: count }, (_, index) => after - count + index)
})

export const allocateId = (table: string) => Effect.map(allocateIds(table, 1), firstOf)

/** Gives the ids of the last allocation back to the sequence, unless others were allocated since; SQLite only. */
export const releaseIds = Effect.fnUntraced(function* (table: string, ids: ReadonlyArray<number>) {
  const store = yield* Store
  if (store.dialect === "pg" || ids.length === 0) return
  yield* store.run("update id_sequences set next = next - ? where name = ? and next = ?", [
    ids.length,
    table,
    itemAt(ids, -1) + 1
  ])
})

/** Creates missing sequences, and advances those behind the highest id in use. */
export const ensureSequences = Effect.fnUntraced(function* (tables: ReadonlyArray<Table>) {
  const store = yield* Store
  const own = tables.filter(hasOwnIds).map(({ name }) => name)
  const highest = yield* highestIds(store, own)
  const next = yield* nextOfSequences(store)
  for (const name of own) {
    const after = (highest.get(name) ?? 0) + 1
    const known = next.get(name)
    if (known !== undefined && known >= after) continue
    if (store.dialect === "pg") {
      if (known === undefined) yield* store.run(`create sequence if not exists ${sequenceName(name)}`)
      yield* advanceIdSequence(name, after)
    } else if (known === undefined)
      yield* store.run("insert into id_sequences (name, next) values (?, ?)", [name, after])
    else yield* advanceIdSequence(name, after)
  }
})
/** The highest id of each table; tables without rows are absent. */
const highestIds = Effect.fnUntraced(function* (store: StoreShape, tables: ReadonlyArray<string>) {
  const highest = new Map<string, number>()
  // SQLite joins at most 500 selects.
  for (const some of chunked(tables, 400)) {
    const each = some.map((name) => `select '${name}' as name, max("id") as top from "${name}"`)
    for (const { name, top } of yield* store.run<{ name: string; top: number | null }>(each.join(" union all ")))
      if (top !== null) highest.set(name, Number(top))
  }
  return highest
})
/** The next id of each sequence, without allocating any. */
const nextOfSequences = Effect.fnUntraced(function* (store: StoreShape) {
  if (store.dialect !== "pg")
    return new Map((yield* store.find(id_sequences, {})).map(({ name, next }) => [name, next]))
  const sequences = yield* store.run<{ name: string }>(
    "select substr(relname, 5) as name from pg_class " +
      "where relkind = 'S' and relnamespace = current_schema()::regnamespace and relname like 'ids\\_%'"
  )
  if (sequences.length === 0) return new Map<string, number>()
  const each = sequences.map(
    ({ name }) => `select '${name}' as name, last_value + is_called::int as next from ${sequenceName(name)}`
  )
  const rows = yield* store.run<{ name: string; next: number }>(each.join(" union all "))
  return new Map(rows.map(({ name, next }) => [name, Number(next)]))
})

/** The next id of each table, without allocating any. */
export const nextIds = Effect.fnUntraced(function* (
  tables: ReadonlyArray<Table>
): Effect.fn.Return<ReadonlyArray<readonly [string, number]>, SqlError.SqlError, Store> {
  const next = yield* nextOfSequences(yield* Store)
  return tables.map(({ name }) => [name, next.get(name) ?? 1] as const)
})

/** Ensures that ids of this table continue at `next` or above. */
export const advanceIdSequence = Effect.fnUntraced(function* (table: string, next: number) {
  const store = yield* Store
  const name = sequenceName(table)
  if (store.dialect === "pg")
    yield* store.run(
      `select setval('${name}', greatest($1::bigint, (select last_value + is_called::int from ${name})), false)`,
      [next]
    )
  else yield* store.run("update id_sequences set next = ? where name = ? and next < ?", [next, table, next])
})

/** The next number of a document sequence. Its row stays locked until the transaction ends: no gaps, no duplicates. */
export const nextDocumentNumber = (store: StoreShape, sequence: string): Effect.Effect<number, SqlError.SqlError> => {
  const [first, second] = store.dialect === "pg" ? ["$1", "$1"] : ["?1", "?1"]
  return Effect.map(
    store.run<{ next: number }>(
      `insert into number_sequences (name, next) values (${first}, 2) on conflict (name) do update set next = number_sequences.next + 1 where number_sequences.name = ${second} returning next`,
      [sequence]
    ),
    (rows) => Number(itemAt(rows, 0).next) - 1
  )
}
