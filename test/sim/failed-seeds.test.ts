/** Seeds that ever failed, with what they found, stay; and the simulation itself can be trusted. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { committedBytes } from "./disk.ts"
import { simulate } from "./simulate.ts"

interface FailedSeed { readonly seed: number; readonly replicas?: number; readonly steps?: number; readonly found: string }
const failed_seeds = JSON.parse(readFileSync(new URL("failed-seeds.json", import.meta.url), "utf8")) as ReadonlyArray<FailedSeed>

it("seeds that once failed pass", async () => {
  expect(new Set(failed_seeds.map(({ seed }) => seed)).size).toBe(failed_seeds.length)
  for (const { seed, found, ...options } of failed_seeds) {
    const outcome = await simulate(seed, options)
    expect(outcome.submitted, found).toBe(outcome.accepted + outcome.refused)
  }
}, 600_000)

describe("the simulation", () => {
  it("plays the same seed the same way twice", async () => {
    const told = async (seed: number): Promise<ReadonlyArray<string>> => {
      const lines: Array<string> = []
      await simulate(seed, { trace: (line) => { lines.push(line) } })
      return lines
    }
    for (const seed of [3, 17, 42, 94]) {
      const once = await told(seed)
      expect(once.length).toBeGreaterThan(10)
      expect(await told(seed)).toEqual(once)
    }
  })
  it("knows where the last commit of a write-ahead log ends", () => {
    const page = 512
    const wal = Buffer.alloc(32 + 3 * (24 + page))
    wal.writeUInt32BE(page, 8)
    wal.fill(7, 16, 24)
    for (const [frame, pages_after_commit] of [0, 2, 0].entries()) {
      const at = 32 + frame * (24 + page)
      wal.writeUInt32BE(pages_after_commit, at + 4)
      wal.fill(7, at + 8, at + 16)
    }
    expect(committedBytes(wal)).toBe(32 + 2 * (24 + page))
    expect(committedBytes(wal.subarray(0, 40))).toBe(0)
    // Frames of an earlier round, told by their salts, are not of this log.
    wal.fill(9, 32 + (24 + page) + 8, 32 + (24 + page) + 16)
    expect(committedBytes(wal)).toBe(0)
  })
})
