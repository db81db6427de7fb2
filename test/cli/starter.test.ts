/** cli/bin.mjs starts servers with the Node options that limit their memory, which only take effect at start. */
import { spawnSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { cli_program } from "../programs.ts"

const told = `console.log(JSON.stringify([process.execArgv, process.env.MALLOC_ARENA_MAX ?? null, process.argv.slice(2),
process.env.MALLOC_MMAP_THRESHOLD_ ?? null, process.env.MALLOC_TRIM_THRESHOLD_ ?? null]));
if (process.execArgv.length > 0) process.exit(0)`
const start = (args: ReadonlyArray<string>, environment: object = {}) => {
  const { NODE_OPTIONS: _, MALLOC_ARENA_MAX: __, MALLOC_MMAP_THRESHOLD_: ___, ...others } = process.env
  const env = { ...others, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(told)}`, ...environment }
  const { stdout } = spawnSync(process.execPath, [cli_program, ...args], { encoding: "utf8", env })
  return stdout
    .split("\n")
    .filter((line) => line.startsWith("[["))
    .map((line) => JSON.parse(line))
}

describe.skipIf(process.platform === "win32")("the starter", () => {
  it("starts a server with a small young generation, few malloc arenas, and large blocks returned when freed", () => {
    expect(start(["serve", "--help"])).toEqual([
      [[], null, ["serve", "--help"], null, null],
      [["--max-semi-space-size=16"], "2", ["serve", "--help"], "131072", "262144"]
    ])
  })
  it("keeps MALLOC_ARENA_MAX of the environment, and starts other commands without options", () => {
    expect(start(["serve", "--help"], { MALLOC_ARENA_MAX: "1" }).map(([, arenas]) => arenas)).toEqual(["1", "1"])
    expect(start(["--version"])).toHaveLength(1)
  })
})
