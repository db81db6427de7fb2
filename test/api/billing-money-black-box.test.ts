/** Payments, refunds, credit notes and checkout from outside: rules/billing 1.1, 1.3 to 1.5 and 6, and the rulings. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, money, now, openBooks, refusal, sums } from "./billing-black-box.ts"

describe.each(engines)("Money, on %s (rules/billing 1.4, 1.5, 6)", (engine) => {
  let books: Books
  beforeAll(async () => {
    books = await openBooks(engine)
  })
  afterAll(() => books.close())
  const pay = (id: number, amount: unknown, more: object = {}) =>
    books.post(`/invoices/${id}/payments`, { amount, ...more })
  const refund = (id: number, amount: unknown, more: object = {}) =>
    books.post(`/invoices/${id}/refunds`, { amount, ...more })
  const credit = (id: number, json: object = {}) => books.post(`/invoices/${id}/credit_notes`, json)
  const after = async (id: number) => money(await books.shown(id))

  it("100.00 at 20 %: 50.00, then 70.00, then 20.00 back (6)", async () => {
    const { id, total } = await books.issued()
    expect(total).toBe("120.00")
    const first = await pay(id, "50.00", {
      method: "card",
      reference: "R",
      notes: "N",
      paid_at: "2026-06-17T08:00:00Z"
    })
    expect(first.status).toBe(201)
    expect(Object.keys(first.body).sort()).toEqual(["invoice", "payment"])
    const { id: payment_id, recorded_by, reason: _reason, ...payment } = first.body.payment
    expect([typeof payment_id, typeof recorded_by]).toEqual(["number", "number"])
    expect(payment).toEqual({
      ...{ invoice_id: id, member_id: books.member, kind: "payment", amount: "50.00", currency_code: "GBP" },
      ...{ method: "card", method_name: "Card", reference: "R", notes: "N", paid_at: "2026-06-17T08:00:00.000Z" },
      ...{ payment_id: null, created_at: now, updated_at: now },
      ...("kind_name" in payment ? { kind_name: payment.kind_name } : {})
    })
    expect(money(first.body.invoice)).toEqual(["partially_paid", "50.00", "0.00", "70.00", false])
    expect(money((await pay(id, "70.00")).body.invoice)).toEqual(["paid", "120.00", "0.00", "0.00", true])
    const back = await refund(id, "20.00", { reason: "Late" })
    expect(Object.keys(back.body).sort()).toEqual(["invoice", "refund"])
    expect([back.status, back.body.refund.kind, back.body.refund.amount]).toEqual([201, "refund", "20.00"])
    expect(back.body.refund).toMatchObject({ method: "other", method_name: "Other", paid_at: now })
    expect(money(back.body.invoice)).toEqual(["partially_paid", "100.00", "0.00", "20.00", false])
    const { payments } = await books.shown(id)
    expect(payments.map((one: any) => [one.kind, one.amount])).toEqual([
      ["payment", "50.00"],
      ["payment", "70.00"],
      ["refund", "20.00"]
    ])
  })
  it.each<[string, string, unknown, object]>([
    ["no amount", "amount", undefined, {}],
    ["nothing", "amount", 0, {}],
    ["less than nothing", "amount", "-1.00", {}],
    ["what is no number", "amount", "much", {}],
    ["more than is outstanding", "amount", "120.01", {}],
    ["an unknown method", "method", "1.00", { method: "barter" }],
    ["a time to come", "paid_at", "1.00", { paid_at: "2026-06-19T12:00:00Z" }],
    ["another currency", "currency", "1.00", { currency: "JPY" }],
    ["a reference of 256 characters", "reference", "1.00", { reference: "x".repeat(256) }],
    ["notes of 1,001 characters", "notes", "1.00", { notes: "x".repeat(1001) }]
  ])("takes no payment of %s, and no refund of it", async (_, field, amount, more) => {
    const { id } = await books.issued()
    expect(refusal(await pay(id, amount, more))).toEqual([422, field])
    expect((await pay(id, "120.00")).status).toBe(201)
    expect(refusal(await refund(id, amount, more))).toEqual([422, field])
    expect(await after(id)).toEqual(["paid", "120.00", "0.00", "0.00", true])
  })
  it("takes whole numbers as minor units, and the invoice's own currency", async () => {
    const { id } = await books.issued({ currency: "KWD", items: [{ name: "Stage", unit_price: "10.000" }] })
    expect((await pay(id, 1500, { currency: "KWD" })).body.invoice.amount_outstanding).toBe("10.500")
    const yen = await books.issued({ currency: "JPY", items: [{ name: "Stage", unit_price: 1000 }] })
    expect((await pay(yen.id, 200)).body).toMatchObject({ payment: { amount: "200" }, invoice: { amount_paid: "200" } })
  })
  it("refuses payments of drafts and of what is paid, refunds of nothing and of drafts", async () => {
    const draft = await books.draft()
    expect(refusal(await pay(draft.id, "1.00"))).toEqual([422, "status"])
    expect(refusal(await refund(draft.id, "1.00"))).toEqual([422, "status"])
    expect(refusal(await credit(draft.id))).toEqual([422, "status"])
    const { id } = await books.issued()
    expect(refusal(await refund(id, "1.00"))).toEqual([422, "amount"])
    await pay(id, "120.00")
    expect(refusal(await pay(id, "1.00"))).toEqual([422, "status"])
    expect(refusal(await refund(id, "120.01"))).toEqual([422, "amount"])
    expect(refusal(await refund(id, "1.00", { reason: "x".repeat(1001) }))).toEqual([422, "reason"])
  })
  it("voids nothing that was paid, until all of it is given back", async () => {
    const { id } = await books.issued()
    await pay(id, "50.00")
    expect((await books.post(`/invoices/${id}/void`)).status).toBe(422)
    await refund(id, "50.00")
    expect(await after(id)).toEqual(["issued", "0.00", "0.00", "120.00", false])
    expect(money((await books.post(`/invoices/${id}/void`)).body.invoice)).toEqual([
      ...["voided", "0.00", "0.00", "0.00", false]
    ])
  })
  it("credits the whole, mirrored, and then neither voids nor credits (6)", async () => {
    const { id } = await books.issued({ store_id: 1 })
    const got = await credit(id, { reason: "Cancelled" })
    expect([got.status, ...Object.keys(got.body).sort()]).toEqual([201, "credit_note", "invoice"])
    expect(money(got.body.invoice)).toEqual(["credited", "0.00", "120.00", "0.00", false])
    const note = (await books.get(`/credit_notes/${got.body.credit_note.id}?include=items`)).credit_note
    expect(note).toMatchObject({
      ...{ status: "issued", status_name: "Issued", invoice_id: id, member_id: books.member, store_id: 1 },
      ...{ opportunity_id: null, currency_code: "GBP", exchange_rate: "1.00000000", subtotal: "-100.00" },
      ...{ tax_total: "-20.00", total: "-120.00", reason: "Cancelled", notes: null, issued_at: now },
      ...{ member: null, store: null, invoice: null },
      tax_summary: [{ rate: "20.0000", net: "-100.00", tax: "-20.00", gross: "-120.00" }],
      items: [
        {
          ...{ name: "Stage", quantity: "1.00", unit_price: "-100.00", subtotal: "-100.00" },
          ...{ tax_rate: "20.0000", tax_total: "-20.00", total: "-120.00" }
        }
      ]
    })
    expect(note.number).toMatch(/^\d{10}$/)
    expect(refusal(await credit(id))[0]).toBe(422)
    expect((await books.post(`/invoices/${id}/void`)).status).toBe(422)
  })
  it("owes the customer what was paid and credited, until it is refunded (6)", async () => {
    const { id } = await books.issued()
    await pay(id, "120.00")
    expect(money((await credit(id)).body.invoice)).toEqual(["credited", "120.00", "120.00", "-120.00", false])
    expect(money((await refund(id, "120.00")).body.invoice)).toEqual(["credited", "0.00", "120.00", "0.00", false])
  })
  const three = {
    items: [
      { name: "Heads", quantity: "3", unit_price: "33.33" },
      { name: "Van", unit_price: "0.02" }
    ]
  }
  it("credits by rows, then the rest, and ends at exactly nothing", async () => {
    const { id } = await books.issued(three)
    const { items } = await books.shown(id)
    const by = (quantity: unknown, item = items[0].id) => credit(id, { items: [{ invoice_item_id: item, quantity }] })
    expect(refusal(await by("3.01"))).toEqual([422, "items.0.quantity"])
    expect(refusal(await by("0"))).toEqual([422, "items.0.quantity"])
    expect((await by("1", 999_999)).status).toBe(422)
    const foreign = (await books.shown((await books.issued()).id)).items[0].id
    expect((await by("1", foreign)).status).toBe(422)
    expect(
      refusal(await credit(id, { amount: "1.00", items: [{ invoice_item_id: items[0].id, quantity: 1 }] }))[0]
    ).toBe(422)
    const one = (await by("1")).body
    expect([sums(one.credit_note), one.invoice.status]).toEqual([["-33.33", "-6.67", "-40.00"], "issued"])
    expect(refusal(await by("2.5"))).toEqual([422, "items.0.quantity"])
    expect(money((await credit(id)).body.invoice)).toEqual(["credited", "0.00", "120.01", "0.00", false])
    const notes = (await books.get(`/credit_notes?q[invoice_id_eq]=${id}&include=items`)).credit_notes
    const pence = (text: string): number => Math.round(Number(text) * 100)
    for (const item of items)
      for (const key of ["subtotal", "tax_total", "total"]) {
        const credited = notes.flatMap((note: any) => note.items).filter((row: any) => row.invoice_item_id === item.id)
        expect(credited.reduce((sum: number, row: any) => sum + pence(row[key]), pence(item[key]))).toBe(0)
      }
  })
  it("credits by amount; rows after it are held to the money that is left", async () => {
    const { id } = await books.issued(three)
    const { items } = await books.shown(id)
    expect(refusal(await credit(id, { amount: "120.02" }))).toEqual([422, "amount"])
    expect(refusal(await credit(id, { amount: "0" }))).toEqual([422, "amount"])
    const part = (await credit(id, { amount: "60.00" })).body
    expect([part.credit_note.total, part.invoice.amount_outstanding]).toEqual(["-60.00", "60.01"])
    expect(refusal(await credit(id, { items: [{ invoice_item_id: items[0].id, quantity: 3 }] }))).toEqual([
      ...[422, "items.0.quantity"]
    ])
    expect((await credit(id, { items: [{ invoice_item_id: items[0].id, quantity: 1 }] })).status).toBe(201)
    expect((await credit(id)).body.invoice).toMatchObject({ status: "credited", amount_credited: "120.01" })
  })
  it("numbers credit notes by themselves, and lists them by what is asked", async () => {
    const notes = (await books.get("/credit_notes?per_page=100&sort=number")).credit_notes
    expect(notes.map((note: any) => note.number)).toEqual(
      notes.map((_: unknown, at: number) => String(at + 1).padStart(10, "0"))
    )
    const by = async (query: string) => (await books.get(`/credit_notes?per_page=100&${query}`)).credit_notes
    expect((await by("q[number_eq]=0000000002")).length).toBe(1)
    expect((await by(`q[member_id_eq]=${books.member}`)).length).toBe(notes.length)
    expect((await by("q[currency_code_eq]=JPY")).length).toBe(0)
    expect((await by("q[status_eq]=issued")).length).toBe(notes.length)
    const totals = (await by("sort=-total")).map((note: any) => Number(note.total))
    expect(totals).toEqual([...totals].sort((a, b) => b - a))
    expect((await books.ask("POST", "/credit_notes", {})).status).toBe(405)
    expect((await books.ask("GET", "/credit_notes/999999")).status).toBe(404)
  })
  it("part paid and part credited is paid once nothing is outstanding", async () => {
    const { id } = await books.issued()
    await credit(id, { amount: "20.00" })
    expect(await after(id)).toEqual(["issued", "0.00", "20.00", "100.00", false])
    expect(refusal(await pay(id, "100.01"))).toEqual([422, "amount"])
    await pay(id, "100.00")
    expect(await after(id)).toEqual(["paid", "100.00", "20.00", "0.00", true])
  })
})

describe.each(engines)("Checkout, on %s (rules/billing 1.3)", (engine) => {
  let books: Books
  beforeAll(async () => {
    books = await openBooks(engine)
  })
  afterAll(() => books.close())
  const invoiced = async (id: number): Promise<boolean> =>
    (await books.get(`/opportunities/${id}`)).opportunity.invoiced

  it("sets `invoiced` by issuing a standard invoice, and takes it away with the last void", async () => {
    const { id } = await books.job()
    const states: Array<boolean> = []
    const issued: Array<number> = []
    for (const type of ["proforma", "deposit", "standard", "standard"]) {
      const draft = await books.billed(id, { type, deduct_deposits: false })
      states.push(await invoiced(id))
      issued.push((await books.made(`/invoices/${draft.id}/issue`)).id)
      states.push(await invoiced(id))
    }
    expect(states).toEqual([false, false, false, false, false, true, true, true])
    for (const one of issued.slice(2)) {
      expect(await invoiced(id)).toBe(true)
      expect((await books.post(`/invoices/${one}/void`)).status).toBe(200)
    }
    expect(await invoiced(id)).toBe(false)
  })
  it("proposes issued, uncredited deposits as rows that can be taken out", async () => {
    const { id } = await books.job([{ unit_price: "300.00" }])
    const deposit = await books.billed(id, { type: "deposit" })
    const [row] = deposit.items
    await books.put(`/invoices/${deposit.id}`, { items: [{ id: row.id, name: row.name, unit_price: "50.00" }] })
    expect((await books.billed(id)).items.length).toBe(1)
    const { number } = await books.made(`/invoices/${deposit.id}/issue`)
    const draft = await books.billed(id)
    expect(draft.items.map((one: any) => [one.item_type, one.total])).toEqual([
      ["product", "360.00"],
      ["custom", "-60.00"]
    ])
    expect(draft.items[1].name).toContain(number)
    expect(draft.items[1].name).toContain("2026")
    expect(sums(draft)).toEqual(["250.00", "50.00", "300.00"])
    expect((await books.billed(id, { deduct_deposits: false })).total).toBe("360.00")
    expect((await books.billed(id, { type: "proforma" })).total).toBe("360.00")
    const [kept] = draft.items
    await books.put(`/invoices/${draft.id}`, { items: [{ id: kept.id, name: kept.name, unit_price: kept.unit_price }] })
    expect((await books.shown(draft.id)).total).toBe("360.00")
    await books.post(`/invoices/${deposit.id}/credit_notes`)
    expect((await books.billed(id)).total).toBe("360.00")
  })
  it("takes deposits off down to nothing and no further", async () => {
    const { id } = await books.job([{ unit_price: "100.00" }])
    for (let at = 0; at < 2; at++) {
      const deposit = await books.billed(id, { type: "deposit" })
      await books.made(`/invoices/${deposit.id}/issue`)
    }
    const draft = await books.billed(id)
    expect([draft.total, draft.tax_total]).toEqual(["0.00", "0.00"])
  })
  it("takes over the opportunity's names, custom fields and includes", async () => {
    for (const module_type of ["Opportunity", "Invoice"])
      await books.made("/custom_fields", { name: "po", module_type, field_type: 0 })
    await books.made("/custom_fields", { name: "only_there", module_type: "Opportunity", field_type: 0 })
    const job = await books.job(undefined, { reference: "REF", custom_fields: { po: "P1", only_there: "x" } })
    const draft = await books.billed(job.id)
    expect(draft).toMatchObject({
      subject: "A job",
      reference: "REF",
      store_id: 1,
      opportunity_id: job.id,
      due_at: null
    })
    expect(draft.custom_fields).toEqual({ po: "P1" })
    expect((await books.shown(draft.id, "opportunity")).opportunity).toEqual({ id: job.id, name: "A job" })
    expect([draft.items.length, draft.member, draft.payments]).toEqual([1, null, null])
  })
  it("replays by its idempotency key", async () => {
    const { id } = await books.job()
    const keyed = (json: object, key = `K${id}`, job = id) =>
      books.checkout(job, json, { headers: { "idempotency-key": key } })
    const [first, again] = [await keyed({}), await keyed({})]
    expect([first.status, again.status, again.body.invoice.id]).toEqual([201, 201, first.body.invoice.id])
    expect(again.headers["idempotent-replayed"]).toBe("true")
    expect((await keyed({ type: "deposit" })).status).toBe(409)
    expect((await books.get(`/invoices?q[opportunity_id_eq]=${id}`)).meta.total).toBe(1)
    const empty = await books.job([])
    const refused = await keyed({}, "E", empty.id)
    expect(refusal(refused)).toEqual([422, "items"])
    await books.made(`/opportunities/${empty.id}/items`, { name: "Now", unit_price: "1.00" })
    const replayed = await keyed({}, "E", empty.id)
    expect([replayed.status, replayed.headers["idempotent-replayed"]]).toEqual([422, "true"])
  })
})
