import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { openOutboxFile } from "../../sync/replica/outbox.ts"

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), "flightcase-durable-")) })
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

it("an outbox's file is on the disk before a command is acknowledged, and writes over what it frees", () => {
  const executed = vi.spyOn(DatabaseSync.prototype, "exec")
  const outbox = openOutboxFile(join(folder, "outbox.sqlite"))
  const db = executed.mock.contexts[0] as DatabaseSync
  const pragma = (name: string) => Object.values(db.prepare(`pragma ${name}`).get()!)[0]
  // What this very connection does at a commit: 2 waits for the disk (sqlite.org/pragma.html, synchronous).
  expect([pragma("journal_mode"), pragma("synchronous"), pragma("secure_delete")]).toEqual(["wal", 2, 1])
  outbox.close()
})
