/** Calendar feeds over HTTP (rules/members-activities 7) and on a device. */
import { createHmac } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import ICAL from "ical.js"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { enrolDevice } from "../../../../sync/device/device.ts"
import { type Engine, engines } from "../../../app.ts"
import { type Listening, openListener, owner_token, serve, type Serving, startedDatabase } from "../../serving.ts"
import { words } from "../../../words.ts"

const public_url = "https://hire.example"
const now = Date.parse("2026-06-18T12:00:00Z")

describe.each(engines)("calendar feeds on %s", (engine: Engine) => {
  let server: Serving
  let alice: number, alice_token: string
  const made = async (path: string, json: unknown, key: string) => {
    const got = await server.ask(`/api/v1/${path}`, { json })
    expect(got.status, got.text).toBe(201)
    return got.body[key]
  }
  const feeds = async (token?: string) =>
    (await server.ask("/api/v1/calendar_feeds", token === undefined ? {} : { token })).body.calendar_feeds
  /** Path and query of a feed's URL. */
  const target = (url: string): string => url.slice(public_url.length)
  const read = (url: string, headers: { readonly [name: string]: string } = {}) =>
    server.ask(target(url), { token: null, headers })
  const eventsIn = (text: string): ReadonlyArray<ICAL.Component> =>
    new ICAL.Component(ICAL.parse(text) as any).getAllSubcomponents("vevent")
  const subjects = (text: string): ReadonlyArray<string> =>
    eventsIn(text).map((event) => String(event.getFirstPropertyValue("summary")))

  beforeAll(async () => {
    server = await serve(engine, { public_url })
    server.setClock(now)
    alice = (
      await made("users", { name: "Alice", email: "alice@hire.example", roles: ["Sales"], active: true }, "user")
    ).id
    alice_token = (await made("tokens", { name: "Alice's phone", abilities: ["*"], user_id: alice }, "token")).secret
    await made("activities", { subject: "Of Alice", starts_at: "2026-07-01T09:00:00Z", owned_by: alice }, "activity")
    await made(
      "activities",
      { subject: "Of the owner", starts_at: "2026-07-02T09:00:00Z", ends_at: "2026-07-02T10:00:00Z", owned_by: 1 },
      "activity"
    )
  })
  afterAll(() => server?.close())

  it("include each user's own, and everybody's for an administrator", async () => {
    expect((await feeds()).map(({ scope, user_id }) => [scope, user_id])).toEqual([
      ["user", 1],
      ["all", null]
    ])
    const [own, ...more] = await feeds(alice_token)
    expect([own.scope, own.user_id, own.name, more]).toEqual(["user", alice, "Flightcase — Alice", []])
    expect(own.url).toMatch(
      new RegExp(`^https://hire\\.example/calendar/feed/${alice}\\.ics\\?signature=[0-9a-f]{64}$`)
    )
  })

  it("open by their signature, without a token, as text/calendar with a fixed name", async () => {
    const [own, all] = await feeds()
    const everything = await read(all.url)
    expect([everything.status, everything.headers["content-type"], everything.headers["content-disposition"]]).toEqual([
      200,
      "text/calendar; charset=utf-8",
      "inline; filename=flightcase-calendar.ics"
    ])
    expect(subjects(everything.text)).toEqual(["Of Alice", "Of the owner"])
    expect(everything.text).toContain("X-WR-CALNAME:Flightcase — All Activities\r\n")
    expect(everything.text).toMatch(/UID:activity-\d+@hire\.example\r\n/)
    expect(subjects((await read(own.url)).text)).toEqual(["Of the owner"])
    expect(subjects((await read((await feeds(alice_token))[0].url)).text)).toEqual(["Of Alice"])
  })

  it("keep the UIDs of events when the server's address changes", async () => {
    const { database, drop } = await startedDatabase(engine)
    const uids = async (url: string): Promise<ReadonlyArray<string>> => {
      const moved = await serve(engine, { database, public_url: url })
      const subject = `Seen at ${url}`
      await moved.ask("/api/v1/activities", { json: { subject, starts_at: new Date().toISOString() } })
      const { text } = await moved.ask("/api/v1/calendar_feeds/export")
      expect(text).toContain(`URL:${url}\r\n`)
      await moved.close()
      return eventsIn(text).map((event) => String(event.getFirstPropertyValue("uid")).replace(/^activity-\d+/, "n"))
    }
    expect(await uids("https://old.example")).toEqual(["n@old.example"])
    expect(await uids("https://new.example")).toEqual(["n@old.example", "n@old.example"])
    await drop()
  })

  it("answer 403 for an altered address", async () => {
    const [own, all] = await feeds()
    const signature = all.url.slice(-64)
    const altered = [
      "/calendar/feed.ics",
      "/calendar/feed.ics?signature=",
      `/calendar/feed.ics?signature=${signature.slice(1)}`,
      `/calendar/feed.ics?signature=${signature.slice(0, -1)}${signature.endsWith("0") ? "1" : "0"}`,
      `/calendar/feed.ics?signature=${signature.toUpperCase()}`,
      `/calendar/feed.ics?signature=${signature}&signature=${signature}`,
      `/calendar/feed.ics?signature=${signature}&user=2`,
      `/calendar/feed.ics?a=1&signature=${signature}`,
      `/calendar/feed.ics?signature=é${"0".repeat(63)}`,
      `/calendar/feed/1.ics?signature=${signature}`,
      `/calendar/feed.ics?signature=${own.url.slice(-64)}`,
      `/calendar/feed/${alice}.ics?signature=${own.url.slice(-64)}`,
      // The application's key itself is not accepted for feeds.
      `/calendar/feed.ics?signature=${createHmac("sha256", "key-of-the-tests-which-is-long").update("/calendar/feed.ics").digest("hex")}`
    ]
    for (const [at, path] of altered.entries())
      expect((await server.ask(path, { token: null, from: `192.0.2.${at + 10}` })).status, path).toBe(403)
  })

  it("answer 403 for an invalid signature, and 404 for a malformed address or, if signed, a missing user", async () => {
    expect((await server.ask("/calendar/feed/999.ics?signature=00", { token: null, from: "192.0.2.99" })).status).toBe(
      403
    )
    for (const path of [
      "/calendar/feed/7",
      "/calendar/feed/x.ics",
      "/calendar/feed/0.ics",
      "/calendar/feed/07.ics",
      "/calendar/feed/99999999999999999.ics"
    ]) {
      expect((await server.ask(path, { token: null, from: "192.0.2.98" })).status, path).toBe(404)
    }
    const { feedUrl } = await import("../../../../server/overview/feeds/slice.ts")
    expect(
      (
        await read(
          feedUrl(
            public_url,
            "key-of-the-tests-which-is-long",
            { scope: "user", user_id: 999, kinds: ["activities"] },
            999
          )
        )
      ).status
    ).toBe(404)
  })

  it("are valid while their user is active and may see the content", async () => {
    const person = await made(
      "users",
      { name: "Bert", email: "bert@hire.example", roles: ["Admin"], active: true },
      "user"
    )
    const token = (await made("tokens", { name: "Bert's", abilities: ["*"], user_id: person.id }, "token")).secret
    const urls: ReadonlyArray<string> = (await feeds(token)).map(({ url }) => url)
    const statuses = async () =>
      await Promise.all(
        urls.map(
          async (url, at) => (await server.ask(target(url), { token: null, from: `192.0.2.${100 + at}` })).status
        )
      )
    const change = (method: string, path: string, json?: object) =>
      server.ask(`/api/v1/${path}`, { method, ...(json === undefined ? {} : { json }) })
    expect(urls).toHaveLength(2)
    expect(urls[1]).not.toBe((await feeds())[1].url)
    expect(await statuses()).toEqual([200, 200])
    server.setClock(now + 3 * 365 * 86_400_000)
    expect(await statuses()).toEqual([200, 200])
    server.setClock(now)
    await change("PUT", `users/${person.id}`, { roles: ["Sales"] })
    expect(await statuses()).toEqual([200, 403])
    await change("PUT", `users/${person.id}`, { roles: [] })
    expect(await statuses()).toEqual([403, 403])
    await change("PUT", `users/${person.id}`, { roles: ["Admin"] })
    expect(await statuses()).toEqual([200, 200])
    await change("DELETE", `users/${person.id}`)
    expect(await statuses()).toEqual([403, 403])
    await change("POST", `users/${person.id}/activate`)
    expect(await statuses()).toEqual([200, 200])
    expect((await read((await feeds())[1].url)).status).toBe(200)
  })

  it("open by links that earlier releases signed, if these name their user", async () => {
    const earlier = (path: string): string =>
      createHmac(
        "sha256",
        createHmac("sha256", "key-of-the-tests-which-is-long").update("flightcase calendar feeds").digest()
      )
        .update(path)
        .digest("hex")
    const open = async (path: string) =>
      (await server.ask(`${path}?signature=${earlier(path)}`, { token: null, from: "192.0.2.120" })).status
    expect([await open(`/calendar/feed/${alice}.ics`), await open("/calendar/feed.ics")]).toEqual([200, 403])
  })

  it("answer 304 while they are unchanged", async () => {
    const [, all] = await feeds()
    const first = await read(all.url)
    const etag = first.headers["etag"]!
    expect(first.headers["cache-control"]).toBe("private, no-cache")
    // The documented headers of a feed, those of every response, ETag and Cache-Control.
    expect(Object.keys(first.headers).sort()).toEqual(
      words(`
      cache-control content-disposition content-type etag x-content-type-options x-ratelimit-limit
      x-ratelimit-remaining x-request-id
    `)
    )
    server.setClock(now + 3_600_000)
    const later = await read(all.url)
    expect(later.text).not.toBe(first.text)
    expect(later.headers["etag"]).toBe(etag)
    for (const held of [etag, etag.slice(2), `"other", ${etag}`, "*"]) {
      const again = await read(all.url, { "if-none-match": held })
      expect([again.status, again.text, again.headers["etag"], again.headers["content-type"]], held).toEqual([
        304,
        "",
        etag,
        undefined
      ])
    }
    for (const other of ['"other"', 'W/""', "other", ""])
      expect((await read(all.url, { "if-none-match": other })).status, other).toBe(200)
    const id = (await server.ask("/api/v1/activities?q[subject_eq]=Of%20Alice")).body.activities[0].id
    await server.ask(`/api/v1/activities/${id}`, { method: "PUT", json: { location: "Dock 3" } })
    const changed = await read(all.url, { "if-none-match": etag })
    expect(changed.status).toBe(200)
    expect(changed.text).toContain("LOCATION:Dock 3\r\n")
    expect((await read(all.url, { "if-none-match": `W/"${"x".repeat(10)}"` })).headers["etag"]).not.toBe(etag)
    server.setClock(now)
  })

  it("have the same text on a device", async () => {
    const folder = mkdtempSync(join(tmpdir(), "flightcase-feeds-"))
    const listening: Listening = await openListener(server.app.answer)
    const device = await enrolDevice(folder, {
      name: "counter",
      url: listening.url,
      token: owner_token,
      device: "counter"
    })
    try {
      const stamped = /^DTSTAMP:.*\r\n/gm
      for (const query of [[], [["user_id", String(alice)]]] as const) {
        const here = await device.ask({ method: "GET", path: "/api/v1/calendar_feeds/export", query, body: undefined })
        const there = await server.ask(`/api/v1/calendar_feeds/export${query.length === 0 ? "" : `?user_id=${alice}`}`)
        const [own] = await feeds(alice_token),
          [, all] = await feeds()
        const text = String(here.content?.text)
        expect(text).toContain("UID:activity-")
        expect(text.replace(stamped, "")).toBe(there.text.replace(stamped, ""))
        expect(text.replace(stamped, "")).toBe(
          (await read(query.length === 0 ? all.url : own.url)).text.replace(stamped, "")
        )
      }
    } finally {
      await device.close()
      await listening.stop(0)
      rmSync(folder, { recursive: true })
    }
  })

  describe("with orders", () => {
    let order: number, seller: number, seller_token: string, mover_token: string
    const exported = async (query: string, token?: string) =>
      await server.ask(`/api/v1/calendar_feeds/export?${query}`, token === undefined ? {} : { token })
    const somebody = async (name: string, role: string): Promise<readonly [number, string]> => {
      const { id } = await made("users", { name, email: `${name}@hire.example`, roles: [role], active: true }, "user")
      return [id, (await made("tokens", { name, abilities: ["*"], user_id: id }, "token")).secret]
    }
    beforeAll(async () => {
      ;[seller, seller_token] = await somebody("seller", "Sales")
      ;[, mover_token] = await somebody("mover", "Warehouse")
      await server.ask("/api/v1/stores/1", { method: "PUT", json: { timezone: "Europe/London" } })
      const customer = await made("members", { name: "Acme Events", membership_type: "organisation" }, "member")
      const place = await made(
        `members/${customer.id}/addresses`,
        { street: "1 High Street", city: "Leeds" },
        "address"
      )
      const owned_by = (await server.ask(`/api/v1/users/${seller}`)).body.user.member_id
      const opportunity = await made(
        "opportunities",
        {
          subject: "Summer Gala",
          store_id: 1,
          member_id: customer.id,
          owned_by,
          delivery_address_id: place.id,
          starts_at: "2026-07-01T08:00:00Z",
          ends_at: "2026-07-03T22:59:59Z"
        },
        "opportunity"
      )
      order = opportunity.id
      await server.ask(`/api/v1/opportunities/${order}/items`, { json: { name: "Crew", unit_price: "10.00" } })
      for (const move of ["convert_to_quotation", "convert_to_order"]) {
        const got = await server.ask(`/api/v1/opportunities/${order}/${move}`, { json: {} })
        expect(got.status, got.text).toBe(200)
      }
      await made("opportunities", { subject: "Only a draft", starts_at: "2026-07-05T08:00:00Z" }, "opportunity")
    })

    it("contain only the kinds of entry that are requested", async () => {
      expect(subjects((await exported("")).text)).toEqual(["Of Alice", "Of the owner"])
      expect(subjects((await exported("with=orders")).text)).toEqual(["1 Summer Gala (Acme Events)"])
      expect(subjects((await exported("with=returns,dispatch")).text)).toEqual([
        "Out: 1 Summer Gala (Acme Events)",
        "Back: 1 Summer Gala (Acme Events)"
      ])
      expect(subjects((await exported("with[]=activities&with[]=dispatch")).text)).toEqual([
        "Out: 1 Summer Gala (Acme Events)",
        "Of Alice",
        "Of the owner"
      ])
      expect((await exported("with=parties")).body.errors).toHaveProperty("with.0")
      expect(subjects((await exported(`with=orders&user_id=${seller}`)).text)).toHaveLength(1)
      expect(subjects((await exported(`with=orders&user_id=${alice}`)).text)).toEqual([])
    })
    it("show orders only to users and tokens that may see them, and addresses only to users who may see members", async () => {
      expect((await exported("with=orders", seller_token)).text).toContain("LOCATION:1 High Street\\, Leeds\r\n")
      expect((await exported("with=orders", mover_token)).status).toBe(200)
      const looking = await made("roles", { name: "Looks on", permissions: ["activities.view"] }, "role")
      const [, looker] = await somebody("looker", looking.name)
      expect([(await exported("", looker)).status, (await exported("with=orders", looker)).status]).toEqual([200, 403])
      const planning = await made("roles", { name: "Plans", permissions: ["opportunities.view"] }, "role")
      const [planner_id, planner] = await somebody("planner", planning.name)
      const seen = await exported("with=orders", planner)
      expect([(await exported("", planner)).status, seen.status]).toEqual([403, 200])
      expect(seen.text).toContain("Acme Events")
      expect(seen.text).not.toContain("High Street")
      const narrow = await made(
        "tokens",
        { name: "n", abilities: ["opportunities:read"], user_id: planner_id },
        "token"
      )
      const activities_only = await made(
        "tokens",
        { name: "a", abilities: ["activities:read"], user_id: seller },
        "token"
      )
      expect((await exported("with=orders", narrow.secret)).status).toBe(200)
      expect((await exported("with=orders", activities_only.secret)).status).toBe(403)
    })
    it("have signed addresses, also for everybody's orders, and refuse altered ones", async () => {
      const listed = (await server.ask("/api/v1/calendar_feeds?with=returns,dispatch", { token: mover_token })).body
        .calendar_feeds
      expect(listed.map((one) => [one.scope, one.with, one.name])).toEqual([
        ["user", ["dispatch", "returns"], "Flightcase — mover: Dispatch, Returns"],
        ["all", ["dispatch", "returns"], "Flightcase — All Dispatch, Returns"]
      ])
      const url: string = listed[1].url
      expect(url).toContain("/calendar/feed.ics?with=dispatch,returns&signature=")
      const got = await read(url)
      expect([got.status, subjects(got.text).length]).toEqual([200, 2])
      expect((await read(url, { "if-none-match": got.headers["etag"]! })).status).toBe(304)
      for (const [at, altered] of [
        url.replace("dispatch,returns", "dispatch"),
        url.replace("dispatch,returns", "returns,dispatch"),
        url.replace("dispatch,returns", "activities,dispatch,returns"),
        url.replace("with=dispatch,returns&", ""),
        `${url}&with=orders`,
        `${url}&x=1`
      ].entries())
        expect((await server.ask(target(altered), { token: null, from: `192.0.2.${150 + at}` })).status, altered).toBe(
          403
        )
      const both = (await server.ask("/api/v1/calendar_feeds?with=activities,orders", { token: seller_token })).body
      expect(both.calendar_feeds.map(({ scope }) => scope)).toEqual(["user"])
    })
    it("keep an order's UIDs and report its cancellation", async () => {
      const uids = async (): Promise<ReadonlyArray<string>> =>
        eventsIn((await exported("with=orders,dispatch,returns")).text).map(
          (event) => `${String(event.getFirstPropertyValue("uid"))} ${String(event.getFirstPropertyValue("status"))}`
        )
      const names = [`order-${order}`, `order-${order}-dispatch`, `order-${order}-return`].map(
        (uid) => `${uid}@hire.example`
      )
      expect(await uids()).toEqual(names.map((uid) => `${uid} CONFIRMED`))
      await server.ask(`/api/v1/opportunities/${order}/change_status`, { json: { status: 6 } })
      expect(await uids()).toEqual(names.map((uid) => `${uid} CANCELLED`))
      await server.ask(`/api/v1/opportunities/${order}/reinstate`, { json: {} })
      expect(await uids()).toEqual(names.map((uid) => `${uid} CONFIRMED`))
    })
    it("are the same on a device of the owner, of sales and of the warehouse", async () => {
      const listening: Listening = await openListener(server.app.answer)
      for (const token of [owner_token, seller_token, mover_token]) {
        const folder = mkdtempSync(join(tmpdir(), "flightcase-feeds-"))
        const device = await enrolDevice(folder, {
          name: "d",
          url: listening.url,
          token,
          device: `d ${token.slice(0, 6)}`
        })
        try {
          const query = [["with", "orders,dispatch,returns,activities"]] as const
          const here = await device.ask({
            method: "GET",
            path: "/api/v1/calendar_feeds/export",
            query,
            body: undefined
          })
          const there = await exported("with=orders,dispatch,returns,activities", token)
          const stamped = /^DTSTAMP:.*\r\n/gm
          expect(String(here.content?.text).replace(stamped, "")).toBe(there.text.replace(stamped, ""))
          expect(there.text).toContain("High Street")
        } finally {
          await device.close()
          rmSync(folder, { recursive: true })
        }
      }
      await listening.stop(0)
    })
  })
})
