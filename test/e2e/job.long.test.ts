/** The first rental job, end to end, with the built server and command line: from a price list to a reconciled quote. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { freePort } from "../free-port.ts"
import { catalogue } from "../../core/catalogue.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { layer as postgresLayer } from "../../server/pg/client.ts"
import { layer as sqliteLayer } from "../../sync/sqlite/client.ts"
import { engines } from "../app.ts"
import { freshDatabase } from "../postgres.ts"
import { rentalHouse } from "../rental-house.ts"
import { asOwner, commandLine, type RunningServer, startServer, token } from "./processes.ts"
import { share } from "../share.ts"

vi.setConfig({ testTimeout: 600_000 })

const fixtures = join(import.meta.dirname, "../fixtures")

describe.each(share(engines))("the first rental job on %s", (engine) => {
  let folder: string, port: number, server: RunningServer
  let database: Awaited<ReturnType<typeof freshDatabase>> | undefined
  const start = () => startServer({ port, data: join(folder, "server"), database: database?.url })
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-job-"))
    port = await freePort()
    database = engine === "pg" ? await freshDatabase() : undefined
    server = await start()
  })
  afterAll(async () => {
    await server.stop()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })
  const cli = (...words: ReadonlyArray<string>) =>
    commandLine(join(folder, "home"), { FLIGHTCASE_URL: `http://127.0.0.1:${port}`, FLIGHTCASE_TOKEN: token })(...words)
  const tables = async (sql: ReturnType<typeof sqliteLayer>) => {
    const runtime = ManagedRuntime.make(Layer.provide(Store.layer, sql))
    const dump = await runtime.runPromise(
      Effect.gen(function* () {
        const store = yield* Store
        const rows: { [table: string]: unknown } = {}
        for (const table of catalogue.tables) rows[table.name] = yield* store.find(table, {})
        return rows
      })
    )
    await runtime.dispose()
    return dump
  }
  const made = { product: 0, quote: 0, asset: 0, item: 0 }

  it("imports rates and a price list of two thousand products; a second run changes nothing", async () => {
    expect(await cli("import", "rates", join(fixtures, "rates.json"))).toMatchObject({ code: 0 })
    const imported = ["import", "products", join(fixtures, "price-list.csv")]
    expect((await cli(...imported, "--create-stores", "--dry-run", "--json")).code).toBe(0)
    const ask = asOwner(server.url)
    expect((await ask("GET", "/api/v1/products")).body.meta.total).toBe(0)
    expect((await cli(...imported, "--create-stores", "--json")).code).toBe(0)
    const { body } = await ask("GET", "/api/v1/products")
    expect(body.meta.total).toBeGreaterThanOrEqual(2_000)
    const before = (await ask("GET", "/api/v1/system/health")).body.health.journal_position
    expect((await cli(...imported, "--json")).code).toBe(0)
    expect((await ask("GET", "/api/v1/system/health")).body.health.journal_position).toBe(before)
  })

  it("logs in, then prices, quotes, allocates and exports a calendar with the server stopped", async () => {
    const ask = asOwner(server.url)
    const { body } = await ask(
      "GET",
      "/api/v1/products?q[stock_method_eq]=2&q[product_type_eq]=rental&include=stock_levels&per_page=100"
    )
    const product = body.products.find((one) => one.stock_levels.length >= 2)!
    made.product = product.id
    made.asset = product.stock_levels[0].id
    expect((await cli("login", server.url, "--token", token, "--name", "van")).code).toBe(0)
    await server.stop()
    const window = ["--from", "2026-07-01T09:00", "--to", "2026-07-05T09:00"]
    expect((await cli("availability", String(product.id), ...window, "--json")).code).toBe(0)
    const price = await cli("price", String(product.id), ...window, "--quantity", "2", "--json")
    expect(price.code).toBe(0)
    expect(price.json.rate_breakdown).toMatchObject({ quantity: 2, units: expect.any(Number) })
    const quote = await cli("quote", "new", "--subject", "Offline job", ...window, "--json")
    expect(quote.code).toBe(0)
    made.quote = quote.json.opportunity.id
    expect(quote.json.opportunity.number).toBeNull()
    expect((await cli("quote", "add", String(made.quote), String(product.id), "--json")).code).toBe(0)
    const shown = await cli("quote", "show", String(made.quote), "--json")
    made.item = shown.json.opportunity.items[0].id
    expect(shown.json.opportunity.items[0].total).toBe(shown.json.opportunity.charge_total)
    const converted = await cli("quote", "convert", String(made.quote), "--json")
    expect(converted.json.opportunity).toMatchObject({ state_label: "Order", status_label: "Active" })
    const path = `/api/v1/opportunities/${made.quote}/quick_allocate`
    const allocations = [{ opportunity_item_id: made.item, stock_level_id: made.asset }]
    expect((await cli("api", "POST", path, "-d", JSON.stringify({ allocations }), "--json")).code).toBe(0)
    const feed = await cli("calendar", "export")
    expect(feed.out).toContain("BEGIN:VCALENDAR")
    const status = await cli("sync", "status", "--json")
    expect(status.json.pending).toHaveLength(5)
    expect((await cli("sync")).code).toBe(7)
  })

  it("syncs after another client booked the same asset: one conflict that names the holder, all others accepted", async () => {
    server = await start()
    const ask = asOwner(server.url)
    const rival = rentalHouse((method, path, body) => ask(method, `/api/v1${path}`, body as object | undefined))
    const dates = { starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-05T09:00:00Z" }
    const order = await rival.order(made.product, 1, { subject: "Rival job", ...dates })
    expect((await rival.allocate(order, made.asset)).status).toBe(200)

    const synced = await cli("sync", "--json")
    expect(synced).toMatchObject({ code: 8, json: { sync: { accepted: 4, rejected: 1, pending: 0, conflicts: 1 } } })
    const { json } = await cli("sync", "conflicts", "--json")
    expect(JSON.stringify(json)).toContain("Rival job")
    const ours = (await ask("GET", `/api/v1/opportunities/${made.quote}`)).body.opportunity
    expect(ours).toMatchObject({ subject: "Offline job", state: 2, number: expect.stringMatching(/^\d{10}$/) })
    const sql =
      engine === "pg"
        ? postgresLayer({ url: database!.url })
        : sqliteLayer({ path: join(folder, "server", "flightcase.sqlite") })
    const theirs = await tables(sql)
    const found = await cli("doctor", "--json")
    expect(found.code).toBe(0)
    expect(await tables(sqliteLayer({ path: replicaPath(folder) }))).toEqual(theirs)
  })
})

const replicaPath = (folder: string): string => join(folder, "home", "profiles", "default", "replica.sqlite")
