/** Credit notes (rules/billing 1.5). */
import { expect } from "vitest"
import { invoices, type Scenario, scenario } from "../payment-scenarios.ts"

const refused = (field: string) => ({ status: 422, body: { errors: { [field]: [expect.any(String)] } } })
const two = [
  { name: "Heads", quantity: "4", unit_price: "25.00" },
  { name: "Cable", quantity: "3", unit_price: "3.33" }
]

export const creditScenarios: ReadonlyArray<Scenario> = [
  scenario("C1", "credits an unpaid invoice in full", async (scene) => {
    const { id } = await scene.issued()
    const { body, status } = await scene.credit(id, { reason: "Rained off" })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      credit_note: {
        status: "issued",
        status_name: "Issued",
        invoice_id: id,
        subtotal: "-100.00",
        tax_total: "-20.00",
        total: "-120.00",
        reason: "Rained off",
        tax_summary: [{ rate: "20.0000", net: "-100.00", tax: "-20.00", gross: "-120.00" }],
        items: [{ name: "Heads", quantity: "4.00", unit_price: "-25.00", total: "-120.00" }]
      },
      invoice: { status: "credited", amount_credited: "120.00", amount_outstanding: "0.00" }
    })
    expect(await scene.voided(id)).toMatchObject(refused("status"))
    scene.later(async ({ ask }) => {
      const note = (await ask("GET", `/api/v1/credit_notes?q[invoice_id_eq]=${body.invoice.id}`)).body.credit_notes[0]
      expect(note.number).toMatch(/^\d{10}$/)
    })
  }),
  scenario(
    "C2",
    "credits a paid invoice in full, and owes the customer the amount until it is refunded",
    async (scene) => {
      const { id } = await scene.issued()
      await scene.pay(id, "120.00")
      expect((await scene.credit(id)).body.invoice).toMatchObject({ status: "credited", amount_outstanding: "-120.00" })
      expect(await scene.pay(id, "1.00")).toMatchObject(refused("status"))
      expect((await scene.refund(id, "120.00")).body.invoice).toMatchObject({
        status: "credited",
        amount_paid: "0.00",
        amount_outstanding: "0.00"
      })
    }
  ),
  scenario("C3", "refuses to credit a fully credited invoice again", async (scene) => {
    const { id } = await scene.issued()
    await scene.credit(id)
    for (const body of [{}, { amount: "0.01" }]) expect(await scene.credit(id, body)).toMatchObject(refused("invoice"))
  }),
  scenario("C4", "credits part of a row, then the rest", async (scene) => {
    const { id, items } = await scene.issued({}, ...two)
    const [heads] = items
    const first = await scene.credit(id, { items: [{ invoice_item_id: heads.id, quantity: "1" }] })
    expect(first.body.credit_note).toMatchObject({ subtotal: "-25.00", tax_total: "-5.00", total: "-30.00" })
    expect(first.body.invoice).toMatchObject({ status: "issued", amount_credited: "30.00" })
    expect((await scene.credit(id)).body.invoice).toMatchObject({ status: "credited", amount_outstanding: "0.00" })
  }),
  scenario("C5", "credits the rounding remainder with the last piece of a row", async (scene) => {
    const { id, items } = await scene.issued({}, { name: "Hour", quantity: "3", unit_price: "3.33" })
    const one = { items: [{ invoice_item_id: items[0].id, quantity: "1" }] }
    const notes = [await scene.credit(id, one), await scene.credit(id, one), await scene.credit(id, one)]
    expect(notes.map(({ body }) => [body.credit_note.subtotal, body.credit_note.tax_total])).toEqual([
      ["-3.33", "-0.67"],
      ["-3.33", "-0.67"],
      ["-3.33", "-0.66"]
    ])
    expect(notes[2]?.body.invoice).toMatchObject({ status: "credited", amount_outstanding: "0.00" })
  }),
  scenario("C6", "refuses to credit more of a row than was invoiced, with an error at its position", async (scene) => {
    const { id, items } = await scene.issued({}, ...two)
    const [heads, cable] = items
    const body = {
      items: [
        { invoice_item_id: heads.id, quantity: "1" },
        { invoice_item_id: cable.id, quantity: "3.01" }
      ]
    }
    expect(await scene.credit(id, body)).toMatchObject(refused("items.1.quantity"))
    expect((await scene.shown(id)).credit_notes).toEqual([])
  }),
  scenario("C7", "refuses rows of another invoice and unknown rows", async (scene) => {
    const { id } = await scene.issued()
    const other = await scene.issued()
    for (const invoice_item_id of [other.items[0].id, 999_999])
      expect(await scene.credit(id, { items: [{ invoice_item_id, quantity: "1" }] })).toMatchObject(
        refused("items.0.invoice_item_id")
      )
  }),
  scenario(
    "C8",
    "refuses items together with an amount, an empty list of items, and a quantity of zero",
    async (scene) => {
      const { id, items } = await scene.issued()
      const rows = [{ invoice_item_id: items[0].id, quantity: "1" }]
      expect(await scene.credit(id, { items: rows, amount: "1.00" })).toMatchObject(refused("amount"))
      expect(await scene.credit(id, { items: [] })).toMatchObject(refused("items"))
      expect(await scene.credit(id, { items: [{ invoice_item_id: items[0].id, quantity: "0" }] })).toMatchObject(
        refused("items.0.quantity")
      )
    }
  ),
  scenario("C9", "spreads a credited amount exactly over rows and tax classes", async (scene) => {
    const { id, total } = await scene.issued({}, ...two)
    expect(total).toBe("131.99")
    const { credit_note } = (await scene.credit(id, { amount: "10.00" })).body
    expect(credit_note).toMatchObject({ subtotal: "-8.33", tax_total: "-1.67", total: "-10.00" })
    expect(credit_note.items.map((row) => row.total)).toEqual(["-9.09", "-0.91"])
    expect((await scene.credit(id)).body).toMatchObject({
      credit_note: { total: "-121.99" },
      invoice: { status: "credited", amount_credited: "131.99" }
    })
  }),
  scenario("C10", "refuses a credit one minor unit above what is left", async (scene) => {
    const { id } = await scene.issued()
    expect(await scene.credit(id, { amount: "120.01" })).toMatchObject(refused("amount"))
    await scene.credit(id, { amount: "20.00" })
    expect(await scene.credit(id, { amount: "100.01" })).toMatchObject(refused("amount"))
    expect((await scene.credit(id, { amount: "100.00" })).body.invoice.status).toBe("credited")
  }),
  scenario("C11", "limits the credit of a row to its remaining amount after a credit by amount", async (scene) => {
    const { id, items } = await scene.issued()
    await scene.credit(id, { amount: "60.01" })
    const rows = (quantity: string) => ({ items: [{ invoice_item_id: items[0].id, quantity }] })
    expect(await scene.credit(id, rows("2"))).toMatchObject(refused("items.0.quantity"))
    expect((await scene.credit(id, rows("1"))).body.credit_note.total).toBe("-30.00")
    expect((await scene.credit(id)).body).toMatchObject({
      credit_note: { total: "-29.99" },
      invoice: { status: "credited" }
    })
  }),
  scenario("C12", "keeps a partly credited paid invoice paid, and owes the customer the credit", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "120.00")
    const { paid_at } = await scene.shown(id)
    expect((await scene.credit(id, { amount: "20.00" })).body.invoice).toMatchObject({
      status: "paid",
      amount_outstanding: "-20.00",
      paid_at
    })
    expect((await scene.refund(id, "120.00")).body.invoice).toMatchObject({
      status: "issued",
      amount_outstanding: "100.00",
      paid_at: null
    })
  }),
  scenario("C13", "marks a partly paid invoice as paid when the rest is credited", async (scene) => {
    const { id } = await scene.issued()
    await scene.pay(id, "50.00")
    expect((await scene.credit(id, { amount: "70.00" })).body.invoice).toMatchObject({
      status: "paid",
      amount_outstanding: "0.00",
      amount_paid: "50.00",
      amount_credited: "70.00"
    })
  }),
  scenario("C14", "refuses to credit drafts, voided invoices and proformas", async (scene) => {
    expect(await scene.credit((await scene.draft()).id)).toMatchObject(refused("status"))
    const { id } = await scene.issued()
    await scene.voided(id)
    expect(await scene.credit(id)).toMatchObject(refused("status"))
    expect(await scene.credit((await scene.issued({ type: "proforma" })).id)).toMatchObject(refused("type"))
  }),
  scenario("C15", "refuses to void an invoice with a credit note", async (scene) => {
    const { id } = await scene.issued()
    await scene.credit(id, { amount: "0.01" })
    expect(await scene.voided(id)).toMatchObject(refused("status"))
  }),
  scenario("C16", "credits a deduction and the row it reduces only together", async (scene) => {
    const { id, items } = await scene.issued(
      {},
      { name: "Hire", unit_price: "100.00" },
      { name: "Deposit", unit_price: "-40.00" }
    )
    const rows = (...at: ReadonlyArray<number>) => ({
      items: at.map((one) => ({ invoice_item_id: items[one]!.id, quantity: "1" }))
    })
    expect(await scene.credit(id, rows(1))).toMatchObject(refused("items"))
    expect(await scene.credit(id, rows(0))).toMatchObject(refused("items"))
    expect((await scene.credit(id, rows(0, 1))).body).toMatchObject({
      credit_note: { total: "-72.00" },
      invoice: { status: "credited", amount_outstanding: "0.00" }
    })
  }),
  scenario("C17", "spreads a credited amount over deductions too", async (scene) => {
    const { id } = await scene.issued(
      {},
      { name: "Hire", unit_price: "100.00" },
      { name: "Deposit", unit_price: "-40.00" }
    )
    const { credit_note } = (await scene.credit(id, { amount: "36.00" })).body
    expect(credit_note.items.map((row) => row.total)).toEqual(["-60.00", "24.00"])
    expect((await scene.credit(id)).body.invoice).toMatchObject({ status: "credited", amount_credited: "72.00" })
  }),
  scenario("C18", "credits a deposit like any other invoice", async (scene) => {
    const { id } = await scene.issued({ type: "deposit" })
    await scene.pay(id, "120.00")
    expect((await scene.credit(id)).body.invoice.status).toBe("credited")
  }),
  scenario("C19", "credits yen in full despite rounding by class", async (scene) => {
    const { id } = await scene.issued(
      { currency: "JPY", prices_include_tax: true },
      { name: "Heads", quantity: "7", unit_price: "101" },
      { name: "Cable", quantity: "3", unit_price: "11" }
    )
    const { credit_notes, items } = await scene.shown(id)
    expect(credit_notes).toEqual([])
    await scene.credit(id, { amount: "100" })
    await scene.credit(id, { items: [{ invoice_item_id: items[0].id, quantity: "1.5" }] })
    expect((await scene.credit(id)).body.invoice).toMatchObject({ status: "credited", amount_outstanding: "0" })
    const end = await scene.shown(id)
    for (const item of end.items)
      for (const column of ["subtotal", "tax_total", "total"] as const) {
        const back = end.credit_notes
          .flatMap((note) => note.items)
          .filter((row) => row.invoice_item_id === item.id)
          .reduce((sum, row) => sum + Number(row[column]), 0)
        expect([item.name, column, back + Number(item[column])]).toEqual([item.name, column, 0])
      }
  }),
  scenario("C20", "refuses to date a credit note before its invoice or in the future", async (scene) => {
    const { id } = await scene.issued({}, ...two)
    expect(await scene.credit(id, { issued_at: "2026-06-17" })).toMatchObject(refused("issued_at"))
    expect(await scene.credit(id, { issued_at: "2026-06-19" })).toMatchObject(refused("issued_at"))
  }),
  scenario("C21", "lists, finds and shows credit notes with their rows", async (scene) => {
    const { id, member_id } = await scene.issued()
    const { credit_note } = (await scene.credit(id, { amount: "12.00", notes: "Goodwill" })).body
    const { body } = await scene.get(`/api/v1/credit_notes?q[member_id_eq]=${member_id}&include=invoice,member,items`)
    expect(body.credit_notes).toMatchObject([
      { id: credit_note.id, total: "-12.00", invoice: { id }, member: { id: member_id }, items: [{ total: "-12.00" }] }
    ])
    const shown = await scene.get(`/api/v1/credit_notes/${credit_note.id}?include=items`)
    expect(shown.body.credit_note).toMatchObject({ notes: "Goodwill", items: [{ quantity: "1.00" }] })
    expect((await scene.get("/api/v1/credit_notes/999999")).status).toBe(404)
    expect((await scene.get(`${invoices}/${id}?include=credit_notes`)).body.invoice.credit_notes).toHaveLength(1)
  }),
  scenario("C22", "needs a permission and an ability to credit an invoice, and to list credit notes", async (scene) => {
    const { id } = await scene.issued()
    if (scene.somebody === undefined) {
      await scene.credit(id, { amount: "1.00" })
      return
    }
    const asked = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) =>
      (
        await (
          await scene.somebody?.(permissions, abilities)
        )?.("POST", `${invoices}/${id}/credit_notes`, { amount: "1.00" })
      )?.status
    expect(await asked(["payments.record", "invoices.edit"], ["*"])).toBe(403)
    expect(await asked(["invoices.credit"], ["payments:write"])).toBe(403)
    expect(await asked(["invoices.credit"], ["invoices:write"])).toBe(201)
    const reading = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) =>
      (await (await scene.somebody?.(permissions, abilities))?.("GET", "/api/v1/credit_notes"))?.status
    expect(await reading(["invoices.view"], ["invoices:read"])).toBe(403)
    expect(await reading([], ["credit-notes:read"])).toBe(403)
    expect(await reading(["invoices.view"], ["credit-notes:read"])).toBe(200)
  })
]
