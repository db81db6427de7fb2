import {
  mkdtempSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Demand, type DemandOfBar, packed } from "../../../cli/views/bars.ts"
import { type CalendarProduct, calendarPage } from "../../../cli/views/calendar.ts"
import { dateRangeText } from "../../../cli/output/days.ts"
import { momentsOf } from "../../../cli/views/draw.ts"
import { type Scene, writeAtomically } from "../../../cli/views/frame.ts"
import { ganttPage } from "../../../cli/views/gantt.ts"
import { manifestPage } from "../../../cli/commands/warehouse/containers/draw-manifest.ts"
import { all, classed, type Element, faultsOf, readPage, textOf } from "../../browser/page.ts"
import { dayFrom, hostile } from "../../browser/sample.ts"

const nasty = [
  ...Object.values(hostile),
  `"><svg onload=alert(1)>`,
  "a\u0000b\ud800c",
  "]]> --> <!-- </style></title></bdi>",
  "&lt;b&gt; &amp;amp;"
]
const scene: Scene = {
  store: "Main <b>",
  zone: "Europe/London",
  now: Date.parse("2027-03-27T12:00:00Z"),
  source: "the server"
}
const product = (
  id: number,
  name: string | null,
  first: string,
  available: ReadonlyArray<number>
): CalendarProduct => ({
  product_id: id,
  product_name: name,
  days: available.map((one, at) => ({
    date: dayFrom(Date.parse(`${first}T00:00:00Z`), at),
    available: one,
    has_shortage: one < 0,
    pending_checkin: 0
  }))
})
/** Text as on a page: without characters that pages cannot hold. */
const shown = (text: string): string => text.toWellFormed().replaceAll("\u0000", "\ufffd")
const headsOf = (page: Element, scope: string): ReadonlyArray<Element> =>
  all(page, "th").filter(({ attributes }) => attributes["scope"] === scope)
const calendarOf = (products: ReadonlyArray<CalendarProduct>, at = scene): Element =>
  readPage(calendarPage(products, at))
const verdictOf = (page: Element): string => classed(page, "verdict").map(textOf).join("")
const labelsOf = (page: Element): ReadonlyArray<string> =>
  classed(page, "labels").flatMap((one) => all(one, "text").map(textOf))
const cellsOf = (page: Element): ReadonlyArray<ReadonlyArray<string>> =>
  all(all(page, "tbody")[0]!, "tr").map((row) => all(row, "td").map(textOf))

describe("the availability calendar as an HTML page", () => {
  it("has a row per product and a column per day, with numbers, and describes shortages in words", () => {
    const page = calendarOf([
      product(1, "Head", "2027-03-26", [4, 1, 0, -2, -3, 4]),
      product(2, null, "2027-03-26", [7, 7, 7, 7, 7, 7])
    ])
    expect(cellsOf(page)).toEqual([
      ["4", "1", "0", "\u22122", "\u22123", "4"],
      ["7", "7", "7", "7", "7", "7"]
    ])
    expect(headsOf(page, "row").map(textOf)).toEqual(["Head", "Product 2 (deleted)"])
    expect(verdictOf(page)).toContain("1 product is short")
    expect(verdictOf(page)).toContain("Head: \u22123, 29 to 30 Mar 2027")
    expect(
      all(all(page, "tbody")[0]!, "td")
        .slice(0, 4)
        .map(({ attributes }) => attributes["class"]!.split(" ")[0])
    ).toEqual(["free", "few", "none", "short"])
    expect(all(page, "td").find((one) => textOf(one) === "\u22122")!.attributes["title"]).toBe(
      "Head, Mon 29 Mar 2027: short of 2"
    )
  })
  it("gives product names the width that the days leave free", () => {
    const widest = (days: number): string =>
      /tbody th \{ max-width: ([^;]+);/.exec(
        calendarPage([product(1, "Head", "2027-03-26", Array(days).fill(1))], scene)
      )![1]!
    expect([7, 31].map(widest)).toEqual(["max(232px, 100vw - 304px)", "max(232px, 100vw - 1047px)"])
  })
  it("marks weekends, today by the store's clock, and months, whose headings span their days", () => {
    const late = { ...scene, zone: "Pacific/Auckland", now: Date.parse("2027-03-30T13:00:00Z") }
    const page = calendarOf([product(1, "Head", "2027-03-26", [1, 1, 1, 1, 1, 1, 1, 1])], late)
    const days = headsOf(page, "col").slice(1)
    expect(days.map(textOf)).toEqual(["Fr26", "Sa27", "Su28", "Mo29", "Tu30", "We31", "Th1", "Fr2"])
    const marked = (name: string) => days.filter(({ attributes }) => attributes["class"]!.includes(name)).map(textOf)
    expect(marked("we")).toEqual(["Sa27", "Su28"])
    // 13:00 UTC is already the 31st in Auckland.
    expect(marked("today")).toEqual(["We31"])
    expect(headsOf(page, "colgroup").map((one) => [textOf(one), one.attributes["colspan"]])).toEqual([
      ["Mar 2027", "6"],
      ["Apr", "2"]
    ])
    expect(all(page, "time").map((one) => [one.attributes["datetime"], textOf(one)])).toEqual([
      ["2027-03-30T13:00:00.000Z", "Wed 31 Mar 2027, 02:00"]
    ])
  })
  it("wraps by full months when the window is long, every day once", () => {
    const year = Array.from({ length: 366 }, (_, at) => at % 100)
    const tablesOf = (numbers: ReadonlyArray<number>) =>
      all(calendarOf([product(1, "Head", "2027-01-01", numbers)]), "table")
    const tables = tablesOf(year)
    // Two months each, of 59 to 62 days; the last one includes the first day of the next year.
    expect(tables.length).toBe(6)
    expect(tables.flatMap((table) => all(all(table, "tbody")[0]!, "td").map((cell) => Number(textOf(cell))))).toEqual(
      year
    )
    expect(tables.map((table) => textOf(all(table, "caption")[0]!))[1]).toBe("1 Mar to 30 Apr 2027")
    // Three-digit numbers cover a month.
    expect(tablesOf(year.map((one) => one + 100)).length).toBe(13)
  })
  it("escapes user text, and is self-contained", () => {
    for (const name of nasty) {
      const text = calendarPage([product(1, name, "2027-03-26", [1, -1])], { ...scene, store: name, source: name })
      expect(faultsOf(text)).toEqual([])
      expect(headsOf(readPage(text), "row").map(textOf)).toEqual([shown(name)])
      const title = all(readPage(text), "td").at(-1)!.attributes["title"]!
      expect(title.replace(/[\u2068\u2069]/g, "")).toBe(`${shown(name)}, Sat 27 Mar 2027: short of 1`)
    }
  })
  it("draws 200 products over 60 days, and refuses 1,000 over 380, naming the maximum", () => {
    const many = (products: number, days: number) =>
      Array.from({ length: products }, (_, at) =>
        product(at + 1, `Product ${at}`, "2027-01-01", Array<number>(days).fill(at))
      )
    expect(cellsOf(calendarOf(many(200, 60))).length).toBe(200)
    expect(() => calendarPage(many(1000, 380), scene)).toThrow(
      "1000 products over 380 days are 380000 cells; a page holds 60000."
    )
  })
  it("shows a message if the store has no products", () => {
    const text = calendarPage([], scene)
    expect(faultsOf(text)).toEqual([])
    expect(textOf(all(readPage(text), "main")[0]!)).toContain("Nothing is kept at this store")
  })
})

const demand = (id: number, starts_at: string, ends_at: string, more: Partial<Demand> = {}): Demand => ({
  demand_id: id,
  asset_id: null,
  asset_serial: null,
  quantity: 1,
  source_type: "opportunity_item",
  source_name: `Deal ${id}`,
  phase: "reserved",
  period_start: starts_at,
  period_end: ends_at,
  starts_at,
  ends_at,
  ...more
})
type Facts = Parameters<typeof ganttPage>[0]
const facts = (demands: ReadonlyArray<Demand>, more: Partial<Facts> = {}): Facts => ({
  product: "Head",
  is_bulk: false,
  chart: { from: "2027-03-27T00:00:00.000Z", to: "2027-03-29T23:00:00.000Z", total_stock: 2, demands, shortages: [] },
  days: [],
  behind: new Map(),
  units: [],
  more_idle: 0,
  parts: [],
  ...more
})
const bodyOf = (text: string): Element => classed(readPage(text), "body")[0]!
const spans = (element: Element, name: string): ReadonlyArray<readonly [number, number]> =>
  all(element, "rect")
    .filter((one) => one.attributes["class"] === name)
    .map(({ attributes }) => [Number(attributes["x"]), Number(attributes["x"]) + Number(attributes["width"])])

describe("the chart of a product's bookings as an HTML page", () => {
  it("places days and bars by the store's clock, also over a clock change", () => {
    // In London the 28th has 23 hours: the window of four days has 95.
    const buffers = { period_start: "2027-03-27T20:00:00.000Z", period_end: "2027-03-29T23:00:00.000Z" }
    const demands = [demand(1, "2027-03-28T08:00:00.000Z", "2027-03-29T17:00:00.000Z", buffers)]
    const page = bodyOf(ganttPage(facts(demands), scene))
    const wide = Number(all(page, "svg")[0]!.attributes["width"]),
      hour = wide / 95
    const lines = all(page, "line")
      .filter((one) => one.attributes["class"] === "day")
      .map(({ attributes }) => Number(attributes["x1"]))
    const near = (numbers: ReadonlyArray<number>) => numbers.map((one) => expect.closeTo(one, 0))
    expect(lines).toEqual(near([0, 24 * hour, 47 * hour, 71 * hour]))
    expect(spans(page, "prep")[0]).toEqual(near([20 * hour, 32 * hour]))
    // 08:00 UTC on the 28th is 09:00 there, 32 hours into the window.
    expect(spans(page, "reserved")[0]).toEqual(near([32 * hour, 65 * hour]))
    expect(spans(page, "back")[0]).toEqual(near([65 * hour, 71 * hour]))
    expect(textOf(all(page, "title")[0]!)).toContain("Hire: Sun 28 Mar 2027, 09:00 to Mon 29 Mar 2027, 18:00")
  })
  it("names the order by subject, number and customer, and marks an overdue hire from its due date on", () => {
    const due_at = "2027-03-27T06:00:00.000Z"
    const behind = new Map<number, DemandOfBar>([
      [1, { is_overdue: true, deal: { subject: "Gala", number: "0000000007", customer: "Northern Lights", due_at } }]
    ])
    const out = { phase: "on_hire", asset_id: 9, asset_serial: "S-9" }
    const units = [
      { id: 9, name: "A-9", more: "S-9" },
      { id: 10, name: "A-10", more: undefined }
    ]
    const demands = [demand(1, "2027-03-25T08:00:00.000Z", "2199-01-01T00:00:00.000Z", out)]
    const text = ganttPage(facts(demands, { behind, units }), scene)
    const body = bodyOf(text),
      wide = Number(all(body, "svg")[0]!.attributes["width"]),
      hour = wide / 95
    expect(spans(body, "out")[0]).toEqual([0, expect.closeTo(6 * hour, 0)])
    expect(spans(body, "late")[0]).toEqual([expect.closeTo(6 * hour, 0), wide])
    expect(all(body, "text").map(textOf)).toEqual(["\u2192 overdue! Gala · 0000000007 · Northern Lights"])
    expect(labelsOf(readPage(text))).toEqual(["A-9S-9", "A-10no claim"])
    const row = all(all(readPage(text), "tbody")[0]!, "tr")[0]!
    expect([...all(row, "td"), ...all(row, "th")].map(textOf)).toEqual([
      "1",
      "0000000007",
      "Northern Lights",
      "A-9 (S-9)",
      "overdue",
      "Thu 25 Mar, 08:00",
      "due Sat 27 Mar, 06:00",
      "Gala"
    ])
  })
  it("marks short days, and draws quantities in proportion", () => {
    const chart = {
      ...facts([]).chart,
      demands: [
        demand(1, "2027-03-27T08:00:00.000Z", "2027-03-28T08:00:00.000Z", { quantity: 10 }),
        demand(2, "2027-03-27T09:00:00.000Z", "2027-03-28T08:00:00.000Z", { quantity: 5 })
      ],
      shortages: [
        { from: "2027-03-27", to: "2027-03-27", severity: 13, in_buffer_zone: false },
        { from: "2027-03-28", to: "2027-03-28", severity: 11, in_buffer_zone: false }
      ]
    }
    const text = ganttPage(facts([], { chart, is_bulk: true }), scene)
    expect(textOf(classed(readPage(text), "verdict")[0]!)).toBe(
      "2 in stock. Short on 2 days: 13 missing 27 to 28 Mar 2027."
    )
    expect(spans(bodyOf(text), "missing").length).toBe(2)
    const heights = all(bodyOf(text), "rect")
      .filter((one) => one.attributes["class"] === "reserved")
      .map(({ attributes }) => Number(attributes["height"]))
    expect(heights[0]!).toBeGreaterThan(heights[1]!)
  })
  it("escapes user text, and is self-contained", () => {
    for (const name of nasty) {
      const behind = new Map<number, DemandOfBar>([
        [1, { is_overdue: false, deal: { subject: name, number: name, customer: name, due_at: null } }]
      ])
      const named = { source_name: name, phase: name, asset_id: 3, asset_serial: name }
      const demands = [demand(1, "2027-03-27T08:00:00.000Z", "2027-03-29T08:00:00.000Z", named)]
      const more = { product: name, behind, units: [{ id: 3, name, more: name }] }
      const text = ganttPage(facts(demands, more), { ...scene, store: name })
      expect(faultsOf(text)).toEqual([])
      expect(textOf(all(readPage(text), "h1")[0]!)).toBe(shown(name))
      expect(textOf(all(bodyOf(text), "text")[0]!).replace(/[\u2068\u2069]/g, "")).toBe(shown(name))
    }
  })
  it("shows a kit's part in its own lane, with its bookings and shortage", () => {
    const part = {
      name: "Lamp",
      quantity: 2,
      total_stock: 10,
      demands: [demand(7, "2027-03-27T08:00:00.000Z", "2027-03-28T08:00:00.000Z", { quantity: 12 })],
      shortages: [{ from: "2027-03-27", to: "2027-03-27", severity: 2, in_buffer_zone: false }]
    }
    const page = readPage(ganttPage(facts([], { parts: [part] }), scene))
    expect(labelsOf(page)).toEqual(["2 × Lampof 10"])
    expect(classed(page, "bar").length).toBe(1)
    expect(textOf(classed(page, "verdict")[0]!)).toBe(" Lamp is short: 2 missing 27 Mar 2027.")
    expect(all(all(page, "tbody")[0]!, "td").map(textOf).slice(0, 2)).toEqual(["12", "Lamp"])
  })
  it("draws 4,000 bookings, and rejects more", () => {
    const many = (count: number) =>
      facts(
        Array.from({ length: count }, (_, at) => demand(at + 1, "2027-03-27T08:00:00.000Z", "2027-03-29T08:00:00.000Z"))
      )
    expect(classed(readPage(ganttPage(many(4000), scene)), "bar").length).toBe(4000)
    expect(() => ganttPage(many(4001), scene)).toThrow("4001 claims; a page holds 4000.")
  })
})

const periods = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 1, max: 200 })), { maxLength: 40 })
  .map((all_) =>
    all_.map(([from, hours], at) =>
      demand(
        at + 1,
        new Date(1_800_000_000_000 + from * 3_600_000).toISOString(),
        new Date(1_800_000_000_000 + (from + hours) * 3_600_000).toISOString()
      )
    )
  )

describe("the lanes of a chart of bookings", () => {
  it("contain every booking once, without overlaps", () => {
    fc.assert(
      fc.property(periods, (demands) => {
        const rows = packed(demands)
        const ids = rows.flat().map((one) => one.demand_id)
        expect(ids.toSorted((a, b) => a - b)).toEqual(demands.map((one) => one.demand_id))
        for (const row of rows)
          for (let at = 1; at < row.length; at++) expect(row[at]!.period_start >= row[at - 1]!.period_end).toBe(true)
      })
    )
  })
  it("have their orders looked up at instants that cover every booking", () => {
    fc.assert(
      fc.property(periods, (demands) => {
        const moments = momentsOf({ to: "2099-01-01T00:00:00.000Z", demands })
        for (const one of demands)
          expect(moments.some((at) => Date.parse(one.period_start) <= at && at < Date.parse(one.period_end))).toBe(true)
      })
    )
    expect(
      momentsOf({
        to: "2027-03-31T00:00:00.000Z",
        demands: [
          demand(1, "2027-03-01T00:00:00.000Z", "2027-03-10T00:00:00.000Z"),
          demand(2, "2027-03-05T00:00:00.000Z", "2199-01-01T00:00:00.000Z")
        ]
      })
    ).toEqual([Date.parse("2027-03-10T00:00:00.000Z") - 1])
  })
})

describe("a container's manifest as an HTML page", () => {
  const manifest = (name: string) => ({
    container_id: 1,
    name,
    barcode: null,
    code: name,
    serialised_item_id: null,
    store_id: 1,
    status: "sealed",
    scan_mode: "strict",
    seal_broken_at: null,
    seal_broken_reason: null,
    sealed_at: "2027-07-01T08:00:00.000Z",
    notes: name,
    is_compliant: false,
    slots: [{ product_id: 1, product_name: name, required: 3, packed: 1, satisfied: false }],
    items: [
      {
        serialised_item_id: 4,
        product_id: 1,
        product_name: name,
        asset_number: name,
        serial_number: name,
        barcode: name,
        code: name,
        position: name,
        packed_at: "2027-06-30T08:00:00.000Z",
        returned_at: null
      }
    ],
    containers: []
  })
  it("shows its content, what is missing and since when it is sealed", () => {
    const within = { ...manifest("Case 8"), is_compliant: true, slots: [] }
    const page = readPage(manifestPage({ ...manifest("Case 7"), containers: [within] }, scene, undefined))
    expect(textOf(all(page, "header")[0]!)).toContain("Sealed, sealed Thu 1 Jul 2027, 09:00")
    expect(textOf(all(page, "header")[0]!)).toContain(
      "2 units, what lies in cases within included. \u2717 Not complete"
    )
    expect(classed(page, "bad").map(textOf)).toEqual(["\u2717 Not complete", "Missing: 2 × Case 7"])
    expect(textOf(classed(page, "sums")[0]!)).toBe("2 × Case 7")
  })
  it("escapes user text, and is self-contained", () => {
    for (const name of nasty) {
      const text = manifestPage(manifest(name), scene, undefined)
      expect(faultsOf(text)).toEqual([])
      expect(all(readPage(text), "code").map(textOf)).toEqual([shown(name)])
    }
  })
})

describe("the file of an HTML page", () => {
  let folder = ""
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-pictures-"))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  it("replaces the content of an existing file, follows links, and leaves no other file", async () => {
    const file = join(folder, "a.html"),
      link = join(folder, "link.html")
    await writeAtomically(file, "old and long")
    symlinkSync(file, link)
    await writeAtomically(link, "new")
    expect(readFileSync(file, "utf8")).toBe("new")
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readdirSync(folder).sort()).toEqual(["a.html", "link.html"])
  })
  it("leaves no temporary file when it cannot be written", async () => {
    mkdirSync(join(folder, "folder"))
    writeFileSync(join(folder, "plain"), "x")
    await expect(writeAtomically(join(folder, "folder"), "x")).rejects.toMatchObject({ code: "EISDIR" })
    await expect(writeAtomically(join(folder, "nowhere", "a.html"), "x")).rejects.toMatchObject({ code: "ENOENT" })
    expect(readdirSync(join(folder, "folder"))).toEqual([])
  })
})

describe("a range of dates in words", () => {
  it.each([
    ["2027-03-01", "2027-03-01", "1 Mar 2027"],
    ["2027-03-01", "2027-03-09", "1 to 9 Mar 2027"],
    ["2027-03-30", "2027-04-02", "30 Mar to 2 Apr 2027"],
    ["2027-12-30", "2028-01-02", "30 Dec 2027 to 2 Jan 2028"]
  ])("%s to %s is written as '%s'", (first, last, text) => expect(dateRangeText(first, last)).toBe(text))
})
