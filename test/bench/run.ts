/**
 * `npm run bench` measures the product in turns with the least that does the same, and prints the ratios; `npm run
 * bench -- http` runs one bench by name. It builds first, unless `--no-build` is given. Ratios are kept in
 * bench-results.json and compared with those of the previous run. Each bench has its own process, so that a failure
 * does not affect the others; the exit code is then 1.
 */
import { execFileSync, fork } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { machine, type Result, results } from "./measure.ts"
import { root } from "./processes.ts"

const benches: { readonly [name: string]: () => Promise<() => Promise<void>> } = {
  http: async () => (await import("./http.ts")).http,
  limits: async () => (await import("./limits.ts")).limits,
  import: async () => (await import("./import.ts")).imports,
  "import-members": async () => (await import("./import.ts")).memberImports,
  write: async () => (await import("./write.ts")).write,
  fastify: async () => (await import("./libraries.ts")).fastify,
  emmett: async () => (await import("./libraries.ts")).emmett,
  availability: async () => (await import("./availability.ts")).availability,
  pricing: async () => (await import("./pricing.ts")).pricing,
  jobs: async () => (await import("./jobs.ts")).jobs,
  order: async () => (await import("./order.ts")).order,
  list: async () => (await import("./list.ts")).list,
  counter: async () => (await import("./counter.ts")).counter,
  billing: async () => (await import("./billing.ts")).billing,
  cli: async () => (await import("./cli.ts")).cli,
  fill: async () => (await import("./fill.ts")).fill,
  offline: async () => (await import("./offline.ts")).offline,
  visible: async () => (await import("./visible.ts")).visible,
  following: async () => (await import("./following.ts")).following,
  print: async () => (await import("./print.ts")).print,
  metering: async () => (await import("./metering.ts")).metering,
  "request-logs": async () => (await import("./request-logs.ts")).requestLogs,
  stocktake: async () => (await import("./stocktake.ts")).stocktake,
  transfers: async () => (await import("./stocktake.ts")).transfers,
  documents: async () => (await import("./documents.ts")).documents,
  memory: async () => (await import("./memory.ts")).memory
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "no-build": { type: "boolean", default: false }, alone: { type: "boolean", default: false } }
})
const names = positionals.length === 0 ? Object.keys(benches) : positionals
const unknown = names.find((name) => benches[name] === undefined)
if (unknown !== undefined) {
  console.error(`There is no benchmark ${unknown}; there are ${Object.keys(benches).join(", ")}.`)
  process.exit(2)
}

/** A bench that takes longer is assumed to hang. */
const minutes_max = 20
/** Runs one bench in its own process; sends its ratios, also those before a failure, to the process that runs all. */
const measureAlone = async (name: string): Promise<never> => {
  setTimeout(() => {
    console.error(`${name} takes more than ${minutes_max} minutes`)
    process.exit(1)
  }, minutes_max * 60_000).unref()
  process.once("disconnect", () => process.exit(1))
  const failed = await (
    await benches[name]!()
  )().then(
    () => false,
    (cause: unknown) => {
      console.error(cause)
      return true
    }
  )
  await new Promise((resolve) => process.send!(results, resolve))
  process.exit(failed ? 1 : 0)
}

type Kept = { [bench: string]: ReadonlyArray<Result> }
const isSame = (one: Result, other: Result): boolean => one.title === other.title && one.peer === other.peer
/** Ratios whose medians lie outside the range of the other run's rounds. */
const changesOf = (fresh: ReadonlyArray<Result>, before: ReadonlyArray<Result>): ReadonlyArray<string> =>
  fresh.flatMap((now) => {
    const old = before.find((one) => isSame(one, now))
    return old !== undefined &&
      (old.median < now.least || old.median > now.most) &&
      (now.median < old.least || now.median > old.most)
      ? [`  ${old.median.toFixed(2)} -> ${now.median.toFixed(2)}  of ${now.peer}: ${now.title}`]
      : []
  })

const measureAll = async (): Promise<never> => {
  if (!values["no-build"]) execFileSync(process.execPath, [join(root, "build.mjs")], { stdio: "inherit" })
  console.log(machine())
  const file = join(root, "bench-results.json")
  const kept: Kept = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}
  const changes: Array<string> = []
  const failures: Array<string> = []
  const times: Array<string> = []
  for (const name of names) {
    const started = performance.now()
    const child = fork(fileURLToPath(import.meta.url), ["--alone", name])
    let fresh: ReadonlyArray<Result> = []
    child.once("message", (sent: ReadonlyArray<Result>) => (fresh = sent))
    const [[code]] = await Promise.all([once(child, "exit"), once(child, "disconnect")])
    if (code !== 0) failures.push(name)
    times.push(`${name} ${Math.round((performance.now() - started) / 1000)}`)
    const before = kept[name] ?? []
    changes.push(...changesOf(fresh, before))
    // Ratios that a failed bench did not reach are kept from before.
    const missing = code === 0 ? [] : before.filter((one) => !fresh.some((now) => isSame(one, now)))
    kept[name] = [...fresh, ...missing]
    writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`)
  }
  if (changes.length > 0) console.log(`\nRatios that differ from the run before:\n${changes.join("\n")}`)
  console.log(`\nSeconds: ${times.join(", ")}`)
  if (failures.length > 0) console.error(`Failed: ${failures.join(", ")}`)
  process.exit(failures.length === 0 ? 0 : 1)
}
await (values.alone ? measureAlone(names[0]!) : measureAll())
