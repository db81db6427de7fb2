/** `today --watch` in its own process: changes appear without a new request, online and offline. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { beforeAll, describe, expect, it } from "vitest"
import { placeOfSuite } from "../place.ts"
import { cli_program } from "../../programs.ts"

describe("flightcase today", () => {
  const place = placeOfSuite()
  const { done, json } = place
  let product_id = 0
  const order = async (subject: string, starts_at: string, store_id = 1): Promise<void> => {
    const ends_at = new Date(Date.parse(starts_at) + 40 * 3_600_000).toISOString()
    const line = { item_id: product_id, name: "Lamp", quantity: 1, unit_price: undefined }
    const { id } = await place.house.withLine({ subject, store_id, starts_at, ends_at }, line)
    await place.house.confirm(id)
  }
  const until = async (holds: () => boolean, said: () => string): Promise<void> => {
    for (let tries = 0; !holds(); tries++) {
      if (tries > 2_000) throw new Error(`it does not come to be: ${said()}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const watching = (words: ReadonlyArray<string>, env: { readonly [name: string]: string } = {}) => {
    const child = spawn(process.execPath, [cli_program, "today", "--watch", ...words], {
      cwd: place.folder,
      env: { ...place.env, ...env }
    })
    const heard = { out: "", err: "" }
    child.stdout.on("data", (part) => (heard.out += part))
    child.stderr.on("data", (part) => (heard.err += part))
    const ended = once(child, "close")
    return {
      heard,
      says: (text: string) =>
        until(
          () => heard.out.includes(text),
          () => `${text} in ${heard.out}${heard.err}`
        ),
      stop: async () => {
        child.kill("SIGTERM")
        expect(await ended, heard.err).toEqual([0, null])
      }
    }
  }

  beforeAll(async () => {
    product_id = await place.house.product({ name: "Lamp", stock_method: 1 })
    await place.login()
    await order("First job", "2027-07-01T09:00:00Z")
  }, 60_000)

  it("--watch prints the day again when it changes, and only then", async () => {
    const watched = watching(["--json", "--date", "2027-07-01"])
    try {
      await watched.says("First job")
      await order("Second job", "2027-07-01T11:00:00Z")
      await watched.says("Second job")
      // Events of another day change nothing here.
      await order("Job of another month", "2027-09-01T11:00:00Z")
      await order("Third job", "2027-07-01T12:00:00Z")
      await watched.says("Third job")
    } finally {
      await watched.stop()
    }
    const days = watched.heard.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).today)
    const shown = days.map((day) => JSON.stringify({ ...day, generated_at: null }))
    expect(new Set(shown).size).toBe(shown.length)
    expect(days.at(-1).going_out.orders.map(({ subject }: { subject: string }) => subject)).toEqual([
      "First job",
      "Second job",
      "Third job"
    ])
  })
  it("--watch redraws in place on a terminal, and says when the server is unreachable", async () => {
    const watched = watching(["--date", "2027-07-01"], { FLIGHTCASE_TTY: "1" })
    try {
      await watched.says("As of ")
      expect(watched.heard.out).toMatch(/\u001b\[H\u001b\[2JThu 1 Jul · All stores\n/)
      await place.stop()
      await watched.says("Without the server, as of ")
      await place.start()
      await until(
        () => /As of \d\d:\d\d\.\s*$/.test(watched.heard.out),
        () => watched.heard.out
      )
    } finally {
      await place.start()
      await watched.stop()
    }
  })
  it("--watch shows commands that other processes record offline", async () => {
    const watched = watching(["--json", "--offline", "--date", "2027-08-10"])
    try {
      await watched.says('"count":0')
      const dates = "--from 2027-08-10T09:00 --to 2027-08-12T09:00"
      const made = await json(`quote new --subject "Offline job" ${dates} --line ${product_id}*1 --offline`)
      await done(`quote convert ${made.opportunity.id} --offline`)
      await watched.says("Offline job")
    } finally {
      await watched.stop()
    }
    await done("sync")
  })
  it("prints the same from the replica as from the server, and so does flightcase find", async () => {
    await place.house.customer({ name: "Ελληνικό Θέατρο" })
    await done("sync")
    for (const line of [
      "today --date 2027-07-01",
      "today --date 2027-07-03 --store 1",
      "find lamp",
      "find job",
      "find θεατρο"
    ]) {
      const [here, there] = [await done(`${line} --json --offline`), await done(`${line} --json --remote`)]
      const body = ({ out }: { out: string }) => out.replace(/"generated_at": "[^"]*"/, "")
      expect(body(here), line).toBe(body(there))
    }
  })
  it("--watch asks for a login on a machine without a replica", async () => {
    const { code, err } = await place.type("today --watch --profile none")
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining("Nobody has logged in") })
  })
  it("writes one day and one piece in the singular", async () => {
    const customer = await place.house.customer({ name: "Acme" })
    await done("sync")
    const items = '{"items":[{"name":"Call-out","quantity":1,"unit_price":"50.00"}]}'
    await done(["invoices", "create", "--member-id", String(customer), "--due-at", "2031-03-03T12:00", "-d", items])
    await done("invoices issue 1")
    const dates = ["--starts-at", "2031-03-01", "--ends-at", "2031-03-05"]
    await done(["purchase-orders", "create", "--supplier-id", String(customer), "--po-type", "sub_hire", ...dates])
    await done(`purchase-orders add 1 ${product_id} --quantity 1`)
    await done("purchase-orders send 1")
    const { out } = await done("today --date 2031-03-04", { env: { FLIGHTCASE_TTY: "1" } })
    expect(out).toMatch(/^1 day ago /m)
    expect(out).toMatch(/ 1 piece(,|$)/m)
  })
  it("says in a pipe, beside its empty output, that nothing is due", async () => {
    expect(await done("today --date 2020-01-01")).toMatchObject({ out: "", err: "Nothing is due.\n" })
    expect((await json("today --date 2020-01-01")).today.going_out).toMatchObject({ count: 0, orders: [] })
  })
  it("reads words such as 'tomorrow' in the store's zone, else in the company's", async () => {
    await place.house.must("PUT", "/settings/company", { settings: { timezone: "Pacific/Kiritimati" } })
    const store = await place.house.store({ name: "Honolulu", timezone: "Pacific/Honolulu" })
    await done("sync")
    const dateOf = async (...words: ReadonlyArray<string>): Promise<string> =>
      (await json(["today", ...words])).today.date
    const later = (date: string, days: number): string =>
      new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10)
    for (const of_store of [[], ["--store", String(store)]]) {
      const today = await dateOf(...of_store)
      expect(await dateOf("--date", "today", ...of_store)).toBe(today)
      expect(await dateOf("--date", "tomorrow", ...of_store)).toBe(later(today, 1))
      expect(await dateOf("--date", "+3d", ...of_store)).toBe(later(today, 3))
      const friday = await dateOf("--date", "fri", ...of_store)
      expect(new Date(friday).getUTCDay()).toBe(5)
      expect([0, 1, 2, 3, 4, 5, 6].map((days) => later(today, days))).toContain(friday)
    }
    // These two time zones are 24 hours apart, so their dates always differ.
    expect(await dateOf("--date", "today")).toBe(later(await dateOf("--date", "today", "--store", String(store)), 1))
  })
})
