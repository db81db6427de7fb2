/** Faults of the waiting list: who is notified of free goods, and when. */
import { faultsIn, type Mutant } from "./mutant.ts"

const queue = faultsIn(
  "core/orders/opportunities/waiting/decide.ts",
  "test/core/orders/opportunities/waiting/queue.test.ts"
)
const table = "lines that wait for stock"

export const waiting_mutants: ReadonlyArray<Mutant> = [
  queue("two lines are offered the same free unit", "looksAt", { find: "growth.add(demands)", replace: "" }, table),
  queue("quotations go before orders", "rank", { find: "holds ? 0", replace: "holds ? 3" }, table),
  queue(
    "later waits in the queue block earlier ones",
    "growing",
    { find: "!without.has(demand.source_id)", replace: "true" },
    table
  ),
  faultsIn("server/orders/waiting.ts", "test/server/orders/waiting.test.ts")(
    "leaving the waiting list releases no goods to others",
    "concerned",
    { find: "dataOf(waitLeft, relevant)", replace: "dataOf(waitLeft, [])" },
    "notifies the next line when the one before it is removed, if there is enough"
  )
]
