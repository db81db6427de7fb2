/** SQLite files created once per worker, and copied by each test that starts from their content. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

let folder: string | undefined
/** Deleted with the run's other files. */
const folderOfWorker = (): string => (folder ??= mkdtempSync(join(tmpdir(), "flightcase-sqlite-")))

interface SqliteCopy {
  readonly path: string
  readonly remove: () => void
}
export interface SqliteImage {
  /** Identifies the content: other content needs another name. */
  readonly name: string
  /** Fills the empty file at `path`, and closes it. */
  readonly prepare: (path: string) => Promise<void>
}

const images = new Map<string, Promise<string>>()
let copies = 0
/** A new file with the image's content. */
export const copyOfImage = async ({ name, prepare }: SqliteImage): Promise<SqliteCopy> => {
  const path_made = join(folderOfWorker(), `${name}.sqlite`)
  if (!images.has(name))
    images.set(
      name,
      prepare(path_made).then(() => path_made)
    )
  const path = join(folderOfWorker(), `copy-${++copies}.sqlite`)
  copyFileSync(await images.get(name)!, path)
  return {
    path,
    remove: () => {
      for (const ending of ["", "-wal", "-shm"]) rmSync(path + ending, { force: true })
    }
  }
}
