import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { Json, JsonObject } from "../../../../core/kernel/fields/field.ts"
import { schemaSections } from "../../../../core/pricing/pricing/config-schema.ts"
import {
  composeMethod,
  copyName,
  deletionErrors,
  presets,
  type SubmittedMethod,
  updateMethod
} from "../../../../core/pricing/pricing/definition.ts"
import { presetSlugOfSourceEngine } from "../../../../core/imports/rate-rows.ts"

const daily: SubmittedMethod = { calculation_strategy: "period", base_period: "daily" }
const stored = (submitted: SubmittedMethod) => Result.getOrThrow(composeMethod(submitted))
const errorKeys = (result: ReturnType<typeof composeMethod>) =>
  Result.match(result, { onSuccess: () => "accepted", onFailure: (errors) => Object.keys(errors).join(" ") })
const config = (strategy_config: JsonObject) => errorKeys(composeMethod({ ...daily, strategy_config }))
const block = (strategy_config: JsonObject) =>
  errorKeys(composeMethod({ calculation_strategy: "hybrid", base_period: "daily", strategy_config }))

describe("the strategy config of a rate definition", () => {
  const inConfig = (keys: string) => (keys === "accepted" ? keys : keys.replaceAll(/\w+/g, "strategy_config.$&"))
  it.each<[JsonObject, string]>([
    [{ leeway_minutes: 1.5 }, "leeway_minutes"],
    [{ leeway_minutes: true }, "leeway_minutes"],
    [{ rental_days_per_week: 8 }, "rental_days_per_week"],
    [{ rental_days_per_week: "7" }, "accepted"],
    [{ day_type: "calendar" }, "day_type"],
    [{ day_type: "business", business_hours_start: "9:00", business_hours_end: "17:00" }, "business_hours_start"],
    [{ day_type: "business", business_hours_start: "17:00", business_hours_end: "09:00" }, "accepted"],
    [{ day_type: "clock", business_hours_start: "nonsense" }, "accepted"],
    [{ day_type: "business", business_hours_start: "09:00" }, "business_hours_end"],
    [{ day_type: "business", business_hours_start: null, business_hours_end: "17:00" }, "business_hours_start"],
    [{ first_day_cutoff: "09:00:00" }, "first_day_cutoff"],
    [{ first_day_cutoff: "9:00" }, "first_day_cutoff"],
    [{ last_day_cutoff: "09:60" }, "last_day_cutoff"],
    [{ leeway_minutes: -1, rental_days_per_week: 0 }, "rental_days_per_week leeway_minutes"],
    [{ first_day_cutoff: "" }, "accepted"],
    [{ leeway_minutes: 10_000_000 }, "accepted"]
  ])("is validated by key: %j gives %s", (submitted, expected) => {
    expect(config(submitted)).toBe(inConfig(expected))
  })

  it.each<[JsonObject, string]>([
    [{ fixed_charge: -1 }, "fixed_charge"],
    [{ fixed_charge: 1.5 }, "fixed_charge"],
    [{ fixed_period_units: -1 }, "fixed_period_units"]
  ])("is rejected at each invalid key of a hybrid strategy: %j gives %s", (submitted, expected) => {
    expect(block(submitted)).toBe(inConfig(expected))
  })

  it("stores known keys with their types cast, and no defaults", () => {
    expect(
      stored({
        ...daily,
        strategy_config: {
          day_type: "business",
          business_hours_start: "08:00",
          business_hours_end: "18:00",
          colour: "red",
          rental_days_per_week: "5"
        }
      }).strategy_config
    ).toStrictEqual({
      day_type: "business",
      business_hours_start: "08:00",
      business_hours_end: "18:00",
      rental_days_per_week: 5
    })
    expect(
      stored({ calculation_strategy: "fixed", base_period: "daily", strategy_config: { leeway_minutes: 5 } })
    ).toMatchObject({ base_period: null, strategy_config: {} })
  })
})

describe("modifier configs", () => {
  const factor = (range: Json) =>
    composeMethod({ ...daily, enabled_modifiers: ["factor"], modifier_configs: { factor: { ranges: [range] } } })
  const tier = (multiplier: Json) =>
    composeMethod({
      ...daily,
      enabled_modifiers: ["multiplier"],
      modifier_configs: { multiplier: { tiers: [{ multiplier }] } }
    })

  it.each<[Json, string]>([
    ["1.0", "accepted"],
    [1, "accepted"],
    ["0", "accepted"],
    ["0.3333", "accepted"],
    ["-0.5", "modifier_configs.multiplier.tiers.0.multiplier"],
    ["1e2", "modifier_configs.multiplier.tiers.0.multiplier"],
    ["", "modifier_configs.multiplier.tiers.0.multiplier"],
    [null, "modifier_configs.multiplier.tiers.0.multiplier"]
  ])("validate a multiplier: %j gives %s", (multiplier, expected) => {
    expect(errorKeys(tier(multiplier))).toBe(expected)
  })

  it.each<[Json, string]>([
    [{ from: 1, to: 5, factor: "0.9" }, "accepted"],
    [{ from: 5, to: 5, factor: "0.9" }, "accepted"],
    [{ from: 5, to: 4, factor: "0.9" }, "modifier_configs.factor.ranges.0.to"],
    [{ from: 5, to: 0, factor: "0.9" }, "modifier_configs.factor.ranges.0.to"],
    [{ to: 4, factor: "0.9" }, "modifier_configs.factor.ranges.0.from"],
    [{ from: 1.5, factor: "0.9" }, "modifier_configs.factor.ranges.0.from"],
    [{ from: 1, factor: -0.1 }, "modifier_configs.factor.ranges.0.factor"],
    [{ from: 1, factor: "" }, "modifier_configs.factor.ranges.0.factor"],
    ["row", "modifier_configs.factor.ranges.0.from modifier_configs.factor.ranges.0.factor"]
  ])("validate a factor's range by key: %j gives %s", (range, expected) => {
    expect(errorKeys(factor(range))).toBe(expected)
  })

  it.each<[string, JsonObject, string]>([
    ["factor", { ranges: [] }, "modifier_configs.factor.ranges"],
    ["multiplier", { tiers: [{ multiplier: "1" }, {}] }, "modifier_configs.multiplier.tiers.1.multiplier"]
  ])("reject an incomplete %s at its key: %j at %s", (name, submitted, expected) => {
    expect(
      errorKeys(composeMethod({ ...daily, enabled_modifiers: [name], modifier_configs: { [name]: submitted } }))
    ).toBe(expected)
  })

  it("store decimals as text: the number 1.0 becomes 1, and the text 1.0 stays", () => {
    const tiers = [0.5, 1.0, "1.0", 0].map((multiplier) => ({ multiplier }))
    expect(
      stored({ ...daily, enabled_modifiers: ["multiplier"], modifier_configs: { multiplier: { tiers } } })
        .modifier_configs
    ).toStrictEqual({ multiplier: { tiers: ["0.5", "1", "1.0", "0"].map((multiplier) => ({ multiplier })) } })
  })

  it("store one entry for each enabled modifier and ignore the others, even invalid ones", () => {
    const enabled_modifiers = ["factor", "factor"]
    const method = stored({ ...daily, enabled_modifiers, modifier_configs: { multiplier: { tiers: "bad" } } })
    expect(method).toMatchObject({ enabled_modifiers, modifier_configs: { factor: {} } })
    expect(Object.keys(method.modifier_configs)).toEqual(["factor"])
    const mixed = ["factor", "multiplier", "factor"]
    expect(stored({ ...daily, enabled_modifiers: mixed })).toMatchObject({
      enabled_modifiers: mixed,
      modifier_configs: { factor: {}, multiplier: {} }
    })
  })

  it("may be an empty list in place of an object, but no other list or text", () => {
    expect(stored({ ...daily, strategy_config: [], modifier_configs: [] })).toMatchObject({
      strategy_config: {},
      modifier_configs: {}
    })
    expect(
      errorKeys(composeMethod({ ...daily, strategy_config: "x", modifier_configs: [1], enabled_modifiers: [5] }))
    ).toBe("enabled_modifiers.0 strategy_config modifier_configs")
    expect(
      errorKeys(composeMethod({ ...daily, enabled_modifiers: ["factor"], modifier_configs: { factor: "x" } }))
    ).toBe("modifier_configs.factor")
  })
})

describe("the strategy of a rate definition", () => {
  // strategy, base period, modifiers → error keys
  it.each<[Json, Json, Json, string]>([
    ["period", "half_hourly", ["multiplier", "factor"], "accepted"],
    ["period", "yearly", [], "base_period"],
    ["period", "", [], "base_period"],
    ["hybrid", "weekly", [], "accepted"],
    ["hybrid", null, [], "base_period"],
    ["hybrid", "daily", ["multiplier"], "enabled_modifiers"],
    ["hybrid", "half_hourly", ["multiplier"], "base_period enabled_modifiers"],
    ["fixed", null, ["factor"], "accepted"],
    ["fixed", "yearly", ["multiplier"], "enabled_modifiers"],
    ["period", "daily", ["discount"], "enabled_modifiers"],
    ["period", "daily", "factor", "enabled_modifiers"],
    ["weekly", "daily", [], "calculation_strategy"],
    [null, "daily", [], "calculation_strategy"],
    ["period", 1, [], "base_period"]
  ])(
    "is accepted with its own periods and modifiers, or rejected at their keys: %j with period %j and modifiers %j gives %s",
    (calculation_strategy, base_period, enabled_modifiers, expected) => {
      expect(errorKeys(composeMethod({ calculation_strategy, base_period, enabled_modifiers }))).toBe(expected)
    }
  )

  it("is checked before its config", () => {
    expect(errorKeys(composeMethod({ calculation_strategy: "period", strategy_config: { leeway_minutes: -1 } }))).toBe(
      "base_period"
    )
  })
})

describe("updating a definition", () => {
  const existing = stored({
    ...daily,
    enabled_modifiers: ["multiplier"],
    strategy_config: { leeway_minutes: 30, last_day_cutoff: "09:00" },
    modifier_configs: { multiplier: { tiers: [{ multiplier: "0.5" }] } }
  })

  it("keeps absent and null fields", () => {
    expect(Result.getOrThrow(updateMethod(existing, { base_period: null, strategy_config: null }))).toStrictEqual(
      existing
    )
  })
  it("replaces configs completely", () => {
    const strategy_config = { leeway_minutes: 5 }
    expect(Result.getOrThrow(updateMethod(existing, { strategy_config }))).toStrictEqual({
      ...existing,
      strategy_config
    })
  })
  it("deletes the configs of modifiers that are switched off", () => {
    expect(Result.getOrThrow(updateMethod(existing, { enabled_modifiers: [] }))).toStrictEqual({
      ...existing,
      enabled_modifiers: [],
      modifier_configs: {}
    })
  })
  it("removes keys unknown to a new strategy, and requires its period", () => {
    expect(
      Result.getOrThrow(updateMethod(existing, { calculation_strategy: "fixed", enabled_modifiers: [] }))
    ).toMatchObject({ base_period: null, strategy_config: {} })
    const fixed = stored({ calculation_strategy: "fixed" })
    expect(errorKeys(updateMethod(fixed, { calculation_strategy: "period" }))).toBe("base_period")
  })
})

describe("copying and deleting a definition", () => {
  it("names the copy, shortening a name that leaves no room", () => {
    expect(copyName("Daily Rate")).toBe("Daily Rate (Copy)")
    expect(copyName("x".repeat(255))).toBe(`${"x".repeat(248)} (Copy)`)
  })
  it("rejects deleting presets and definitions in use", () => {
    expect(deletionErrors({ is_preset: false, in_use: false })).toBeUndefined()
    expect(Object.keys(deletionErrors({ is_preset: true, in_use: false }) ?? {})).toEqual(["rate_definition"])
    expect(Object.keys(deletionErrors({ is_preset: false, in_use: true }) ?? {})).toEqual(["rate_definition"])
  })
})

describe("the form of the rate engine", () => {
  const sections = (query: { strategy?: unknown; modifiers?: unknown }) => Result.getOrThrow(schemaSections(query))

  it("has no options for the fixed strategy", () => {
    expect(sections({ strategy: "fixed", modifiers: ["factor"] })).toMatchObject([
      { key: "factor", label: "Factor", fields: [{ key: "ranges", type: "repeater", min_items: 1 }] }
    ])
  })
  it("describes each kind of field with the keys a form needs", () => {
    const common = { help: null, placeholder: null }
    const [options, multiplier] = sections({ strategy: "period", modifiers: ["multiplier", "multiplier"] })
    expect(options).toMatchObject({ key: "options", label: "Options" })
    expect(options?.fields[0]).toStrictEqual({
      key: "day_type",
      type: "select",
      label: "Day Type",
      ...common,
      default: "clock",
      required: false,
      options: { clock: "Clock", business: "Business Hours" }
    })
    expect(options?.fields[1]).toMatchObject({
      key: "business_hours",
      type: "group",
      default: null,
      visible_when: [{ field: "day_type", value: "business" }],
      fields: [
        { key: "business_hours_start", type: "time", default: "09:00", required: true },
        { key: "business_hours_end", default: "17:00" }
      ]
    })
    expect(options?.fields[2]).toStrictEqual({
      key: "rental_days_per_week",
      type: "number",
      label: "Rental Days per Week",
      ...common,
      default: 7,
      required: false,
      min: 1,
      max: 7,
      step: null
    })
    expect(options?.fields[4]).toStrictEqual({
      key: "first_day_cutoff",
      type: "time",
      label: "First Day Cut-off",
      ...common,
      default: null,
      required: false
    })
    expect(multiplier?.fields).toStrictEqual([
      {
        key: "tiers",
        type: "repeater",
        label: "Tiers",
        ...common,
        default: null,
        required: false,
        min_items: 1,
        fields: [
          {
            key: "multiplier",
            type: "decimal",
            label: "Multiplier",
            ...common,
            default: "1.0",
            required: true,
            decimals: 2
          }
        ]
      }
    ])
  })
  it("rejects an unknown modifier, naming its position", () => {
    expect(Result.merge(schemaSections({ strategy: "period", modifiers: ["factor", "bogus"] }))).toEqual({
      "modifiers.1": ["The modifier must be one of: multiplier, factor."]
    })
    expect(Object.keys(Result.merge(schemaSections({ strategy: "period", modifiers: "factor" })))).toEqual([
      "modifiers"
    ])
  })
})

describe("presets", () => {
  it("are valid rate definitions", () => {
    for (const { base_period, calculation_strategy, enabled_modifiers, modifier_configs, strategy_config } of presets) {
      expect(
        errorKeys(
          composeMethod({ base_period, calculation_strategy, enabled_modifiers, modifier_configs, strategy_config })
        )
      ).toBe("accepted")
    }
  })
  it("include one for every rate engine that can be imported, the daily rate for the usage-based one", () => {
    const slugs = presets.map(({ slug }) => slug)
    expect(Object.values(presetSlugOfSourceEngine).filter((slug) => !slugs.includes(slug))).toEqual([])
    expect(presetSlugOfSourceEngine["Days Used Rate"]).toBe("daily-rate")
    expect(Object.keys(presetSlugOfSourceEngine)).toHaveLength(12)
  })
})
