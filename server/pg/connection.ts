/** How connections to Postgres are made: settings, values on the wire, names of plans, and errors. */
import pg from "pg"
import * as SqlError from "effect/sql/SqlError"

type Parser = (text: string) => unknown

/** Parses an integer: a number, or a bigint where a number would lose digits. */
const integer: Parser = (text) => {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : BigInt(text)
}

const asText: Parser = (text) => text

const TIMESTAMP = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?(?:\+00)?$/

/**
 * Converts `2026-11-21 03:47:00.5+00`, Postgres's output in a UTC session, to `2026-11-21T03:47:00.500Z`; microseconds
 * are cut.
 */
const instantOf: Parser = (text) => {
  const parts = TIMESTAMP.exec(text)
  // "infinity" and years beyond 9999 have no canonical form.
  if (parts === null) return text
  return `${parts[1]}T${parts[2]}.${(parts[3] ?? "").padEnd(3, "0").slice(0, 3)}Z`
}

const INSTANTS_KEPT = 2_000
const instants = new Map<string, unknown>()
/** {@link instantOf}, cached: thousands of rows share few distinct times, and then their texts as well. */
const instant: Parser = (text) => {
  let found = instants.get(text)
  if (found === undefined) {
    if (instants.size >= INSTANTS_KEPT) instants.clear()
    instants.set(text, (found = instantOf(text)))
  }
  return found
}

// A literal, as the driver's list of types has no arrays.
const TEXT_ARRAY: number = 1009

const arrayOf = (parser: Parser): Parser => {
  const deeply = (entry: unknown): unknown =>
    Array.isArray(entry) ? entry.map(deeply) : typeof entry === "string" ? parser(entry) : entry
  return (text) => deeply(pg.types.getTypeParser(TEXT_ARRAY)(text))
}

const { builtins } = pg.types

/** Parsers by type oid. Other types are parsed by `pg`: booleans, smaller integers, floats, json and jsonb. */
const PARSERS = new Map<number, Parser>([
  [builtins.INT8, integer],
  [builtins.NUMERIC, asText],
  [builtins.DATE, asText],
  [builtins.TIMESTAMPTZ, instant],
  [builtins.TIMESTAMP, asText],
  [builtins.INTERVAL, asText],
  [1016, arrayOf(integer)], // int8[]
  [1231, arrayOf(asText)], // numeric[]
  [1182, arrayOf(asText)], // date[]
  [1185, arrayOf(instant)], // timestamptz[]
  [1115, arrayOf(asText)] // timestamp[]
])

/** Type parsers for `pg`'s option `types`, so that its global parsers stay unchanged. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (format !== "binary" ? PARSERS.get(oid) : undefined) ?? pg.types.getTypeParser(oid, format)
}

/**
 * Converts a parameter for Postgres. Objects and Dates are rejected, as on SQLite: `pg` would write Dates in local time
 * and objects as JSON. Arrays become Postgres arrays.
 */
export const bind = (value: unknown): unknown => {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`Postgres cannot bind ${value}`)
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value
  if (Array.isArray(value)) return value.map(bind)
  throw new TypeError(`Postgres cannot bind a ${value instanceof Date ? "Date" : "object"}`)
}

interface PgEndpoint {
  readonly url: string
  readonly connection_timeout_ms: number
}

/** Timeouts enforced by Postgres, so that no statement holds a connection or locks forever. 0 is no limit. */
interface SessionLimits {
  readonly lock_timeout_ms: number
  readonly statement_timeout_ms: number
  readonly idle_in_transaction_timeout_ms: number
}

/**
 * Settings of every connection: UTC and ISO dates, as the parsers expect, override those of the server and role.
 * Options in the URL may override the timeouts, but not these.
 */
export const connectionConfig = (
  { url, connection_timeout_ms }: PgEndpoint,
  limits?: SessionLimits
): pg.ClientConfig => {
  const limiting =
    limits === undefined
      ? ""
      : `-c lock_timeout=${limits.lock_timeout_ms} -c statement_timeout=${limits.statement_timeout_ms} ` +
        `-c idle_in_transaction_session_timeout=${limits.idle_in_transaction_timeout_ms} `
  const settings = "-c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=iso_8601"
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const own = parsed?.searchParams.get("options")
  parsed?.searchParams.delete("options")
  return {
    connectionString: own == null || parsed === undefined ? url : parsed.href,
    options: limiting + (own == null ? settings : `${own} ${settings}`),
    connectionTimeoutMillis: connection_timeout_ms,
    keepAlive: true,
    types
  }
}

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
