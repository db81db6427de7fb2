import pg from "pg"
import * as SqlError from "effect/sql/SqlError"

/** Names under which each connection keeps a text's plan, so that Postgres parses and plans a hot query once. */
export interface PlanNames {
  /** The text's name from its second use on; undefined while it is new, or when enough texts have one. */
  readonly nameOf: (text: string) => string | undefined
  /** Gives the text another name: the plan kept under the old one no longer fits the schema. */
  readonly renew: (text: string) => void
  /** After DDL: every text gets another name. */
  readonly renewAll: () => void
}

const NEWCOMERS_KEPT = 1_000

/**
 * At most `limit` texts have a name, as neither `pg` nor the server ever drops a plan. Texts seen once, such as bulk
 * inserts and filters in every combination, get none.
 */
export const makePlanNames = (limit: number): PlanNames => {
  const names = new Map<string, string>()
  const newcomers = new Set<string>()
  // Never used twice: a connection may still keep a plan under an old name.
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
      if (newcomers.size >= NEWCOMERS_KEPT) newcomers.delete(newcomers.values().next().value as string)
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
 * Classifies what `pg` threw by its SQLSTATE. A constraint's name is `reason.constraint` for a `UniqueViolation` and
 * the `constraint` property of `reason.cause` for every other constraint, an exclusion among them. What a caller may
 * answer by running its transaction again has `isRetryable`: serialization failure, deadlock, lock or statement
 * timeout, a prepared plan the schema has outgrown, and a server that cannot be reached.
 */
export const pgError = (cause: unknown, operation: string): SqlError.SqlError => {
  const message = messageOf(cause)
  const fields = { cause, operation, message }
  if (cause instanceof pg.DatabaseError) return new SqlError.SqlError({ reason: reasonOf(cause, fields) })
  // A value this client refuses to bind is the caller's mistake; all else that is not an answer is a lost connection.
  const reason = cause instanceof TypeError ? new SqlError.UnknownError(fields) : new SqlError.ConnectionError(fields)
  return new SqlError.SqlError({ reason })
}

/** A plan prepared before the schema changed, or one the server no longer knows: the statement did nothing. */
export const isStalePlan = (cause: unknown): boolean =>
  cause instanceof pg.DatabaseError &&
  (cause.code === "26000" || (cause.code === "0A000" && /cached plan must not change/.test(cause.message)))

const messageOf = (cause: unknown): string => {
  // "localhost" is tried at each of its addresses, and fails with all their failures and no message of its own.
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
