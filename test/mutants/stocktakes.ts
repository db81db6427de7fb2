/** Faults of stocktakes: a count that loses a unit, corrects twice, or touches what is another store's. */
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
    "a count loses a unit that came back meanwhile",
    "judgeUncounted",
    { find: "seen !== undefined", replace: "seen === null" },
    "reports no unit as missing that goes out or comes back during the count"
  ),
  lines(
    "a count loses a unit that is out on an order",
    "judgeUncounted",
    { find: "opportunity_id !== undefined", replace: "opportunity_id === null" },
    "reports no unit as missing that goes out or comes back during the count"
  ),
  lines(
    "a count loses what is in a sealed case",
    "judgeUncounted",
    { find: "inside?.is_sealed === true", replace: "inside?.is_sealed === null" },
    "reports units of other stores"
  ),
  lines(
    "a count finds a unit again that was lost after its scan",
    "judgeCounted",
    { find: "service.starts_at > at", replace: "service.starts_at === at" },
    "reports no unit as missing that goes out or comes back during the count"
  ),
  lines(
    "counted goods are compared with the stock of closing",
    "expectedAt",
    { find: "one.happened_at > at", replace: "one.happened_at === at" },
    "compares a bulk count with the stock at its scan"
  ),
  facts(
    "two counts correct the same difference twice",
    "loadLedger",
    { find: "source_type !== ledger_source", replace: 'source_type !== "-"' },
    "corrects the stock once if two stocktakes count it"
  ),
  decide(
    "a unit is counted once by each device",
    "count",
    { find: "!tally.has(key)", replace: "key !== null" },
    "count a unit once and every bulk quantity, also over several requests"
  ),
  decide(
    "a scan after the end is lost without a word",
    "requireOpen",
    { find: 'take.status === "open"', replace: 'take.status !== "cancelled"' },
    "are rejected after closing, and with a time in the future"
  ),
  decide(
    "the person who counted everything closes alone",
    "requireSecondPerson",
    { find: "|| is_alone", replace: "&& is_alone" },
    "is rejected if nothing is counted, and by the only user who counted if another one is required"
  )
]
