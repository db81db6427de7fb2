/** Faults of stocktakes: lost units, double corrections, effects on another store. */
import { faultsIn, type Mutant } from "./mutant.ts"

const lines = faultsIn(
  "core/warehouse/stocktakes/lines.ts",
  "test/core/warehouse/stocktakes/stocktakes.test.ts",
  "sqlite"
)
const facts = faultsIn(
  "core/warehouse/stocktakes/facts.ts",
  "test/core/warehouse/stocktakes/stocktakes.test.ts",
  "sqlite"
)
const decide = faultsIn("core/warehouse/stocktakes/decide.ts", "test/core/warehouse/stocktakes/decide.test.ts")

export const stocktake_mutants: ReadonlyArray<Mutant> = [
  lines(
    "a stocktake marks a unit as lost that was returned meanwhile",
    "judgeUncounted",
    { find: "seen !== undefined", replace: "seen === null" },
    "reports no unit as missing that goes out or comes back during the count"
  ),
  lines(
    "a stocktake marks a unit as lost that is out on an order",
    "judgeUncounted",
    { find: "opportunity_id !== undefined", replace: "opportunity_id === null" },
    "reports no unit as missing that goes out or comes back during the count"
  ),
  lines(
    "a stocktake marks the contents of sealed cases as lost",
    "judgeUncounted",
    { find: "inside?.is_sealed === true", replace: "inside?.is_sealed === null" },
    "reports units of other stores"
  ),
  lines(
    "a stocktake marks a unit as found that was lost after its scan",
    "judgeCounted",
    { find: "service.starts_at > at", replace: "service.starts_at === at" },
    "reports no unit as missing that goes out or comes back during the count"
  ),
  lines(
    "bulk goods are compared with the stock at closing",
    "expectedAt",
    { find: "one.happened_at > at", replace: "one.happened_at === at" },
    "compares a bulk count with the stock at its scan"
  ),
  facts(
    "two stocktakes correct the same difference twice",
    "loadLedger",
    { find: "source_type !== ledger_source", replace: 'source_type !== "-"' },
    "corrects the stock once if two stocktakes count it"
  ),
  decide(
    "a unit scanned by two devices is counted twice",
    "count",
    { find: "!tally.has(key)", replace: "key !== null" },
    "count a unit once and add up bulk quantities over several requests, too"
  ),
  decide(
    "a scan after the end of a stocktake is silently dropped",
    "requireOpen",
    { find: 'take.status === "open"', replace: 'take.status !== "cancelled"' },
    "are rejected after closing, and with a time in the future"
  ),
  decide(
    "a stocktake can be closed by the only person who counted",
    "requireSecondPerson",
    { find: "|| is_alone", replace: "&& is_alone" },
    "is rejected if nothing is counted, and by the only user who counted if a second user is required"
  )
]
