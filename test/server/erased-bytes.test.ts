/** Erased data is gone from the bytes of a server's SQLite files. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { openServerApp, type ServerApp } from "../../server/host/app.ts"
import { erasedBytes } from "../../server/host/erased-bytes.ts"

const owner_token = "owner-token-of-the-tests"
const mark = "Zacharias Quill"

describe("erased data", () => {
  let folder: string, path: string, app: ServerApp | undefined
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-erased-"))
    path = join(folder, "server.sqlite")
  })
  afterEach(async () => {
    await app?.close()
    app = undefined
    rmSync(folder, { recursive: true, force: true })
  })
  const open = async () => {
    app = await openServerApp({
      database: { kind: "sqlite", path },
      key: "key-of-the-tests-which-is-long",
      owner_token,
      slices: [{ ...erasedBytes(10), name: "tries-again-soon" }]
    })
  }
  const post = async (target: string, body: object = {}) => {
    const bytes = Buffer.from(JSON.stringify(body))
    const { body: text, status } = await app!.ask({
      method: "POST",
      target: `/api/v1/${target}`,
      headers: { authorization: `Bearer ${owner_token}`, "content-type": "application/json" },
      remote_address: "127.0.0.1",
      body: () => Promise.resolve(bytes)
    })
    expect(status, String(text)).toBeLessThan(300)
    return Object.values(JSON.parse(String(text)))[0] as any
  }
  const bytesIn = (file: string): boolean => existsSync(file) && readFileSync(file, "latin1").includes(mark)

  it("is overwritten by the next erasure in a file from a release without secure_delete", async () => {
    await open()
    await app!.close()
    const db = new DatabaseSync(path)
    db.exec("pragma secure_delete = off; pragma user_version = 0; create table left_behind (text text)")
    for (let at = 0; at < 200; at++) db.prepare("insert into left_behind values (?)").run(`${mark} `.repeat(50))
    db.exec("drop table left_behind; pragma wal_checkpoint(truncate)")
    db.close()
    expect(bytesIn(path)).toBe(true)
    await open()
    const member = await post("members", { name: "Otto", membership_type: "contact" })
    expect(bytesIn(path)).toBe(true)
    await post(`members/${member.id}/anonymise`)
    expect([bytesIn(path), bytesIn(`${path}-wal`)]).toEqual([false, false])
  })

  it("is removed from the write-ahead log once no other process reads", async () => {
    await open()
    const member = await post("members", { name: mark, membership_type: "contact" })
    const reader = new DatabaseSync(path, { readOnly: true })
    reader.exec("begin")
    reader.prepare("select count(*) from members").get()
    expect((await post(`members/${member.id}/anonymise`)).name).toBe("Anonymised Member")
    expect(bytesIn(`${path}-wal`)).toBe(true)
    reader.exec("commit")
    reader.close()
    await vi.waitFor(() => expect([bytesIn(path), bytesIn(`${path}-wal`)]).toEqual([false, false]), { timeout: 20_000 })
  })
})
