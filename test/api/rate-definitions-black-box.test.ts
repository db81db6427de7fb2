/** What a rate definition keeps, drops and refuses: every expectation from rules/rates 2, 3, 6 and 10. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { fields, type PriceList, priceList } from "./price-list.ts"

let list: PriceList
beforeAll(async () => {
  list = await priceList()
})
afterAll(() => list.close())

const body = (more: object): object => ({
  name: "A rate",
  calculation_strategy: "period",
  base_period: "daily",
  ...more
})
const factor = (row: object): object => ({
  enabled_modifiers: ["factor"],
  modifier_configs: { factor: { ranges: [row] } }
})
const tier = (row: object): object => ({
  enabled_modifiers: ["multiplier"],
  modifier_configs: { multiplier: { tiers: [{ multiplier: "1" }, row] } }
})

describe("A definition refuses (rules/rates 2)", () => {
  it.each<readonly [string, object, ReadonlyArray<string>]>([
    ["nothing at all", { name: null, calculation_strategy: null }, ["calculation_strategy", "name"]],
    ["a long name", { name: "x".repeat(256) }, ["name"]],
    ["a strategy nobody knows", { calculation_strategy: "usage" }, ["calculation_strategy"]],
    ["a period nobody knows", { base_period: "yearly" }, ["base_period"]],
    ["a hybrid of half hours", { calculation_strategy: "hybrid", base_period: "half_hourly" }, ["base_period"]],
    ["a hybrid without period", { calculation_strategy: "hybrid", base_period: null }, ["base_period"]],
    [
      "a hybrid's multiplier",
      { calculation_strategy: "hybrid", enabled_modifiers: ["multiplier"] },
      ["enabled_modifiers"]
    ],
    ["eight days a week", { strategy_config: { rental_days_per_week: 8 } }, ["strategy_config.rental_days_per_week"]],
    ["half a minute of leeway", { strategy_config: { leeway_minutes: 0.5 } }, ["strategy_config.leeway_minutes"]],
    ["an hour of one digit", { strategy_config: { first_day_cutoff: "9:00" } }, ["strategy_config.first_day_cutoff"]],
    [
      "a time with seconds",
      { strategy_config: { first_day_cutoff: "09:00:00" } },
      ["strategy_config.first_day_cutoff"]
    ],
    ["a minute of sixty", { strategy_config: { last_day_cutoff: "09:60" } }, ["strategy_config.last_day_cutoff"]],
    ["a day type nobody knows", { strategy_config: { day_type: "calendar" } }, ["strategy_config.day_type"]],
    [
      "business hours without closing",
      { strategy_config: { day_type: "business", business_hours_start: "09:00" } },
      ["strategy_config.business_hours_end"]
    ],
    [
      "business hours of null",
      { strategy_config: { day_type: "business", business_hours_start: null, business_hours_end: "17:00" } },
      ["strategy_config.business_hours_start"]
    ],
    [
      "a negative charge",
      { calculation_strategy: "hybrid", strategy_config: { fixed_charge: -1 } },
      ["strategy_config.fixed_charge"]
    ],
    [
      "half a penny of charge",
      { calculation_strategy: "hybrid", strategy_config: { fixed_charge: 1.5 } },
      ["strategy_config.fixed_charge"]
    ],
    [
      "a negative block",
      { calculation_strategy: "hybrid", strategy_config: { fixed_period_units: -1 } },
      ["strategy_config.fixed_period_units"]
    ],
    [
      "two faults at once",
      { strategy_config: { leeway_minutes: -1, rental_days_per_week: 0 } },
      ["strategy_config.leeway_minutes", "strategy_config.rental_days_per_week"]
    ],
    ["a negative multiplier", tier({ multiplier: "-0.5" }), ["modifier_configs.multiplier.tiers.1.multiplier"]],
    ["a multiplier with an exponent", tier({ multiplier: "1e1" }), ["modifier_configs.multiplier.tiers.1.multiplier"]],
    ["a blank multiplier", tier({ multiplier: "" }), ["modifier_configs.multiplier.tiers.1.multiplier"]],
    ["a multiplier of null", tier({ multiplier: null }), ["modifier_configs.multiplier.tiers.1.multiplier"]],
    ["a tier without multiplier", tier({}), ["modifier_configs.multiplier.tiers.1.multiplier"]],
    ["a negative factor", factor({ from: 1, factor: -0.1 }), ["modifier_configs.factor.ranges.0.factor"]],
    ["a blank factor", factor({ from: 1, factor: "" }), ["modifier_configs.factor.ranges.0.factor"]],
    [
      "a range that ends before it begins",
      factor({ from: 5, to: 4, factor: "1" }),
      ["modifier_configs.factor.ranges.0.to"]
    ],
    ["a range to nothing", factor({ from: 1, to: 0, factor: "1" }), ["modifier_configs.factor.ranges.0.to"]],
    ["a range from half", factor({ from: 1.5, factor: "1" }), ["modifier_configs.factor.ranges.0.from"]],
    ["a range without start", factor({ to: 4, factor: "1" }), ["modifier_configs.factor.ranges.0.from"]],
    [
      "no range at all",
      { enabled_modifiers: ["factor"], modifier_configs: { factor: { ranges: [] } } },
      ["modifier_configs.factor.ranges"]
    ],
    ["the period before the options", { base_period: null, strategy_config: { leeway_minutes: -1 } }, ["base_period"]]
  ])("%s", async (_, more, named) => {
    const got = await list.post("/rate_definitions", body(more))
    expect([got.status, fields(got)], got.text).toEqual([422, named])
  })
  it("a modifier nobody knows", async () => {
    const got = await list.post("/rate_definitions", body({ enabled_modifiers: ["discount"] }))
    expect(got.status).toBe(422)
    expect(fields(got)[0]).toMatch(/^enabled_modifiers/)
  })
})

describe("A definition keeps (rules/rates 2)", () => {
  it.each<readonly [string, object, object]>([
    [
      "a range of one quantity",
      factor({ from: 5, to: 5, factor: "1" }),
      { modifier_configs: { factor: { ranges: [{ from: 5, to: 5, factor: "1" }] } } }
    ],
    [
      "a zero multiplier",
      tier({ multiplier: 0 }),
      { modifier_configs: { multiplier: { tiers: [{ multiplier: "1" }, { multiplier: "0" }] } } }
    ],
    [
      "bad options nobody sees out of it",
      { strategy_config: { day_type: "clock", business_hours_start: "25:00", nonsense: [1] } },
      { strategy_config: { day_type: "clock" } }
    ],
    [
      "a disabled modifier's bad rows out of it",
      { enabled_modifiers: [], modifier_configs: { factor: { ranges: [] } } },
      { enabled_modifiers: [], modifier_configs: {} }
    ],
    [
      "modifiers as sent, twice and in any order",
      { enabled_modifiers: ["factor", "multiplier", "factor"] },
      { enabled_modifiers: ["factor", "multiplier", "factor"], modifier_configs: { factor: {}, multiplier: {} } }
    ],
    [
      "no fixed rate's period or options",
      { calculation_strategy: "fixed", strategy_config: { leeway_minutes: 5 } },
      { base_period: null, strategy_config: {}, calculation_strategy_name: "Fixed" }
    ],
    [
      "business hours that close before they open",
      { strategy_config: { day_type: "business", business_hours_start: "17:00", business_hours_end: "09:00" } },
      { strategy_config: { day_type: "business", business_hours_start: "17:00", business_hours_end: "09:00" } }
    ],
    ["no defaults", { strategy_config: {} }, { strategy_config: {}, modifier_configs: {}, enabled_modifiers: [] }],
    [
      "the labels",
      { base_period: "half_hourly" },
      {
        base_period_name: "Half-Hourly",
        calculation_strategy_name: "Period-based",
        is_preset: false,
        preset_slug: null,
        cloned_from_id: null
      }
    ],
    [
      "its own preset flags, whatever is sent",
      { is_preset: true, preset_slug: "daily-rate", cloned_from_id: 1 },
      { is_preset: false, preset_slug: null, cloned_from_id: null }
    ]
  ])("%s", async (_, more, kept) => {
    const got = await list.post("/rate_definitions", body(more))
    expect(got.status, got.text).toBe(201)
    expect(got.body.rate_definition).toMatchObject(kept)
    expect(got.body.rate_definition.strategy_config).toEqual((kept as any).strategy_config ?? {})
  })
})

describe("Changing, copying and deleting definitions (rules/rates 6.1)", () => {
  it("replaces the options as a whole, and strips again", async () => {
    const id = await list.definition({
      description: "Old",
      strategy_config: { leeway_minutes: 5, rental_days_per_week: 5 },
      ...factor({ from: 1, factor: "0.5" })
    })
    const path = `/rate_definitions/${id}`
    const change = async (sent: object): Promise<any> => (await list.put(path, sent)).body.rate_definition
    expect(await change({ strategy_config: { first_day_cutoff: "10:00" } })).toMatchObject({
      strategy_config: { first_day_cutoff: "10:00" },
      modifier_configs: { factor: { ranges: [{ from: 1, factor: "0.5" }] } }
    })
    expect((await change({ strategy_config: null, base_period: null, description: null })).description).toBe("Old")
    expect(await change({ enabled_modifiers: [] })).toMatchObject({
      enabled_modifiers: [],
      modifier_configs: {},
      base_period: "daily",
      strategy_config: { first_day_cutoff: "10:00" }
    })
    expect(["", null]).toContain((await change({ description: "" })).description)
    expect(await change({ calculation_strategy: "fixed" })).toMatchObject({ base_period: null, strategy_config: {} })
    const back = await list.put(path, { calculation_strategy: "period" })
    expect([back.status, fields(back)]).toEqual([422, ["base_period"]])
  })
  it("copies a preset into an own one, and keeps its name within bounds", async () => {
    const preset = (await list.get("/rate_definitions?q[preset_slug_eq]=daily-multiplier-factor")).body
      .rate_definitions[0]
    const copy = await list.post(`/rate_definitions/${preset.id}/duplicate`)
    expect(copy.status).toBe(201)
    expect(copy.body.rate_definition).toMatchObject({
      name: "Daily Multiplier and Factor (Copy)",
      is_preset: false,
      preset_slug: null,
      cloned_from_id: preset.id,
      enabled_modifiers: ["multiplier", "factor"]
    })
    const long = (await list.made(`/rate_definitions/${await list.definition({ name: "x".repeat(255) })}/duplicate`))
      .name as string
    expect([long.length, long.endsWith("x (Copy)")]).toEqual([255, true])
  })
  it("refuses to delete a preset or one in use, and lets the copy outlive its source", async () => {
    const source = await list.definition()
    const copy = (await list.made(`/rate_definitions/${source}/duplicate`)).id
    const used = await list.definition()
    await list.made(`/products/${await list.product()}/rates`, {
      rate_definition_id: used,
      transaction_type: "rental",
      price: 1,
      currency: "GBP"
    })
    const got = await list.remove(`/rate_definitions/${used}`)
    expect([got.status, fields(got)]).toEqual([422, ["rate_definition"]])
    expect((await list.remove(`/rate_definitions/${source}`)).status).toBe(204)
    expect((await list.get(`/rate_definitions/${copy}`)).body.rate_definition.cloned_from_id).toBe(null)
  })
  it("describes its form: options by strategy, then the modifiers in their order", async () => {
    const fixed = await list.get("/rate_engine/schema?strategy=fixed&modifiers[]=factor")
    expect(fixed.body.sections.map((one: any) => one.key)).toEqual(["factor"])
    expect(fixed.body.sections[0].fields[0]).toMatchObject({ key: "ranges", type: "repeater", min_items: 1 })
    const unknown = await list.get("/rate_engine/schema?strategy=period&modifiers[]=factor&modifiers[]=x")
    expect([unknown.status, fields(unknown)]).toEqual([422, ["modifiers.1"]])
    const plain = await list.get("/rate_engine/schema?strategy=fixed&modifiers=factor")
    expect([plain.status, plain.body]).toEqual([200, fixed.body])
    const period = (await list.get("/rate_engine/schema?strategy=period")).body.sections[0]
    expect(period).toMatchObject({ key: "options", label: "Options" })
    const days = period.fields.find((one: any) => one.key === "rental_days_per_week")
    expect(days).toEqual({
      key: "rental_days_per_week",
      type: "number",
      label: "Rental Days per Week",
      help: null,
      placeholder: null,
      default: 7,
      required: false,
      min: 1,
      max: 7,
      step: null
    })
    const hours = period.fields.find((one: any) => one.key === "business_hours")
    expect(hours).toMatchObject({
      type: "group",
      default: null,
      visible_when: [{ field: "day_type", value: "business" }]
    })
    expect(hours.fields.map((one: any) => [one.key, one.default])).toEqual([
      ["business_hours_start", "09:00"],
      ["business_hours_end", "17:00"]
    ])
  })
  it("tells strategies and modifiers", async () => {
    expect((await list.get("/rate_engine/strategies")).body).toEqual({
      strategies: [
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
      ]
    })
    expect((await list.get("/rate_engine/modifiers")).body).toEqual({
      modifiers: [
        { identifier: "multiplier", label: "Multiplier", priority: 100 },
        { identifier: "factor", label: "Factor", priority: 200 }
      ]
    })
  })
})
