/** The inbox on the command line against a real server, and following its stream across broken connections. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { ageText } from "../../../cli/commands/delivery/inbox.ts"
import { followNotifications, notificationOf, type Notification } from "../../../sync/notification-stream.ts"
import { placeOfSuite } from "../place.ts"
import { owner_token } from "../session.ts"
import { tell } from "../../server/delivery/notifications/writing.ts"
import { cli_program } from "../../programs.ts"
import { words } from "../../words.ts"

describe("flightcase inbox", () => {
  const place = placeOfSuite()
  const type = (...words: ReadonlyArray<string>) => place.type(words)

  it("lists unread notifications, shows and marks them, and lists the last ones offline", async () => {
    await tell(
      place.app,
      { notification_type: "user.invited", subject_type: "users", subject_id: 1 },
      {},
      { is_own: true, read_at: "2026-06-18T12:00:00.000Z" }
    )
    expect((await type("inbox", "--offline")).code).toBe(7)
    await place.login()
    const listed = await type("inbox")
    expect(listed.code, listed.err).toBe(0)
    expect(listed.out.split("\n").map((line) => line.split("\t").slice(3, 5))).toEqual([
      ["system.test_email", "Test message"],
      ["user.invited", "You were invited to work here"],
      []
    ])
    expect((await type("inbox", "--all")).out.split("\n")).toHaveLength(4)
    const [, id = ""] = (await type("inbox", "--json", "--type", "user.invited")).out.match(/"id": (\d+)/) ?? []
    const shown = await type("inbox", "show", id)
    expect(shown.out).toContain("title\tYou were invited to work here")
    expect((await type("inbox", "read", id)).code).toBe(0)
    expect((await type("inbox")).out.split("\n")).toHaveLength(2)
    const offline = await type("inbox", "--offline", "--all")
    expect(offline.code).toBe(0)
    expect(offline.out.split("\n")).toHaveLength(4)
    expect(offline.err).toContain("Without the server: as it was listed just now.")
    expect(await type("inbox", "read", "--all", "--offline")).toMatchObject({ code: 7 })
    await place.stop()
    const without = await type("inbox", "--json")
    expect(JSON.parse(without.out)).toMatchObject({ notifications: [{ title: "Test message" }] })
    expect(await type("inbox", "read", id)).toMatchObject({ code: 7 })
    await place.start()
    expect(await type("inbox", "read", "--all")).toMatchObject({
      code: 0,
      err: `Everything is marked as read.\nWritten to ${place.url}.\n`
    })
    expect(await type("inbox")).toMatchObject({ out: "", err: "Nothing is unread.\n" })
    rmSync(join(place.home, "profiles", "default", "inbox.json"))
    expect((await type("inbox", "--offline")).code).toBe(7)
  })
  it("refuses missing, invalid and unknown ids, an invalid limit and an unknown type", async () => {
    for (const words of [["read"], ["read", "1", "--all"], ["read", "x"], ["show", "-"], ["--limit", "0"]])
      expect(await type("inbox", ...words), words.join(" ")).toMatchObject({ code: 2 })
    expect((await type("inbox", "show", "900000")).code).toBe(3)
    expect(await type("inbox", "read", "900000")).toMatchObject({
      code: 3,
      err: expect.stringContaining("There is no 900000 in your inbox.")
    })
    const mistyped = await type("inbox", "--type", "invoice.overdu")
    expect(mistyped).toMatchObject({ code: 2, err: expect.stringContaining("It is one of opportunity.created, ") })
  })
  it("marks notifications as unread again, prints the unread count, and refuses --plan", async () => {
    const [first = 0, second = 0] = await tell(place.app, {}, {})
    expect((await type("inbox", "read", "--all")).code).toBe(0)
    expect(await type("inbox", "unread", String(first), String(second))).toMatchObject({
      code: 0,
      err: expect.stringContaining("Marked 2 as unread.\n")
    })
    expect(await type("inbox", "--limit", "1")).toMatchObject({
      err: "The newest 1 of 2 unread; --limit shows more.\n"
    })
    expect(await type("inbox", "read", String(first), "--plan")).toMatchObject({ code: 2 })
    expect(await type("inbox", "read", "--all", "--plan")).toMatchObject({ code: 2 })
    expect((await type("inbox")).out.trim().split("\n")).toHaveLength(2)
  })
  it("exits with 4 for a token without the notifications:read ability", async () => {
    const secret = (await place.json("tokens create --name narrow --abilities products:read")).token.secret
    expect(await type("inbox", "--url", place.url, "--token", secret)).toMatchObject({ code: 4 })
    expect(await type("inbox", "--watch", "--url", place.url, "--token", secret)).toMatchObject({ code: 4 })
  })
})

it("ages of notifications are rounded down to minutes, hours or days", () => {
  const now = Date.parse("2026-06-18T12:00:00.000Z")
  const ages = [0, 59_000, 60_000, 3_599_000, 3_600_000, 86_400_000 * 3.5, -5_000]
  expect(ages.map((millis) => ageText(new Date(now - millis).toISOString(), now))).toEqual(
    words("now now 1m 59m 1h 3d now")
  )
})
it("unreadable events of the notification stream are ignored", () => {
  for (const text of ["", "{", "[]", `{"id":"x"}`, `{"id":1,"title":2}`]) expect(notificationOf(text)).toBeUndefined()
})

describe("following the notification stream", () => {
  const place = placeOfSuite()
  const until = async (holds: () => boolean): Promise<void> => {
    for (let tries = 0; !holds(); tries++) {
      if (tries > 1_500) throw new Error("it does not come to be")
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  it("resumes where it broke off, without missing a notification", async () => {
    const stop = new AbortController()
    const heard: Array<Notification> = []
    const options = { url: place.url, token: owner_token, stop: stop.signal, chance: () => 0 }
    const following = followNotifications({ ...options, after: 0, told: (one) => heard.push(one) })
    const ids = [...(await tell(place.app, {}, {}))]
    await until(() => heard.length === 2)
    await place.stop()
    ids.push(...(await tell(place.app, {}, {})))
    await place.start()
    await until(() => heard.length === 4)
    ids.push(...(await tell(place.app, {})))
    await until(() => heard.length === 5)
    expect(heard.map(({ id }) => id)).toEqual(ids)
    stop.abort()
    expect(await following).toEqual({ why: "stopped" })
  })
  it("ends if the server refuses the token or has no notification stream", async () => {
    const stop = new AbortController().signal
    const told = (): void => {}
    expect(await followNotifications({ url: place.url, token: "unknown", stop, told })).toMatchObject({
      why: "refused",
      status: 401
    })
    expect(await followNotifications({ url: `${place.url}/nothing`, token: owner_token, stop, told })).toEqual({
      why: "unknown"
    })
  })
  it("prints notifications in sync --watch, except those of the user's own actions", async () => {
    await place.login()
    const child = spawn(process.execPath, [cli_program, "sync", "--watch", "--json"], {
      cwd: place.folder,
      env: place.env
    })
    let out = ""
    child.stdout.on("data", (part) => (out += part))
    const ended = once(child, "close")
    try {
      await until(() => out.includes('"started"'))
      // The stream has no ready signal: notifications are sent until one arrives.
      for (let tries = 0; tries < 200 && !out.includes('"notification"'); tries++) {
        await tell(place.app, { is_own: true, read_at: "2026-06-18T12:00:00.000Z" }, {})
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    } finally {
      child.kill("SIGTERM")
    }
    expect(await ended).toEqual([0, null])
    const events = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    const told = events.filter(({ event }) => event === "notification")
    expect(told.length).toBeGreaterThan(0)
    for (const { notification } of told) expect(notification).toMatchObject({ title: "Test message", is_own: false })
    expect(events.at(-1)).toMatchObject({ event: "stopped" })
  })
})
