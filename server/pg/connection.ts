/** How connections to Postgres are made and used: settings, values on the wire, prepared statements, and errors. */
import pg from "pg"
import * as SqlError from "effect/sql/SqlError"
import { rowMaker } from "../../sync/sqlite/statement.ts"

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

interface SessionQuery {
  readonly text: string
  readonly values?: Array<unknown>
  readonly name?: string
  readonly rowMode?: "array"
  /** Statements without parameters, whose rows are not needed. */
  readonly is_control?: true
}
/** Results of all statements that were sent as one query. */
type Answered = (error: Error | null, results: ReadonlyArray<pg.QueryResult>) => void

/** How to read the rows of a statement that a connection has prepared. */
interface Prepared {
  readonly name: string
  readonly fields: Array<pg.FieldDef>
  /** Columns whose text is parsed. */
  readonly parsed: ReadonlyArray<{ readonly at: number; readonly parser: Parser }>
  readonly asRow: (values: Array<unknown>) => { readonly [column: string]: unknown }
}
/** By connection and name. A plan whose columns change fails ({@link isStalePlan}) and gets another name. */
const prepared_on = new WeakMap<pg.ClientBase, Map<string, Prepared>>()
const unparsed: Parser = pg.types.getTypeParser(builtins.TEXT)

const notePrepared = (client: pg.ClientBase, name: string, fields: Array<pg.FieldDef>): void => {
  const asRow = rowMaker(fields.map((field) => field.name))
  if (asRow === undefined) return
  const parsers = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, "text"))
  const parsed = parsers.flatMap((parser, at) => (parser === asText || parser === unparsed ? [] : [{ at, parser }]))
  const known = prepared_on.get(client) ?? new Map<string, Prepared>()
  prepared_on.set(client, known.set(name, { name, fields, parsed, asRow }))
}

/** Maximum number of a statement's values. */
const values_max = 65_535
/** Bind, Execute and Sync of a statement in one message; undefined for values that are not sent as text. */
const bindMessage = (name: string, values: ReadonlyArray<unknown>): Buffer | undefined => {
  if (values.length > values_max) return undefined
  const texts: Array<string | null> = []
  let bytes = 28 + name.length + 4 * values.length
  for (const value of values) {
    if (typeof value === "object" && value !== null) return undefined
    const text = value === null || value === undefined ? null : String(value)
    texts.push(text)
    if (text !== null) bytes += Buffer.byteLength(text)
  }
  const message = Buffer.allocUnsafe(bytes)
  message.writeUInt8(0x42, 0) // B: unnamed portal, statement, values as text
  message.writeInt32BE(bytes - 16, 1)
  message.writeUInt8(0, 5)
  let at = 6 + message.write(name, 6, "latin1")
  message.writeUInt8(0, at)
  message.writeInt16BE(0, at + 1)
  message.writeUInt16BE(values.length, at + 3)
  at += 5
  for (const text of texts) {
    const length = text === null ? 0 : message.write(text, at + 4)
    message.writeInt32BE(text === null ? -1 : length, at)
    at += 4 + length
  }
  message.writeInt16BE(0, at)
  message.set(execute_and_sync, at + 2)
  return message
}
const execute_and_sync = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4])
const sync_bytes = 5

/** A statement that is prepared on a connection, and what sends it. */
type Bound = { readonly prepared: Prepared; readonly message: Buffer }
/** One message of several, with the last one's Sync: Postgres answers them in one transaction and one write. */
const joined = (bound: ReadonlyArray<Bound>): Buffer =>
  Buffer.concat(bound.map(({ message }, at) => (at < bound.length - 1 ? message.subarray(0, -sync_bytes) : message)))

/**
 * A query of prepared statements whose columns are known: the server does not describe them again, and rows are made by
 * a compiled function. Or control statements, without rows. The driver calls its methods.
 */
class LightQuery implements pg.Submittable {
  readonly texts: ReadonlyArray<string>
  /** None for control statements. */
  private readonly bound: ReadonlyArray<Bound>
  /** The driver wraps it if the URL has a `query_timeout`, which ends when it is called. */
  callback: Answered
  private readonly results: Array<pg.QueryResult> = []
  private rows: Array<object> = []
  private failure: Error | undefined
  constructor(texts: ReadonlyArray<string>, bound: ReadonlyArray<Bound>, answered: Answered) {
    this.texts = texts
    this.bound = bound
    this.callback = answered
  }
  submit(connection: pg.Connection): void {
    const [first] = this.bound
    if (first === undefined) connection.query(this.texts.join("; "))
    else if (connection.stream.writable)
      connection.stream.write(this.bound.length > 1 ? joined(this.bound) : first.message)
  }
  handleRowDescription(): void {}
  handleDataRow({ fields: cells }: { readonly fields: Array<unknown> }): void {
    const prepared = this.bound[this.results.length]?.prepared
    if (prepared === undefined) return
    try {
      for (const { at, parser } of prepared.parsed) {
        const cell = cells[at]
        if (typeof cell === "string") cells[at] = parser(cell)
      }
      this.rows.push(prepared.asRow(cells))
    } catch (cause) {
      this.failure ??= cause instanceof Error ? cause : new Error(String(cause))
    }
  }
  handleCommandComplete({ text }: { readonly text: string }): void {
    const [command = "", ...counts] = text.split(" ")
    const fields = this.bound[this.results.length]?.prepared.fields ?? []
    this.results.push({ command, rowCount: Number(counts.at(-1) ?? 0), oid: 0, rows: this.rows, fields })
    this.rows = []
  }
  handleError(error: Error): void {
    this.callback(error, [])
  }
  handleReadyForQuery(): void {
    this.callback(this.failure ?? null, this.results)
  }
}

/** Undefined if the driver must send the query. */
const boundOn = (client: pg.ClientBase, { name, rowMode, values = [] }: SessionQuery): Bound | undefined => {
  const prepared = name === undefined || rowMode !== undefined ? undefined : prepared_on.get(client)?.get(name)
  const message = prepared && bindMessage(prepared.name, values)
  return prepared && message && { prepared, message }
}
const sendUnbound = (client: pg.ClientBase, query: SessionQuery, answered: Answered): void => {
  const { is_control, name, text } = query
  const ended: Answered = (error, results) => answered(error, results.slice(-1))
  if (is_control === true) return void client.query(new LightQuery([text], [], ended))
  client.query(query, (error: Error | null, result: pg.QueryResult | Array<pg.QueryResult>) => {
    if (error === null && name !== undefined && !Array.isArray(result)) notePrepared(client, name, result.fields)
    ended(error, error === null ? [result].flat() : [])
  })
}

/** Sends queries in one write. `expect`: how often `done` will be called, once if all are of prepared statements. */
export const sendQueries = (
  client: pg.PoolClient,
  queries: ReadonlyArray<SessionQuery>,
  expect: (answers: number) => void,
  done: Answered
): void => {
  const sent = queries.map((query) => ({ query, bound: boundOn(client, query) }))
  const bound = sent.flatMap((one) => one.bound ?? [])
  if (bound.length === queries.length) {
    const texts = queries.map(({ text }) => text)
    expect(1)
    return void client.query(new LightQuery(texts, bound, done))
  }
  expect(queries.length)
  // One write to the socket takes as long as everything else that the driver does for a short query.
  const { stream } = client.connection
  stream.cork()
  for (const { bound, query } of sent)
    if (bound === undefined) sendUnbound(client, query, done)
    else client.query(new LightQuery([query.text], [bound], done))
  stream.uncork()
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
