/**
 * `npm run mutants` breaks the source one rule at a time, in a copy, and proves that tests notice each. `-- --list` names
 * the mutants, `-- --only WORDS` (as often as wanted) runs those whose names hold the words. Ends with 1 when one survives.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { type Found, placeOf, sourcesOf, withReplaced } from "../source/place.ts"
import { filesIn, root, source_folders, textOf } from "../source/tree.ts"
import { isSeeds, type Mutant, type TestKiller, words } from "./mutant.ts"
import { mutants } from "./mutants.ts"
import { copyOf, endAll, isAssertion, loadFault, patternOf, remove, runKiller, runTests } from "./trial.ts"

const { values } = parseArgs({
  options: { only: { type: "string", multiple: true }, list: { type: "boolean", default: false } }
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

const copy = copyOf(root)
process.once("exit", () => {
  endAll()
  remove(copy)
})
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))
const begun_at = performance.now()
const secondsSince = (from: number): string => `${((performance.now() - from) / 1_000).toFixed(1)} s`

const sources = sourcesOf(filesIn(source_folders, copy), (file) => textOf(file, copy))
const placed = wanted.map((mutant) => [mutant, placeOf(sources, mutant)] as const)
for (const [{ name }, place] of placed) if (typeof place === "string") console.error(`${name}: ${place}`)
if (placed.some(([, place]) => typeof place === "string")) process.exit(1)

/** The tests that are to fail must pass as long as nothing is broken. */
const provesNothing = async (): Promise<ReadonlyArray<string>> => {
  const killers = [
    ...new Map(wanted.flatMap(({ killed_by }) => killed_by).map((killer) => [words(killer), killer])).values()
  ]
  const tests = killers.filter((killer): killer is TestKiller => !isSeeds(killer))
  const faults: Array<string> = []
  if (tests.length > 0) {
    const { broken, failed, passed } = await runTests(
      copy,
      [...new Set(tests.map(({ file }) => file))],
      tests.map(patternOf).join("|"),
      { bail: false, millis_max: 600_000 }
    )
    if (broken !== undefined) faults.push(broken)
    for (const { test, why } of failed) faults.push(`${test} fails with nothing broken: ${why}`)
    for (const killer of tests)
      if (!passed.some((test) => new RegExp(patternOf(killer)).test(test)))
        faults.push(`no test that passes is called ${words(killer)}`)
  }
  for (const killer of killers.filter(isSeeds)) {
    const { broken, failed } = await runKiller(copy, killer)
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
/** What each killer made of the mutant; the first that let it live. */
const tried = async ({ killed_by, replace }: Mutant, place: Found): Promise<Tried> => {
  const { file } = place
  const sound = textOf(file, copy)
  writeFileSync(join(copy, file), withReplaced(sound, place, replace))
  try {
    for (const killer of killed_by) {
      const { broken, failed } = await runKiller(copy, killer)
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

let survived = 0
for (const [mutant, place] of placed) {
  if (typeof place === "string") continue
  const from = performance.now()
  const { by, killed, why } = await tried(mutant, place)
  if (!killed) survived++
  console.log(
    `${killed ? "killed  " : "SURVIVED"}  ${secondsSince(from).padStart(7)}  ${mutant.name}\n${" ".repeat(21)}${killed ? "by" : "not killed by"} ${by}${killed ? "" : `: ${why}`}`
  )
}
console.log(
  `\n${wanted.length} mutants, ${wanted.length - survived} killed, ${survived} survived, in ${secondsSince(begun_at)}`
)
process.exitCode = survived === 0 ? 0 : 1
