/** A shortened evening; `node test/e2e/offline-evening.ts` runs a full one. */
import { expect, it, vi } from "vitest"
import { freshDatabase } from "../postgres.ts"
import { spendEvening } from "./offline-evening.ts"

// Some two hundred processes on a busy machine.
vi.setConfig({ testTimeout: 900_000 })

const commands = 40

it("two command lines that are cut off and killed at random sync with the server without losses", async () => {
  const database = await freshDatabase()
  try {
    const figures = await spendEvening({ commands, seed: 3, database: database.url })
    expect(figures.faults).toEqual([])
    for (const { by_state, submitted } of figures.devices) {
      expect(submitted).toBeGreaterThanOrEqual(commands)
      expect(Object.values(by_state).reduce((sum, count) => sum + count, 0)).toBe(submitted)
      expect(by_state["accepted"]).toBeGreaterThan(0)
    }
    // The test is worthless unless users conflicted and processes were killed.
    const [ada, ben] = figures.devices
    expect(ada!.submitted + ben!.submitted - (ada!.by_state["accepted"]! + ben!.by_state["accepted"]!)).toBeGreaterThan(
      0
    )
    expect(figures.kills.working + figures.kills.syncing).toBeGreaterThan(0)
    expect(figures.kills.server).toBeGreaterThan(0)
  } finally {
    await database.drop()
  }
})
