/**
 * Creates a small rental company, has the command line draw all its pictures, and opens each in a browser: light, dark
 * and on paper. Prints where the pictures are. Exits with 1 if a page has an error or fetches anything: node
 * test/browser/look.ts [FOLDER], with CHROMIUM=/path/to/chromium if it is not /usr/bin/chromium
 */
import { mkdirSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { openPlace } from "../cli/session.ts"
import { chromiumPath, look, openBrowser, views } from "./browser.ts"
import { writePages } from "./pages.ts"
import { makeSample } from "./sample.ts"

const path = chromiumPath()
if (path === undefined) {
  process.stderr.write("There is no Chromium: set CHROMIUM to one.\n")
  process.exit(2)
}
const given = process.argv[2]
const folder = given === undefined ? mkdtempSync(join(tmpdir(), "flightcase-look-")) : resolve(given)
mkdirSync(folder, { recursive: true })

const now = Date.now()
const place = await openPlace()
let complaints = 0
try {
  await makeSample(place, now)
  const files = await writePages(place, now, folder)
  const browser = await openBrowser(path)
  try {
    for (const file of files) {
      for (const view of views) {
        const seen = await look(browser, file, view, folder)
        process.stdout.write(`${seen.picture}\n`)
        for (const complaint of seen.complaints) process.stderr.write(`${file} (${view}): ${complaint}\n`)
        complaints += seen.complaints.length
      }
    }
  } finally {
    await browser.close()
  }
} finally {
  await place.close()
}
process.exitCode = complaints === 0 ? 0 : 1
