/** A device is filled from rows while others write, is cut off and killed half-way, and begins anew without losing anything. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { lastPosition } from "../../../../core/kernel/journal.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { Unreachable } from "../../../../sync/device/remote.ts"
import { engines } from "../../../app.ts"
import type { Filled, Hooks } from "../../filling.ts"
import { businessOfEachTest } from "../../business.ts"

describe.each(engines)("a device filled from the rows of a server on %s", (engine) => {
  const of = businessOfEachTest(engine)
  const { business, make } = of
  const enrol = (name: string, hooks: Hooks = {}): Promise<Filled> => of.enrol(hooks, undefined, name)
  const head = (): Promise<number> => business.run(Effect.flatMap(Store, lastPosition))
  const products = (count: number): Promise<ReadonlyArray<any>> =>
    Promise.all(Array.from({ length: count }, (_, at) => make("products", { name: `Lamp ${at}`, sku: `L-${at}` })))

  it("holds the server's rows at one position, though every page finds somebody at work", async () => {
    const made = await products(30)
    const [keep, double, gone] = [made[3], made[4], made[5]]
    const group = await make("product_groups", { name: "Lamps" })
    // One thing before each page: rows that are there are changed, moved and deleted, rows still to come too, and new ones made.
    const deeds: Array<() => Promise<unknown>> = [
      () => business.ask("PUT", `products/${keep.id}`, { name: "Renamed" }),
      () => business.ask("PUT", `products/${made[29].id}`, { name: "Renamed later", product_group_id: group.id }),
      () => make("product_groups", { name: "Made meanwhile" }),
      () => business.ask("DELETE", `products/${gone.id}`),
      () => business.ask("POST", `products/${keep.id}/merge`, { secondary_id: double.id }),
      () => business.ask("PUT", `products/${keep.id}`, { product_group_id: group.id }),
      () => business.ask("DELETE", `product_groups/${group.id}`),
      () => make("members", { name: "New client", membership_type: "organisation" }),
      () => make("products", { name: "Newest" }),
      () => business.ask("PUT", "settings/company", { settings: { name: "Renamed Ltd" } })
    ]
    const left = [...deeds]
    const device = await enrol("one", {
      limit: 25,
      before_page: async () => {
        await left.shift()?.()
      }
    })
    await device.sync()
    expect(left).toEqual([])
    expect(await device.tables()).toEqual(await business.tables())
    const standing = await device.run(device.replica().position)
    expect(standing.position).toBe(await head())
    // More than once the journal moved on between two pages: those events came along.
    expect(device.counted.events).toBeGreaterThan(5)
    expect(standing.journal_from).toBeGreaterThan(0)
  })

  it("takes rows that another device makes under low ids of its own, wherever the fill is", async () => {
    const offline = await enrol("offline", { snapshot_beyond: Number.POSITIVE_INFINITY })
    await offline.sync()
    // Its ids were leased before these products were made, and lie below theirs.
    const made = await products(30)
    const recorded = await offline.ask("POST", "products", { name: "Made offline", sku: "OFF" })
    expect(recorded.status).toBe(201)
    expect(recorded.body.product.id).toBeLessThan(made[0].id)
    let sent = false
    const device = await enrol("one", {
      limit: 10,
      before_page: async ({ after }) => {
        // Half of the products are there: all below the last of them would be, had it been there.
        if (sent || !after.startsWith("products:") || Number(after.slice(9)) < made[0].id) return
        sent = true
        await offline.sync()
      }
    })
    await device.sync()
    expect(sent).toBe(true)
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("goes on where the network left off, asking for no page twice", async () => {
    await products(60)
    let cuts = 0
    const device = await enrol("one", {
      limit: 20,
      before_page: () => {
        if (++cuts % 3 === 0) throw new Unreachable(business.url, new Error("cut"))
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
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("goes on where its process was killed, after any page", async () => {
    await products(60)
    const hooks: Hooks = { limit: 20 }
    const device = await enrol("one", hooks)
    const places = new Set<string>()
    let killed = 0,
      rows = 0
    for (let life = 0; life < 200; life++) {
      // Each life dies at its second step: while a page is laid down, or after one was.
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
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("lets people work with what they had while a new history arrives, and puts their unsent work on top of it", async () => {
    const [first] = await products(30)
    const hooks: Hooks = { limit: 20 }
    const device = await enrol("one", hooks)
    await device.sync()
    await device.ask("PUT", `products/${first.id}`, { name: "Renamed offline" })
    await business.ask("PUT", `products/${first.id}`, { sku: "CHANGED" })
    await business.run(Effect.flatMap(Store, (store) => store.run("update reader_grants set version = version + 1")))
    let seen = 0
    hooks.before_page = async () => {
      if (++seen < 2) return
      const shown = await device.ask("GET", `products/${first.id}`)
      expect(shown.body.product).toMatchObject({ name: "Renamed offline", sku: "L-0" })
      if (seen === 2)
        expect((await device.ask("POST", "product_groups", { name: "Recorded while filling" })).status).toBe(201)
      if (seen === 3) throw new Unreachable(business.url, new Error("cut"))
    }
    await expect(device.sync()).rejects.toBeInstanceOf(Unreachable)
    await device.restart()
    expect((await device.ask("GET", `products/${first.id}`)).body.product).toMatchObject({ name: "Renamed offline" })
    delete hooks.before_page
    await device.sync()
    expect((await device.ask("GET", `products/${first.id}`)).body.product).toMatchObject({
      name: "Renamed offline",
      sku: "CHANGED"
    })
    expect((await device.ask("GET", "product_groups")).body.product_groups.map((one: any) => one.name)).toContain(
      "Recorded while filling"
    )
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 2 })
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("learns what became of commands whose verdicts were recorded before the rows were read", async () => {
    const unit = {
      product_id: (await make("products", { name: "Moving head", stock_method: 2 })).id,
      store_id: 1,
      asset_number: "MH-1"
    }
    const device = await enrol("one")
    await device.sync()
    expect((await device.ask("PUT", `products/${unit.product_id}`, { name: "Accepted" })).status).toBe(200)
    expect((await device.ask("POST", "stock_levels", unit)).status).toBe(201)
    await make("stock_levels", unit)
    // The reply is lost, and before the next sync a new history begins.
    await device.remote.push(device.id, device.outbox.pending())
    await business.run(Effect.flatMap(Store, (store) => store.run("update reader_grants set version = version + 1")))
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1, rejected: 1 })
    expect(device.outbox.byState("rejected")[0]).toMatchObject({
      error: { status: 422, errors: { asset_number: [expect.any(String)] } }
    })
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("catches up by what was written since and nothing else", async () => {
    const made = await products(50)
    const device = await enrol("one")
    await device.sync()
    const before = { ...device.counted, pages: device.counted.pages.length, head: await head() }
    for (let day = 0; day < 7; day++) await business.ask("PUT", `products/${made[day].id}`, { name: `Day ${day}` })
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
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("fetches events where few have happened, with all of their history", async () => {
    await products(3)
    const device = await enrol("one", { snapshot_beyond: 5_000 })
    await device.sync()
    expect([device.counted.pages, device.counted.plans]).toEqual([[], 1])
    expect((await device.run(device.replica().position)).journal_from).toBe(0)
    expect(device.counted.events).toBe(await head())
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("keeps its rows over a release whose tables are others, and is filled anew by the next sync", async () => {
    const [first] = await products(3)
    const device = await enrol("one")
    await device.sync()
    await device.ask("PUT", `products/${first.id}`, { name: "Unsent" })
    // As a release left it that had no weight of products, and something else in its place.
    await device.run(
      Effect.flatMap(Store, (store) =>
        store.transaction(
          Effect.gen(function* () {
            for (const sql of [
              "alter table products drop column weight",
              "alter table products add column heaviness text",
              "update products set heaviness = 'very'",
              "update flightcase_meta set value = 'create table \"products\" (of another release)' where key = 'tables'"
            ])
              yield* store.run(sql)
          })
        )
      )
    )
    await device.restart()
    expect((await device.ask("GET", `products/${first.id}`)).body.product).toMatchObject({
      name: "Unsent",
      sku: "L-0",
      weight: null
    })
    expect((await device.ask("GET", "products")).body.meta.total).toBe(3)
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1 })
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("says that history from before the rows is on the server, and tells what came after", async () => {
    const deal = (subject: string) => ({
      subject,
      store_id: 1,
      starts_at: "2026-07-01T09:00:00Z",
      ends_at: "2026-07-02T09:00:00Z"
    })
    const before = await make("opportunities", deal("Before"))
    const device = await enrol("one")
    await device.sync()
    const after = await make("opportunities", deal("After"))
    await device.sync()
    for (const path of ["actions", `opportunities/${before.id}/activity`, "products?as_of=2026-01-01T00:00:00Z"]) {
      expect([path, await device.ask("GET", path)]).toMatchObject([
        path,
        { status: 503, body: { message: expect.stringMatching(/^What happened before event \d+ is on the server/) } }
      ])
    }
    const here = await device.ask("GET", `opportunities/${after.id}/activity`)
    expect(here.status).toBe(200)
    expect(here.body).toEqual((await business.ask("GET", `opportunities/${after.id}/activity`)).body)
    const whole = await enrol("two", { snapshot_beyond: Number.POSITIVE_INFINITY })
    await whole.sync()
    expect((await whole.ask("GET", `opportunities/${before.id}/activity`)).body).toEqual(
      (await business.ask("GET", `opportunities/${before.id}/activity`)).body
    )
  })

  it("tells how far it is, from nothing to all rows", async () => {
    await products(30)
    const told: Array<{ done: number; total: number | undefined }> = []
    const device = await enrol("one", {
      limit: 20,
      progress: ({ phase, done, total }) => {
        if (phase === "fill") told.push({ done, total })
      }
    })
    await device.sync()
    expect(told.length).toBeGreaterThan(5)
    const rows = Object.values(await device.tables()).reduce((sum, table) => sum + table.length, 0)
    expect(told[0]).toEqual({ done: 0, total: rows })
    expect(told.map((one) => one.done)).toEqual(told.map((one) => one.done).toSorted((a, b) => a - b))
    expect(told.at(-1)).toEqual({ done: rows, total: rows })
  })
})
