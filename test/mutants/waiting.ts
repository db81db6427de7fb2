/** Faults of the waiting list: who is told that goods came free, and when. */
import { faultsIn, type Mutant } from "./mutant.ts"

const queue = faultsIn(
  "core/orders/opportunities/waiting/decide.ts",
  "test/core/orders/opportunities/waiting/queue.test.ts"
)
const table = "lines that wait for stock"

export const waiting_mutants: ReadonlyArray<Mutant> = [
  queue("both of two lines are told of one piece", "looksAt", { find: "now.add(demands)", replace: "" }, table),
  queue("quotations go before orders", "rank", { find: "holds ? 0", replace: "holds ? 3" }, table),
  queue(
    "those behind in the queue stand in the way",
    "growing",
    { find: "!without.has(demand.source_id)", replace: "true" },
    table
  ),
  faultsIn("server/orders/waiting.ts", "test/server/orders/waiting.test.ts")(
    "whoever leaves the list makes room for nobody",
    "concerned",
    { find: "dataOf(waitLeft, relevant)", replace: "dataOf(waitLeft, [])" },
    "moves up when a line leaves"
  )
]
