/** Faults of boards at the sizes of a phone, a desk and a wall, light and dark. */
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { axeFaults } from "./axe.ts"
import { type House, listenToPage, too_wide } from "./house.ts"
import { share } from "../share.ts"

const hour = 3_600_000
const inHours = (hours: number): string => new Date(Date.now() + hours * hour).toISOString()

const customers = [
  "Zürcher Bühnentechnik AG",
  "Ann Lee",
  "Royal Court of Very Long Names and Sons Ltd",
  "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
  "مهرجان الصيف 2026 المسرح",
  `<script>alert("x")</script> & 'Sons'`
]
interface Order {
  readonly subject: string
  /** Hours from now. */
  readonly from: number
  readonly to: number
  readonly quantity: number
  /** Pieces out. */
  readonly out?: number
}
export interface BoardHouse extends House {
  readonly ordered: (order: Order) => Promise<void>
}
export const stocked = async (house: House): Promise<BoardHouse> => {
  const { did } = house
  const { product } = await did("POST", "/products", { name: "Lamp", stock_method: 1 })
  const [level] = (await did("GET", `/stock_levels?q[product_id_eq]=${product.id}`)).stock_levels
  await did("PUT", `/stock_levels/${level.id}`, { quantity_held: "200" })
  const members: Array<number> = []
  for (const name of customers)
    members.push((await did("POST", "/members", { name, membership_type: "organisation" })).member.id)
  let count = 0
  const ordered = async ({ from, out = 0, quantity, subject, to }: Order): Promise<void> => {
    const { opportunity } = await did("POST", "/opportunities", {
      subject,
      member_id: members[count++ % members.length],
      store_id: 1,
      starts_at: inHours(from),
      ends_at: inHours(to)
    })
    const at = `/opportunities/${opportunity.id}`
    const { opportunity: lined } = await did("POST", `${at}/items`, { item_id: product.id, name: "Lamp", quantity })
    await did("POST", `${at}/convert_to_quotation`, {})
    await did("POST", `${at}/convert_to_order`, {})
    if (out > 0)
      await did("PATCH", `${at}/items/${lined.items[0].id}/fulfilment`, { action: "dispatch", quantity: out })
  }
  return { ...house, ordered }
}
/** A day with an entry in every list, and 60 entries in some. */
export const busyDay = async ({ ordered }: BoardHouse): Promise<void> => {
  for (let n = 0; n < 60; n++)
    await ordered({
      subject: `Gala ${n} with a subject that goes on for rather long`,
      from: -1 + n / 1000,
      to: 30,
      quantity: n % 3 === 0 ? 4 : 2,
      ...(n % 3 === 0 ? { out: 2 } : {})
    })
  for (let n = 0; n < 8; n++) await ordered({ subject: `Late ${n}`, from: -60, to: -20 + n, quantity: 3, out: 3 })
  for (let n = 0; n < 8; n++)
    await ordered({ subject: `Returning ${n}`, from: -60, to: 0.05 + n / 100, quantity: 2, out: 2 })
  for (let n = 0; n < 8; n++) await ordered({ subject: `Too many ${n}`, from: 30, to: 60, quantity: 190 })
}

const views = share(
  [
    { width: 390, height: 844 },
    { width: 1280, height: 800 },
    { width: 1920, height: 1080 }
  ].flatMap((size) => (["light", "dark"] as const).map((scheme) => ({ ...size, scheme })))
)
type View = (typeof views)[number]

/**
 * Capitals of 1/250 of the distance are easy to read: 16 mm at four metres, 36 pixels of type on a screen of 55 inches
 * (1920 pixels on 1210 mm). Secondary text may be two thirds of that.
 */
const read_pixels = 36
const looked_up_pixels = 24
const measured = (view: View): string => `(() => {
  const wrong = [...(${too_wide})]
  const shown = (one) => one.getClientRects().length > 0 && one.getBoundingClientRect().width > 0
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown)
  const numbers = all("li").map((row) => row.dataset.order)
  if (new Set(numbers).size !== numbers.length) wrong.push("an order is listed twice: " + numbers)
  for (const row of all("li")) {
    const event = row.querySelector("strong + small").getBoundingClientRect(), own_row = row.getBoundingClientRect()
    if (event.width < 40 || event.bottom > own_row.bottom + 1) wrong.push("no event is to be read: " + row.textContent)
    if (row.className === "late" && !row.textContent.includes("late")) wrong.push("late in colour only")
    const own = row.getBoundingClientRect(), around = row.closest("section").getBoundingClientRect()
    if (own.right > around.right + 1 || own.left < around.left - 1)
      wrong.push("a row leaves its list: " + row.textContent)
    const cells = [...row.children].map((one) => one.getBoundingClientRect())
    for (let n = 1; n < cells.length; n++)
      if (cells[n].left < cells[n - 1].right - 1 && cells[n].top < cells[n - 1].bottom - 1)
        wrong.push("cells lie on each other: " + row.textContent)
  }
  if (${view.width} >= 1280 && document.documentElement.scrollHeight > innerHeight)
    wrong.push("the screen does not show all: " + document.documentElement.scrollHeight + " of " + innerHeight)
  if (${view.width} >= 1900) {
    const sizes = {
      "h1, h2, li b, li strong, #clock": ${read_pixels},
      "li em, li small, footer p": ${looked_up_pixels}
    }
    for (const [selector, least] of Object.entries(sizes))
      for (const one of all(selector)) {
        const size = parseFloat(getComputedStyle(one).fontSize)
        if (size < least) wrong.push(one.tagName + " is " + size + " pixels high: " + one.textContent)
      }
  }
  const channel = (value) => { const s = value / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4 }
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number)
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b)
  }
  const ground = (one) => {
    const colour = getComputedStyle(one).backgroundColor
    return colour === "rgba(0, 0, 0, 0)" && one.parentElement !== null ? ground(one.parentElement) : colour
  }
  for (const one of all("h1, h2, h2 i, li b, li strong, li small, li em, footer p, .nothing")) {
    const [ink, paper] = [light(getComputedStyle(one).color), light(ground(one))]
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)
    if (contrast < 4.5) wrong.push(one.tagName + " has a contrast of " + contrast.toFixed(1) + ": " + one.textContent)
  }
  return wrong
})()`

interface Looking {
  readonly house: BoardHouse
  readonly browser: Browser
  /** Folder for pictures; none are taken without it. */
  readonly folder?: string
  readonly say: (text: string) => void
}
const opened = async (
  { browser, house, say }: Looking,
  url: string,
  view: View,
  look: (page: Page, say: (text: string) => void) => Promise<void>
): Promise<void> => {
  const { height, scheme, width } = view
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme })
  try {
    const page = await context.newPage()
    const of_view = (text: string): void => say(`${width} ${scheme}: ${text}`)
    listenToPage(page, house.url, of_view)
    await page.goto(url)
    await page.waitForSelector("#clock:has-text(':')")
    await look(page, of_view)
  } finally {
    await context.close()
  }
}
const take = async (page: Page, folder: string | undefined, name: string, fullPage = false): Promise<void> => {
  if (folder !== undefined) await page.screenshot({ path: join(folder, `board-${name}.png`), fullPage })
}
const seen = async (page: Page, { folder }: Looking, name: string, view: View, say: (text: string) => void) => {
  for (const wrong of await page.evaluate<ReadonlyArray<string>>(measured(view))) say(`${name}: ${wrong}`)
  for (const wrong of await axeFaults(page)) say(`${name}: ${wrong}`)
  const fullPage = view.width < 1280
  await take(page, folder, `${name}-${view.width}-${view.scheme}`, fullPage)
}

let changes = 0
/** Faults in every view, and of a change that must appear without reloading the page. */
export const lookInEveryView = async (looking: Looking, url: string, name: string): Promise<void> => {
  for (const view of views)
    await opened(looking, url, view, async (page, say) => {
      await page.evaluate("window.was_here = true")
      const subject = `New ${name} ${view.width} ${view.scheme}`
      // Earlier than the others, so that it is among the visible entries.
      await looking.house.ordered({ subject, from: -9 - ++changes / 10, to: 40, quantity: 1 })
      await page.waitForSelector(`text=${subject}`, { state: "attached" })
      if ((await page.evaluate("window.was_here")) !== true) say("the page was loaded again")
      await seen(page, looking, name, view, say)
    })
}
/** Faults in every view, without changes. */
export const lookAtOnce = async (looking: Looking, url: string, name: string): Promise<void> => {
  for (const view of views) await opened(looking, url, view, (page, say) => seen(page, looking, name, view, say))
}

/** Cuts an open board off from its server, reconnects it and ends the board; returns both messages. */
export const loseAndEnd = async (
  { browser, folder, house }: Looking,
  board: { readonly id: number; readonly url: string }
): Promise<{ readonly lost: string; readonly ended: string }> => {
  const context = await browser.newContext({ viewport: { width: 1920, height: 1080 } })
  try {
    const page = await context.newPage()
    await page.clock.install()
    await page.goto(`${board.url}?theme=dark`)
    await page.waitForSelector("section.late")
    await context.setOffline(true)
    await page.clock.fastForward(3 * 60_000)
    await page.waitForSelector("#lost:visible")
    const lost = (await page.textContent("#lost")) ?? ""
    await take(page, folder, "lost")
    await context.setOffline(false)
    await house.did("DELETE", `/boards/${board.id}`)
    for (let n = 0; n < 100 && !((await page.textContent("body")) ?? "").includes("has ended"); n++) {
      await page.clock.fastForward(5_000)
      await new Promise((resume) => setTimeout(resume, 100))
    }
    await take(page, folder, "ended")
    return { lost, ended: (await page.textContent("#day")) ?? "" }
  } finally {
    await context.close()
  }
}
