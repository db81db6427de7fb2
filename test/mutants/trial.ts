/** A copy of the source, and test runs on it with one mutant at a time. */
import { spawn } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { execFileSync } from "node:child_process"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { isSeeds, type Killer, type TestKiller } from "./mutant.ts"

/** Copies tracked and untracked files as they are; dependencies are shared. */
export const copyOf = (root: string): string => {
  const copy = mkdtempSync(join(tmpdir(), "flightcase-mutants-"))
  const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1_048_576
  })
    .split("\0")
    .filter((file) => file !== "")
  for (const file of files) {
    if (!existsSync(join(root, file))) continue
    mkdirSync(join(copy, dirname(file)), { recursive: true })
    cpSync(join(root, file), join(copy, file))
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
  return copy
}
export const remove = (copy: string): void => rmSync(copy, { recursive: true, force: true })

export interface Ran {
  readonly passed: ReadonlyArray<string>
  readonly failed: ReadonlyArray<{ readonly test: string; readonly why: string }>
  /** Fault that prevented the tests from running. */
  readonly broken: string | undefined
}
const trial_millis_max = 180_000

interface Ended {
  readonly code: number | null
  readonly output: string
  readonly late: boolean
}
/** Runs at the lowest priority; kills its child processes at the end. */
const run = (
  command: string,
  args: ReadonlyArray<string>,
  cwd: string,
  millis_max: number,
  env: NodeJS.ProcessEnv = {}
): Promise<Ended> =>
  new Promise((resolve) => {
    const child = spawn("nice", ["-n", "10", command, ...args], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true
    })
    let output = "",
      late = false
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text) => {
        output = (output + String(text)).slice(-20_000)
      })
    const end = (): void => {
      try {
        process.kill(-child.pid!, "SIGKILL")
      } catch {
        /* It has ended. */
      }
    }
    const timer = setTimeout(() => {
      late = true
      end()
    }, millis_max)
    running.add(end)
    child.on("close", (code) => {
      clearTimeout(timer)
      running.delete(end)
      resolve({ code, output, late })
    })
  })
const running = new Set<() => void>()
export const endAll = (): void => {
  for (const end of running) end()
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
/** Test name as vitest builds it: describes and title joined by spaces. Placeholders of tables match anything. */
export const patternOf = ({ engine, test }: TestKiller): string =>
  `${engine === undefined ? "" : `${engine}.*`}${escaped(test).replaceAll("%s", ".*").replaceAll("%i", ".*")}`

const withoutTrace = (text: string): string => text.split("\n    at ")[0]!

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: string
    readonly message?: string
    readonly assertionResults: ReadonlyArray<{
      readonly fullName: string
      readonly status: string
      readonly failureMessages: ReadonlyArray<string>
    }>
  }>
}
/** The tests of `npm test`, or those of `npm run test:all`. */
export type Reach = "short" | "all"
interface RunOptions {
  readonly reach: Reach
  /** Whether to stop at the first failing test. */
  readonly bail: boolean
  readonly millis_max?: number
}
/** Tests of these files whose names match. */
export const runTests = async (
  copy: string,
  files: ReadonlyArray<string>,
  pattern: string,
  { bail, millis_max = trial_millis_max, reach }: RunOptions
): Promise<Ran> => {
  const report = join(copy, "mutants-report.json")
  rmSync(report, { force: true })
  const { late, output } = await run(
    process.execPath,
    [
      join(copy, "node_modules/vitest/vitest.mjs"),
      "run",
      ...files,
      "--testNamePattern",
      pattern,
      "--reporter",
      "json",
      "--outputFile",
      report,
      "--maxWorkers",
      "1",
      "--cache=false",
      ...(bail ? ["--bail", "1"] : [])
    ],
    copy,
    millis_max,
    { FLIGHTCASE_TEST_ENGINES: reach === "all" ? "both" : "sqlite" }
  )
  if (late) return { passed: [], failed: [], broken: `not done after ${millis_max / 1_000} s` }
  if (!existsSync(report)) return { passed: [], failed: [], broken: output.slice(-2_000) }
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report
  const tests = testResults.flatMap((file) => file.assertionResults)
  // A failed file without a failed test could not be loaded or set up.
  const unloaded = testResults.find(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed")
  )
  return {
    passed: tests.filter((test) => test.status === "passed").map((test) => test.fullName),
    failed: tests
      .filter((test) => test.status === "failed")
      .map((test) => ({ test: test.fullName, why: test.failureMessages.map(withoutTrace).join("\n") })),
    broken: unloaded === undefined ? undefined : `${unloaded.name}: ${unloaded.message ?? "could not be run"}`
  }
}

const runSeeds = async (copy: string, [first, last]: readonly [number, number]): Promise<Ran> => {
  const { late, output } = await run(
    process.execPath,
    ["test/sim/run.ts", "--from", String(first), "--seeds", String(last - first + 1)],
    copy,
    trial_millis_max
  )
  if (late) return { passed: [], failed: [], broken: `not done after ${trial_millis_max / 1_000} s` }
  const [, passed, failed] = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1) ?? []
  if (failed === undefined) return { passed: [], failed: [], broken: output.slice(-2_000) }
  const name = `seeds ${first} to ${last}`
  return Number(failed) === 0
    ? { passed: Array.from({ length: Number(passed) }, () => name), failed: [], broken: undefined }
    : {
        passed: [],
        failed: [{ test: name, why: /Error: (seed \d+.*)/.exec(output)?.[1] ?? output.slice(-500) }],
        broken: undefined
      }
}
export const runKiller = (copy: string, killer: Killer, reach: Reach): Promise<Ran> =>
  isSeeds(killer)
    ? runSeeds(copy, killer.seeds)
    : runTests(copy, [killer.file], patternOf(killer), { bail: true, reach })

/** Why a file cannot be loaded; undefined if it can. */
export const loadFault = async (copy: string, file: string): Promise<string | undefined> => {
  const { code, output } = await run(
    process.execPath,
    ["--input-type=module", "--eval", `await import(${JSON.stringify(`./${file}`)})`],
    copy,
    60_000
  )
  return code === 0 ? undefined : output.slice(-2_000)
}

/** Only a failed assertion proves that a rule is tested, not a program that cannot run or never ends. */
export const isAssertion = (why: string): boolean =>
  !/^(?:Error: )?(?:SyntaxError|ReferenceError|Test timed out|Hook timed out|Cannot find (?:module|package))|is not defined|is not a function|Test timed out in/m.test(
    why
  )
