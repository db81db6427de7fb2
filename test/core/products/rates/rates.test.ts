/** The golden cases of rate definitions, the calculator and the engine's metadata, through their endpoints. */
import { beforeAll, describe, expect, it } from "vitest"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { engines, type Reply, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { golden } from "../../pricing/pricing/golden-file.ts"

type Expected = {
  readonly status: number
  readonly error_keys?: ReadonlyArray<string>
  readonly [field: string]: unknown
}

/** The response, limited to the fields that the case expects. */
const asExpected = (reply: Reply, expected: Expected, found: JsonObject) => ({
  ...Object.fromEntries(Object.keys(expected).map((field) => [field, found[field]])),
  status: reply.status,
  ...(expected.error_keys === undefined ? {} : { error_keys: Object.keys(reply.body.errors) })
})

describe.each(engines)("rates on %s", (engine) => {
  const w = appHouse(engine)
  let product: number
  beforeAll(async () => {
    product = (await w.create("/products", { name: "Speaker" })).id
  })
  const define = (body: object) => w.post("/rate_definitions", { name: "Golden", ...body })

  describe("a rate definition", () => {
    interface Input extends JsonObject {
      readonly existing?: JsonObject & { readonly is_preset?: boolean; readonly in_use?: boolean }
      readonly update?: JsonObject
      readonly action?: "delete" | "duplicate"
    }
    const run = async ({ action, existing, update, ...submitted }: Input): Promise<Reply> => {
      if (existing === undefined) return define(submitted)
      const id =
        existing.is_preset === true
          ? 2
          : (await define({ calculation_strategy: "fixed", ...existing })).body.rate_definition.id
      if (existing.in_use === true) {
        const rate = { rate_definition_id: id, transaction_type: "rental", price: 1, currency: "GBP" }
        await w.post(`/products/${product}/rates`, rate)
      }
      const path = `/rate_definitions/${id}`
      return action === "delete"
        ? w.remove(path)
        : action === "duplicate"
          ? w.post(`${path}/duplicate`)
          : w.put(path, update)
    }
    it.each(golden<Input, Expected>("definition_config"))(
      "matches the golden case: %s",
      async (_, { expected, input }) => {
        const reply = await run(input)
        expect(asExpected(reply, expected, reply.body?.rate_definition ?? {})).toEqual(expected)
      }
    )
  })

  describe("calculate_rate", () => {
    interface Rate {
      readonly id: number
      readonly rate_definition_id: number
      readonly method: JsonObject
      readonly [column: string]: unknown
    }
    interface Input {
      readonly product_rates?: ReadonlyArray<Rate>
      readonly request: JsonObject
    }
    it.each(golden<Input, Expected>("calculate_endpoint"))(
      "matches the golden case: %s",
      async (_, { expected, input }) => {
        // No endpoint case has rates; their ids would have to be mapped to those created here.
        expect(input.product_rates ?? []).toEqual([])
        const { body } = await w.post("/products", { name: "Unpriced" })
        const reply = await w.post(`/products/${body.product.id}/calculate_rate`, input.request)
        expect(asExpected(reply, expected, reply.body)).toEqual(expected)
      }
    )
  })

  it.each(golden<object, { presets: ReadonlyArray<object> }>("presets"))(
    "have the golden presets: %s",
    async (_, { expected }) => {
      const { body } = await w.get("/rate_engine/presets")
      expect(
        body.presets.map(({ description, ...preset }: { description: string }) => {
          expect(description).not.toBe("")
          return preset
        })
      ).toEqual(expected.presets)
    }
  )

  describe("the schema's sections", () => {
    type Input = { readonly strategy?: string; readonly modifiers?: ReadonlyArray<string> }
    it.each(golden<Input, Expected>("schema_sections"))("match the golden case: %s", async (_, { expected, input }) => {
      const query = new URLSearchParams(input.strategy === undefined ? {} : { strategy: input.strategy })
      for (const name of input.modifiers ?? []) query.append("modifiers[]", name)
      const reply = await w.get(`/rate_engine/schema?${query}`)
      const sections: ReadonlyArray<{ key: string; fields: ReadonlyArray<{ key: string }> }> = reply.body.sections ?? []
      const found = {
        section_keys: sections.map(({ key }) => key),
        ...(sections[0]?.key === "options" ? { option_keys: sections[0].fields.map(({ key }) => key) } : {})
      }
      expect(asExpected(reply, expected, found)).toEqual(Object.assign({ status: 200 }, expected))
    })
  })

  it("have three strategies and two modifiers, listed with the periods and modifiers they support", async () => {
    expect((await w.get("/rate_engine/strategies")).body.strategies).toEqual([
      {
        identifier: "period",
        label: "Period-based",
        allowed_base_periods: ["half_hourly", "hourly", "daily", "weekly", "monthly"],
        supports_multiplier: true,
        supports_factor: true
      },
      {
        identifier: "fixed",
        label: "Fixed",
        allowed_base_periods: [],
        supports_multiplier: false,
        supports_factor: true
      },
      {
        identifier: "hybrid",
        label: "Hybrid",
        allowed_base_periods: ["daily", "weekly", "monthly"],
        supports_multiplier: false,
        supports_factor: false
      }
    ])
    expect((await w.get("/rate_engine/modifiers")).body.modifiers).toEqual([
      { identifier: "multiplier", label: "Multiplier", priority: 100 },
      { identifier: "factor", label: "Factor", priority: 200 }
    ])
    expect((await w.get("/rate_engine/schema?strategy=period&modifiers=factor")).body.sections).toHaveLength(2)
    expect(
      Object.keys((await w.get("/rate_engine/schema?strategy=period&modifiers[]=factor&modifiers[]=x")).body.errors)
    ).toEqual(["modifiers.1"])
    expect((await w.get("/rate_engine/presets", viewerWith(["rates.view"], ["products:read"]))).status).toBe(403)
  })

  describe("rate definitions", () => {
    const daily = { calculation_strategy: "period", base_period: "daily" }
    it("begin with the eleven presets", async () => {
      const { body } = await w.get("/rate_definitions?q[is_preset_true]=1&per_page=100")
      expect(body.meta.total).toBe(11)
      expect(body.rate_definitions[1]).toMatchObject({
        name: "Daily Rate",
        calculation_strategy: "period",
        calculation_strategy_name: "Period-based",
        base_period: "daily",
        base_period_name: "Daily",
        enabled_modifiers: [],
        strategy_config: {},
        modifier_configs: {},
        is_preset: true,
        preset_slug: "daily-rate",
        cloned_from_id: null,
        cloned_from: null,
        product_rates: null
      })
    })
    it("can be edited and copied if they are presets, and deleted if they are copies", async () => {
      const edited = await w.put("/rate_definitions/2", {
        strategy_config: { leeway_minutes: "60" },
        enabled_modifiers: ["multiplier", "factor"],
        is_preset: false,
        preset_slug: "mine"
      })
      expect(edited.body.rate_definition).toMatchObject({
        is_preset: true,
        preset_slug: "daily-rate",
        strategy_config: { leeway_minutes: 60 }
      })
      const copy = await w.create("/rate_definitions/2/duplicate")
      expect(copy).toMatchObject({
        name: "Daily Rate (Copy)",
        is_preset: false,
        preset_slug: null,
        cloned_from_id: 2,
        strategy_config: { leeway_minutes: 60 },
        enabled_modifiers: ["multiplier", "factor"]
      })
      const again = await w.create(`/rate_definitions/${copy.id}/duplicate?include=clonedFrom,product_rates`)
      expect(again).toMatchObject({
        name: "Daily Rate (Copy) (Copy)",
        cloned_from: { id: copy.id, name: "Daily Rate (Copy)" },
        product_rates: []
      })
      expect((await w.remove(`/rate_definitions/${copy.id}`)).status).toBe(204)
      expect((await w.show(`/rate_definitions/${again.id}`)).cloned_from_id).toBeNull()
      expect((await w.post(`/rate_definitions/${copy.id}/duplicate`)).status).toBe(404)
    })
    it("are no presets when new, even if sent as one", async () => {
      const sent = { is_preset: true, preset_slug: "daily-rate", cloned_from_id: 1 }
      const own = { is_preset: false, preset_slug: null, cloned_from_id: null }
      expect(
        (await define({ calculation_strategy: "period", base_period: "half_hourly", ...sent })).body.rate_definition
      ).toMatchObject({ ...own, base_period_name: "Half-Hourly", calculation_strategy_name: "Period-based" })
      expect((await define({ calculation_strategy: "fixed" })).body.rate_definition).toMatchObject({
        ...own,
        base_period: null,
        calculation_strategy_name: "Fixed"
      })
    })
    it("clear the description on empty text, keep it on null, and replace configs completely", async () => {
      const strategy_config = { leeway_minutes: 5, day_type: "clock" }
      const { id } = (await define({ ...daily, description: "d", strategy_config })).body.rate_definition
      const kept = await w.patch(`/rate_definitions/${id}`, {
        description: null,
        name: null,
        base_period: null,
        strategy_config: { leeway_minutes: 9 }
      })
      expect(kept.body.rate_definition).toMatchObject({
        name: "Golden",
        description: "d",
        base_period: "daily",
        strategy_config: { leeway_minutes: 9 }
      })
      expect(kept.body.rate_definition.strategy_config).toEqual({ leeway_minutes: 9 })
      expect((await w.update(`/rate_definitions/${id}`, { description: "" })).description).toBeNull()
    })
    it.each([
      [{}, ["name", "calculation_strategy"]],
      [{ name: null, calculation_strategy: null }, ["name", "calculation_strategy"]],
      [{ name: "x".repeat(256), calculation_strategy: "weekly" }, ["name", "calculation_strategy"]]
    ])("are rejected: %j", async (body, errors) => {
      await refused(w.post("/rate_definitions", body), ...errors)
    })
    it("read an empty list as an empty object", async () => {
      const made = await define({ ...daily, strategy_config: [], modifier_configs: [] })
      expect(made.body.rate_definition).toMatchObject({ strategy_config: {}, modifier_configs: {} })
    })
    it("are filtered by older field names as well, in upper or lower case", async () => {
      const found = async (query: string) =>
        (await w.get(`/rate_definitions?${query}&q[is_preset_true]=1&per_page=100`)).body.meta.total
      expect([
        await found("q[strategy_eq]=HYBRID"),
        await found("q[preset_eq]=0"),
        await found("q[preset_eq]=fixed-rate-subs-days"),
        await found("q[base_period_in]=weekly,Monthly"),
        await found("q[preset_slug_eq]=fixed-rate"),
        await found("q[name_cont]=multiplier")
      ]).toEqual([1, 0, 1, 3, 1, 3])
      const sorted = await w.get("/rate_definitions?sort=-name&q[is_preset_true]=1&per_page=1")
      expect(sorted.body.rate_definitions[0].name).toBe("Weekly Rate")
    })
    it("can be read, but not added, copied or deleted, with rates.view", async () => {
      const viewer = viewerWith(["rates.view"], ["rates:read", "rates:write"])
      expect((await w.get("/rate_definitions/1", viewer)).status).toBe(200)
      expect((await w.post("/rate_definitions", { name: "x" }, viewer)).status).toBe(403)
      expect((await w.post("/rate_definitions/1/duplicate", {}, viewer)).status).toBe(403)
      expect((await w.remove("/rate_definitions/1", viewer)).status).toBe(403)
      expect((await w.get("/rate_definitions/9999", viewerWith([], []))).status).toBe(404)
    })
  })

  itFoldsAgain(w)
})
