import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"
import { hire_dates, fifty_each } from "../../../rental-house.ts"
import { words } from "../../../words.ts"

describe.each(engines)("opportunities on %s", (engine) => {
  const w = appHouse(engine)

  const organisation = (body: object = {}) =>
    w.create("/members", { name: "Acme", membership_type: "organisation", ...body })
  const actionsOf = async (id: number) => {
    const { available_actions } = (await w.get(`/opportunities/${id}/available_actions`)).body
    return Object.fromEntries(available_actions.map((one) => [one.key, one]))
  }
  const allowedOf = async (id: number) =>
    Object.values(await actionsOf(id))
      .filter((one) => one.allowed)
      .map((one) => one.key)
  const always = ["unlock_locks", "clone", "delete"]

  it("require an existing member as customer, which on update must be an organisation", async () => {
    const gone = await organisation()
    await w.remove(`/members/${gone.id}`)
    for (const member_id of [gone.id, 99_999])
      await refused(w.post("/opportunities", { subject: "x", member_id }), "member_id")
    const { id } = await w.opportunity()
    await refused(w.put(`/opportunities/${id}`, { member_id: await w.contact() }), "member_id")
  })
  it("accept the customer's addresses only, and return them in full on request", async () => {
    const [mine, other] = [await organisation(), await organisation({ name: "Other" })]
    const address = await w.create(`/members/${mine.id}/addresses`, { street: "1 Road", city: "Leeds" })
    const foreign = await w.create(`/members/${other.id}/addresses`, { street: "2 Road" })
    await refused(
      w.post("/opportunities", { subject: "x", member_id: mine.id, delivery_address_id: foreign.id }),
      "delivery_address_id"
    )
    await refused(w.post("/opportunities", { subject: "x", delivery_address_id: address.id }), "delivery_address_id")
    const { id } = await w.opportunity({
      member_id: mine.id,
      delivery_address_id: address.id,
      collection_address_id: address.id
    })
    const shown = await w.show(`/opportunities/${id}?include=deliveryAddress,member,store,nonsense`)
    expect(shown).toMatchObject({
      member: { id: mine.id, name: "Acme" },
      store: { id: 1 },
      delivery_address: { id: address.id, street: "1 Road", city: "Leeds" },
      collection_address: null,
      owner: null
    })
  })
  it("follow a new customer's tax at once, unless the price is locked", async () => {
    const [taxed, untaxed] = [await organisation({ sale_tax_class_id: 1 }), await organisation()]
    const product = await w.product({ tax_class_id: 1 })
    const { id } = await w.deal({ ...hire_dates, member_id: untaxed.id }, { ...fifty_each, item_id: product })
    expect(await w.update(`/opportunities/${id}`, { member_id: taxed.id })).toMatchObject({
      tax_total: "80.00",
      items: [{ tax_rate: "20.00" }]
    })
    await w.post(`/opportunities/${id}/lock_locks`)
    expect((await w.update(`/opportunities/${id}`, { member_id: untaxed.id })).tax_total).toBe("80.00")
  })
  it("store a foreign currency's exchange rate, use its decimals, and require a rate (rules/rates 9.5)", async () => {
    await refused(w.post("/opportunities", { subject: "x", currency: "EUR" }), "currency")
    const yen = { source_currency_code: "JPY", target_currency_code: "GBP", rate: "0.0053" }
    await w.create("/exchange_rates", { ...yen, effective_at: "2020-01-01" })
    const { id } = await w.opportunity({ currency: "JPY", charge_total: "1250" })
    const opportunity = await w.create(`/opportunities/${id}/items`, { name: "Lamp", unit_price: "500", quantity: 2 })
    expect(opportunity).toMatchObject({ currency_code: "JPY", exchange_rate: "0.0053000000", charge_total: "1000" })
    expect(opportunity.items[0].unit_price).toBe("500")
    expect(await w.create(`/opportunities/${id}/costs`, { description: "Van", amount: "10" })).toMatchObject({
      charge_total: "1010"
    })
    await refused(w.post(`/opportunities/${id}/costs`, { description: "Van", amount: "10.50" }), "amount")
  })
  it("count added and changed costs in the total, but not optional ones", async () => {
    const misc = await w.opportunity()
    const first = await w.create(`/opportunities/${misc.id}/costs`, { description: "Sundries", amount: "50.00" })
    expect(first.costs[0]).toMatchObject({ transaction_type_label: "Service", quantity: "1.00", currency_code: "GBP" })
    const { id } = await w.deal()
    const costs = `/opportunities/${id}/costs`
    const added = await w.create(costs, { description: "Truck", cost_type: 0, amount: "30.00" })
    const cost = `${costs}/${added.costs[0].id}`
    expect((await w.amend(cost, { amount: "40.00" })).charge_total).toBe("140.00")
    expect((await w.amend(cost, { is_optional: true })).charge_total).toBe("100.00")
    expect((await w.patch(`/opportunities/${misc.id}/costs/${added.costs[0].id}`, { amount: 1 })).status).toBe(404)
    expect((await w.remove(cost)).body.opportunity.costs).toEqual([])
    await refused(
      w.post(costs, { amount: "-1", cost_type: 9, quantity: -1 }),
      "amount",
      "cost_type",
      "description",
      "quantity"
    )
  })
  it("accept each member as a participant only once", async () => {
    const member_id = await w.contact()
    const { id } = await w.opportunity()
    const made = await w.create(`/opportunities/${id}/participants`, { member_id, role: "Rigger" })
    expect(made).toMatchObject({ member_id, role: "Rigger", mute: false, member: { id: member_id } })
    for (const again of [member_id, 99_999])
      await refused(w.post(`/opportunities/${id}/participants`, { member_id: again }), "member_id")
    expect((await w.amend(`/opportunities/${id}/participants/${made.id}`, { role: null })).role).toBeNull()
  })
  it("are cloned as a separate draft, with manual prices and paths without gaps", async () => {
    const { id } = await w.opportunity({
      ...hire_dates,
      subject: "Original",
      reference: "R",
      prep_starts_at: "2026-08-30",
      use_chargeable_days: true,
      chargeable_days: "3"
    })
    const items = `/opportunities/${id}/items`
    await w.post(items, fifty_each)
    const [, doomed] = (await w.create(items, { item_type: "group", name: "Gone" })).items
    await w.post(items, { item_type: "group", name: "G" })
    await w.post(items, { ...fifty_each, parent_path: "0003" })
    await w.remove(`${items}/${doomed.id}`)
    await w.post(`/opportunities/${id}/costs`, { description: "Van", cost_type: 0, amount: "20.00" })
    await w.post(`/opportunities/${id}/convert_to_quotation`)
    const cloned = await w.post(`/opportunities/${id}/clone`)
    expect(cloned.status).toBe(201)
    expect(cloned.body.opportunity).toMatchObject({
      subject: "Original (cloned)",
      state: 0,
      source_opportunity_id: id,
      reference: "R",
      prep_starts_at: "2026-08-30T00:00:00.000Z",
      chargeable_days: "3.0",
      charge_total: "620.00",
      items: [{ path: "0001", unit_price: "50.00", total: "300.00" }, { path: "0002" }, { path: "00020001" }],
      costs: [{ amount: "20.00" }]
    })
    expect(cloned.body.opportunity.number).not.toBe((await w.show(`/opportunities/${id}`)).number)
    expect((await w.create(`/opportunities/${id}/clone`, { subject: "Mine" })).subject).toBe("Mine")
    const activity = await w.show(`/opportunities/${cloned.body.opportunity.id}/activity?per_page=100`)
    expect(activity.map((one) => one.action).toReversed()).toEqual([
      "opportunity.created",
      "opportunity.item_added",
      "opportunity.item_added",
      "opportunity.item_added",
      "opportunity.cost_added",
      "opportunity.cloned"
    ])
  })
  it("list changes in the activity with old and new values, newest first, and require action-log:read", async () => {
    const { id } = await w.opportunity({ subject: "Old", reference: "same" })
    await w.put(`/opportunities/${id}`, { subject: "New", reference: "same" })
    const [line] = (await w.create(`/opportunities/${id}/items`, fifty_each)).items
    await w.patch(`/opportunities/${id}/items/${line.id}`, { quantity: 3 })
    await w.post(`/opportunities/${id}/convert_to_quotation`)
    const { activity, meta } = (await w.get(`/opportunities/${id}/activity`)).body
    expect(meta).toEqual({ total: 5, per_page: 20, page: 1 })
    expect(activity.map((one: { action: string }) => one.action)).toEqual([
      "opportunity.quoted",
      "opportunity.item_quantity_changed",
      "opportunity.item_added",
      "opportunity.updated",
      "opportunity.created"
    ])
    expect(activity[0]).toMatchObject({
      old_values: { state: 0, status: 0 },
      new_values: { state: 1, status: 0 },
      user_id: 1,
      auditable_id: id,
      ip_address: null
    })
    expect(activity[1]).toMatchObject({
      old_values: { item_id: line.id, quantity: "2.00" },
      new_values: { item_id: line.id, quantity: "3.00", total: 15000 }
    })
    expect(await w.show(`/opportunities/${id}/activity?page=2&per_page=3`)).toHaveLength(2)
    const reader = viewerWith(["opportunities.view", "action-log.view"], ["opportunities:read"])
    expect((await w.get(`/opportunities/${id}/activity`, reader)).status).toBe(403)
  })
  it("list an update without changes in the activity with empty values, and keep the row (rules/opportunities 4)", async () => {
    const { id, reference, updated_at } = await w.opportunity({ reference: "same" })
    for (const body of [{}, { reference }, { unheard_of: 1, number: "7" }, { custom_fields: null }]) {
      const unchanged = await w.put(`/opportunities/${id}`, body)
      expect([unchanged.status, unchanged.body.opportunity.updated_at]).toEqual([200, updated_at])
    }
    const { activity } = (await w.get(`/opportunities/${id}/activity`)).body
    expect(activity.map((one: { action: string }) => one.action)).toEqual([
      ...Array(4).fill("opportunity.updated"),
      "opportunity.created"
    ])
    expect(activity[0]).toMatchObject({ old_values: {}, new_values: {}, user_id: 1, auditable_id: id })
    const { actions } = (await w.get(`/actions?q[auditable_type_eq]=opportunity&q[auditable_id_eq]=${id}`)).body
    expect(actions[0]).toMatchObject({ action: "opportunity.updated", old_values: {}, new_values: {} })
    // A rejected request adds no entry to the activity.
    await w.post(`/opportunities/${id}/convert_to_quotation`)
    await w.post(`/opportunities/${id}/change_status`, { status: 3 })
    await refused(w.put(`/opportunities/${id}`, {}), "state")
    expect((await w.show(`/opportunities/${id}/activity`))[0].action).toBe("opportunity.status_changed")
  })
  it("show the full cost before and after a change in the activity (rules/opportunities 15)", async () => {
    const { id } = await w.opportunity()
    const [cost] = (
      await w.create(`/opportunities/${id}/costs`, { description: "Van", cost_type: 0, amount: "20.00", quantity: 2 })
    ).costs
    expect(
      (await w.patch(`/opportunities/${id}/costs/${cost.id}`, { amount: "25.00", description: "Lorry" })).status
    ).toBe(200)
    const [entry] = await w.show(`/opportunities/${id}/activity`)
    const before = {
      cost_id: cost.id,
      description: "Van",
      cost_type: 0,
      amount: 2000,
      quantity: "2.00",
      transaction_type: cost.transaction_type,
      is_optional: false
    }
    expect(entry).toMatchObject({
      action: "opportunity.cost_updated",
      old_values: before,
      new_values: { ...before, description: "Lorry", amount: 2500 }
    })
    expect([entry.old_values, entry.new_values].map((values) => Object.keys(values ?? {}).toSorted())).toEqual([
      Object.keys(before).toSorted(),
      Object.keys(before).toSorted()
    ])
    const [action] = await w.show(
      `/actions?q[action_eq]=opportunity.cost_updated&q[auditable_id_eq]=${id}&q[auditable_type_eq]=opportunity`
    )
    expect(action).toMatchObject({
      old_values: { description: "Van", is_optional: false },
      new_values: { description: "Lorry", is_optional: false }
    })
    await w.patch(`/opportunities/${id}/costs/${cost.id}`, { is_optional: true })
    expect((await w.show(`/opportunities/${id}/activity`))[0]).toMatchObject({
      old_values: { description: "Lorry", amount: 2500, is_optional: false },
      new_values: { description: "Lorry", amount: 2500, is_optional: true }
    })
  })
  it("list available actions, and whether status and permissions allow each", async () => {
    const draft = await w.opportunity()
    const shape = await w.show(`/opportunities/${draft.id}/available_actions`)
    expect(shape.map((one) => one.key)).toEqual(
      words(`
      convert_to_quotation convert_to_order change_status reinstate reopen revert_to_quotation revert_to_draft
      unlock_locks clone dispatch delete
    `)
    )
    expect(shape[0]).toEqual({
      key: "convert_to_quotation",
      label: "Convert to Quotation",
      allowed: true,
      reason: null,
      code: null
    })
    expect(await allowedOf(draft.id)).toEqual(["convert_to_quotation", "change_status", ...always])
    const { id } = await w.deal(hire_dates)
    const to = (name: string, body?: object) => w.post(`/opportunities/${id}/${name}`, body)
    await to("convert_to_quotation")
    expect(await allowedOf(id)).toEqual(["convert_to_order", "change_status", "revert_to_draft", ...always])
    await to("change_status", { status: 4 })
    expect(await allowedOf(id)).toEqual(["convert_to_order", "change_status", "reinstate", ...always])
    await to("change_status", { status: 2 })
    expect(await allowedOf(id)).toEqual(["reinstate", ...always])
    expect((await actionsOf(id))["change_status"]).toMatchObject({ allowed: false, code: "invalid_state" })
    await to("reinstate")
    await to("convert_to_order")
    expect(await allowedOf(id)).toEqual(words("change_status revert_to_quotation unlock_locks clone dispatch delete"))
    expect((await actionsOf(id))["unlock_locks"]).toMatchObject({ label: "Unlock price" })
    await to("change_status", { status: 5 })
    expect(await allowedOf(id)).toEqual(["reopen", ...always])
    await w.post(`/opportunities/${draft.id}/deal_price`, { deal_total: 100 })
    expect((await actionsOf(draft.id))["unlock_locks"]).toMatchObject({
      label: "Lock price",
      allowed: false,
      code: "deal_price_active"
    })
    const seen = (await w.get(`/opportunities/${id}/available_actions`, viewerWith(["opportunities.view"], ["*"]))).body
      .available_actions
    expect(new Set(seen.map((one) => one.code))).toEqual(new Set(["permission_denied"]))
  })
  it("have the kept member as customer and owner after a merge of members", async () => {
    const [primary, double] = [await organisation(), await organisation({ name: "Acme Ltd" })]
    const { id } = await w.opportunity({ member_id: double.id, owned_by: double.id })
    expect((await w.post(`/members/${primary.id}/merge`, { secondary_id: double.id })).status).toBe(200)
    expect(await w.show(`/opportunities/${id}?include=member`)).toMatchObject({
      member: { id: primary.id },
      owned_by: primary.id
    })
  })
  it("store custom fields by name, validated and searchable (rules/conventions 3)", async () => {
    await w.create("/custom_fields", {
      name: "po_reference",
      module_type: "Opportunity",
      field_type: 0,
      is_searchable: true
    })
    const made = await w.opportunity({ custom_fields: { po_reference: "PO-77" } })
    expect(made.custom_fields).toMatchObject({ po_reference: "PO-77" })
    expect((await w.update(`/opportunities/${made.id}`, { custom_fields: null })).custom_fields).toMatchObject({
      po_reference: "PO-77"
    })
    expect(await w.show(`/opportunities?q[cf.po_reference_eq]=PO-77`)).toMatchObject([{ id: made.id }])
    await refused(
      w.post("/opportunities", { subject: "x", custom_fields: { nonsense: 1 } }),
      "nonsense",
      "custom_fields.nonsense"
    )
    expect((await w.create(`/opportunities/${made.id}/clone`)).custom_fields).toMatchObject({ po_reference: "PO-77" })
  })
  itFoldsAgain(w)
})
