/** Faults of the waiting list: who is told that goods came free, and when. */
import type { Mutant } from "./mutant.ts"

const queue = "core/opportunities/waiting/queue.ts"
const table = "test/core/opportunities/waiting/queue.test.ts"
const scenarios = "test/server/opportunities/waiting.test.ts"

export const waiting_mutants: ReadonlyArray<Mutant> = [
  {
    name: "both of two lines are told of one piece",
    file: queue,
    within: "looksAt",
    find: "now.add(demands)",
    replace: "",
    killed_by: [{ file: table, test: "goods in stock, held by others, and those who wait" }]
  },
  {
    name: "quotations go before orders",
    file: queue,
    within: "rank",
    find: "holds ? 0",
    replace: "holds ? 3",
    killed_by: [{ file: table, test: "goods in stock, held by others, and those who wait" }]
  },
  {
    name: "those behind in the queue stand in the way",
    file: queue,
    within: "growing",
    find: "!without.has(demand.source_id)",
    replace: "true",
    killed_by: [{ file: table, test: "goods in stock, held by others, and those who wait" }]
  },
  {
    name: "whoever leaves the list makes room for nobody",
    file: "server/opportunities/waiting.ts",
    within: "concerned",
    find: "dataOf(waitLeft, relevant)",
    replace: "dataOf(waitLeft, [])",
    killed_by: [{ file: scenarios, test: "moves up when somebody leaves" }]
  }
]
