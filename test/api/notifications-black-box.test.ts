/** Notifications over HTTP: causes, recipients and inbox (rules/conventions 15). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, minute, openBooks, patiently, type Person } from "./billing-black-box.ts"
import { causeOf, causes, enabled, inbox, names, prefers, settled, type Words } from "./notifications-black-box.ts"

const in_inbox = { database: true, email: false, broadcast: false }
const nowhere = { database: false, email: false, broadcast: false }

describe.each(engines)("Notifications, on %s (rules/conventions 15)", (engine) => {
  let house: Books
  beforeAll(async () => {
    house = await openBooks(engine)
  })
  afterAll(() => house.close())
  const rowsOf = async (who: Person, type: string, words?: Words): Promise<ReadonlyArray<any>> =>
    (await inbox(house, who)).filter(
      (row) => row.notification_type === type && (words === undefined || names(JSON.stringify(row), words))
    )
  /** Somebody has this row of a type, and has it once. */
  const told = async (who: Person, type: string, words: Words): Promise<any> => {
    await expect.poll(async () => (await rowsOf(who, type, words)).length, patiently).toBeGreaterThan(0)
    const rows = await rowsOf(who, type, words)
    expect(rows.length).toBe(1)
    return rows[0]
  }
  const seer = (type: string) => house.person(causeOf(type).permissions)
  /** It happens for the one who watches, who has its row when this ends. */
  const happens = async (type: string, watcher: Person): Promise<Words> => {
    const words = await causeOf(type).happens(house, watcher)
    await told(watcher, type, words)
    return words
  }

  describe.each(causes)("of $type", ({ type, is_personal = false, happens: cause }) => {
    it("are created once, unread, for each user who may see them, and not for users without permission, with the type muted or the inbox channel off", async () => {
      const [ann, muted, elsewhere] = [await seer(type), await seer(type), await seer(type)]
      const blind = await house.person(["products.view"])
      await prefers(house, muted, type, { channels: in_inbox, is_muted: true })
      await prefers(house, elsewhere, type, { channels: nowhere })
      const unsaid = new Map<Person, Words>()
      if (is_personal) for (const one of [muted, elsewhere]) unsaid.set(one, await cause(house, one))
      // An activity is given to one person: to each of them in turn.
      if (type === "activity.assigned") await cause(house, blind)
      const words = await cause(house, ann)
      expect(await told(ann, type, words)).toMatchObject({ notification_type: type, read_at: null })
      for (const one of [muted, elsewhere]) expect(await rowsOf(one, type, unsaid.get(one) ?? words)).toEqual([])
      expect(await inbox(house, blind)).toEqual([])
    })
    it("of a type disabled for the company are never created, not even after it is enabled again", async () => {
      const ann = await seer(type)
      await enabled(house, type, false)
      const unsaid = await cause(house, ann)
      await settled(house)
      await enabled(house, type, true)
      await told(ann, type, await cause(house, ann))
      expect(await rowsOf(ann, type, unsaid)).toEqual([])
    })
  })

  it("are not created for deactivated users, not even after reactivation", async () => {
    const [ann, bob] = [await seer("opportunity.created"), await seer("opportunity.created")]
    expect((await house.remove(`/users/${bob.user_id}`)).status).toBeLessThan(300)
    const words = await happens("opportunity.created", ann)
    expect((await house.post(`/users/${bob.user_id}/activate`)).status).toBeLessThan(300)
    const back = { ...bob, token: await house.token({ user_id: bob.user_id }) }
    expect(await rowsOf(back, "opportunity.created", words)).toEqual([])
  })
  it("of the user's own actions are in their inbox as read", async () => {
    const ann = await house.person(["opportunities.view", "opportunities.create"])
    const got = await house.by(ann.token, "POST", "/opportunities", { subject: "My own", store_id: 1 })
    expect(got.status, got.text).toBe(201)
    const row = await told(ann, "opportunity.created", ["My own"])
    expect(row).toMatchObject({ is_own: true, read_at: expect.any(String) })
  })
  it("use the names of today: a row shows the subject that was changed since", async () => {
    const ann = await seer("opportunity.created")
    const { id } = await house.job([], { subject: "Old name of it" })
    await told(ann, "opportunity.created", ["Old name of it"])
    expect((await house.put(`/opportunities/${id}`, { subject: "New name of it" })).status).toBe(200)
    const shown = JSON.stringify(await inbox(house, ann))
    expect([shown.includes("New name of it"), shown.includes("Old name of it")]).toEqual([true, false])
  })
  describe("lie in an inbox", () => {
    let ann: Person, bob: Person
    it("of two users, three each", async () => {
      // All earlier events have been notified by now.
      await happens("opportunity.created", await seer("opportunity.created"))
      ann = await seer("opportunity.created")
      bob = await seer("opportunity.created")
      for (let at = 1; at <= 3; at++) {
        house.later(minute)
        await told(bob, "opportunity.created", await happens("opportunity.created", ann))
      }
    })

    it("in pages", async () => {
      const page = async (query: string) => (await house.by(ann.token, "GET", `/notifications?${query}`)).body
      const whole = (await page("")).notifications
      expect((await page("per_page=2")).notifications).toEqual(whole.slice(0, 2))
      expect((await page("per_page=2&page=2")).notifications).toEqual(whole.slice(2))
      expect((await page("page=9")).meta.total).toBe(3)
    })
    it("without columns internal to the server", async () => {
      for (const row of await inbox(house, ann))
        for (const hidden of ["dedupe_key", "user_id", "mail_state", "in_inbox", "is_broadcast"])
          expect(Object.keys(row)).not.toContain(hidden)
    })
    it("marking all as read affects only the user's own inbox", async () => {
      const got = await house.by(ann.token, "POST", "/notifications/read_all")
      expect(got.status, got.text).toBe(200)
      expect((await inbox(house, ann)).filter((row) => row.read_at === null)).toEqual([])
      expect((await inbox(house, bob)).filter((row) => row.read_at === null).length).toBe(3)
      expect((await house.by(ann.token, "POST", "/notifications/read_all")).status).toBe(200)
    })
    it("with the abilities for it, and no permission", async () => {
      const status = async (abilities: ReadonlyArray<string>, method: string, path: string) =>
        (await house.by((await house.person([], abilities)).token, method, path)).status
      expect(await status(["notifications:read"], "GET", "/notifications")).toBe(200)
      expect(await status(["notifications:write"], "GET", "/notifications")).toBe(403)
      expect(await status(["notifications:write"], "POST", "/notifications/read_all")).toBe(200)
      expect(await status(["notifications:read"], "POST", "/notifications/read_all")).toBe(403)
      for (const path of ["/notifications", "/notifications/stream"])
        expect((await house.by(null, "GET", path)).status).toBe(401)
    })
    it("of a row that is not there before an ability that is not there", async () => {
      const { token } = await house.person([], ["products:read"])
      expect((await house.by(token, "POST", "/notifications/999999/read")).status).toBe(404)
    })
  })

  it("of an anonymised person contain none of their data", async () => {
    const ann = await seer("user.invited")
    const gone = await house.person()
    await told(ann, "user.invited", [`${gone.name}"`, `${gone.name} `, `${gone.name}.`])
    expect((await house.remove(`/users/${gone.user_id}`)).status).toBeLessThan(300)
    expect((await house.post(`/members/${gone.member_id}/anonymise`)).status).toBeLessThan(300)
    const shown = JSON.stringify(await inbox(house, ann))
    expect([shown.includes(gone.name), shown.includes(gone.email)]).toEqual([false, false])
  })
})
