import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import {
  arrivedText,
  asOfText,
  background_lock,
  readAttempt,
  refreshBefore,
  refreshFirst,
  saveAttempt,
  shouldSync,
  watch_lock
} from "../../cli/context/background.ts"
import { nothing_written } from "../../cli/base/server-choice.ts"
import type { Device } from "../../sync/device/device.ts"
import { takeLock } from "../../sync/sqlite/file-lock.ts"

type SyncOccasion = Parameters<typeof shouldSync>[0]

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

  it("is reported by the next command also where an older release left only the number of refusals", () => {
    saveAttempt(folder, { tried_at: now, ok: true, conflicts: 2, failures: 0 })
    expect(arrivedText(folder)).toBe("2 commands were refused: flightcase sync conflicts")
    expect(arrivedText(folder)).toBeUndefined()
  })
  it("starts if commands are pending or the replica is over ten minutes old", () => {
    expect(worth()).toBe(true)
    expect(worth({ pending: false })).toBe(false)
    expect(worth({ pending: false, synced_at: new Date(now - minutes(11)).toISOString() })).toBe(true)
    expect(worth({ pending: false, synced_at: null })).toBe(true)
  })
  it("never starts offline or with FLIGHTCASE_NO_BACKGROUND", () => {
    expect(worth({ offline: true })).toBe(false)
    expect(worth({ env: { FLIGHTCASE_NO_BACKGROUND: "1" } })).toBe(false)
    expect(worth({ env: { FLIGHTCASE_NO_BACKGROUND: "0" } })).toBe(true)
  })
  it("waits longer after more failures, at most ten minutes", () => {
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
    // A clock set back does not silence it for ever.
    failed(1, -minutes(600))
    expect(worth()).toBe(true)
  })
  it.each([watch_lock, background_lock])("does not start while another process holds %s", (name) => {
    const held = takeLock(folder, name)
    expect(held).toBeDefined()
    expect(takeLock(folder, name)).toBeUndefined()
    expect(readdirSync(folder)).toEqual([name])
    expect(worth()).toBe(false)
    held?.release()
    expect(worth()).toBe(true)
  })
  describe("before a read", () => {
    const old = new Date(now - minutes(2)).toISOString()
    /** The longest wait, and whether a refresh is still running; undefined if none was started. */
    const refreshed = async (more: Partial<SyncOccasion>, is_quick = true) => {
      const waits: Array<number> = []
      const occasion = { folder, profile: "default", env: {}, offline: false, pending: false, synced_at: old, ...more }
      const is_refreshing = await refreshFirst(occasion, now, async (_occasion, patience) => {
        waits.push(patience)
        return is_quick
      })
      return waits.length === 0 ? undefined : { waits, is_refreshing }
    }
    it("waits for the server, at most 1.5 seconds", async () => {
      expect(await refreshed({})).toEqual({ waits: [1_500], is_refreshing: false })
      expect(await refreshed({}, false)).toEqual({ waits: [1_500], is_refreshing: true })
    })
    it("does not wait if the replica is younger than a minute or was never filled", async () => {
      expect(await refreshed({ synced_at: new Date(now - 59_999).toISOString(), pending: true })).toBeUndefined()
      expect(await refreshed({ synced_at: new Date(now - 60_000).toISOString() })).toBeDefined()
      expect(await refreshed({ synced_at: null })).toBeUndefined()
    })
    it("waits if the last sync is later than this clock, which was set back since", async () => {
      expect(await refreshed({ synced_at: new Date(now + minutes(180)).toISOString() })).toBeDefined()
    })
    it("does not wait offline, shortly after a failure or during another sync", async () => {
      expect(await refreshed({ offline: true })).toBeUndefined()
      saveAttempt(folder, { tried_at: now - 1_000, ok: false, conflicts: 0, failures: 1 })
      expect(await refreshed({})).toBeUndefined()
      saveAttempt(folder, { tried_at: now - 1_000, ok: true, conflicts: 0, failures: 0 })
      const held = takeLock(folder, watch_lock)
      expect(await refreshed({})).toBeUndefined()
      held?.release()
    })
  })
  it("does not make a read fail if the replica's age cannot be read", async () => {
    const device = { place: () => Promise.reject(new Error("database is locked")) } as unknown as Device
    const asked = { env: {}, offline: false, written: nothing_written, note: () => {} }
    const refreshing = refreshBefore(device, { ...asked, folder: () => folder, profile: () => "default" })
    expect(await refreshing).toBe(false)
  })
  it("has its result reported once", () => {
    expect(arrivedText(folder)).toBeUndefined()
    const arrived = "2 commands were refused: flightcase sync conflicts"
    saveAttempt(folder, { tried_at: now, ok: true, conflicts: 2, different: 1, arrived, failures: 0 })
    expect(arrivedText(folder)).toBe(arrived)
    expect(arrivedText(folder)).toBeUndefined()
    expect(readAttempt(folder)).toEqual({ tried_at: now, ok: true, conflicts: 0, different: 0, failures: 0 })
  })
  it("starts if the last sync is later than this clock, which was set back since", () => {
    expect(worth({ pending: false, synced_at: new Date(now + minutes(180)).toISOString() })).toBe(true)
    expect(worth({ pending: false, synced_at: new Date(now + 5_000).toISOString() })).toBe(false)
  })
})

describe("the age of a response from the replica", () => {
  it.each([
    [59, undefined],
    [61, "1 min ago"],
    [12 * 60, "12 min ago"],
    [5 * 3600, "5 h ago"],
    [72 * 3600, "3 days ago"]
  ] as const)("is given after %i seconds as: %s (undefined: omitted)", (seconds, expected) => {
    const text = asOfText(new Date(now - seconds * 1_000).toISOString(), now, "America/New_York")
    if (expected === undefined) expect(text).toBeUndefined()
    else expect(text).toMatch(new RegExp(`^As of (\\d{4}-\\d{2}-\\d{2} )?\\d{2}:\\d{2}, ${expected}$`))
  })
  it("is shown on the store's clock, with the date where it differs there", () => {
    const text = (synced_at: string, zone?: string) => asOfText(synced_at, now, zone)
    expect(text("2026-07-01T11:30:00.000Z", "America/New_York")).toBe("As of 07:30, 30 min ago")
    expect(text("2026-07-01T03:30:00.000Z", "America/New_York")).toBe("As of 2026-06-30 23:30, 8 h ago")
    expect(text("2026-07-01T11:30:00.000Z")).toBe("As of 11:30Z, 30 min ago")
  })
  it("says that it is unknown where the last sync is later than this clock", () => {
    expect(asOfText("2026-07-01T15:00:00.000Z", now, "Europe/London")).toBe("As of 16:00, later than this clock")
  })
  it("is omitted for a replica that has never synced", () => {
    expect(asOfText(null, now, undefined)).toBeUndefined()
  })
})
