/** Valid and invalid values for declared fields. */
import * as fc from "fast-check"
import type { Field, Fields, Json } from "../../core/kernel/fields/field.ts"
import type { AnyRow } from "../../core/kernel/tables/table.ts"

/** Existing rows by table, of which requests use the ids. */
export type Rows = ReadonlyMap<string, ReadonlyArray<AnyRow>>

/** Numbers that JSON can hold but JavaScript cannot; each replaces its mark in the text of a body. */
const raw_numbers: { readonly [mark: string]: string } = {
  "#40digits": "1234567890123456789012345678901234567890",
  "#overflow": "1e400",
  "#minus_overflow": "-1e400",
  "#tiny": "1e-400",
  "#minus_zero": "-0",
  "#beyond_safe": "9007199254740993",
  "#long_fraction": `0.${"3".repeat(300)}`,
  "#exponent": "1.5E+3"
}
export const bodyText = (json: unknown): string =>
  (JSON.stringify(json) ?? "").replace(/"(#[a-z0-9_]+)"/g, (whole, mark: string) => raw_numbers[mark] ?? whole)

/** Texts that mean something to a layer below: SQL, patterns, paths, markup, formats. */
export const odd_texts = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "x\udc00",
  "'",
  "''; drop table members; --",
  '" or 1=1 --',
  "$1",
  "?",
  "%",
  "_",
  "\\",
  "\\'",
  "%s%n",
  "{}",
  "[]",
  "null",
  "true",
  "-1",
  "1e3",
  "NaN",
  "Infinity",
  "0x10",
  "９",
  "../../etc/passwd",
  "%00",
  "<script>alert(1)</script>",
  "${7*7}",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "\r\nx-injected: 1",
  "\u202edcba",
  "e\u0301\u0323",
  "\u{1f4a1}".repeat(300),
  "İıẞ",
  "x".repeat(256),
  "y".repeat(70_000),
  "2026-02-30",
  "2026-13-01T00:00:00Z",
  "9999-12-31T23:59:59.999Z",
  "0000-00-00",
  "-000001-01-01T00:00:00Z",
  "+010000-01-01T00:00:00Z",
  "2026-03-29T01:30:00+14:00",
  "12:60",
  "0.0000000000001",
  "1".repeat(40),
  "-".repeat(20),
  "1,000",
  "£5",
  "1_000"
]
const odd_numbers: ReadonlyArray<Json> = [
  0,
  -1,
  1.5,
  -0.5,
  1e3,
  1e21,
  1e300,
  -1e300,
  5e-324,
  2_147_483_647,
  2_147_483_648,
  -2_147_483_649,
  9_007_199_254_740_991,
  99_999_999_999_999_999_999,
  ...Object.keys(raw_numbers)
]
const nested = (depth: number): Json =>
  depth === 0 ? 1 : depth % 2 === 0 ? [nested(depth - 1)] : { a: nested(depth - 1) }
/** Values that are invalid for most fields, or barely valid. */
export const hostile: fc.Arbitrary<Json> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom<Json>(
      null,
      true,
      false,
      [],
      {},
      [null],
      [{}],
      [[]],
      [[[[]]]],
      [1, "1", 1],
      { id: 1 },
      { length: 3 },
      { "0": 1 },
      { constructor: 1, toString: "x" },
      nested(40)
    )
  },
  { weight: 4, arbitrary: fc.constantFrom(...odd_texts) },
  { weight: 4, arbitrary: fc.constantFrom(...odd_numbers) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 30 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3, depthSize: "small" }) as fc.Arbitrary<Json> },
  { weight: 1, arbitrary: fc.array(fc.constantFrom(...odd_texts), { maxLength: 5 }) }
)

const names = fc.oneof(
  fc.constantFrom(
    "Lamp",
    "Ärger & Söhne",
    "照明 灯",
    "مصباح",
    "O'Brien; drop table x; --",
    "100% _off\\",
    'a"b',
    "\u{1f4a1} Spot",
    "ÅNGSTRÖM",
    "e\u0301clair"
  ),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 })
)
const instants = [
  "2026-06-30T09:00:00Z",
  "2026-07-01",
  "2026-07-02T10:30:00+02:00",
  "2026-07-05T17:00:00.500Z",
  "2026-10-25T00:30:00Z",
  "2026-03-29T01:00:00Z",
  "2026-06-18T12:30:00",
  "2027-01-01T00:00:00Z",
  "2026-06-01T08:00:00Z"
]

/** One of many; half the time of the first few, as the earliest rows have the most related records. */
export const oneOf = <A>(all: ReadonlyArray<A>): fc.Arbitrary<A> =>
  fc.oneof(fc.constantFrom(...all.slice(0, 6)), fc.constantFrom(...all))

/** An existing id of a table; a small number if it has no rows. */
export const idIn = (rows: ReadonlyArray<AnyRow> | undefined): fc.Arbitrary<number> => {
  const ids = (rows ?? []).map((row) => row["id"]).filter((id) => typeof id === "number")
  return ids.length === 0 ? fc.integer({ min: 1, max: 12 }) : oneOf(ids)
}
/** Tables to which integer fields of these names refer. */
const pointsInto: { readonly [name: string]: string } = {
  secondary_id: "members",
  user_id: "users",
  dispatched_by: "users",
  opportunity_item_id: "opportunity_items",
  principal_item_id: "opportunity_items",
  regarding_id: "members",
  replica_id: "replicas",
  serialised_item_ids: "stock_levels",
  asset_ids: "asset_assignments"
}

/** A valid value of a field, as far as its declaration shows. `special`: by field name, for narrower formats. */
export const fitting = (
  name: string,
  field: Field,
  rows: Rows,
  special: { readonly [name: string]: fc.Arbitrary<Json> }
): fc.Arbitrary<Json> => {
  const { type } = field
  if (Object.hasOwn(special, name)) return special[name]!
  switch (type.kind) {
    case "text":
      switch (type.format) {
        case "email":
          return fc.constantFrom("a@example.com", "ü@example.org", "x.y+z@a.b.c")
        case "url":
          return fc.constantFrom("https://example.com", "http://a.b/?q=1#x")
        case "time":
          return fc.constantFrom("09:00", "23:59")
        case "zone":
          return fc.constantFrom("UTC", "Europe/London", "Pacific/Chatham", "America/New_York")
        case "language":
          return fc.constantFrom("en-GB", "de", "fr_CH")
        case "currency":
          return fc.constantFrom("GBP", "gbp", "JPY", "KWD", "EUR")
        case "country":
          return fc.constantFrom("GB", "de")
        case "peppol":
          return fc.constantFrom("0088:1234567890128", "9930:de123456789")
        case "slug":
          return fc.constantFrom("a", "daily-rate")
        default:
          return type.length !== undefined
            ? fc.constant("G".repeat(type.length))
            : type.max < 30
              ? fc.constantFrom("x", "ab".slice(0, type.max))
              : fc.oneof({ weight: 12, arbitrary: names }, { weight: 1, arbitrary: fc.constant("n".repeat(type.max)) })
      }
    case "integer":
      return pointsInto[name] !== undefined
        ? fc.oneof(idIn(rows.get(pointsInto[name])), fc.integer({ min: 1, max: 12 }))
        : fc.oneof(
            fc.integer({ min: Math.max(type.min, 0), max: Math.min(Math.max(type.min, 0) + 12, type.max) }),
            fc.constantFrom<Json>(type.min, type.max, String(type.max))
          )
    case "boolean":
      return fc.constantFrom<Json>(true, false, 1, "0")
    case "money":
      return fc.constantFrom<Json>(0, 1, 1250, "12.50", "7", 9.5, "0.01", 2_147_483_647)
    case "decimal":
      return fc.constantFrom<Json>(1, "1", "2.50", 3, "0", type.min ?? "0.5", type.max ?? "100")
    case "date":
      return fc.constantFrom("2026-06-01", "2026-07-01", "2026-12-31", "2028-02-29")
    case "timestamp":
      return fc.constantFrom(...instants)
    case "choice":
      return fc.constantFrom(...Object.keys(type.labels))
    case "code":
      return fc.constantFrom<Json>(...Object.keys(type.labels).map(Number))
    case "ref":
      return idIn(rows.get(type.table))
    case "json":
      return type.form === "array"
        ? (fc.array(fc.oneof(hostile, fc.dictionary(names, hostile, { maxKeys: 3 })), {
            maxLength: 3
          }) as fc.Arbitrary<Json>)
        : fc.dictionary(names, fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>, {
            maxKeys: 3,
            noNullPrototype: true
          })
    case "list":
      return fc.array(fitting(name, type.of, rows, special), {
        minLength: type.min_items,
        maxLength: Math.max(3, type.min_items)
      })
    case "object":
      return nearBody(type.fields, rows, special)
  }
}

/** An object with all required fields and some optional ones, sometimes with one error. */
export const nearBody = (
  fields: Fields,
  rows: Rows,
  special: { readonly [name: string]: fc.Arbitrary<Json> },
  slips_max = 2
): fc.Arbitrary<{ readonly [name: string]: Json }> => {
  const own = Object.entries(fields).filter(([, field]) => !field.computed)
  const keys = own.map(([name]) => name)
  if (keys.length === 0) return fc.constant({})
  // Only a few of many optional fields at a time; otherwise hardly any body would be valid.
  const seldom = Math.max(1, Math.ceil(keys.length / 5))
  const parts = own.map(([name, field]) =>
    field.required
      ? fitting(name, field, rows, special).map((value): ReadonlyArray<readonly [string, Json]> => [[name, value]])
      : fc
          .tuple(fc.nat({ max: seldom }), fitting(name, field, rows, special))
          .map(([skip, value]): ReadonlyArray<readonly [string, Json]> => (skip > 0 ? [] : [[name, value]]))
  )
  const slips = fc.array(fc.tuple(fc.constantFrom(...keys), hostile), { maxLength: slips_max })
  return fc
    .tuple(fc.tuple(...parts), fc.boolean(), slips)
    .map(([pairs, slipping, wrong]) => Object.fromEntries([...pairs.flat(), ...(slipping ? wrong : [])]))
}
