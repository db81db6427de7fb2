import * as SqlError from "effect/sql/SqlError"

/** Error thrown by `node:sqlite`: `errcode` is SQLite's extended result code, its low byte the primary one. */
interface SqliteFailure extends Error {
  readonly errcode: number
}

const isFailure = (cause: unknown): cause is SqliteFailure =>
  cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number"

const primaryCode = (cause: unknown): number => (isFailure(cause) ? cause.errcode & 255 : -1)

const BUSY = 5
const LOCKED = 6
const CANNOT_OPEN = 14
// Two processes starting WAL on one file at the same moment: passes by itself, like BUSY.
const LOCKING_PROTOCOL = 15
const CONSTRAINT = 19
const NOT_A_DATABASE = 26

const CONSTRAINT_PRIMARY_KEY = 1555
const CONSTRAINT_TRIGGER = 1811
const CONSTRAINT_UNIQUE = 2067
const CONSTRAINT_ROWID = 2579

/** Another process holds the file's lock; the statement did nothing and may simply be run again. */
export const isBusy = (cause: unknown): boolean => [BUSY, LOCKING_PROTOCOL].includes(primaryCode(cause))

/**
 * The name in SQLite's message: `UNIQUE constraint failed: item.code` and `NOT NULL constraint failed: item.code` name
 * columns, `CHECK constraint failed: item_days` and `UNIQUE constraint failed: index 'item_name'` name the constraint,
 * a trigger's `raise(abort, 'asset_claim_overlap')` is the name itself. A foreign key says none.
 */
const constraintName = ({ errcode, message }: SqliteFailure): string | undefined => {
  if (errcode === CONSTRAINT_TRIGGER) return message
  const named = /constraint failed: (?:index '(.*)'|(.*))$/s.exec(message)
  return named?.[1] ?? named?.[2]
}

/**
 * Classifies what `node:sqlite` threw. A constraint's name is `reason.constraint` for a `UniqueViolation` and, as with
 * `pg`, the `constraint` property of `reason.cause` for every other constraint.
 */
export const sqliteError = (cause: unknown, operation: string): SqlError.SqlError => {
  const fields = { cause, operation, message: cause instanceof Error ? cause.message : String(cause) }
  return new SqlError.SqlError({ reason: reasonOf(cause, fields) })
}

const reasonOf = (cause: unknown, fields: { cause: unknown; operation: string; message: string }) => {
  if (!isFailure(cause)) return new SqlError.UnknownError(fields)
  const code = primaryCode(cause)
  if (code === CONSTRAINT) {
    const constraint = constraintName(cause)
    if (constraint !== undefined) Object.assign(cause, { constraint })
    return [CONSTRAINT_UNIQUE, CONSTRAINT_PRIMARY_KEY, CONSTRAINT_ROWID].includes(cause.errcode)
      ? new SqlError.UniqueViolation({ ...fields, constraint: constraint ?? "unknown" })
      : new SqlError.ConstraintError(fields)
  }
  if (code === BUSY || code === LOCKED || code === LOCKING_PROTOCOL) return new SqlError.LockTimeoutError(fields)
  if (code === CANNOT_OPEN || code === NOT_A_DATABASE) return new SqlError.ConnectionError(fields)
  return cause.errcode === 1 ? new SqlError.SqlSyntaxError(fields) : new SqlError.UnknownError(fields)
}
