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
    "gives the same result whatever goes out or comes back while counting"
  ),
  lines(
    "a count loses a unit that is out on an order",
    "judgeUncounted",
    { find: "opportunity_id !== undefined", replace: "opportunity_id === null" },
    "gives the same result whatever goes out or comes back while counting"
  ),
  lines(
    "a count loses what is in a sealed case",
    "judgeUncounted",
    { find: "inside?.is_sealed === true", replace: "inside?.is_sealed === null" },
    "names another store's units"
  ),
  lines(
    "a count finds a unit again that was lost after its scan",
    "judgeCounted",
    { find: "service.starts_at > at", replace: "service.starts_at === at" },
    "gives the same result whatever goes out or comes back while counting"
  ),
  lines(
    "counted goods are compared with the stock of closing",
    "expectedAt",
    { find: "one.happened_at > at", replace: "one.happened_at === at" },
    "compares counted goods with their stock at the scan"
  ),
  facts(
    "two counts correct the same difference twice",
    "loadLedger",
    { find: "source_type !== ledger_source", replace: 'source_type !== "-"' },
    "corrects once where two counts run at once"
  ),
  decide(
    "a unit is counted once by each device",
    "count",
    { find: "!tally.has(key)", replace: "key !== null" },
    "change nothing the second time, on whichever device"
  ),
  decide(
    "a scan after the end is lost without a word",
    "requireOpen",
    { find: 'take.status === "open"', replace: 'take.status !== "cancelled"' },
    "are refused after the end, and from the future"
  ),
  decide(
    "the person who counted everything closes alone",
    "requireSecondPerson",
    { find: "|| is_alone", replace: "&& is_alone" },
    "refuses a count of nothing, and the only person who counted"
  )
]
