/** Devices filled from rows during writes, with interruptions and kills, restart without loss. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { lastPosition } from "../../../../core/kernel/events/journal.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { Unreachable } from "../../../../sync/device/exchange/remote.ts"
import { engines } from "../../../app.ts"
import { type Hooks, sql } from "../../inspected-device.ts"
import { serverOfEachTest } from "../../opening.ts"

describe.each(engines)("a device filled from table rows, server on %s", (engine) => {
  const server = serverOfEachTest(engine)
  const { create, filled, inspected } = server
  const head = (): Promise<number> => server.run(Effect.flatMap(Store, lastPosition))
  /** Restarts the history of all readers. */
  const beginAnew = () => server.run(sql("update reader_grants set version = version + 1"))
  const products = (count: number): Promise<ReadonlyArray<any>> =>
    Promise.all(Array.from({ length: count }, (_, at) => create("/products", { name: `Lamp ${at}`, sku: `L-${at}` })))

  it("has the server's rows as of one journal position, even if they change between pages", async () => {
    const made = await products(30)
    const [keep, double, gone] = [made[3], made[4], made[5]]
    const group = await create("/product_groups", { name: "Lamps" })
    // One change before each page: sent and unsent rows are changed, moved and deleted, and new ones created.
    const deeds: Array<() => Promise<unknown>> = [
      () => server.put(`/products/${keep.id}`, { name: "Renamed" }),
      () => server.put(`/products/${made[29].id}`, { name: "Renamed later", product_group_id: group.id }),
      () => create("/product_groups", { name: "Made meanwhile" }),
      () => server.remove(`/products/${gone.id}`),
      () => server.post(`/products/${keep.id}/merge`, { secondary_id: double.id }),
      () => server.put(`/products/${keep.id}`, { product_group_id: group.id }),
      () => server.remove(`/product_groups/${group.id}`),
      () => create("/members", { name: "New client", membership_type: "organisation" }),
      () => create("/products", { name: "Newest" }),
      () => server.put("/settings/company", { settings: { name: "Renamed Ltd" } })
    ]
    const left = [...deeds]
    const device = await filled({
      limit: 25,
      before_page: async () => {
        await left.shift()?.()
      }
    })
    expect(left).toEqual([])
    await server.sameOn(device)
    const standing = await device.run(device.replica().position)
    expect(standing.position).toBe(await head())
    // The journal grew between several pages, so their events were sent as well.
    expect(device.counted.events).toBeGreaterThan(5)
    expect(standing.journal_from).toBeGreaterThan(0)
  })

  it("misses no row that another device adds with a lower id during the fill", async () => {
    const offline = await filled({ snapshot_beyond: Number.POSITIVE_INFINITY })
    // Its leased ids precede those of products created later.
    const made = await products(30)
    expect(await offline.product()).toBeLessThan(made[0].id)
    let sent = false
    const device = await inspected({
      limit: 10,
      before_page: async ({ after }) => {
        // Half of the products are filled; the offline product with its lower id belongs before them.
        if (sent || !after.startsWith("products:") || Number(after.slice(9)) < made[0].id) return
        sent = true
        await offline.sync()
      }
    })
    await device.sync()
    expect(sent).toBe(true)
    await server.sameOn(device)
  })

  it("resumes after a network failure, without requesting a page twice", async () => {
    await products(60)
    let cuts = 0
    const device = await inspected({
      limit: 20,
      before_page: () => {
        if (++cuts % 3 === 0) throw new Unreachable(server.url(), new Error("cut"))
      }
    })
    let failed = 0
    for (let tries = 0; tries < 100; tries++) {
      try {
        await device.sync()
        break
      } catch (error) {
        expect(error).toBeInstanceOf(Unreachable)
        failed++
      }
    }
    expect(failed).toBeGreaterThan(5)
    expect(device.counted.plans).toBe(1)
    expect(new Set(device.counted.pages).size).toBe(device.counted.pages.length)
    await server.sameOn(device)
  })

  it("resumes after its process was killed, whichever page it had reached", async () => {
    await products(60)
    const hooks: Hooks = { limit: 20 }
    const device = await inspected(hooks)
    const places = new Set<string>()
    let killed = 0,
      rows = 0
    for (let life = 0; life < 200; life++) {
      // Each process crashes at its second step: while a page is stored, or after it.
      let steps = 0
      hooks.at = () => {
        if (++steps === 2 + (life % 2)) throw new Error("killed")
      }
      try {
        await device.sync()
        break
      } catch (error) {
        expect(String(error)).toContain("killed")
        killed++
      }
      delete hooks.at
      await device.restart()
      const now = await device.run(device.replica().fill.now)
      if (now === undefined) continue
      expect(now.rows).toBeGreaterThanOrEqual(rows)
      rows = now.rows
      places.add(now.after)
    }
    expect(killed).toBeGreaterThan(5)
    expect(places.size).toBeGreaterThan(3)
    expect(device.counted.plans).toBe(1)
    await server.sameOn(device)
  })

  it("answers from its old rows while it is filled again, and keeps unsent commands on top", async () => {
    const [first] = await products(30)
    const hooks: Hooks = { limit: 20 }
    const device = await filled(hooks)
    await device.put(`/products/${first.id}`, { name: "Renamed offline" })
    await server.put(`/products/${first.id}`, { sku: "CHANGED" })
    await beginAnew()
    let seen = 0
    hooks.before_page = async () => {
      if (++seen < 2) return
      const shown = await device.get(`/products/${first.id}`)
      expect(shown.body.product).toMatchObject({ name: "Renamed offline", sku: "L-0" })
      if (seen === 2) await device.must("POST", "/product_groups", { name: "Recorded while filling" })
      if (seen === 3) throw new Unreachable(server.url(), new Error("cut"))
    }
    await expect(device.sync()).rejects.toBeInstanceOf(Unreachable)
    await device.restart()
    expect(await device.show(`/products/${first.id}`)).toMatchObject({ name: "Renamed offline" })
    delete hooks.before_page
    await device.sync()
    expect(await device.show(`/products/${first.id}`)).toMatchObject({ name: "Renamed offline", sku: "CHANGED" })
    expect((await device.show("/product_groups")).map((one) => one.name)).toContain("Recorded while filling")
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 2 })
    await server.sameOn(device)
  })

  it("receives the verdicts recorded before the rows were read", async () => {
    const unit = { product_id: await server.serialised(), store_id: 1, asset_number: "MH-1" }
    const device = await filled()
    await device.must("PUT", `/products/${unit.product_id}`, { name: "Accepted" })
    await device.must("POST", "/stock_levels", unit)
    await create("/stock_levels", unit)
    // The response is lost, and the history restarts before the next sync.
    await device.remote.push(device.id, device.outbox.pending())
    await beginAnew()
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1, rejected: 1 })
    expect(device.outbox.byState("rejected")[0]).toMatchObject({
      error: { status: 422, errors: { asset_number: [expect.any(String)] } }
    })
    await server.sameOn(device)
  })

  it("pulls only later events once filled", async () => {
    const made = await products(50)
    const device = await filled()
    const before = { ...device.counted, pages: device.counted.pages.length, head: await head() }
    for (let day = 0; day < 7; day++) await server.put(`/products/${made[day].id}`, { name: `Day ${day}` })
    const written = (await head()) - before.head
    await device.sync()
    expect({
      events: device.counted.events - before.events,
      rows: device.counted.rows - before.rows,
      pages: device.counted.pages.length - before.pages,
      plans: device.counted.plans - before.plans
    }).toEqual({ events: written, rows: 0, pages: 0, plans: 0 })
    await device.sync()
    expect(device.counted.events - before.events).toBe(written)
    await server.sameOn(device)
  })

  it("pulls events instead of rows where there are few", async () => {
    await products(3)
    const device = await filled({ snapshot_beyond: 5_000 })
    expect([device.counted.pages, device.counted.plans]).toEqual([[], 1])
    expect((await device.run(device.replica().position)).journal_from).toBe(0)
    expect(device.counted.events).toBe(await head())
    await server.sameOn(device)
  })

  it("keeps its rows when a release changes the tables, and is refilled by the next sync", async () => {
    const [first] = await products(3)
    const device = await filled()
    await device.put(`/products/${first.id}`, { name: "Unsent" })
    // As an earlier release left it, without product weights and with another column instead.
    await device.run(
      sql(
        "alter table products drop column weight",
        "alter table products add column heaviness text",
        "update products set heaviness = 'very'",
        "update flightcase_meta set value = 'create table \"products\" (of another release)' where key = 'tables'"
      )
    )
    await device.restart()
    expect(await device.show(`/products/${first.id}`)).toMatchObject({ name: "Unsent", sku: "L-0", weight: null })
    expect((await device.get("/products")).body.meta.total).toBe(3)
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1 })
    await server.sameOn(device)
  })

  it("refers to the server for history from before the fill, and answers later history itself", async () => {
    const before = await server.opportunity()
    const device = await filled()
    const after = await server.opportunity()
    await device.sync()
    const elsewhere = { message: expect.stringMatching(/^What happened before event \d+ is on the server/) }
    const activity = ({ id }: { readonly id: number }): string => `/opportunities/${id}/activity`
    for (const path of ["/actions", activity(before), "/products?as_of=2026-01-01T00:00:00Z"])
      expect([path, await device.get(path)]).toMatchObject([path, { status: 503, body: elsewhere }])
    expect(await device.show(activity(after))).toEqual(await server.show(activity(after)))
    const whole = await filled({ snapshot_beyond: Number.POSITIVE_INFINITY })
    expect(await whole.show(activity(before))).toEqual(await server.show(activity(before)))
  })

  it("reports its progress from zero to all rows", async () => {
    await products(30)
    const told: Array<{ done: number; total: number | undefined }> = []
    const device = await filled({
      limit: 20,
      progress: ({ phase, done, total }) => {
        if (phase === "fill") told.push({ done, total })
      }
    })
    expect(told.length).toBeGreaterThan(5)
    const rows = Object.values(await device.tables()).reduce((sum, table) => sum + table.length, 0)
    expect(told[0]).toEqual({ done: 0, total: rows })
    expect(told.map((one) => one.done)).toEqual(told.map((one) => one.done).toSorted((a, b) => a - b))
    expect(told.at(-1)).toEqual({ done: rows, total: rows })
  })
})
