/**
 * What the tests may cost: seconds of CPU of the whole process tree (workers, Postgres, servers, the build). The budgets
 * in cpu-budget.json were measured; a machine that takes longer than `reference_seconds` for `referenceSeconds` may take
 * longer for the tests by as much. Those seconds are an estimate: a machine that takes 0.5 to 0.7 took 2.1 to 2.6 times
 * the CPU of the one of the budgets. They are lowered when the tests get cheaper, and not raised. Long tests count
 * within all of them, whose budget is that of CI, which plays a share (share.ts).
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"

/** Factor by which a shared machine may need more CPU time for the same work: measured up to 1.6 beside other load. */
const noise = 1.75

const { reference_seconds, ...budgets } = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ reference_seconds: Schema.Number, short: Schema.Int, all: Schema.Int }))
)(readFileSync(fileURLToPath(new URL("cpu-budget.json", import.meta.url)), "utf8"))
export type Run = keyof typeof budgets

const ticks_a_second = 100
/** Time of this process and all ended children; undefined if the system does not report it. */
export const cpuSecondsSoFar = (): number | undefined => {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8")
    // The program's name may contain anything and ends with the last bracket; the fields after it are numbered from 3.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const ticks = [14, 15, 16, 17].map((field) => Number(fields[field - 3]))
    return ticks.reduce((sum, one) => sum + one, 0) / ticks_a_second
  } catch {
    return undefined
  }
}

/** CPU seconds of fixed work similar to the tests': rows written to SQLite, read, parsed, sorted and hashed. */
export const referenceSeconds = (): number => {
  const begun = process.cpuUsage()
  const db = new DatabaseSync(":memory:")
  db.exec("create table t (id integer primary key, name text, doc text)")
  const insert = db.prepare("insert into t (name, doc) values (?, ?)")
  const hash = createHash("sha256")
  for (let n = 0; n < 60_000; n++) {
    const doc = JSON.stringify({ n, words: `row ${n}`.split(" "), more: [n, n + 1, { deep: n }] })
    insert.run(`name ${n % 97}`, doc)
    hash.update(doc)
  }
  const rows = db.prepare("select doc from t order by name, id desc").all()
  hash.update(JSON.stringify(rows.map(({ doc }) => JSON.parse(String(doc))))).digest()
  db.close()
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1e6
}
/**
 * Factor by which this machine is slower than the budgets' one, at least 1: by the mean of the references, as the CPU of
 * a run is a sum, and a shared machine is slow for some minutes and fast for others.
 */
export const slownessOf = (seconds: ReadonlyArray<number>): number =>
  Math.max(1, seconds.reduce((sum, one) => sum + one, 0) / Math.max(1, seconds.length) / reference_seconds)

/** Message if the run exceeds its budget; else undefined. */
export const cpuProblem = (run: Run, seconds: number, slowness: number): string | undefined =>
  seconds > budgets[run] * slowness * noise
    ? `, more than the budget of ${budgets[run]} s and ${Math.round((noise - 1) * 100)} % for a busy machine (test/cpu-budget.json)`
    : undefined
/** Message if the budget could be lowered. */
export const cpuHint = (run: Run, seconds: number, slowness: number): string =>
  seconds < budgets[run] * slowness * 0.8 ? `; the budget is ${budgets[run]} s: lower it in test/cpu-budget.json` : ""
