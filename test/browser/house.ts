/** A server for pages, called over HTTP, and checks of what a page may not do while open. */
import { mkdirSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { Page } from "playwright-core"
import { listenOn } from "../../server/host/http.ts"
import { silentLog } from "../../server/ports/log.ts"
import { openServerApp } from "../../server/host/app.ts"
import { chromiumPath } from "./browser.ts"
import { type Body, bodyRead } from "../answers.ts"

const token = "owner-token-of-the-look"

export interface House {
  readonly url: string
  /** Sends a request as the owner; throws if it is refused. */
  readonly did: (method: string, path: string, json?: object) => Promise<Body>
  readonly close: () => Promise<void>
}
export const openHouse = async (folder: string): Promise<House> => {
  const app = await openServerApp({
    database: { kind: "sqlite", path: ":memory:" },
    key: "key-of-the-look-which-is-long",
    data_folder: join(folder, "server"),
    owner_token: token,
    rate_limit: 1_000_000,
    anonymous_rate_limit: 1_000_000
  })
  const http = await listenOn({ host: "127.0.0.1", port: 0, log: silentLog, answer: app.answer })
  app.listensAt(http.url)
  return {
    url: http.url,
    did: async (method, path, json) => {
      const got = await fetch(`${http.url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(json === undefined ? {} : { body: JSON.stringify(json) })
      })
      if (!got.ok) throw new Error(`${method} ${path}: ${got.status} ${await got.text()}`)
      return got.status === 204 ? bodyRead(undefined) : bodyRead(await got.json())
    },
    close: async () => {
      await http.stop(1_000)
      await app.close()
    }
  }
}

/** Browser and picture folder of a program that checks pages; exits if there is no browser. */
export const lookedAtWith = (name: string): { readonly path: string; readonly folder: string } => {
  const path = chromiumPath()
  if (path === undefined) {
    process.stderr.write("There is no Chromium: set CHROMIUM to one.\n")
    process.exit(2)
  }
  const given = process.argv[2]
  const folder = given === undefined ? mkdtempSync(join(tmpdir(), `flightcase-${name}-`)) : resolve(given)
  mkdirSync(folder, { recursive: true })
  return { path, folder }
}
/** Prints the faults of pages; the exit code is 1 if there are any. */
export const endWith = (complaints: ReadonlyArray<string>): void => {
  for (const complaint of complaints) process.stderr.write(`${complaint}\n`)
  process.exitCode = complaints.length === 0 ? 0 : 1
}

/** Reports everything a page writes to its console, and its requests to other servers. */
export const listenToPage = (page: Page, own: string, say: (text: string) => void): void => {
  page.on("console", (message) => say(`console: ${message.text()}`))
  page.on("pageerror", (error) => say(`error: ${error.message}`))
  page.on("request", (request) => {
    if (!request.url().startsWith(own) && !request.url().startsWith("data:")) say(`request: ${request.url()}`)
  })
}
/** Text, as this program lacks the types of a browser. */
export const too_wide = `document.documentElement.scrollWidth > document.documentElement.clientWidth
  ? ["the page is too wide"] : []`
