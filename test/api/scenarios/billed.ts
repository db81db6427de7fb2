/** Billed and unbilled amounts of an opportunity, and part invoices. */
import { expect } from "vitest"
import { invoices, opp, type Scenario, scenario, type Scene } from "../billing-scenarios.ts"
import { amounts, refusedOn } from "../calling.ts"
import type { Body } from "../../answers.ts"

const issuing = async (s: Scene, id: number, body: object = {}) => {
  const reply = await s.issue(id, body)
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  return reply.body.invoice
}
/** An order of 300.00 and 60.00 tax: two lamps for 200.00 in total, and a desk for 100.00. */
const taxedDeal = async (s: Scene) => {
  const product = await s.product()
  const line = { item_id: product.id, transaction_type: 1 }
  return s.deal([
    { ...line, name: "Lamp", quantity: "2", unit_price: "100.00" },
    { ...line, name: "Desk", unit_price: "100.00" }
  ])
}
const billingOf = async (s: Scene, id: number): Promise<ReadonlyArray<string | null>> => {
  const { opportunity } = (await s.get(`${opp}/${id}`)).body
  return [opportunity.billed_total, opportunity.left_to_bill_total]
}
const warningsOf = ({ body }: { readonly body: Body }): string => (body.meta?.warnings ?? []).join("\n")

export const billedScenarios = (): ReadonlyArray<Scenario> => [
  scenario(80, "overbilling an opportunity is refused unless the request allows it", async (s) => {
    const deal = await taxedDeal(s)
    const first = await s.billed(deal.id)
    const again = await s.checkout(deal.id)
    expect(warningsOf(again)).toContain(`draft ${first.id}`)
    const { number } = await issuing(s, first.id)
    const refused = await s.issue(again.body.invoice.id)
    refusedOn(refused, "items")
    if (number !== null) expect(refused.body.errors.items[0]).toContain(number)
    refusedOn(await s.checkout(deal.id), "items")
    expect(await billingOf(s, deal.id)).toEqual(["300.00", "0.00"])
    await issuing(s, again.body.invoice.id, { allow_overbilling: true })
    expect(await billingOf(s, deal.id)).toEqual(["600.00", "-300.00"])
    s.later(async ({ ask }) => {
      const list = `/api/v1/actions?q[auditable_type_eq]=invoice&q[auditable_id_eq]=${again.body.invoice.id}`
      const [last] = (await ask("GET", list)).body.actions
      expect(last.new_values).toMatchObject({ status: "issued", allow_overbilling: true })
    })
  }),
  scenario(81, "a checkout bills what is left after credits, voids and added lines", async (s) => {
    const deal = await taxedDeal(s)
    const { id, items } = await s.billed(deal.id)
    await issuing(s, id)
    await s.post(`${invoices}/${id}/credit_notes`, { items: [{ invoice_item_id: items[0]!.id, quantity: "1" }] })
    await s.post(`${opp}/${deal.id}/items`, { name: "Crew", unit_price: "50.00", transaction_type: 1 })
    expect(await billingOf(s, deal.id)).toEqual(["200.00", "150.00"])
    const rest = await s.billed(deal.id)
    expect(rest.items.map((row) => [row.name, row.quantity, row.subtotal, row.tax_total])).toEqual([
      [items[0]!.name, "1.00", "100.00", "20.00"],
      ["Crew", "1.00", "50.00", "0.00"]
    ])
    await issuing(s, rest.id)
    await s.post(`${invoices}/${rest.id}/void`)
    expect(amounts(await s.billed(deal.id))).toEqual(amounts(rest))
  }),
  scenario(82, "a manual invoice of the opportunity is deducted with its own tax", async (s) => {
    const deal = await taxedDeal(s)
    const item = { name: "On account", unit_price: "120.00", tax_class_id: 1 }
    const manual = { member_id: deal.member_id, opportunity_id: deal.id, items: [item] }
    await issuing(s, (await s.draft(manual)).id)
    const rest = await s.billed(deal.id)
    expect(amounts(rest)).toEqual(["180.00", "36.00", "216.00"])
    expect(rest.items[2]).toMatchObject({ item_type: "custom", subtotal: "-120.00", tax_total: "-24.00" })
    const much = await s.post(invoices, { ...manual, items: [{ ...item, unit_price: "180.01" }] })
    expect(warningsOf(much)).toContain("300.00")
    refusedOn(await s.issue(much.body.invoice.id), "items")
    expect((await s.issue(rest.id)).status).toBe(200)
    expect(await billingOf(s, deal.id)).toEqual(["300.00", "0.00"])
  }),
  scenario(83, "deposits and proformas do not count as billed", async (s) => {
    const deal = await taxedDeal(s)
    await issuing(s, (await s.billed(deal.id, { type: "deposit", percent: "50" })).id)
    await issuing(s, (await s.billed(deal.id, { type: "proforma" })).id)
    expect(await billingOf(s, deal.id)).toEqual(["0.00", "300.00"])
    const final = await s.billed(deal.id)
    expect(amounts(final)).toEqual(["150.00", "30.00", "180.00"])
    expect([final.billed_total, final.left_to_bill_total]).toEqual(["0.00", "300.00"])
    await issuing(s, final.id)
    const shown = (await s.get(`${invoices}/${final.id}`)).body.invoice
    expect([shown.billed_total, shown.left_to_bill_total]).toEqual(["300.00", "0.00"])
  }),
  scenario(
    84,
    "a part invoice by percent or amount is taxed in proportion, and refused above what is left",
    async (s) => {
      const deal = await taxedDeal(s)
      const half = await s.billed(deal.id, { percent: "50" })
      expect(amounts(half)).toEqual(["150.00", "30.00", "180.00"])
      await issuing(s, half.id)
      const some = await s.billed(deal.id, { amount: "100.00" })
      expect(amounts(some)).toEqual(["100.00", "20.00", "120.00"])
      await issuing(s, some.id)
      refusedOn(await s.checkout(deal.id, { percent: "20" }), "percent")
      refusedOn(await s.checkout(deal.id, { amount: "50.01" }), "amount")
      refusedOn(await s.checkout(deal.id, { amount: "10.00", percent: "1" }), "percent")
      const rest = await s.billed(deal.id)
      expect(amounts(rest)).toEqual(["50.00", "10.00", "60.00"])
      await issuing(s, rest.id)
      refusedOn(await s.checkout(deal.id), "items")
    }
  ),
  scenario(85, "a part invoice by lines bills a quantity of each, and a later one the rest", async (s) => {
    const deal = await taxedDeal(s)
    const [lamp, desk] = deal.items
    const one = await s.billed(deal.id, { lines: [{ opportunity_item_id: lamp.id, quantity: "1" }] })
    expect(one.items).toMatchObject([{ opportunity_item_id: lamp.id, quantity: "1.00", unit_price: "100.00" }])
    expect(amounts(one)).toEqual(["100.00", "20.00", "120.00"])
    await issuing(s, one.id)
    const rest = await s.billed(deal.id, {
      lines: [{ opportunity_item_id: lamp.id }, { opportunity_item_id: desk.id }]
    })
    expect(amounts(rest)).toEqual(["200.00", "40.00", "240.00"])
    refusedOn(
      await s.checkout(deal.id, { lines: [{ opportunity_item_id: lamp.id, quantity: "2" }] }),
      "lines.0.quantity"
    )
    refusedOn(await s.checkout(deal.id, { lines: [{ opportunity_item_id: 999_999 }] }), "lines.0.opportunity_item_id")
  }),
  scenario(86, "a part invoice deducts no deposit larger than itself", async (s) => {
    const deal = await taxedDeal(s)
    await issuing(s, (await s.billed(deal.id, { type: "deposit", percent: "50" })).id)
    expect(amounts(await s.billed(deal.id, { percent: "40" }))).toEqual(["120.00", "24.00", "144.00"])
    expect(amounts(await s.billed(deal.id, { percent: "60" }))).toEqual(["30.00", "6.00", "36.00"])
  }),
  scenario(87, "a draft left untaxed for lack of a tax class names the customer", async (s) => {
    const member = await s.customer({ sale_tax_class_id: null })
    const reply = await s.checkout((await s.deal([{ name: "Desk", unit_price: "9.00" }], { member_id: member.id })).id)
    expect(warningsOf(reply)).toContain(`${member.name} has no tax class`)
    expect(warningsOf(await s.get(`${invoices}/${reply.body.invoice.id}`))).toContain("has no tax class")
    const taxed = await s.draft({ items: [{ name: "Desk", unit_price: "9.00", tax_class_id: 1 }] })
    expect((await s.get(`${invoices}/${taxed.id}`)).body.meta).toBeUndefined()
  })
]
