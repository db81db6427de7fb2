/** Programs that tests use and the product does not: installed once, in a folder of their own, by their lock file. */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"

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

/** npm could not reach its registry: this machine is cut off, which says nothing about what is tested. */
const isOffline = (output: string): boolean =>
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)\b/.test(output)

/**
 * The folder with the tools of the lock file in `here`, put in place at once or not at all; undefined where they are not
 * there yet and the package registry cannot be reached.
 */
export const installedTools = async (here: string): Promise<string | undefined> => {
  const lock = createHash("sha256")
    .update(readFileSync(join(here, "package-lock.json")))
    .digest("hex")
    .slice(0, 12)
  const folder = join(tmpdir(), `flightcase-${basename(here)}-${lock}`)
  if (existsSync(folder)) return folder
  const fresh = `${folder}-${process.pid}`
  mkdirSync(fresh)
  for (const name of ["package.json", "package-lock.json"]) cpSync(join(here, name), join(fresh, name))
  const { code, out } = await runProgram("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], fresh)
  if (code !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    if (isOffline(out)) return undefined
    throw new Error(`the tools could not be installed: ${out}`)
  }
  renameSync(fresh, folder)
  return folder
}
