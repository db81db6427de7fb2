/** Purchase orders by e-mail. */
import { Context, Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { list_values } from "../../../core/kernel/custom-field.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { DocumentPreparation } from "../../../server/documents/preparing.ts"
import { engines } from "../../app.ts"
import type { ServeOptions } from "../serving.ts"
import { type Mailing, openMailing } from "../mail/mailing.ts"
import { mailServer, type TestMailServer } from "../mail/smtp.ts"
import { pagesOfPdf } from "../print/pdf-text.ts"

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})
const soon = { timeout: 30_000, interval: 50 }

describe.each(engines)("a purchase order by e-mail on %s", (engine) => {
  const opened = async (options: ServeOptions = {}) => {
    const smtp: TestMailServer = await mailServer()
    open.push(() => smtp.close())
    const app: Mailing = await openMailing(engine, smtp.url, options)
    open.push(() => app.close())
    const must = async (target: string, json?: unknown, method?: string) => {
      const got = await app.ask(`/api/v1/${target}`, {
        ...(json === undefined ? {} : { json }),
        ...(method === undefined ? {} : { method })
      })
      if (got.status >= 300) throw new Error(`${target}: ${got.status} ${got.text}`)
      return got.body
    }
    await must(
      "settings/company",
      { settings: { name: "Northlight Rental", email: "office@northlight.example" } },
      "PUT"
    )
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
    return { smtp, app, must, supplier, order }
  }
  const billingType = (app: Mailing): Promise<number> =>
    app.run(
      Effect.flatMap(Store, (store) =>
        Effect.map(store.find(list_values, { name: "Billing" }, { limit: 1 }), (rows) => rows[0]?.id ?? 0)
      )
    )

  it("arrives with its PDF where the supplier's bills go, in words of the house", async () => {
    const { app, must, order, smtp, supplier } = await opened()
    const type_id = await billingType(app)
    const supplier_id = await supplier(
      { address: "main@rig.example", is_primary: true },
      { address: "bills@rig.example", type_id }
    )
    const { id, number } = await order(supplier_id)
    expect((await must(`purchase_orders/${id}/send`, {})).purchase_order.status).toBe("sent")
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    const { read, to } = smtp.taken[0]!
    expect(to).toEqual(["bills@rig.example"])
    expect(read.subject).toBe(`Purchase order ${number}, Northlight Rental`)
    expect(read.text).toContain(`Dear Rig Hire,\n\nplease find attached our purchase order ${number}.`)
    expect(read.text).toContain("from 1 July 2026 to 5 July 2026")
    const [attached] = read.attachments
    expect(attached?.filename).toBe(`purchase-order-${number}.pdf`)
    const content = attached?.content
    if (!(content instanceof ArrayBuffer)) throw new Error("no content")
    const text = pagesOfPdf(new Uint8Array(content)).join("\n")
    expect(text).toContain(`Purchase order ${number}`)
    expect(text).toContain("Rig Hire")
    expect((await must("system/jobs?q[kind_eq]=purchase_orders.mail")).jobs).toMatchObject([
      { status: "done", owner_id: 1 }
    ])
  })
  it("goes where it is told to, with the message that is given", async () => {
    const { must, order, smtp, supplier } = await opened()
    const { id } = await order(await supplier({ address: "main@rig.example" }))
    await must(`purchase_orders/${id}/send`, { email: "ann@rig.example", message: "As agreed." })
    await expect.poll(() => smtp.taken.length, soon).toBe(1)
    expect(smtp.taken[0]?.to).toEqual(["ann@rig.example"])
    expect(smtp.taken[0]?.read.text?.trim()).toBe("As agreed.")
  })
  it("is marked as sent and mailed to nobody where no address is known", async () => {
    const { must, order, supplier } = await opened()
    const { id } = await order(await supplier())
    expect((await must(`purchase_orders/${id}/send`, {})).purchase_order.status).toBe("sent")
    expect((await must("system/jobs")).jobs).toEqual([])
  })
  it("that cannot be drawn is not mailed without its document: the job says so", async () => {
    const services = Context.make(DocumentPreparation, () => Effect.succeed(undefined))
    const { must, order, smtp, supplier } = await opened({ services })
    const { id, number } = await order(await supplier({ address: "main@rig.example" }))
    await must(`purchase_orders/${id}/send`, {})
    const job = async () => (await must("system/jobs?q[kind_eq]=purchase_orders.mail")).jobs[0]
    await expect.poll(async () => (await job())?.status, soon).toBe("failed")
    expect((await job()).error).toContain(`There is no document of purchase order ${number} to mail.`)
    expect(smtp.taken).toEqual([])
  })
  it("of which sending is refused is not mailed", async () => {
    const { app, must, order, supplier } = await opened()
    const { id } = await order(await supplier({ address: "main@rig.example" }), { items: [] })
    expect((await app.ask(`/api/v1/purchase_orders/${id}/send`, { json: {} })).status).toBe(422)
    expect((await must("system/jobs")).jobs).toEqual([])
  })
})
