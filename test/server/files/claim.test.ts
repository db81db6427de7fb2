/** A database is bound to the one store that holds its files. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { openServerApp, type ServerApp } from "../../../server/host/app.ts"
import { type FreshDatabase, freshDatabase } from "../../postgres.ts"
import { owner_token, startedServer } from "../serving.ts"

let place: string
let database: FreshDatabase
const open: Array<ServerApp> = []
beforeEach(async () => {
  place = mkdtempSync(join(tmpdir(), "flightcase-claim-"))
  database = await freshDatabase(startedServer)
})
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
  await database.drop()
  rmSync(place, { recursive: true, force: true })
})
const start = async (folder: string): Promise<ServerApp> => {
  const app = await openServerApp({
    database: { kind: "pg", url: database.url, connections_max: 2 },
    key: "key-of-the-tests-which-is-long",
    owner_token,
    data_folder: join(place, folder)
  })
  open.push(app)
  return app
}

describe("servers on one Postgres", () => {
  it("share a folder of files, and refuse to start with a separate one", async () => {
    await start("shared")
    await start("shared")
    const mark = readFileSync(join(place, "shared", "blobs", "store-id"), "utf8").trim()
    await expect(start("its-own")).rejects.toMatchObject({
      message: `The files of this database are in ${join(place, "shared", "blobs")}, not in ${join(place, "its-own", "blobs")}: share that folder among the servers, name a bucket with FLIGHTCASE_BLOBS, or copy its files here, store-id included (it must say ${mark}).`
    })
    // Refused again at the next start.
    await expect(start("its-own")).rejects.toThrow("share that folder")
  })
  it("agree on one folder of files when they start at the same time", async () => {
    await Promise.all([start("shared"), start("shared"), start("shared")])
    await start("shared")
  })
  it("find their files after the folder was copied elsewhere", async () => {
    await start("before")
    cpSync(join(place, "before"), join(place, "after"), { recursive: true })
    await start("after")
  })
  it("start without a writable folder of files, and refuse only requests for files", async () => {
    writeFileSync(join(place, "no-folder"), "")
    const app = await start("no-folder")
    const health = await app.ask({
      method: "GET",
      target: "/api/v1/system/health",
      headers: {},
      remote_address: "192.0.2.1",
      body: async () => new Uint8Array()
    })
    expect(health.status).toBe(200)
    const form = new FormData()
    form.append("attachable_type", "Product")
    form.append("attachable_id", "1")
    form.append("file", new Blob(["x"]), "x.txt")
    const request = new Request("http://x/", { method: "POST", body: form })
    const bytes = new Uint8Array(await request.arrayBuffer())
    const refused = await app.ask({
      method: "POST",
      target: "/api/v1/attachments",
      headers: { authorization: `Bearer ${owner_token}`, "content-type": request.headers.get("content-type") ?? "" },
      remote_address: "192.0.2.1",
      body: async () => bytes
    })
    expect([refused.status, refused.headers["retry-after"], refused.body]).toEqual([
      503,
      "30",
      expect.stringContaining("Files cannot be kept")
    ])
  })
})
