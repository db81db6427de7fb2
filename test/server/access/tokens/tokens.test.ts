import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { journal } from "../../../../core/kernel/events/journal.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { hashOf, tokens } from "../../../../server/access/tokens/issue.ts"
import { engines } from "../../../app.ts"
import { owner_token, serve, type Sent, type Serving } from "../../serving.ts"
import { words } from "../../../words.ts"

describe.each(engines)("tokens on %s", (engine) => {
  let server: Serving
  const ask = (path: string, sent?: Sent) => server.ask(`/api/v1${path}`, sent)
  beforeAll(async () => {
    server = await serve(engine)
  })
  afterAll(() => server.close())
  const issue = async (json: object = {}) => {
    const made = await ask("/tokens", { json: { name: "Till", abilities: ["products:read"], ...json } })
    expect(made.status).toBe(201)
    return made.body.token
  }

  it("refuse calls without a token, or with a malformed, unknown or empty one, with 401", async () => {
    for (const headers of [
      {},
      { authorization: "Bearer" },
      { authorization: "Bearer " },
      { authorization: "Basic b3duZXI6" },
      { authorization: "Bearer nobody-knows-this-token" },
      { authorization: `Bearer ${"x".repeat(100_000)}` }
    ]) {
      const got = await ask("/products", { token: null, headers })
      expect(got.status).toBe(401)
      expect(got.headers["content-type"]).toBe("application/json")
      expect(got.headers["www-authenticate"]).toBe("Bearer")
      expect(Object.keys(got.body)).toEqual(["message"])
    }
  })
  it("accept the scheme Bearer in any letter case", async () => {
    expect((await ask("/products", { token: null, headers: { authorization: `bEARER  ${owner_token}` } })).status).toBe(
      200
    )
  })
  it("show their secret once, store only its hash, and record neither in the journal", async () => {
    const token = await issue({ name: "Till 1" })
    expect(token).toMatchObject({
      name: "Till 1",
      abilities: ["products:read"],
      user_id: 1,
      expires_at: null,
      rate_limit_per_minute: null,
      monthly_units: null,
      units_this_month: 0,
      last_used_at: null
    })
    expect(token.secret).toMatch(new RegExp(`^${token.id}\\|[A-Za-z0-9_-]{43}$`))
    expect(token.hash).toBeUndefined()
    const listed = (await ask(`/tokens?per_page=100`)).body.tokens.find((one) => one.id === token.id)!
    expect(Object.keys(listed).sort()).toEqual(
      words(`
      abilities created_at expires_at id last_used_at monthly_units name rate_limit_per_minute units_this_month
      updated_at user_id
    `)
    )
    const { row, events } = await server.run(
      Effect.gen(function* () {
        const store = yield* Store
        return {
          row: yield* store.get(tokens, token.id),
          events: yield* store.find(journal, { stream: `token:${token.id}` })
        }
      })
    )
    expect(row!.hash).toBe(hashOf(token.secret))
    expect(events.map((event) => event.type)).toEqual(["token.issued"])
    expect(JSON.stringify(events)).not.toContain(token.secret.split("|")[1])
    expect(JSON.stringify(events)).not.toContain(row!.hash)
  })
  it("allow only their abilities: reading products does not include changing them, nor the reverse", async () => {
    const { secret } = await issue({ abilities: ["products:read"] })
    expect((await ask("/products", { token: secret })).status).toBe(200)
    const write = await ask("/products", { token: secret, json: { name: "x" } })
    expect(write.status).toBe(403)
    expect(write.body.message).toContain("products:write")
    expect(write.body.errors).toBeUndefined()
    const { secret: writing } = await issue({ abilities: ["products:write"] })
    expect((await ask("/products", { token: writing })).status).toBe(403)
  })
  it("are refused once revoked, and not found when revoked again", async () => {
    const { id, secret } = await issue()
    expect((await ask("/products", { token: secret })).status).toBe(200)
    expect((await ask(`/tokens/${id}`, { method: "DELETE" })).status).toBe(204)
    expect((await ask("/products", { token: secret })).status).toBe(401)
    expect((await ask(`/tokens/${id}`, { method: "DELETE" })).status).toBe(404)
  })
  it("are refused from their expiry on", async () => {
    const now = Date.now()
    server.setClock(now)
    const { secret } = await issue({ expires_at: new Date(now + 60_000).toISOString() })
    server.setClock(now + 59_999)
    expect((await ask("/products", { token: secret })).status).toBe(200)
    server.setClock(now + 60_000)
    expect((await ask("/products", { token: secret })).status).toBe(401)
  })
  it("expire by the company's setting at the latest, when issued after it is set", async () => {
    const now = Date.parse("2026-06-18T12:00:00.000Z")
    server.setClock(now)
    expect(
      (await ask("/settings/api", { method: "PUT", json: { settings: { token_expiration_days: 30 } } })).status
    ).toBe(200)
    expect((await issue()).expires_at).toBe("2026-07-18T12:00:00.000Z")
    expect((await issue({ expires_at: "2026-06-20T00:00:00Z" })).expires_at).toBe("2026-06-20T00:00:00.000Z")
    expect((await issue({ expires_at: "2027-06-20T00:00:00Z" })).expires_at).toBe("2026-07-18T12:00:00.000Z")
    await ask("/settings/api", { method: "PUT", json: { settings: { token_expiration_days: 0 } } })
  })
  it("cannot issue tokens with more abilities or a later expiry than their own", async () => {
    const ends = new Date(Date.parse("2026-06-18T13:00:00.000Z")).toISOString()
    const { secret } = await issue({ abilities: ["tokens:write", "products:read"], expires_at: ends })
    const more = await ask("/tokens", {
      token: secret,
      json: { name: "More", abilities: ["products:read", "products:write"] }
    })
    expect(more.status).toBe(403)
    expect((await ask("/tokens", { token: secret, json: { name: "All", abilities: ["*"] } })).status).toBe(403)
    const same = await ask("/tokens", { token: secret, json: { name: "Same", abilities: ["products:read"] } })
    expect(same.status).toBe(201)
    expect(same.body.token.expires_at).toBe(ends)
  })
  it("are not issued with invalid fields, each of which has an error", async () => {
    const empty = await ask("/tokens", { json: {} })
    expect(empty.status).toBe(422)
    expect(Object.keys(empty.body.errors).sort()).toEqual(["abilities", "name"])
    const wrong = await ask("/tokens", {
      json: { name: "x".repeat(256), abilities: [], user_id: "x", expires_at: "soon", rate_limit_per_minute: 0 }
    })
    expect(Object.keys(wrong.body.errors).sort()).toEqual([
      "abilities",
      "expires_at",
      "name",
      "rate_limit_per_minute",
      "user_id"
    ])
    const unknown = await ask("/tokens", {
      json: { name: "x", abilities: ["products:read", "products:fly"], user_id: 99_999, expires_at: "2001-01-01" }
    })
    expect(Object.keys(unknown.body.errors).sort()).toEqual(["abilities.1", "expires_at", "user_id"])
  })
  it("record their last use, at most once a minute", async () => {
    const start = Date.parse("2026-06-18T12:00:00.000Z")
    const { id, secret } = await issue()
    const lastUsed = async () =>
      (await server.run(Effect.flatMap(Store, (store) => store.get(tokens, id))))!.last_used_at
    server.setClock(start)
    await ask("/products", { token: secret })
    // Written in the background, possibly after the response.
    await expect.poll(lastUsed, { timeout: 20_000 }).toBe("2026-06-18T12:00:00.000Z")
    server.setClock(start + 59_000)
    await ask("/products", { token: secret })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await lastUsed()).toBe("2026-06-18T12:00:00.000Z")
  })

  const invited = async (name: string, roles: ReadonlyArray<string>): Promise<number> => {
    const made = await ask("/users", {
      json: { name, email: `${name.toLowerCase()}@example.com`, roles, active: true }
    })
    expect(made.status).toBe(201)
    return made.body.user.id
  }
  it("have the permissions of the user they are issued for", async () => {
    const user_id = await invited("Rita", ["Read Only"])
    const { secret } = await issue({ user_id, abilities: ["members:read", "members:write"] })
    expect((await ask("/members", { token: secret })).status).toBe(200)
    const made = await ask("/members", { json: { name: "A", membership_type: "organisation" } })
    const merge = await ask(`/members/${made.body.member.id}/merge`, { token: secret, json: {} })
    expect(merge.status).toBe(403)
    expect((await ask("/members/999999/merge", { token: secret, json: {} })).status).toBe(404)
  })
  it("apply changed permissions to the next request", async () => {
    const user_id = await invited("Walter", ["Read Only"])
    const { secret } = await issue({ user_id, abilities: ["*"] })
    const create = () => ask("/products", { token: secret, json: { name: "Lamp" } })
    expect((await create()).status).toBe(403)
    expect((await ask(`/users/${user_id}`, { method: "PUT", json: { roles: ["Warehouse"] } })).status).toBe(200)
    expect((await create()).status).toBe(201)
    expect((await ask(`/users/${user_id}`, { method: "PUT", json: { roles: [] } })).status).toBe(200)
    expect((await create()).status).toBe(403)
  })
  it("answer 403 with the reason, or 404, once their user is deactivated, and 401 after reactivation", async () => {
    const user_id = await invited("Dora", ["Admin"])
    const { secret } = await issue({ user_id, abilities: ["*"] })
    expect((await ask("/products", { token: secret })).status).toBe(200)
    expect((await ask(`/users/${user_id}`, { method: "DELETE" })).status).toBe(204)
    const refused = await ask("/products", { token: secret })
    expect(refused.status).toBe(403)
    expect(refused.body.message).toMatch(/deactivated/)
    expect((await ask("/products/999999", { token: secret })).status).toBe(404)
    expect((await ask(`/users/${user_id}/activate`, { method: "POST" })).status).toBe(200)
    expect((await ask("/products", { token: secret })).status).toBe(401)
    const { secret: again } = await issue({ user_id, abilities: ["*"] })
    expect((await ask("/products", { token: again })).status).toBe(200)
  })
  it("are issued by the owner and administrators only, whatever permissions others have", async () => {
    const everything = (await ask("/permissions")).body.permissions.map(({ key }: { key: string }) => key)
    expect((await ask("/roles", { json: { name: "Nearly admin", permissions: everything } })).status).toBe(201)
    for (const [name, roles] of [
      ["Selma", ["Sales"]],
      ["Olga", ["Operations Manager"]],
      ["Nora", ["Nearly admin"]]
    ] as const) {
      const { secret } = await issue({ user_id: await invited(name, roles), abilities: ["*"] })
      const refused = await ask("/tokens", { token: secret, json: { name: "x", abilities: ["products:read"] } })
      expect([name, refused.status]).toEqual([name, 403])
    }
    const { secret } = await issue({ user_id: await invited("Adam", ["Admin"]), abilities: ["*"] })
    expect((await ask("/tokens", { token: secret, json: { name: "x", abilities: ["products:read"] } })).status).toBe(
      201
    )
  })
  it("are revoked only by tokens that have all their abilities", async () => {
    const { id } = await issue({ abilities: ["products:read", "members:read"] })
    const narrow = await issue({ abilities: ["tokens:write", "products:read"] })
    expect((await ask(`/tokens/${id}`, { method: "DELETE", token: narrow.secret })).status).toBe(403)
    const wide = await issue({ abilities: ["tokens:write", "products:read", "members:read"] })
    expect((await ask(`/tokens/${id}`, { method: "DELETE", token: wide.secret })).status).toBe(204)
    expect((await ask(`/tokens/${narrow.id}`, { method: "DELETE", token: narrow.secret })).status).toBe(204)
  })
  it("of others are not listed, revoked or issued by users who do not manage users", async () => {
    const user_id = await invited("Sam", ["Sales"])
    const { id, secret } = await issue({ name: "Sam's", user_id, abilities: ["*"] })
    const { id: owners } = await issue({ name: "The owner's" })
    const own = await ask("/tokens", { token: secret })
    expect(own.body.tokens.map((one) => one.id)).toEqual([id])
    expect((await ask(`/tokens/${owners}`, { method: "DELETE", token: secret })).status).toBe(403)
    expect((await ask("/tokens", { token: secret, json: { name: "x", abilities: ["*"], user_id: 1 } })).status).toBe(
      403
    )
    const second = await issue({ name: "Sam's second", user_id, abilities: ["opportunities:read"] })
    expect((await ask(`/tokens/${second.id}`, { method: "DELETE", token: secret })).status).toBe(204)
  })
  it("are issued by administrators for other users, but neither issued nor revoked for the owner", async () => {
    const admin = await issue({ user_id: await invited("Ada", ["Admin"]), abilities: ["*"] })
    const sales = await invited("Sid", ["Sales"])
    const asAdmin = (user_id: number) =>
      ask("/tokens", { token: admin.secret, json: { name: "x", abilities: ["*"], user_id } })
    expect((await asAdmin(sales)).status).toBe(201)
    expect((await asAdmin(1)).status).toBe(403)
    const { id } = await issue({ name: "The owner's" })
    expect((await ask(`/tokens/${id}`, { method: "DELETE", token: admin.secret })).status).toBe(403)
  })
})
