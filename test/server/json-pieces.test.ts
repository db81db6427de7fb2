/** A long body parsed in pieces gives the same data or error as one parsed at once. */
import { expect, it } from "vitest"
import { wire_body_depth_max } from "../../core/kernel/fields/input.ts"
import type { Json } from "../../core/kernel/fields/field.ts"
import { parseInPieces, parsePlain } from "../../server/http/body.ts"

const long = "x".repeat(150_000),
  spaces = " ".repeat(150_000)
const rows = (count: number): ReadonlyArray<Json> =>
  Array.from({ length: count }, (_, at) => ({
    id: at,
    name: `Lamp "${at}" [\\{`,
    tags: [at, null, true, { a: [] }],
    note: at % 7 === 0 ? "€\u2028\\" : ""
  }))
const many = JSON.stringify(rows(5_000))

it.each<[string, string]>([
  ["a list of objects", many],
  [
    "an object that holds lists",
    JSON.stringify({ replica_id: 1, commands: rows(4_000), more: { inner: { rows: rows(3_000), last: 1 } }, end: null })
  ],
  ["white space everywhere", JSON.stringify({ a: rows(3_000), b: [[rows(2_000)], 1] }, null, 2)],
  ["one long text", JSON.stringify(long)],
  ["a long text in a list", JSON.stringify([1, long, 2])],
  ["a long text in an object", JSON.stringify({ a: 1, b: long, c: { d: long } })],
  ["a long name", JSON.stringify({ [long]: [1], [`${long}2`]: rows(3_000) })],
  ["an empty list in white space", `[${spaces}]`],
  ["an empty object in white space", `{${spaces}}`],
  ["a value in white space", `${spaces}[1]${spaces}`],
  ["names given twice", `{"a":${many},"b":1,"a":${JSON.stringify(rows(2))}}`],
  [
    "an object with the key __proto__",
    `{"__proto__":${many},"constructor":${many},"\\u005f_proto__":{"x":1},"toString":1}`
  ],
  ["white space around names", `{ "a" \n:\t ${many} , "b":${spaces}1 }`]
])("a long JSON body is parsed as by JSON.parse: %s", async (_, text) => {
  expect(text.length).toBeGreaterThan(140_000)
  const got = await parseInPieces(text, wire_body_depth_max)
  expect(JSON.stringify(got)).toBe(JSON.stringify(parsePlain(text)))
})

it.each<[string, string]>([
  ["a comma too many at the end of a list", `[${many},]`],
  ["a comma at the start of a list", `[,${many}]`],
  ["two commas in a row", `[${many},,1]`],
  ["a comma in white space", `[1,${spaces},2]`],
  ["a comma at the end of an object", `{"a":${many},}`],
  ["cut off", many.slice(0, -1)],
  ["cut off in a text", many.slice(0, -20)],
  ["an unclosed text before the last bracket", `${many.slice(0, -1)},"lamp]`],
  ["text after the value", `${many} 1`],
  ["a bracket after the value", `${many}]`],
  ["a list closed by a brace", `${many.slice(0, -1)}}`],
  ["a list in it closed by the other bracket", `[${many.slice(0, -1)}},1]`],
  ["no name", `{${many}}`],
  ["an unquoted name", `{a:${many}}`],
  ["no colon", `{"a" ${many}}`],
  ["no value", `{"a":${spaces}}`],
  ["no comma", `[${many} ${many}]`],
  ["a bracket before the value", `]${many}`],
  ["no value before a comma", `{"a":${spaces},"b":${many}}`],
  ["single quotes", `['${long}']`],
  ["an unknown word", `{"a":nonsense${long}}`]
])("a long JSON body is refused as by JSON.parse: %s", async (_, text) => {
  expect(() => {
    JSON.parse(text)
  }).toThrow(SyntaxError)
  await expect(parseInPieces(text, wire_body_depth_max)).rejects.toThrow(SyntaxError)
})

it("a JSON body nested too deeply in a list or in an object is refused", async () => {
  const deep = "[".repeat(3_000) + "]".repeat(3_000)
  for (const text of [`[${many},${deep}]`, `{"a":{"b":${many},"c":${deep}}}`])
    await expect(parseInPieces(text, wire_body_depth_max)).rejects.toThrow(`deeper than ${wire_body_depth_max} levels`)
  const within = (levels: number) => `[${many},${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}]`
  await expect(parseInPieces(within(wire_body_depth_max), wire_body_depth_max)).resolves.toBeDefined()
  await expect(parseInPieces(within(wire_body_depth_max + 1), wire_body_depth_max)).rejects.toThrow("deeper")
})

it("a long JSON body is parsed in pieces, between which other work runs", async () => {
  let turns = 0
  let over = false
  const count = (): void => {
    turns++
    if (!over) setImmediate(count)
  }
  setImmediate(count)
  await parseInPieces(JSON.stringify({ commands: [rows(10_000), rows(10_000)] }), wire_body_depth_max)
  over = true
  expect(turns).toBeGreaterThan(5)
})
