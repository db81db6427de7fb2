/** Concurrent orders of the same goods: the later one counts the earlier one's demand. */
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { demands } from "../../core/orders/demands/schema.ts"
import { inspections } from "../../core/warehouse/inspections/schema.ts"
import { both_engines } from "../app.ts"
import { lockWaits, untilWaiting } from "../lock-waits.ts"
import { type FreshDatabase, freshDatabase } from "../postgres.ts"
import { rentalHouse } from "../rental-house.ts"
import { rowsOf } from "../server/delivery/jobs/words.ts"
import { serve, type Serving, startedServer } from "../server/serving.ts"

const opp = "/api/v1/opportunities"
const june = { starts_at: "2031-06-01T09:00:00Z", ends_at: "2031-06-05T17:00:00Z", store_id: 1 }

describe.each(both_engines)("concurrent commands on stock, on %s,", (engine) => {
  let server: Serving
  let database: FreshDatabase | undefined
  beforeAll(async () => {
    database = engine === "pg" ? await freshDatabase(startedServer) : undefined
    const at = { kind: "pg", url: database?.url ?? "", connections_max: 5 } as const
    server = await serve(engine, database === undefined ? {} : { database: at })
  })
  afterAll(async () => {
    await server.close()
    await database?.drop()
  })

  const call = (method: string, path: string, json: unknown = {}) =>
    server.ask(path, { method, ...(method === "GET" ? {} : { json }) })
  const made = async (method: string, path: string, json: unknown = {}) => {
    const reply = await call(method, path, json)
    expect([200, 201], reply.text).toContain(reply.status)
    return reply.body
  }
  const house = rentalHouse((method, path, body) => call(method, `/api/v1${path}`, body))
  const ledgerOf = (product: number, level: number): string =>
    `/api/v1/products/${product}/stock_levels/${level}/stock_transactions`
  const productOf = async (name: string, quantity: number) => {
    const id = await house.product({ name, stock_method: 1 })
    // A bulk product has an empty stock level at the store from the start.
    const [{ id: level }] = await house.show(`/stock_levels?q[product_id_eq]=${id}`)
    await made("POST", ledgerOf(id, level), { transaction_type: 4, quantity })
    return { id, level: level as number }
  }
  const order = async (subject: string, item_id?: number): Promise<number> => {
    const first = item_id === undefined ? { name: "Delivery", unit_price: "50.00" } : lineOf(item_id)
    const { id } = await house.withLine({ subject, ...june }, first)
    await house.confirm(id)
    return id
  }
  const lineOf = (item_id: number) => ({ name: "Desk", item_id, quantity: "1" })

  /**
   * Runs them concurrently. On Postgres no demand or inspection is written before each has read its facts, waits for a
   * lock, or has ended.
   */
  const atOnce = async (...works: ReadonlyArray<() => Promise<unknown>>): Promise<void> => {
    if (database === undefined) {
      await Promise.all(works.map((work) => work()))
      return
    }
    const [client, looking] = [new pg.Client(database.url), new pg.Client(database.url)]
    await Promise.all([client.connect(), looking.connect()])
    const waiting = () => lockWaits(looking)
    await client.query("begin")
    await client.query(`lock table "${demands.name}", "${inspections.name}" in exclusive mode`)
    let ended = 0
    const running: Array<Promise<void>> = []
    for (const work of works) {
      running.push(
        work().then(() => {
          ended++
        })
      )
      for (let tries = 0; tries < 1_000 && ended + (await waiting()) < running.length; tries++) await pause(5)
    }
    const met = await waiting()
    await Promise.all([client.end(), looking.end()])
    await Promise.all(running)
    expect(met).toBeGreaterThan(0)
  }
  /** Closes a stocktake. On Postgres the work begins once that has counted, and before it decides. */
  const closingMeanwhile = async (stocktake: number, work: () => Promise<unknown>): Promise<void> => {
    const close = () => made("POST", `/api/v1/stocktakes/${stocktake}/close`)
    if (database === undefined) return void (await Promise.all([work(), close()]))
    const client = new pg.Client(database.url)
    await client.connect()
    // Keeps ids from closing.
    await client.query("begin")
    await client.query("alter sequence ids_service_records cache 1")
    let ended = 0
    const running: Array<Promise<number>> = []
    for (const one of [close, work]) {
      running.push(one().then(() => ended++))
      while (ended + (await lockWaits(client)) < running.length) await pause(5)
    }
    await client.query("rollback")
    await client.end()
    await Promise.all(running)
  }
  /** Each order's stored flag, and its lines' shortages as computed now. */
  const told = async (id: number) => {
    const { opportunity } = await made("GET", `${opp}/${id}`)
    const lines = await house.show(`/opportunities/${id}/availability`)
    return { flag: opportunity.has_shortage, lacks: lines.some((one) => one.has_shortage) }
  }

  it("mark both of two orders for the last piece as short", async () => {
    const product = await productOf("Desk", 1)
    const orders = [await order("First"), await order("Second")]
    await atOnce(...orders.map((id) => () => made("POST", `${opp}/${id}/items`, lineOf(product.id))))
    for (const id of orders) expect(await told(id)).toEqual({ flag: true, lacks: true })
  })
  it("mark both of two quotations as short when they become orders", async () => {
    const product = await productOf("Dimmer", 1)
    const quotations: Array<number> = []
    for (const subject of ["Third", "Fourth"]) {
      const { opportunity } = await made("POST", opp, { subject, ...june })
      await made("POST", `${opp}/${opportunity.id}/items`, lineOf(product.id))
      await made("POST", `${opp}/${opportunity.id}/convert_to_quotation`)
      quotations.push(opportunity.id)
    }
    await atOnce(...quotations.map((id) => () => made("POST", `${opp}/${id}/convert_to_order`)))
    for (const id of quotations) expect(await told(id)).toEqual({ flag: true, lacks: true })
  })
  it("leave one newest inspection when one is recorded while the newest is deleted", async () => {
    const kind = (await made("POST", "/api/v1/inspection_kinds", { name: "PAT", interval_months: 12 })).inspection_kind
    const { units } = await house.units(1, 1)
    const inspect = async (result: string, inspected_at: string) =>
      (
        await made("POST", "/api/v1/inspections", {
          ...{ stock_level_id: units[0], inspection_kind_id: kind.id, result, inspected_at }
        })
      ).inspection
    await inspect("pass", "2026-01-10T00:00:00Z")
    const newest = await inspect("fail", "2026-05-01T00:00:00Z")
    await atOnce(
      () => call("DELETE", `/api/v1/inspections/${newest.id}`),
      () => inspect("pass", "2026-03-01T00:00:00Z")
    )
    const latest = await house.show(`/inspections?q[stock_level_id_eq]=${units[0]}&q[is_latest_true]=1`)
    expect(latest.map(({ inspected_at }) => inspected_at)).toEqual(["2026-03-01T00:00:00.000Z"])
  })
  it("leave the oldest of three inspections as the newest when the others are deleted", async () => {
    const kind = (await made("POST", "/api/v1/inspection_kinds", { name: "LOLER", interval_months: 6 })).inspection_kind
    const { units } = await house.units(1, 1)
    const ids: Array<number> = []
    for (const month of ["01", "02", "03"]) {
      const { inspection } = await made("POST", "/api/v1/inspections", {
        ...{ stock_level_id: units[0], inspection_kind_id: kind.id, result: "pass" },
        inspected_at: `2026-${month}-10T00:00:00Z`
      })
      ids.push(inspection.id)
    }
    const [oldest, older, newest] = ids
    await atOnce(...[newest, older].map((id) => () => call("DELETE", `/api/v1/inspections/${id}`)))
    const latest = await house.show(`/inspections?q[stock_level_id_eq]=${units[0]}&q[is_latest_true]=1`)
    expect(latest.map(({ id }) => id)).toEqual([oldest])
  })
  it("mark an order as short if its stock is removed at the same time", async () => {
    const product = await productOf("Lamp", 1)
    const id = await order("Fifth")
    await atOnce(
      () => made("POST", `${opp}/${id}/items`, lineOf(product.id)),
      () => made("POST", ledgerOf(product.id, product.level), { transaction_type: 6, quantity: 1 })
    )
    expect(await told(id)).toEqual({ flag: true, lacks: true })
  })
  it("keep the ledger of a bulk product right that a stocktake with over a thousand other changes corrects", async () => {
    const store = await house.store()
    const { units } = await house.units(store, 1)
    const columns = (await rowsOf(server.app, `select * from stock_levels where id = ${units[0]}`)).flatMap(Object.keys)
    const numbers =
      engine === "pg"
        ? "generate_series(1, 1200) as n(i)"
        : "(with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200) select i from n) as n"
    const copied = columns.map((name) =>
      name === "id" ? "900000 + i" : /^(asset_number|barcode|serial_number)/.test(name) ? "null" : `row."${name}"`
    )
    await rowsOf(
      server.app,
      `insert into stock_levels (${columns.map((name) => `"${name}"`).join(", ")}) ` +
        `select ${copied.join(", ")} from stock_levels row, ${numbers} where row.id = ${units[0]}`
    )
    // Last in the order of the lines.
    const cable = await house.bulk(store, 10, { name: "Zip cable", sku: "CABLE-COUNTED" })
    const { id } = await house.create("/stocktakes", { store_id: store })
    await made("POST", `/api/v1/stocktakes/${id}/scans`, { codes: ["CABLE-COUNTED*7"] })
    await closingMeanwhile(id, () =>
      made("POST", ledgerOf(cable.id, cable.level), { transaction_type: 6, quantity: 2 })
    )
    const ledger = await house.show(`/products/${cable.id}/stock_levels/${cable.level}/stock_transactions`)
    const moved = ledger.reduce(
      (sum: number, one: { readonly quantity_move: string }) => sum + Number(one.quantity_move),
      0
    )
    expect([moved, Number((await house.show(`/stock_levels/${cable.level}`)).quantity_held)]).toEqual([5, 5])
  })
  it.runIf(engine === "pg")(
    "change stock that a closing stocktake leaves as it is, without waiting for it",
    async () => {
      const [store, elsewhere] = [await house.store(), await house.store()]
      const { units } = await house.units(store, 2)
      const spare = await house.bulk(store, 10, { name: "Spare cable", sku: "CABLE-SPARE" })
      const other = await house.bulk(elsewhere, 10, { name: "Far cable", sku: "CABLE-FAR" })
      const { id } = await house.create("/stocktakes", { store_id: store })
      await made("PUT", `/api/v1/stock_levels/${units[0]}`, { asset_number: "KEPT-1" })
      await made("POST", `/api/v1/stocktakes/${id}/scans`, { codes: ["KEPT-1", "CABLE-SPARE*10"] })
      const client = new pg.Client(database?.url)
      await client.connect()
      await client.query("begin")
      await client.query("alter sequence ids_service_records cache 1")
      let is_closed = false
      const closing = made("POST", `/api/v1/stocktakes/${id}/close`).then(() => {
        is_closed = true
      })
      await untilWaiting(client)
      for (const { id: product, level } of [spare, other])
        await made("POST", ledgerOf(product, level), { transaction_type: 4, quantity: 1 })
      await made("PUT", `/api/v1/stock_levels/${units[0]}`, { location: "Shelf 2" })
      expect(is_closed).toBe(false)
      await client.query("rollback")
      await client.end()
      await closing
      expect((await house.show(`/stock_levels/${units[1]}`)).service_state).toBe("lost")
    }
  )
  it("do not mark an order as short if a piece becomes free at the same time", async () => {
    const product = await productOf("Hazer", 1)
    const first = await order("Sixth", product.id)
    const second = await order("Seventh")
    await atOnce(
      () => made("POST", `${opp}/${first}/change_status`, { status: 6 }),
      () => made("POST", `${opp}/${second}/items`, lineOf(product.id))
    )
    expect(await told(second)).toEqual({ flag: false, lacks: false })
  })
  it("mark each of twelve orders for two products as short, in either sequence, without a deadlock", async () => {
    const [truss, motor] = [await productOf("Truss", 5), await productOf("Motor", 20)]
    const orders: Array<number> = []
    for (let at = 0; at < 12; at++) orders.push(await order(`Rig ${at}`, at % 2 === 0 ? truss.id : motor.id))
    const replies = await Promise.all(
      orders.map((id, at) => call("POST", `${opp}/${id}/items`, lineOf(at % 2 === 0 ? motor.id : truss.id)))
    )
    expect(replies.map(({ status }) => status)).toEqual(orders.map(() => 201))
    for (const id of orders) expect(await told(id)).toEqual({ flag: true, lacks: true })
    if (database === undefined) return
    const client = new pg.Client(database.url)
    await client.connect()
    const { rows } = await client.query("select deadlocks from pg_stat_database where datname = current_database()")
    await client.end()
    expect(Number(rows[0].deadlocks)).toBe(0)
  })
  it.runIf(engine === "pg")("do not wait for a command that holds the lock of another product", async () => {
    const [held, free] = [await productOf("Console", 1), await productOf("Rack", 1)]
    const [first, second] = [await order("Eighth"), await order("Ninth")]
    const client = new pg.Client(database?.url)
    await client.connect()
    await client.query("begin")
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`claims:${held.id}`])
    let is_added = false
    const waiting = made("POST", `${opp}/${first}/items`, lineOf(held.id)).then(() => {
      is_added = true
    })
    await made("POST", `${opp}/${second}/items`, lineOf(free.id))
    expect(is_added).toBe(false)
    await client.end()
    await waiting
    for (const id of [first, second]) expect(await told(id)).toEqual({ flag: false, lacks: false })
  })
})
