/** Header, numbers, moves, allowed actions, deleting, cloning, locks. */
import { expect } from "vitest"
import { fourDays, fifty_each, opp, type Scenario, scenario } from "../opportunity-scenarios.ts"
import { refusedOn } from "../calling.ts"
import type { AuditEntry } from "../../../core/people/activity-log.ts"

export const headerScenarios = (): ReadonlyArray<Scenario> => [
  scenario(1, "an opportunity is created as an open draft without a charge", async (s) => {
    const reply = await s.post(opp, { subject: s.subject, reference: "PO-555" })
    expect(reply.status).toBe(201)
    expect(reply.body.opportunity).toMatchObject({
      state: 0,
      status: 0,
      state_label: "Draft",
      state_name: "Draft",
      status_label: "Open",
      charge_total: "0.00",
      pricing_locked: false,
      active_version_id: 0,
      version_count: 0
    })
    s.later(async ({ ask }) => {
      const { activity, meta } = (await ask("GET", `${opp}/${reply.body.opportunity.id}/activity`)).body
      expect([activity.map((one: AuditEntry) => one.action), meta.total]).toEqual([["opportunity.created"], 1])
    })
  }),
  scenario(3, "an opportunity is created with a start, chargeable days, a rating and tags", async (s) => {
    const member = await s.made("/api/v1/members", { name: "Org 3", membership_type: "organisation" }, "member")
    const address = (street: string) => s.made(`/api/v1/members/${member.id}/addresses`, { street }, "address")
    const [one, other] = [await address("One"), await address("Two")]
    const reply = await s.post(opp, {
      subject: s.subject,
      member_id: member.id,
      starts_at: "2026-07-01T08:00:00Z",
      chargeable_days: "5",
      use_chargeable_days: true,
      rating: 4,
      tag_list: ["vip", "festival"],
      delivery_address_id: one.id,
      collection_address_id: other.id
    })
    expect(reply.body).toMatchObject({
      opportunity: {
        starts_at: "2026-07-01T08:00:00.000Z",
        chargeable_days: "5.0",
        rating: 4,
        tag_list: ["vip", "festival"]
      },
      meta: { can_edit: true, can_destroy: true }
    })
  }),
  scenario(5, "a total is accepted as text or as minor units", async (s) => {
    for (const charge_total of ["125.50", 12550]) expect((await s.deal({ charge_total })).charge_total).toBe("125.50")
  }),
  scenario(7, "contacts, venues and users cannot be customers", async (s) => {
    for (const membership_type of ["contact", "venue"]) {
      const member = await s.made("/api/v1/members", { name: `${membership_type} 7`, membership_type }, "member")
      refusedOn(await s.post(opp, { subject: s.subject, member_id: member.id }), "member_id")
    }
    const [user] = (await s.get("/api/v1/members?q[membership_type_eq]=user")).body.members
    refusedOn(await s.post(opp, { subject: s.subject, member_id: user.id }), "member_id")
    expect((await s.get(`${opp}?q[subject_eq]=${s.subject}`)).body.meta.total).toBe(0)
  }),
  scenario(8, "contacts can be customers if the setting allows it", async (s) => {
    const of = async (membership_type: string) => {
      const body = { name: `${membership_type} 8`, membership_type }
      return s.post(opp, { subject: s.subject, member_id: (await s.made("/api/v1/members", body, "member")).id })
    }
    const let_hire = (contacts_as_customers: boolean) =>
      s.put("/api/v1/settings/opportunities", { settings: { contacts_as_customers } })
    if ((await let_hire(true)).status !== 200) return
    const { opportunity } = (await of("contact")).body
    expect((await s.post(`${opp}/${opportunity.id}/clone`)).status).toBe(201)
    refusedOn(await of("venue"), "member_id")
    await let_hire(false)
    refusedOn(await of("contact"), "member_id")
    refusedOn(await s.post(`${opp}/${opportunity.id}/clone`), "member_id")
  }),
  scenario(9, "a token with read abilities cannot create an opportunity", async (s) => {
    if (s.somebody === undefined || s.nobody === undefined) return
    const reads = await s.somebody(["opportunities.view", "opportunities.create"], ["opportunities:read"])
    expect((await reads("POST", opp, { subject: s.subject })).status).toBe(403)
    expect((await (await s.somebody(["opportunities.view"], ["members:read"]))("GET", opp)).status).toBe(403)
    expect((await s.nobody("GET", opp)).status).toBe(401)
  }),
  scenario(11, "opportunities are filtered by state", async (s) => {
    const [, quote, order] = [await s.deal(), await s.deal(), await s.withLine()]
    await s.quoted(quote.id)
    await s.ordered(order.id)
    expect((await s.get(`${opp}?q[state_eq]=1&q[subject_eq]=${s.subject}`)).body).toMatchObject({
      meta: { total: 1 },
      opportunities: [{ id: quote.id, state: 1 }]
    })
  }),
  scenario(13, "the customer is included on request", async (s) => {
    const member = await s.made("/api/v1/members", { name: "Org 13", membership_type: "organisation" }, "member")
    await s.deal({ member_id: member.id })
    expect((await s.get(`${opp}?include=member&q[subject_eq]=${s.subject}`)).body.opportunities[0].member).toEqual({
      id: member.id,
      name: "Org 13"
    })
  }),
  scenario(15, "a saved view limits the list to its columns", async (s) => {
    await s.made(
      "/api/v1/custom_fields",
      { name: "po_reference", module_type: "Opportunity", field_type: 0 },
      "custom_field"
    )
    await s.made("/api/v1/custom_fields", { name: "colour", module_type: "Opportunity", field_type: 0 }, "custom_field")
    const { id } = await s.deal({ reference: "PO-15", custom_fields: { po_reference: "PO-15", colour: "red" } })
    const through = async (columns: ReadonlyArray<string>) => {
      const view = await s.made(
        "/api/v1/custom_views",
        { name: "V", entity_type: "opportunities", columns },
        "custom_view"
      )
      const { opportunities, meta } = (await s.get(`${opp}?view_id=${view.id}&q[subject_eq]=${s.subject}`)).body
      expect(meta).toEqual({ total: 1, per_page: 20, page: 1, view: { id: view.id, name: "V" } })
      return opportunities
    }
    expect(await through(["subject", "reference"])).toEqual([{ id, subject: s.subject, reference: "PO-15" }])
    expect(await through(["subject", "cf.po_reference"])).toEqual([
      { id, subject: s.subject, custom_fields: { po_reference: "PO-15" } }
    ])
  }),
  scenario(17, "lines are included only on request", async (s) => {
    const product = await s.product()
    const unit = await s.unit(product.id)
    const {
      id,
      items: [line]
    } = await s.withLine({}, { name: "Unit", item_id: product.id, quantity: 2, unit_price: "75.00" })
    expect(
      (
        await s.post(`${opp}/${id}/quick_allocate`, {
          allocations: [{ opportunity_item_id: line.id, stock_level_id: unit.id }]
        })
      ).status
    ).toBe(200)
    expect((await s.get(`${opp}/${id}`)).body.opportunity.items).toBeNull()
    expect((await s.shown(id, "items.assets")).items).toMatchObject([
      {
        unit_price: "75.00",
        total: "150.00",
        quantity: "2.00",
        charge_period_label: "Day",
        transaction_type_label: "Rental",
        assets: [{ status_label: "Allocated" }]
      }
    ])
  }),
  scenario(19, "each store has its own number series", async (s) => {
    const store = await s.made("/api/v1/stores", { name: "Store 19" }, "store")
    const ids = [(await s.deal({ store_id: store.id })).id, (await s.deal({ store_id: store.id })).id]
    s.later(async ({ ask }) => {
      const numbers = await Promise.all(
        ids.map(async (id) => (await ask("GET", `${opp}/${id}`)).body.opportunity.number)
      )
      expect(numbers).toEqual(["0000000001", "0000000002"])
    })
  }),
  scenario(21, "stores share one number series if the setting says so", async (s) => {
    await s.put("/api/v1/settings/opportunities", { settings: { number_scope: "global" } })
    const stores = [
      await s.made("/api/v1/stores", { name: "A 21" }, "store"),
      await s.made("/api/v1/stores", { name: "B 21" }, "store")
    ]
    const ids: Array<number> = []
    for (const store of stores) ids.push((await s.deal({ store_id: store.id })).id)
    await s.put("/api/v1/settings/opportunities", { settings: { number_scope: "store" } })
    s.later(async ({ ask }) => {
      const numbers = await Promise.all(
        ids.map(async (id) => Number((await ask("GET", `${opp}/${id}`)).body.opportunity.number))
      )
      expect(numbers[1]! - numbers[0]!).toBe(1)
    })
  }),
  scenario(23, "an update changes only the given fields", async (s) => {
    const { id } = await s.deal({ reference: "PO-KEEP" })
    expect((await s.put(`${opp}/${id}`, { subject: `${s.subject} new` })).body.opportunity).toMatchObject({
      subject: `${s.subject} new`,
      reference: "PO-KEEP"
    })
    s.later(async ({ ask }) => {
      const [entry] = (await ask("GET", `${opp}/${id}/activity`)).body.activity
      expect(entry).toMatchObject({
        action: "opportunity.updated",
        old_values: { subject: s.subject },
        new_values: { subject: `${s.subject} new` }
      })
      expect([Object.keys(entry.old_values), Object.keys(entry.new_values)]).toEqual([["subject"], ["subject"]])
    })
  }),
  scenario(25, "a subject cannot be cleared", async (s) =>
    refusedOn(await s.put(`${opp}/${(await s.deal()).id}`, { subject: null }), "subject")
  ),
  scenario(27, "tags are kept by other changes, and cleared by an empty list", async (s) => {
    const { id } = await s.deal({ tag_list: ["keep"] })
    expect((await s.put(`${opp}/${id}`, { reference: "r" })).body.opportunity.tag_list).toEqual(["keep"])
    expect((await s.put(`${opp}/${id}`, { tag_list: [] })).body.opportunity.tag_list).toEqual([])
  }),
  scenario(29, "a closed opportunity refuses changes", async (s) => {
    const { id } = await s.deal()
    await s.quoted(id)
    await s.move(id, "change_status", { status: 3 })
    refusedOn(await s.put(`${opp}/${id}`, { subject: "x" }), "state")
  }),
  scenario(31, "a draft becomes a quotation", async (s) => {
    const { id } = await s.deal()
    expect((await s.quoted(id)).body.opportunity).toMatchObject({ state: 1, status: 0 })
    expect((await s.quoted(id)).status).toBe(422)
  }),
  scenario(33, "a quotation becomes an order", async (s) => {
    const { id } = await s.withLine()
    await s.quoted(id)
    expect((await s.move(id, "convert_to_order", { shortage_notes: "ok" })).body.opportunity).toMatchObject({
      state: 2,
      status: 0,
      exchange_rate_locked: true,
      tax_locked: true,
      pricing_locked: true
    })
  }),
  scenario(35, "a quotation is reserved", async (s) => {
    const { id } = await s.deal()
    await s.quoted(id)
    // An active order reserves its stock (rules/rulings 1).
    expect((await s.move(id, "change_status", { status: 1 })).body.opportunity).toMatchObject({
      status: 1,
      status_label: "Reserved",
      availability_phase: "reserved"
    })
  }),
  scenario(37, "a lost quotation cannot be reserved", async (s) => {
    const { id } = await s.deal()
    await s.quoted(id)
    await s.move(id, "change_status", { status: 2 })
    expect((await s.move(id, "change_status", { status: 1 })).status).toBe(422)
  }),
  scenario(
    39,
    "a completed order can be reopened, but no active or cancelled order and no lost quotation",
    async (s) => {
      const { id } = await s.withLine()
      await s.ordered(id)
      expect((await s.move(id, "reopen")).status).toBe(422)
      await s.move(id, "change_status", { status: 5 })
      expect((await s.move(id, "reopen")).body.opportunity).toMatchObject({ state: 2, status: 0 })
      await s.move(id, "change_status", { status: 6 })
      expect((await s.move(id, "reopen")).status).toBe(422)
      const lost = await s.deal()
      await s.quoted(lost.id)
      await s.move(lost.id, "change_status", { status: 2 })
      expect((await s.move(lost.id, "reopen")).status).toBe(422)
    }
  ),
  scenario(45, "a user or token that may not edit cannot convert, reinstate, reopen or revert", async (s) => {
    const { id } = await s.withLine()
    if (s.somebody === undefined) return
    const viewer = await s.somebody(["opportunities.view"], ["opportunities:write"])
    const reader = await s.somebody(["opportunities.view", "opportunities.edit"], ["opportunities:read"])
    for (const name of [
      "convert_to_quotation",
      "convert_to_order",
      "reinstate",
      "reopen",
      "revert_to_quotation",
      "revert_to_draft"
    ]) {
      for (const ask of [viewer, reader])
        expect([name, (await ask("POST", `${opp}/${id}/${name}`, {})).status]).toEqual([name, 403])
    }
  }),
  scenario(47, "an undispatched order offers to revert to a quotation and to unlock, and not to reopen", async (s) => {
    const { id } = await s.withLine()
    await s.ordered(id)
    expect(await s.actions(id)).toMatchObject({
      revert_to_quotation: { allowed: true },
      unlock_locks: { allowed: true },
      revert_to_draft: { allowed: false, code: "invalid_state" },
      reopen: { allowed: false }
    })
  }),
  scenario(49, "a lost quotation offers to be reinstated, and no change of status", async (s) => {
    const { id } = await s.deal()
    await s.quoted(id)
    await s.move(id, "change_status", { status: 2 })
    expect(await s.actions(id)).toMatchObject({
      reinstate: { allowed: true },
      change_status: { allowed: false, code: "invalid_state" }
    })
  }),
  scenario(51, "an opportunity with a deal price offers no unlocking of prices", async (s) => {
    const { id } = await s.withLine()
    await s.move(id, "deal_price", { deal_total: "10.00" })
    expect(await s.actions(id)).toMatchObject({ unlock_locks: { allowed: false, code: "deal_price_active" } })
  }),
  scenario(55, "an opportunity is deleted and restored", async (s) => {
    const { id } = await s.deal()
    expect((await s.remove(`${opp}/${id}`)).status).toBe(204)
    expect((await s.get(`${opp}/${id}`)).status).toBe(404)
    expect((await s.move(id, "restore")).body.opportunity.id).toBe(id)
    expect((await s.move(id, "restore")).status).toBe(200)
    expect((await s.get(`${opp}?q[subject_eq]=${s.subject}`)).body.meta.total).toBe(1)
    expect((await s.move(9_999_999, "restore")).status).toBe(404)
    if (s.somebody !== undefined) {
      expect(
        (await (await s.somebody(["opportunities.edit"], ["opportunities:write"]))("POST", `${opp}/${id}/restore`, {}))
          .status
      ).toBe(403)
    }
    s.later(async ({ ask }) =>
      expect((await ask("GET", `${opp}/${id}/activity`)).body.activity.map((one: AuditEntry) => one.action)).toEqual([
        "opportunity.restored",
        "opportunity.deleted",
        "opportunity.created"
      ])
    )
  }),
  scenario(57, "a clone has line paths without gaps", async (s) => {
    const { id } = await s.deal()
    const add = (body: object) => s.made(`${opp}/${id}/items`, body, "opportunity")
    await add(fifty_each)
    const {
      items: [, gone]
    } = await add({ name: "Gone" })
    await add({ item_type: "group", name: "Three" })
    await add({ name: "Below", parent_path: "0003" })
    await s.remove(`${opp}/${id}/items/${gone!.id}`)
    expect((await s.shown(id)).items.map((one) => one.path)).toEqual(["0001", "0003", "00030001"])
    expect((await s.move(id, "clone")).body.opportunity.items.map((one) => one.path)).toEqual([
      "0001",
      "0002",
      "00020001"
    ])
  }),
  scenario(59, "a lost quotation can be deleted and not edited", async (s) => {
    const { id } = await s.deal()
    await s.quoted(id)
    await s.move(id, "change_status", { status: 2 })
    expect((await s.get(`${opp}/${id}`)).body.meta).toEqual({ can_edit: false, can_destroy: true })
  }),
  scenario(61, "a deal price replaces the charge total", async (s) => {
    const { id } = await s.withLine(fourDays)
    expect((await s.move(id, "deal_price", { deal_total: "75.00" })).body.opportunity).toMatchObject({
      charge_total: "75.00",
      deal_total: "75.00",
      charge_excluding_tax_total: "75.00"
    })
    expect((await s.remove(`${opp}/${id}/deal_price`)).body.opportunity).toMatchObject({
      charge_total: "400.00",
      deal_total: null
    })
  }),
  scenario(63, "a deal price is refused until the order is unlocked", async (s) => {
    const { id } = await s.withLine()
    await s.ordered(id)
    refusedOn(await s.move(id, "deal_price", { deal_total: "123.45" }), "opportunity")
    expect((await s.shown(id)).deal_total).toBeNull()
    await s.move(id, "unlock_locks")
    expect((await s.move(id, "deal_price", { deal_total: "123.45" })).body.opportunity.charge_total).toBe("123.45")
  })
]
