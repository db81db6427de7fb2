/**
 * Concurrent requests for one invoice over the API on Postgres: of two that exclude each other exactly one succeeds.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { isJsonObject } from "../../core/kernel/fields/field.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { houseAt, type Made } from "./calling.ts"
import { type Got, serve, type Serving } from "../server/serving.ts"

const path = "/api/v1/invoices"
interface Desk {
  readonly draft: (type?: string) => Promise<number>
  readonly issued: () => Promise<number>
  /** Creates two drafts that each bill a whole order. */
  readonly twoOfOne: () => Promise<ReadonlyArray<number>>
  readonly post: (id: number, what: string, json?: object) => Promise<Got>
  readonly shown: (id: number) => Promise<Made<"invoice">>
}
const deskAt = async (server: Serving): Promise<Desk> => {
  const house = houseAt(server)
  const member_id = await house.customer({ name: "Payer" })
  const post: Desk["post"] = (id, what, json = {}) => server.ask(`${path}/${id}/${what}`, { method: "POST", json })
  const draft: Desk["draft"] = async (type = "standard") =>
    (
      await house.create("/invoices", {
        member_id,
        type,
        items: [{ name: "Heads", quantity: "4", unit_price: "25.00" }]
      })
    ).id
  return {
    post,
    draft,
    twoOfOne: async () => {
      const order = await house.create("/opportunities", { subject: "Gala", member_id, charge_total: "100.00" })
      const item = { name: "Whole", unit_price: "100.00" }
      const bill = { member_id, opportunity_id: order.id, items: [item] }
      return [(await house.create("/invoices", bill)).id, (await house.create("/invoices", bill)).id]
    },
    issued: async () => {
      const id = await draft()
      expect((await post(id, "issue")).status).toBe(200)
      return id
    },
    shown: async (id) => (await server.ask(`${path}/${id}?include=payments,credit_notes`)).body.invoice
  }
}
const statuses = (replies: ReadonlyArray<Got>): ReadonlyArray<number> => replies.map(({ status }) => status).sort()

/** Two people record full payment. */
const paysTwice = async (desk: Desk): Promise<void> => {
  const id = await desk.issued()
  const replies = await Promise.all(
    ["cash", "card"].map((method) => desk.post(id, "payments", { amount: "100.00", method }))
  )
  expect(statuses(replies)).toEqual([201, 422])
  const { amount_outstanding, payments, status } = await desk.shown(id)
  expect([status, amount_outstanding, payments.length]).toEqual(["paid", "0.00", 1])
}
/** A draft is issued and voided at once; an issued invoice is paid and voided at once. */
const issuesAgainstVoids = async (desk: Desk): Promise<void> => {
  const id = await desk.draft()
  const [issued, voided] = await Promise.all([desk.post(id, "issue"), desk.post(id, "void")])
  expect(issued?.status).toBe(200)
  expect((await desk.shown(id)).status).toBe(voided?.status === 200 ? "voided" : "issued")
  const other = await desk.issued()
  const [paid, undone] = await Promise.all([desk.post(other, "payments", { amount: "1.00" }), desk.post(other, "void")])
  expect([paid?.status, undone?.status].sort()).toEqual(paid?.status === 201 ? [201, 422] : [200, 422])
  const end = await desk.shown(other)
  expect([end.status, end.payments.length]).toEqual(paid?.status === 201 ? ["partially_paid", 1] : ["voided", 0])
}
/** Two people bill the same order. */
const billsTwice = async (desk: Desk): Promise<void> => {
  const ids = await desk.twoOfOne()
  expect(statuses(await Promise.all(ids.map((id) => desk.post(id, "issue"))))).toEqual([200, 422])
}
/** A paid invoice is credited and refunded twice at once; an unpaid one is credited twice at once. */
const creditsAgainstRefunds = async (desk: Desk): Promise<void> => {
  const id = await desk.issued()
  await desk.post(id, "payments", { amount: "100.00" })
  const replies = await Promise.all([
    desk.post(id, "credit_notes"),
    desk.post(id, "refunds", { amount: "100.00" }),
    desk.post(id, "refunds", { amount: "100.00" })
  ])
  expect(statuses(replies)).toEqual([201, 201, 422])
  const { amount_credited, amount_outstanding, amount_paid, status } = await desk.shown(id)
  expect([status, amount_paid, amount_credited, amount_outstanding]).toEqual(["credited", "0.00", "100.00", "0.00"])
  const other = await desk.issued()
  expect(statuses(await Promise.all([1, 2].map(() => desk.post(other, "credit_notes", { amount: "60.00" }))))).toEqual([
    201, 422
  ])
  expect((await desk.shown(other)).amount_credited).toBe("60.00")
}

/** Numbers of a document type, in order of issue. */
const numbersOf = async (server: Serving, type: "invoice" | "credit_note"): Promise<ReadonlyArray<unknown>> => {
  const event = type === "invoice" ? "invoice.issued" : "credit_note.issued"
  const events = await server.run(
    Effect.flatMap(Store, (store) => store.find(journal, { type: event }, { order: ["position"] }))
  )
  return events.map(({ data }) => {
    const named = isJsonObject(data) ? data[type === "invoice" ? "set" : "credit_note"] : undefined
    return isJsonObject(named) ? named["number"] : undefined
  })
}
const wholeSeries = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, at) => String(at + 1).padStart(10, "0"))

/** Sixteen clients issue and credit at once; some requests are refused, and no number is skipped. */
const numbersWithoutHoles = async (server: Serving, desk: Desk, each: number): Promise<void> => {
  const clients = Array.from({ length: 16 }, async (_, client) => {
    for (let at = 0; at < each; at++) {
      const id = await desk.draft()
      if ((client + at) % 4 === 0) expect((await desk.post(id, "issue", { due_at: "2000-01-01" })).status).toBe(422)
      expect((await desk.post(id, "issue")).status).toBe(200)
      expect((await desk.post(id, "issue")).status).toBe(422)
      if ((client + at) % 2 === 0) {
        expect((await desk.post(id, "credit_notes", { amount: "999.00" })).status).toBe(422)
        expect((await desk.post(id, "credit_notes")).status).toBe(201)
      }
    }
  })
  await Promise.all(clients)
  const [issued, credited] = [await numbersOf(server, "invoice"), await numbersOf(server, "credit_note")]
  expect(issued.length).toBeGreaterThanOrEqual(16 * each)
  expect(issued).toEqual(wholeSeries(issued.length))
  expect(credited.length).toBeGreaterThanOrEqual(8 * each)
  expect(credited).toEqual(wholeSeries(credited.length))
}

/** Declares the races, each repeated `rounds` times; sixteen clients each issue and credit `each` invoices. */
export const invoiceRaces = (rounds: number, each: number): void => {
  describe(`concurrent requests for invoices on pg, ${rounds} times`, () => {
    let server: Serving, desk: Desk
    beforeAll(async () => {
      server = await serve("pg")
      desk = await deskAt(server)
    })
    afterAll(() => server.close())
    const again = (race: (desk: Desk) => Promise<void>) => async () => {
      for (let round = 0; round < rounds; round++) await race(desk)
    }

    it("one of two full payments is recorded, and the other refused", again(paysTwice))
    it("one of two invoices for the whole of an order is issued, and the other refused", again(billsTwice))
    it("an invoice that is paid and voided at once is never both", again(issuesAgainstVoids))
    it(
      "an amount credited and refunded concurrently is neither refunded nor credited twice",
      again(creditsAgainstRefunds)
    )
    it("invoices and credit notes issued by sixteen clients are each numbered from 1 without a gap", () =>
      numbersWithoutHoles(server, desk, each))
  })
}
