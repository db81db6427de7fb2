/**
 * What the tests may cost: seconds of CPU of the whole process tree (workers, Postgres, servers, the build), which a
 * busy machine changes little, where its clock says nothing. The budgets in cpu-budget.json are what was measured; they
 * are lowered when the tests get cheaper, and not raised. Long tests count within all of them.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"

/** A machine that is shared makes the same work dearer, by as much as this. */
const noise = 1.5

const budgets = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ short: Schema.Int, all: Schema.Int })))(
  readFileSync(fileURLToPath(new URL("cpu-budget.json", import.meta.url)), "utf8")
)
export type Run = keyof typeof budgets

const ticks_a_second = 100
/** Of this process and every child that has ended; undefined where the system does not say it. */
export const cpuSecondsSoFar = (): number | undefined => {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8")
    // The name of the program, which may hold anything, ends with the last bracket; the fields after it are numbered from 3.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const ticks = [14, 15, 16, 17].map((field) => Number(fields[field - 3]))
    return ticks.reduce((sum, one) => sum + one, 0) / ticks_a_second
  } catch {
    return undefined
  }
}

/** What is wrong with this cost, in words; undefined where nothing is. */
export const cpuProblem = (run: Run, seconds: number): string | undefined =>
  seconds > budgets[run] * noise
    ? `, more than the budget of ${budgets[run]} s and ${Math.round((noise - 1) * 100)} % for a busy machine (test/cpu-budget.json)`
    : undefined
/** Says that the budget could be lowered, where it could. */
export const cpuHint = (run: Run, seconds: number): string =>
  seconds < budgets[run] * 0.8 ? `; the budget is ${budgets[run]} s: lower it in test/cpu-budget.json` : ""
