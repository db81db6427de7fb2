/** Concurrent requests for one opportunity and one pool of units, over the API on Postgres. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { demands } from "../../core/orders/demands/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { asset_assignments } from "../../core/orders/opportunities/tables/lines.ts"
import { rebuild } from "../../core/kernel/runtime/schema.ts"
import { rentalHouse } from "../rental-house.ts"
import { serve, type Serving } from "../server/serving.ts"

const opp = "/api/v1/opportunities"
const clients = 16

describe("sixteen concurrent clients on pg", () => {
  let server: Serving
  beforeAll(async () => {
    server = await serve("pg")
  })
  afterAll(() => server.close())

  const call = (method: string, path: string, json: unknown = {}) =>
    server.ask(path, { method, ...(method === "GET" ? {} : { json }) })
  const house = rentalHouse((method, path, body) => call(method, `/api/v1${path}`, body))
  const june = { starts_at: "2031-06-01T09:00:00Z", ends_at: "2031-06-05T17:00:00Z", store_id: 1 }
  /** Versions of each stream are 1, 2, 3 …: no event was lost or overwritten. */
  const versionsAreWhole = async () => {
    const rows = await server.run(
      Effect.flatMap(Store, (store) =>
        store.run<{ stream: string; n: number; top: number }>(
          "select stream, count(*) as n, max(version) as top from journal group by stream"
        )
      )
    )
    for (const { n, stream, top } of rows) expect([stream, Number(top)]).toEqual([stream, Number(n)])
  }

  const dump = () =>
    server.run(
      Effect.gen(function* () {
        const store = yield* Store
        const rows: { [table: string]: unknown } = {}
        for (const table of server.app.catalogue.tables) rows[table.name] = yield* store.find(table, {})
        return rows
      })
    )

  it("change one opportunity's lines, and the total is the sum of all", async () => {
    const { id } = await house.opportunity({ subject: "Busy", ...june })
    const added = await Promise.all(
      Array.from({ length: clients }, (_, at) =>
        call("POST", `${opp}/${id}/items`, { name: `Line ${at}`, unit_price: "10.00", quantity: 1 })
      )
    )
    expect(added.map(({ status }) => status)).toEqual(added.map(() => 201))
    const { items } = (await call("GET", `${opp}/${id}?include=items`)).body.opportunity as {
      items: ReadonlyArray<{ id: number; path: string }>
    }
    expect(items.map(({ path }) => path)).toEqual(
      Array.from({ length: clients }, (_, at) => String(at + 1).padStart(4, "0"))
    )
    const changed = await Promise.all(
      items.flatMap((item, at) => [
        call("PATCH", `${opp}/${id}/items/${item.id}`, { quantity: at + 1 }),
        call("POST", `${opp}/${id}/costs`, { description: `Cost ${at}`, amount: "1.00" })
      ])
    )
    expect(changed.filter(({ status }) => status >= 300)).toEqual([])
    const after = (await call("GET", `${opp}/${id}?include=items,costs`)).body.opportunity
    // Four days at 10.00 a day for 1 + 2 + … + 16 units, and sixteen costs of 1.00.
    expect(after.charge_total).toBe(`${4 * 10 * 136 + 16}.00`)
    expect(after.costs).toHaveLength(clients)
    await versionsAreWhole()
  })
  it("quote and order one opportunity once, and number its versions without a gap", async () => {
    const { id } = await house.opportunity({ subject: "Contested", ...june })
    await call("POST", `${opp}/${id}/items`, { name: "Line", unit_price: "10.00" })
    const quoted = await Promise.all(
      Array.from({ length: clients }, () => call("POST", `${opp}/${id}/convert_to_quotation`))
    )
    expect(quoted.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: clients - 1 }, () => 422)])
    const versions = await Promise.all(Array.from({ length: clients }, () => call("POST", `${opp}/${id}/versions`)))
    expect(
      versions.map(({ body, status }) => [status, body.version?.version_number]).sort((a, b) => a[1] - b[1])
    ).toEqual(Array.from({ length: clients }, (_, at) => [201, at + 1]))
    const shown = (await call("GET", `${opp}/${id}?include=items,versions`)).body.opportunity
    expect(shown.items).toHaveLength(1)
    expect(shown.versions.filter((one) => one.is_active)).toHaveLength(1)
    const ordered = await Promise.all(
      Array.from({ length: clients }, () => call("POST", `${opp}/${id}/convert_to_order`))
    )
    expect(ordered.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(ordered.filter(({ status }) => status === 422)).toHaveLength(clients - 1)
  })
  it("allocate from a pool of ten units: ten succeed, and six are refused", async () => {
    const { id: product_id, units } = await house.units(1, 10)
    const orders: Array<{ id: number; line: number }> = []
    for (let at = 0; at < clients; at++) {
      const { id, line } = await house.order(product_id, 1, june)
      orders.push({ id, line: line.id })
    }
    // Each client starts with a different unit, and tries them until one is free.
    const results = await Promise.all(
      orders.map(async ({ id, line }, at) => {
        const statuses: Array<number> = []
        for (let step = 0; step < units.length; step++) {
          const reply = await call("POST", `${opp}/${id}/quick_allocate`, {
            allocations: [{ opportunity_item_id: line, stock_level_id: units[(at * 7 + step) % units.length] }]
          })
          statuses.push(reply.status)
          if (reply.status === 200) return statuses
          expect(reply.status, reply.text).toBe(422)
        }
        return statuses
      })
    )
    expect(results.filter((statuses) => statuses.at(-1) === 200)).toHaveLength(10)
    const [assigned, held] = await server.run(
      Effect.gen(function* () {
        const store = yield* Store
        return [
          yield* store.find(asset_assignments, { stock_level_id: units }),
          yield* store.find(demands, { asset_id: units, is_active: true })
        ] as const
      })
    )
    expect(assigned.map((row) => row.stock_level_id).sort((a, b) => a - b)).toEqual(units)
    expect(held.map((row) => row.asset_id)).toHaveLength(10)
    expect(new Set(held.map((row) => row.asset_id)).size).toBe(10)
    for (const unit of units)
      expect((await call("GET", `/api/v1/stock_levels/${unit}`)).body.stock_level.quantity_allocated).toBe("1.00")
    await versionsAreWhole()
  })
  it("cause no deadlocks", async () => {
    const rows = await server.run(
      Effect.flatMap(Store, (store) =>
        store.run<{ deadlocks: number | string }>(
          "select deadlocks from pg_stat_database where datname = current_database()"
        )
      )
    )
    expect(rows.map(({ deadlocks }) => Number(deadlocks))).toEqual([0])
  })
  it("leave tables equal to those rebuilt from the journal", async () => {
    const before = await dump()
    await server.run(rebuild(server.app.catalogue))
    expect(await dump()).toEqual(before)
  })
})
