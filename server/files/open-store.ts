/** The store of files as a server's environment names it, and whether it is the one this database's files are in. */
import { randomUUID } from "node:crypto"
import { rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import type { Failure } from "../../core/kernel/failure.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Outside } from "../outside.ts"
import { StartupError } from "../startup-error.ts"
import type { BlobStore, BlobStoreFailure } from "./blob-store.ts"
import { folderStore } from "./folder-store.ts"
import { file_stores } from "./schema.ts"

export interface StoreOptions {
  readonly database: { readonly kind: "sqlite" | "pg" }
  readonly data_folder?: string | undefined
  readonly outside?: Outside | undefined
}
export interface OpenedStore {
  readonly store: BlobStore
  /** It is there for this process alone and goes with it: for a database in memory. */
  readonly is_passing: boolean
  readonly close: () => void
}

export const openBlobStore = async ({ data_folder, database, outside }: StoreOptions): Promise<OpenedStore> => {
  const alone = database.kind === "sqlite"
  if (outside?.blobs !== undefined && outside.aws !== undefined) {
    const { s3Store } = await import("./s3-store.ts")
    const folder = join(data_folder ?? tmpdir(), "uploads")
    const store = s3Store({ url: outside.blobs, credentials: outside.aws, folder, alone })
    return { store, is_passing: false, close: () => {} }
  }
  if (data_folder !== undefined)
    return { store: folderStore({ folder: join(data_folder, "blobs"), alone }), is_passing: false, close: () => {} }
  // Made with the first file.
  const folder = join(tmpdir(), `flightcase-files-${randomUUID()}`)
  return {
    store: folderStore({ folder, alone: true }),
    is_passing: true,
    close: () => rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * The database remembers the one store its files are in, by a mark that lies in the store. A second server whose folder
 * is its own would keep files that the first one cannot read, and miss those of the first: it does not start.
 */
export const claimBlobStore = Effect.fnUntraced(function* ({
  is_passing,
  store
}: OpenedStore): Effect.fn.Return<void, Failure | StartupError, Store> {
  if (is_passing) return
  const marked = yield* Effect.result(markOf(store))
  if (marked._tag === "Failure") {
    if (store.kind === "s3") return yield* Effect.fail(new StartupError(marked.failure.message, marked.failure))
    return yield* Effect.logWarning(
      `${marked.failure.message} No file can be kept; FLIGHTCASE_DATA and FLIGHTCASE_BLOBS say where they are.`
    )
  }
  yield* Effect.ignore(store.sweep)
  const database = yield* Store
  const { bind, values } = bindings(database.dialect)
  yield* database.run(
    `insert into file_stores (id, mark, place) values (1, ${bind(marked.success)}, ${bind(store.place.slice(0, 1_000))}) on conflict (id) do nothing`,
    values
  )
  const known = yield* database.get(file_stores, 1)
  if (known === undefined || known.mark === marked.success) return
  // Two servers that met the same empty bucket for the first time: the one that was first has its mark kept.
  if (store.kind === "s3" && known.place === store.place) return yield* Effect.orDie(store.setMark(known.mark))
  return yield* Effect.fail(
    new StartupError(
      `The files of this database are in ${known.place}, not in ${store.place}: share that folder among the servers, name a bucket with FLIGHTCASE_BLOBS, or copy its files here, store-id included (it must say ${known.mark}).`
    )
  )
})
const markOf = (store: BlobStore): Effect.Effect<string, BlobStoreFailure> =>
  Effect.gen(function* () {
    const mark = yield* store.mark
    if (mark !== undefined) return mark
    yield* store.setMark(randomUUID())
    // Another server on the same folder may have been faster.
    return (yield* store.mark) ?? ""
  })
