import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../app.ts"
import { appHouse, itFoldsAgain } from "../../app-house.ts"
import { importing, itRehearses } from "./importing.ts"
import { words } from "../../words.ts"

const engineNames = [
  "Daily Rate",
  "Daily Multiplier and Factor Rate",
  "Hourly Rate",
  "Hourly Multiplier and Factor Rate",
  "Half Hourly Rate",
  "Weekly Rate",
  "Monthly Rate",
  "Monthly Multiplier and Factor Rate",
  "Fixed Rate",
  "Fixed Rate and Factor",
  "Fixed Rate and Subs Days",
  "Days Used Rate"
]

describe.each(engines)("importing rate definitions on %s", (engine) => {
  const w = appHouse(engine)
  const sending = importing(() => w.app, "rate_definitions")
  const { head, one, send: sent, sendBody } = sending
  const send = async (rows: ReadonlyArray<unknown>, more: object = {}) => (await sent(rows, more)).body
  const shown = async (id: number | null) => await w.show(`/rate_definitions/${id}`)

  it("maps the twelve engines of the imported system to presets, with a warning for the usage-based engine only", async () => {
    const before = await head()
    const { results, meta } = await send(engineNames.map((name) => ({ name })))
    expect(meta).toEqual({ created: 0, updated: 0, unchanged: 12, rejected: 0, dry_run: false })
    expect(await head()).toBe(before)
    const slugs = await Promise.all(results.map(async ({ id }) => (await shown(id)).preset_slug))
    expect(slugs).toEqual(
      words(`
      daily-rate daily-multiplier-factor hourly-rate hourly-multiplier-factor half-hourly-rate weekly-rate
      monthly-rate monthly-multiplier-factor fixed-rate fixed-rate-factor fixed-rate-subs-days daily-rate
    `)
    )
    expect(results.filter(({ warnings }) => warnings !== undefined).map(({ key }) => key)).toEqual(["Days Used Rate"])
  })

  const own = {
    name: "Festival week",
    engine: "Daily Multiplier and Factor Rate",
    description: "Cheaper after day three",
    modifier_configs: { multiplier: { tiers: [{ multiplier: "1.0" }, { multiplier: "0.5" }] } }
  }
  it("creates a custom definition by its engine's method, and finds it again by name", async () => {
    const made = await one(own)
    expect(made).toMatchObject({ row: 1, status: "created", key: "Festival week" })
    expect(await shown(made.id)).toMatchObject({
      name: "Festival week",
      description: "Cheaper after day three",
      calculation_strategy: "period",
      base_period: "daily",
      enabled_modifiers: ["multiplier", "factor"],
      modifier_configs: { multiplier: { tiers: [{ multiplier: "1.0" }, { multiplier: "0.5" }] }, factor: {} },
      is_preset: false,
      preset_slug: null
    })
    const before = await head()
    expect(await one(own)).toMatchObject({ status: "unchanged", id: made.id })
    expect(await head()).toBe(before)
    expect(await one({ name: "festival WEEK", base_period: "Weekly" })).toMatchObject({
      status: "updated",
      id: made.id
    })
    expect(await shown(made.id)).toMatchObject({
      name: "festival WEEK",
      base_period: "weekly",
      enabled_modifiers: ["multiplier", "factor"]
    })
  })
  it("finds a preset by its slug and may edit it, but creates none", async () => {
    expect(await one({ preset_slug: "weekly-rate", "strategy_config.rental_days_per_week": "5" })).toMatchObject({
      status: "updated",
      key: "weekly-rate"
    })
    const weekly = await one({ slug: "weekly-rate" })
    expect(await shown(weekly.id)).toMatchObject({
      name: "Weekly Rate",
      is_preset: true,
      strategy_config: { rental_days_per_week: 5 }
    })
    expect(await one({ preset: "yearly-rate" })).toMatchObject({
      status: "rejected",
      errors: { preset: [expect.any(String)] }
    })
  })
  it("turns a usage-based definition into a daily one of the same name, with a warning", async () => {
    const made = await one({ name: "Generator hours", rate_engine: "Days Used Rate" })
    expect(made).toMatchObject({ status: "created", warnings: [expect.stringContaining("Days Used Rate")] })
    expect(await shown(made.id)).toMatchObject({
      name: "Generator hours",
      calculation_strategy: "period",
      base_period: "daily",
      preset_slug: null
    })
  })
  it("reads words, lists and JSON from text cells", async () => {
    const row = {
      Name: "Bulk days",
      "Calculation Strategy": "Period-based",
      "Base Period": "Half-Hourly",
      Modifiers: "Factor",
      strategy_config: '{"leeway_minutes": "15"}',
      "modifier_configs.factor": '{"ranges": [{"from": 10, "factor": "0.9"}]}'
    }
    const made = await one(row)
    expect(await shown(made.id)).toMatchObject({
      base_period: "half_hourly",
      enabled_modifiers: ["factor"],
      strategy_config: { leeway_minutes: 15 },
      modifier_configs: { factor: { ranges: [{ from: 10, factor: "0.9" }] } }
    })
    expect((await one(row)).status).toBe("unchanged")
  })
  it.each([
    [{}, ["name"]],
    [{ name: "New" }, ["calculation_strategy"]],
    [{ name: "New", calculation_strategy: "period" }, ["base_period"]],
    [{ name: "New", engine: "Yearly Rate" }, ["engine"]],
    [{ engine: "Yearly Rate" }, ["engine"]],
    [
      { name: "New", engine: "Hourly Rate", strategy_config: { leeway_minutes: -1 } },
      ["strategy_config.leeway_minutes"]
    ],
    [{ name: "New", engine: "Fixed Rate", enabled_modifiers: ["multiplier"] }, ["enabled_modifiers"]],
    [{ name: "x".repeat(256), engine: "Fixed Rate" }, ["name"]],
    [{ name: "New", engine: "Fixed Rate", strategy_config: "{broken" }, ["strategy_config"]]
  ])("rejects %j at its invalid columns", async (row, errors) => {
    const verdict = await one(row)
    expect([verdict.status, Object.keys(verdict.errors ?? {})]).toEqual(["rejected", errors])
  })
  it("rejects another row for the same preset", async () => {
    const { results } = await send([
      { name: "Daily Rate", description: "One" },
      { name: "Days Used Rate", description: "Two" },
      { name: "daily rate" }
    ])
    expect(results.map(({ status }) => status)).toEqual(["updated", "rejected", "rejected"])
  })
  it("rejects a name that several definitions share", async () => {
    for (const _ of [1, 2]) await w.post("/rate_definitions", { name: "Twin", calculation_strategy: "fixed" })
    expect(await one({ name: "Twin", description: "x" })).toMatchObject({
      status: "rejected",
      errors: { name: [expect.any(String)] }
    })
  })
  itRehearses(
    sending,
    () => w.app.dump(),
    [
      { name: "Dry", engine: "Weekly Rate" },
      { name: "Generator hours", description: "By the hour" },
      { name: "Weekly Rate" },
      { name: "Bad" }
    ],
    "created updated unchanged rejected"
  )
  it("requires rates.create and rates:write", async () => {
    const ask = async (permission: string, ability: string) =>
      (await sendBody({ rows: [] }, viewerWith([permission], [ability]))).status
    expect([
      await ask("rates.create", "rates:write"),
      await ask("rates.view", "rates:write"),
      await ask("rates.create", "rates:read")
    ]).toEqual([200, 403, 403])
  })
  itFoldsAgain(w)
})
