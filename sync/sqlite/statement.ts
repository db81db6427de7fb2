import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"

export type Row = Record<string, unknown>

/** Result of `sql`...`.raw` on either database: the rows returned, and how many were returned or changed. */
export interface RawResult {
  readonly rows: ReadonlyArray<unknown>
  readonly rowCount: number
}

/** Runs SQL texts, with a cache of compiled statements. */
interface Statements {
  readonly rows: (sql: string, params: ReadonlyArray<unknown>) => Array<Row>
  readonly values: (sql: string, params: ReadonlyArray<unknown>) => Array<Values>
  /** Runs a statement that returns no rows, with values that the driver binds as they are. */
  readonly write: (sql: string, params: ReadonlyArray<unknown>) => Array<Row>
  /** Accepts several statements in one text, if they have no parameters; rows are then not counted. */
  readonly raw: (sql: string, params: ReadonlyArray<unknown>) => RawResult
}

type Values = Array<unknown>
type Kind = "plain" | "boolean" | "json"

/** A compiled statement with decoders for its columns, by the types their tables declare. */
interface Prepared {
  readonly statement: StatementSync
  readonly names: ReadonlyArray<string>
  readonly kinds: ReadonlyArray<Kind>
  /** Columns to decode even if integers are read as numbers. */
  readonly coded: ReadonlyArray<{ readonly at: number; readonly kind: Kind }>
  readonly changesSchema: boolean
  readsBigints: boolean
  /** Rows made so far; undefined once they are made by a compiled function. */
  made: number | undefined
  asRow: (values: Values) => Row
  /** Makes a row of values not yet decoded, if integers are read as numbers; undefined while nothing is compiled. */
  asDecodedRow: ((values: Values) => Row) | undefined
}

const STATEMENTS_KEPT = 500

export const makeStatements = (db: DatabaseSync): Statements => {
  const cache = new Map<string, Prepared>()
  let hasChangedSchema = false
  const prepared = (sql: string): Prepared => {
    const known = cache.get(sql)
    if (known !== undefined) return known
    const fresh = prepare(db, sql)
    const [oldest] = cache.keys()
    if (oldest !== undefined && cache.size >= STATEMENTS_KEPT) cache.delete(oldest)
    cache.set(sql, fresh)
    return fresh
  }
  // Statements cache declared types: cleared after DDL, and when a transaction with DDL is rolled back.
  const run = <A>(sql: string, f: (prepared: Prepared) => A): A => {
    const statement = prepared(sql)
    const result = f(statement)
    if (statement.changesSchema || (hasChangedSchema && sql.startsWith("ROLLBACK"))) cache.clear()
    hasChangedSchema = statement.changesSchema || (hasChangedSchema && db.isTransaction)
    return result
  }
  const runScript = (sql: string): RawResult => {
    cache.clear()
    hasChangedSchema = true
    db.exec(sql)
    return { rows: [], rowCount: 0 }
  }
  return {
    rows: (sql, params) => run(sql, (prepared) => runForRows(prepared, params)),
    values: (sql, params) => run(sql, (prepared) => runForValues(prepared, params)),
    write: (sql, params) =>
      run(sql, ({ statement }) => {
        Reflect.apply(statement.run, statement, params)
        return []
      }),
    raw: (sql, params) => {
      if (params.length === 0 && hasMore(sql, db.prepare(sql))) return runScript(sql)
      return run(sql, (prepared) => {
        if (prepared.names.length === 0) {
          return { rows: [], rowCount: Number(prepared.statement.run(...params.map(bind)).changes) }
        }
        const rows = runForRows(prepared, params)
        return { rows, rowCount: rows.length }
      })
    }
  }
}

const WRITES = /\b(insert|update|delete|replace|create|alter|drop|pragma)\b/i
const CHANGES_SCHEMA = /^\s*(create|alter|drop|attach|detach|vacuum)\b/i

/** Compiles one statement. Throws on a text with more than one: SQLite would silently run only the first. */
export const prepare = (db: DatabaseSync, sql: string): Prepared => {
  const statement = db.prepare(sql)
  if (hasMore(sql, statement)) throw new Error("more than one SQL statement in one text")
  const columns = statement.columns()
  const kinds = columns.map(({ type }): Kind => {
    const declared = type?.toLowerCase()
    return declared === "boolean" ? "boolean" : declared === "jsonb" ? "json" : "plain"
  })
  // Queries read numbers, and run again with bigints if one does not fit. Writes must not run twice, so they read all
  // integers as bigints.
  const readsBigints = WRITES.test(sql)
  statement.setReadBigInts(readsBigints)
  // Arrays take half the time of objects, which the driver builds column by column, without a prototype.
  statement.setReturnArrays(true)
  const names = columns.map(({ name }) => name)
  return {
    statement,
    names,
    kinds,
    coded: kinds.flatMap((kind, at) => (kind === "plain" ? [] : [{ at, kind }])),
    changesSchema: CHANGES_SCHEMA.test(sql),
    readsBigints,
    made: 0,
    asRow: (values) => asRow(names, values),
    asDecodedRow: undefined
  }
}

/** Whether the text continues after the compiled statement with more than blanks and comments. */
const hasMore = (sql: string, statement: StatementSync): boolean =>
  sql.slice(statement.sourceSQL.length).replace(/--.*|\/\*[\s\S]*?\*\/|[\s;]/g, "") !== ""

/** Runs a statement; returns each row as an array of decoded values. */
const runForValues = (prepared: Prepared, params: ReadonlyArray<unknown>): Array<Values> =>
  decoded(prepared, read(prepared, params.map(bind)))
const decoded = (prepared: Prepared, rows: Array<Values>): Array<Values> => {
  if (prepared.readsBigints) for (const row of rows) decodeInPlace(row, prepared.kinds)
  else if (prepared.coded.length > 0)
    for (const row of rows) for (const { at, kind } of prepared.coded) row[at] = decode(row[at], kind)
  return rows
}

/** Runs a statement; returns each row as an object. */
const runForRows = (prepared: Prepared, params: ReadonlyArray<unknown>): Array<Row> => {
  const rows = read(prepared, params.map(bind))
  return prepared.asDecodedRow === undefined
    ? asRows(prepared, decoded(prepared, rows))
    : rows.map(prepared.asDecodedRow)
}

/** Yields a query's rows one by one. The statement must not be shared, as it is busy meanwhile. */
export function* iterate(prepared: Prepared, params: ReadonlyArray<unknown>): Generator<Row> {
  prepared.statement.setReadBigInts(true)
  const rows: Iterable<unknown> = prepared.statement.iterate(...params.map(bind))
  for (const row of rows) {
    const values = row as Values // setReturnArrays(true), which the driver's types do not follow
    decodeInPlace(values, prepared.kinds)
    yield asRow(prepared.names, values)
  }
}

const read = (prepared: Prepared, bound: ReadonlyArray<SQLInputValue>): Array<Values> => {
  try {
    return allOf(prepared.statement, bound)
  } catch (cause) {
    const outOfRange = cause instanceof Error && "code" in cause && cause.code === "ERR_OUT_OF_RANGE"
    if (prepared.readsBigints || !outOfRange) throw cause
    prepared.readsBigints = true
    prepared.made = 0
    prepared.asDecodedRow = undefined
    prepared.statement.setReadBigInts(true)
    return allOf(prepared.statement, bound)
  }
}

const allOf = (statement: StatementSync, bound: ReadonlyArray<SQLInputValue>): Array<Values> => {
  const rows: ReadonlyArray<unknown> = statement.all(...bound)
  return rows as Array<Values> // setReturnArrays(true), which the driver's types do not follow
}

const asRow = (names: ReadonlyArray<string>, values: Values): Row => {
  const row: Row = {}
  for (let i = 0; i < names.length; i++) row[names[i] as string] = values[i]
  return row
}

const COMPILED_FROM = 32
const COMPILED_KEPT = 500
const compiled = new Map<string, (values: Values) => Row>()
/**
 * Rows as objects. From some rows of a statement on, a compiled literal makes them: a twentieth of the time, and they
 * share one hidden class, while objects filled column by column become slow dictionaries.
 */
const asRows = (prepared: Prepared, rows: ReadonlyArray<Values>): Array<Row> => {
  if (prepared.made !== undefined && (prepared.made += rows.length) >= COMPILED_FROM) {
    const { kinds, names, readsBigints } = prepared
    prepared.made = undefined
    if (readsBigints) prepared.asRow = rowMaker(names) ?? prepared.asRow
    else prepared.asDecodedRow = rowMaker(names, kinds)
  }
  return rows.map(prepared.asRow)
}
/** A compiled function that makes rows of values, and decodes them by their kinds; undefined if there can be none. */
export const rowMaker = (
  names: ReadonlyArray<string>,
  kinds: ReadonlyArray<Kind> = []
): ((values: Values) => Row) | undefined => {
  const key = JSON.stringify([names, kinds])
  const known = compiled.get(key)
  if (known !== undefined) return known
  const made = names.includes("__proto__") ? undefined : literalOf(names, kinds)
  if (compiled.size >= COMPILED_KEPT) compiled.clear()
  if (made !== undefined) compiled.set(key, made)
  return made
}

/** Undefined if Node forbids functions made of text (`--disallow-code-generation-from-strings`). */
const literalOf = (names: ReadonlyArray<string>, kinds: ReadonlyArray<Kind>): ((values: Values) => Row) | undefined => {
  const columns = names.map((name, i) => {
    const value = `values[${i}]`
    const decoded =
      kinds[i] === "boolean"
        ? `${value} === null ? null : ${value} !== 0`
        : kinds[i] === "json"
          ? `${value} === "[]" ? [] : ${value} === "{}" ? {} : decode(${value}, "json")`
          : value
    return `${JSON.stringify(name)}: ${decoded}`
  })
  try {
    const text = `return (values) => ({ ${columns.join(", ")} })`
    const make = Reflect.construct(Function, ["decode", text]) as (decodes: typeof decode) => (values: Values) => Row
    return make(decode)
  } catch {
    return undefined
  }
}

const decodeInPlace = (values: Values, kinds: ReadonlyArray<Kind>): void => {
  for (let i = 0; i < values.length; i++) values[i] = decode(values[i], kinds[i] as Kind)
}

const decode = (value: unknown, kind: Kind): unknown => {
  if (value === null) return null
  if (kind === "boolean") return value !== 0 && value !== 0n
  // A `jsonb` column has numeric affinity, so a document that is just a number is stored and returned as one.
  if (kind === "json") return typeof value === "string" ? JSON.parse(value) : Number(value)
  if (typeof value !== "bigint") return value
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
}

/**
 * Converts a parameter for SQLite. The driver reads a leading object as named parameters and binds Dates and NaN as
 * NULL: all are rejected. It binds integers as floats ('a' || 5 would be 'a5.0'), so they are bound as bigints.
 */
const bind = (value: unknown): SQLInputValue => {
  switch (typeof value) {
    case "string":
    case "bigint":
      return value
    case "number":
      if (Number.isSafeInteger(value)) return BigInt(value)
      if (Number.isFinite(value)) return value
      throw new TypeError(`SQLite cannot bind ${value}`)
    case "boolean":
      return value ? 1n : 0n
    case "undefined":
      return null
    default:
      if (value === null || value instanceof Uint8Array) return value
      throw new TypeError(`SQLite cannot bind a ${value instanceof Date ? "Date" : typeof value}`)
  }
}
