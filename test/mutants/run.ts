/**
 * `npm run mutants` breaks a copy of the source, one rule at a time, and checks that tests notice each fault. `--
 * --list` prints the mutants, `-- --only WORDS` (repeatable) selects those with the words in their names, `-- --at-once
 * N` runs N in parallel. Reports whether tests of `npm test` notice, or only those of `npm run test:all`. Exits with 1
 * if a mutant survives.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { type Found, placeOf, sourcesOf, withReplaced } from "../source/place.ts"
import { filesIn, root, source_folders, textOf } from "../source/tree.ts"
import { isSeeds, type Killer, type Mutant, type TestKiller, words } from "./mutant.ts"
import { mutants } from "./mutants.ts"
import { copyOf, endAll, isAssertion, loadFault, patternOf, type Reach, remove, runKiller, runTests } from "./trial.ts"

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    list: { type: "boolean", default: false },
    "at-once": { type: "string", default: "1" }
  }
})
const wanted = mutants.filter(
  ({ name }) => values.only === undefined || values.only.some((words) => name.includes(words))
)
if (values.list) {
  for (const { file, killed_by, name, within } of wanted)
    console.log(`${name}\n    ${within} of ${file}${killed_by.map((killer) => `\n    ${words(killer)}`).join("")}`)
  process.exit(0)
}
if (wanted.length === 0) {
  console.error(`No mutant is called ${values.only?.join(" or ")}.`)
  process.exit(1)
}

const copies = Array.from({ length: Math.max(1, Number(values["at-once"])) }, () => copyOf(root))
const first_copy = copies[0]!
process.once("exit", () => {
  endAll()
  for (const copy of copies) remove(copy)
})
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))
const begun_at = performance.now()
const secondsSince = (from: number): string => `${((performance.now() - from) / 1_000).toFixed(1)} s`

const sources = sourcesOf(filesIn(source_folders, first_copy), (file) => textOf(file, first_copy))
const placed = wanted.map((mutant) => [mutant, placeOf(sources, mutant)] as const)
for (const [{ name }, place] of placed) if (typeof place === "string") console.error(`${name}: ${place}`)
if (placed.some(([, place]) => typeof place === "string")) process.exit(1)

/** The smallest run of tests that includes each killer. */
const reaches = new Map<string, Reach>()
const reachOf = (killer: Killer): Reach => reaches.get(words(killer)) ?? "all"
/** Tests named as killers that fail even without a fault. */
const provesNothing = async (): Promise<ReadonlyArray<string>> => {
  const killers = [
    ...new Map(wanted.flatMap(({ killed_by }) => killed_by).map((killer) => [words(killer), killer])).values()
  ]
  const faults: Array<string> = []
  let open = killers.filter((killer): killer is TestKiller => !isSeeds(killer))
  for (const reach of ["short", "all"] as const) {
    const tests = reach === "short" ? open.filter(({ file }) => !file.endsWith(".long.test.ts")) : open
    if (tests.length === 0) continue
    const { broken, failed, passed } = await runTests(
      first_copy,
      [...new Set(tests.map(({ file }) => file))],
      tests.map(patternOf).join("|"),
      { reach, bail: false, millis_max: 1_200_000 }
    )
    if (broken !== undefined) faults.push(broken)
    for (const { test, why } of failed) faults.push(`${test} fails with nothing broken: ${why}`)
    for (const killer of tests)
      if (passed.some((test) => new RegExp(patternOf(killer)).test(test))) reaches.set(words(killer), reach)
    open = open.filter((killer) => !reaches.has(words(killer)))
  }
  for (const killer of open) faults.push(`no test that passes is called ${words(killer)}`)
  for (const killer of killers.filter(isSeeds)) {
    const { broken, failed } = await runKiller(first_copy, killer, "all")
    if (broken !== undefined || failed.length > 0)
      faults.push(`${words(killer)} fails with nothing broken: ${broken ?? failed[0]!.why}`)
  }
  return faults
}
const faults = await provesNothing()
for (const failure of faults) console.error(failure)
if (faults.length > 0) process.exit(1)
console.log(`Nothing broken: all killers pass (${secondsSince(begun_at)})\n`)

interface Tried {
  readonly by: string
  readonly why: string
  readonly killed: boolean
}
/** Result of each killer for the mutant, up to the first survivor. */
const tried = async (copy: string, { killed_by, replace }: Mutant, place: Found): Promise<Tried> => {
  const { file } = place
  const sound = textOf(file, copy)
  writeFileSync(join(copy, file), withReplaced(sound, place, replace))
  try {
    for (const killer of killed_by) {
      const { broken, failed } = await runKiller(copy, killer, reachOf(killer))
      const found = failed.find(({ why }) => isAssertion(why))
      if (found !== undefined) continue
      const failure = await loadFault(copy, file)
      if (failure !== undefined) return { by: words(killer), why: `it cannot be loaded: ${failure}`, killed: false }
      return {
        by: words(killer),
        why: broken ?? (failed[0] === undefined ? "the tests pass" : `fails by no assertion: ${failed[0].why}`),
        killed: false
      }
    }
    return { by: killed_by.map(words).join("; "), why: "", killed: true }
  } finally {
    writeFileSync(join(copy, file), sound)
  }
}

const survived: Array<string> = []
const only_by_all: Array<string> = []
const waiting = [...placed]
const work = async (copy: string): Promise<void> => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [mutant, place] = next
    if (typeof place === "string") continue
    const from = performance.now()
    const { by, killed, why } = await tried(copy, mutant, place)
    const isShort = mutant.killed_by.some((killer) => reachOf(killer) === "short")
    if (!killed) survived.push(mutant.name)
    else if (!isShort) only_by_all.push(mutant.name)
    console.log(
      `${killed ? "killed  " : "SURVIVED"}  ${secondsSince(from).padStart(7)}  ${mutant.name}\n${" ".repeat(21)}${killed ? `by ${isShort ? "" : "test:all alone, "}` : "not killed by "}${by}${killed ? "" : `: ${why}`}`
    )
  }
}
await Promise.all(copies.map(work))
for (const name of survived) console.log(`\nSURVIVED  ${name}`)
console.log(
  `\n${wanted.length} mutants, ${wanted.length - survived.length} killed, ` +
    `${wanted.length - survived.length - only_by_all.length} of them by npm test, ${survived.length} survived, in ${secondsSince(begun_at)}`
)
process.exitCode = survived.length === 0 ? 0 : 1
