/** Opens pages in a headless browser and collects their errors. */
import { existsSync } from "node:fs"
import { basename, join } from "node:path"
import { pathToFileURL } from "node:url"
import { type Browser, chromium } from "playwright-core"
import { axeFaults } from "./axe.ts"
import { hasProgram } from "../installed-tools.ts"

/** `CHROMIUM`, else Debian's; undefined where there is none. */
export const chromiumPath = (): string | undefined =>
  [process.env["CHROMIUM"], "/usr/bin/chromium"].find(
    (path) => path !== undefined && path !== "" && existsSync(path)
  ) ?? (hasProgram("chromium") ? "chromium" : undefined)

export const openBrowser = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] })

export const views = ["light", "dark", "paper"] as const
type View = (typeof views)[number]
interface Seen {
  /** Faults as text: console messages, errors, requests beyond the file itself, axe's findings. */
  readonly complaints: ReadonlyArray<string>
  /** Path of the picture, if a folder was given. */
  readonly picture: string | undefined
}

/** Opens a page and waits until it is idle. `paper` is A4 as printed, as wide as the page's own rules say. */
export const look = async (browser: Browser, file: string, view: View, folder?: string): Promise<Seen> => {
  const complaints: Array<string> = []
  const address = pathToFileURL(file).href
  const context = await browser.newContext({
    viewport: { width: view === "paper" ? 1055 : 1440, height: 900 },
    deviceScaleFactor: 2,
    colorScheme: view === "dark" ? "dark" : "light"
  })
  try {
    const page = await context.newPage()
    page.on("console", (message) => complaints.push(`console ${message.type()}: ${message.text()}`))
    page.on("pageerror", (error) => complaints.push(`error: ${error.message}`))
    page.on("request", (request) => {
      if (request.url() !== address) complaints.push(`request: ${request.url()}`)
    })
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    if (view === "paper") await page.emulateMedia({ media: "print" })
    await page.goto(address, { waitUntil: "load" })
    // Screen readers do not read paper, and sheets of labels hide their headings there.
    if (view !== "paper") complaints.push(...(await axeFaults(page)))
    const picture = folder === undefined ? undefined : join(folder, `${basename(file, ".html")}-${view}.png`)
    if (picture !== undefined) await page.screenshot({ path: picture, fullPage: true })
    return { complaints, picture }
  } finally {
    await context.close()
  }
}
