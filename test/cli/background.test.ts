import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import {
  arrivedText,
  background_lock,
  saveAttempt,
  type SyncOccasion,
  readAttempt,
  watch_lock,
  shouldSync
} from "../../cli/background.ts"
import { takeLock } from "../../sync/sqlite/file-lock.ts"

const now = Date.parse("2026-07-01T12:00:00Z")
const minutes = (count: number): number => count * 60_000

describe("a sync in the background", () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-background-"))
  })
  afterEach(() => {
    rmSync(folder, { recursive: true })
  })
  const worth = (more: Partial<SyncOccasion> = {}): boolean =>
    shouldSync(
      {
        folder,
        profile: "default",
        env: {},
        offline: false,
        pending: true,
        synced_at: new Date(now).toISOString(),
        ...more
      },
      now
    )

  it("is worth it when something is pending, or the replica has grown old", () => {
    expect(worth()).toBe(true)
    expect(worth({ pending: false })).toBe(false)
    expect(worth({ pending: false, synced_at: new Date(now - minutes(11)).toISOString() })).toBe(true)
    expect(worth({ pending: false, synced_at: null })).toBe(true)
  })
  it("is never started offline, or where it is switched off", () => {
    expect(worth({ offline: true })).toBe(false)
    expect(worth({ env: { FLIGHTCASE_NO_BACKGROUND: "1" } })).toBe(false)
    expect(worth({ env: { FLIGHTCASE_NO_BACKGROUND: "0" } })).toBe(true)
  })
  it("leaves a network alone that was not there a moment ago, longer each time", () => {
    const failed = (failures: number, ago: number): void =>
      saveAttempt(folder, { tried_at: now - ago, ok: false, conflicts: 0, failures })
    failed(1, 10_000)
    expect(worth()).toBe(false)
    failed(1, 15_000)
    expect(worth()).toBe(true)
    failed(4, minutes(1))
    expect(worth()).toBe(false)
    failed(40, minutes(10))
    expect(worth()).toBe(true)
    // A clock put back does not silence it for ever.
    failed(1, -minutes(600))
    expect(worth()).toBe(true)
  })
  it.each([watch_lock, background_lock])("is left to whoever holds %s", (name) => {
    const held = takeLock(folder, name)
    expect(held).toBeDefined()
    expect(takeLock(folder, name)).toBeUndefined()
    expect(worth()).toBe(false)
    held?.release()
    expect(worth()).toBe(true)
  })
  it("has what it found told once", () => {
    expect(arrivedText(folder)).toBeUndefined()
    saveAttempt(folder, { tried_at: now, ok: true, conflicts: 2, failures: 0 })
    expect(arrivedText(folder)).toBe("2 commands were refused: flightcase sync conflicts")
    expect(arrivedText(folder)).toBeUndefined()
    expect(readAttempt(folder)).toMatchObject({ ok: true, conflicts: 0 })
  })
})
