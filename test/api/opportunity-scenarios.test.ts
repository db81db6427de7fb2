import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { claims } from "../../core/claims/schema.ts"
import type { Json } from "../../core/kernel/json.ts"
import { rebuild } from "../../core/kernel/store/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { type Listening, listenOn } from "../../server/http.ts"
import { silentLog } from "../../server/log.ts"
import { type Device, enrolDevice } from "../../sync/replica/device.ts"
import { layer as sqliteLayer } from "../../sync/sqlite-client.ts"
import { owner_token, serve, type Serving } from "../server/serving.ts"
import { type Answering, type Ask, opp, type Reply, scenarios, sceneOf, type Settled } from "./opportunity-scenarios.ts"

const tables = Effect.gen(function*() {
  const store = yield* Store
  const dump: { [table: string]: ReadonlyArray<unknown> } = {}
  for (const table of catalogue.tables) dump[table.name] = yield* store.find(table, {})
  return dump
})
const askAt = (url: string, token: string | null): Ask => async (method, path, body) => {
  const response = await fetch(url + path, {
    method, headers: { "content-type": "application/json", ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    ...(method === "GET" || body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
}
/** A server that listens, with ways to look behind it. */
const open = async (engine: "sqlite" | "pg") => {
  const server: Serving = await serve(engine)
  const listening: Listening = await listenOn({ host: "127.0.0.1", port: 0, log: silentLog, ask: server.app.ask })
  const ask = askAt(listening.url, owner_token)
  const settled: Settled = {
    ask,
    held: async (opportunity_id) => (await server.run(Effect.flatMap(Store, (store) => store.find(claims, { opportunity_id, is_active: true }))))
      .reduce((sum, claim) => sum + claim.quantity, 0)
  }
  return { server, url: listening.url, settled, close: async () => { await listening.stop(1_000); await server.close() } }
}
let people = 0
const somebodyAt = (url: string, ask: Ask): NonNullable<Answering["somebody"]> => {
  return async (permissions, abilities) => {
    const name = `Somebody ${++people}`
    expect((await ask("POST", "/api/v1/roles", { name, permissions })).status).toBe(201)
    const { body: { user } } = await ask("POST", "/api/v1/users", { name, email: `somebody${people}@example.com`, roles: [name], active: true })
    const { body } = await ask("POST", "/api/v1/tokens", { name, abilities, user_id: user.id })
    return askAt(url, body.secret ?? body.token.secret ?? body.token.token)
  }
}

/** What scenarios leave of opportunities, without what differs by place and time: ids, dates, stamps. */
const endOf = async (ask: Ask): Promise<ReadonlyArray<string>> => {
  const ends: Array<string> = []
  for (let page = 1; ; page++) {
    const { opportunities } = (await ask("GET", `${opp}?per_page=100&page=${page}&include=items,items.assets,costs,versions`)).body
    if (opportunities.length === 0) return ends.sort()
    for (const one of opportunities) {
      ends.push(JSON.stringify([
        one.subject, one.state, one.status, one.charge_total, one.tax_total, one.deal_total, one.pricing_locked, one.has_shortage, one.has_alternatives, one.version_count,
        one.tag_list, one.items.map((item: any) => [item.path, item.name, item.quantity, item.dispatched_quantity, item.returned_quantity, item.total, item.assets.map((asset: any) => asset.status)]),
        one.costs.map((cost: any) => [cost.description, cost.amount, cost.cost_type]), one.versions.map((version: any) => [version.version_number, version.status, version.is_active, version.charge_total])
      ]))
    }
  }
}
const ends = new Map<string, ReadonlyArray<string>>()

describe.each(["sqlite", "pg"] as const)("opportunities over HTTP on %s", (engine) => {
  let place: Awaited<ReturnType<typeof open>>
  beforeAll(async () => { place = await open(engine) })
  afterAll(() => place.close())

  it.each(scenarios.map((one) => [one.n, one.title, one] as const))("scenario %i: %s", async (n, _title, { run }) => {
    const looks: Array<(settled: Settled) => Promise<void>> = []
    const { ask } = place.settled
    await run(sceneOf(n, { ask, somebody: somebodyAt(place.url, ask), nobody: askAt(place.url, null) }, looks))
    for (const look of looks) await look(place.settled)
  })
  it("leave tables that fold again from the journal", async () => {
    ends.set(engine, await endOf(place.settled.ask))
    const before = await place.server.run(tables)
    await place.server.run(rebuild(catalogue))
    expect(await place.server.run(tables)).toEqual(before)
  })
})

describe.each(["sqlite", "pg"] as const)("opportunities on a device cut off from its server on %s", (engine) => {
  let place: Awaited<ReturnType<typeof open>>, folder: string, device: Device
  beforeAll(async () => {
    place = await open(engine)
    folder = mkdtempSync(join(tmpdir(), "flightcase-scenarios-"))
    device = await enrolDevice(join(folder, "van"), { name: "van", url: place.url, token: owner_token, device: "van" })
  })
  afterAll(async () => {
    await device.close()
    await place.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const ask: Ask = async (method, path, body): Promise<Reply> => {
    const [bare = path, query = ""] = path.split("?")
    const { body: answer, status } = await device.ask({ method, path: bare, query: [...new URLSearchParams(query)], body: body as Json | undefined })
    // As it would travel.
    return { status, body: answer === undefined ? undefined : JSON.parse(JSON.stringify(answer)) }
  }

  it.each(scenarios.map((one) => [one.n, one.title, one] as const))("scenario %i: %s", async (n, _title, { run }) => {
    const looks: Array<(settled: Settled) => Promise<void>> = []
    await run(sceneOf(n, { ask, somebody: undefined, nobody: undefined }, looks))
    const report = await device.sync()
    expect(report).toMatchObject({ rejected: 0, pending: 0, conflicts: 0 })
    for (const look of looks) await look(place.settled)
  })
  it("leave the server and the device with the same rows, and the same end as work at the server itself", async () => {
    const runtime = ManagedRuntime.make(Layer.provide(Store.layer, sqliteLayer({ path: join(folder, "van", "replica.sqlite") })))
    try { expect(await runtime.runPromise(tables)).toEqual(await place.server.run(tables)) } finally { await runtime.dispose() }
    ends.set(`device ${engine}`, await endOf(place.settled.ask))
    expect(ends.get(`device ${engine}`)).toEqual(ends.get("sqlite"))
    expect(ends.get("pg")).toEqual(ends.get("sqlite"))
  })
})
