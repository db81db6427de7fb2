/** Storage: failures of the database to write, and the disk space that a server needs. */
import type { SqlError } from "effect/sql"

export type StorageFailure = "full" | "read_only" | "failing"

/** Failures by SQLite's primary result code: SQLITE_FULL, SQLITE_READONLY, SQLITE_IOERR. */
const of_sqlite: { readonly [code: number]: StorageFailure } = { 13: "full", 8: "read_only", 10: "failing" }
/**
 * Failures by SQLSTATE: disk_full, read_only_sql_transaction (a standby, or default_transaction_read_only), io_error.
 */
const of_postgres: { readonly [state: string]: StorageFailure } = {
  "53100": "full",
  "25006": "read_only",
  "58030": "failing"
}

export const storageFailureOf = ({ reason: { cause } }: SqlError.SqlError): StorageFailure | undefined => {
  if (!(cause instanceof Error)) return undefined
  if ("errcode" in cause && typeof cause.errcode === "number") return of_sqlite[cause.errcode & 255]
  return "code" in cause && typeof cause.code === "string" ? of_postgres[cause.code] : undefined
}

export const storageText: { readonly [Fault in StorageFailure]: string } = {
  full: "The disk of the server's database is full: nothing can be recorded until there is room again. Reading goes on.",
  read_only: "The server's database takes no changes for now: it is read-only. Reading goes on.",
  failing: "The disk of the server's database fails: nothing can be recorded. Reading may go on."
}
export const mebibytes = (bytes: number): string => `${Math.floor(bytes / 1_048_576).toLocaleString("en")} MiB`
/** Free bytes that a server wants in its data folder. */
export const least_room_bytes = 1_073_741_824
/** Seconds for Retry-After: a person has to free space first. */
export const storage_retry_seconds = 30
