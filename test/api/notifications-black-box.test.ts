/** Notifications over HTTP, in the inbox and by mail (rules/conventions 15); types are in every-type.test.ts. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, minute, openBooks, patiently, type Person } from "./billing-black-box.ts"

const includes = (shown: unknown, word: string): boolean => JSON.stringify(shown).includes(word)
let count = 0

describe.each(engines)("the inbox over HTTP on %s", (engine) => {
  let house: Books
  beforeAll(async () => {
    house = await openBooks(engine)
  })
  afterAll(() => house.close())
  /** Expects exactly one notification of a type with this word for a user. */
  const told = async (who: Person, type: string, word: string) => {
    const rows = async () =>
      (await house.inbox(who)).filter((row) => row.notification_type === type && includes(row, word))
    await expect.poll(async () => (await rows()).length, patiently).toBeGreaterThan(0)
    const [row, ...others] = await rows()
    expect(others).toEqual([])
    return row!
  }
  const seer = () => house.person(["opportunities.view"])
  /** Creates an opportunity far enough after others not to be grouped; returns once the watcher is notified. */
  const happens = async (watcher: Person): Promise<string> => {
    house.later(2 * minute)
    const subject = `Gala${++count}x`
    await house.job([], { subject })
    await told(watcher, "opportunity.created", subject)
    return subject
  }

  it("has no notification from before a user's reactivation", async () => {
    const [ann, bob] = [await seer(), await seer()]
    expect((await house.remove(`/users/${bob.user_id}`)).status).toBeLessThan(300)
    const subject = await happens(ann)
    expect((await house.post(`/users/${bob.user_id}/activate`)).status).toBeLessThan(300)
    const back = { ...bob, token: await house.token({ user_id: bob.user_id }) }
    expect(includes(await house.inbox(back), subject)).toBe(false)
  })
  it("shows the user's own actions as read", async () => {
    const ann = await house.person(["opportunities.view", "opportunities.create"])
    const got = await house.by(ann.token, "POST", "/opportunities", { subject: "My own", store_id: 1 })
    expect(got.status, got.text).toBe(201)
    const row = await told(ann, "opportunity.created", "My own")
    expect(row).toMatchObject({ is_own: true, read_at: expect.any(String) })
  })
  it("shows the present subject of an opportunity that was renamed", async () => {
    const ann = await seer()
    const { id } = await house.job([], { subject: "Old name of it" })
    await told(ann, "opportunity.created", "Old name of it")
    expect((await house.put(`/opportunities/${id}`, { subject: "New name of it" })).status).toBe(200)
    const shown = await house.inbox(ann)
    expect([includes(shown, "New name of it"), includes(shown, "Old name of it")]).toEqual([true, false])
  })
  it("can be marked as read without effect on the inboxes of others", async () => {
    const [ann, bob] = [await seer(), await seer()]
    for (let at = 1; at <= 3; at++) await told(bob, "opportunity.created", await happens(ann))
    for (const _time of [1, 2]) expect((await house.by(ann.token, "POST", "/notifications/read_all")).status).toBe(200)
    const unread = async (who: Person) => (await house.inbox(who)).filter((row) => row.read_at === null).length
    expect([await unread(ann), await unread(bob)]).toEqual([0, 3])
  })
  it("needs notifications:read to list, notifications:write to mark as read, and no permission", async () => {
    const status = async (abilities: ReadonlyArray<string>, method: string, path: string) =>
      (await house.by((await house.person([], abilities)).token, method, path)).status
    expect(await status(["notifications:read"], "GET", "/notifications")).toBe(200)
    expect(await status(["notifications:write"], "GET", "/notifications")).toBe(403)
    expect(await status(["notifications:write"], "POST", "/notifications/read_all")).toBe(200)
    expect(await status(["notifications:read"], "POST", "/notifications/read_all")).toBe(403)
    for (const path of ["/notifications", "/notifications/stream"])
      expect((await house.by(null, "GET", path)).status).toBe(401)
  })
  it("contains no name or e-mail address of an anonymised user", async () => {
    const ann = await house.person(["users.view"])
    const gone = await house.person()
    await expect.poll(async () => includes(await house.inbox(ann), gone.name), patiently).toBe(true)
    expect((await house.remove(`/users/${gone.user_id}`)).status).toBeLessThan(300)
    expect((await house.post(`/members/${gone.member_id}/anonymise`)).status).toBeLessThan(300)
    const shown = await house.inbox(ann)
    expect([includes(shown, gone.name), includes(shown, gone.email)]).toEqual([false, false])
  })
})

describe.each(engines)("notifications by mail over HTTP on %s", (engine) => {
  let house: Books
  beforeAll(async () => {
    house = await openBooks(engine)
    await house.put("/settings/notifications", { settings: { gather_minutes: 0 } })
  })
  afterAll(() => house.close())
  const notification_type = "invoice.issued"
  const reader = async (email: boolean, more: object = {}, permissions = ["invoices.view"]): Promise<Person> => {
    const ann = await house.person(permissions)
    const preference = { notification_type, channels: { database: true, email, broadcast: false }, ...more }
    const got = await house.by(ann.token, "PUT", "/notification_preferences", { preferences: [preference] })
    expect(got.status, got.text).toBe(200)
    return ann
  }
  const naming = async (who: Person, number: string) =>
    (await house.mails(who.email)).filter(({ subject }) => subject?.includes(number))
  /** The one mail to a user about an invoice; the clock advances while waiting. */
  const mailed = async (who: Person, number: string) => {
    await expect
      .poll(async () => {
        house.setClock(new Date().toISOString())
        return (await naming(who, number)).length
      }, patiently)
      .toBe(1)
    return (await naming(who, number))[0]!
  }

  it("are sent at once and one by one when the gathering time is 0 minutes", async () => {
    const ann = await reader(true)
    const first = await mailed(ann, (await house.issued()).number)
    const second = await mailed(ann, (await house.issued()).number)
    expect(second.messageId).not.toBe(first.messageId)
    expect([first.to?.map(({ address }) => address), first.cc, first.bcc]).toEqual([[ann.email], undefined, undefined])
  })
  it("are not sent to users who did not enable mail, muted the type, or may not see invoices", async () => {
    const [ann, plain] = [await reader(true), await reader(false)]
    const [muted, blind] = [await reader(true, { is_muted: true }), await reader(true, {}, ["products.view"])]
    const { number } = await house.issued()
    await mailed(ann, number)
    await expect.poll(async () => includes(await house.inbox(plain), number), patiently).toBe(true)
    for (const who of [plain, muted, blind]) expect(await naming(who, number)).toEqual([])
  })
})
