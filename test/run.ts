/**
 * Builds and runs the tests; the last line is how many passed and how many did not. Arguments choose files, as vitest's.
 *
 *   node test/run.ts            the short ones: every `*.test.ts` that is not a long one
 *   node test/run.ts --long     the long ones: `*.long.test.ts`
 *   node test/run.ts --all      both
 *
 * Files chosen by arguments run whichever they are.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { startVitest } from "vitest/node"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { long: { type: "boolean" }, all: { type: "boolean" } }
})
const root = fileURLToPath(new URL("..", import.meta.url))
/** Projects of vitest.config.ts. */
const project =
  values.long === true ? ["long"] : values.all === true || positionals.length > 0 ? ["short", "long"] : ["short"]

// Some tests run the built programs, as people do.
const built = spawnSync(process.execPath, ["build.mjs"], { cwd: root, stdio: ["ignore", "inherit", "inherit"] })

const vitest = await startVitest("test", positionals, {
  root,
  watch: false,
  run: true,
  reporters: ["default"],
  project
})
const modules = vitest.state.getTestModules()
const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state))
const passed = states.filter((state) => state === "passed").length
// A file that cannot be loaded, or a fault nobody caught, is a failure as good as any; so is finding no test at all.
const groups = modules.flatMap((module) => [module, ...module.children.allSuites()])
const broken = groups.filter((group) => group.errors().length > 0).length + vitest.state.getUnhandledErrors().length
const failed =
  states.filter((state) => state === "failed").length +
  broken +
  (built.status === 0 ? 0 : 1) +
  (states.length === 0 ? 1 : 0)
await vitest.close()

process.stdout.write(`${passed} passed, ${failed} failed\n`, () => process.exit(failed === 0 ? 0 : 1))
