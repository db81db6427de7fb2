/**
 * The simulation itself: runs repeat exactly, failures say how to replay them, and its disk keeps no more than a real
 * one.
 */
import { copyFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { plays_everything } from "../app.ts"
import { randomOf } from "./random.ts"
import { afterPowerCut, assertSound, committedBytes, newFolder, type Synchronous } from "./disk.ts"
import { simulate } from "./simulate.ts"

describe("the simulation", () => {
  it("plays a seed the same way twice", async () => {
    const told = async (seed: number): Promise<ReadonlyArray<string>> => {
      const lines: Array<string> = []
      await simulate(seed, {
        trace: (line) => {
          lines.push(line)
        }
      })
      return lines
    }
    for (const seed of plays_everything ? [3, 17, 42, 94] : [42]) {
      const once = await told(seed)
      expect(once.length).toBeGreaterThan(10)
      expect(await told(seed)).toEqual(once)
    }
  })
  it("prints how to replay a failed seed", async () => {
    const broken = simulate(42, {
      steps: 4,
      trace: (line) => {
        if (line === "peace") throw new Error("broken on purpose")
      }
    })
    await expect(broken).rejects.toThrow(
      /^seed 42 \(\d replicas, 4 steps\): broken on purpose\n.*npm run sim -- --seed 42 --steps 4 --trace$/
    )
  })
  it("finds the end of the last commit in a write-ahead log", () => {
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
    // Frames of an earlier cycle, detected by their salts, are not part of this log.
    wal.fill(9, 32 + (24 + page) + 8, 32 + (24 + page) + 16)
    expect(committedBytes(wal)).toBe(0)
  })
})

describe("a simulated power cut", () => {
  let folder: string
  beforeAll(() => {
    folder = newFolder("disk")
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const rows = 400
  /** Results for a database with a large log after a number of power cuts, each on its own copy. */
  const cut = (synchronous: Synchronous, look: (copy: string, torn_pages: number) => void): void => {
    const path = join(folder, `${synchronous}.sqlite`),
      copy = join(folder, "copy.sqlite")
    const database = new DatabaseSync(path)
    database.exec("pragma journal_mode = wal")
    database.exec(`pragma synchronous = ${synchronous}`)
    database.exec("create table if not exists lines (id integer primary key, text text)")
    const insert = database.prepare("insert into lines (text) values (?)")
    for (let at = 0; at < rows / 2; at++) insert.run("x".repeat(at * 3))
    database.exec("pragma wal_checkpoint(truncate)")
    database.exec("update lines set text = text || 'y'")
    for (let at = 0; at < rows / 2; at++) insert.run("z".repeat(at * 3))
    for (let seed = 1; seed <= 20; seed++) look(copy, afterPowerCut(randomOf(seed), path, copy).torn_pages)
    database.close()
  }
  const lines = (path: string): number => {
    const database = new DatabaseSync(path)
    try {
      return Number(
        database.prepare("select count(*) as count from lines where text glob '*[yz]' or text = ''").get()!["count"]
      )
    } finally {
      database.close()
    }
  }
  const isDamaged = (path: string): boolean => {
    try {
      assertSound(path)
    } catch {
      return true
    }
    return false
  }

  it("tears pages, but loses nothing if commits are synced, because the log repairs them", () => {
    let torn = 0,
      damaged_without_log = 0
    cut("full", (copy, torn_pages) => {
      torn += torn_pages
      copyFileSync(copy, `${copy}-alone`)
      if (isDamaged(`${copy}-alone`)) damaged_without_log++
      expect(isDamaged(copy)).toBe(false)
      expect(lines(copy)).toBe(rows)
    })
    expect(torn).toBeGreaterThan(20)
    expect(damaged_without_log).toBeGreaterThan(2)
  })
  it("loses commits, but damages nothing, if the log is synced only before checkpoints", () => {
    const kept = new Set<boolean>()
    cut("normal", (copy) => {
      expect(isDamaged(copy)).toBe(false)
      kept.add(lines(copy) === rows)
    })
    expect(kept).toEqual(new Set([true, false]))
  })
  it("can damage a database that is never synced", () => {
    const damaged = new Set<boolean>()
    cut("off", (copy) => {
      damaged.add(isDamaged(copy))
    })
    expect(damaged.has(true)).toBe(true)
  })
})
