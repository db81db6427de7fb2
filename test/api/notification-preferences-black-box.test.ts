/** Preferences and settings of notifications from outside: rules/conventions 15, rulings 27, the interface 2.17, 4.19 and 5. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import type { Got } from "../server/serving.ts"
import { refusal } from "./billing-black-box.ts"
import { type House, openHouse, type Person } from "./metering-black-box.ts"

const system_types = ["password.reset", "system.test_email"]
const types = [
  ...["user.invited", "user.deactivated", "user.reactivated", "shortage.waitlist.matched"],
  ...["opportunity.created", "opportunity.cancelled", "invoice.issued", "invoice.overdue", "payment.recorded"],
  ...["purchase_order.received", "document.generated", "activity.assigned"]
]
const channel_names = ["database", "email", "broadcast"]
const none = { database: false, email: false, broadcast: false }
const own = "/notification_preferences"
const house_wide = "/notification_settings"

describe.each(engines)("Preferences of notifications, on %s (rules/conventions 15)", (engine) => {
  let house: House
  beforeAll(async () => {
    house = await openHouse(engine)
  })
  afterAll(() => house.close())
  const good = (got: Got): any => {
    expect(got.status, got.text).toBe(200)
    return Object.values(got.body)[0]
  }
  const of = (list: ReadonlyArray<any>, type: string) => list.find((one) => one.notification_type === type)
  const prefs = async (who: Person) => good(await house.by(who.token, "GET", own))
  const pref = async (who: Person, type: string) => of(await prefs(who), type)
  const prefer = (who: Person, preferences: unknown, path = own) => house.by(who.token, "PUT", path, { preferences })
  const preferred = async (who: Person, notification_type: string, more: object) =>
    of(good(await prefer(who, [{ notification_type, ...more }])), notification_type)
  const settings = async () => good(await house.ask("GET", house_wide))
  const set = (settings_: unknown) => house.put(house_wide, { settings: settings_ })
  const setting = async (notification_type: string, more: object) =>
    of(good(await set([{ notification_type, ...more }])), notification_type)
  const defaults = async (type: string): Promise<Record<string, boolean>> => {
    const { available_channels, default_channels } = of(await settings(), type)
    return Object.fromEntries(available_channels.map((one: string) => [one, default_channels.includes(one)]))
  }

  describe("one's own", () => {
    it("are of every type, in one page that says how many", async () => {
      const ann = await house.person()
      const got = await house.by(ann.token, "GET", own)
      const list = good(got)
      expect(Object.keys(got.body).sort()).toEqual(["meta", "notification_preferences"])
      expect(got.body.meta).toEqual({ total: list.length, per_page: list.length, page: 1 })
      const known = list.map((one: any) => one.notification_type)
      for (const type of [...types, ...system_types]) expect(known).toContain(type)
      expect(new Set(known).size).toBe(known.length)
    })
    it("have these fields and no others", async () => {
      for (const one of await prefs(await house.person())) {
        expect(Object.keys(one).sort()).toEqual([
          ...["category", "channels", "description", "is_muted", "is_system", "name", "notification_type", "source"]
        ])
        expect(["opportunity", "invoicing", "stock", "compliance", "crm", "system"]).toContain(one.category)
        expect(Object.values(one.channels).every((on) => typeof on === "boolean")).toBe(true)
        expect(Object.keys(one.channels).every((channel) => channel_names.includes(channel))).toBe(true)
        expect([one.name.length > 0, one.description.length > 0]).toEqual([true, true])
      }
    })
    it("are the types' defaults to begin with", async () => {
      const ann = await house.person()
      for (const type of types)
        expect(await pref(ann, type)).toMatchObject({
          ...{ channels: await defaults(type), is_muted: false, is_system: false, source: "default" }
        })
    })
    it.each(system_types)("have %s as the system's", async (type) => {
      expect(await pref(await house.person(), type)).toMatchObject({
        is_system: true,
        is_muted: false,
        source: "default"
      })
    })
    it("need neither permission nor role", async () => {
      const ann = await house.person([], ["notification-preferences:read", "notification-preferences:write"])
      expect(await preferred(ann, "invoice.issued", { channels: none })).toMatchObject({ channels: none })
    })
    it.each([
      ["GET", "notification-preferences:read", "notification-preferences:write"],
      ["PUT", "notification-preferences:write", "notification-preferences:read"]
    ])("%s needs the ability %s, and %s is not enough", async (method, ability, other) => {
      const ann = await house.person([], [other])
      const got = await house.by(ann.token, method, own, method === "PUT" ? { preferences: [] } : undefined)
      expect([got.status, got.body.message]).toEqual([403, expect.stringContaining(ability)])
      expect((await house.by(null, method, own)).status).toBe(401)
    })
    it("are set for the types that are named alone, and answered whole", async () => {
      const ann = await house.person()
      const before = await prefs(ann)
      const after = good(await prefer(ann, [{ notification_type: "invoice.issued", channels: { email: true } }]))
      expect(after.length).toBe(before.length)
      for (const one of after)
        if (one.notification_type !== "invoice.issued") expect(one).toEqual(of(before, one.notification_type))
      expect(of(after, "invoice.issued")).toMatchObject({ source: "preference", channels: { email: true } })
      expect(await prefs(ann)).toEqual(after)
    })
    it("leave channels that are not named as they were", async () => {
      const ann = await house.person()
      await preferred(ann, "invoice.issued", { channels: { database: true, email: false, broadcast: true } })
      expect((await preferred(ann, "invoice.issued", { channels: { email: true } })).channels).toEqual({
        ...{ database: true, email: true, broadcast: true }
      })
      expect((await preferred(ann, "invoice.issued", { channels: { database: false } })).channels).toEqual({
        ...{ database: false, email: true, broadcast: true }
      })
      expect((await preferred(ann, "invoice.issued", { channels: {} })).channels).toEqual({
        ...{ database: false, email: true, broadcast: true }
      })
    })
    it("leave channels that are not named at the default the first time", async () => {
      const ann = await house.person()
      const given = await defaults("activity.assigned")
      const flipped = !given["email"]
      expect((await preferred(ann, "activity.assigned", { channels: { email: flipped } })).channels).toEqual({
        ...given,
        email: flipped
      })
    })
    it("show what is stored when muted, and it is there again afterwards", async () => {
      const ann = await house.person()
      const channels = { database: false, email: true, broadcast: false }
      const muted = await preferred(ann, "invoice.issued", { channels, is_muted: true })
      expect(muted).toMatchObject({ channels, is_muted: true, source: "preference" })
      expect(await preferred(ann, "invoice.issued", { channels: { database: true } })).toMatchObject({
        ...{ channels: { ...channels, database: true }, is_muted: true }
      })
      expect(await preferred(ann, "invoice.issued", { channels: {}, is_muted: false })).toMatchObject({
        ...{ channels: { ...channels, database: true }, is_muted: false }
      })
    })
    it("may be set for several types at once, and again to the same", async () => {
      const ann = await house.person()
      const wanted = types.map((notification_type) => ({ notification_type, channels: none }))
      const first = good(await prefer(ann, wanted))
      for (const type of types) expect(of(first, type)).toMatchObject({ channels: none, source: "preference" })
      expect(good(await prefer(ann, wanted))).toEqual(first)
    })
    it("are left alone by a list of nothing", async () => {
      const ann = await house.person()
      const before = await prefs(ann)
      expect(good(await prefer(ann, []))).toEqual(before)
    })
    it("are nobody else's", async () => {
      const [ann, bob] = [await house.person(), await house.person()]
      const before = await prefs(bob)
      await preferred(ann, "invoice.issued", { channels: none })
      expect(await prefs(bob)).toEqual(before)
    })
    it("are the same by each of one's tokens", async () => {
      const ann = await house.person()
      const other = await house.token({ user_id: ann.user_id })
      await preferred(ann, "invoice.issued", { channels: none })
      expect(of(good(await house.by(other, "GET", own)), "invoice.issued").channels).toEqual(none)
    })
  })

  describe("are refused", () => {
    const entry = (more: object) => [{ notification_type: "invoice.issued", channels: { email: true }, ...more }]
    it.each<[string, unknown, RegExp]>([
      ["of an unknown type", entry({ notification_type: "moon.full" }), /^preferences\.0\.notification_type$/],
      ["of no type", [{ channels: {} }], /^preferences\.0\.notification_type$/],
      ["by an unknown channel", entry({ channels: { pigeon: true } }), /^preferences\.0\.channels/],
      ["by the old name of a channel", entry({ channels: { mail: true } }), /^preferences\.0\.channels/],
      ["by channels that are neither on nor off", entry({ channels: { email: "often" } }), /^preferences\.0\.channels/],
      ["by channels that are no object", entry({ channels: "email" }), /^preferences\.0\.channels/],
      ["with muted neither on nor off", entry({ is_muted: "a bit" }), /^preferences\.0\.is_muted$/],
      [
        "of a system type",
        entry({ notification_type: "password.reset", channels: { email: false } }),
        /^preferences\.0\./
      ],
      [
        "of a system type as it is",
        entry({ notification_type: "system.test_email", channels: { email: true } }),
        /^preferences\.0\./
      ],
      [
        "muting a system type",
        entry({ notification_type: "password.reset", channels: {}, is_muted: true }),
        /^preferences\.0\./
      ],
      ["as no list", { invoice: true }, /^preferences$/],
      ["as a list of no objects", ["invoice.issued"], /^preferences\.0/]
    ])("%s", async (_what, preferences, key) => {
      const ann = await house.person()
      const before = await prefs(ann)
      const got = await prefer(ann, preferences)
      expect(got.status, got.text).toBe(422)
      for (const field of Object.keys(got.body.errors)) expect(field).toMatch(key)
      expect(await prefs(ann)).toEqual(before)
    })
    it("without a list", async () => {
      expect(refusal(await house.by((await house.person()).token, "PUT", own, {}))).toEqual([422, "preferences"])
    })
    it("by a body that is no JSON", async () => {
      const ann = await house.person()
      const got = await house.by(ann.token, "PUT", own, undefined, { bytes: "{" })
      expect(refusal(got)).toEqual([422, "body"])
    })
    it("whole for one entry, which is named by its place", async () => {
      const ann = await house.person()
      const before = await prefs(ann)
      const got = await prefer(ann, [
        { notification_type: "invoice.issued", channels: none },
        { notification_type: "moon.full", channels: none }
      ])
      expect(refusal(got)).toEqual([422, "preferences.1.notification_type"])
      expect(await prefs(ann)).toEqual(before)
    })
  })

  describe("of a member", () => {
    const path = (member_id: number) => `/members/${member_id}/notification_preferences`
    it("are the ones the person has by their own address, both ways", async () => {
      const ann = await house.person()
      expect(good(await house.ask("GET", path(ann.member_id)))).toEqual(await prefs(ann))
      await preferred(ann, "invoice.issued", { channels: none })
      expect(good(await house.ask("GET", path(ann.member_id)))).toEqual(await prefs(ann))
      const changed = good(
        await house.put(path(ann.member_id), {
          preferences: [{ notification_type: "payment.recorded", channels: none, is_muted: true }]
        })
      )
      expect(changed).toEqual(await prefs(ann))
      expect(await pref(ann, "payment.recorded")).toMatchObject({ is_muted: true, source: "preference" })
    })
    it("have the same form, with how many there are", async () => {
      const ann = await house.person()
      const [mine, theirs] = [
        (await house.by(ann.token, "GET", own)).body,
        (await house.ask("GET", path(ann.member_id))).body
      ]
      expect(theirs).toEqual(mine)
    })
    it("are refused as one's own are", async () => {
      const ann = await house.person()
      const put = (entry: object) => house.put(path(ann.member_id), { preferences: [entry] })
      expect((await put({ notification_type: "password.reset", channels: { email: false } })).status).toBe(422)
      expect(refusal(await put({ notification_type: "moon.full", channels: {} }))).toEqual([
        ...[422, "preferences.0.notification_type"]
      ])
    })
    it.each(["GET", "PUT"])("%s needs members.edit and the ability, after the row is found", async (method) => {
      const { member_id } = await house.person()
      const verb = method === "GET" ? "read" : "write"
      const status = async (permissions: ReadonlyArray<string>, ability: string, id: number) => {
        const { token } = await house.person(permissions, [ability])
        const json = method === "PUT" ? { preferences: [] } : undefined
        return (await house.by(token, method, path(id), json)).status
      }
      const ability = `notification-preferences:${verb}`
      expect(await status(["members.edit"], ability, member_id)).toBe(200)
      expect(await status(["members.view"], ability, member_id)).toBe(403)
      expect(await status(["members.edit"], "members:write", member_id)).toBe(403)
      expect(await status([], "products:read", 999_999)).toBe(404)
      expect(await status(["members.edit"], ability, 999_999)).toBe(404)
    })
    it("are not to be had by a path that is no number, or of a member put away", async () => {
      expect((await house.ask("GET", "/members/ann/notification_preferences")).status).toBe(404)
      const { id } = await house.made("/members", { name: "Gone", membership_type: "contact" })
      expect((await house.remove(`/members/${id}`)).status).toBe(204)
      expect((await house.ask("GET", path(id))).status).toBe(404)
    })
    it("may be set for one who has no account", async () => {
      const { id } = await house.made("/members", { name: "A contact", membership_type: "contact" })
      const list = good(
        await house.put(path(id), { preferences: [{ notification_type: "invoice.issued", channels: { email: true } }] })
      )
      expect(of(list, "invoice.issued")).toMatchObject({ source: "preference", channels: { email: true } })
    })
  })

  describe("come before the house's settings, and those before the defaults:", () => {
    /** Types that hold these settings through this part; each person here is new. */
    const by_setting = {
      plain: "invoice.issued",
      set: "payment.recorded",
      off: "invoice.overdue",
      set_off: "document.generated"
    }
    const of_setting = { database: false, email: true, broadcast: false }
    const of_preference = { database: true, email: false, broadcast: true }
    beforeAll(async () => {
      const [set_, off, set_off] = [by_setting.set, by_setting.off, by_setting.set_off]
      good(
        await set([
          { notification_type: set_, channels: of_setting },
          { notification_type: off, is_enabled: false },
          { notification_type: set_off, channels: of_setting, is_enabled: false }
        ])
      )
    })
    afterAll(async () => {
      good(
        await set([
          { notification_type: by_setting.off, is_enabled: true },
          { notification_type: by_setting.set_off, is_enabled: true }
        ])
      )
    })
    const cases = (["plain", "set", "off", "set_off"] as const).flatMap((setting_) =>
      [false, true].flatMap((prefers) => [false, true].map((muted) => [setting_, prefers, muted] as const))
    )
    it.each(cases)("with settings %s, a preference: %s, muted: %s", async (setting_, prefers, muted) => {
      const type = by_setting[setting_]
      const ann = await house.person()
      if (prefers || muted)
        await preferred(ann, type, { channels: prefers ? of_preference : {}, ...(muted ? { is_muted: true } : {}) })
      const shown = await pref(ann, type)
      const enabled = setting_ === "plain" || setting_ === "set"
      const stored = prefers ? of_preference : setting_ === "set" ? of_setting : await defaults(type)
      expect(shown.channels).toEqual(enabled ? stored : none)
      expect(shown.is_muted).toBe(muted)
      if (enabled && (prefers || !muted))
        expect(shown.source).toBe(prefers ? "preference" : setting_ === "set" ? "setting" : "default")
    })
    it("a type that was off shows what was preferred once it is on again", async () => {
      const ann = await house.person()
      const type = "purchase_order.received"
      await preferred(ann, type, { channels: of_preference })
      await setting(type, { is_enabled: false })
      expect((await pref(ann, type)).channels).toEqual(none)
      await setting(type, { is_enabled: true })
      expect((await pref(ann, type)).channels).toEqual(of_preference)
    })
    it("a setting that changes leaves what somebody preferred", async () => {
      const [ann, bob] = [await house.person(), await house.person()]
      const type = "opportunity.created"
      await preferred(ann, type, { channels: of_preference })
      await setting(type, { channels: of_setting })
      expect([(await pref(ann, type)).channels, (await pref(bob, type)).channels]).toEqual([of_preference, of_setting])
    })
  })

  describe("by settings of the house", () => {
    it("are of every type, in one page, with these fields and no others", async () => {
      const { body } = await house.ask("GET", house_wide)
      expect(Object.keys(body).sort()).toEqual(["meta", "notification_settings"])
      const list = body.notification_settings
      expect(body.meta).toEqual({ total: list.length, per_page: list.length, page: 1 })
      for (const type of [...types, ...system_types]) expect(of(list, type), type).toBeDefined()
      for (const one of list) {
        expect(Object.keys(one).sort()).toEqual([
          ...["available_channels", "category", "channels", "default_channels", "description"],
          ...["is_enabled", "is_system", "name", "notification_type"]
        ])
        expect(one.is_system).toBe(system_types.includes(one.notification_type))
        expect(Object.keys(one.channels).sort()).toEqual(one.available_channels.toSorted())
        for (const channel of one.default_channels) expect(one.available_channels).toContain(channel)
      }
    })
    it("are set for the types that are named alone, channel by channel", async () => {
      const type = "activity.assigned"
      const before = await settings()
      const given = of(before, type).channels
      const changed = good(await set([{ notification_type: type, channels: { email: !given.email } }]))
      expect(of(changed, type).channels).toEqual({ ...given, email: !given.email })
      for (const one of changed)
        if (one.notification_type !== type) expect(one).toEqual(of(before, one.notification_type))
      expect((await setting(type, { channels: given })).channels).toEqual(given)
    })
    it("are on or off without a word of channels, which stay", async () => {
      const type = "user.invited"
      const { channels } = of(await settings(), type)
      expect((await setting(type, { is_enabled: false })).is_enabled).toBe(false)
      expect(await setting(type, { is_enabled: true })).toMatchObject({ is_enabled: true, channels })
    })
    it.each<[string, unknown, RegExp]>([
      ["an unknown type", [{ notification_type: "moon.full", is_enabled: false }], /^settings\.0\.notification_type$/],
      [
        "an unknown channel",
        [{ notification_type: "user.invited", channels: { pigeon: true } }],
        /^settings\.0\.channels/
      ],
      [
        "enabled neither on nor off",
        [{ notification_type: "user.invited", is_enabled: "half" }],
        /^settings\.0\.is_enabled$/
      ],
      ["a system type that is off", [{ notification_type: "password.reset", is_enabled: false }], /^settings\.0\./],
      [
        "a system type by other channels",
        [{ notification_type: "system.test_email", channels: { email: false } }],
        /^settings\.0\./
      ],
      [
        "a second entry that is wrong",
        [{ notification_type: "user.invited", is_enabled: false }, { notification_type: "x" }],
        /^settings\.1\.notification_type$/
      ],
      ["no list", "all", /^settings$/]
    ])("are not %s", async (_what, wanted, key) => {
      const before = await settings()
      const got = await set(wanted)
      expect(got.status, got.text).toBe(422)
      for (const field of Object.keys(got.body.errors)) expect(field).toMatch(key)
      expect(await settings()).toEqual(before)
    })
    it("without a list are refused", async () => {
      expect(refusal(await house.put(house_wide, {}))).toEqual([422, "settings"])
    })
    it.each(["GET", "PUT"])("%s needs notifications.manage and the ability", async (method) => {
      const verb = method === "GET" ? "read" : "write"
      const status = async (permissions: ReadonlyArray<string>, ability: string) => {
        const { token } = await house.person(permissions, [ability])
        return (await house.by(token, method, house_wide, method === "PUT" ? { settings: [] } : undefined)).status
      }
      expect(await status(["notifications.manage"], `notification-settings:${verb}`)).toBe(200)
      expect(await status(["settings.manage", "settings.view"], `notification-settings:${verb}`)).toBe(403)
      expect(await status(["notifications.manage"], `notification-preferences:${verb}`)).toBe(403)
      expect((await house.by(null, method, house_wide)).status).toBe(401)
    })
  })
})
