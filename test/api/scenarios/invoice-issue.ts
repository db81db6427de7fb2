/** Issuing and voiding: numbers, due dates, frozen values, permissions. */
import { expect } from "vitest"
import { invoices, opp, type Scenario, scenario } from "../billing-scenarios.ts"
import { refusedOn } from "../calling.ts"

export const issueScenarios = (): ReadonlyArray<Scenario> => [
  scenario(30, "issuing assigns a number, a date and a due date", async (s) => {
    const { id } = await s.draft()
    const reply = await s.issue(id)
    expect(reply.status).toBe(200)
    expect(reply.body.invoice).toMatchObject({
      status: "issued",
      issued_at: "2031-06-18T12:00:00.000Z",
      due_at: "2031-07-18T12:00:00.000Z",
      paid_at: null,
      amount_outstanding: "120.00"
    })
    s.later(async ({ ask }) => {
      const { invoice } = (await ask("GET", `${invoices}/${id}`)).body
      expect(invoice.number).toMatch(/^\d{10}$/)
    })
  }),
  scenario(31, "issuing numbers invoices in the order of issue", async (s) => {
    const drafts = [await s.draft(), await s.draft(), await s.draft()]
    for (const { id } of drafts.toReversed()) await s.issue(id)
    s.later(async ({ ask }) => {
      const numbers: Array<number> = []
      for (const { id } of drafts.toReversed())
        numbers.push(Number((await ask("GET", `${invoices}/${id}`)).body.invoice.number))
      const [first = 0] = numbers
      expect(numbers).toEqual([first, first + 1, first + 2])
    })
  }),
  scenario(32, "a refused issue uses no number", async (s) => {
    const [one, empty, other] = [await s.draft(), await s.draft({ items: [] }), await s.draft()]
    await s.issue(one.id)
    refusedOn(await s.issue(empty.id), "items")
    await s.issue(other.id)
    s.later(async ({ ask }) => {
      const number = async (id: number) => Number((await ask("GET", `${invoices}/${id}`)).body.invoice.number)
      expect(await number(other.id)).toBe((await number(one.id)) + 1)
    })
  }),
  scenario(33, "proformas have numbers of their own, and can be voided", async (s) => {
    const { id } = await s.draft({ type: "proforma" })
    expect((await s.issue(id)).body.invoice.status).toBe("issued")
    expect((await s.post(`${invoices}/${id}/void`)).body.invoice.status).toBe("voided")
    s.later(async ({ ask }) => {
      expect((await ask("GET", `${invoices}/${id}`)).body.invoice.number).toBe("0000000001")
    })
  }),
  scenario(34, "issuing refuses a date of issue in the future and a due date in the past", async (s) => {
    const early = await s.draft()
    refusedOn(await s.issue(early.id, { issued_at: "2031-06-18T12:05:01Z" }), "issued_at")
    refusedOn(await s.issue(early.id, { due_at: "2031-06-17T00:00:00Z" }), "due_at")
    const backdated = (await s.issue(early.id, { issued_at: "2031-06-01T00:00:00Z" })).body.invoice
    expect([backdated.issued_at, backdated.due_at]).toEqual(["2031-06-01T00:00:00.000Z", "2031-07-01T00:00:00.000Z"])
    const dated = await s.draft({ due_at: "2031-12-24" })
    expect((await s.issue(dated.id)).body.invoice.due_at).toBe("2031-12-24T00:00:00.000Z")
    const terms = await s.draft({ payment_terms_days: 0 })
    expect((await s.issue(terms.id)).body.invoice.due_at).toBe("2031-06-18T12:00:00.000Z")
  }),
  scenario(35, "issuing marks an invoice of zero as paid", async (s) => {
    const { id } = await s.draft({ items: [{ name: "Free", unit_price: "0.00" }] })
    expect((await s.issue(id)).body.invoice).toMatchObject({
      status: "paid",
      paid_at: "2031-06-18T12:00:00.000Z",
      amount_outstanding: "0.00"
    })
  }),
  scenario(36, "an issued invoice cannot be changed, deleted or issued again", async (s) => {
    const { id } = await s.issued()
    refusedOn(await s.put(`${invoices}/${id}`, { subject: "Other" }), "status")
    refusedOn(await s.remove(`${invoices}/${id}`), "status")
    refusedOn(await s.issue(id), "status")
    expect((await s.shown(id)).subject).toBe(s.name)
  }),
  scenario(37, "an invoice of an archived customer cannot be issued", async (s) => {
    const member = await s.customer()
    const { id } = await s.draft({ member_id: member.id })
    await s.remove(`/api/v1/members/${member.id}`)
    refusedOn(await s.issue(id), "member_id")
    expect((await s.shown(id)).status).toBe("draft")
  }),
  scenario(38, "a customer on stop can be billed", async (s) => {
    const member = await s.customer({ is_on_stop: true })
    expect((await s.issued({ member_id: member.id })).status).toBe("issued")
  }),
  scenario(39, "a voided invoice keeps its number", async (s) => {
    const { id } = await s.issued()
    const { body, status } = await s.post(`${invoices}/${id}/void`, { reason: "Wrong customer" })
    expect(status).toBe(200)
    expect(body.invoice).toMatchObject({
      status: "voided",
      status_name: "Voided",
      void_reason: "Wrong customer",
      voided_at: "2031-06-18T12:00:00.000Z",
      amount_outstanding: "0.00",
      total: "120.00"
    })
    for (const reply of [
      await s.post(`${invoices}/${id}/void`),
      await s.issue(id),
      await s.remove(`${invoices}/${id}`)
    ])
      refusedOn(reply, "status")
    s.later(async ({ ask }) => {
      expect((await ask("GET", `${invoices}/${id}`)).body.invoice.number).toMatch(/^\d{10}$/)
      const found = (await ask("GET", `${invoices}?q[status_eq]=void&q[id_eq]=${id}`)).body
      expect(found.meta.total).toBe(1)
    })
  }),
  scenario(40, "a draft invoice cannot be voided", async (s) => {
    const { id } = await s.draft()
    refusedOn(await s.post(`${invoices}/${id}/void`), "status")
    refusedOn(await s.post(`${invoices}/${id}/void`, { reason: "x".repeat(1001) }), "reason")
  }),
  scenario(41, "an invoice of zero can be voided", async (s) => {
    const { id } = await s.issued({ items: [{ name: "Free", unit_price: "0.00" }] })
    expect((await s.post(`${invoices}/${id}/void`)).body.invoice).toMatchObject({ status: "voided", paid_at: null })
  }),
  scenario(42, "an opportunity is marked as invoiced until its last invoice is voided", async (s) => {
    const deal = await s.deal()
    const flag = async () => (await s.get(`${opp}/${deal.id}`)).body.opportunity.invoiced
    const bill = async (type: string) => {
      const { id } = await s.billed(deal.id, { type })
      await s.issue(id)
      return id
    }
    await bill("deposit")
    await bill("proforma")
    expect(await flag()).toBe(false)
    const [one, other] = [await s.billed(deal.id), await s.billed(deal.id)]
    expect(await flag()).toBe(false)
    await s.issue(one.id)
    expect(await flag()).toBe(true)
    await s.put(`${invoices}/${other.id}`, { items: other.items.slice(0, 1).map(({ id }) => ({ id })) })
    expect((await s.issue(other.id, { allow_overbilling: true })).status).toBe(200)
    await s.post(`${invoices}/${one.id}/void`)
    expect(await flag()).toBe(true)
    await s.post(`${invoices}/${other.id}/void`)
    expect(await flag()).toBe(false)
  }),
  scenario(43, "an invoice past its due date is overdue until it is paid or voided", async (s) => {
    const { id } = await s.draft()
    const soon = (await s.issue(id, { issued_at: "2031-05-01T00:00:00Z" })).body.invoice
    expect([soon.due_at, soon.is_overdue]).toEqual(["2031-05-31T00:00:00.000Z", true])
    const found = async (filter: string) => (await s.get(`${invoices}?q[id_eq]=${id}&${filter}`)).body.meta.total
    expect([await found("q[is_overdue_true]=1"), await found("q[is_overdue_false]=1")]).toEqual([1, 0])
    expect([await found("q[is_overdue_eq]=true"), await found("q[is_overdue_eq]=false")]).toEqual([1, 0])
    await s.post(`${invoices}/${id}/void`)
    expect((await s.shown(id)).is_overdue).toBe(false)
    expect([await found("q[is_overdue_true]=1"), await found("q[is_overdue_false]=1")]).toEqual([0, 1])
    const paid = (await s.issue((await s.draft()).id, { issued_at: "2031-05-01T00:00:00Z" })).body.invoice
    for (const [amount, is_overdue] of [
      ["20.00", true],
      ["100.00", false]
    ])
      expect((await s.post(`${invoices}/${paid.id}/payments`, { amount })).body.invoice.is_overdue).toBe(is_overdue)
  }),
  scenario(44, "actions on invoices need permissions and abilities", async (s) => {
    const { id } = await s.draft()
    const deal = await s.deal()
    if (s.somebody === undefined) {
      // A device has one user, so the owner does the same.
      await s.issue(id)
      await s.billed(deal.id)
      return
    }
    const able = ["invoices:read", "invoices:write"]
    const reader = await s.somebody(["invoices.view"], able)
    expect((await reader("GET", `${invoices}/${id}`)).status).toBe(200)
    for (const [method, path] of [
      ["POST", invoices],
      ["PUT", `${invoices}/${id}`],
      ["DELETE", `${invoices}/${id}`],
      ["POST", `${invoices}/${id}/issue`],
      ["POST", `${invoices}/${id}/void`]
    ] as const)
      expect([path, (await reader(method, path, {})).status]).toEqual([path, 403])
    const issuer = await s.somebody(["invoices.issue"], able)
    expect((await issuer("GET", `${invoices}/${id}`)).status).toBe(403)
    expect((await issuer("POST", `${invoices}/${id}/issue`, {})).status).toBe(200)
    const unable = await s.somebody(["invoices.view", "invoices.void"], ["invoices:read"])
    expect((await unable("POST", `${invoices}/${id}/void`, {})).status).toBe(403)
    const biller = await s.somebody(["invoices.create"], able)
    expect((await biller("POST", `${opp}/${deal.id}/invoices`, {})).status).toBe(403)
    const seller = await s.somebody(["invoices.create", "opportunities.view"], able)
    expect((await seller("POST", `${opp}/${deal.id}/invoices`, {})).status).toBe(201)
    expect((await s.nobody?.("GET", invoices))?.status).toBe(401)
  }),
  scenario(45, "an issued invoice accepts custom fields in a change, and refuses notes", async (s) => {
    const { id } = await s.issued()
    const { status, body } = await s.put(`${invoices}/${id}`, { custom_fields: {} })
    expect([status, body.invoice.status]).toEqual([200, "issued"])
    refusedOn(await s.put(`${invoices}/${id}`, { custom_fields: {}, notes: "x" }), "status")
  }),
  scenario(46, "a draft keeps its tax rates after tax rules change", async (s) => {
    const { id, items } = await s.draft()
    const rate = await s.made("/api/v1/tax_rates", { name: `${s.name} rate`, rate: "25" }, "tax_rate")
    const rule = await s.made(
      "/api/v1/tax_rules",
      { organisation_tax_class_id: 1, product_tax_class_id: 1, tax_rate_id: rate.id, priority: 9 },
      "tax_rule"
    )
    const changed = await s.put(`${invoices}/${id}`, { items: [{ id: items[0]!.id, unit_price: "200.00" }] })
    expect(changed.body.invoice).toMatchObject({ tax_total: "40.00", total: "240.00" })
    const fresh = await s.draft()
    expect(fresh.total).toBe("125.00")
    expect((await s.remove(`/api/v1/tax_rules/${rule.id}`)).status).toBe(204)
  }),
  scenario(47, "a merged customer's invoices move to the remaining customer", async (s) => {
    const [kept, gone] = [await s.customer(), await s.customer()]
    const { id } = await s.issued({ member_id: gone.id })
    const merged = await s.post(`/api/v1/members/${kept.id}/merge`, { secondary_id: gone.id })
    expect(merged.status, JSON.stringify(merged.body)).toBe(200)
    expect((await s.shown(id)).member_id).toBe(kept.id)
  }),
  scenario(48, "numbers have the prefix and the series of their store", async (s) => {
    const numbering = (settings: object) => s.put("/api/v1/settings/numbering", { settings })
    expect((await numbering({ "proforma.prefix": "PF{store}-", "proforma.per_store": true })).status).toBe(200)
    const other = await s.made("/api/v1/stores", { name: `${s.name} store` }, "store")
    const ids: Array<number> = []
    for (const store_id of [1, other.id, 1]) {
      const { id } = await s.draft({ type: "proforma", store_id })
      expect((await s.issue(id)).status).toBe(200)
      ids.push(id)
    }
    await numbering({ "proforma.prefix": "", "proforma.per_store": false })
    s.later(async ({ ask }) => {
      const numbers: Array<string> = []
      for (const id of ids) numbers.push((await ask("GET", `${invoices}/${id}`)).body.invoice.number!)
      expect(numbers).toEqual(["PF1-0000000001", `PF${other.id}-0000000001`, "PF1-0000000002"])
    })
  }),
  scenario(49, "an invoice's activity has old and new values", async (s) => {
    const { id } = await s.draft()
    await s.put(`${invoices}/${id}`, { reference: "PO 49" })
    await s.issue(id)
    s.later(async ({ ask }) => {
      const { actions } = (
        await ask("GET", `/api/v1/actions?q[auditable_type_eq]=invoice&q[auditable_id_eq]=${id}&sort=id`)
      ).body
      expect(actions.map((one) => one.action)).toEqual(["invoice.created", "invoice.updated", "invoice.issued"])
      expect([actions[1].old_values, actions[1].new_values]).toEqual([{ reference: null }, { reference: "PO 49" }])
      expect(actions[2].new_values?.["status"]).toBe("issued")
    })
  })
]
