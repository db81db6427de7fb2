import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type App, engines, openApp, viewerWith } from "../../app.ts"
import { fourDays, lineL, opportunity_path, opportunityFixture, type OpportunityFixture } from "./fixtures.ts"

describe.each(engines)("around opportunities on %s", (engine) => {
  let app: App
  let w: OpportunityFixture
  beforeAll(async () => {
    app = await openApp(engine)
    w = opportunityFixture(app)
  })
  afterAll(() => app.close())

  const organisation = (body: object = {}) =>
    w.made("/api/v1/members", { name: "Acme", membership_type: "organisation", ...body }, "member")
  const actionsOf = async (id: number) => {
    const { available_actions } = (await w.get(`${opportunity_path}/${id}/available_actions`)).body
    return Object.fromEntries(available_actions.map((one: { key: string }) => [one.key, one])) as { [key: string]: any }
  }
  const allowedOf = async (id: number) =>
    Object.values(await actionsOf(id))
      .filter((one) => one.allowed)
      .map((one) => one.key)
  const always = ["unlock_locks", "clone", "delete"]

  it("only live organisations are customers (scenario 7)", async () => {
    const contact = await w.made("/api/v1/members", { name: "Ann", membership_type: "contact" }, "member")
    const venue = await w.made("/api/v1/members", { name: "Hall", membership_type: "venue" }, "member")
    const gone = await organisation()
    await w.remove(`/api/v1/members/${gone.id}`)
    for (const member_id of [contact.id, venue.id, gone.id, 99_999]) {
      const refused = await w.post(opportunity_path, { subject: "x", member_id })
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ["member_id"]])
    }
    const { id } = await w.opportunity()
    expect((await w.put(`${opportunity_path}/${id}`, { member_id: contact.id })).body.errors.member_id).toHaveLength(1)
  })
  it("addresses must be the customer's, and are shown whole on request (scenarios 3, 13)", async () => {
    const [mine, other] = [await organisation(), await organisation({ name: "Other" })]
    const address = await w.made(`/api/v1/members/${mine.id}/addresses`, { street: "1 Road", city: "Leeds" }, "address")
    const foreign = await w.made(`/api/v1/members/${other.id}/addresses`, { street: "2 Road" }, "address")
    expect(
      (await w.post(opportunity_path, { subject: "x", member_id: mine.id, delivery_address_id: foreign.id })).body
        .errors
    ).toHaveProperty("delivery_address_id")
    expect(
      (await w.post(opportunity_path, { subject: "x", delivery_address_id: address.id })).body.errors
    ).toHaveProperty("delivery_address_id")
    const { id } = await w.opportunity({
      member_id: mine.id,
      delivery_address_id: address.id,
      collection_address_id: address.id
    })
    const shown = (await w.get(`${opportunity_path}/${id}?include=deliveryAddress,member,store,nonsense`)).body
      .opportunity
    expect(shown).toMatchObject({
      member: { id: mine.id, name: "Acme" },
      store: { id: 1 },
      delivery_address: { id: address.id, street: "1 Road", city: "Leeds" },
      collection_address: null,
      owner: null
    })
    expect((await w.get(`${opportunity_path}?q[id_eq]=${id}&include=member`)).body.opportunities[0].member).toEqual({
      id: mine.id,
      name: "Acme"
    })
  })
  it("a new customer changes the tax at once, unless it is locked", async () => {
    const [taxed, untaxed] = [await organisation({ sale_tax_class_id: 1 }), await organisation()]
    const product = await w.product({ stock_method: 1, tax_class_id: 1 })
    const { id } = await w.withLine({ ...fourDays, member_id: untaxed.id }, { ...lineL, item_id: product.id } as never)
    expect((await w.put(`${opportunity_path}/${id}`, { member_id: taxed.id })).body.opportunity).toMatchObject({
      tax_total: "80.00",
      items: [{ tax_rate: "20.00" }]
    })
    await w.post(`${opportunity_path}/${id}/lock_locks`)
    expect((await w.put(`${opportunity_path}/${id}`, { member_id: untaxed.id })).body.opportunity.tax_total).toBe(
      "80.00"
    )
  })
  it("another currency needs a known rate, kept as it was (rules/rates 9.5)", async () => {
    expect((await w.post(opportunity_path, { subject: "x", currency: "EUR" })).body.errors).toHaveProperty("currency")
    await w.made(
      "/api/v1/exchange_rates",
      { source_currency_code: "JPY", target_currency_code: "GBP", rate: "0.0053", effective_at: "2020-01-01" },
      "exchange_rate"
    )
    const { id } = await w.opportunity({ currency: "JPY", charge_total: "1250" })
    const opportunity = await w.made(
      `${opportunity_path}/${id}/items`,
      { name: "Lamp", unit_price: "500", quantity: 2 },
      "opportunity"
    )
    expect(opportunity).toMatchObject({ currency_code: "JPY", exchange_rate: "0.0053000000", charge_total: "1000" })
    expect(opportunity.items[0].unit_price).toBe("500")
    expect(
      (await w.post(`${opportunity_path}/${id}/costs`, { description: "Van", amount: "10" })).body.opportunity
    ).toMatchObject({ charge_total: "1010" })
    expect(
      (await w.post(`${opportunity_path}/${id}/costs`, { description: "Van", amount: "10.50" })).body.errors.amount
    ).toHaveLength(1)
  })
  it("costs count by their kind (scenarios 91, 93, 95)", async () => {
    const misc = await w.opportunity()
    const first = (
      await w.post(`${opportunity_path}/${misc.id}/costs`, { description: "Sundries", amount: "50.00", quantity: 2 })
    ).body.opportunity
    expect(first).toMatchObject({ service_charge_total: "100.00" })
    expect(first.costs[0]).toMatchObject({
      cost_type_label: "Miscellaneous",
      transaction_type_label: "Service",
      amount: "50.00",
      quantity: "2.00",
      currency_code: "GBP"
    })
    const member = await organisation({ sale_tax_class_id: 1 })
    const insured = await w.opportunity({ member_id: member.id })
    expect(
      (
        await w.post(`${opportunity_path}/${insured.id}/costs`, {
          description: "Cover",
          cost_type: 3,
          amount: "100.00"
        })
      ).body.opportunity
    ).toMatchObject({ tax_total: "20.00", charge_including_tax_total: "120.00", charge_total: "100.00" })
    const { id } = await w.withLine()
    const costs = `${opportunity_path}/${id}/costs`
    const added = (await w.post(costs, { description: "Truck", cost_type: 0, amount: "30.00" })).body.opportunity
    expect(added).toMatchObject({
      charge_total: "130.00",
      rental_charge_total: "100.00",
      transit_charge_total: "30.00"
    })
    expect(
      (await w.post(`${opportunity_path}/${id}/deal_price`, { deal_total: "200.00" })).body.opportunity
    ).toMatchObject({ charge_total: "200.00", transit_charge_total: "30.00" })
    await w.remove(`${opportunity_path}/${id}/deal_price`)
    const cost = `${costs}/${added.costs[0].id}`
    expect((await w.patch(cost, { amount: "40.00" })).body.opportunity.charge_total).toBe("140.00")
    expect((await w.patch(cost, { is_optional: true })).body.opportunity.charge_total).toBe("100.00")
    expect((await w.patch(`${opportunity_path}/${misc.id}/costs/${added.costs[0].id}`, { amount: 1 })).status).toBe(404)
    expect((await w.remove(cost)).body.opportunity.costs).toEqual([])
    expect(Object.keys((await w.post(costs, { amount: "-1", cost_type: 9, quantity: -1 })).body.errors).sort()).toEqual(
      ["amount", "cost_type", "description", "quantity"]
    )
  })
  it("surcharge groups that are on by default charge new opportunities, as a cost nobody edits (rules/billing 5)", async () => {
    const group = await w.made(
      "/api/v1/surcharge_groups",
      {
        name: "Fuel",
        default_enabled: true,
        surcharges: [{ name: "Fuel 10 %", calculation_type: "percentage", value: "10" }]
      },
      "surcharge_group"
    )
    const opportunity = await w.withLine(fourDays)
    expect(opportunity).toMatchObject({
      surcharge_group_ids: [group.id],
      charge_total: "440.00",
      service_charge_total: "40.00"
    })
    const [cost] = opportunity.costs
    expect(cost).toMatchObject({
      description: "Fuel 10 %",
      cost_type: 2,
      amount: "40.00",
      surcharge_id: group.surcharges[0].id
    })
    expect(
      (await w.patch(`${opportunity_path}/${opportunity.id}/costs/${cost.id}`, { amount: 1 })).body.errors.cost
    ).toHaveLength(1)
    const more = (await w.post(`${opportunity_path}/${opportunity.id}/items`, lineL)).body.opportunity
    expect(more.costs).toMatchObject([{ id: cost.id, amount: "80.00" }])
    const off = (await w.put(`${opportunity_path}/${opportunity.id}`, { surcharge_group_ids: [] })).body.opportunity
    expect(off).toMatchObject({ costs: [], charge_total: "800.00" })
    await w.put(`/api/v1/surcharge_groups/${group.id}`, { default_enabled: false })
  })
  it("discount rules named on the opportunity take their share off the lines (rules/billing 4)", async () => {
    const rule = await w.made(
      "/api/v1/discount_rules",
      { name: "Friends", discount_type: "percentage", discount_value: "25", criteria: {} },
      "discount_rule"
    )
    const { id } = await w.withLine({ ...fourDays, surcharge_group_ids: [] })
    const off = (await w.put(`${opportunity_path}/${id}`, { discount_rule_ids: [rule.id] })).body.opportunity
    expect(off).toMatchObject({ charge_total: "300.00", items: [{ unit_price: "50.00", total: "300.00" }] })
    await w.post(`${opportunity_path}/${id}/lock_locks`)
    expect((await w.put(`${opportunity_path}/${id}`, { discount_rule_ids: [] })).body.opportunity.charge_total).toBe(
      "300.00"
    )
    await w.post(`${opportunity_path}/${id}/unlock_locks`)
    expect(
      (await w.post(`${opportunity_path}/${id}/items`, { name: "x", unit_price: 0 })).body.opportunity.charge_total
    ).toBe("400.00")
  })
  it("participants are people with a role (scenario 97)", async () => {
    const person = await w.made("/api/v1/members", { name: "Bea", membership_type: "contact" }, "member")
    const { id } = await w.opportunity()
    const made = await w.post(`${opportunity_path}/${id}/participants`, { member_id: person.id, role: "Rigger" })
    expect([made.status, made.body.participant]).toMatchObject([
      201,
      { member_id: person.id, role: "Rigger", mute: false, member: { id: person.id, name: "Bea" } }
    ])
    const one = `${opportunity_path}/${id}/participants/${made.body.participant.id}`
    expect(
      (await w.post(`${opportunity_path}/${id}/participants`, { member_id: person.id })).body.errors.member_id
    ).toHaveLength(1)
    expect(
      (await w.post(`${opportunity_path}/${id}/participants`, { member_id: 99_999 })).body.errors.member_id
    ).toHaveLength(1)
    expect((await w.patch(one, { role: null, mute: true })).body.participant).toMatchObject({ role: null, mute: true })
    expect(
      (await w.get(`${opportunity_path}/${id}?include=participants,participants.member`)).body.opportunity.participants
    ).toMatchObject([{ member: { name: "Bea" } }])
    const other = await w.opportunity()
    expect(
      (await w.patch(`${opportunity_path}/${other.id}/participants/${made.body.participant.id}`, { mute: false }))
        .status
    ).toBe(404)
    expect((await w.remove(one)).status).toBe(204)
    expect((await w.get(`${opportunity_path}/${id}?include=participants`)).body.opportunity.participants).toEqual([])
  })
  it("a clone is a draft of its own, with prices agreed by hand and paths without gaps (scenario 57)", async () => {
    const { id } = await w.opportunity({
      ...fourDays,
      subject: "Original",
      reference: "R",
      prep_starts_at: "2026-08-30",
      use_chargeable_days: true,
      chargeable_days: "3"
    })
    const items = `${opportunity_path}/${id}/items`
    await w.post(items, lineL)
    const {
      items: [, doomed]
    } = await w.made(items, { item_type: "group", name: "Gone" }, "opportunity")
    await w.post(items, { item_type: "group", name: "G" })
    await w.post(items, { ...lineL, parent_path: "0003" })
    await w.remove(`${items}/${doomed.id}`)
    await w.post(`${opportunity_path}/${id}/costs`, { description: "Van", cost_type: 0, amount: "20.00" })
    await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
    const cloned = await w.post(`${opportunity_path}/${id}/clone`)
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
    expect(cloned.body.opportunity.number).not.toBe((await w.get(`${opportunity_path}/${id}`)).body.opportunity.number)
    expect((await w.post(`${opportunity_path}/${id}/clone`, { subject: "Mine" })).body.opportunity.subject).toBe("Mine")
    const activity = (await w.get(`${opportunity_path}/${cloned.body.opportunity.id}/activity?per_page=100`)).body
      .activity
    expect(activity.map((one: { action: string }) => one.action).toReversed()).toEqual([
      "opportunity.created",
      "opportunity.item_added",
      "opportunity.item_added",
      "opportunity.item_added",
      "opportunity.cost_added",
      "opportunity.cloned"
    ])
  })
  it("activity tells what was and what is, newest first, to those who may read it (scenario 125)", async () => {
    const { id } = await w.opportunity({ subject: "Old", reference: "same" })
    await w.put(`${opportunity_path}/${id}`, { subject: "New", reference: "same" })
    const {
      items: [line]
    } = await w.made(`${opportunity_path}/${id}/items`, lineL, "opportunity")
    await w.patch(`${opportunity_path}/${id}/items/${line.id}`, { quantity: 3 })
    await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
    const { activity, meta } = (await w.get(`${opportunity_path}/${id}/activity`)).body
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
    expect(activity[3]).toMatchObject({ old_values: { subject: "Old" }, new_values: { subject: "New" } })
    expect(Object.keys(activity[3].new_values)).toEqual(["subject"])
    expect((await w.get(`${opportunity_path}/${id}/activity?page=2&per_page=3`)).body.activity).toHaveLength(2)
    const reader = viewerWith(["opportunities.view", "action-log.view"], ["opportunities:read"])
    expect((await w.get(`${opportunity_path}/${id}/activity`, reader)).status).toBe(403)
  })
  it("an update that changes nothing is told with empty values, and leaves the row as it was (rules/opportunities 4)", async () => {
    const { id, reference, updated_at } = await w.opportunity({ reference: "same" })
    for (const body of [{}, { reference }, { unheard_of: 1, number: "7" }, { custom_fields: null }]) {
      const unchanged = await w.put(`${opportunity_path}/${id}`, body)
      expect([unchanged.status, unchanged.body.opportunity.updated_at]).toEqual([200, updated_at])
    }
    const { activity } = (await w.get(`${opportunity_path}/${id}/activity`)).body
    expect(activity.map((one: { action: string }) => one.action)).toEqual([
      ...Array(4).fill("opportunity.updated"),
      "opportunity.created"
    ])
    expect(activity[0]).toMatchObject({ old_values: {}, new_values: {}, user_id: 1, auditable_id: id })
    const { actions } = (await w.get(`/api/v1/actions?q[auditable_type_eq]=opportunity&q[auditable_id_eq]=${id}`)).body
    expect(actions[0]).toMatchObject({ action: "opportunity.updated", old_values: {}, new_values: {} })
    // A refused request is no entry of the activity.
    await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
    await w.post(`${opportunity_path}/${id}/change_status`, { status: 3 })
    expect((await w.put(`${opportunity_path}/${id}`, {})).body.errors).toHaveProperty("state")
    expect((await w.get(`${opportunity_path}/${id}/activity`)).body.activity[0].action).toBe(
      "opportunity.status_changed"
    )
  })
  it("activity tells all of a cost before and after a change, not only what changed (rules/opportunities 15)", async () => {
    const { id } = await w.opportunity()
    const {
      costs: [cost]
    } = (
      await w.post(`${opportunity_path}/${id}/costs`, {
        description: "Van",
        cost_type: 0,
        amount: "20.00",
        quantity: 2
      })
    ).body.opportunity
    expect(
      (await w.patch(`${opportunity_path}/${id}/costs/${cost.id}`, { amount: "25.00", description: "Lorry" })).status
    ).toBe(200)
    const [entry] = (await w.get(`${opportunity_path}/${id}/activity`)).body.activity
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
    expect([entry.old_values, entry.new_values].map((values) => Object.keys(values).toSorted())).toEqual([
      Object.keys(before).toSorted(),
      Object.keys(before).toSorted()
    ])
    const [action] = (
      await w.get(
        `/api/v1/actions?q[action_eq]=opportunity.cost_updated&q[auditable_id_eq]=${id}&q[auditable_type_eq]=opportunity`
      )
    ).body.actions
    expect(action).toMatchObject({
      old_values: { description: "Van", is_optional: false },
      new_values: { description: "Lorry", is_optional: false }
    })
    await w.patch(`${opportunity_path}/${id}/costs/${cost.id}`, { is_optional: true })
    expect((await w.get(`${opportunity_path}/${id}/activity`)).body.activity[0]).toMatchObject({
      old_values: { description: "Lorry", amount: 2500, is_optional: false },
      new_values: { description: "Lorry", amount: 2500, is_optional: true }
    })
  })
  it("available actions follow the status (scenarios 47, 49, 51)", async () => {
    const draft = await w.opportunity()
    const shape = (await w.get(`${opportunity_path}/${draft.id}/available_actions`)).body.available_actions
    expect(shape.map((one: { key: string }) => one.key)).toEqual([
      "convert_to_quotation",
      "convert_to_order",
      "change_status",
      "reinstate",
      "reopen",
      "revert_to_quotation",
      "revert_to_draft",
      "unlock_locks",
      "clone",
      "dispatch",
      "delete"
    ])
    expect(shape[0]).toEqual({
      key: "convert_to_quotation",
      label: "Convert to Quotation",
      allowed: true,
      reason: null,
      code: null
    })
    expect(await allowedOf(draft.id)).toEqual(["convert_to_quotation", "change_status", ...always])
    const { id } = await w.withLine(fourDays)
    const to = (name: string, body?: object) => w.post(`${opportunity_path}/${id}/${name}`, body)
    await to("convert_to_quotation")
    expect(await allowedOf(id)).toEqual(["convert_to_order", "change_status", "revert_to_draft", ...always])
    await to("change_status", { status: 4 })
    expect(await allowedOf(id)).toEqual(["convert_to_order", "change_status", "reinstate", ...always])
    await to("change_status", { status: 2 })
    expect(await allowedOf(id)).toEqual(["reinstate", ...always])
    expect((await actionsOf(id))["change_status"]).toMatchObject({ allowed: false, code: "invalid_state" })
    await to("reinstate")
    await to("convert_to_order")
    expect(await allowedOf(id)).toEqual([
      "change_status",
      "revert_to_quotation",
      "unlock_locks",
      "clone",
      "dispatch",
      "delete"
    ])
    expect((await actionsOf(id))["unlock_locks"]).toMatchObject({ label: "Unlock price" })
    await to("change_status", { status: 5 })
    expect(await allowedOf(id)).toEqual(["reopen", ...always])
    await w.post(`${opportunity_path}/${draft.id}/deal_price`, { deal_total: 100 })
    expect((await actionsOf(draft.id))["unlock_locks"]).toMatchObject({
      label: "Lock price",
      allowed: false,
      code: "deal_price_active"
    })
    const seen = (await w.get(`${opportunity_path}/${id}/available_actions`, viewerWith(["opportunities.view"], ["*"])))
      .body.available_actions
    expect(new Set(seen.map((one: { code: string }) => one.code))).toEqual(new Set(["permission_denied"]))
  })
  it("after a merge the primary member is the customer", async () => {
    const [primary, double] = [await organisation(), await organisation({ name: "Acme Ltd" })]
    const { id } = await w.opportunity({ member_id: double.id, owned_by: double.id })
    expect((await w.post(`/api/v1/members/${primary.id}/merge`, { secondary_id: double.id })).status).toBe(200)
    expect((await w.get(`${opportunity_path}/${id}?include=member`)).body.opportunity).toMatchObject({
      member: { id: primary.id },
      owned_by: primary.id
    })
  })
  it("custom fields are kept by name, checked, and searched (rules/conventions 3)", async () => {
    await w.made(
      "/api/v1/custom_fields",
      { name: "po_reference", module_type: "Opportunity", field_type: 0, is_searchable: true },
      "custom_field"
    )
    const made = await w.opportunity({ custom_fields: { po_reference: "PO-77" } })
    expect(made.custom_fields).toMatchObject({ po_reference: "PO-77" })
    expect(
      (await w.put(`${opportunity_path}/${made.id}`, { custom_fields: null })).body.opportunity.custom_fields
    ).toMatchObject({ po_reference: "PO-77" })
    expect((await w.get(`${opportunity_path}?q[cf.po_reference_eq]=PO-77`)).body.opportunities).toMatchObject([
      { id: made.id }
    ])
    expect(
      (await w.post(opportunity_path, { subject: "x", custom_fields: { nonsense: 1 } })).body.errors
    ).toHaveProperty("nonsense")
    expect((await w.post(`${opportunity_path}/${made.id}/clone`)).body.opportunity.custom_fields).toMatchObject({
      po_reference: "PO-77"
    })
  })
  it("a kit claims what it is made of, and its own count is what the parts allow", async () => {
    const [kit, part] = [await w.product({ stock_method: 1 }), await w.product({ stock_method: 1 })]
    const [level] = (await w.get(`/api/v1/products/${part.id}?include=stock_levels`)).body.product.stock_levels
    await w.put(`/api/v1/stock_levels/${level.id}`, { quantity_held: 7 })
    await w.made(`/api/v1/products/${kit.id}/components`, { component_product_id: part.id, quantity: 2 }, "component")
    const { id } = await w.withLine({ starts_at: "2032-05-01", ends_at: "2032-05-03" }, {
      name: "Kit",
      item_id: kit.id,
      quantity: 2
    } as never)
    await w.post(`${opportunity_path}/${id}/convert_to_quotation`)
    expect((await w.post(`${opportunity_path}/${id}/convert_to_order`)).body.opportunity.has_shortage).toBe(false)
    expect((await w.get(`${opportunity_path}/${id}/availability`)).body.availability).toMatchObject([
      { product_id: kit.id, available_for_item: 3, shortage_quantity: 0 }
    ])
    const more = (await w.post(`${opportunity_path}/${id}/items`, { name: "Kit", item_id: kit.id, quantity: 2 })).body
      .opportunity
    expect(more.has_shortage).toBe(true)
    expect((await w.remove(`${opportunity_path}/${id}/items/${more.items[1].id}`)).body.opportunity.has_shortage).toBe(
      false
    )
  })
  it("folding the journal again gives the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})
