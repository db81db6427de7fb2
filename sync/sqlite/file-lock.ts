/** A lock on a folder: SQLite's exclusive lock on an empty file, released however its process ends. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

interface FileLock {
  readonly release: () => void
}

/** Takes the lock, blocking for at most `patience_ms`; undefined if another process still holds it. */
export const takeLock = (folder: string, name: string, patience_ms = 0): FileLock | undefined => {
  const lock = new DatabaseSync(join(folder, name), { timeout: patience_ms })
  try {
    // Without a journal in a file, which would be created and deleted each time.
    lock.exec("pragma journal_mode = memory; begin exclusive")
  } catch {
    lock.close()
    return undefined
  }
  return { release: () => lock.close() }
}
