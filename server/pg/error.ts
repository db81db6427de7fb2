import pg from "pg"
import * as SqlError from "effect/sql/SqlError"

/** Names of prepared statements by text, so that Postgres parses and plans a frequent query once per connection. */
export interface PlanNames {
  /** The text's name from its second use on; undefined before, and for new texts once the maximum number is named. */
  readonly nameOf: (text: string) => string | undefined
  /** Renames a text, as the plan under the old name no longer fits the schema. */
  readonly renew: (text: string) => void
  /** Forgets all names, after DDL; texts get new ones from their second use on. */
  readonly renewAll: () => void
}

const NEWCOMERS_KEPT = 1_000

/**
 * Names at most `limit` texts, as neither `pg` nor the server drops plans. Texts used once, such as bulk inserts and
 * filter combinations, get none.
 */
export const makePlanNames = (limit: number): PlanNames => {
  const names = new Map<string, string>()
  const newcomers = new Set<string>()
  // Never reused: a connection may still have a plan under an old name.
  let count = 0
  const name = (text: string): string => {
    const fresh = `flightcase_${++count}`
    names.set(text, fresh)
    return fresh
  }
  return {
    nameOf: (text) => {
      const known = names.get(text)
      if (known !== undefined || names.size >= limit) return known
      if (newcomers.delete(text)) return name(text)
      const [oldest] = newcomers
      if (oldest !== undefined && newcomers.size >= NEWCOMERS_KEPT) newcomers.delete(oldest)
      newcomers.add(text)
      return undefined
    },
    renew: (text) => {
      if (names.has(text)) name(text)
    },
    renewAll: () => {
      names.clear()
      newcomers.clear()
    }
  }
}

interface Fields {
  readonly cause: unknown
  readonly operation: string
  readonly message: string
}

/**
 * Classifies an error of `pg` by SQLSTATE. A constraint's name is `reason.constraint` for a `UniqueViolation`, else
 * `constraint` of `reason.cause`. `isRetryable`: the transaction may be run again (serialization failure, deadlock,
 * timeout, stale plan, unreachable server).
 */
export const pgError = (cause: unknown, operation: string): SqlError.SqlError => {
  const message = messageOf(cause)
  const fields = { cause, operation, message }
  if (cause instanceof pg.DatabaseError) return new SqlError.SqlError({ reason: reasonOf(cause, fields) })
  // A TypeError is a value this client refuses to bind; other errors without SQLSTATE mean a lost connection.
  const reason = cause instanceof TypeError ? new SqlError.UnknownError(fields) : new SqlError.ConnectionError(fields)
  return new SqlError.SqlError({ reason })
}

/** Whether a prepared plan no longer fits the schema, or is unknown to the server: the statement did nothing. */
export const isStalePlan = (cause: unknown): boolean =>
  cause instanceof pg.DatabaseError &&
  (cause.code === "26000" || (cause.code === "0A000" && /cached plan must not change/.test(cause.message)))

const messageOf = (cause: unknown): string => {
  // A host with several addresses fails with the errors of all, and without a message of its own.
  if (cause instanceof AggregateError) return cause.errors.map(messageOf).join("; ")
  return cause instanceof Error ? cause.message : String(cause)
}

const reasonOf = (cause: pg.DatabaseError, fields: Fields): SqlError.SqlErrorReason => {
  const code = cause.code ?? ""
  switch (code) {
    case "23505":
      return new SqlError.UniqueViolation({ ...fields, constraint: cause.constraint ?? "unknown" })
    case "40001":
      return new SqlError.SerializationError(fields)
    case "40P01":
      return new SqlError.DeadlockError(fields)
    case "55P03":
      return new SqlError.LockTimeoutError(fields)
    case "57014":
      return new SqlError.StatementTimeoutError(fields)
    case "42501":
      return new SqlError.AuthorizationError(fields)
    case "53300": // too many connections
    case "3D000": // no such database
    case "25P03": // idle in transaction for too long: the server has closed the connection
      return new SqlError.ConnectionError(fields)
  }
  if (isStalePlan(cause)) return new SqlError.SerializationError(fields)
  switch (code.slice(0, 2)) {
    case "23":
      return new SqlError.ConstraintError(fields)
    case "42":
      return new SqlError.SqlSyntaxError(fields)
    case "28":
      return new SqlError.AuthenticationError(fields)
    case "08":
      return new SqlError.ConnectionError(fields)
    case "57": // shut down, crashed or starting
      return new SqlError.ConnectionError(fields)
    default:
      return new SqlError.UnknownError(fields)
  }
}
