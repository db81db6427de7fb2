/** Boards in a real browser, at the sizes of walls and phones. Skipped without Chromium. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type BoardHouse, busyDay, lookAtOnce, lookInEveryView, loseAndEnd, stocked } from "../../../browser/boards.ts"
import { chromiumPath, openBrowser } from "../../../browser/browser.ts"
import { openHouse } from "../../../browser/house.ts"

const path = chromiumPath()

describe.skipIf(path === undefined)("a board at 390, 1280 and 1920 pixels, light and dark", () => {
  let house: BoardHouse, browser: Browser, folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-board-"))
    house = await stocked(await openHouse(folder))
    browser = await openBrowser(path ?? "")
  }, 600_000)
  afterAll(async () => {
    await browser?.close()
    await house?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const made = async (json: object) => (await house.did("POST", "/boards", json)).board
  const complaintsOf = async (look: typeof lookAtOnce, url: string): Promise<ReadonlyArray<string>> => {
    const said: Array<string> = []
    await look({ house, browser, say: (text) => void said.push(text) }, url, "board")
    return said
  }

  it("is legible when empty, and says so", async () => {
    expect(await complaintsOf(lookAtOnce, (await made({ name: "Empty", store_id: 1 })).url)).toEqual([])
  }, 600_000)
  it("shows a change without reloading, and truncates a long name", async () => {
    const { url } = await made({ name: "Office at the far end of the first floor, ".repeat(2) })
    expect(await complaintsOf(lookInEveryView, url)).toEqual([])
  }, 600_000)
  it("shows part of 60 entries with very long names, and how many more there are", async () => {
    await busyDay(house)
    const { url } = await made({ name: "Warehouse", store_id: 1 })
    expect(await complaintsOf(lookInEveryView, url)).toEqual([])
  }, 600_000)
  it("shows the age of its contents without a connection, and that it has ended", async () => {
    const board = await made({ name: "Passing", store_id: 1 })
    const { ended, lost } = await loseAndEnd({ house, browser, say: () => {} }, board)
    expect(lost).toMatch(/^No connection\. As of \d\d:\d\d, 3 minutes ago$/)
    expect(ended).toMatch(/^This board has ended\./)
  }, 600_000)
})
