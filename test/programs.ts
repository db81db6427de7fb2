/** The built programs, for tests that start processes: built by `test/run.ts`, or here after an edit. */
import { spawnSync } from "node:child_process"
import { existsSync, globSync, mkdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { lastingFolder } from "./temporary-folder.ts"

const root = join(import.meta.dirname, "..")
/** Arguments of Node: `serve` alone starts the same server. */
export const cli_program = join(root, "cli/bin.mjs")
export const server_program = join(root, "out/server.js")

/** Environment of their processes: compiled code is kept between runs. */
export const compiled_code = { NODE_COMPILE_CACHE: join(lastingFolder(), "flightcase-compiled") }

const changedAt = (path: string): number => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
const sources = ["{cli,core,server,sync}/**/*.ts", "docs/{,rules/,.vitepress/{,theme/}}*.{md,mjs,js}", "site.mjs"]
const newest = Math.max(...globSync(sources, { cwd: root }).map(changedAt))
const isStale = (): boolean => newest > changedAt("out/cli.js")

/** Held by the worker that builds, while the others wait. */
const lock = join(tmpdir(), "flightcase-building")
const build = (): void => {
  if (mkdirSync(lock, { recursive: true }) === undefined) {
    while (existsSync(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
    return
  }
  try {
    if (!isStale()) return
    const built = spawnSync(process.execPath, ["build.mjs"], { cwd: root, stdio: ["ignore", "inherit", "inherit"] })
    if (built.status !== 0) throw new Error("the programs cannot be built")
  } finally {
    rmSync(lock, { recursive: true })
  }
}
if (isStale()) build()
