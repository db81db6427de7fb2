/**
 * Migrations of tables outside the journal from earlier releases. Forward only: a migration is never undone, and a
 * released one is never changed.
 */
import { Data, Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Field } from "../fields/field.ts"
import { columnType, quote } from "./statement.ts"
import type { StoreShape } from "./store.ts"
import type { Table } from "../tables/table.ts"

export interface TableMigration {
  /** One above the last migration of any slice. */
  readonly id: number
  /** Lower-case words, for the log and the migrations table. */
  readonly name: string
  /** The altered table. If this start creates it, it already has its present form, and the migration counts as done. */
  readonly table: Table
  /** The table it replaces: the migration runs when `table` is created while this one exists. */
  readonly from?: string
  /** Must use the table as it was in its release: later declarations must not change the effect. */
  readonly up: (store: StoreShape) => Effect.Effect<unknown, SqlError.SqlError>
}

/** A migration failed; nothing was changed. */
export class MigrationFailed extends Data.TaggedError("MigrationFailed")<{ readonly message: string }> {}
/** Table of applied migrations, maintained by Effect's Migrator. */
export const migrations_table = "flightcase_migrations"

/** All migrations by id. Throws if two have the same id. */
export const migrationsOf = ({
  slices
}: {
  readonly slices: ReadonlyArray<{ readonly migrations?: ReadonlyArray<TableMigration> }>
}): ReadonlyArray<TableMigration> => {
  const migrations = slices.flatMap((slice) => slice.migrations ?? []).sort((one, other) => one.id - other.id)
  const twice = migrations.find(({ id }, at) => migrations[at - 1]?.id === id)
  if (twice !== undefined) throw new Error(`two migrations have the id ${twice.id}, one of them ${twice.name}`)
  return migrations
}

/** Adds a column. `fill`: SQL expression over the other columns, for existing rows. */
export const addColumn =
  (table: string, column: string, field: Field, fill: string): TableMigration["up"] =>
  (store) => {
    const type = columnType(field, store.dialect)
    if (!field.nullable && store.dialect === "sqlite")
      return remake(store, table, `${quote(column)} ${type} not null`, fill)
    return Effect.gen(function* () {
      yield* store.run(`alter table ${quote(table)} add column ${quote(column)} ${type}`)
      yield* store.run(`update ${quote(table)} set ${quote(column)} = ${fill}`)
      if (!field.nullable) yield* store.run(`alter table ${quote(table)} alter column ${quote(column)} set not null`)
    })
  }

/** Recreates the table with its rows and indexes, as SQLite cannot add a required column. */
const remake = Effect.fnUntraced(function* (store: StoreShape, table: string, column: string, fill: string) {
  const parts = yield* store.run<{ type: string; sql: string }>(
    "select type, sql from sqlite_master where tbl_name = ? and sql is not null order by type <> 'table', name",
    [table]
  )
  const [made, ...others] = parts
  if (made?.type !== "table") return yield* Effect.die(new Error(`there is no table ${table} to add a column to`))
  const columns = yield* store.run<{ name: string }>("select name from pragma_table_info(?) order by cid", [table])
  const names = columns.map(({ name }) => quote(name)).join(", ")
  const aside = quote(`${table}_before`)
  const within = made.sql.slice(made.sql.indexOf("("), made.sql.lastIndexOf(")")).trimEnd()
  for (const { sql } of others.toReversed()) yield* store.run(dropStatement(sql))
  yield* store.run(`alter table ${quote(table)} rename to ${aside}`)
  yield* store.run(`create table ${quote(table)} ${within},\n  ${column}\n)`)
  yield* store.run(`insert into ${quote(table)} select ${names}, ${fill} from ${aside}`)
  yield* store.run(`drop table ${aside}`)
  for (const { sql } of others) yield* store.run(sql)
})
/** `create unique index "x" …` → `drop index "x"`. */
const dropStatement = (sql: string): string => {
  const [, kind = "", name = ""] = /^create\s+(?:unique\s+)?(index|trigger)\s+("[^"]+")/i.exec(sql) ?? []
  return `drop ${kind} ${name}`
}
