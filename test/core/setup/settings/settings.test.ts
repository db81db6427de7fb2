import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain } from "../../../app-house.ts"
import { demandOver, setDemands } from "../../stock-demands.ts"
import { words } from "../../../words.ts"

describe.each(engines)("settings on %s", (engine) => {
  const w = appHouse(engine)

  it("show the defaults of a group", async () => {
    const company = await w.get("/settings/company")
    expect(company.status).toBe(200)
    expect(company.body.settings).toMatchObject({ base_currency: "GBP", timezone: "UTC", fiscal_year_start: 1 })
    expect(await w.show("/settings/opportunities")).toMatchObject({
      number_pad: 10,
      number_scope: "store",
      max_versions: 20,
      max_alternatives: 5
    })
    expect(await w.show("/settings/availability")).toMatchObject({
      resolution: "daily",
      release_point: "returned",
      kit_nesting_max_depth: 3,
      demand_date_source: "operational",
      horizon_past_days: 90,
      horizon_future_days: 365,
      overdue_check_interval: 60,
      span_max_days: 366
    })
    expect(await w.show("/settings/api")).toMatchObject({ rate_limit: 600, token_expiration_days: 0 })
  })
  it("list the groups on one page", async () => {
    const { body } = await w.get("/settings")
    const groups = body.settings.map((one: { group: string }) => one.group)
    expect(groups).toEqual(
      expect.arrayContaining(["company", "api", "opportunities", "availability", "scheduling", "action_log"])
    )
    expect(body.meta).toEqual({ total: groups.length, per_page: groups.length, page: 1 })
  })
  it("change at once, keep absent keys and drop unknown keys", async () => {
    const changed = await w.put("/settings/company", {
      settings: { timezone: "Europe/London", base_currency: "eur", nonsense: 1 }
    })
    expect(changed.status).toBe(200)
    expect(changed.body.settings).toMatchObject({
      timezone: "Europe/London",
      base_currency: "EUR",
      fiscal_year_start: 1
    })
    expect(changed.body.settings).not.toHaveProperty("nonsense")
    expect(changed.body.meta).toEqual({ ignored: ["settings.nonsense"] })
    expect(await w.show("/settings/company")).toEqual(changed.body.settings)
    const product = await w.post("/products", { name: "P", replacement_charge: 5 })
    expect(product.body.product.replacement_charge).toBe("0.05")
    const back = await w.put("/settings/company", { settings: { base_currency: "GBP" } })
    const warnings = [expect.stringMatching(/not converted: their digits now mean GBP, no longer EUR/)]
    expect(back.body.meta).toEqual({ warnings })
    expect((await w.put("/settings/company", { settings: { base_currency: "GBP" } })).body).not.toHaveProperty("meta")
  })
  it("reject an invalid value at its key with a fixed message, and store nothing of the request", async () => {
    const refused = await w.put("/settings/company", {
      settings: { timezone: "Mars/Olympus", fiscal_year_start: 13, name: "Kept?" }
    })
    expect(refused.status).toBe(422)
    expect(refused.body.message).toBe("The settings are invalid.")
    expect(Object.keys(refused.body.errors).sort()).toEqual(
      words("fiscal_year_start settings.fiscal_year_start settings.timezone timezone")
    )
    expect((await w.show("/settings/company")).name).toBe("")
    expect((await w.put("/settings/api", { settings: { rate_limit: 0 } })).status).toBe(422)
    expect((await w.put("/settings/api", {})).body.errors).toHaveProperty("settings")
    expect((await w.put("/settings/api", { settings: "x" })).status).toBe(422)
    expect((await w.put("/settings/company", { settings: { base_currency: null, timezone: "" } })).status).toBe(422)
  })
  it("are 404 for an unknown group, also if it is named like a property of every object", async () => {
    for (const group of ["nope", "constructor", "__proto__"]) {
      expect((await w.get(`/settings/${group}`)).status).toBe(404)
      expect((await w.put(`/settings/${group}`, { settings: {} })).status).toBe(404)
    }
  })
  it("accept another availability resolution only until stock is booked", async () => {
    expect((await w.put("/settings/availability", { settings: { resolution: "hourly" } })).status).toBe(200)
    const source = await demandOver(w.app, 1, 1, 1, "07-01", "07-01")
    const refused = await w.put("/settings/availability", { settings: { resolution: "daily" } })
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toHaveProperty("resolution")
    const same = await w.put("/settings/availability", { settings: { resolution: "hourly", release_point: "checked" } })
    expect(same.body.settings).toMatchObject({ resolution: "hourly", release_point: "checked" })
    await setDemands(w.app, "opportunity_item", source, [])
  })
  it("require settings.view to read and settings.manage to change", async () => {
    const reader = viewerWith(["settings.view"], ["settings:read"])
    expect((await w.get("/settings/company", reader)).status).toBe(200)
    expect((await w.put("/settings/company", { settings: { name: "X" } }, reader)).status).toBe(403)
    expect((await w.get("/settings/company", viewerWith([], ["*"]))).status).toBe(403)
    expect((await w.get("/settings/company", viewerWith(["settings.view"], []))).status).toBe(403)
  })
  itFoldsAgain(w)
})
