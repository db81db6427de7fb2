/** Opening pages in a browser nobody sees, with an ear for everything it complains of. */
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
export type View = (typeof views)[number]
export interface Seen {
  /** What went wrong, in words: console messages, errors, requests beside the file itself, what axe finds. */
  readonly complaints: ReadonlyArray<string>
  /** The picture taken, when a folder for it was given. */
  readonly picture: string | undefined
}

/** Opens a page and listens until it is at rest. `paper` is A4 as it would be printed, as wide as the page's own rules say. */
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
    // Paper is not read out: sheets of labels hide their headings there.
    if (view !== "paper") complaints.push(...(await axeFaults(page)))
    const picture = folder === undefined ? undefined : join(folder, `${basename(file, ".html")}-${view}.png`)
    if (picture !== undefined) await page.screenshot({ path: picture, fullPage: true })
    return { complaints, picture }
  } finally {
    await context.close()
  }
}
