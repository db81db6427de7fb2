import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { openServerApp } from "../../server/host/app.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "flightcase-first-token-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Starts a server with this token; returns whether it logged that the token is not used. */
const startedWith = async (owner_token: string | undefined): Promise<boolean> => {
  let ignored = false
  const app = await openServerApp({
    database: { kind: "sqlite", path: join(folder, "server.sqlite") },
    key: "key-of-the-tests-which-is-long",
    data_folder: folder,
    ...(owner_token === undefined ? {} : { owner_token }),
    onTokenIgnored: () => {
      ignored = true
    }
  })
  await app.close()
  return ignored
}

it("FLIGHTCASE_TOKEN is reported as ignored if the database has an owner with another token", async () => {
  expect(await startedWith("the-first-token-of-all")).toBe(false)
  expect(await startedWith("the-first-token-of-all")).toBe(false)
  expect(await startedWith(undefined)).toBe(false)
  expect(await startedWith("another-token-of-twenty")).toBe(true)
})
