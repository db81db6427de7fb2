/** Responses and files are decoded: an unexpected form is reported in words, instead of becoming undefined later. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { decodeAnswer, objectBody, plainJson, rowIn, rowsIn, rowsOr } from "../../cli/base/answers.ts"
import { readAttempt, saveAttempt } from "../../cli/context/background.ts"
import { resumable } from "../../cli/commands/imports/import/send.ts"
import { CliError, exit_codes } from "../../cli/base/exit-codes.ts"
import { decodeCalendar, decodeGantt } from "../../cli/views/answers.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "flightcase-answers-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const errorOf = (work: () => unknown): CliError => {
  try {
    work()
  } catch (error) {
    if (error instanceof CliError) return error
    throw error
  }
  throw new Error("nothing was thrown")
}

describe("a server's responses at the command line", () => {
  it("are refused with exit code 1 if a key is missing or has another type", () => {
    for (const work of [
      () => rowIn({ products: [] }, "product"),
      () => rowIn([], "product"),
      () => rowsIn({ products: [1] }, "products"),
      () => objectBody("text"),
      () => decodeAnswer(decodeCalendar, { calendar: { products: [{ product_id: "1" }] } })
    ]) {
      const { code, message, way_out } = errorOf(work)
      expect({ code, message }).toEqual({
        code: exit_codes.failed,
        message: expect.stringMatching(/^The answer cannot/)
      })
      expect(message).not.toContain("\n")
      expect(way_out).toContain("Update Flightcase")
    }
  })
  it("are accepted with unknown keys and with values of a later release", () => {
    const chart = { from: "2026-01-01T00:00:00.000Z", to: "2026-01-02T00:00:00.000Z", total_stock: 1, shortages: [] }
    const times = { period_start: "a", period_end: "b", starts_at: "c", ends_at: "d" }
    const demand = {
      demand_id: 1,
      asset_id: null,
      asset_serial: null,
      quantity: 1,
      source_type: "x",
      source_name: null
    }
    const body = { gantt: { ...chart, later: 1, demands: [{ ...demand, ...times, phase: "of a later release" }] } }
    expect(decodeAnswer(decodeGantt, body).gantt.demands[0]?.phase).toBe("of a later release")
    expect(rowIn({ product: { id: 1, later: [] } }, "product")).toEqual({ id: 1, later: [] })
    expect(rowsOr([{ id: 1 }, null])).toEqual([{ id: 1 }])
    expect(rowsOr(undefined)).toEqual([])
  })
  it("are printed as plain JSON, with times as text and without undefined keys", () => {
    expect(plainJson({ a: undefined, b: new Date(0), c: [{ d: null }] })).toEqual({
      b: "1970-01-01T00:00:00.000Z",
      c: [{ d: null }]
    })
  })
})

describe("files of the command line", () => {
  it("are ignored if damaged or of another format: an import's checkpoint", () => {
    const at = (text: string) => {
      writeFileSync(join(folder, "one.json"), text)
      return resumable(folder, "one", false).at.rows
    }
    const counts = { created: 1, updated: 0, unchanged: 0, rejected: 0 }
    expect(at(JSON.stringify({ rows: 1, counts, verdict_bytes: 0 }))).toBe(1)
    expect(at(JSON.stringify({ rows: "1", counts, verdict_bytes: 0 }))).toBe(0)
    expect(at(JSON.stringify({ rows: 1, counts: {}, verdict_bytes: 0 }))).toBe(0)
    expect(at("{")).toBe(0)
  })
  it("are ignored if damaged or of another format: the record of the last background sync", () => {
    const attempt = { tried_at: 1, ok: false, reason: "away", conflicts: 0, failures: 2 }
    saveAttempt(folder, attempt)
    expect(readAttempt(folder)).toEqual(attempt)
    writeFileSync(join(folder, "background.json"), JSON.stringify({ ...attempt, failures: "many" }))
    expect(readAttempt(folder)).toBeUndefined()
  })
})
