/**
 * `npm run bench` measures the product against the least that could do the same, in one run, in turns, and prints the
 * ratios; `npm run bench -- http` runs one by name. Builds first, unless told `--no-build`. Ratios are kept in
 * bench-results.json and compared with those of the run before.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
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
  options: { "no-build": { type: "boolean", default: false } }
})
const names = positionals.length === 0 ? Object.keys(benches) : positionals
const unknown = names.find((name) => benches[name] === undefined)
if (unknown !== undefined) {
  console.error(`There is no benchmark ${unknown}; there are ${Object.keys(benches).join(", ")}.`)
  process.exit(2)
}
if (!values["no-build"]) execFileSync(process.execPath, [join(root, "build.mjs")], { stdio: "inherit" })
console.log(machine())
const kept = join(root, "bench-results.json")
const before: { readonly [bench: string]: ReadonlyArray<Result> } = existsSync(kept)
  ? JSON.parse(readFileSync(kept, "utf8"))
  : {}
const all: { [bench: string]: ReadonlyArray<Result> } = { ...before }
const changes: Array<string> = []
for (const name of names) {
  results.length = 0
  await (
    await benches[name]!()
  )()
  all[name] = [...results]
  writeFileSync(kept, `${JSON.stringify(all, null, 2)}\n`)
  for (const { least, median, most, peer, title } of results) {
    const old = before[name]?.find((one) => one.title === title && one.peer === peer)
    // Apart by more than either run's rounds were among themselves.
    if (old !== undefined && (old.median < least || old.median > most) && (median < old.least || median > old.most))
      changes.push(`  ${old.median.toFixed(2)} -> ${median.toFixed(2)}  of ${peer}: ${title}`)
  }
}
if (changes.length > 0) console.log(`\nRatios that differ from the run before:\n${changes.join("\n")}`)
process.exit(0)
