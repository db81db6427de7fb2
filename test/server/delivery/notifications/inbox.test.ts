/** The inbox: own notifications only, read marks, lost permissions, preferences, one row per event, retention. */
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { lastPosition } from "../../../../core/kernel/events/journal.ts"
import { make, Store } from "../../../../core/kernel/store/store.ts"
import { shownRows } from "../../../../server/delivery/notifications/api.ts"
import { dropOld, tellingJob } from "../../../../server/delivery/notifications/slice.ts"
import { notifications } from "../../../../server/delivery/notifications/schema.ts"
import { userById } from "../../../../server/ports/server-context.ts"
import { engines } from "../../../app.ts"
import { house, type House, type Person } from "./house.ts"
import { ranOnce } from "../jobs/words.ts"

describe.each(engines)("the inbox on %s", (engine) => {
  let server: House
  let seller: Person
  let role_id: number
  const ask = (person: Person, method: string, path: string, json?: object) =>
    server.asks(method, path, json, person.token)
  const made = async (subject: string) =>
    (await server.did(201, "POST", "/opportunities", { subject })).opportunity as { readonly id: number }
  const meta = async (person: Person, query = "") =>
    (await server.did(200, "GET", `/notifications?per_page=1${query}`, undefined, person.token)).meta
  beforeEach(async () => {
    server = await house(engine)
    seller = await server.person("Sam Seller", ["opportunities.view"])
    role_id = await server.named("roles", "Role of Sam Seller")
  })
  afterEach(() => server.close())

  it("marks notifications as read and unread, one by one and all at once", async () => {
    for (const subject of ["A", "B", "C"]) await made(subject)
    await server.told()
    const [third, second, first] = await server.inbox(seller)
    expect([first.body, second.body, third.body]).toEqual(["A", "B", "C"])
    expect(await meta(seller)).toEqual({ total: 3, per_page: 1, page: 1, unread_count: 3 })
    const read = await ask(seller, "POST", `/notifications/${first.id}/read`)
    expect([read.status, read.body.notification.read_at === null]).toEqual([200, false])
    const again = await ask(seller, "POST", `/notifications/${first.id}/read`)
    expect([again.status, again.body.notification]).toEqual([200, read.body.notification])
    expect((await server.inbox(seller, "&q[read_at_null]=1")).map(({ id }) => id)).toEqual([third.id, second.id])
    expect((await server.inbox(seller, "&q[read_at_not_null]=1")).map(({ id }) => id)).toEqual([first.id])
    expect((await ask(seller, "POST", `/notifications/${first.id}/unread`)).body.notification.read_at).toBe(null)
    const some = await ask(seller, "POST", "/notifications/read_all", { up_to_id: second.id })
    expect(some.body).toEqual({ count: 2, unread_count: 1 })
    const none = await ask(seller, "POST", "/notifications/read_all", { notification_type: "invoice.issued" })
    expect(none.body).toEqual({ count: 0, unread_count: 1 })
    expect((await ask(seller, "POST", "/notifications/read_all")).body).toEqual({ count: 1, unread_count: 0 })
    expect((await ask(seller, "GET", `/notifications/${third.id}`)).body.notification).toMatchObject({ body: "C" })
    expect((await server.inbox(seller, "&sort=created_at")).length).toBe(3)
    const in_vain = "&q[notification_type_in][]=invoice.issued&q[notification_type_in][]=payment.recorded"
    expect(await server.inbox(seller, in_vain)).toEqual([])
  })

  it("is private to its user, and read-only for a token with notifications:read", async () => {
    await made("A")
    await server.told()
    const [told] = await server.inbox(seller)
    for (const path of [`/${told.id}`, `/${told.id}/read`, `/${told.id}/unread`]) {
      const method = path.endsWith("read") ? "POST" : "GET"
      expect((await server.ask(`/api/v1/notifications${path}`, { method })).status).toBe(404)
    }
    expect((await ask(seller, "GET", "/notifications/999999")).status).toBe(404)
    const { token } = await server.did(201, "POST", "/tokens", { name: "t", abilities: ["notifications:read"] })
    const with_it = { token: token.secret }
    expect((await server.ask("/api/v1/notifications", with_it)).status).toBe(200)
    expect((await server.ask("/api/v1/notifications/read_all", { ...with_it, method: "POST" })).status).toBe(403)
  })

  it("hides notifications its reader may no longer see, and shows them again with the permission", async () => {
    const { id } = await made("A")
    await server.told()
    const [told] = await server.inbox(seller)
    const permit = (permissions: ReadonlyArray<string>) => server.did(200, "PUT", `/roles/${role_id}`, { permissions })
    await permit(["stock.view"])
    expect([await server.inbox(seller), (await meta(seller)).unread_count]).toEqual([[], 0])
    expect((await ask(seller, "GET", `/notifications/${told.id}`)).status).toBe(404)
    expect((await ask(seller, "POST", "/notifications/read_all")).body.count).toBe(0)
    await permit(["opportunities.view"])
    expect((await meta(seller)).unread_count).toBe(1)
    await server.did(204, "DELETE", `/opportunities/${id}`)
    const [deleted] = await server.inbox(seller)
    expect([deleted.title, deleted.url]).toEqual([told.title, null])
  })

  it("follows the user's preferences, else the company's settings, and has no muted or disabled type", async () => {
    const setting = (json: object) =>
      server.did(200, "PUT", "/notification_settings", {
        settings: [{ notification_type: "opportunity.created", ...json }]
      })
    const preference = async (json: object) => {
      const preferences = [{ notification_type: "opportunity.created", ...json }]
      expect((await ask(seller, "PUT", "/notification_preferences", { preferences })).status).toBe(200)
    }
    const row = async (subject: string) => {
      const { id } = await made(subject)
      await server.told()
      const [found] = await server.sql(
        `select in_inbox, is_broadcast, mail_state from notifications where user_id = ${seller.user_id} and subject_id = ${id}`
      )
      return found === undefined
        ? undefined
        : [Boolean(found.in_inbox), Boolean(found.is_broadcast), found.mail_state !== "none"]
    }
    expect(await row("default")).toEqual([true, false, false])
    await setting({ channels: { database: true, email: true, broadcast: false } })
    expect(await row("the house's")).toEqual([true, false, true])
    await preference({ channels: { database: false, email: false, broadcast: true } })
    expect(await row("their own")).toEqual([false, true, false])
    await preference({ is_muted: true })
    expect(await row("muted")).toBe(undefined)
    await preference({ is_muted: false })
    await setting({ is_enabled: false })
    expect(await row("disabled")).toBe(undefined)
    const own = await server.sql("select mail_state from notifications where user_id = 1 and mail_state <> 'none'")
    expect(own).toEqual([])
  })

  it("contains each notification once when the job runs twice more at once", async () => {
    await made("A")
    await made("B")
    await server.told()
    const before = await server.sql("select dedupe_key from notifications order by id")
    const to = await server.run(Effect.flatMap(Store, lastPosition))
    const run = () =>
      server.run(
        ranOnce(
          tellingJob(() => undefined),
          { from: 1, to }
        )
      )
    await Promise.all([run(), run()])
    expect(await server.sql("select dedupe_key from notifications order by id")).toEqual(before)
  })

  it("reads four rows in as many statements as one, and writes those of five more users in at most three more", async () => {
    const counted = async <A, E, R>(effect: Effect.Effect<A, E, R>) => {
      let statements = 0
      const run = Effect.gen(function* () {
        const { sql } = yield* Store
        const counting = new Proxy(sql, {
          get: (target, name, self) => {
            if (name === "unsafe") statements++
            return Reflect.get(target, name, self)
          }
        })
        return yield* Effect.provideService(effect, Store, make(counting))
      })
      await server.run(run as Effect.Effect<A, E, never>)
      return statements
    }
    const telling = async () => {
      await server.run(Effect.flatMap(Store, (store) => store.run("delete from notifications")))
      const to = await server.run(Effect.flatMap(Store, lastPosition))
      return counted(
        ranOnce(
          tellingJob(() => undefined),
          { from: to - 1, to }
        )
      )
    }
    const reading = (rows: number) =>
      counted(
        Effect.gen(function* () {
          const user = yield* userById(seller.user_id)
          const store = yield* Store
          const found = yield* store.find(notifications, { user_id: seller.user_id }, { limit: rows })
          expect(found.length).toBe(rows)
          if (user !== undefined) yield* shownRows(found, { ...user, abilities: new Set(["*"]), token_id: null })
        })
      )
    for (const subject of ["A", "B", "C", "D"]) await made(subject)
    await server.told()
    expect(await reading(4)).toBe(await reading(1))
    const few = await telling()
    for (const name of ["Ann", "Bob", "Cat", "Dan", "Eve"]) await server.person(name, "Sales")
    await made("E")
    await server.told()
    // SQLite inserts rows in powers of two.
    expect(await telling()).toBeLessThanOrEqual(few + (engine === "pg" ? 0 : 3))
  })

  it("groups seven events of one command into one row", async () => {
    for (let at = 0; at < 7; at++) await made(`A${at}`)
    await server.told()
    // As if one command had recorded them.
    const [{ command_id }] = (await server.sql(
      "select command_id from journal where type = 'opportunity.created' limit 1"
    )) as [any]
    await server.sql(`update journal set command_id = '${command_id}' where type = 'opportunity.created'`)
    await server.sql("delete from notifications")
    const to = await server.run(Effect.flatMap(Store, lastPosition))
    await server.run(
      ranOnce(
        tellingJob(() => undefined),
        { from: 1, to }
      )
    )
    const [told, ...more] = await server.inbox(seller)
    expect([told.title, told.body, told.subject_id, told.url, more]).toEqual([
      "7 opportunities were made",
      null,
      null,
      null,
      []
    ])
  })

  it("loses all notifications when its user is erased, and each after 90 days", async () => {
    await made("A")
    await server.told()
    await server.did(204, "DELETE", `/users/${seller.user_id}`)
    await server.did(200, "POST", `/members/${seller.member_id}/anonymise`, {})
    expect(await server.sql(`select id from notifications where user_id = ${seller.user_id}`)).toEqual([])
    const rows = async () => (await server.sql("select id from notifications")).length
    await server.told()
    expect(await rows()).toBeGreaterThan(0)
    server.setClock(Date.now() + 89 * 86_400_000)
    await server.run(dropOld)
    expect(await rows()).toBeGreaterThan(0)
    server.setClock(Date.now() + 91 * 86_400_000)
    await server.run(dropOld)
    expect(await rows()).toBe(0)
    expect((await server.ask("/api/v1/settings/notifications")).body.settings).toMatchObject({ retention_days: 90 })
  })
})
