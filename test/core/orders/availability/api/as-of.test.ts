import { Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { projectInMemory, stock_event_types } from "../../../../../core/orders/availability/api/as-of.ts"
import { catalogue } from "../../../../../core/catalogue.ts"
import { demands } from "../../../../../core/orders/demands/schema.ts"
import { container_items, containers } from "../../../../../core/products/packing.ts"
import { eventsAfter } from "../../../../../core/kernel/events/journal.ts"
import { Store } from "../../../../../core/kernel/store/store.ts"
import type { Table } from "../../../../../core/kernel/tables/table.ts"
import { product_components } from "../../../../../core/products/kits/schema.ts"
import { products } from "../../../../../core/products/products/schema.ts"
import { stock_levels } from "../../../../../core/products/stock/schema.ts"
import { engines } from "../../../../app.ts"
import { appHouse, itFoldsAgain } from "../../../../app-house.ts"

/** Queries after each step of a history, and again at the end `as_of` that step, get equal answers. */
describe.each(engines)("availability as of an earlier time, on %s", (engine) => {
  const w = appHouse(engine, "2026-03-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z")
  let S: number
  beforeAll(async () => {
    S = await w.store({ timezone: "Europe/London" })
  })
  const asked = async (products: ReadonlyArray<number>, as_of?: string) => {
    const then = as_of === undefined ? "" : `&as_of=${as_of}`
    const answers: Array<unknown> = []
    for (const product of products) {
      for (const when of ["date=2026-03-12", "from=2026-03-08&to=2026-04-08"]) {
        // A deleted product still has an answer, with zeros.
        const { body, status } = await w.get(`/availability?product_id=${product}&store_id=${S}&${when}${then}`)
        expect(status).toBe(200)
        const { as_of: past, ...rest } = body.availability
        expect(past).toBe(as_of)
        answers.push(rest)
      }
    }
    return answers
  }
  const moved = (product: number, level: number, body: object) =>
    w.must("POST", `/products/${product}/stock_levels/${level}/stock_transactions`, body)
  const order = async (
    starts_at: string,
    ends_at: string,
    ...lines: ReadonlyArray<readonly [product: number, quantity: number]>
  ) => {
    const { id } = await w.opportunity({ subject: "Festival", store_id: S, starts_at, ends_at })
    const items: Array<number> = []
    for (const [item_id, quantity] of lines)
      items.push((await w.create(`/opportunities/${id}/items`, { name: "Line", item_id, quantity })).items.at(-1).id)
    await w.confirm(id)
    return { id: id as number, items }
  }

  it("equals what was returned at the time, after every step of a history", async () => {
    const [A, B, U] = [await w.bulk(S, 10, { post_rent_unavailability: 600 }), await w.bulk(S, 8), await w.units(S, 3)]
    const [twin, lone] = [await w.bulk(S, 4), await w.units(S, 1)]
    const K = (await w.create("/products", { name: "Kit" })).id as number
    const [H, F] = [await w.units(S, 1, { name: "Case" }), await w.units(S, 2, { name: "Fixed" })]
    await w.must("PUT", `/products/${H.id}/container_template`, { is_containerable: true, availability_mode: "kit" })
    const products = [A.id, B.id, U.id, twin.id, lone.id, K, H.id, F.id]
    const told: Array<readonly [what: string, at: string, answers: ReadonlyArray<unknown>]> = []
    const after = async <A>(what: string, step: () => Promise<A>): Promise<A> => {
      const at = `2026-03-${String(told.length + 2).padStart(2, "0")}T08:30:00.000Z`
      w.app.setClock(at)
      const made = await step()
      told.push([what, at, await asked(products)])
      return made
    }
    const booked = await after("an order", () =>
      order("2026-03-10T09:00:00Z", "2026-03-14T17:00:00Z", [A.id, 4], [U.id, 2])
    )
    const component = await after("a kit is put together", async () => {
      const { id } = await w.create(`/products/${K}/components`, { component_product_id: A.id, quantity: 2 })
      await w.create(`/products/${K}/components`, { component_product_id: B.id })
      return id
    })
    const second = await after("the kit is ordered", () => order("2026-03-28", "2026-03-31", [K, 3], [twin.id, 2]))
    await after("stock is bought", () => moved(A.id, A.level, { transaction_type: 4, quantity: 5 }))
    const ordered = `/opportunities/${booked.id}`
    await after("a line is changed", () => w.must("PUT", `${ordered}/items/${booked.items[0]}`, { quantity: 6 }))
    const assets: ReadonlyArray<number> = await after("units are allocated", async () => {
      const line = { id: booked.items[1]! }
      const { opportunity } = (await w.allocate({ id: booked.id, line }, U.units[0]!, U.units[1]!)).body
      return opportunity.items.find((item) => item.id === line.id)!.assets.map((one) => one.id)
    })
    const box = await after("a case is filled", async () => {
      await w.create(`/products/${H.id}/components`, { component_product_id: F.id, quantity: 2, binding: "fixed" })
      const housing = { product_id: H.id, serialised_item_id: H.units[0], store_id: S }
      const { id } = await w.create("/containers", { name: "Box", ...housing })
      for (const serialised_item_id of F.units) await w.create(`/containers/${id}/pack`, { serialised_item_id })
      return id
    })
    const moves: ReadonlyArray<readonly [what: string, method: string, path: string, body?: object]> = [
      ["the kit takes more", "PATCH", `/products/${K}/components/${component}`, { quantity: 3 }],
      ["one product is merged into another", "POST", `/products/${B.id}/merge`, { secondary_id: twin.id }],
      ["a unit is taken out of the case", "POST", `/containers/${box}/unpack`, { serialised_item_id: F.units[0] }],
      ["units go out", "POST", `${ordered}/quick_book_out`, { asset_ids: assets }],
      ["they are overdue, one comes back", "POST", `${ordered}/quick_check_in`, { asset_ids: [assets[0]] }],
      ["a line is removed", "DELETE", `/opportunities/${second.id}/items/${second.items[0]}`],
      ["a stock level is deleted", "DELETE", `/stock_levels/${lone.units[0]}`],
      ["an order is cancelled", "POST", `/opportunities/${second.id}/change_status`, { status: 6 }],
      ["a product is deleted", "DELETE", `/products/${A.id}`]
    ]
    await after("a unit is written off", () => moved(U.id, U.units[2]!, { transaction_type: 6, quantity: 1 }))
    for (const [what, method, path, body] of moves) await after(what, () => w.must(method, path, body))
    expect(new Set(told.map(([, , answers]) => JSON.stringify(answers))).size).toBe(told.length)
    w.app.setClock("2026-05-01T12:00:00.000Z")
    for (const [what, at, answers] of told) {
      const again = await asked(products, at)
      answers.forEach((answer, index) => expect([what, index, again[index]]).toEqual([what, index, answer]))
    }
  })
  it("reads a plain date as the start of the store's day", async () => {
    const P = await w.bulk(S, 1)
    w.app.setClock("2026-06-10T23:30:00.000Z")
    await moved(P.id, P.level, { transaction_type: 4, quantity: 1 })
    w.app.setClock("2026-06-12T12:00:00.000Z")
    const believed = async (as_of: string) => {
      const { availability } = (
        await w.get(`/products/${P.id}/availability?store_id=${S}&date=2026-06-20&as_of=${as_of}`)
      ).body
      return [availability.as_of, availability.available]
    }
    expect(await believed("2026-06-11")).toEqual(["2026-06-10T23:00:00.000Z", 1])
    expect(await believed("2026-06-11T00:30:00%2B01:00")).toEqual(["2026-06-10T23:30:00.000Z", 2])
  })
  it("is rejected for a time before the journal begins, in the future or invalid", async () => {
    const P = await w.bulk(S, 1)
    const refused = async (as_of: string) => {
      const { body, status } = await w.get(
        `/products/${P.id}/availability?store_id=${S}&date=2026-06-20&as_of=${as_of}`
      )
      return [status, body.errors]
    }
    expect(await refused("2026-02-28T23:59:59Z")).toEqual([
      422,
      { as_of: ["The journal begins at 2026-03-01T00:00:00.000Z: what was believed before is not on record."] }
    ])
    expect(await refused("2099-01-01")).toEqual([422, { as_of: ["The as of field must not be in the future."] }])
    expect((await refused("yesterday"))[0]).toBe(422)
  })
  it("reads every type of event that its tables depend on", async () => {
    const tables = [products, product_components, stock_levels, demands, containers, container_items]
    const [events, there] = await w.app.run(
      Effect.gen(function* () {
        const store = yield* Store
        return [
          yield* eventsAfter(store, 0, 100_000),
          yield* Effect.forEach(tables, (table) => store.find(table as Table, {}, { order: ["id"] }))
        ] as const
      })
    )
    const folded = projectInMemory(
      catalogue,
      tables,
      events.filter((event) => stock_event_types.includes(event.type))
    )
    tables.forEach((table, at) => {
      expect(there[at]!.length).toBeGreaterThan(0)
      expect(folded.rows(table as Table).toSorted((one, other) => Number(one["id"]) - Number(other["id"]))).toEqual(
        there[at]
      )
    })
  })
  itFoldsAgain(w)
})
