/** All pages of the server in a browser: faults found by axe, and messages on the console. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axeFaults } from "../browser/axe.ts"
import { chromiumPath, openBrowser } from "../browser/browser.ts"
import "../programs.ts"
import { type House, listenToPage, openHouse, too_wide } from "../browser/house.ts"
import { share } from "../share.ts"

const path = chromiumPath()
const guide = ["", "tour", "operations", "glossary", "api"].map((page) => `/guide/${page}`)
const views = share(
  [390, 1280, 1920].flatMap((width) => (["light", "dark"] as const).map((scheme) => ({ width, scheme })))
)

describe.skipIf(path === undefined)("the server's pages", () => {
  let house: House, browser: Browser, folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-pages-"))
    house = await openHouse(folder)
    browser = await openBrowser(path ?? "")
  }, 600_000)
  afterAll(async () => {
    await browser?.close()
    await house?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Creates a quotation; returns its public address. */
  const shared = async (link: object = {}): Promise<string> => {
    const { did } = house
    const { member } = await did("POST", "/members", { name: "Ann Ltd", membership_type: "organisation" })
    const { opportunity } = await did("POST", "/opportunities", { subject: "Summer stage", member_id: member.id })
    const item = { item_type: "service", name: "Operator of lamps", quantity: 2, unit_price: "50.00" }
    await did("POST", `/opportunities/${opportunity.id}/items`, item)
    await did("POST", `/opportunities/${opportunity.id}/convert_to_quotation`, {})
    const { document } = await did("POST", "/documents/generate", {
      documentable_type: "Opportunity",
      documentable_id: opportunity.id,
      document_type: "quotation"
    })
    return (await did("POST", `/documents/${document.id}/public_link`, link)).public_link.url
  }
  const tryPin = async (page: Page, pin: string): Promise<void> => {
    await page.fill("#pin", pin)
    await page.click("button[type=submit]")
  }
  const goes = (address: string) => async (page: Page) => void (await page.goto(house.url + address))
  /** Steps of each visit; the page is checked after each step. */
  const visits: { readonly [name: string]: ReadonlyArray<(page: Page) => Promise<void>> } = {
    "/": [goes("/")],
    "an unknown path": [goes("/nowhere")],
    "/docs, then an operation there": [
      async (page) => {
        await goes("/docs")(page)
        await page.waitForSelector("text=Authentication", { timeout: 180_000 })
      },
      async (page) => {
        await goes("/docs#tag/vehicles/POST/api/v1/vehicles")(page)
        await page.waitForSelector("[id$='POST/api/v1/vehicles']", { timeout: 180_000 })
      }
    ],
    ...Object.fromEntries(
      guide.map((address) => [
        address,
        [
          async (page: Page) => {
            await goes(address)(page)
            await page.waitForSelector(".VPDoc h1")
          }
        ]
      ])
    ),
    "a link that is gone": [goes("/d/nothing")],
    "the question for a PIN, a wrong PIN, then too many": [
      async (page) => void (await page.goto(await shared({ pin: "1234" }))),
      async (page) => {
        await tryPin(page, "9999")
        await page.waitForSelector(".wrong")
      },
      async (page) => {
        while ((await page.$("#pin")) !== null) await tryPin(page, "9999")
      }
    ],
    "a quotation, a form that is refused, then an accepted quotation": [
      async (page) => {
        await page.goto(await shared())
        await page.waitForSelector("#board:visible")
      },
      async (page) => {
        await page.fill("#name", " ")
        await page.check("#accept")
        await page.click("form > button[type=submit]")
        await page.waitForSelector(".wrong")
      },
      async (page) => {
        await page.fill("#name", "Ann Arbor")
        await page.check("#accept")
        await page.click("form > button[type=submit]")
        await page.waitForSelector(".done")
      }
    ],
    "a board that has ended": [
      async (page) => {
        const { board } = await house.did("POST", "/boards", { name: "Passing", store_id: 1 })
        await house.did("DELETE", `/boards/${board.id}`)
        await page.goto(board.url)
        await page.waitForSelector(".nothing")
      }
    ]
  }

  it.each(Object.keys(visits))("are accessible, and log nothing to the console: %s", async (name) => {
    const complaints: Array<string> = []
    for (const { scheme, width } of views) {
      const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme: scheme })
      const page = await context.newPage()
      const say = (text: string): void => void complaints.push(`${width} ${scheme}: ${page.url()}: ${text}`)
      listenToPage(page, house.url, (text) => {
        // The browser logs every error status, and Scalar its version.
        if (!/Failed to load resource|^console: @scalar\/api-reference@/.test(text)) say(text)
      })
      for (const step of visits[name]!) {
        await step(page)
        for (const wrong of await page.evaluate<ReadonlyArray<string>>(too_wide)) say(wrong)
        for (const wrong of await axeFaults(page)) say(wrong)
      }
      await context.close()
    }
    expect(complaints).toEqual([])
  })

  it.each([
    ["restore a backup", "operations#back-up-and-restore"],
    ["backup", "operations#back-up-and-restore"],
    ["tax", "operations#add-a-tax"],
    ["revoke a laptop", "operations#a-laptop-is-lost"],
    ["add a tax", "operations#add-a-tax"]
  ])("lead to the answer to %s by one search of the guide", async (words, found) => {
    const page = await browser.newPage()
    await goes("/guide/")(page)
    await page.click(".VPNavBarSearch button")
    await page.fill(".search-bar input", words)
    await page.waitForSelector(`.results li:nth-child(-n+5) a[href='/guide/${found}']`)
    await page.close()
  })
})
