/** Folder for a test run's temporary files: in memory if there is room. TMPDIR points to it. */
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const shared_memory = "/dev/shm"
const room_bytes_min = 4 * 2 ** 30
const prefix = "flightcase-tests-"

const hasRoom = (folder: string): boolean => {
  if (!existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize > room_bytes_min
}
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Folder for files kept between runs. */
export const lastingFolder = (): string => process.env["FLIGHTCASE_LASTING_TMPDIR"] ?? tmpdir()

/** Creates the folder, points TMPDIR to it, and deletes what killed runs left there. */
export const makeTemporaryFolder = (): void => {
  process.env["FLIGHTCASE_LASTING_TMPDIR"] ??= tmpdir()
  const above = hasRoom(shared_memory) ? shared_memory : tmpdir()
  for (const name of readdirSync(above)) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : undefined
    if (pid !== undefined && !isAlive(pid)) rmSync(join(above, name), { recursive: true, force: true })
  }
  const folder = join(above, `${prefix}${process.pid}`)
  // Postgres runs as another account, with its own folder inside.
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  process.env["TMPDIR"] = folder
}
export const removeTemporaryFolder = (): void => {
  const folder = tmpdir()
  if (folder.endsWith(`${prefix}${process.pid}`)) rmSync(folder, { recursive: true, force: true })
}
