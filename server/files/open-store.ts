/** The store of files as a server's environment names it. */
import { randomUUID } from "node:crypto"
import { rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Outside } from "../outside.ts"
import type { BlobStore } from "./blob-store.ts"
import { folderStore } from "./folder-store.ts"

export interface StoreOptions {
  readonly database: { readonly kind: "sqlite" | "pg" }
  readonly data_folder?: string | undefined
  readonly outside?: Outside
}
export interface OpenedStore extends BlobStore {
  /** It is there for this process alone, and goes with it: for a database in memory. */
  readonly is_passing: boolean
  readonly close: () => void
}

export const openBlobStore = ({ data_folder, database }: StoreOptions): OpenedStore => {
  if (data_folder === undefined) {
    // Made with the first file.
    const folder = join(tmpdir(), `flightcase-files-${randomUUID()}`)
    return {
      ...folderStore({ folder, alone: true }),
      is_passing: true,
      close: () => rmSync(folder, { recursive: true, force: true })
    }
  }
  return {
    ...folderStore({ folder: join(data_folder, "blobs"), alone: database.kind === "sqlite" }),
    is_passing: false,
    close: () => {}
  }
}
