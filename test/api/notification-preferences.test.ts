/** Preferences and settings of notifications over HTTP (rules/conventions 15), on both engines. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Store } from "../../core/kernel/store/store.ts"
import {
  notification_preferences,
  notificationRules,
  notificationType,
  notificationTypes
} from "../../core/office/notifications/types.ts"
import { engines } from "../app.ts"
import { type Got, serve, type Serving } from "../server/serving.ts"

const own = "/notification_preferences"
const house = "/notification_settings"
const overdue = "invoice.overdue"

describe.each(engines)("notification preferences over HTTP on %s", (engine) => {
  let server: Serving
  const api = (method: string, path: string, json?: unknown, token?: string): Promise<Got> =>
    server.ask(`/api/v1${path}`, {
      method,
      ...(json === undefined ? {} : { json }),
      ...(token === undefined ? {} : { token })
    })
  const did = async (status: number, ...asked: Parameters<typeof api>) => {
    const got = await api(...asked)
    expect(got.status, got.text).toBe(status)
    return got.body
  }
  const list = async (path = own, token?: string) =>
    (await did(200, "GET", path, undefined, token)).notification_preferences
  const of = <A extends { readonly notification_type: string }>(rows: ReadonlyArray<A>, type = overdue): A =>
    rows.find((one) => one.notification_type === type)!
  const prefer = async (entry: object, path = own, token?: string) => {
    const sent = { preferences: [{ notification_type: overdue, ...entry }] }
    return of((await did(200, "PUT", path, sent, token)).notification_preferences)
  }
  const set = async (entry: object) =>
    of((await did(200, "PUT", house, { settings: [{ notification_type: overdue, ...entry }] })).notification_settings)
  const refused = async (path: string, body: unknown): Promise<object> => (await did(422, "PUT", path, body)).errors
  const events = async (): Promise<number> =>
    Number(
      (
        await server.run(
          Effect.flatMap(Store, (store) => store.run<{ n: unknown }>("select count(*) as n from journal"))
        )
      )[0]?.n
    )
  const member = async (name: string, membership_type = "contact"): Promise<number> =>
    (await did(201, "POST", "/members", { name, membership_type })).member.id
  const prefsOf = (id: number): string => `/members/${id}${own}`
  let named = 0
  /** A new user with these permissions and a token with these abilities. */
  const person = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string> = ["*"]) => {
    const name = `Person ${++named}`
    await did(201, "POST", "/roles", { name, permissions })
    const { user } = await did(201, "POST", "/users", {
      name,
      email: `person${named}@example.com`,
      roles: [name],
      active: true
    })
    const { token } = await did(201, "POST", "/tokens", { name, user_id: user.id, abilities })
    return { user, token: String(token.secret ?? token.plain_text ?? token.token) }
  }
  beforeAll(async () => {
    server = await serve(engine, { lenient: true })
  })
  afterAll(() => server.close())

  it("list every type for a user who has set none", async () => {
    const { meta, notification_preferences: rows } = await did(200, "GET", own)
    expect(meta).toEqual({ total: notificationTypes.length, per_page: notificationTypes.length, page: 1 })
    expect(rows.map((one) => one.notification_type)).toEqual(notificationTypes.map(({ key }) => key))
    expect(of(rows)).toEqual({
      notification_type: overdue,
      name: "Invoice overdue",
      category: "invoicing",
      description: "The day an invoice was due has ended.",
      channels: { database: true, email: true, broadcast: false },
      is_muted: false,
      is_system: false,
      source: "default"
    })
    expect(of(rows, "system.test_email")).toMatchObject({ channels: { email: true }, is_system: true })
  })
  it("let a user override the company's setting, which overrides the type's default", async () => {
    expect(await set({ channels: { email: false } })).toMatchObject({
      channels: { database: true, email: false, broadcast: false },
      default_channels: ["database", "email"],
      available_channels: ["database", "email", "broadcast"],
      is_enabled: true,
      is_system: false
    })
    expect(of(await list())).toMatchObject({ channels: { email: false }, source: "setting" })
    expect(await prefer({ channels: { email: true, broadcast: true } })).toMatchObject({
      channels: { database: true, email: true, broadcast: true },
      source: "preference"
    })
    await set({ channels: { database: false, email: false, broadcast: false } })
    expect(of(await list())).toMatchObject({ channels: { database: true, email: true, broadcast: true } })
    expect(await prefer({ channels: null })).toMatchObject({
      channels: { database: false, email: false, broadcast: false },
      source: "setting"
    })
    expect(await set({ channels: null })).toMatchObject({ channels: { database: true, email: true } })
    expect(of(await list())).toMatchObject({ source: "default" })
  })
  it("are not recorded without a change", async () => {
    await prefer({ channels: { email: false }, is_muted: true })
    await set({ channels: { broadcast: true } })
    const before = await events()
    await prefer({ channels: { email: false }, is_muted: true })
    await prefer({ channels: {} })
    await prefer({ is_muted: true })
    await set({ channels: { broadcast: true }, is_enabled: true })
    await set({})
    await did(200, "PUT", own, { preferences: [] })
    await did(200, "PUT", house, { settings: [] })
    expect(await events()).toBe(before)
    await prefer({ channels: null, is_muted: false })
    await set({ channels: null })
    expect(await events()).toBe(before + 2)
  })
  it.each([
    [own, "preferences"],
    [house, "settings"]
  ])("are refused by PUT %s with an error for each invalid entry", async (path, key) => {
    const before = await events()
    const body = (...entries: ReadonlyArray<unknown>) => ({ [key]: entries })
    const fine = { notification_type: overdue, channels: { email: true } }
    const keysOf = async (...entries: ReadonlyArray<unknown>) =>
      Object.keys(await refused(path, body(...entries))).toSorted()
    expect(await refused(path, {})).toHaveProperty(key)
    expect(await refused(path, { [key]: "x" })).toHaveProperty(key)
    expect(await refused(path, { [key]: null })).toHaveProperty(key)
    expect(await refused(path, body(...Array(101).fill(fine)))).toEqual({
      [key]: [expect.stringContaining("must not have more than 100 items")]
    })
    expect(await keysOf(null, "x", 3, [])).toEqual([`${key}.0`, `${key}.1`, `${key}.2`, `${key}.3`])
    expect(await keysOf(fine, { channels: { email: true } })).toEqual([`${key}.1.notification_type`])
    expect(await keysOf(fine, { notification_type: "invoice.lost", channels: {} })).toEqual([
      `${key}.1.notification_type`
    ])
    expect(await keysOf({ ...fine, notification_type: 7 })).toEqual([`${key}.0.notification_type`])
    expect(await keysOf({ ...fine, notification_type: "password.reset" })).toEqual([`${key}.0.notification_type`])
    expect(await keysOf({ ...fine, channels: { sms: true, mail: false, email: true } })).toEqual([
      `${key}.0.channels.mail`,
      `${key}.0.channels.sms`
    ])
    expect(await keysOf({ ...fine, channels: { email: "yes" } })).toEqual([`${key}.0.channels.email`])
    expect(await keysOf({ ...fine, channels: ["email"] })).toEqual([`${key}.0.channels`])
    expect(await keysOf(fine, fine)).toEqual([`${key}.1.notification_type`])
    expect(await keysOf({ notification_type: overdue, is_muted: "x", is_enabled: "x" })).toHaveLength(1)
    expect(await events()).toBe(before)
    expect(await refused(own, { preferences: [{ notification_type: overdue }] })).toEqual({
      "preferences.0.channels": ["The channels field is required where is_muted is left out."]
    })
  })
  it("are the same for a user and that user's member", async () => {
    const { token, user } = await person([])
    await prefer({ channels: { broadcast: true } }, prefsOf(user.member_id))
    expect(of(await list(own, token))).toMatchObject({ channels: { broadcast: true }, source: "preference" })
    await prefer({ is_muted: true }, own, token)
    expect(of(await list(prefsOf(user.member_id)))).toMatchObject({ channels: { broadcast: true }, is_muted: true })
    expect(of(await list())).toMatchObject({ source: "default" })
    const hall = await member("Hall", "venue")
    expect(await prefer({ channels: { email: false } }, prefsOf(hall))).toMatchObject({ source: "preference" })
    await did(404, "GET", prefsOf(999_999))
    await did(404, "PUT", prefsOf(999_999), {})
  })
  it("need the abilities of notifications, and members.edit for a member's or notifications.manage for the company's", async () => {
    const someone = await member("Someone")
    const entry = { notification_type: overdue, channels: { email: true } }
    const statuses = async (token: string) => {
      const all: Array<number> = []
      for (const [path, key] of [
        [own, "preferences"],
        [prefsOf(someone), "preferences"],
        [house, "settings"]
      ] as const) {
        all.push((await api("GET", path, undefined, token)).status)
        all.push((await api("PUT", path, { [key]: [entry] }, token)).status)
      }
      return all
    }
    const may = async (permissions: ReadonlyArray<string>, abilities?: ReadonlyArray<string>) =>
      statuses((await person(permissions, abilities)).token)
    expect(await may([])).toEqual([200, 200, 403, 403, 403, 403])
    expect(await may(["members.view", "members.delete", "settings.manage"])).toEqual([200, 200, 403, 403, 403, 403])
    expect(await may(["members.edit"])).toEqual([200, 200, 200, 200, 403, 403])
    expect(await may(["notifications.manage"])).toEqual([200, 200, 403, 403, 200, 200])
    const both = ["members.edit", "notifications.manage"]
    expect(await may(both, ["members:write"])).toEqual([403, 403, 403, 403, 403, 403])
    expect(await may(both, ["notification-preferences:read"])).toEqual([200, 403, 200, 403, 403, 403])
    expect(await may(both, ["notification-preferences:write"])).toEqual([403, 200, 403, 200, 403, 403])
    expect(await may(both, ["notification-settings:read", "notification-settings:write"])).toEqual([
      403, 403, 403, 403, 200, 200
    ])
    const { message } = await did(403, "GET", prefsOf(someone), undefined, (await person([])).token)
    expect(message).toBe("This needs the permission members.edit.")
    await set({ channels: null })
  })
  it("can be set for all types in one request, and a repeated request returns the same", async () => {
    const { token } = await person([])
    const channels = { database: false, email: false, broadcast: false }
    const preferences = notificationTypes
      .filter((one) => !one.is_system)
      .map(({ key }) => ({ notification_type: key, channels }))
    const first = await did(200, "PUT", own, { preferences }, token)
    for (const { notification_type } of preferences)
      expect(of(first.notification_preferences, notification_type)).toMatchObject({ channels, source: "preference" })
    expect(await did(200, "PUT", own, { preferences }, token)).toEqual(first)
  })
  it("refuse unknown and system types for a member, and answer 404 once the member is archived", async () => {
    const gone = await member("Gone")
    for (const entry of [
      { notification_type: "password.reset", channels: { email: false } },
      { notification_type: "moon.full", channels: {} }
    ])
      expect(Object.keys(await refused(prefsOf(gone), { preferences: [entry] }))).toEqual([
        "preferences.0.notification_type"
      ])
    await did(204, "DELETE", `/members/${gone}`)
    for (const id of [gone, "ann"]) await did(404, "GET", `/members/${id}${own}`)
  })
  it("list every type for the company, where a request changes only the types it names", async () => {
    const before = await did(200, "GET", house)
    const { notification_settings: rows } = before
    expect(before.meta).toEqual({ total: rows.length, per_page: rows.length, page: 1 })
    expect(rows.map((one) => [one.notification_type, one.is_system])).toEqual(
      notificationTypes.map(({ key, is_system }) => [key, is_system])
    )
    for (const one of rows) {
      expect(Object.keys(one).sort()).toEqual([
        ...["available_channels", "category", "channels", "default_channels", "description"],
        ...["is_enabled", "is_system", "name", "notification_type"]
      ])
      expect(Object.keys(one.channels).sort()).toEqual(one.available_channels.toSorted())
      for (const channel of one.default_channels) expect(one.available_channels).toContain(channel)
    }
    const { channels } = of(rows)
    const sent = { settings: [{ notification_type: overdue, channels: { email: !channels.email } }] }
    const after = (await did(200, "PUT", house, sent)).notification_settings
    expect(of(after).channels).toEqual({ ...channels, email: !channels.email })
    expect(after.map((one) => (one.notification_type === overdue ? of(rows) : one))).toEqual(rows)
    await set({ channels: null })
  })
  it("keep the primary member's values after a merge, and add the other member's where it has none", async () => {
    const [stays, goes] = [await member("Ann"), await member("Ann again")]
    await prefer({ channels: { email: false } }, prefsOf(stays))
    await did(200, "PUT", prefsOf(goes), {
      preferences: [
        { notification_type: overdue, channels: { broadcast: true } },
        { notification_type: "payment.recorded", is_muted: true }
      ]
    })
    await did(200, "POST", `/members/${stays}/merge`, { secondary_id: goes })
    const merged = await list(prefsOf(stays))
    expect(of(merged)).toMatchObject({ channels: { database: true, email: false, broadcast: false } })
    expect(of(merged, "payment.recorded")).toMatchObject({ is_muted: true, source: "preference" })
    await did(404, "GET", prefsOf(goes))
  })
  it("are erased with their person, unlike those of a member restored from a merge", async () => {
    const [gone, restored] = [await member("Bo"), await member("Bo again")]
    const holders = async () => {
      const members = { member_id: [gone, restored] }
      const rows = await server.run(Effect.flatMap(Store, (store) => store.find(notification_preferences, members)))
      return rows.map(({ member_id }) => member_id)
    }
    await prefer({ channels: { email: false } }, prefsOf(gone))
    await did(200, "POST", `/members/${gone}/merge`, { secondary_id: restored })
    await did(200, "POST", `/members/${restored}/restore`)
    await prefer({ is_muted: true }, prefsOf(restored))
    expect((await holders()).sort()).toEqual([gone, restored].sort())
    await did(200, "POST", `/members/${gone}/anonymise`)
    expect(await holders()).toEqual([restored])
    expect((await list(prefsOf(gone))).every((one) => one.source === "default")).toBe(true)
  })
  it("are loaded together for two recipients, each with their own channels", async () => {
    const [first, second] = [await member("Cy"), await member("Di")]
    await prefer({ channels: { email: false, broadcast: true } }, prefsOf(first))
    await set({ channels: { database: false } })
    const rules = await server.run(notificationRules([first, second, first], [overdue]))
    const type = notificationType(overdue)!
    expect([...rules.channels(first, type)]).toEqual(["database", "broadcast"])
    expect([...rules.channels(second, type)]).toEqual(["email"])
    expect(rules.preference(second, overdue)).toBeUndefined()
    expect((await server.run(notificationRules([first], ["payment.recorded"]))).setting(overdue)).toBeUndefined()
    await set({ channels: null })
  })
  it("keep all changes of sixteen concurrent requests", async () => {
    const { user } = await person([])
    const types = notificationTypes.filter((one) => !one.is_system).slice(0, 4)
    const sent = types.flatMap(({ key }) =>
      ["database", "email", "broadcast", "is_muted"].map((what) =>
        api("PUT", prefsOf(user.member_id), {
          preferences: [
            { notification_type: key, ...(what === "is_muted" ? { is_muted: true } : { channels: { [what]: true } }) }
          ]
        })
      )
    )
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(Array(16).fill(200))
    const after = await list(prefsOf(user.member_id))
    for (const { key } of types)
      expect(of(after, key)).toMatchObject({
        channels: { database: true, email: true, broadcast: true },
        is_muted: true
      })
    const { token } = await person([])
    const mine = await Promise.all(
      ["database", "email", "broadcast"].map((what) =>
        api(
          "PUT",
          own,
          { preferences: [{ notification_type: "opportunity.created", channels: { [what]: true } }] },
          token
        )
      )
    )
    expect(mine.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(of(await list(own, token), "opportunity.created").channels).toEqual({
      database: true,
      email: true,
      broadcast: true
    })
  })
  it("keep each channel's change when eight requests change the company's settings at once", async () => {
    const sent = await Promise.all(
      ["database", "email", "broadcast", "database", "email", "broadcast", "email", "database"].map((channel) =>
        api("PUT", house, { settings: [{ notification_type: "user.invited", channels: { [channel]: true } }] })
      )
    )
    expect(sent.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const { notification_settings: rows } = await did(200, "GET", house)
    expect(of(rows, "user.invited").channels).toEqual({ database: true, email: true, broadcast: true })
  })
})
