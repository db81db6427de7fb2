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
// Two processes started WAL on a file at the same moment: temporary, like BUSY.
const LOCKING_PROTOCOL = 15
const CONSTRAINT = 19
const NOT_A_DATABASE = 26

const CONSTRAINT_PRIMARY_KEY = 1555
const CONSTRAINT_TRIGGER = 1811
const CONSTRAINT_UNIQUE = 2067
const CONSTRAINT_ROWID = 2579

/** Whether another process holds the file's lock; the statement did nothing and may be repeated. */
export const isBusy = (cause: unknown): boolean => [BUSY, LOCKING_PROTOCOL].includes(primaryCode(cause))

/**
 * The constraint's name in SQLite's message: columns (`UNIQUE constraint failed: item.code`), an index or check (`CHECK
 * constraint failed: item_days`), or a trigger's text (`raise(abort, 'asset_claim_overlap')`). Foreign keys give none.
 */
const constraintName = ({ errcode, message }: SqliteFailure): string | undefined => {
  if (errcode === CONSTRAINT_TRIGGER) return message
  const named = /constraint failed: (?:index '(.*)'|(.*))$/s.exec(message)
  return named?.[1] ?? named?.[2]
}

/**
 * Classifies an error of `node:sqlite`. A constraint's name is `reason.constraint` for a `UniqueViolation`, else, as
 * with `pg`, `constraint` of `reason.cause`.
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
