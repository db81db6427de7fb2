import { beforeAll, describe, expect, it } from "vitest"
import { engines, owner, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"

describe.each(engines)("activities on %s", (engine) => {
  const w = appHouse(engine)
  let pat: { readonly id: number; readonly member_id: number }
  beforeAll(async () => {
    await w.post("/users", { name: "Owner", email: "owner@example.com", active: true })
    pat = await w.create("/users", { name: "Pat", email: "pat@example.com", active: true })
  })
  const make = async (body: object = {}) => await w.create("/activities", { subject: "Ring back", ...body })
  const member = (name: string) => w.contact({ name })
  const type = async (name: string) => (await w.show(`/list_names/12/values?q[name_eq]=${name}`))[0].id as number

  it("are scheduled tasks of normal priority, owned by their creator, by default", async () => {
    const made = await w.post("/activities", { subject: "Ring back" }, { ...owner, user_id: pat.id })
    expect(made.status).toBe(201)
    expect(made.body.activity).toEqual({
      id: made.body.activity.id,
      subject: "Ring back",
      description: null,
      location: null,
      regarding_id: null,
      regarding_type: null,
      regarding: null,
      owned_by: pat.id,
      owner: { id: pat.id, name: "Pat" },
      owner_thumb_url: null,
      starts_at: null,
      ends_at: null,
      priority: 1,
      priority_name: "Normal",
      type_id: await type("Task"),
      type: null,
      type_code: 1001,
      activity_type_name: "Task",
      status_id: 2001,
      activity_status_name: "Scheduled",
      completed: false,
      time_status: 0,
      time_status_name: "Free",
      custom_fields: {},
      participants: [],
      created_at: expect.any(String),
      updated_at: expect.any(String)
    })
  })
  it("refer to a record and have participants, both replaceable", async () => {
    const [ann, bob, carl] = [await member("Ann"), await member("Bob"), await member("Carl")]
    const product = (await w.create("/products", { name: "Desk" })).id
    const job = (await w.create("/opportunities", { subject: "Gig" })).id
    expect((await make({ regarding_type: "Opportunity", regarding_id: job })).regarding).toEqual({
      id: job,
      name: "Gig"
    })
    const activity = await make({
      regarding_type: "Product",
      regarding_id: product,
      type_id: await type("Meeting"),
      time_status: 1,
      priority: 2,
      participants: [{ member_id: ann }, { member_id: bob, mute: true }]
    })
    expect(activity).toMatchObject({
      regarding: { id: product, name: "Desk" },
      type_code: 1005,
      activity_type_name: "Meeting",
      time_status_name: "Busy",
      priority_name: "High",
      participants: [
        { member_id: ann, member_name: "Ann", mute: false },
        { member_id: bob, member_name: "Bob", mute: true }
      ]
    })
    const path = `/activities/${activity.id}`
    const changed = await w.update(path, {
      participants: [{ member_id: bob }, { member_id: carl }],
      regarding_type: "Member",
      regarding_id: ann
    })
    expect(changed.participants).toMatchObject([
      { id: activity.participants[1]!.id, member_id: bob, mute: false },
      { member_id: carl }
    ])
    expect(changed.regarding).toEqual({ id: ann, name: "Ann" })
    expect(await w.update(path, { subject: "Other", participants: null, regarding_id: null })).toMatchObject({
      regarding: { id: ann },
      participants: [{}, {}]
    })
    expect(await w.update(path, { participants: [], regarding_id: "", regarding_type: "" })).toMatchObject({
      regarding: null,
      participants: []
    })
  })
  it("are rejected with every invalid field named", async () => {
    const errors = async (body: object) =>
      Object.keys((await w.post("/activities", { subject: "x", ...body })).body.errors ?? {})
    expect(await errors({ subject: "" })).toEqual(["subject"])
    expect(
      await errors({
        subject: "x".repeat(256),
        location: "y".repeat(256),
        priority: 3,
        status_id: 1,
        time_status: 2,
        starts_at: "soon",
        owned_by: 9999
      })
    ).toEqual(["subject", "location", "starts_at", "priority", "status_id", "time_status", "owned_by"])
    expect(await errors({ regarding_id: 1 })).toEqual(["regarding_type"])
    expect(await errors({ regarding_type: "Member" })).toEqual(["regarding_id"])
    expect(await errors({ regarding_type: "Spaceship", regarding_id: 1 })).toEqual(["regarding_type"])
    expect(await errors({ regarding_type: "Member", regarding_id: 99_999 })).toEqual(["regarding_id"])
    expect(await errors({ starts_at: "2026-07-01T10:00", ends_at: "2026-07-01T09:59" })).toEqual(["ends_at"])
    expect(await errors({ starts_at: "2026-07-01T10:00", ends_at: "2026-07-01T10:00" })).toEqual([])
    expect(await errors({ type_id: 1 })).toEqual(["type_id"])
    expect(await errors({ participants: [{ member_id: 99_999 }, {}] })).toEqual([
      "participants.1.member_id",
      "participants.0.member_id"
    ])
    const ann = await member("Ann")
    expect(await errors({ participants: [{ member_id: ann }, { member_id: ann }] })).toEqual([
      "participants.1.member_id"
    ])
    const activity = await make({ starts_at: "2026-07-01T10:00" })
    await refused(w.put(`/activities/${activity.id}`, { ends_at: "2026-06-30" }), "ends_at")
  })
  it("have no type code if their type is custom", async () => {
    const value = await w.create("/list_names/12/values", { name: "Site visit" })
    expect(await make({ type_id: value.id })).toMatchObject({ type_code: null, activity_type_name: "Site visit" })
  })
  it("can be completed repeatedly by the action, which, unlike the completed flag, also sets the status", async () => {
    const { id } = await make()
    expect(await w.update(`/activities/${id}`, { completed: true })).toMatchObject({ completed: true, status_id: 2001 })
    for (let turn = 0; turn < 2; turn++) {
      const done = await w.post(`/activities/${id}/complete`)
      expect([done.status, done.body.activity.status_id, done.body.activity.completed]).toEqual([200, 2002, true])
    }
    expect((await w.post("/activities/999999/complete")).status).toBe(404)
  })
  it("are filtered by subject, person, time and state, and sorted", async () => {
    const ann = await member("Filtered Ann")
    const about = { regarding_type: "Member", regarding_id: ann }
    await make({ ...about, subject: "Late", starts_at: "2026-09-02", owned_by: pat.id })
    await make({ ...about, subject: "Early", starts_at: "2026-09-01", status_id: 2003 })
    const subjects = async (query: string) =>
      (await w.show(`/activities?q[regarding_type_eq]=Member&q[regarding_id_eq]=${ann}&${query}`)).map(
        (one) => one.subject
      )
    expect(await subjects("sort=starts_at")).toEqual(["Early", "Late"])
    expect(await subjects(`q[owned_by_eq]=${pat.id}`)).toEqual(["Late"])
    expect(await subjects("q[status_id_eq]=cancelled")).toEqual(["Early"])
    expect(await subjects("q[starts_at_gteq]=2026-09-02&q[subject_cont]=LAT")).toEqual(["Late"])
    expect(await subjects("q[completed_true]=1")).toEqual([])
    const included = await w.get(`/activities?q[subject_eq]=Late&include=type,owner,participants.member`)
    expect(included.body.activities[0].type).toEqual({ id: await type("Task"), name: "Task" })
  })
  it("move to the kept member when members are merged", async () => {
    const [primary, secondary] = [await member("One"), await member("Two")]
    const { id } = await make({
      regarding_type: "Member",
      regarding_id: secondary,
      participants: [{ member_id: primary }, { member_id: secondary }]
    })
    const alone = await make({ participants: [{ member_id: secondary }] })
    await w.post(`/members/${primary}/merge`, { secondary_id: secondary })
    expect(await w.show(`/activities/${id}`)).toMatchObject({
      regarding: { id: primary, name: "One" },
      participants: [{ member_id: primary }]
    })
    expect((await w.show(`/activities/${alone.id}`)).participants).toMatchObject([
      { member_id: primary, member_name: "One" }
    ])
  })
  it("are deleted permanently, with their participants", async () => {
    const { id } = await make({ participants: [{ member_id: pat.member_id }] })
    expect((await w.remove(`/activities/${id}`)).status).toBe(204)
    expect((await w.get(`/activities/${id}`)).status).toBe(404)
    expect(
      (await w.app.dump())["activity_participants"]!.some((one) => (one as { activity_id: number }).activity_id === id)
    ).toBe(false)
  })
  it("require other permissions to be changed or completed than to be read", async () => {
    const { id } = await make()
    const reader = viewerWith(["activities.view"], ["activities:read", "activities:write"])
    expect((await w.get(`/activities/${id}`, reader)).status).toBe(200)
    for (const [method, path] of [
      ["POST", ""],
      ["PUT", `/${id}`],
      ["DELETE", `/${id}`],
      ["POST", `/${id}/complete`]
    ] as const) {
      expect([path, (await w.call(method, `/activities${path}`, {}, reader)).status]).toEqual([path, 403])
    }
    const completer = viewerWith(["activities.complete"], ["activities:write"])
    expect((await w.post(`/activities/${id}/complete`, undefined, completer)).status).toBe(200)
  })

  it("are in the feed of all activities and in their owner's, unless they are long past or have no start", async () => {
    await make({ subject: "Long ago", starts_at: "2001-01-01T10:00" })
    await make({ subject: "No time" })
    await make({ subject: "Pat, far off", starts_at: "2199-01-01T00:00", owned_by: pat.id })
    await make({ subject: "Somebody's", starts_at: "2198-01-01T10:00" })
    const feed = async (query = "") => await w.get(`/calendar_feeds/export${query}`)
    const all = await feed()
    expect(all.status).toBe(200)
    expect(all.headers["content-disposition"]).toBe("inline; filename=flightcase-calendar.ics")
    expect(all.body).toContain("SUMMARY:Pat\\, far off")
    expect(all.body).toContain("SUMMARY:Somebody's")
    expect(all.body).not.toMatch(/Long ago|No time/)
    const own = (await feed(`?user_id=${pat.id}`)).body
    expect(own).toContain("X-WR-CALNAME:Flightcase — Pat")
    expect(own).toContain('ORGANIZER;CN="Pat":mailto:pat@example.com')
    expect(own).toContain("SUMMARY:Pat\\, far off")
    expect(own).not.toContain("Somebody's")
    expect((await feed("?user_id=999999")).status).toBe(404)
    expect((await feed("?user_id=me")).status).toBe(422)
    expect((await w.get("/calendar_feeds/export", viewerWith([], ["*"]))).status).toBe(403)
  })
  it("span whole days in the feed by the company's time zone", async () => {
    await make({ subject: "All day", starts_at: "2190-07-01T22:00:00Z" })
    const lines = async () => (await w.get("/calendar_feeds/export")).body.split("\r\n") as Array<string>
    expect(await lines()).toContain("DTSTART:21900701T220000Z")
    await w.put("/settings/company", { settings: { timezone: "Europe/Berlin" } })
    expect(await lines()).toContain("DTSTART;VALUE=DATE:21900702")
  })
  itFoldsAgain(w)
})
