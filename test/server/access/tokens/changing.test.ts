/** Tokens in use get another name or other limits, and keep secret, abilities and expiry. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { journal } from "../../../../core/kernel/events/journal.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { engines } from "../../../app.ts"
import { serve, type Serving } from "../../serving.ts"

const noon = Date.parse("2026-06-18T12:00:00.000Z")

describe.each(engines)("changing tokens on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { lenient: true })
    server.setClock(noon)
  })
  afterAll(() => server.close())
  const issue = async (json: object = {}) => {
    const made = await server.ask("/api/v1/tokens", { json: { name: "Till", abilities: ["products:read"], ...json } })
    expect(made.status).toBe(201)
    return made.body.token
  }
  const change = (id: number, json: object, token?: string) =>
    server.ask(`/api/v1/tokens/${id}`, { method: "PATCH", json, ...(token === undefined ? {} : { token }) })
  const products = (token: string) => server.ask("/api/v1/products", { token })
  const listed = async (id: number) =>
    (await server.ask("/api/v1/tokens?per_page=100")).body.tokens.find((one) => one.id === id)
  const happened = async (id: number) =>
    (
      await server.run(
        Effect.flatMap(Store, (store) => store.find(journal, { stream: `token:${id}` }, { order: ["position"] }))
      )
    ).map(({ type, data }) => ({ type, data }))
  const invited = async (name: string, roles: ReadonlyArray<string>): Promise<{ id: number; member_id: number }> => {
    const json = { name, email: `${name.toLowerCase()}@example.com`, roles, active: true }
    const made = await server.ask("/api/v1/users", { json })
    expect(made.status).toBe(201)
    return made.body.user
  }

  it("answers with the token as listed, without its secret, and records the new values", async () => {
    const { id, secret, ...before } = await issue()
    server.setClock(noon + 1_000)
    const changed = await change(id, { name: "Shop", monthly_units: 50_000 })
    expect(changed.status).toBe(200)
    expect(changed.body.token).toEqual({
      ...before,
      id,
      name: "Shop",
      monthly_units: 50_000,
      updated_at: "2026-06-18T12:00:01.000Z"
    })
    expect(await listed(id)).toEqual(changed.body.token)
    expect((await products(secret)).status).toBe(200)
    const put = await server.ask(`/api/v1/tokens/${id}`, { method: "PUT", json: { rate_limit_per_minute: 90 } })
    expect(put.body.token).toMatchObject({ name: "Shop", rate_limit_per_minute: 90, monthly_units: 50_000 })
    expect((await happened(id)).slice(1)).toEqual([
      {
        type: "token.changed",
        data: { id, user_id: 1, name: "Shop", rate_limit_per_minute: null, monthly_units: 50_000 }
      },
      {
        type: "token.changed",
        data: { id, user_id: 1, name: "Shop", rate_limit_per_minute: 90, monthly_units: 50_000 }
      }
    ])
  })
  it("records nothing when no value changes, and ignores abilities, expiry and user", async () => {
    const { id, secret, ...before } = await issue({ monthly_units: 5 })
    server.setClock(noon + 2_000)
    for (const json of [{}, { name: null }, { name: "Till" }, { monthly_units: 5, rate_limit_per_minute: null }]) {
      const same = await change(id, json)
      expect([same.status, same.body.token]).toEqual([200, { ...before, id }])
    }
    const other = await change(id, { abilities: ["*"], expires_at: "2030-01-01T00:00:00Z", user_id: 99 })
    expect(other.body.token).toEqual({ ...before, id })
    expect((await happened(id)).map(({ type }) => type)).toEqual(["token.issued"])
    expect(secret).toMatch(/\|/)
  })
  it.each([
    [{ name: "" }, "name"],
    [{ name: "x".repeat(256) }, "name"],
    [{ rate_limit_per_minute: 0 }, "rate_limit_per_minute"],
    [{ rate_limit_per_minute: 10_001 }, "rate_limit_per_minute"],
    [{ monthly_units: -1 }, "monthly_units"],
    [{ monthly_units: 1.5 }, "monthly_units"],
    [{ monthly_units: 1_000_000_001 }, "monthly_units"]
  ])("refuses %j", async (json, field) => {
    const { id } = await issue()
    const refused = await change(id, json)
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, [field]])
    expect((await happened(id)).map(({ type }) => type)).toEqual(["token.issued"])
  })
  it("applies a new monthly quota to the next request, raised or lowered", async () => {
    const { id, secret } = await issue({ monthly_units: 2 })
    expect([(await products(secret)).status, (await products(secret)).status]).toEqual([200, 200])
    expect((await products(secret)).body.message).toMatch(/an administrator may raise the token's monthly_units\.$/)
    await change(id, { monthly_units: 4 })
    const open = await products(secret)
    expect([open.status, open.headers["x-quota-limit"], open.headers["x-quota-remaining"]]).toEqual([200, "4", "1"])
    await change(id, { monthly_units: 3 })
    expect((await products(secret)).status).toBe(429)
    await change(id, { monthly_units: 0 })
    const unlimited = await products(secret)
    expect([unlimited.status, unlimited.headers["x-quota-limit"]]).toEqual([200, undefined])
  })
  it("lets a token raise its own exhausted quota", async () => {
    const { id, secret } = await issue({ abilities: ["*"], monthly_units: 1 })
    expect((await products(secret)).status).toBe(200)
    expect((await products(secret)).status).toBe(429)
    expect((await change(id, { monthly_units: 10 }, secret)).status).toBe(200)
    expect((await products(secret)).status).toBe(200)
  })
  it("applies a new rate limit to the next request", async () => {
    const { id, secret } = await issue()
    for (let times = 0; times < 3; times++) expect((await products(secret)).status).toBe(200)
    await change(id, { rate_limit_per_minute: 3 })
    const refused = await products(secret)
    expect([refused.status, refused.headers["x-ratelimit-limit"]]).toEqual([429, "3"])
    await change(id, { rate_limit_per_minute: 4 })
    expect((await products(secret)).headers["x-ratelimit-limit"]).toBe("4")
    expect((await products(secret)).status).toBe(429)
  })
  it("restores the company's limits when they are set to null", async () => {
    const { id, secret } = await issue({ rate_limit_per_minute: 7, monthly_units: 7 })
    const allow = (monthly_units: number) =>
      server.ask("/api/v1/settings/api", { method: "PUT", json: { settings: { monthly_units } } })
    expect((await allow(1_000)).status).toBe(200)
    expect((await products(secret)).headers).toMatchObject({ "x-quota-limit": "7", "x-ratelimit-limit": "7" })
    const back = await change(id, { rate_limit_per_minute: null, monthly_units: null })
    expect(back.body.token).toMatchObject({ rate_limit_per_minute: null, monthly_units: null })
    expect((await products(secret)).headers).toMatchObject({ "x-quota-limit": "1000", "x-ratelimit-limit": "1000000" })
    await allow(0)
  })
  it("answers 404 for unknown and revoked tokens", async () => {
    const { id: gone } = await issue()
    await server.ask(`/api/v1/tokens/${gone}`, { method: "DELETE" })
    const dora = await invited("Dora", ["Sales"])
    const { id: closed } = await issue({ user_id: dora.id })
    expect((await server.ask(`/api/v1/users/${dora.id}`, { method: "DELETE" })).status).toBe(204)
    for (const id of [gone, closed, 999_999]) expect((await change(id, { name: "Again" })).status).toBe(404)
    expect((await happened(closed)).map(({ type }) => type)).not.toContain("token.changed")
  })
  it("is refused to users who issue no tokens, and to administrators for the owner's token", async () => {
    const ada = await issue({ user_id: (await invited("Ada", ["Admin"])).id, abilities: ["*"] })
    const sid = await issue({ user_id: (await invited("Sid", ["Sales"])).id, abilities: ["*"], monthly_units: 5 })
    const owners = await issue({ name: "The owner's" })
    expect((await change(sid.id, { monthly_units: 6 }, sid.secret)).status).toBe(403)
    expect((await change(owners.id, { monthly_units: 6 }, ada.secret)).status).toBe(403)
    expect((await change(sid.id, { monthly_units: 6 }, ada.secret)).body.token.monthly_units).toBe(6)
    expect((await change(ada.id, { name: "Ada's" }, ada.secret)).status).toBe(200)
    expect((await change(ada.id, { name: "Ada's till" })).status).toBe(200)
    expect((await listed(owners.id))?.monthly_units).toBe(null)
  })
  it("is refused to a user with every permission whose role is not an administrator's", async () => {
    const all = (await server.ask("/api/v1/permissions")).body.permissions.map(({ key }: { key: string }) => key)
    await server.ask("/api/v1/roles", { json: { name: "Nearly admin", permissions: all } })
    const nora = await issue({ user_id: (await invited("Nora", ["Nearly admin"])).id, abilities: ["*"] })
    const refused = await change(nora.id, { monthly_units: 0 }, nora.secret)
    expect([refused.status, refused.body.message]).toEqual([403, "Only the owner and administrators change tokens."])
  })
  it("needs the ability tokens:write and every ability of the changed token", async () => {
    const { id } = await issue({ abilities: ["products:read", "members:read"] })
    const reader = await issue({ abilities: ["tokens:read", "products:read", "members:read"] })
    const narrow = await issue({ abilities: ["tokens:write", "products:read"] })
    const wide = await issue({ abilities: ["tokens:write", "products:read", "members:read"] })
    expect((await change(id, { name: "x" }, reader.secret)).status).toBe(403)
    expect((await change(id, { name: "x" }, narrow.secret)).body.message).toContain("members:read")
    expect((await change(id, { name: "x" }, wide.secret)).status).toBe(200)
  })
  it("leaves no name of an erased person in the journal", async () => {
    const { id: user_id, member_id } = await invited("Erna", ["Sales"])
    const { id } = await issue({ name: "Erna's first", user_id })
    await change(id, { name: "Erna's second" })
    expect((await server.ask(`/api/v1/users/${user_id}`, { method: "DELETE" })).status).toBe(204)
    const erased = await server.ask(`/api/v1/members/${member_id}/anonymise`, { method: "POST", json: {} })
    expect(erased.status).toBe(200)
    expect((await happened(id)).map(({ type }) => type)).toContain("token.changed")
    expect(JSON.stringify(await happened(id))).not.toContain("Erna")
  })
  it("renames the token in usage reports too, even once it is revoked", async () => {
    const { id, secret } = await issue({ name: "Before" })
    await products(secret)
    await change(id, { name: "After" })
    await server.ask(`/api/v1/tokens/${id}`, { method: "DELETE" })
    const { body } = await server.ask("/api/v1/usage?dimension=token&per_page=100")
    const row = JSON.stringify(body)
    expect(row).toContain('"After"')
    expect(row).not.toContain('"Before"')
  })
})
