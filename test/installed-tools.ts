/**
 * Programs that tests use and the product does not: those of the system, which .ci/run installs by the list .ci/programs,
 * and those of the package registry, installed once in a folder of their own by their lock file. Tests are skipped where
 * one is missing, but not in CI.
 */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import { lastingFolder } from "./temporary-folder.ts"

export interface Ran {
  readonly code: number | null
  readonly out: string
}
export const runProgram = (command: string, args: ReadonlyArray<string>, cwd: string): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] })
    let out = ""
    child.stdout.on("data", (bytes) => {
      out += bytes
    })
    child.stderr.on("data", (bytes) => {
      out += bytes
    })
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, out }))
  })

const is_ci = process.env["CI"] === "true"
/** Optional tools: false if missing, an error in CI. */
const isMissing = (what: string): false => {
  if (is_ci) throw new Error(`${what} is missing: CI skips no test for want of a program (.ci/programs)`)
  return false
}
export const hasProgram = (name: string): boolean =>
  spawnSync("sh", ["-c", 'command -v "$0"', name], { stdio: "ignore" }).status === 0 || isMissing(name)

/** npm could not reach its registry: the machine is offline, which says nothing about the tests. */
const isOffline = (output: string): boolean =>
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)\b/.test(output)

/**
 * Folder with the tools of the lock file in `here`, installed completely or not at all; undefined if they are missing
 * and the registry cannot be reached.
 */
export const installedTools = async (here: string): Promise<string | undefined> => {
  const lock = createHash("sha256")
    .update(readFileSync(join(here, "package-lock.json")))
    .digest("hex")
    .slice(0, 12)
  const folder = join(lastingFolder(), `flightcase-${basename(here)}-${lock}`)
  if (existsSync(folder)) return folder
  const fresh = `${folder}-${process.pid}`
  mkdirSync(fresh, { recursive: true })
  for (const name of ["package.json", "package-lock.json"]) cpSync(join(here, name), join(fresh, name))
  const { code, out } = await runProgram("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], fresh)
  if (code !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    if (isOffline(out)) return isMissing("the package registry") || undefined
    throw new Error(`the tools could not be installed: ${out}`)
  }
  renameSync(fresh, folder)
  return folder
}
