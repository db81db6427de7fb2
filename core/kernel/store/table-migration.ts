/**
 * Migrations of tables outside the journal from earlier releases. Forward only: a migration is never undone, and a
 * released one is never changed.
 */
import { Data, Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Field } from "../fields/field.ts"
import { columnType } from "./dialect.ts"
import { quote } from "./statement.ts"
import type { StoreShape } from "./store.ts"
import type { Table } from "../tables/table.ts"

export interface TableMigration {
  /** One more than that of the last migration of any slice. */
  readonly id: number
  /** Lower-case words, for people who read the log or the table of migrations. */
  readonly name: string
  /** The altered table. If this start creates it, it already has its present form, and the migration counts as done. */
  readonly table: Table
  /** The table it takes the place of: then it is run where `table` is made and the earlier one is there. */
  readonly from?: string
  /** Uses the table's form of its own time: later declarations must not change its effect. */
  readonly up: (store: StoreShape) => Effect.Effect<unknown, SqlError.SqlError>
}

/** A migration could not be carried out: nothing has changed. */
export class MigrationFailed extends Data.TaggedError("MigrationFailed")<{ readonly message: string }> {}
/** Made by Effect's Migrator: which migrations a database has behind it. */
export const migrations_table = "flightcase_migrations"

/** In their order. Throws where two have the same id. */
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

/** Adds a column. `fill`: its value in the rows that are there, an expression over the other columns. */
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

/** SQLite adds no column that must have a value: the table is made again with it, its rows and indexes as they were. */
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
