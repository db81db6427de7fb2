/** Stored data is used without decoding only if decoding would return an equal value. */
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import { decodeData, eventType, isExactly } from "../../../core/kernel/events/event-type.ts"
import type { JsonObject } from "../../../core/kernel/fields/field.ts"
import {
  jsonObject,
  keyedColumns,
  newRow,
  someColumns,
  storedJson,
  storedValue,
  wholeRow
} from "../../../core/kernel/tables/field-schema.ts"
import { lamps } from "./lamp-shop.ts"

interface Tree {
  readonly value: number
  readonly inside: ReadonlyArray<Tree>
}
const tree: Schema.Codec<Tree> = Schema.Struct({
  value: Schema.Int,
  inside: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => tree))
})
const struct = Schema.Struct({ id: Schema.Int, name: Schema.optionalKey(Schema.NullOr(Schema.String)) })
const schemas: { readonly [name: string]: Schema.Codec<unknown, unknown> } = {
  text: Schema.String,
  integer: Schema.Int,
  boolean: Schema.Boolean,
  null: Schema.Null,
  literals: Schema.Literals(["on", 2]),
  "text or null": Schema.NullOr(Schema.String),
  list: Schema.Array(Schema.Int),
  tuple: Schema.Tuple([Schema.Int, Schema.String]),
  map: Schema.Record(Schema.String, Schema.Int),
  struct,
  "struct in a struct": Schema.Struct({ inner: struct, json: Schema.optionalKey(storedJson) }),
  "any JSON": storedJson,
  "any object": jsonObject,
  tree,
  transformed: Schema.NumberFromString,
  "checked text": Schema.String.check(Schema.isMinLength(2)),
  "some columns": someColumns(lamps),
  "columns and key": keyedColumns(lamps),
  row: newRow(lamps),
  "whole row": wholeRow(lamps, "name"),
  column: storedValue(lamps.columns.name)
}
const values: ReadonlyArray<unknown> = [
  ...["", "a", "on", "7", 0, 2, -1, 1.5, 2 ** 60, Number.NaN, true, false, null, undefined],
  ...[[], [1], [1, "a"], ["a"], [null], {}, { id: 1 }, { id: 1, name: null }, { id: 1, name: 2 }, { id: 1, more: 1 }],
  ...[
    { name: "a" },
    { a: 1, b: 2 },
    { a: "1" },
    { id: 1, name: undefined },
    { inner: { id: 1 }, json: [1, { a: null }] }
  ],
  { inner: { id: 1, more: 2 } },
  JSON.parse('{"id":1,"__proto__":{"name":"a"}}') as unknown,
  { value: 1, inside: [{ value: 2, inside: [] }] },
  { value: 1, inside: [{ value: 2, inside: [], more: 1 }] },
  { value: 1, inside: [{ value: "2", inside: [] }] }
]

describe("the check for data that matches its Schema exactly", () => {
  const exact = Object.entries(schemas).flatMap(([name, schema]) =>
    values.filter(isExactly(schema)).map((value) => [name, schema, value] as const)
  )
  it.each(exact)("accepts only data that decodes to itself, as %s", (_name, schema, value) =>
    expect(Schema.decodeUnknownSync(schema)(value)).toEqual(value)
  )
  it.each([
    ["text", "a"],
    ["integer", 2],
    ["literals", "on"],
    ["text or null", null],
    ["list", [1]],
    ["map", { a: 1, b: 2 }],
    ["struct", { id: 1 }],
    ["struct", { id: 1, name: null }],
    ["any JSON", [1, "a"]],
    ["any object", { a: "1" }],
    ["tree", { value: 1, inside: [{ value: 2, inside: [] }] }],
    ["checked text", "on"],
    ["columns and key", { id: 1, name: "a" }],
    ["row", { id: 1, name: "a" }]
  ])("accepts %s %j", (name, value) => expect(isExactly(schemas[name]!)(value)).toBe(true))
  it.each([
    ["integer", 1.5],
    ["integer", 2 ** 60],
    ["integer", Number.NaN],
    ["struct", { id: 1, more: 1 }],
    ["struct", { name: "a" }],
    ["struct", { id: 1, name: undefined }],
    ["struct", []],
    ["list", { 0: 1 }],
    ["any JSON", undefined],
    ["checked text", "a"],
    // These must be decoded.
    ["tuple", [1, "a"]],
    ["transformed", "7"]
  ])("does not accept %s %j", (name, value) => expect(isExactly(schemas[name]!)(value)).toBe(false))
})

describe("data of stored events", () => {
  const lit = eventType("lamp.lit", {
    meaning: "A lamp was lit.",
    project: "changes_no_table",
    data: () => Schema.Struct({ id: Schema.Int, watts: Schema.Int }),
    upcast: ({ kilowatts, ...data }) => (typeof kilowatts === "number" ? { ...data, watts: kilowatts * 1_000 } : data)
  })
  const plain = eventType("lamp.out", {
    meaning: "A lamp went out.",
    project: "changes_no_table",
    data: () => Schema.Struct({ id: Schema.Int })
  })
  it("is not copied if it has the present form", () => {
    const data = { id: 7 }
    expect(decodeData(plain, data)).toBe(data)
  })
  it("is upcast and decoded, or rejected if the upcast data does not match its Schema", () => {
    expect(decodeData(lit, { id: 7, kilowatts: 2, colour: "red" })).toEqual({ id: 7, watts: 2_000 })
    expect(() => decodeData(lit, { id: 7, kilowatts: "2" })).toThrow(/stored lamp\.lit.*watts/s)
  })
  it("equals the decoder's result in a journal of release 0.1, and needs no decoding in four of five events", () => {
    const packed = readFileSync(new URL("../../fixtures/journals/0.1/journal.ndjson.gz", import.meta.url))
    const events = gunzipSync(packed)
      .toString()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as { readonly type: string; readonly data: JsonObject })
    let exact = 0
    for (const { data, type } of events) {
      const kind = catalogue.events.get(type)
      if (kind === undefined) continue
      const present = kind.upcast === undefined ? data : kind.upcast(data)
      const read = decodeData(kind, data)
      expect(read).toEqual(Schema.decodeUnknownSync(kind.schema())(present))
      if (read === data) exact++
    }
    expect(exact).toBeGreaterThan(events.length * 0.8)
  })
})

describe("an event type", () => {
  it("records in the given stream, and fails if neither a stream nor an id is given", () => {
    const moved = eventType("lamp.moved", {
      meaning: "A lamp was moved.",
      project: "changes_no_table",
      data: () => Schema.Struct({ lamp_id: Schema.Int })
    })
    expect(moved.make({ lamp_id: 7 }, "rack:1").stream).toBe("rack:1")
    expect(() => moved.make({ lamp_id: 7 })).toThrow("lamp.moved names no stream")
  })

  it("keeps unknown choices of a later release", () => {
    const kind = catalogue.events.get("product.updated")
    const data = { id: 1, product_type: "of a later release" }
    expect(kind === undefined ? undefined : decodeData(kind, data)).toEqual(data)
    expect(() => kind !== undefined && decodeData(kind, { id: 1, product_type: 7 })).toThrow("product_type")
  })
})
