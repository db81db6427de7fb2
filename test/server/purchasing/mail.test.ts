/** Purchase orders by e-mail. */
import { Context, Effect } from "effect"
import { describe, expect, it } from "vitest"
import { contents, DocumentPreparation } from "../../../server/documents/papers/filled.ts"
import { engines } from "../../app.ts"
import { houseOn, poll } from "../house.ts"
import { attachedText, mailsFor } from "../delivery/mail/mailing.ts"
import { clockAt } from "../serving.ts"

let is_drawn = true
/** Prepares documents as the product does, and none while `is_drawn` is false. */
const services = Context.merge(
  clockAt(() => Date.now()),
  Context.make(DocumentPreparation, (...given) =>
    is_drawn ? Effect.flatMap(contents, ({ prepareDocument }) => prepareDocument(...given)) : Effect.succeed(undefined)
  )
)

describe.each(engines)("a purchase order by e-mail on %s", (engine) => {
  const mails = mailsFor(engine, { services })
  const must = (target: string, json?: unknown, method = json === undefined ? "GET" : "POST") =>
    houseOn(mails.app()).must(method, `/${target}`, json)
  const supplier = async (...addresses: ReadonlyArray<object>): Promise<number> => {
    const { member } = await must("members", { name: "Rig Hire", membership_type: "organisation" })
    for (const address of addresses) await must(`members/${member.id}/emails`, address)
    return member.id
  }
  const order = async (supplier_id: number, more: object = {}) =>
    (
      await must("purchase_orders", {
        supplier_id,
        starts_at: "2026-07-01T09:00:00Z",
        ends_at: "2026-07-05T09:00:00Z",
        items: [{ name: "Truss", unit_cost: "50.00" }],
        ...more
      })
    ).purchase_order
  const jobs = async () => (await must("system/jobs?per_page=100")).jobs.map(({ id }: { id: string }) => id)

  it("goes with its PDF to the supplier's billing address, in the company's language", async () => {
    const type_id = await mails.billingType()
    const supplier_id = await supplier(
      { address: "main@rig.example", is_primary: true },
      { address: "bills@rig.example", type_id }
    )
    const { id, number } = await order(supplier_id)
    const sent = await must(`purchase_orders/${id}/send`, {})
    expect([sent.purchase_order.status, sent.meta]).toEqual(["sent", { is_mailed: true, warnings: [] }])
    const [mail] = await mails.arrived()
    const { read, to } = mail!
    expect(to).toEqual(["bills@rig.example"])
    expect(read.subject).toBe(`Purchase order ${number}, Northlight Rental`)
    expect(read.text).toContain(`Dear Rig Hire,\n\nplease find attached our purchase order ${number}.`)
    expect(read.text).toContain("from 1 July 2026 to 5 July 2026")
    expect(read.attachments[0]?.filename).toBe(`purchase-order-${number}.pdf`)
    const text = attachedText(mail!)
    expect(text).toContain(`Purchase order ${number}`)
    expect(text).toContain("Rig Hire")
    expect((await must("system/jobs?q[kind_eq]=purchase_orders.mail")).jobs).toMatchObject([
      { status: "done", owner_id: 1 }
    ])
  })
  it("goes to the given address, with the given message", async () => {
    const { id } = await order(await supplier({ address: "main@rig.example" }))
    await must(`purchase_orders/${id}/send`, { email: "ann@rig.example", message: "As agreed." })
    const [mail] = await mails.arrived()
    expect([mail?.to, mail?.read.text?.trim()]).toEqual([["ann@rig.example"], "As agreed."])
  })
  it("is marked as sent but not mailed if no address is known", async () => {
    const before = await jobs()
    const { id } = await order(await supplier())
    expect((await must(`purchase_orders/${id}/send`, {})).purchase_order.status).toBe("sent")
    expect(await jobs()).toEqual(before)
  })
  it("is not mailed if sending the order is refused", async () => {
    const before = await jobs()
    const { id } = await order(await supplier({ address: "main@rig.example" }), { items: [] })
    expect((await mails.app().ask(`/api/v1/purchase_orders/${id}/send`, { json: {} })).status).toBe(422)
    expect(await jobs()).toEqual(before)
  })
  it("is not mailed if its PDF cannot be drawn, and the job reports it", async () => {
    is_drawn = false
    const { id, number } = await order(await supplier({ address: "main@rig.example" }))
    await must(`purchase_orders/${id}/send`, {})
    const job = async () => (await must("system/jobs?q[kind_eq]=purchase_orders.mail")).jobs[0]
    await expect.poll(async () => (await job())?.status, poll).toBe("failed")
    expect((await job()).error).toContain(`There is no document of purchase order ${number} to mail.`)
    expect(await mails.arrived(0)).toEqual([])
    is_drawn = true
  })
  it("contains the order's lines and amounts, and the layout's texts", async () => {
    const layout = {
      document_type: "purchase_order",
      mail_subject: "Order {{ purchase_order.number }}",
      mail_text: "For {{ supplier.name }}"
    }
    const { document_layout } = await must("document_layouts", layout)
    const items = [{ name: "Truss 3 m", quantity: "4", unit_cost: "12.34" }]
    const { id, number } = await order(await supplier({ address: "main@rig.example" }), { items })
    await must(`purchase_orders/${id}/send`, {})
    const [mail] = await mails.arrived()
    expect([mail?.to, mail?.read.subject, mail?.read.text?.trim()]).toEqual([
      ["main@rig.example"],
      `Order ${number}`,
      "For Rig Hire"
    ])
    const text = attachedText(mail!)
    for (const part of [number, "Rig Hire", "Truss 3 m", "49.36"]) expect(text).toContain(part)
    await must(`document_layouts/${document_layout.id}`, undefined, "DELETE")
  })
})
