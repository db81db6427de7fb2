import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { both_engines } from "../../../app.ts"
import { type Sent, serve, type Serving, startedDatabase } from "../../serving.ts"

const deals = "/api/v1/opportunities"
const noon = Date.parse("2031-06-01T12:00:00Z")

describe("a server restarted on its SQLite file after being killed", () => {
  it("reruns a request that was in progress when it was killed", async () => {
    const { database, drop } = await startedDatabase("sqlite")
    const post = (server: Serving) =>
      server.ask(deals, { method: "POST", json: { subject: "Cut off" }, headers: { "idempotency-key": "k" } })
    try {
      const killed = await serve("sqlite", { database })
      expect((await post(killed)).status).toBe(201)
      await killed.run(
        Effect.flatMap(Store, (store) =>
          store.run("update idempotency_keys set state = 'in_flight', status = null, body = null")
        )
      )
      expect((await post(killed)).status).toBe(425)
      await killed.close()
      const again = await serve("sqlite", { database })
      expect((await post(again)).status).toBe(201)
      await again.close()
    } finally {
      await drop()
    }
  })
})

describe.each(both_engines)("POSTs under an Idempotency-Key on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    // Tests can delay a change, or make it fail, before its commit.
    server = await serve(engine, {
      lenient: true,
      slices: [
        {
          name: "hold",
          recorded: (events) =>
            Effect.suspend(() => {
              const names = events.map(({ data }) => data["subject"])
              if (names.includes("Breaks")) throw new Error("the power went")
              if (!names.includes("Slow")) return Effect.void
              started()
              return Effect.promise(() => held)
            })
        }
      ]
    })
  })
  afterAll(() => server.close())
  let started = (): void => {}
  let held: Promise<void> = Promise.resolve()

  let count = 0
  const fresh = () => `key-${++count}`
  const post = (key: string, json: unknown, sent: Sent = {}, path = deals) =>
    server.ask(path, { method: "POST", json, headers: { "idempotency-key": key }, ...sent })
  const total = async (subject: string) => (await server.ask(`${deals}?q[subject_eq]=${subject}`)).body.meta.total
  const journalled = () =>
    server.run(
      Effect.flatMap(Store, (store) =>
        Effect.map(store.run<{ n: number }>("select count(*) as n from journal"), (rows) => Number(rows[0]!.n))
      )
    )

  it("run once, and repeats replay the stored response with Idempotent-Replayed", async () => {
    const key = fresh()
    const first = await post(key, { subject: "Lighting", reference: "d" })
    const events = await journalled()
    const again = await post(key, { reference: "d", subject: "Lighting" })
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.text).toBe(first.text)
    expect([first.headers["idempotent-replayed"], again.headers["idempotent-replayed"]]).toEqual([undefined, "true"])
    expect(await journalled()).toBe(events)
    expect(await total("Lighting")).toBe(1)
  })
  it("record a repeated scan once", async () => {
    const made = async (path: string, json: object) =>
      Object.values((await server.ask(path, { method: "POST", json })).body)[0] as { id: number }
    const product = await made("/api/v1/products", { name: "Cable", product_type: "rental", sku: "CBL" })
    await made(`/api/v1/stock_levels`, { product_id: product.id, store_id: 1, quantity_held: "100" })
    const when = { starts_at: "2031-06-01T09:00:00Z", ends_at: "2031-06-03T09:00:00Z" }
    const deal = await made(deals, { subject: "Scanned", store_id: 1, ...when })
    await made(`${deals}/${deal.id}/items`, { name: "Cable", item_id: product.id, quantity: 10 })
    for (const step of ["convert_to_quotation", "convert_to_order"])
      expect((await server.ask(`${deals}/${deal.id}/${step}`, { method: "POST", json: {} })).status).toBe(200)
    const sent = async () => {
      const { body } = await server.ask(`${deals}/${deal.id}?include=items`)
      return body.opportunity.items[0].dispatched_quantity
    }
    const key = fresh(),
      scan = { direction: "out", code: "CBL", quantity: 4 },
      path = `${deals}/${deal.id}/scan`
    const first = await post(key, scan, {}, path)
    const again = await post(key, scan, {}, path)
    expect([first.status, again.status], first.text).toEqual([200, 200])
    expect(again.text).toBe(first.text)
    expect(await sent()).toBe("4.00")
    await post(fresh(), scan, {}, path)
    expect(await sent()).toBe("8.00")
  })
  it("answer 409 when the body, path or query differs under the same key", async () => {
    const key = fresh()
    await post(key, { subject: "Audio" })
    for (const other of [
      await post(key, { subject: "Video" }),
      await post(
        key,
        { subject: "Audio" },
        {},
        `${deals}/${(await post(fresh(), { subject: "Other" })).body.opportunity.id}/clone`
      ),
      await post(key, { subject: "Audio" }, {}, `${deals}?include=member`)
    ]) {
      expect([other.status, Object.keys(other.body.errors)]).toEqual([409, ["idempotency_key"]])
    }
    expect(await total("Video")).toBe(0)
  })
  it("replay a 422, but run again after a 404", async () => {
    const key = fresh()
    const refused = await post(key, { subject: "" })
    const again = await post(key, { subject: "" })
    expect([refused.status, again.status, again.headers["idempotent-replayed"]]).toEqual([422, 422, "true"])
    expect(again.body).toEqual(refused.body)
    const missing = fresh()
    expect((await post(missing, {}, {}, "/api/v1/opportunities/99999/clone")).status).toBe(404)
    expect(
      (await post(missing, {}, {}, "/api/v1/opportunities/99999/clone")).headers["idempotent-replayed"]
    ).toBeUndefined()
  })
  it("run for each of two users who use the same key", async () => {
    const {
      body: { user }
    } = await server.ask("/api/v1/users", {
      json: { name: "Bea", email: "bea@example.com", roles: ["Admin"], active: true }
    })
    const { body } = await server.ask("/api/v1/tokens", { json: { name: "hers", abilities: ["*"], user_id: user.id } })
    const secret = body.secret ?? body.token.secret ?? body.token.token
    const key = fresh()
    const mine = await post(key, { subject: "Rigging" })
    const hers = await post(key, { subject: "Rigging" }, { token: secret })
    expect([mine.status, hers.status, hers.headers["idempotent-replayed"]]).toEqual([201, 201, undefined])
    expect(hers.body.opportunity.id).not.toBe(mine.body.opportunity.id)
  })
  it("need a key of 1 to 255 printable ASCII characters, and a valid token even when repeated", async () => {
    for (const key of ["", "x".repeat(256), "naïve", "tab\tbed"])
      expect((await post(key, { subject: "Never" })).body.errors).toHaveProperty("idempotency_key")
    expect(await total("Never")).toBe(0)
    const key = fresh()
    expect((await post(key, { subject: "Once" })).status).toBe(201)
    expect((await post(key, { subject: "Once" }, { token: null })).status).toBe(401)
  })
  it("replay their response for 24 hours, then run again", async () => {
    const key = fresh()
    server.setClock(noon)
    await post(key, { subject: "Daily" })
    server.setClock(noon + 86_399_000)
    expect((await post(key, { subject: "Daily" })).headers["idempotent-replayed"]).toBe("true")
    server.setClock(noon + 86_400_000)
    expect((await post(key, { subject: "Daily" })).headers["idempotent-replayed"]).toBeUndefined()
    expect(await total("Daily")).toBe(2)
    server.setClock(noon)
  })
  it("keep neither changes nor a response when they fail before the commit, so that a retry runs", async () => {
    const key = fresh()
    const broken = await post(key, { subject: "Breaks" })
    expect(broken.status).toBe(500)
    expect(await total("Breaks")).toBe(0)
    const again = await post(key, { subject: "Breaks" })
    expect([again.status, again.headers["idempotent-replayed"]]).toEqual([500, undefined])
  })
  it("run again one minute after their server died, and answer 425 until then", async () => {
    const key = fresh()
    server.setClock(noon)
    // Puts the key into the state in which a server killed during the request leaves it.
    await post(key, { subject: "Orphan" })
    await server.run(
      Effect.flatMap(Store, (store) =>
        store.run(`update idempotency_keys set state = 'in_flight', status = null, body = null where id = '1 ${key}'`)
      )
    )
    server.setClock(noon + 59_000)
    const early = await post(key, { subject: "Orphan" })
    expect([early.status, early.headers["retry-after"]]).toEqual([425, "1"])
    server.setClock(noon + 60_000)
    expect((await post(key, { subject: "Orphan" })).status).toBe(201)
    expect((await post(key, { subject: "Orphan" })).headers["idempotent-replayed"]).toBe("true")
    server.setClock(noon)
  })
  it("run once when twelve arrive concurrently; the others replay or answer 425", async () => {
    const key = fresh()
    const all = await Promise.all(Array.from({ length: 12 }, () => post(key, { subject: "Crowd" })))
    expect(all.every(({ status }) => status === 201 || status === 425)).toBe(true)
    expect(
      all.filter(({ headers, status }) => status === 201 && headers["idempotent-replayed"] === undefined)
    ).toHaveLength(1)
    expect(await total("Crowd")).toBe(1)
  })
  it.runIf(engine === "pg")("answer 425 while the first runs, which commits nothing if it lost its key", async () => {
    const key = fresh()
    let release = (): void => {}
    held = new Promise((resolve) => {
      release = resolve
    })
    const begun = new Promise<void>((resolve) => {
      started = resolve
    })
    server.setClock(noon)
    const slow = post(key, { subject: "Slow" })
    await begun
    expect((await post(key, { subject: "Slow" })).status).toBe(425)
    // A minute later another server takes over the key; the slow one must not commit under it.
    await server.run(
      Effect.flatMap(Store, (store) => store.run(`update idempotency_keys set attempt = 2 where id = '1 ${key}'`))
    )
    release()
    expect((await slow).status).toBe(425)
    expect(await total("Slow")).toBe(0)
  })
  it("compare the body's numbers as written, and ignore the order of its keys", async () => {
    const key = fresh()
    const send = (bytes: string) => server.ask(deals, { method: "POST", bytes, headers: { "idempotency-key": key } })
    expect((await send('{"subject":"Counted","rating":1,"unknown":12345678901234567890}')).status).toBe(201)
    expect(
      (await send('{"unknown":12345678901234567890,"rating":1,"subject":"Counted"}')).headers["idempotent-replayed"]
    ).toBe("true")
    for (const other of [
      '"rating":1.0,"unknown":12345678901234567890',
      '"rating":"1","unknown":12345678901234567890',
      '"rating":1,"unknown":12345678901234567891'
    ]) {
      expect([other, (await send(`{"subject":"Counted",${other}}`)).status]).toEqual([other, 409])
    }
    expect(await total("Counted")).toBe(1)
  })
  it("replay created tokens, groups, members and webhooks, and store no plain secret; PUTs never replay", async () => {
    for (const [path, json] of [
      ["tokens", { name: "t", abilities: ["products:read"] }],
      ["product_groups", { name: "Twice" }],
      ["members", { name: "Twice", membership_type: "organisation" }],
      ["webhooks", { url: "https://8.8.8.8/", events: ["*"] }]
    ] as const) {
      const key = fresh()
      const [one, two] = [await post(key, json, {}, `/api/v1/${path}`), await post(key, json, {}, `/api/v1/${path}`)]
      expect([path, one.status, two.status, two.headers["idempotent-replayed"]]).toEqual([path, 201, 201, "true"])
      expect(two.text).toBe(one.text)
      const { secret } = (one.body.token ?? one.body.webhook ?? {}) as { readonly secret?: string }
      const kept = await server.run(Effect.flatMap(Store, (store) => store.run("select body from idempotency_keys")))
      if (secret !== undefined) expect(JSON.stringify(kept)).not.toContain(secret)
    }
    const key = fresh()
    const put = () =>
      server.ask("/api/v1/settings/company", {
        method: "PUT",
        json: { settings: { name: key } },
        headers: { "idempotency-key": key }
      })
    expect([(await put()).headers, (await put()).headers].map((one) => one["idempotent-replayed"])).toEqual([
      undefined,
      undefined
    ])
  })
  it("number an opportunity once when its creation or clone is repeated", async () => {
    const before = (await server.ask(deals)).body.meta.total as number
    const keys = [fresh(), fresh()] as const
    const create = () => post(keys[0], { subject: "A job", store_id: 1 })
    const [first, second] = [await create(), await create()]
    expect(second.body.opportunity.number).toBe(first.body.opportunity.number)
    const clone = () => post(keys[1], {}, {}, `${deals}/${first.body.opportunity.id}/clone`)
    expect((await clone()).body.opportunity.id).toBe((await clone()).body.opportunity.id)
    expect((await server.ask(deals)).body.meta.total).toBe(before + 2)
  })
  it("replay their response with the anonymised name after a person is erased", async () => {
    const key = fresh()
    const { member } = (
      await server.ask("/api/v1/members", { json: { name: "Ann Example", membership_type: "contact" } })
    ).body
    const deal = { subject: "Spring tour", venue_id: member.id }
    const made = await post(key, deal, {}, `${deals}?include=venue`)
    expect([made.status, made.text]).toEqual([201, expect.stringContaining("Ann Example")])
    expect((await server.ask(`/api/v1/members/${member.id}/anonymise`, { json: {} })).status).toBe(200)
    const again = await post(key, deal, {}, `${deals}?include=venue`)
    expect([again.status, again.headers["idempotent-replayed"]]).toEqual([201, "true"])
    expect(again.body.opportunity).toMatchObject({
      id: made.body.opportunity.id,
      venue: { id: member.id, name: "Anonymised Member" }
    })
    expect(again.text).not.toContain("Ann")
  })
  it("replay the creation of a deleted, then erased row in its resource's form with Idempotent-Erased", async () => {
    const key = fresh()
    const asked = { subject: "Call Dot Example", starts_at: "2026-07-01T09:00:00Z" }
    const make = () => post(key, asked, {}, "/api/v1/activities")
    const { activity } = (await make()).body
    await server.ask(`/api/v1/activities/${activity.id}`, { method: "DELETE" })
    const person = await server.ask("/api/v1/members", { json: { name: "Dot Example", membership_type: "contact" } })
    expect((await make()).headers["idempotent-erased"]).toBeUndefined()
    await server.ask(`/api/v1/members/${person.body.member.id}/anonymise`, { json: {} })
    const again = await make()
    expect([again.status, again.headers["idempotent-replayed"], again.headers["idempotent-erased"]]).toEqual([
      201,
      "true",
      "true"
    ])
    expect(Object.keys(again.body.activity)).toEqual(expect.arrayContaining(["id", "subject", "starts_at", "owned_by"]))
    expect(again.body.activity).toMatchObject({ id: activity.id, subject: "(erased)" })
  })
  it("replay current rows after an erasure, deleted ones included, and repeat refusals", async () => {
    const [kept, gone, refused] = [fresh(), fresh(), fresh()]
    const first = await post(kept, { subject: "Drapes" })
    const deleted = await post(gone, { subject: "Pipes" })
    const no = await post(refused, { subject: "", description: "Bee Example" })
    const person = await server.ask("/api/v1/members", { json: { name: "Cas Example", membership_type: "contact" } })
    await server.ask(`${deals}/${deleted.body.opportunity.id}`, { method: "DELETE" })
    expect((await server.ask(`/api/v1/members/${person.body.member.id}/anonymise`, { json: {} })).status).toBe(200)
    const again = await post(kept, { subject: "Drapes" })
    expect([again.status, again.body, again.headers["idempotent-replayed"]]).toEqual([201, first.body, "true"])
    await server.ask(`${deals}/${first.body.opportunity.id}`, { method: "PUT", json: { description: "Black" } })
    expect((await post(kept, { subject: "Drapes" })).body.opportunity).toMatchObject({
      id: first.body.opportunity.id,
      description: "Black"
    })
    expect(await post(gone, { subject: "Pipes" })).toMatchObject({
      status: 201,
      body: { opportunity: { id: deleted.body.opportunity.id } }
    })
    const refused_again = await post(refused, { subject: "", description: "Bee Example" })
    expect([
      refused_again.status,
      Object.keys(refused_again.body.errors),
      refused_again.headers["idempotent-replayed"]
    ]).toEqual([422, Object.keys(no.body.errors), "true"])
    expect(refused_again.body.message).toContain("refused")
    // Another request with the key is still refused.
    expect((await post(kept, { subject: "Curtains" })).status).toBe(409)
  })
})
