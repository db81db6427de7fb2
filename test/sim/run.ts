/**
 * `npm run sim -- --seeds 10000` runs many seeds, `--from M` starts at another one, `--seed N` runs one; `--trace`
 * prints its events. `--replicas N` and `--steps N` override the seed's.
 */
import { parseArgs } from "node:util"
import { simulate } from "./simulate.ts"
import { kindsOf, partOf } from "./work.ts"

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    replicas: { type: "string" },
    steps: { type: "string" },
    trace: { type: "boolean", default: false }
  }
})
const given = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))
const first = Number(values.seed ?? values.from)
const last = values.seed === undefined ? first + Number(values.seeds) - 1 : first
const total = { submitted: 0, accepted: 0, refused: 0, met: 0, torn_pages: 0, failed: 0 }
const submitted = new Set<string>(),
  accepted = new Set<string>()
const started = process.cpuUsage()
for (let seed = first; seed <= last; seed++) {
  try {
    const outcome = await simulate(seed, {
      replicas: given(values.replicas),
      steps: given(values.steps),
      ...(values.trace ? { trace: (line: string) => console.log(line) } : {})
    })
    total.submitted += outcome.submitted
    total.accepted += outcome.accepted
    total.refused += outcome.refused
    total.met += outcome.met
    total.torn_pages += outcome.torn_pages
    for (const name of outcome.submitted_names) submitted.add(name)
    for (const name of outcome.accepted_names) accepted.add(name)
    if (values.seed !== undefined)
      console.log(
        `seed ${seed}: ${outcome.replicas} replicas, ${outcome.steps} steps, ${outcome.submitted} submitted = ${outcome.accepted} accepted + ${outcome.refused} refused`
      )
  } catch (error) {
    total.failed++
    console.error(error)
  }
  if ((seed - first + 1) % 100 === 0) {
    const { user, system } = process.cpuUsage(started)
    console.error(
      `${seed - first + 1} of ${last - first + 1} seeds, ${total.failed} failed, ${Math.round((user + system) / 1_000 / (seed - first + 1))} ms of processor time each`
    )
  }
}
if (values.seed === undefined) {
  const kinds = [...new Set([partOf(first), partOf(last), ...(last - first < 500 ? [] : [0, 1, 2, 3])])].flatMap(
    kindsOf
  )
  const missing = (known: ReadonlySet<string>): string => kinds.filter((name) => !known.has(name)).join(", ") || "none"
  console.log(
    `${total.submitted} submitted = ${total.accepted} accepted + ${total.refused} refused; ${total.met} requests met another, ${total.torn_pages} pages were torn`
  )
  console.log(
    `of ${kinds.length} kinds these seeds see to, never submitted: ${missing(submitted)}\nnever accepted: ${missing(accepted)}`
  )
}
console.log(`${last - first + 1 - total.failed} passed, ${total.failed} failed`)
process.exitCode = total.failed === 0 ? 0 : 1
