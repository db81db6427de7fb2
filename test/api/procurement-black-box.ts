/** What black-box cases of purchase orders and documents begin with: a supplier, goods, and a yard that may be reached. */
import { spawnSync } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "vitest"
import { nothing_outside } from "../../server/outside.ts"
import type { Engine } from "../app.ts"
import { pagesOfPdf } from "../server/print/pdf-text.ts"
import type { Got, Sent, Serving } from "../server/serving.ts"
import { type Delivered, receiver } from "../server/webhooks/receiver.ts"
import { type Books, openBooks } from "./billing-black-box.ts"

export const soon = { timeout: 60_000, interval: 25 }
export const public_url = "https://hire.example"
export const hire = { starts_at: "2026-07-01T00:00:00Z", ends_at: "2026-07-05T00:00:00Z" }

export interface Yard extends Books {
  /** An organisation taxed as Standard on what is bought of it. */
  readonly supplier: number
  /** Serialised: 12.50 to sub-hire, 250.00 to buy; both at 20 %. */
  readonly lamp: number
  /** Bulk: 1.25 to sub-hire, 9.99 to buy; at 5 %. */
  readonly cable: number
  readonly sub_hire_group: number
  readonly purchase_group: number
  /** A draft of the supplier's for the hire, with one row of 100.00 at 20 % that is no product, unless told. */
  readonly order: (more?: object) => Promise<any>
  readonly sent: (more?: object) => Promise<any>
  readonly order_of: (id: number, include?: string) => Promise<any>
  readonly receive: (id: number, lines: unknown, more?: object, sent?: Sent) => Promise<Got>
  /** Sent, and everything on it received. */
  readonly received: (more?: object, receipt?: object) => Promise<any>
  /** An organisation that one can order from, untaxed unless told. */
  readonly organisation_of: (more?: object) => Promise<number>
}

export interface YardOptions {
  readonly smtp_url?: string
}

/** Costs 10.00 a thing; the clock shows `now`; webhooks may reach this machine. */
export const openYard = async (engine: Engine, { smtp_url }: YardOptions = {}): Promise<Yard> => {
  const data_folder = await mkdtemp(join(tmpdir(), "flightcase-yard-"))
  const books = await openBooks(engine, {
    data_folder,
    public_url,
    outside: { ...nothing_outside, smtp_url, webhooks_private: true, webhooks_waits_seconds: [1, 1] }
  })
  const { made, organisation, standard, reduced } = books
  let count = 0
  const organisation_of: Yard["organisation_of"] = async (more = {}) =>
    (await made("/members", { name: `Supplier ${++count}`, membership_type: "organisation", ...more })).id
  const supplier = await organisation_of({ name: "Big Cranes Ltd", purchase_tax_class_id: organisation })
  const sub_hire_group = (await made("/cost_groups", { name: "Lamps hired" })).id
  const purchase_group = (await made("/cost_groups", { name: "Lamps bought" })).id
  const groups = { sub_rental_cost_group_id: sub_hire_group, purchase_cost_group_id: purchase_group }
  const lamp = (
    await made("/products", {
      ...{ name: "Lamp", stock_method: 2, sub_rental_price: 1250, purchase_price: 25_000 },
      ...{ tax_class_id: reduced, purchase_tax_class_id: standard, ...groups }
    })
  ).id
  const cable = (
    await made("/products", {
      ...{ name: "Cable", sub_rental_price: 125, purchase_price: 999 },
      ...{ tax_class_id: standard, purchase_tax_class_id: reduced, ...groups }
    })
  ).id
  const order: Yard["order"] = (more = {}) =>
    made("/purchase_orders", {
      ...{ supplier_id: supplier, ...hire },
      items: [{ name: "Crane", unit_cost: "100.00", tax_class_id: standard }],
      ...more
    })
  const order_of: Yard["order_of"] = async (id, include = "items") =>
    (await books.get(`/purchase_orders/${id}?include=${include}`)).purchase_order
  const sent: Yard["sent"] = async (more) => {
    const { id } = await made(`/purchase_orders/${(await order(more)).id}/send`)
    return order_of(id)
  }
  const receive: Yard["receive"] = (id, lines, more = {}, how = {}) =>
    books.ask("POST", `/purchase_orders/${id}/receive`, { lines, ...more }, how)
  return {
    ...books,
    ...{ supplier, lamp, cable, sub_hire_group, purchase_group, organisation_of, order, sent, order_of, receive },
    received: async (more, receipt) => {
      const { id, items } = await sent(more)
      const got = await receive(id, items.map(everything), receipt)
      expect(got.status, got.text).toBe(200)
      return order_of(id)
    },
    close: async () => {
      await books.close()
      await rm(data_folder, { recursive: true, force: true })
    }
  }
}

/** A line of a receipt with all that a row still waits for. */
export const everything = (item: any): object => ({ item_id: item.id, quantity: item.outstanding_quantity })

/** Whoever signs up for these kinds, and what they have been told of each. */
export const listening = async (yard: Yard, events: ReadonlyArray<string>) => {
  const hook = await receiver()
  await yard.made("/webhooks", { url: hook.url, events })
  const told = (event: string): ReadonlyArray<Delivered> => hook.got.filter((one) => one.body.event === event)
  return {
    told,
    /** The data of the first delivery of this kind for which it holds. */
    heard: async (event: string, which: (data: any) => boolean = () => true): Promise<any> => {
      const found = () => told(event).find((one) => which(one.body.data))
      await expect.poll(() => found() !== undefined, soon).toBe(true)
      return found()!.body
    },
    close: hook.close
  }
}

/** The job's last word. */
export const ended = async (yard: Books, job_id: string): Promise<any> => {
  const job = async () => (await yard.get(`/system/jobs/${encodeURIComponent(job_id)}`)).job
  await expect.poll(async () => ["done", "failed"].includes((await job())?.status), soon).toBe(true)
  return job()
}

/** A file by its signed address, as somebody opens it who has nothing else. */
export const opened = (server: Serving, url: string, more: Sent = {}): Promise<Got> => {
  const { pathname, search } = new URL(url, public_url)
  return server.ask(pathname + search, { token: null, ...more })
}

/** The words of a PDF, by `pdftotext` where it is installed. */
export const wordsOf = (bytes: Uint8Array): string => {
  expect(Buffer.from(bytes.subarray(0, 5)).toString("latin1")).toBe("%PDF-")
  const read = spawnSync("pdftotext", ["-layout", "-", "-"], { input: bytes, encoding: "utf8" })
  return read.status === 0 ? read.stdout : pagesOfPdf(bytes).join("\n")
}

export const keyed = (key: string): Sent => ({ headers: { "idempotency-key": key } })
