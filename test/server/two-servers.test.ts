/**
 * Caches of several servers on one Postgres. Changes reach the others by notice; if it is lost, caches expire within a
 * second.
 */
import { setTimeout as pause } from "node:timers/promises"
import { Effect, Stream } from "effect"
import pg from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type RowChange, update } from "../../core/kernel/tables/table.ts"
import { settings_table } from "../../core/kernel/events/settings.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { roles, users } from "../../core/people/users/permissions.ts"
import { openServerApp, type ServerApp } from "../../server/host/app.ts"
import { tokens } from "../../server/access/tokens/issue.ts"
import { both_engines } from "../app.ts"
import { untilWaiting } from "../lock-waits.ts"
import { type FreshDatabase, freshDatabase } from "../postgres.ts"
import { askOf, clockAt, owner_token, type Sent, serve, type Serving, untilListening } from "./serving.ts"
import type { Answer } from "../rental-house.ts"

const noon = Date.parse("2026-06-18T12:00:00.000Z")
type Ask = (target: string, sent?: Sent) => Promise<Answer>

/** Creates a user with a role and a token. */
const somebody = async (ask: Ask, name: string) => {
  const made = async (path: string, json: object) => {
    const { status, body } = await ask(`/api/v1/${path}`, { json })
    expect(status, JSON.stringify(body)).toBe(201)
    return Object.values(body)[0]
  }
  const role = await made("roles", { name: `${name}'s role`, permissions: ["products.create"] })
  const user = await made("users", {
    name,
    email: `${name.toLowerCase()}@example.com`,
    roles: [role.name],
    active: true
  })
  const token = await made("tokens", { name, abilities: ["*"], user_id: user.id })
  return {
    role_id: role.id as number,
    user_id: user.id as number,
    token_id: token.id as number,
    secret: token.secret as string
  }
}
type Somebody = Awaited<ReturnType<typeof somebody>>
const makesProducts = async (ask: Ask, { secret }: Somebody): Promise<number> =>
  (await ask("/api/v1/products", { token: secret, json: { name: "Lamp" } })).status

describe("two servers on one Postgres, with frozen clocks so that no cache expires", () => {
  let database: FreshDatabase, one: ServerApp, other: ServerApp
  beforeAll(async () => {
    database = await freshDatabase()
    const options = {
      database: { kind: "pg", url: database.url, connections_max: 3 },
      key: "key-of-the-tests-which-is-long",
      owner_token,
      rate_limit: 1_000_000,
      services: clockAt(() => noon)
    } as const
    one = await openServerApp(options)
    other = await openServerApp(options)
    await Promise.all([one, other].map(untilListening))
  })
  afterAll(async () => {
    await Promise.all([one.close(), other.close()])
    await database.drop()
  })
  const here: Ask = (target, sent = {}) => askOf(one, target, sent)
  const there: Ask = (target, sent = {}) => askOf(other, target, sent)
  /** The last observed value, once it is the expected one or time is up. */
  const eventually = async <A>(look: () => Promise<A>, awaited: A): Promise<A> => {
    let seen = await look()
    for (let tries = 0; tries < 250 && seen !== awaited; tries++) {
      await pause(20)
      seen = await look()
    }
    return seen
  }

  it.each<[string, number, (who: Somebody) => [string, Sent]]>([
    ["a token revoked", 401, (who) => [`/api/v1/tokens/${who.token_id}`, { method: "DELETE" }]],
    [
      "a role changed",
      403,
      (who) => [`/api/v1/roles/${who.role_id}`, { method: "PUT", json: { permissions: ["products.view"] } }]
    ],
    [
      "a user given other roles",
      403,
      (who) => [`/api/v1/users/${who.user_id}`, { method: "PUT", json: { roles: [] } }]
    ],
    ["a user deactivated", 403, (who) => [`/api/v1/users/${who.user_id}`, { method: "DELETE" }]]
  ])("refuse requests at one server with %s at the other", async (what, status, change) => {
    const who = await somebody(here, what.replaceAll(" ", "-"))
    expect(await makesProducts(there, who)).toBe(201)
    const [target, sent] = change(who)
    expect((await here(target, sent)).status).toBeLessThan(300)
    // Effective at once on the server that changed it.
    expect(await makesProducts(here, who)).toBe(status)
    expect(await eventually(() => makesProducts(there, who), status)).toBe(status)
  })
  it("apply a permission granted at the other server", async () => {
    const who = await somebody(here, "Newcomer")
    await here(`/api/v1/roles/${who.role_id}`, { method: "PUT", json: { permissions: ["products.view"] } })
    expect(await eventually(() => makesProducts(there, who), 403)).toBe(403)
    await here(`/api/v1/roles/${who.role_id}`, { method: "PUT", json: { permissions: ["products.create"] } })
    expect(await eventually(() => makesProducts(there, who), 201)).toBe(201)
  })
  it("refuse a device revoked at the other server", async () => {
    const {
      body: { replica, token }
    } = await here("/api/v1/sync/replicas", { json: { name: "van", public_key: "A".repeat(43) } })
    const asked = async () => (await there("/api/v1/products", { token: token.secret })).status
    expect(await asked()).toBe(200)
    expect((await here(`/api/v1/sync/replicas/${replica.id}`, { method: "DELETE" })).status).toBe(204)
    expect(await eventually(asked, 403)).toBe(403)
  })
  it("end the wait of a device that is revoked at the other server, if its token is not its own", async () => {
    const { replica } = (await here("/api/v1/sync/replicas", { json: { name: "van" } })).body
    const follow = (query: string) =>
      askOf(other, `/api/v1/sync/shape?table=journal&replica_id=${replica.id}&${query}`, {})
    const { headers } = await follow("offset=now")
    const live = `offset=${headers["electric-offset"]}&handle=${headers["electric-handle"]}&live=true`
    const waiting = follow(live)
    const { body } = await other.ask({
      method: "GET",
      target: `/api/v1/sync/shape?table=journal&replica_id=${replica.id}&${live}&live_sse=true`,
      headers: { authorization: `Bearer ${owner_token}` },
      remote_address: "192.0.2.1",
      body: async () => new Uint8Array()
    })
    if (typeof body !== "object" || !("stream" in body)) throw new Error("no stream")
    const streamed = Effect.runPromise(Stream.runCollect(body.stream))
    await pause(200)
    expect((await here(`/api/v1/sync/replicas/${replica.id}`, { method: "DELETE" })).status).toBe(204)
    expect((await waiting).body).toEqual([])
    expect(Buffer.concat(await streamed).toString()).toBe(": following\n\n")
    expect((await follow(live)).status).toBe(403)
  })
  it("apply settings changed at the other server", async () => {
    const name = async () => (await there("/api/v1/settings/company")).body.settings.name
    await name()
    expect(
      (await here("/api/v1/settings/company", { method: "PUT", json: { settings: { name: "Another house" } } })).status
    ).toBe(200)
    expect(await eventually(name, "Another house")).toBe("Another house")
  })
  it("show the new name of a cached row renamed at the other server", async () => {
    const made = async (json: object) =>
      (await here("/api/v1/product_groups", { json })).body.product_group.id as number
    const parent = await made({ name: "Cables" })
    const child = await made({ name: "Short cables", parent_id: parent })
    const parentName = async () =>
      (await there(`/api/v1/product_groups/${child}?include=parent`)).body.product_group.parent.name
    expect(await parentName()).toBe("Cables")
    await here(`/api/v1/product_groups/${parent}`, { method: "PUT", json: { name: "Leads" } })
    expect(await eventually(parentName, "Leads")).toBe("Leads")
  })
  it("answer a change with what others changed in the row after it was read", async () => {
    const { id } = (await here("/api/v1/products", { json: { name: "Lamp" } })).body.product
    const client = new pg.Client(database.url)
    await client.connect()
    await client.query("begin")
    await client.query("update products set sku = 'L-1' where id = $1", [id])
    const changing = there(`/api/v1/products/${id}`, { method: "PUT", json: { name: "Torch" } })
    await untilWaiting(client)
    await client.query("commit")
    await client.end()
    const seen = { name: "Torch", sku: "L-1" }
    expect((await changing).body.product).toMatchObject(seen)
    expect((await here(`/api/v1/products/${id}`)).body.product).toMatchObject(seen)
  })
  it("are notified by each commit of events itself, once, and by no refused command", async () => {
    const client = new pg.Client(database.url)
    await client.connect()
    const heard: Array<string> = []
    client.on("notification", ({ payload }) => heard.push(payload ?? ""))
    await client.query("listen flightcase_journal")
    const after = async (target: string, sent: Sent) => {
      const { status } = await here(target, sent)
      // What a commit sends arrives before the answer to any later statement.
      await client.query("select 1")
      return [status, ...heard.splice(0)]
    }
    try {
      expect(await after("/api/v1/products", { json: { name: "Truss" } })).toEqual([201, ""])
      const { id } = (await here("/api/v1/products?q[name_eq]=Truss")).body.products[0]
      const path = `/api/v1/products/${id}`
      expect(await after(path, { method: "PUT", json: { name: "Truss 2 m" } })).toEqual([200, ""])
      expect(await after(path, { method: "PUT", json: { name: "" } })).toEqual([422])
      const rows = Array.from({ length: 20 }, (_, at) => ({ name: `Lamp ${at}` }))
      expect(await after("/api/v1/products/import", { json: { rows } })).toEqual([200, ""])
      const settings = { name: "A third house" }
      expect(await after("/api/v1/settings/company", { method: "PUT", json: { settings } })).toEqual([200, "standing"])
      // A second notice would be sent after the answer.
      const group = { json: { name: "Trusses" } }
      expect([await after("/api/v1/product_groups", group), await pause(300), ...heard]).toEqual([
        [201, "standing"],
        undefined
      ])
    } finally {
      await client.end()
    }
  })
})

/** Changes the database without a notice, as if it were lost. */
const unheard = (...changes: ReadonlyArray<RowChange>) => Effect.flatMap(Store, (store) => store.apply(changes))

describe.each(both_engines)("changes whose notification is lost, on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine)
  })
  afterAll(() => server.close())

  it.each<[string, number, (who: Somebody) => RowChange]>([
    ["a token revoked", 401, (who) => update(tokens, who.token_id, { revoked_at: "2026-06-18T12:00:00.000Z" })],
    ["a role changed", 403, (who) => update(roles, who.role_id, { permissions: ["products.view"] })],
    ["a user given other roles", 403, (who) => update(users, who.user_id, { role_ids: [] })],
    ["a user deactivated", 403, (who) => update(users, who.user_id, { is_active: false })]
  ])("apply within a second: %s", async (what, status, change) => {
    server.setClock(noon)
    const who = await somebody(server.ask, what.replaceAll(" ", "-"))
    expect(await makesProducts(server.ask, who)).toBe(201)
    await server.run(unheard(change(who)))
    server.setClock(noon + 1_000)
    expect(await makesProducts(server.ask, who)).toBe(status)
  })
  it("apply to settings within a second", async () => {
    server.setClock(noon)
    const expiry = async () =>
      (await server.ask("/api/v1/tokens", { json: { name: "Till", abilities: ["products:read"] } })).body.token
        .expires_at
    expect(
      (await server.ask("/api/v1/settings/api", { method: "PUT", json: { settings: { token_expiration_days: 30 } } }))
        .status
    ).toBe(200)
    expect(await expiry()).toBe("2026-07-18T12:00:00.000Z")
    // Cached after another read outside of a transaction.
    expect((await server.ask("/api/v1/products")).status).toBe(200)
    await server.run(unheard(update(settings_table, "api.token_expiration_days", { value: 10 })))
    server.setClock(noon + 1_000)
    expect(await expiry()).toBe("2026-06-28T12:00:01.000Z")
  })
})
