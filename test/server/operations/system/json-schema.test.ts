import { describe, expect, it } from "vitest"
import { Schema } from "effect"
import { choice, code, integer, list, text, timestamp } from "../../../../core/kernel/fields/field.ts"
import * as Shown from "../../../../core/kernel/lists/answer-schema.ts"
import { jsonSchemas } from "../../../../server/http/json-schema.ts"

const schemaOf = (part: Shown.Part): unknown => jsonSchemas().of(part)

describe("JSON Schema of responses", () => {
  it("describes each key's type, and whether it is always present", () => {
    const answer = Shown.keys({
      id: integer(),
      name: text({ nullable: true }),
      at: timestamp(),
      kind: choice({ a: "First", b: "Second" }),
      tags: Shown.optional(list(text()))
    })
    expect(schemaOf(answer)).toEqual({
      type: "object",
      properties: {
        id: { type: "integer" },
        name: { type: ["string", "null"] },
        at: { type: "string", format: "date-time" },
        kind: { type: "string", enum: ["a", "b"], description: "a: First, b: Second" },
        tags: { type: "array", items: { type: "string" } }
      },
      required: ["id", "name", "at", "kind"]
    })
  })

  it("describes a nullable choice of integers as an enum with null", () => {
    expect(schemaOf(Shown.keys({ state: code({ 0: "Open", 20: "Done" }, { nullable: true }) }))).toMatchObject({
      properties: { state: { type: ["integer", "null"], enum: [0, 20, null] } }
    })
  })

  it("puts named schemas among the components once, even recursive ones", () => {
    const tree: Shown.Part = Shown.named("Tree", () => Shown.keys({ id: integer(), children: Shown.list(tree) }))
    const schemas = jsonSchemas()
    expect(schemas.of(tree)).toEqual({ $ref: "#/components/schemas/Tree" })
    expect(schemas.of(Shown.list(tree))).toEqual({ type: "array", items: { $ref: "#/components/schemas/Tree" } })
    expect(schemas.components).toEqual({
      Tree: {
        type: "object",
        properties: {
          id: { type: "integer" },
          children: { type: "array", items: { $ref: "#/components/schemas/Tree" } }
        },
        required: ["id", "children"]
      }
    })
  })

  it("refuses two schemas of one name, and types it cannot describe", () => {
    const schemas = jsonSchemas()
    schemas.of(Shown.named("Same", () => Shown.keys({ id: integer() })))
    expect(() => schemas.of(Shown.named("Same", () => Shown.keys({ name: text() })))).toThrow(/described as Same/)
    expect(() => jsonSchemas().of(Schema.Date)).toThrow(/declared as Declaration/)
  })
})
