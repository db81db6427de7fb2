import { describe, expect, it } from "vitest"
import { chartText, gridText } from "../../../cli/output/grid.ts"
import { escapeForTerminal } from "../../../cli/output/out.ts"
import { type Terminal, widthOf } from "../../../cli/output/text.ts"
import { dayFrom } from "../../browser/sample.ts"

type Chart = Parameters<typeof chartText>[0]

const terminal = (columns: number, more: Partial<Terminal> = {}): Terminal => ({
  is_tty: true,
  progress: false,
  colour: false,
  columns,
  ...more
})
const days = (first: string, available: ReadonlyArray<number>) =>
  available.map((one, at) => ({
    date: dayFrom(Date.parse(`${first}T00:00:00Z`), at),
    available: one,
    has_shortage: one < 0
  }))
const products = [{ product_id: 1, product_name: "Head", days: days("2027-06-29", [4, 4, 0, -2]) }]
const demand = (
  starts_at: string,
  ends_at: string,
  more: Partial<Chart["demands"][number]> = {}
): Chart["demands"][number] => ({
  quantity: 2,
  asset_serial: null,
  source_name: "Gala",
  phase: "reserved",
  starts_at,
  ends_at,
  period_start: starts_at,
  period_end: ends_at,
  ...more
})
const chart = (
  from: string,
  to: string,
  demands: ReadonlyArray<Chart["demands"][number]>,
  shortages: Chart["shortages"] = []
): Chart => ({ from, to, total_stock: 4, demands, shortages })
const escapes = /\u001b\[/

describe("the availability calendar as text", () => {
  it("has a heading of months, weekdays and days, and shows shortages as negative numbers", () => {
    expect(`\n${gridText(products, terminal(80))}`).toBe(`
         Jun     Jul    
          Tu  We  Th  Fr
          29  30   1   2
Head       4   4   0  -2
`)
  })
  it("wraps when the terminal is narrow, and never exceeds its width", () => {
    const numbers = Array.from({ length: 40 }, (_, at) => at)
    const product_name = "A loudspeaker with a very long name that goes on and on"
    const many = [{ product_id: 1, product_name, days: days("2027-06-29", numbers) }]
    for (const columns of [20, 40, 61, 80, 200]) {
      const lines = gridText(many, terminal(columns)).split("\n")
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns)
      expect(lines.join(" ").match(/ 39\b/g)).toHaveLength(1)
    }
  })
  it("uses colour when enabled, and no escape sequence otherwise", () => {
    expect(gridText(products, terminal(80))).not.toMatch(escapes)
    expect(escapeForTerminal(gridText(products, terminal(80, { colour: true })))).toContain("\u001b[31m  -2\u001b[0m")
  })
  it("is one line per product and day in a pipe", () => {
    expect(gridText(products, terminal(80, { is_tty: false, colour: true }))).toBe(
      "1\tHead\t2027-06-29\t4\n1\tHead\t2027-06-30\t4\n1\tHead\t2027-07-01\t0\n1\tHead\t2027-07-02\t-2\n"
    )
  })
  it("removes escape sequences from names", () => {
    expect(gridText([{ ...products[0]!, product_name: "\u001b[2Jgone" }], terminal(80))).not.toMatch(escapes)
  })
  it("prints a message if there are no products", () => {
    expect(gridText([], terminal(80))).toMatch(/^Nothing is kept/)
    expect(gridText([], terminal(80, { is_tty: false }))).toBe("")
  })
})

describe("the chart of a product's bookings as text", () => {
  it("is bars under months and Mondays, with lighter buffers and marked shortages", () => {
    const one = demand("2027-07-01T09:00:00.000Z", "2027-07-03T09:00:00.000Z", {
      period_start: "2027-06-30T09:00:00.000Z",
      period_end: "2027-07-04T09:00:00.000Z"
    })
    const short = { from: "2027-07-02", to: "2027-07-02", severity: 1 }
    const week = chart("2027-06-28T00:00:00.000Z", "2027-07-06T00:00:00.000Z", [one], [short])
    expect(`\n${chartText(week, "UTC", terminal(80))}`).toBe(`
stock 4    2027-06-28 to 2027-07-06
           Jun
           28     5
2× Gala    ··░███░·· reserved
short          !    
`)
  })
  it("shows several days per column when the window is wider than the terminal, up to the last day", () => {
    const long = { source_name: "A subject longer than any terminal is wide, really", phase: "on_hire" }
    const last_day = demand("2027-12-31T09:00:00.000Z", "2027-12-31T18:00:00.000Z", long)
    const year = chart("2027-01-01T00:00:00.000Z", "2027-12-31T00:00:00.000Z", [last_day])
    for (const columns of [30, 60, 80, 132]) {
      const lines = chartText(year, "UTC", terminal(columns)).split("\n")
      expect(Math.max(...lines.slice(1).map(widthOf))).toBeLessThanOrEqual(columns)
      expect(lines[0]).toContain("2027-01-01 to 2027-12-31")
      expect(lines[0]).toMatch(/, \d+ days a column$/)
      expect(lines.find((line) => line.includes("·"))).toMatch(/·█ on hire$/)
    }
    expect(chartText(year, "UTC", terminal(500))).not.toContain("a column")
  })
  it("has the store's days, also over a clock change", () => {
    // Midnight of 29 March 2027 in London is 23:00 UTC of the day before.
    const one = demand("2027-03-28T23:00:00.000Z", "2027-03-29T23:00:00.000Z")
    expect(
      chartText(chart("2027-03-27T00:00:00.000Z", "2027-03-29T23:00:00.000Z", [one]), "Europe/London", terminal(80))
    ).toContain(" ··█· reserved")
  })
  it("is replaced by a message if the product has no bookings", () => {
    expect(chartText(chart("2027-03-27T00:00:00.000Z", "2027-03-29T00:00:00.000Z", []), "UTC", terminal(80))).toContain(
      "Nobody claims it in this window."
    )
  })
  it("is one line per booking in a pipe", () => {
    const one = demand("2027-03-27T09:00:00.000Z", "2027-03-28T09:00:00.000Z", { asset_serial: "S-1" })
    const days = chart("2027-03-27T00:00:00.000Z", "2027-03-29T00:00:00.000Z", [one])
    expect(chartText(days, "UTC", terminal(80, { is_tty: false }))).toBe(
      "2027-03-27T09:00:00.000Z\t2027-03-28T09:00:00.000Z\t2027-03-27T09:00:00.000Z\t2027-03-28T09:00:00.000Z\treserved\t2\tS-1\tGala\n"
    )
  })
})
