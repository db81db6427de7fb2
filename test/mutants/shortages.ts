/** Faults of shortages: places that disagree with the rule. */
import { faultsIn, type Mutant } from "./mutant.ts"

const fault = (file: string) => faultsIn(file, "test/core/orders/opportunities/shortages/all-responses.test.ts")
const moved = fault("core/orders/opportunities/shortages/reactions.ts")
const one_answer = "agree after every step of random world %i"
const follows = "reflect other orders' demands and cancellations, on orders and drafts alike"

export const shortage_mutants: ReadonlyArray<Mutant> = [
  moved(
    "an order's shortage flag stays unset when others take its goods",
    "concernedBy",
    { find: "quantity < 0 || one.unheld > quantity", replace: "one.unheld > 1_000" },
    follows
  ),
  moved(
    "a draft's shortage flag stays unset when others take its goods",
    "concernedBy",
    { find: "quantity < 0 || one.unheld > quantity", replace: "quantity < 0" },
    follows
  ),
  moved(
    "an order's shortage flag stays set when others release its goods",
    "concernedBy",
    { find: "({ is_less }) => is_less", replace: "() => false" },
    follows
  ),
  fault("core/orders/opportunities/shortages/reactions.ts")(
    "the shortage flag is computed from stock before others' claims",
    "changedFlags",
    { find: "levels, gone), demands)]", replace: "levels, gone), { ...demands, after: demands.before })]" },
    one_answer
  ),
  fault("core/orders/opportunities/state/demands.ts")(
    "a finished order is reported as short",
    "availabilityOf",
    { find: "!hasShortageCheck(opportunity.header, settings)", replace: "false" },
    one_answer
  )
]
