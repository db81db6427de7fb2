/** Scenarios of availability, kits and containers, played against every runtime (see `playing.ts`). */
import { expect } from "vitest"
import type { Answering, Look, Reply, Scenario as Told } from "./playing.ts"
import { type Calling, callingOf, type Made } from "./calling.ts"
import { containerScenarios } from "./scenarios/containers.ts"
import { demandScenarios } from "./scenarios/demand.ts"
import { kitScenarios } from "./scenarios/kits.ts"
import { overviewScenarios } from "./scenarios/overviews.ts"
import { productScenarios } from "./scenarios/products.ts"
import { readingScenarios } from "./scenarios/reading.ts"
import type { Body } from "../answers.ts"

export const v1 = "/api/v1"
export const today = "2026-06-18T12:00:00.000Z"
export type Resolution = "daily" | "half_daily" | "hourly"
export type Scenario = Told<string, Scene> & { readonly resolution: Resolution }
export const scenario = (
  n: string,
  title: string,
  run: Scenario["run"],
  resolution: Resolution = "daily"
): Scenario => ({ n, title, run, resolution })

interface Claimed {
  readonly id: number
  readonly line: number
}
export interface Scene extends Calling {
  readonly subject: string
  /** Creates a store for this scenario, in UTC by default. */
  readonly store: (body?: object) => Promise<number>
  readonly product: (body?: object) => Promise<Made<"product">>
  /** Creates a bulk product with a quantity at the store. */
  readonly bulk: (store_id: number, quantity: number, body?: object) => Promise<number>
  readonly unit: (product_id: number, store_id: number, body?: object) => Promise<number>
  /** Creates a serialised product with a number of units at the store. */
  readonly units: (
    store_id: number,
    count: number,
    body?: object
  ) => Promise<{ readonly id: number; readonly units: ReadonlyArray<number> }>
  /** Creates a draft of one line; dates are days of 2026 or instants, no end leaves it open. */
  readonly draft: (
    store_id: number,
    item_id: number | null,
    quantity: number,
    from: string,
    to: string | null,
    body?: object
  ) => Promise<Claimed>
  /** Creates an active order of one line. */
  readonly claim: (
    store_id: number,
    item_id: number,
    quantity: number,
    from: string,
    to: string | null,
    body?: object
  ) => Promise<Claimed>
  readonly move: (id: number, name: string, body?: object) => Promise<Reply>
  /** Allocates units to the line; returns their assignments. */
  readonly allocate: (demand: Claimed, ...units: ReadonlyArray<number>) => Promise<ReadonlyArray<number>>
  readonly point: (product_id: number, store_id: number, date: string) => Promise<Body["availability"]>
  readonly range: (product_id: number, store_id: number, from: string, to: string) => Promise<Body["availability"]>
  readonly gantt: (product_id: number, store_id: number, from: string, to: string) => Promise<Body["gantt"]>
  readonly calendar: (store_id: number, from: string, to: string) => Promise<Body["calendar"]>
  readonly shortages: (query: string) => Promise<Body["shortages"]>
  /** Creates a serialised product used as a case, with its container template. */
  readonly caseProduct: (template: object, body?: object) => Promise<number>
  /** Creates an open container with its own case at the store. */
  readonly container: (
    store_id: number,
    template: object,
    body?: object
  ) => Promise<{ readonly id: number; readonly housing: number; readonly product: number }>
  readonly act: (container: number, verb: string, body?: object) => Promise<Reply>
  readonly pack: (container: number, serialised_item_id: number, body?: object) => Promise<Reply>
  /** Available quantity on a day long after all packing. */
  readonly free: (product_id: number, store_id: number) => Promise<number>
}

/** `07-02` is a day of 2026; full dates and instants stay as they are. */
const dated = (text: string): string => (/^\d\d-\d\d$/.test(text) ? `2026-${text}` : text)
const instant = (text: string): string => (dated(text).length === 10 ? `${dated(text)}T00:00:00Z` : text)

export const sceneOf = (n: string, by: Answering, looks: Array<Look>): Scene => {
  const subject = `Scenario ${n}`
  let count = 0
  const called = (what: string): string => `${subject} ${what} ${++count}`
  const calling = callingOf(by, looks)
  const { get, made, post } = calling
  const read = async <const Key extends string>(path: string, key: Key): Promise<Body[Key]> => {
    const reply = await get(path)
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    return reply.body[key]
  }
  const product: Scene["product"] = (body = {}) =>
    made(`${v1}/products`, { name: called("product"), ...body }, "product")
  const unit: Scene["unit"] = async (product_id, store_id, body = {}) =>
    (await made(`${v1}/stock_levels`, { product_id, store_id, serial_number: called("unit"), ...body }, "stock_level"))
      .id
  const move: Scene["move"] = (id, name, body = {}) => post(`${v1}/opportunities/${id}/${name}`, body)
  const draft: Scene["draft"] = async (store_id, item_id, quantity, from, to, body = {}) => {
    const { id } = await made(
      `${v1}/opportunities`,
      { subject, store_id, starts_at: instant(from), ...(to === null ? {} : { ends_at: instant(to) }), ...body },
      "opportunity"
    )
    const {
      items: [line]
    } = await made(
      `${v1}/opportunities/${id}/items`,
      { name: "Line", quantity, ...(item_id === null ? {} : { item_id }) },
      "opportunity"
    )
    return { id, line: line!.id }
  }
  const act: Scene["act"] = (container, verb, body = {}) => post(`${v1}/containers/${container}/${verb}`, body)
  const caseProduct: Scene["caseProduct"] = async (template, body = {}) => {
    const { id } = await product({ stock_method: 2, ...body })
    const reply = await by.ask("PUT", `${v1}/products/${id}/container_template`, {
      is_containerable: true,
      ...template
    })
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    return id
  }
  const point: Scene["point"] = (product_id, store_id, date) =>
    read(`${v1}/availability?product_id=${product_id}&store_id=${store_id}&date=${dated(date)}`, "availability")
  const span = (from: string, to: string): string => `from=${dated(from)}&to=${dated(to)}`
  return {
    ...calling,
    subject,
    product,
    unit,
    draft,
    move,
    act,
    caseProduct,
    point,
    store: async (body = {}) => (await made(`${v1}/stores`, { name: called("store"), ...body }, "store")).id,
    bulk: async (store_id, quantity, body = {}) => {
      const { id } = await product(body)
      await made(`${v1}/stock_levels`, { product_id: id, store_id, quantity_held: quantity }, "stock_level")
      return id
    },
    units: async (store_id, amount, body = {}) => {
      const { id } = await product({ stock_method: 2, ...body })
      const units: Array<number> = []
      for (let at = 0; at < amount; at++) units.push(await unit(id, store_id))
      return { id, units }
    },
    claim: async (store_id, item_id, quantity, from, to, body = {}) => {
      const claimed = await draft(store_id, item_id, quantity, from, to, body)
      for (const step of ["convert_to_quotation", "convert_to_order"]) {
        const reply = await move(claimed.id, step)
        expect(reply.status, JSON.stringify(reply.body)).toBe(200)
      }
      return claimed
    },
    allocate: async ({ id, line }, ...units) => {
      const { items } = await made(
        `${v1}/opportunities/${id}/quick_allocate`,
        { allocations: units.map((stock_level_id) => ({ opportunity_item_id: line, stock_level_id })) },
        "opportunity"
      )
      return items.find((one) => one.id === line)!.assets!.map((one) => one.id)
    },
    range: (product_id, store_id, from, to) =>
      read(`${v1}/availability?product_id=${product_id}&store_id=${store_id}&${span(from, to)}`, "availability"),
    gantt: (product_id, store_id, from, to) =>
      read(`${v1}/availability/${product_id}/gantt?store_id=${store_id}&${span(from, to)}`, "gantt"),
    calendar: (store_id, from, to) =>
      read(`${v1}/availability/calendar?store_id=${store_id}&${span(from, to)}`, "calendar"),
    shortages: (query) => read(`${v1}/availability/shortages?${query}`, "shortages"),
    container: async (store_id, template, body = {}) => {
      const product = await caseProduct(template)
      const housing = await unit(product, store_id)
      return {
        id: (await made(`${v1}/containers`, { name: subject, serialised_item_id: housing, ...body }, "container")).id,
        housing,
        product
      }
    },
    pack: (container, serialised_item_id, body = {}) => act(container, "pack", { serialised_item_id, ...body }),
    free: async (product_id, store_id) => (await point(product_id, store_id, "2026-12-01")).available
  }
}

/** Expects 422 with errors on exactly these fields, in any order. */
export const refusedOn = (reply: Reply, ...fields: ReadonlyArray<string>): void =>
  expect([reply.status, Object.keys(reply.body?.errors ?? {}).sort()], JSON.stringify(reply.body)).toEqual([
    422,
    [...fields].sort()
  ])

export const scenarios: ReadonlyArray<Scenario> = [
  ...readingScenarios(),
  ...overviewScenarios(),
  ...demandScenarios(),
  ...kitScenarios(),
  ...containerScenarios(),
  ...productScenarios()
]
