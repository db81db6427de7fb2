/**
 * Builds and runs the tests; the last line is how many passed and how many did not. Arguments choose files, as vitest's.
 *
 *   node test/run.ts            the short ones, on SQLite where one engine is enough
 *   node test/run.ts --long     the long ones: `*.long.test.ts`, on both engines
 *   node test/run.ts --all      both, on both engines
 *   node test/run.ts --ship     the executable and the Debian package in dist/: `*.ship.ts`
 *
 * Files chosen by arguments run whichever they are. FLIGHTCASE_TEST_ENGINES (sqlite, pg or both) chooses the engines.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { startVitest, type TestModule } from "vitest/node"
import { parts } from "./share.ts"
import { cpuHint, cpuProblem, cpuSecondsSoFar, referenceSeconds, type Run, slownessOf } from "./cpu-budget.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    long: { type: "boolean", default: false },
    all: { type: "boolean", default: false },
    ship: { type: "boolean", default: false }
  }
})
const root = fileURLToPath(new URL("..", import.meta.url))
const run: Run | "long" | "ship" = values.ship ? "ship" : values.all ? "all" : values.long ? "long" : "short"
const is_whole = positionals.length === 0
if (run !== "short") process.env["FLIGHTCASE_TEST_ENGINES"] ??= "both"

// Some tests run the built programs.
const built = spawnSync(process.execPath, ["build.mjs", "--if-changed"], {
  cwd: root,
  stdio: ["ignore", "inherit", "inherit"]
})

// Speed of this machine, now and later.
const references = [referenceSeconds(), referenceSeconds()]
const sampling = setInterval(() => references.push(referenceSeconds()), 30_000)

const vitest = await startVitest("test", positionals, {
  root,
  watch: false,
  run: true,
  reporters: ["default"],
  // Projects of vitest.config.ts.
  project: run === "all" || !is_whole ? ["short*", "long"] : [run]
})
const modules = vitest.state.getTestModules()
const tests = modules.flatMap((module) => [...module.children.allTests()])
const withState = (state: "passed" | "failed" | "skipped") => tests.filter((test) => test.result().state === state)
// Files that cannot be loaded, uncaught errors, or no tests at all are failures.
const groups = modules.flatMap((module) => [module, ...module.children.allSuites()])
const broken = groups.filter((group) => group.errors().length > 0).length + vitest.state.getUnhandledErrors().length

const lines: Array<string> = []
if (is_whole) {
  const duration = (module: TestModule): number => module.diagnostic().duration
  lines.push("The slowest files:")
  for (const module of [...modules].sort((one, other) => duration(other) - duration(one)).slice(0, 20))
    lines.push(`${(duration(module) / 1_000).toFixed(1).padStart(7)} s  ${module.relativeModuleId}`)
}
for (const test of withState("skipped")) lines.push(`Skipped: ${test.module.relativeModuleId}: ${test.fullName}`)
await vitest.close()
clearInterval(sampling)

// After all child processes have ended.
const cpu = cpuSecondsSoFar()
const slowness = slownessOf(references)
// The budget of all tests is for CI's share.
const budgeted = is_whole && (run === "short" || (run === "all" && parts > 1)) ? run : undefined
const over = budgeted === undefined || cpu === undefined ? undefined : cpuProblem(budgeted, cpu, slowness)
if (cpu !== undefined)
  lines.push(
    `${cpu.toFixed(0)} s of CPU on a machine ${slowness.toFixed(1)} times as slow as the budget's` +
      (over ?? (budgeted === undefined ? "" : cpuHint(budgeted, cpu, slowness)))
  )

const passed = withState("passed").length
const failed =
  withState("failed").length +
  broken +
  (over === undefined ? 0 : 1) +
  (built.status === 0 ? 0 : 1) +
  (tests.length === 0 ? 1 : 0)
lines.push(`${passed} passed, ${failed} failed`)
process.stdout.write(`${lines.join("\n")}\n`, () => process.exit(failed === 0 ? 0 : 1))
