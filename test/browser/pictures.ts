/**
 * Makes the pictures of the README from the running product: `node test/browser/pictures.ts docs/images`. A session at
 * the command line in which the server goes away, and the quotation as its customer reads it.
 */
import { join } from "node:path"
import { openPlace, owner_token, runHere, wordsOf } from "../cli/session.ts"
import { openBrowser } from "./browser.ts"
import { lookedAtWith } from "./house.ts"

const before = `
setup --name "Northlight Rental" --time-zone Europe/London --currency GBP --tax VAT=20
products create --name "Martin MAC Aura XB" --sku MAC-AURA
stock-levels update 1 --quantity-held 24
products rates create MAC-AURA --rate-definition-id daily-rate --transaction-type rental --price 56.40 --currency GBP
members create --name "Acme Events" --membership-type organisation
setup --assign-tax-classes
login URL --token TOKEN --name van`
const shown = `
quote new --subject "Winter Gala" --member "Acme Events" --from 2026-12-01T09:00 --to 2026-12-04T09:00 --line MAC-AURA*12
price MAC-AURA --from 2026-12-01T09:00 --to 2026-12-04T09:00 --quantity 12 --explain
undo --list`
const after = `
sync
documents generate --type quotation --order 1 -o quotation.pdf
documents share 1 --json`

const { folder, path } = lookedAtWith("pictures")
const place = await openPlace()
const type = async (line: string, env = {}) => {
  const words = wordsOf(line).map((word) => word.replace("URL", place.url).replace("TOKEN", owner_token))
  const ran = await runHere(place, words, { env })
  if (ran.code !== 0) throw new Error(`${line}\n${ran.err}`)
  return ran
}
const linesOf = (text: string): ReadonlyArray<string> => text.trim().split("\n")
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

for (const line of linesOf(before)) await type(line)
await place.stop()
let session = ""
for (const line of linesOf(shown)) {
  const { err, out } = await type(line, { COLUMNS: "110", FLIGHTCASE_TTY: "1", NO_COLOR: "1" })
  session += `<b>$ flightcase ${escaped(line)}</b>\n${escaped(out)}<i>${escaped(err)}</i>\n`
}
await place.start()
let answer = ""
for (const line of linesOf(after)) answer = (await type(line)).out

const browser = await openBrowser(path)
const page = await browser.newPage({ viewport: { width: 1000, height: 600 }, deviceScaleFactor: 1.5 })
const style = "margin:0;padding:20px;background:#14181d;color:#e8ebef;font:13px/1.45 monospace;white-space:pre-wrap"
await page.setContent(
  `<style>b{color:#8ab8f5}i{color:#b9c0c9;font-style:normal}</style><body style="${style}">${session.trim()}`
)
await page.screenshot({ path: join(folder, "terminal.png"), fullPage: true })
await page.setViewportSize({ width: 820, height: 900 })
await page.goto(JSON.parse(answer).public_link.url)
await page.screenshot({ path: join(folder, "quotation.png") })
await browser.close()
await place.close()
