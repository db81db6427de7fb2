/** Lists over the API: values by name, aliases of fields and paths, includes, and deleted rows. */
import { beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import { statusLabelOf, statuses } from "../../../core/orders/opportunities/tables/statuses.ts"
import { snakeCase } from "../../../core/kernel/lists/query.ts"
import { both_engines } from "../../app.ts"
import { appHouse } from "../../app-house.ts"
import { words } from "../../words.ts"

describe.each(both_engines)("lists on %s", (engine) => {
  const w = appHouse(engine)
  const get = async (path: string) => (await w.get(path)).body
  const post = (path: string, body: object = {}) => w.must("POST", path, body)

  describe("opportunities filtered by status name", () => {
    const ids = new Map<string, number>()
    beforeAll(async () => {
      for (const subject of ["draft", "provisional", "reserved", "dead", "active"]) {
        const { id } = (await post("/opportunities", { subject })).opportunity
        ids.set(subject, id)
        if (subject === "draft") continue
        await post(`/opportunities/${id}/convert_to_quotation`)
        if (subject === "reserved" || subject === "dead")
          await post(`/opportunities/${id}/change_status`, { status: subject === "reserved" ? 1 : 3 })
        if (subject !== "active") continue
        await post(`/opportunities/${id}/items`, { name: "Crew", item_type: "service" })
        await post(`/opportunities/${id}/convert_to_order`)
      }
    })
    const found = async (query: string) =>
      (await get(`/opportunities?${query}`)).opportunities.map((one) => one.subject)

    it.each([
      ["q[status_eq]=Reserved", ["reserved"]],
      ["q[status_eq]=reserved", ["reserved"]],
      ["q[status_eq]=DEAD", ["dead"]],
      ["q[status_eq]=provisional", ["provisional"]],
      ["q[status_eq]=open", ["draft"]],
      ["q[status_eq]=1", ["reserved"]],
      ["q[status_eq]=0", ["draft", "provisional", "active"]],
      ["q[status_in]=Active,Dead", ["dead", "active"]],
      ["q[status_in][]=active&q[status_in][]=1", ["reserved", "active"]],
      ["q[status_not_eq]=Active", ["draft", "provisional", "reserved", "dead"]],
      ["q[status_not_in]=Open,Dead,Provisional", ["reserved", "active"]],
      ["q[status_eq]=On Hire", []],
      ["q[status_eq]=Lent", []],
      ["q[status_in]=Lent", []],
      ["q[status_gteq]=1", ["reserved", "dead"]],
      ["q[state_eq]=quotation", ["provisional", "reserved", "dead"]],
      ["q[state_not_in]=Order,DRAFT", ["provisional", "reserved", "dead"]],
      ["q[state_eq]=Quotation&q[status_not_eq]=Reserved", ["provisional", "dead"]]
    ])("are found by %s", async (query, subjects) => {
      expect(await found(query)).toEqual(subjects)
    })
    it("are found by the label of every status", async () => {
      for (const one of Object.values(statuses)) {
        const shown = await get(`/opportunities?q[status_eq]=${encodeURIComponent(statusLabelOf(one))}`)
        for (const row of shown.opportunities) expect([row.state, row.status]).toEqual([one.state, one.status])
        expect(shown.meta.total).toBe(
          [...ids.keys()].filter(
            (subject) => subject === statusLabelOf(one).toLowerCase() || (subject === "draft" && one === statuses.open)
          ).length
        )
      }
    })
    it("are found through a saved view, too", async () => {
      const { custom_view } = await post("/custom_views", {
        name: "Held back",
        entity_type: "opportunities",
        columns: ["subject", "status"],
        filters: [{ field: "status", predicate: "in", value: ["reserved", "Dead"] }]
      })
      expect(await found(`view_id=${custom_view.id}`)).toEqual(["reserved", "dead"])
    })
    it("are found by thousands of values in one filter", async () => {
      expect(await found(`q[status_in]=${Array.from({ length: 3_000 }, (_, at) => at + 1).join(",")},Active`)).toEqual([
        "reserved",
        "dead",
        "active"
      ])
    })
    it("include no deleted opportunities, which the action log still names", async () => {
      const { id } = (await post("/opportunities", { subject: "deleted" })).opportunity
      await w.remove(`/opportunities/${id}`)
      for (const query of ["", "archived=only", "archived=with"]) expect(await found(query)).not.toContain("deleted")
      expect(await found("archived=only")).toHaveLength(ids.size)
      // The action log has the ids of deleted opportunities, by which they can be restored.
      const { actions } = await get("/actions?q[action_eq]=opportunity.deleted")
      expect(actions.map((one) => one.auditable_id)).toEqual([id])
      expect((await post(`/opportunities/${id}/restore`)).opportunity.subject).toBe("deleted")
    })
  })

  it("find a rate preset by its slug under the alias preset", async () => {
    expect(
      (await get("/rate_definitions?q[preset_eq]=fixed-rate")).rate_definitions.map((one) => one.preset_slug)
    ).toEqual(["fixed-rate"])
    expect((await get("/rate_definitions?q[preset_cont]=multiplier")).meta.total).toBe(3)
    expect((await get("/rate_definitions?q[preset_eq]=true")).meta.total).toBe(0)
  })

  it("include a product's tax classes, groups, country of origin, rates and accessories on request", async () => {
    const [[revenue], [cost], [country]] = [
      await w.show("/revenue_groups"),
      await w.show("/cost_groups"),
      await w.show("/countries")
    ]
    const strap = (await post("/products", { name: "Strap" })).product
    const { id } = await w.create("/products", {
      name: "Truss",
      tax_class_id: 1,
      purchase_tax_class_id: 2,
      rental_revenue_group_id: revenue.id,
      sale_revenue_group_id: revenue.id,
      sub_rental_cost_group_id: cost.id,
      purchase_cost_group_id: cost.id,
      country_of_origin_id: country.id
    })
    await post(`/products/${id}/accessories`, { accessory_product_id: strap.id })
    const { product_rate } = await post(`/products/${id}/rates`, {
      rate_definition_id: 1,
      transaction_type: "rental",
      price: 1000,
      currency: "GBP",
      valid_from: "2026-01-01",
      store_id: 1
    })
    const brief = (one: { id: number; name: string }) => ({ id: one.id, name: one.name })
    const names = words(`
      taxClass purchaseTaxClass rentalRevenueGroup saleRevenueGroup subRentalCostGroup purchaseCostGroup
      countryOfOrigin rates accessories
    `)
    const keys = names.map(snakeCase)
    const filled = [
      { id: 1, name: "Standard" },
      { id: 2, name: "Exempt" },
      brief(revenue),
      brief(revenue),
      brief(cost),
      brief(cost),
      brief(country),
      [
        expect.objectContaining({
          id: product_rate.id,
          price: "10.00",
          rate_definition: expect.objectContaining({ id: 1 }),
          store: null
        })
      ],
      [expect.objectContaining({ related_name: "Strap", accessory_product: null })]
    ]
    const shown = async (include: string): Promise<{ readonly [key: string]: any }> =>
      (await get(`/products/${id}${include}`)).product
    const bare = await shown("")
    for (const key of keys) expect([key, bare[key]]).toEqual([key, null])
    for (const [at, key] of keys.entries())
      for (const name of [names[at], key])
        expect([name, (await shown(`?include=${name}`))[key]]).toEqual([name, filled[at]])
    expect((await shown("?include=accessories.accessoryProduct")).accessories[0].accessory_product).toEqual({
      id: strap.id,
      name: "Strap"
    })
    expect((await shown("?include=rates,customFieldValues")).custom_fields).toEqual({})
    expect((await get(`/products?q[id_eq]=${id}&include=rates,tax_class`)).products[0]).toMatchObject({
      rates: filled[7],
      tax_class: filled[0]
    })
    expect((await get(`/products/${id}/rates?include=store,rateDefinition`)).product_rates[0]).toMatchObject({
      store: { id: 1 },
      rate_definition: { id: 1 }
    })
    expect(
      (await get(`/products/${id}/accessories?include=accessory_product`)).accessories[0].accessory_product
    ).toEqual({ id: strap.id, name: "Strap" })
  })

  it("can be read and written under /list_of_values as under /list_names if they are lists of values", async () => {
    for (const path of ["", "/1", "/1/values", "?q[name_eq]=Rating&include=values"])
      expect([path, await get(`/list_of_values${path}`)]).toEqual([path, await get(`/list_names${path}`)])
    const { list_name } = await post("/list_of_values", { name: "Rigging" })
    const { list_value } = await post(`/list_of_values/${list_name.id}/values`, { name: "Truss" })
    expect((await w.put(`/list_of_values/${list_name.id}`, { description: "Steel" })).body.list_name).toMatchObject({
      name: "Rigging",
      description: "Steel"
    })
    expect(
      (await w.patch(`/list_of_values/${list_name.id}/values/${list_value.id}`, { name: "Tower" })).body.list_value.name
    ).toBe("Tower")
    expect((await w.remove(`/list_of_values/${list_name.id}/values/${list_value.id}`)).status).toBe(204)
    expect((await w.remove(`/list_of_values/${list_name.id}`)).status).toBe(204)
    expect((await w.get(`/list_names/${list_name.id}`)).status).toBe(404)
    expect((await w.get(`/list_of_valuesx`)).status).toBe(404)
    expect((await w.post(`/list_of_values/1`)).headers["allow"]).toBe("DELETE, GET, PUT")
  })

  it("have the meta of one page with all rows if they are not paged", async () => {
    const member = (await post("/members", { name: "Empty", membership_type: "contact" })).member
    const list = (await post("/list_names", { name: "Empty" })).list_name
    const { opportunity } = await post("/opportunities", { subject: "Empty" })
    const { product } = await post("/products", { name: "Empty", stock_method: 2 })
    const empty = [
      ...["addresses", "emails", "phones", "links", "relationships"].map((kind) => `/members/${member.id}/${kind}`),
      `/list_names/${list.id}/values`,
      `/opportunities/${opportunity.id}/availability`,
      `/opportunities/${opportunity.id}/shortages`,
      `/products/${product.id}/accessories`,
      `/products/${product.id}/components`
    ]
    for (const path of empty) expect([path, (await get(path)).meta]).toEqual([path, { total: 0, per_page: 0, page: 1 }])
    for (const path of ["/custom_views", "/settings", "/permissions", "/list_names/1/values"]) {
      const { meta, ...body } = await get(path)
      const rows = Object.values(body)[0] as ReadonlyArray<unknown>
      expect([path, meta]).toEqual([path, { total: rows.length, per_page: rows.length, page: 1 }])
    }
  })

  it("contain archived rows only of members and products, and only on request", async () => {
    expect(catalogue.resources.filter((one) => one.lists_archived).map((one) => one.plural)).toEqual([
      "members",
      "products"
    ])
    const { id } = await w.create("/products", { name: "Worn out" })
    await w.remove(`/products/${id}`)
    const found = async (query: string) => (await get(`/products?q[name_eq]=Worn out${query}`)).meta.total
    expect([await found(""), await found("&archived=with"), await found("&archived=only")]).toEqual([0, 1, 1])
  })
})
