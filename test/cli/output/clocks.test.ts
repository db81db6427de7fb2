import { describe, expect, it } from "vitest"
import { clocksOver } from "../../../cli/context/clocks.ts"
import { column, recordText, tableText } from "../../../cli/output/table.ts"
import type { Json } from "../../../core/kernel/fields/field.ts"

const terminal = { is_tty: true, progress: false, colour: false, columns: 80 }
const clocks = (answers: { readonly [path: string]: Json }) =>
  clocksOver(async ({ path }) => {
    const body = answers[path]
    return body === undefined ? { status: 403, body: { message: "No." } } : { status: 200, body }
  })
const answers = {
  "/api/v1/settings/company": { settings: { timezone: "Europe/London" } },
  "/api/v1/stores": {
    stores: [
      { id: 1, timezone: "America/New_York", is_default: true },
      { id: 2, timezone: null }
    ]
  }
}

describe("times on a terminal", () => {
  it("are in the zone of the row's store, else the company's", async () => {
    const { look, zoneHere, zoneOf } = clocks(answers)
    await look()
    expect(zoneHere()).toBe("America/New_York")
    const at = "2026-07-01T09:00:00.000Z"
    const rows = [{ store_id: 1, at }, { store_id: 2, at }, { store_id: null, at }, { at }]
    expect(tableText([column("at")], rows, { ...terminal, zoneOf }).split("\n")).toEqual([
      "AT",
      "2026-07-01 05:00",
      "2026-07-01 10:00",
      "2026-07-01 10:00",
      "2026-07-01 10:00",
      ""
    ])
    expect(recordText({ store_id: 1, at, lines: [{ at }] }, { ...terminal, zoneOf })).toMatch(
      /at {8}2026-07-01 05:00[^]*\n2026-07-01 05:00\n/
    )
  })
  it("use the default store's zone for users who may not see settings, and UTC if no store is known", async () => {
    const seller = clocks({ "/api/v1/stores": answers["/api/v1/stores"] })
    await seller.look()
    expect(seller.zoneOf({})).toBe("America/New_York")
    const nobody = clocks({})
    await nobody.look()
    const row = { at: "2026-07-01T09:00:00.000Z" }
    expect(tableText([column("at")], [row], { ...terminal, zoneOf: nobody.zoneOf })).toBe("AT\n2026-07-01 09:00Z\n")
  })
})
