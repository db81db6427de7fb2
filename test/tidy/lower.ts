/**
 * `npm run tidy` lowers the ratchets to the current counts. If a count is above its limit it reports that and exits
 * with 1; `-- --raise WHAT` (repeatable) raises that limit to the current count.
 */
import { parseArgs } from "node:util"
import { tidinessToday } from "./found.ts"
import { asCounted, differences, isMore, readRatchets, told, writeRatchets } from "./ratchets.ts"

const { values } = parseArgs({ options: { raise: { type: "string", multiple: true, default: [] } } })
const today = tidinessToday(),
  before = readRatchets(),
  counted = asCounted(today)
const changed = differences(before, today)
const refused = changed.filter((one) => isMore(one) && !values.raise.includes(one.what))

const counts = Object.fromEntries(
  Object.entries(counted.counts)
    .map(([what, folders]) => [
      what,
      Object.fromEntries(
        Object.entries(folders).flatMap(([folder, count]) => {
          const kept = refused.find((one) => one.what === what && one.folder === folder)
          const allowed = kept?.allowed ?? count
          return allowed === 0 ? [] : [[folder, allowed]]
        })
      )
    ])
    .filter(([, folders]) => Object.keys(folders!).length > 0)
)
writeRatchets({ counts })

for (const { allowed, counted: now, folder, what } of changed.filter((one) => !refused.includes(one)))
  console.log(`${folder}, ${what}: ${allowed} → ${now}`)
for (const one of refused) console.error(told(one))
process.exitCode = refused.length > 0 ? 1 : 0
