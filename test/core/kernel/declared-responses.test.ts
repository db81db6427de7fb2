/** Responses declared as Schemas: enforced at run time, and typed at compile time. */
import { Effect, Result, Schema } from "effect"
import { describe, expect, expectTypeOf, it } from "vitest"
import { type Answer, postQuery, command, get } from "../../../core/kernel/endpoints/endpoint.ts"
import {
  boolean,
  choice,
  code,
  decimal,
  integer,
  type Json,
  json,
  type JsonObject,
  list,
  money,
  object,
  text,
  timestamp
} from "../../../core/kernel/fields/field.ts"
import { created, ok, withMore } from "../../../core/kernel/endpoints/resource.ts"
import * as Shown from "../../../core/kernel/lists/answer-schema.ts"
import { decodingProblem } from "../../api/description.ts"

const draft = { name: "lamps.count", summary: "Counts lamps", ability: null, permission: null } as const
const counted = { lamps: integer(), last: timestamp({ nullable: true }), told: Shown.optional(text()) }

describe("declared responses", () => {
  const fields = {
    name: text(),
    count: integer(),
    price: money(),
    cost: money({ nullable: true }),
    weight: decimal({ scale: 2 }),
    is_lit: boolean(),
    kind: choice({ pool: "Pool", fixed: "Fixed" }),
    method: code({ 1: "Bulk" }),
    names: list(text()),
    prices: list(money()),
    at: object({ shelf: integer(), value: money() }),
    custom: json<JsonObject>()
  }
  const shown = Shown.keys(fields)
  const good = {
    name: "Lamp",
    count: 2,
    price: "12.50",
    cost: null,
    weight: "1.25",
    is_lit: true,
    kind: "pool",
    method: 1,
    names: ["a"],
    prices: ["1.00"],
    at: { shelf: 1, value: "2.00" },
    custom: { any: [1, { thing: null }] }
  } as const
  it("have static types: text for money, the declared type for other fields", () => {
    expectTypeOf<(typeof shown.Type)["price"]>().toEqualTypeOf<string>()
    expectTypeOf<(typeof shown.Type)["cost"]>().toEqualTypeOf<string | null>()
    expectTypeOf<(typeof shown.Type)["kind"]>().toEqualTypeOf<"pool" | "fixed">()
    expectTypeOf<(typeof shown.Type)["prices"]>().toEqualTypeOf<ReadonlyArray<string>>()
    expectTypeOf<(typeof shown.Type)["at"]["value"]>().toEqualTypeOf<string>()
    expectTypeOf<Shown.KeysShown<typeof counted>["told"]>().toEqualTypeOf<string | undefined>()
    expect(decodingProblem(shown, good)).toBeUndefined()
  })
  it.each<readonly [what: string, wrong: { readonly [key: string]: unknown }]>([
    ["an undeclared key", { surprise: 1 }],
    ["a fraction for a whole number", { count: 1.5 }],
    ["money as a number", { price: 12.5 }],
    ["null for a field that is not nullable", { name: null }],
    ["an unknown choice", { kind: "other" }],
    ["an unknown code", { method: 2 }],
    ["too many decimals", { weight: "1.255" }],
    ["an undeclared nested key", { at: { shelf: 1, value: "2.00", more: 1 } }],
    ["NaN in a free document", { custom: { any: Number.NaN } }]
  ])("reject a response with %s", (_what, wrong) => {
    expect(decodingProblem(shown, { ...good, ...wrong })).toBeTypeOf("string")
  })
  it("reject a response without a required key, and accept one without an optional key", () => {
    const { name: _name, ...nameless } = good
    expect(decodingProblem(shown, nameless)).toContain("name")
    expect(decodingProblem(Shown.keys(counted), { lamps: 1, last: null })).toBeUndefined()
  })
  it("build their schemas on first use", () => {
    let made = 0
    const lazy = Shown.named("Lazy", () => {
      made++
      return Shown.keys({ id: integer() })
    })
    Shown.keys({ lazy, all: Shown.list(lazy), by_name: Shown.map(lazy) })
    expect(made).toBe(0)
    expect(decodingProblem(lazy, { id: 1 })).toBeUndefined()
    expect(made).toBe(1)
  })
})

describe("responses of an endpoint", () => {
  it("are type-checked against the declared response", () => {
    const endpoint = get("/api/v1/lamps/count", {
      ...draft,
      answer: counted,
      run: () => Effect.succeed(ok({ lamps: 1, last: null }))
    })
    expectTypeOf<Effect.Success<ReturnType<typeof endpoint.run>>>().toEqualTypeOf<
      Answer<Shown.KeysShown<typeof counted>>
    >()
    expect(Schema.isSchema(endpoint.answer)).toBe(true)
    // @ts-expect-error a key is missing
    get("/api/v1/lamps/count", { ...draft, answer: counted, run: () => Effect.succeed(ok({ lamps: 1 })) })
    // @ts-expect-error a text where a number is declared
    get("/api/v1/lamps/count", { ...draft, answer: counted, run: () => Effect.succeed(ok({ lamps: "1", last: null })) })
    // @ts-expect-error a body where none is declared
    postQuery("/api/v1/lamps/count", { ...draft, run: () => Effect.succeed(ok({ lamps: 1 })) })
    // Rejections with a body of their own are declared in `error_answers`.
    postQuery("/api/v1/lamps/count", {
      ...draft,
      answer: counted,
      error_answers: { 409: { held_by: text() } },
      run: () => Effect.succeed({ status: 409, body: { held_by: "Ann" } })
    })
  })
  it("are built from a result that is checked against its Schema at compile time and when decoded", () => {
    const result = Shown.keys({ ids: list(integer()) })
    const base = { ...draft, answer: { lamps: integer() }, facts: () => Effect.void } as const
    const endpoint = command("POST", "/api/v1/lamps/many", {
      ...base,
      result,
      decide: () => Result.succeed({ events: [], result: { ids: [1, 2] } }),
      respond: ({ ids }) => Effect.succeed(created({ lamps: ids.length }))
    })
    expect(decodingProblem(endpoint.result, { ids: [1] })).toBeUndefined()
    expect(decodingProblem(endpoint.result, { ids: ["1"] })).toBeTypeOf("string")
    command("POST", "/api/v1/lamps/many", {
      ...base,
      result,
      // @ts-expect-error another result than declared
      decide: () => Result.succeed({ events: [], result: { id: 1 } }),
      // @ts-expect-error a key its result does not have
      respond: ({ id }) => Effect.succeed(created({ lamps: id }))
    })
    const usual = command("POST", "/api/v1/lamps/many", {
      ...base,
      decide: () => Result.succeed({ events: [], result: { id: 1 } }),
      respond: ({ id }) => Effect.succeed(ok({ lamps: id }))
    })
    // Stored data of an earlier release with additional keys is still read.
    expect(Schema.decodeUnknownSync(usual.result)({ id: 7, meta: null })).toEqual({ id: 7 })
  })
  it("keep their type when fields are added", () => {
    const more = withMore(ok({ lamps: 1 }), { told: "one" })
    expectTypeOf(more.body!.told).toEqualTypeOf<"one">()
    expect(more).toEqual({ status: 200, body: { lamps: 1, told: "one" } })
    const anything: Json = more.body!
    expect(anything).toEqual({ lamps: 1, told: "one" })
  })
})
