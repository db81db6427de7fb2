/** A lock on a folder that dies with its holder, however that ends: SQLite's own, on an empty file. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

export interface FileLock {
  readonly release: () => void
}

/** Undefined when another process has it, and still has it after `patience_ms`, which blocks. */
export const takeLock = (folder: string, name: string, patience_ms = 0): FileLock | undefined => {
  const lock = new DatabaseSync(join(folder, name), { timeout: patience_ms })
  try {
    lock.exec("begin exclusive")
  } catch {
    lock.close()
    return undefined
  }
  return { release: () => lock.close() }
}
