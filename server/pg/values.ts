import pg from "pg"

type Parser = (text: string) => unknown

/** A number, or a bigint where a number would lose digits. */
const integer: Parser = (text) => {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : BigInt(text)
}

const asText: Parser = (text) => text

const TIMESTAMP = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?(?:\+00)?$/

/** `2026-11-21 03:47:00.5+00`, as a session in UTC writes it, as `2026-11-21T03:47:00.500Z`; finer digits are cut. */
const instant: Parser = (text) => {
  const parts = TIMESTAMP.exec(text)
  // "infinity", or a year beyond 9999: there is no canonical form to give it.
  if (parts === null) return text
  return `${parts[1]}T${parts[2]}.${(parts[3] ?? "").padEnd(3, "0").slice(0, 3)}Z`
}

// A number, as the driver's list of types has no arrays.
const TEXT_ARRAY: number = 1009

const arrayOf = (parser: Parser): Parser => {
  const deeply = (entry: unknown): unknown =>
    Array.isArray(entry) ? entry.map(deeply) : typeof entry === "string" ? parser(entry) : entry
  return (text) => deeply(pg.types.getTypeParser(TEXT_ARRAY)(text))
}

const { builtins } = pg.types

/** By type oid. Everything else reads as `pg` reads it: booleans, smaller integers, floats, parsed json and jsonb. */
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

/** How values are read; for `pg`'s `types` option, so that nothing global changes. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (format !== "binary" ? PARSERS.get(oid) : undefined) ?? pg.types.getTypeParser(oid, format)
}

/**
 * A parameter as Postgres takes it. `pg` would write a Date in the machine's time zone and any object as JSON: both are
 * refused, as SQLite refuses them. Arrays are Postgres arrays.
 */
export const bind = (value: unknown): unknown => {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`Postgres cannot bind ${value}`)
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value
  if (Array.isArray(value)) return value.map(bind)
  throw new TypeError(`Postgres cannot bind a ${value instanceof Date ? "Date" : "object"}`)
}
