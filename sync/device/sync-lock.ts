/** One sync of a profile at a time, whichever process starts it. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { sqliteCodeIn } from "./device-failure.ts"

/** Another process syncs this profile now. */
export class SyncBusy extends Error {
  override readonly name = "SyncBusy"
}

/**
 * Takes the lock, which ends with this process at the latest; the answer releases it. Throws SyncBusy where another one
 * holds it.
 */
export const lockSync = (folder: string, patience_millis: number): (() => void) => {
  const lock = new DatabaseSync(join(folder, "sync.lock"), { timeout: patience_millis })
  try {
    lock.exec("begin exclusive")
  } catch (error) {
    lock.close()
    throw sqliteCodeIn(error) === 5 ? new SyncBusy("Another sync of this profile is running.", { cause: error }) : error
  }
  return () => lock.close()
}
