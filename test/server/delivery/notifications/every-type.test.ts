/** Every notification type, by the request that causes it: recipients, texts, and users who get none. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { documentStream } from "../../../../core/documents/schema.ts"
import { request_waits_millis } from "../../../../core/documents/lifecycle-api.ts"
import { journal } from "../../../../core/kernel/events/journal.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { instantOf } from "../../../../core/values/time.ts"
import { documentGeneratedCause } from "../../../../server/delivery/notifications/causes/happening.ts"
import { waitlistMatched } from "../../../../server/delivery/notifications/causes/causes.ts"
import { writeDown } from "../../../../server/delivery/notifications/write.ts"
import { overdueSweep } from "../../../../server/billing/slice.ts"
import { inspectionSweep, lateTransfersSweep } from "../../../../server/orders/reminders.ts"
import { type Books, openBooks } from "../../../api/billing-black-box.ts"
import { engines } from "../../../app.ts"
import { houseOf, type House, type Person } from "./house.ts"
import { ranOnce } from "../jobs/words.ts"

describe.each(engines)("the notifications on %s", (engine) => {
  let yard: Books
  let house: House
  let seller: Person, keeper: Person, outsider: Person, manager: Person
  beforeAll(async () => {
    yard = await openBooks(engine)
    house = houseOf(yard.server)
    seller = await house.person("Sam Seller", [
      "opportunities.view",
      "invoices.view",
      "documents.view",
      "documents.create",
      "opportunities.edit"
    ])
    keeper = await house.person("Kim Keeper", ["purchase_orders.view", "activities.view"])
    manager = await house.person("Max Manager", ["users.view"])
    outsider = await house.person("Olga Outside", ["rates.view"])
  })
  afterAll(() => yard.close())

  const of = async (person: Person | undefined, type: string, subject_id?: number) => {
    await house.told()
    const about = subject_id === undefined ? "" : `&q[subject_id_eq]=${subject_id}`
    return house.inbox(person, `&q[notification_type_eq]=${type}${about}`)
  }
  const titles = async (person: Person | undefined, type: string, subject_id?: number) =>
    (await of(person, type, subject_id)).map(({ title }) => title)

  it("include a copied opportunity as a created one", async () => {
    const job = await yard.job()
    const { id, number } = await yard.made(`/opportunities/${job.id}/clone`)
    expect(await titles(seller, "opportunity.created", id)).toEqual([`Opportunity ${number} for Payer was made`])
    expect(await of(keeper, "opportunity.created")).toEqual([])
  })
  it("include a lost quotation and a cancelled order, but no order that goes on hire", async () => {
    const type = "opportunity.cancelled"
    const lost = await yard.job()
    await yard.made(`/opportunities/${lost.id}/convert_to_quotation`)
    await house.did(200, "POST", `/opportunities/${lost.id}/change_status`, { status: 2 })
    expect(await titles(seller, type, lost.id)).toEqual([`Quotation ${lost.number} for Payer was lost`])
    const order = await yard.job()
    await yard.made(`/opportunities/${order.id}/convert_to_quotation`)
    await yard.made(`/opportunities/${order.id}/convert_to_order`)
    await house.did(200, "POST", `/opportunities/${order.id}/change_status`, { status: 2 })
    expect(await of(seller, type, order.id)).toEqual([])
    await house.did(200, "POST", `/opportunities/${order.id}/change_status`, { status: 6 })
    const [told] = await of(seller, type, order.id)
    expect(told).toMatchObject({
      title: `Order ${order.number} for Payer was cancelled`,
      body: "A job, 1 July 2026 – 4 July 2026",
      is_own: false
    })
    expect(await of(outsider, type)).toEqual([])
  })
  it("include an invoice that is issued, paid or overdue", async () => {
    const bill = await yard.issued()
    expect(await titles(seller, "invoice.issued", bill.id)).toEqual([`Invoice ${bill.number} for Payer was issued`])
    await yard.made(`/invoices/${bill.id}/payments`, { amount: "50.00", method: "cash" })
    expect(await titles(seller, "payment.recorded", bill.id)).toEqual([
      `A payment of £50.00 was recorded: Invoice ${bill.number} for Payer`
    ])
    house.setClock(Date.parse(bill.due_at) + 3 * 86_400_000)
    await house.run(ranOnce(overdueSweep.kind, { due_at: bill.due_at }))
    expect(await titles(seller, "invoice.overdue", bill.id)).toEqual([`Invoice ${bill.number} for Payer is overdue`])
    const mailed = await house.sql("select mail_state from notifications where notification_type = 'invoice.overdue'")
    expect(mailed.filter(({ mail_state }) => mail_state !== "none").length).toBeGreaterThan(0)
    expect(await of(keeper, "invoice.issued")).toEqual([])
  })
  it("include an inspection that is due soon, once", async () => {
    const technician = await house.person("Tia Technician", ["stock.view"])
    const product = await yard.made("/products", { name: "Head", stock_method: 2 })
    const stock_level = await yard.made("/stock_levels", { product_id: product.id, store_id: 1, asset_number: "PAT-1" })
    const inspection_kind = await yard.made("/inspection_kinds", { name: "PAT" })
    const about = { inspection_kind_id: inspection_kind.id }
    await yard.made("/inspection_intervals", { ...about, product_id: product.id })
    const due_at = "2026-09-01T12:00:00.000Z"
    const inspection = await yard.made("/inspections", {
      ...about,
      stock_level_id: stock_level.id,
      result: "pass",
      due_at
    })
    house.setClock(Date.parse(due_at) - 10 * 86_400_000)
    await house.run(ranOnce(inspectionSweep.kind, { due_at }))
    expect(await titles(technician, "inspection.due", inspection.id)).toEqual(["The PAT of PAT-1 is due"])
    await house.run(ranOnce(inspectionSweep.kind, { due_at }))
    expect(await titles(technician, "inspection.due", inspection.id)).toHaveLength(1)
    expect(await of(keeper, "inspection.due")).toEqual([])
  })
  it("include a late transfer from another store, once", async () => {
    const porter = await house.person("Pat Porter", ["stock.view"])
    const store = await yard.made("/stores", { name: "Leeds" })
    const product = await yard.made("/products", { name: "Cable", stock_method: 1 })
    const { id } = await yard.made("/transfers", {
      ...{ from_store_id: 1, to_store_id: store.id, starts_at: "2026-07-01T08:00:00Z" },
      items: [{ product_id: product.id, quantity: 1 }]
    })
    for (const due_at of ["2030-01-01T00:17:00.000Z", "2030-01-01T01:17:00.000Z"])
      await house.run(ranOnce(lateTransfersSweep.kind, { due_at }))
    const [told, ...more] = await of(porter, "transfer.late", id)
    expect([told.title, told.body, more]).toEqual([
      expect.stringMatching(`^Transfer ${id} from .* has not arrived$`),
      "Expected at Leeds on 1 July 2026",
      []
    ])
    expect(await of(seller, "transfer.late")).toEqual([])
    await house.did(200, "POST", `/transfers/${id}/cancel`)
  })
  it("include received goods of a purchase order, without costs", async () => {
    const order = await yard.received()
    const [told] = await of(keeper, "purchase_order.received", order.id)
    expect(told.title).toBe(`Goods of purchase order ${order.number} from Big Cranes Ltd came in`)
    expect(told.body).toBe("All of it is here.")
    expect(JSON.stringify(told)).not.toMatch(/£|100/)
    expect(await of(seller, "purchase_order.received")).toEqual([])
  })
  it("include one to the requester when a batch of documents is ready", async () => {
    const bills = [await yard.issued(), await yard.issued()]
    const body = { document_type: "invoice", documentable_type: "Invoice" }
    await house.did(201, "POST", "/documents/generate", { ...body, documentable_id: bills[0].id }, seller.token)
    await house.did(
      202,
      "POST",
      "/documents/batch_generate",
      { ...body, documentable_ids: bills.map(({ id }) => id) },
      seller.token
    )
    await expect
      .poll(() => titles(seller, "document.generated"), { timeout: 30_000 })
      .toEqual(["2 documents are ready"])
    expect(await of(undefined, "document.generated")).toEqual([])
  })
  it("include a document that was rendered after its request ended, and none that the request returned", async () => {
    const { id } = await yard.issued()
    const body = { document_type: "invoice", documentable_type: "Invoice", documentable_id: id }
    const { document } = await house.did(201, "POST", "/documents/generate", body, seller.token)
    await house.told()
    const events = await house.run(
      Effect.flatMap(Store, (store) =>
        store.find(journal, { stream: documentStream(document.id), type: "document.generated" })
      )
    )
    const after = (millis: number) =>
      events.map((event) => ({ ...event, recorded_at: instantOf(Date.parse(event.recorded_at) + millis) }))
    const happenings = (millis: number) => house.run(documentGeneratedCause.happenings(after(millis)))
    expect([events.length, await happenings(request_waits_millis / 2)]).toEqual([1, []])
    expect(await house.run(writeDown(await happenings(request_waits_millis), () => undefined))).toBe(1)
    const [told] = await of(seller, "document.generated", document.id)
    expect([told.title, told.is_own, told.read_at]).toEqual([
      `Invoice ${document.document_number} is ready`,
      false,
      null
    ])
    expect(told.body).toMatch(/^Invoice \S+ for Payer$/)
  })
  it("include a quotation accepted by its customer, under its opportunity", async () => {
    const job = await yard.job()
    await yard.made(`/opportunities/${job.id}/convert_to_quotation`)
    const about = { document_type: "quotation", documentable_type: "Opportunity", documentable_id: job.id }
    const { document } = await house.did(201, "POST", "/documents/generate", about)
    const { public_link } = await house.did(201, "POST", `/documents/${document.id}/public_link`, {})
    const accepted = await yard.server.ask(`/d/${public_link.token}`, {
      token: null,
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      bytes: "name=Ann+Bell&accept=1"
    })
    expect([200, 303], accepted.text.slice(0, 300)).toContain(accepted.status)
    const [told] = await of(seller, "document.accepted", job.id)
    expect(told.title).toMatch(
      new RegExp(`^Quotation ${document.document_number} was accepted: \\w+ ${job.number} for Payer$`)
    )
    expect([told.actor_id, JSON.stringify(told).includes("Ann Bell")]).toEqual([null, false])
    const [row] = await house.sql(`select mail_state from notifications where id = ${told.id}`)
    expect(row.mail_state).not.toBe("none")
    expect(await of(outsider, "document.accepted")).toEqual([])
  })
  it("announce stock for a waiting line to the opportunity's owner, and not to users without permission", async () => {
    const job = await yard.job(undefined, { owned_by: seller.member_id })
    const [item] = job.items
    const event = {
      stream: `opportunity:${job.id}`,
      type: "shortage.waitlist.matched",
      data: { id: 1, opportunity_id: job.id, opportunity_item_id: item.id, waitlisted_by: keeper.user_id },
      ...{ position: 1, version: 1, command_id: "test", actor_id: null, replica_id: null },
      recorded_at: "2026-06-18T12:00:00.000Z"
    }
    const happenings = await house.run(waitlistMatched.happenings([event]))
    expect(await house.run(writeDown(happenings, () => undefined))).toBe(1)
    expect(await titles(seller, "shortage.waitlist.matched", job.id)).toEqual([
      `Stock came free for ${item.name} on Opportunity ${job.number} for Payer`
    ])
    // The user who listed it may no longer see opportunities.
    expect(await of(keeper, "shortage.waitlist.matched")).toEqual([])
  })
  it("include an activity for a new owner or participant who may see it, but no completed, cancelled or muted one", async () => {
    const type = "activity.assigned"
    const base = { subject: "Call the venue", starts_at: "2026-07-01T09:00:00Z", owned_by: keeper.user_id }
    const { id } = await yard.made("/activities", { ...base, participants: [{ member_id: manager.member_id }] })
    expect(await titles(keeper, type, id)).toEqual(["The activity “Call the venue” was given to you"])
    expect((await of(keeper, type, id)).map(({ body }) => body)).toEqual(["Starts 1 July 2026 09:00"])
    expect(await of(manager, type, id)).toEqual([])
    const change = (json: object) => house.did(200, "PUT", `/activities/${id}`, json)
    await change({ subject: "Call the venue again" })
    await change({ participants: [{ member_id: keeper.member_id }] })
    expect((await of(keeper, type, id)).length).toBe(1)
    await change({ owned_by: 1, participants: [] })
    expect((await of(undefined, type, id)).map(({ is_own, read_at }) => [is_own, read_at !== null])).toEqual([
      [true, true]
    ])
    await change({ owned_by: keeper.user_id })
    expect((await of(keeper, type, id)).length).toBe(2)
    const done = await yard.made("/activities", { ...base, status_id: 2002, completed: true })
    const cancelled = await yard.made("/activities", { ...base, status_id: 2003 })
    const muted = await yard.made("/activities", {
      subject: "M",
      participants: [{ member_id: keeper.member_id, mute: true }]
    })
    for (const one of [done, cancelled, muted]) expect(await of(keeper, type, one.id)).toEqual([])
    const joined = await yard.made("/activities", { subject: "J", participants: [{ member_id: keeper.member_id }] })
    expect(await titles(keeper, type, joined.id)).toEqual(["The activity “J” was given to you"])
  })
  it("announce changes of accounts to users who may see them, and a reactivation also to its user", async () => {
    const { user_id, token } = await house.person("Ann Other", ["stock.view"])
    expect(await titles(manager, "user.invited", user_id)).toEqual(["Ann Other was invited"])
    expect(await of({ user_id, token, member_id: 0 }, "user.invited")).toEqual([])
    await yard.remove(`/users/${user_id}`)
    expect(await titles(manager, "user.deactivated", user_id)).toEqual(["The account of Ann Other was closed"])
    await house.did(200, "POST", `/users/${user_id}/activate`)
    expect(await titles(manager, "user.reactivated", user_id)).toEqual(["The account of Ann Other was opened again"])
    const rows = await house.sql(`select notification_type from notifications where user_id = ${user_id}`)
    expect(rows.map((row) => row.notification_type)).toEqual(["user.reactivated"])
    expect(await of(outsider, "user.invited")).toEqual([])
  })
  it("are not created for users without the permissions", async () => {
    expect((await house.inbox(outsider)).map((row) => row.notification_type)).toEqual([])
  })
})
