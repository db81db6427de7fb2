/** Runs pending migrations, by Effect's Migrator. Loaded only when a server's schema is created or upgraded. */
import { Effect } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as Migrator from "effect/sql/Migrator"
import { MigrationFailed, migrations_table, type TableMigration } from "../store/table-migration.ts"
import type { StoreShape } from "../store/store.ts"

/**
 * Runs in the caller's transaction, which has exclusive access. `before`: tables that existed when it began; tables
 * created since have their current form.
 */
export const migrate = (
  store: StoreShape,
  migrations: ReadonlyArray<TableMigration>,
  before: ReadonlySet<string>
): Effect.Effect<void, SqlError.SqlError | MigrationFailed> => {
  const isDue = ({ from, table }: TableMigration): boolean =>
    from === undefined ? before.has(table.name) : !before.has(table.name) && before.has(from)
  return Migrator.make({})({
    table: migrations_table,
    loader: Effect.succeed(
      migrations.map((one): Migrator.ResolvedMigration => [
        one.id,
        one.name,
        Effect.succeed(isDue(one) ? one.up(store) : Effect.void)
      ])
    )
  }).pipe(
    Effect.provideService(SqlClient.SqlClient, store.sql),
    Effect.catchTag("MigrationError", ({ cause, message }) =>
      Effect.fail(
        new MigrationFailed({
          message:
            `The database stays as it was: ${message.replaceAll('"', "")}${reasonOf(cause)}. ` +
            "Nothing of it was lost; use the earlier release until this is mended."
        })
      )
    ),
    Effect.asVoid
  )
}

const reasonOf = (cause: unknown): string => {
  const said = cause instanceof SqlError.SqlError ? cause.reason.cause : cause
  return said instanceof Error ? ` (${said.message})` : ""
}
