/**
 * Opens public links in a browser at the sizes of a phone and a desk, light and dark: reads a quotation, enters a PIN,
 * signs and accepts. Prints where the pictures are; exits with 1 if a page has an error: node
 * test/browser/public-page.ts [FOLDER]
 */
import { join } from "node:path"
import type { Page } from "playwright-core"
import { openBrowser } from "./browser.ts"
import { endWith, lookedAtWith, openHouse, too_wide } from "./house.ts"

const { folder, path } = lookedAtWith("public")
const { close, did, url } = await openHouse(folder)
const offered = async (locale: string, lines: number): Promise<number> => {
  const { member } = await did("POST", "/members", { name: "Ann Ltd", membership_type: "organisation", locale })
  const { opportunity } = await did("POST", "/opportunities", {
    subject: "Summer stage",
    member_id: member.id,
    starts_at: "2027-07-01T09:00:00Z",
    ends_at: "2027-07-03T18:00:00Z"
  })
  for (let n = 1; n <= lines; n++)
    await did("POST", `/opportunities/${opportunity.id}/items`, {
      item_type: "service",
      name: `Operator of lamp ${n}, with a name that is rather long`,
      quantity: n,
      unit_price: "50.00"
    })
  await did("POST", `/opportunities/${opportunity.id}/convert_to_quotation`, {})
  const { document } = await did("POST", "/documents/generate", {
    documentable_type: "Opportunity",
    documentable_id: opportunity.id,
    document_type: "quotation"
  })
  return document.id
}
const linkTo = async (id: number, more: object = {}): Promise<string> =>
  (await did("POST", `/documents/${id}/public_link`, more)).public_link.url

const complaints: Array<string> = []
const browser = await openBrowser(path)
const views = [390, 1280].flatMap((width) => (["light", "dark"] as const).map((scheme) => ({ width, scheme })))
const wrongIn = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(`[
    ...(${too_wide}),
    ...[...document.querySelectorAll("input:not([type=hidden])")]
      .filter((one) => one.labels.length === 0)
      .map((one) => one.id + " has no label")
  ]`)
try {
  for (const { scheme, width } of views) {
    const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme: scheme })
    const page = await context.newPage()
    const name = (what: string): string => join(folder, `${what}-${width}-${scheme}.png`)
    const say = (text: string): void => void complaints.push(`${width} ${scheme}: ${text}`)
    let expected = 0
    page.on("console", (message) => {
      // The browser itself logs every status but 200.
      if (!/Failed to load resource/.test(message.text())) say(`console: ${message.text()}`)
      else expected++
    })
    page.on("pageerror", (error) => say(`error: ${error.message}`))
    const seen = async (what: string): Promise<void> => {
      for (const wrong of await wrongIn(page)) say(`${what}: ${wrong}`)
      await page.screenshot({ path: name(what), fullPage: true })
      process.stdout.write(`${name(what)}\n`)
    }
    await page.goto(`${url}/d/nothing`)
    await seen("gone")
    await page.goto(await linkTo(await offered("en", 6), { pin: "1234" }))
    await page.fill("#pin", "9999")
    await page.keyboard.press("Enter")
    await page.waitForSelector(".wrong")
    await seen("pin")
    await page.fill("#pin", "1234")
    await page.keyboard.press("Enter")
    await page.waitForSelector("#board:visible")
    await seen("form")
    await page.locator("#board").scrollIntoViewIfNeeded()
    const board = await page.locator("#board").boundingBox()
    if (board === null) throw new Error("no board")
    await page.mouse.move(board.x + 20, board.y + 20)
    await page.mouse.down()
    await page.mouse.move(board.x + 120, board.y + 70, { steps: 5 })
    await page.mouse.move(board.x + 200, board.y + 15, { steps: 5 })
    await page.mouse.up()
    await page.focus("#name")
    await page.keyboard.type("Ann Arbor")
    await page.focus("#accept")
    await page.keyboard.press("Space")
    await seen("filled")
    await page.focus("form > button[type=submit]")
    await page.keyboard.press("Enter")
    await page.waitForSelector(".done")
    await seen("accepted")
    const pdf = await context.request.get(`${page.url()}?format=pdf`)
    if (pdf.headers()["content-type"] !== "application/pdf") say("the PDF does not open with the cookie")
    if (new URL(page.url()).search !== "") say("the address has a query")
    if (expected > 3) say(`${expected} answers were refused`)
    await context.close()
  }
  const plain = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } })
  const page = await plain.newPage()
  await page.goto(await linkTo(await offered("de", 3)))
  await page.screenshot({ path: join(folder, "without-script-390.png"), fullPage: true })
  await page.fill("#name", "Ann")
  await page.check("#accept")
  await page.click("form > button[type=submit]")
  if (!(await page.content()).includes("Ann hat dieses Angebot")) complaints.push("it is not accepted without a script")
  await plain.close()
} finally {
  await browser.close()
  await close()
}
endWith(complaints)
