/** The meaning of database errors: violated constraints, and another writer that was first. */
import type { SqlError } from "effect/sql"
import { invalidField, type Rejection } from "../fields/rejection.ts"
import type { Table } from "../tables/table.ts"
import { uniqueName } from "./statement.ts"

/** Name of the violated constraint; for a unique index on SQLite its columns (`products.sku, products.store_id`). */
const constraintOf = ({ reason }: SqlError.SqlError): string => {
  const named = reason._tag === "UniqueViolation" ? reason : reason.cause
  return typeof named === "object" && named !== null && "constraint" in named ? String(named.constraint) : ""
}

/** A constraint violation as a 422 on the field to blame; "overlap" for a taken period, undefined for other errors. */
export const constraintRejection = (
  error: SqlError.SqlError,
  tables: ReadonlyArray<Table>
): Rejection | "overlap" | undefined => {
  const constraint = constraintOf(error)
  if (error.reason._tag !== "UniqueViolation")
    return tables.some((table) => table.no_overlap.some((rule) => rule.name === constraint)) ? "overlap" : undefined
  for (const table of tables) {
    // Happens only if a device sends an id twice; a 422 keeps it from blocking the device's other commands.
    if (table.key === "id" && (constraint === `${table.name}.id` || constraint === `${table.name}_pkey`))
      return invalidField("ids", "One of its ids is taken.")
    for (const unique of table.uniques) {
      const columns = unique.columns.map((name) => `${table.name}.${name}`).join(", ")
      if (constraint === columns || constraint === uniqueName(table.name, unique.columns))
        return invalidField(unique.field, unique.message)
    }
  }
  return undefined
}

/**
 * Errors after which the transaction may be retried: another writer was first. A lock timeout is not one of them: the
 * caller gets the error, and others get the connection.
 */
export const isRetryable = (error: SqlError.SqlError): boolean =>
  error.reason._tag === "SerializationError" ||
  error.reason._tag === "DeadlockError" ||
  (error.reason._tag === "UniqueViolation" && /^journal[._]/.test(constraintOf(error)))
