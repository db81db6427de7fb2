import { describe, expect, it } from "vitest"
import {
  boolean,
  choice,
  code,
  date,
  decimal,
  type Field,
  type Fields,
  integer,
  type Json,
  json,
  type JsonObject,
  list,
  money,
  object,
  ref,
  tags,
  text,
  timestamp
} from "../../../core/kernel/fields/field.ts"
import { readFields, type Values } from "../../../core/kernel/fields/input.ts"
import { words } from "../../words.ts"

const gbp = { base_currency: "GBP" } as const
const create = (fields: Fields, body: JsonObject) => readFields(fields, body, { ...gbp, mode: "create" })
const update = (fields: Fields, body: JsonObject, current: Values = {}) =>
  readFields(fields, body, { ...gbp, mode: "update", current })
const refused = Symbol("refused")
/** The parsed value of a field, or its rejection. */
const value = (field: Field, raw: unknown): unknown => {
  const read = create({ it: field }, { it: raw as Json })
  if (Object.keys(read.errors).length === 0) return read.values["it"]
  // Errors within a document are reported by path.
  expect(Object.keys(read.errors).map((path) => path.split(".")[0])).toEqual(["it"])
  expect(read.values).not.toHaveProperty("it")
  return refused
}
/** A body as it arrives: the result of JSON.parse. */
const sent = (characters: string): Json => JSON.parse(characters) as Json

const plain = text({ max: 5 })
const anInteger = integer({ min: -5, max: 100 })
const amount = decimal({ scale: 2 })
const loose = decimal({ scale: 2, strict: false })
const price = money()
const minor = money({ minor_only: true })
const digits = (count: number): string => "1234567890".repeat(10).slice(0, count)

describe("reading a body", () => {
  const inputs: ReadonlyArray<[string, Field, unknown, unknown]> = [
    ["text with spaces around it", plain, "  a b \n", "a b"],
    ["text of full length", plain, "12345", "12345"],
    ["text too long", plain, "123456", refused],
    ["text of five emoji", plain, "🔦🔦🔦🔦🔦", "🔦🔦🔦🔦🔦"],
    ["a number for text", plain, 5, refused],
    ["true for text", plain, true, refused],
    ["a list for text", plain, ["a"], refused],
    ["an object for text", plain, {}, refused],
    ["a NUL", plain, "a\u0000", refused],
    ["a lone high surrogate", plain, "\ud83d", refused],
    ["a lone low surrogate", plain, "x\udd26", refused],
    ["a surrogate pair", plain, "\ud83d\udd26", "🔦"],
    ["text with quotes and semicolons", text(), "'; drop table x; --", "'; drop table x; --"],
    ["true for a boolean", boolean(), true, true],
    ["1 for a boolean", boolean(), 1, true],
    ["the text 1 for a boolean", boolean(), "1", true],
    ["0 for a boolean", boolean(), 0, false],
    ["the text 0 for a boolean", boolean(), "0", false],
    ["yes for a boolean", boolean(), "yes", refused],
    ["2 for a boolean", boolean(), 2, refused],
    ["a list of true", boolean(), [true], refused],
    ["an integer", anInteger, 7, 7],
    ["text of an integer", anInteger, " 7 ", 7],
    ["minus zero for an integer", anInteger, -0, 0],
    ["minus zero as text for an integer", anInteger, "-0", 0],
    ["a fraction", anInteger, 1.5, refused],
    ["a whole fraction", anInteger, sent("7.0"), 7],
    ["a whole exponent", anInteger, sent("1e2"), 100],
    ["an exponent as text for an integer", anInteger, "1e2", refused],
    ["an integer below its minimum", anInteger, -6, refused],
    ["an integer above its maximum", anInteger, 101, refused],
    ["2^53", integer({ max: Number.MAX_SAFE_INTEGER }), 9_007_199_254_740_992, refused],
    ["an endless number for an integer", anInteger, sent("1e999"), refused],
    ["40 digits for an integer", anInteger, digits(40), refused],
    ["hexadecimal", anInteger, "0x1f", refused],
    ["true for an integer", anInteger, true, refused],
    ["a list for an integer", anInteger, [7], refused],
    ["a code", code({ 1: "One" }), 1, 1],
    ["a code's text", code({ 1: "One" }), "1", 1],
    ["a code's name", code({ 1: "On Hire" }), "on-hire", 1],
    ["an unknown code", code({ 1: "One" }), 2, refused],
    ["a code from the prototype", code({ 1: "One" }), "toString", refused],
    ["a choice", choice({ a: "A", b: "B" }), "a", "a"],
    ["a choice in capitals", choice({ a: "A" }), "A", refused],
    ["a choice in any case", choice({ a: "A" }, { any_case: true }), " A ", "a"],
    ["an unknown choice", choice({ a: "A" }), "c", refused],
    ["a choice from the prototype", choice({ a: "A" }), "constructor", refused],
    ["a number for a choice", choice({ 1: "A" }), 1, refused],
    ["a date", date(), "2024-02-29", "2024-02-29"],
    ["a day that does not exist", date(), "2023-02-29", refused],
    ["the year zero", date(), "0000-01-01", refused],
    ["a time's date", date(), "2024-02-29T23:30:00-05:00", "2024-02-29"],
    ["a number for a date", date(), 20240229, refused],
    ["words for a date", date(), "tomorrow", refused],
    ["a time", timestamp(), "2026-03-29T01:30:00+02:00", "2026-03-28T23:30:00.000Z"],
    ["a time without a zone", timestamp(), "2026-03-29 01:30", "2026-03-29T01:30:00.000Z"],
    ["a date for a time", timestamp(), "2026-03-29", "2026-03-29T00:00:00.000Z"],
    ["finer than milliseconds", timestamp(), "2026-03-29T01:30:00.123999Z", "2026-03-29T01:30:00.123Z"],
    ["after all time", timestamp(), "9999-01-01", refused],
    ["before all time", timestamp(), "0000-06-01", refused],
    ["hour 25", timestamp(), "2026-03-29T25:00", refused],
    ["epoch seconds", timestamp(), 1_700_000_000, refused],
    ["a decimal", amount, 1.5, "1.50"],
    ["text of a decimal", amount, " 1.5 ", "1.50"],
    ["a whole number", amount, 3, "3.00"],
    ["minus zero for a decimal", amount, -0, "0.00"],
    ["minus zero as text for a decimal", amount, "-0.00", "0.00"],
    ["an exponent", amount, sent("15e-1"), "1.50"],
    ["an exponent as text for a decimal", amount, "1.5E+1", "15.00"],
    ["too many decimals", amount, "1.005", refused],
    ["zeros at the end", amount, "1.5000", "1.50"],
    ["too many decimals where rounding is allowed", loose, "-1.005", "-1.01"],
    ["40 digits for a decimal", amount, digits(40), refused],
    ["40 decimals", amount, `0.${digits(40)}`, refused],
    ["40 decimals rounded", loose, `0.${digits(40)}`, "0.12"],
    ["a tenth and two tenths", loose, 0.1 + 0.2, "0.30"],
    ["a huge number", amount, sent("1e308"), refused],
    ["an endless number for a decimal", amount, sent("1e999"), refused],
    ["an endless text", amount, "1e999999999", refused],
    ["a comma", amount, "1,5", refused],
    ["not a number", amount, "NaN", refused],
    ["true for a decimal", amount, true, refused],
    ["a list for a decimal", amount, [1], refused],
    ["the largest decimal", amount, "1000000000000", "1000000000000.00"],
    ["more than the largest decimal", amount, "1000000000000.01", refused],
    ["a whole number of minor units", price, 12_550, 12_550],
    ["a fraction of major units", price, 125.5, 12_550],
    ["text of major units", price, "125.5", 12_550],
    ["text of whole major units", price, "125", 12_500],
    ["more decimals than pence", price, "1.005", refused],
    ["a fraction with more decimals than pence", price, 1.005, refused],
    ["money below zero", price, -1, refused],
    ["money below zero where signed", money({ signed: true }), "-1.50", -150],
    ["minus zero for money", price, "-0.00", 0],
    ["the most money", price, 2_147_483_647, 2_147_483_647],
    ["more than the most money", price, 2_147_483_648, refused],
    ["40 digits for money", price, digits(40), refused],
    ["an endless number for money", price, sent("1e999"), refused],
    ["true for money", price, true, refused],
    ["minor units only", minor, 100, 100],
    ["major units where only minor ones are read", minor, "1.00", refused],
    ["a fraction where only minor units are read", minor, 1.5, refused],
    ["any document", json({ form: "any" }), [1, { a: null }], [1, { a: null }]],
    ["a list for an object document", json(), [], refused],
    ["an object for a list document", json({ form: "array" }), {}, refused],
    ["a NUL inside a document", json(), { a: ["\u0000"] }, refused],
    ["a lone surrogate inside a document", json(), { a: { b: "\udc00" } }, refused],
    ["a NUL in a key", json(), { "\u0000": 1 }, refused],
    ["tags", tags(), [" a ", "b"], ["a", "b"]],
    ["text for a list", list(text()), "x", refused],
    ["a list of too few", list(text(), { min_items: 1 }), [], refused],
    ["a list of too many", list(text(), { max_items: 1 }), ["a", "b"], refused],
    ["a list with duplicates", list(integer(), { distinct: true }), [2, 1, "2"], [2, 1]],
    ["an object for a list", list(text()), { 0: "a", length: 1 }, refused],
    ["an object", object({ a: integer() }), { a: 1, b: 2 }, { a: 1 }],
    ["a list for an object", object({ a: integer() }), [1], refused],
    ["a text for an object", object({ a: integer() }), "{}", refused]
  ]
  const [rejected, read] = [true, false].map((is) => inputs.filter(([, , , expected]) => (expected === refused) === is))
  it.each(read!)("accepts %s as a value of its declared type", (_, field, raw, expected) =>
    expect(value(field, raw)).toEqual(expected)
  )
  it.each(rejected!)("rejects %s as a value of its declared type", (_, field, raw) =>
    expect(value(field, raw)).toBe(refused)
  )
  it.each([
    ["9999-12-31T23:59:59Z", "must be a time until 2199-01-01."],
    ["2199-01-01T00:00:00.001Z", "must be a time until 2199-01-01."],
    ["2300-01-01", "must be a time until 2199-01-01."],
    ["0000-06-01", "must be a time from 0001-01-01 on."],
    ["0001-01-01T00:00:00+02:00", "must be a time from 0001-01-01 on."],
    ["2300-02-30", "must be a date or a time (ISO 8601)."],
    [42, "must be a date or a time (ISO 8601)."]
  ])("names the reason for rejecting a time: %s", (raw, wrong) => {
    expect(create({ ends_at: timestamp() }, { ends_at: raw }).errors).toEqual({
      ends_at: [`The ends at field ${wrong}`]
    })
  })
  it.each<[Field, ReadonlyArray<unknown>, ReadonlyArray<unknown>]>([
    [
      text({ format: "email" }),
      ["a@b", "ann@example.co.uk", "o'brien+x@a-b.c"],
      ["a", "a@", "@b", "a b@c", "a@b..c", "<a@b>", "a@b@c"]
    ],
    [
      text({ format: "url" }),
      ["http://a", "https://a.b/c?d#e"],
      ["a.b", "ftp://a", "javascript:alert(1)", "http://", "https://a b", "http://[::1"]
    ],
    [text({ format: "time" }), ["00:00", "23:59"], ["24:00", "9:00", "09:60", "09:00:00"]],
    [text({ format: "zone" }), ["UTC", "Europe/London"], ["Mars/Base", "Europe"]],
    [text({ format: "language" }), ["en-GB", "de", "de_AT", "zh-Hans-CN"], ["deutsch", "german", "xx-YY", "de-", "-"]],
    [text({ format: "slug" }), ["a", "half-day-2"], ["A", "a--b", "-a", "a_b"]],
    [text({ length: 3 }), ["abc"], ["ab", "abcd"]]
  ])(
    "checks a text's declared format, or its declared length if it has no format: $type.format",
    (field, good, bad) => {
      expect(good.map((raw) => value(field, raw))).toEqual(good)
      expect(bad.map((raw) => value(field, raw))).toEqual(bad.map(() => refused))
    }
  )
  it("reads currency and country codes in capitals, and rejects unknown ones", () => {
    expect([value(text({ format: "currency" }), "gbp"), value(text({ format: "country" }), " de ")]).toEqual([
      "GBP",
      "DE"
    ])
    expect([value(text({ format: "currency" }), "XXX"), value(text({ format: "country" }), "DEU")]).toEqual([
      refused,
      refused
    ])
  })
  it("accepts only countries of ISO 3166", () => {
    const country = text({ format: "country", max: 2 })
    expect(["ZZ", "UK", "XX", "fr", "Gb"].map((raw) => value(country, raw))).toEqual([
      refused,
      refused,
      refused,
      "FR",
      "GB"
    ])
  })

  describe("money", () => {
    const fields = { price, currency: text({ nullable: true }), euros: money({ currency: "currency" }) }
    it.each<[unknown, string | undefined, unknown]>([
      ["125", "JPY", 125],
      ["1.5", "JPY", refused],
      ["1.234", "KWD", 1234],
      [1.5, "KWD", 1500],
      ["1.50", "eur", 150],
      ["1.50", undefined, 150],
      ["1.50", "nonsense", 150]
    ])("is read from %s in the currency %s as %s", (raw, currency, expected) => {
      const { values, errors } = create(fields, { euros: raw as Json, ...(currency === undefined ? {} : { currency }) })
      expect(errors["euros"] === undefined ? values["euros"] : refused).toBe(expected)
    })
    it("is read in the stored currency on update unless another one is sent", () => {
      expect(update(fields, { euros: "125" }, { currency: "JPY" }).values).toEqual({ euros: 125 })
      expect(update(fields, { euros: "125", currency: "GBP" }, { currency: "JPY" }).values).toEqual({
        euros: 12_500,
        currency: "GBP"
      })
    })
  })
})

describe("fields of a body", () => {
  const fields = {
    needed: text({ required: true }),
    told: text({ nullable: true }),
    cleared: text({ nullable: true, on_null: "clear" }),
    counted: integer({ default: 7 }),
    reset: integer({ default: 7, on_null: "clear" }),
    must: integer({ default: 1, on_null: "reject" }),
    note: text({ default: "" }),
    labels: tags({ on_null: "clear" }),
    fixed: text({ create_only: true, nullable: true }),
    made: text({ computed: true, default: "x" })
  }
  it("take their defaults on create if absent or null, or are rejected if required", () => {
    const defaults = { told: null, cleared: null, counted: 7, reset: 7, must: 1, note: "", labels: [], fixed: null }
    expect(create(fields, { needed: "n" })).toMatchObject({ values: { needed: "n", ...defaults }, errors: {} })
    const nulls = Object.fromEntries(Object.keys(fields).map((name) => [name, null]))
    expect(create(fields, { ...nulls, needed: "n" })).toMatchObject({
      values: { needed: "n", ...defaults },
      errors: {}
    })
    expect(Object.keys(create(fields, nulls).errors)).toEqual(["needed"])
  })
  it("stay unchanged on update if absent", () => {
    expect(update(fields, {})).toEqual({ values: {}, errors: {}, references: [] })
  })
  it("are kept, cleared or rejected on update if null, as declared", () => {
    const { values, errors } = update(fields, {
      needed: null,
      told: null,
      cleared: null,
      counted: null,
      reset: null,
      must: null,
      labels: null
    })
    expect(values).toEqual({ cleared: null, reset: 7, labels: [] })
    expect(Object.keys(errors)).toEqual(["must"])
  })
  it("are cleared by empty text if they may be empty, and rejected otherwise", () => {
    const { values, errors } = update(fields, { needed: "  ", told: "", cleared: " \n", counted: "", note: " " })
    expect(values).toEqual({ told: null, cleared: null, note: "" })
    expect(Object.keys(errors)).toEqual(["needed", "counted"])
  })
  it("are ignored if computed or unknown, and on update if fixed at creation", () => {
    expect(create(fields, { needed: "n", made: "forged", id: 5, nonsense: "\u0000" }).values).not.toMatchObject({
      made: "forged"
    })
    expect(update(fields, { fixed: "f", made: "m", id: 5, created_at: "x", __proto__: { needed: "p" } })).toEqual({
      values: {},
      errors: {},
      references: []
    })
  })
  it("are not read from the body's prototype", () => {
    const body = Object.create({ needed: "inherited" }) as JsonObject
    expect(Object.keys(create({ needed: fields.needed }, body).errors)).toEqual(["needed"])
  })
})

describe("nested bodies", () => {
  const line = object({
    name: text({ required: true }),
    count: integer({ default: 1 }),
    parts: list(object({ id: ref("racks", { required: true }) }), { default: [] })
  })
  const fields = {
    lines: list(line, { required: true, max_items: 3 }),
    rack_ids: list(ref("racks"), { default: [] }),
    rack_id: ref("racks", { nullable: true })
  }
  it("report all errors at once, by paths of dots and indexes", () => {
    const { errors } = create(fields, {
      lines: [{ name: "ok" }, { count: "x", parts: [{ id: 1 }, {}, "nonsense"] }, null],
      rack_ids: [1, "two", 0, -1, null, 1.5],
      rack_id: "1e3"
    })
    expect(Object.keys(errors).sort()).toEqual(
      words(`
      lines.1.count lines.1.name lines.1.parts.1.id lines.1.parts.2 lines.2 rack_id rack_ids.1 rack_ids.2 rack_ids.3
      rack_ids.4 rack_ids.5
    `)
    )
  })
  it("collect references with their paths for one query", () => {
    const { references, values } = create(fields, {
      lines: [{ name: "a", parts: [{ id: "7" }] }],
      rack_ids: [8, 9],
      rack_id: 10
    })
    expect(references).toEqual([
      { path: "lines.0.parts.0.id", table: "racks", live: true, id: 7 },
      { path: "rack_ids.0", table: "racks", live: true, id: 8 },
      { path: "rack_ids.1", table: "racks", live: true, id: 9 },
      { path: "rack_id", table: "racks", live: true, id: 10 }
    ])
    expect(values).toEqual({ lines: [{ name: "a", count: 1, parts: [{ id: 7 }] }], rack_ids: [8, 9], rack_id: 10 })
  })
  it("fill in defaults of nested objects on update, too", () => {
    expect(update(fields, { lines: [{ name: "a" }] }).values).toEqual({ lines: [{ name: "a", count: 1, parts: [] }] })
  })
  it("may hold documents of 32 levels, not deeper ones", () => {
    const levels = (count: number): Json => {
      let deep: Json = "bottom"
      for (let level = 0; level < count; level++) deep = level % 2 === 0 ? [deep] : { deep }
      return deep
    }
    expect(value(json({ form: "any" }), levels(32))).toEqual(levels(32))
    expect([33, 20_000].map((count) => value(json({ form: "any" }), levels(count)))).toEqual([refused, refused])
  })
})
