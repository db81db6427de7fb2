/** `npm run sim -- --seeds 10000` runs many; `npm run sim -- --seed 42` replays one. Options: --replicas N, --steps N, --from N. */
import { parseArgs } from "node:util"
import { simulate } from "./simulate.ts"

const { values } = parseArgs({
  options: { seed: { type: "string" }, seeds: { type: "string", default: "1000" }, from: { type: "string", default: "1" }, replicas: { type: "string", default: "3" }, steps: { type: "string", default: "40" } }
})
const options = { replicas: Number(values.replicas), steps: Number(values.steps) }
const first = values.seed === undefined ? Number(values.from) : Number(values.seed)
const last = values.seed === undefined ? first + Number(values.seeds) - 1 : first
let failed = 0
for (let seed = first; seed <= last; seed++) {
  try {
    const { submitted, accepted, rejected } = await simulate(seed, options)
    if (values.seed !== undefined) console.log(`seed ${seed}: ${submitted} submitted = ${accepted} accepted + ${rejected} rejected`)
  } catch (error) {
    failed++
    console.error(error)
  }
  if (seed % 100 === 0) console.error(`${seed - first + 1} of ${last - first + 1} seeds, ${failed} failed`)
}
console.log(`${last - first + 1 - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
