import { describe, expect, it } from "vitest"
import { resolveTax } from "../../../../core/pricing/pricing/line.ts"
import { exchangeRateAt } from "../../../../core/setup/reference-data/currencies.ts"
import { taxFacts } from "../../../../core/setup/reference-data/tax.ts"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"

describe.each(engines)("reference data on %s", (engine) => {
  const w = appHouse(engine)
  const post = async (path: string, body: object) => (await w.post(`/${path}`, body)).body
  const list = async (path: string) => (await w.get(`/${path}`)).body
  const names = (rows: ReadonlyArray<{ name: string }>) => rows.map(({ name }) => name)

  describe("tax", () => {
    const zero = { organisation_tax_class_id: 1, product_tax_class_id: 1, tax_rate_id: 3 }
    it("starts with the standard classes, rates and rule", async () => {
      expect((await list("product_tax_classes")).product_tax_classes).toMatchObject([
        { name: "Standard", is_default: true },
        { name: "Exempt", is_default: false }
      ])
      expect((await list("organisation_tax_classes")).organisation_tax_classes).toMatchObject([
        { name: "Standard", is_default: true }
      ])
      expect((await list("tax_rates")).tax_rates).toMatchObject([
        { name: "Standard", rate: "20.0000", is_active: true },
        { name: "Reduced", rate: "5.0000" },
        { name: "Zero", rate: "0.0000" }
      ])
      expect((await list("tax_rules")).tax_rules).toMatchObject([
        { organisation_tax_class_id: 1, product_tax_class_id: 1, tax_rate_id: 1, priority: 0, is_active: true }
      ])
      const table = await w.app.run(taxFacts)
      expect(resolveTax(table, 1, 1).percentage).toBe("20.0000")
      expect(resolveTax(table, 1, 2).percentage).toBe("20.0000")
      expect(resolveTax(table, 1, null).name).toBe("No Tax")
    })
    it.each(["product_tax_class", "organisation_tax_class"])(
      "has one default %s, the last one marked",
      async (singular) => {
        const path = `${singular}es`
        const made = (await post(path, { name: "Export", is_default: true }))[singular]
        const defaults = async () => names((await list(`${path}?q[is_default_true]=1`))[path])
        expect(await defaults()).toEqual(["Export"])
        await refused(w.remove(`/${path}/${made.id}`), singular)
        await refused(w.put(`/${path}/${made.id}`, { is_default: false }), "is_default")
        expect((await w.put(`/${path}/1`, { is_default: true })).status).toBe(200)
        expect(await defaults()).toEqual(["Standard"])
        expect((await w.remove(`/${path}/${made.id}`)).status).toBe(204)
        expect((await w.get(`/${path}/${made.id}`)).status).toBe(404)
      }
    )
    it("assigns default classes to new members and products if the setting says so", async () => {
      const made = async (more: object = {}) => {
        const { member } = await post("members", { name: "New", membership_type: "organisation", ...more })
        const untaxed = "sale_tax_class_id" in more ? { tax_class_id: null } : {}
        const { product } = await post("products", { name: "New", ...untaxed })
        const kept = (one: { readonly id: number }) =>
          w.put(`/${one === member ? "members" : "products"}/${one.id}`, { name: "Kept" })
        await kept(member)
        await kept(product)
        const [shown] = (await list(`members?q[id_eq]=${member.id}`)).members
        const [of_product] = (await list(`products?q[id_eq]=${product.id}`)).products
        return [shown.sale_tax_class_id, shown.purchase_tax_class_id, of_product.tax_class_id]
      }
      const imported = async (at: number) => {
        await post("members/import", { rows: [{ name: `M${at}`, type: "organisation", contact: "Ann" }] })
        const plain = { name: `P${at}`, sku: `P${at}` }
        await post("products/import", { rows: [plain, { name: `E${at}`, sku: `E${at}`, tax_class: "Exempt" }] })
        const { members } = await list("members?sort=-id&per_page=2")
        const { products } = await list("products?sort=-id&per_page=2")
        const of_products = products.map((one) => one.tax_class_id).sort()
        return [...members.map((one) => one.sale_tax_class_id), ...of_products]
      }
      expect(await made()).toEqual([null, null, null])
      expect(await imported(1)).toEqual([null, null, 2, null])
      await w.put("/settings/tax", { settings: { assign_default_classes: true } })
      expect(await made()).toEqual([1, 1, 1])
      expect(await made({ sale_tax_class_id: null })).toEqual([null, 1, null])
      expect(await imported(2)).toEqual([1, 1, 1, 2])
      // An existing row keeps its values.
      await imported(1)
      expect((await list("members?q[name_eq]=M1")).members[0].sale_tax_class_id).toBe(null)
      await w.put("/settings/tax", { settings: { assign_default_classes: false } })
    })
    it("warns of a new class without a tax rule, with the command that adds one", async () => {
      for (const [path, customers, products] of [
        ["organisation_tax_classes", "ID", "1"],
        ["product_tax_classes", "1", "ID"]
      ] as const) {
        const made = await post(path, { name: "Abroad" })
        const { id } = made[path.slice(0, -2)]
        const pair = { organisation_tax_class_id: customers, product_tax_class_id: products }
        const ids = Object.fromEntries(Object.entries(pair).map(([key, one]) => [key, one === "ID" ? id : Number(one)]))
        expect(made.meta.warnings).toEqual([
          expect.stringMatching(
            new RegExp(
              "^No tax rule joins Abroad with a tax class of (customers|products), so it is taxed as the default classes " +
                `are; POST .* \\(flightcase tax-rules create --organisation-tax-class-id ${ids["organisation_tax_class_id"]} ` +
                `--product-tax-class-id ${ids["product_tax_class_id"]} --tax-rate-id RATE\\)\\.$`
            )
          )
        ])
        await w.create("/tax_rules", { ...ids, tax_rate_id: 3 })
        expect((await w.put(`/${path}/${id}`, { name: "Far" })).body.meta).toBeUndefined()
      }
    })
    it("deletes a product class with its rules, and clears it from its products", async () => {
      const { product_tax_class: one } = await post("product_tax_classes", { name: "Books" })
      const { product } = await post("products", { name: "Manual", tax_class_id: one.id })
      const { tax_rule: rule } = await post("tax_rules", { ...zero, product_tax_class_id: one.id })
      await w.remove(`/product_tax_classes/${one.id}`)
      expect((await w.show(`/products/${product.id}`)).tax_class_id).toBeNull()
      expect((await w.get(`/tax_rules/${rule.id}`)).status).toBe(404)
    })
    it("rejects a second rule for the same classes and rate, on update as well", async () => {
      const same = { organisation_tax_class_id: 1, product_tax_class_id: 1, tax_rate_id: 1, priority: 5 }
      await refused(w.post("/tax_rules", same), "tax_rate_id")
      const { tax_rule: other } = await post("tax_rules", { ...same, tax_rate_id: 2 })
      expect((await w.put(`/tax_rules/${other.id}`, { tax_rate_id: 1 })).status).toBe(422)
      expect((await w.update(`/tax_rules/${other.id}`, { is_active: false })).is_active).toBe(false)
      const included = await w.get(`/tax_rules/${other.id}?include=taxRate`)
      expect(included.body.tax_rule).toMatchObject({ tax_rate: { id: 2, name: "Reduced" }, product_tax_class: null })
    })
    it("rejects deleting a rate that rules use", async () => {
      await refused(w.remove("/tax_rates/1"), "tax_rate")
      const { tax_rate: one } = await post("tax_rates", { name: "Luxury", rate: "33.3333" })
      expect(one.rate).toBe("33.3333")
      expect((await w.remove(`/tax_rates/${one.id}`)).status).toBe(204)
    })
    it.each([
      ["tax_rates", { name: "x", rate: "100.0001" }, ["rate"]],
      ["tax_rates", { name: "x", rate: -1 }, ["rate"]],
      ["tax_rates", { name: "x", rate: "many" }, ["rate"]],
      ["tax_rates", {}, ["name", "rate"]],
      ["tax_rules", { ...zero, tax_rate_id: 99, product_tax_class_id: 99 }, ["product_tax_class_id", "tax_rate_id"]],
      ["tax_rules", { ...zero, priority: -1 }, ["priority"]],
      ["product_tax_classes", { name: "x".repeat(256), is_default: "maybe" }, ["name", "is_default"]]
    ])("rejects in %s the invalid values %j", async (path, body, errors) => {
      await refused(w.post(`/${path}`, body), ...errors)
    })
    it("requires one permission to read and another to change", async () => {
      const reader = viewerWith(["tax-classes.view"], ["tax-classes:read", "tax-classes:write"])
      expect((await w.get("/tax_rules", reader)).status).toBe(200)
      expect((await w.post("/tax_rates", { name: "x", rate: 1 }, reader)).status).toBe(403)
      const token = viewerWith(["tax-classes.view", "tax-classes.manage"], ["tax-classes:read"])
      expect((await w.remove("/tax_rates/2", token)).status).toBe(403)
    })
  })

  describe("currencies", () => {
    it("are listed, filtered and shown, but never written", async () => {
      const yen = (await list("currencies?q[code_eq]=JPY")).currencies
      expect(yen).toMatchObject([
        {
          code: "JPY",
          name: "Japanese Yen",
          symbol: "¥",
          decimal_places: 0,
          symbol_position: "before",
          is_enabled: false
        }
      ])
      expect(
        (await list("currencies?q[is_enabled_true]=1&sort=code")).currencies.map(({ code }: { code: string }) => code)
      ).toEqual(["EUR", "GBP", "USD"])
      expect((await w.show(`/currencies/${yen[0].id}`)).code).toBe("JPY")
      expect((await w.post("/currencies", { code: "XXX" })).status).toBe(405)
      expect((await w.get("/currencies", viewerWith(["static-data.view"], []))).status).toBe(403)
    })
    it("have exchange rates with an inverse, a source and a time", async () => {
      const pound = { source_currency_code: "eur", target_currency_code: "GBP" }
      const { exchange_rate } = await post("exchange_rates", { ...pound, rate: 0.8 })
      expect(exchange_rate).toMatchObject({
        source_currency_code: "EUR",
        rate: "0.80000000",
        inverse_rate: "1.25000000",
        source: "manual",
        expires_at: null
      })
      expect(exchange_rate.effective_at).toMatch(/^\d{4}-.*Z$/)
      const path = `/exchange_rates/${exchange_rate.id}`
      const moved = await w.put(path, { rate: "0.5", source_currency_code: "USD" })
      expect(moved.body.exchange_rate).toMatchObject({
        source_currency_code: "EUR",
        rate: "0.50000000",
        inverse_rate: "2.00000000"
      })
      const given = await w.put(path, { rate: "0.3", inverse_rate: "3.3" })
      expect(given.body.exchange_rate).toMatchObject({ rate: "0.30000000", inverse_rate: "3.30000000" })
      const ask = (from: string, to: string) =>
        w.app.run(exchangeRateAt({ from, to, base_currency: "GBP", at: "2999-01-01T00:00:00.000Z" }))
      expect([await ask("EUR", "GBP"), await ask("GBP", "EUR")]).toEqual(["0.30000000", "3.30000000"])
      expect([await ask("GBP", "GBP"), await ask("USD", "GBP")]).toEqual(["1.00000000", undefined])
      expect((await w.remove(path)).status).toBe(204)
    })

    const rate = { source_currency_code: "GBP", target_currency_code: "EUR", rate: 1 }
    it.each([
      [{ ...rate, target_currency_code: "GBP" }, ["target_currency_code"]],
      [{ ...rate, target_currency_code: "ZZZ" }, ["target_currency_code"]],
      [{ ...rate, rate: 0 }, ["rate"]],
      [{ ...rate, rate: "-1" }, ["rate"]],
      [{ ...rate, source: "x".repeat(51) }, ["source"]],
      [{ ...rate, effective_at: "2026-02-01", expires_at: "2026-02-01" }, ["expires_at"]],
      [{}, ["source_currency_code", "target_currency_code", "rate"]]
    ])("reject the exchange rate %j", async (body, errors) => {
      await refused(w.post("/exchange_rates", body), ...errors)
    })
    it("require settings.manage for exchange rates, also to read", async () => {
      const abilities = ["exchange_rates:read", "exchange_rates:write"]
      expect((await w.get("/exchange_rates", viewerWith(["static-data.view"], abilities))).status).toBe(403)
      expect((await w.get("/exchange_rates", viewerWith(["settings.manage"], abilities))).status).toBe(200)
    })
  })

  it("includes 249 countries, found by name and by code", async () => {
    const { countries, meta } = await list("countries?per_page=2")
    expect(meta.total).toBe(249)
    expect(names(countries)).toEqual(["Afghanistan", "Albania"])
    expect((await list("countries?q[code_eq]=GB")).countries).toMatchObject([
      { code: "GB", code3: "GBR", name: "United Kingdom", currency_code: "GBP", phone_prefix: "+44", is_active: true }
    ])
    expect(names((await list("countries?q[name_cont]=ZEALAND")).countries)).toEqual(["New Zealand"])
    expect((await w.remove("/countries/1")).status).toBe(405)
    expect((await w.get("/countries", viewerWith(["static-data.view"], ["countries:read"]))).status).toBe(200)
  })

  it("includes the usual revenue and cost groups", async () => {
    expect(names((await list("revenue_groups")).revenue_groups)).toEqual(["Dry Hire", "Wet Hire", "Sales", "Services"])
    expect(names((await list("cost_groups")).cost_groups)).toEqual([
      "Equipment Sub-Hire",
      "Crew Sub-Hire",
      "Transport",
      "Consumables",
      "Equipment Purchase"
    ])
  })
  it("clears a deleted revenue or cost group from its products", async () => {
    const { revenue_group } = await post("revenue_groups", { name: "Festivals" })
    const { cost_group } = await post("cost_groups", { name: "Freight", description: "By road" })
    const { product } = await post("products", {
      name: "Stage",
      rental_revenue_group_id: revenue_group.id,
      sale_revenue_group_id: revenue_group.id,
      purchase_cost_group_id: cost_group.id
    })
    expect(await w.update(`/cost_groups/${cost_group.id}`, { name: "Haulage", description: "" })).toMatchObject({
      name: "Haulage",
      description: null
    })
    await w.remove(`/revenue_groups/${revenue_group.id}`)
    await w.remove(`/cost_groups/${cost_group.id}`)
    expect(await w.show(`/products/${product.id}`)).toMatchObject({
      rental_revenue_group_id: null,
      sale_revenue_group_id: null,
      purchase_cost_group_id: null
    })
    const refused = await w.post("/cost_groups", { name: "x" }, viewerWith(["static-data.view"], ["static-data:write"]))
    expect(refused.status).toBe(403)
  })

  itFoldsAgain(w)
})
