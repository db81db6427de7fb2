/** Faults of shortages: places that say something else than the rule. */
import { faultsIn, type Mutant } from "./mutant.ts"

const fault = (file: string) => faultsIn(file, "test/core/orders/opportunities/shortages/one-answer.test.ts")
const moved = fault("core/orders/opportunities/shortages/reactions.ts")
const one_answer = "agree after every step of random world %i"
const follows = "follow other orders' demands and cancellations, for an order as for a draft"

export const shortage_mutants: ReadonlyArray<Mutant> = [
  moved(
    "an opportunity keeps its shortage flag when others take what it wants",
    "concernedBy",
    { find: "one.is_active || one.quantity > (left.get(placeOf(one)) ?? 0)", replace: "one.quantity > 1_000" },
    follows
  ),
  moved(
    "a draft keeps its shortage flag when others take what it wants",
    "concernedBy",
    { find: "one.is_active || one.quantity > (left.get(placeOf(one)) ?? 0)", replace: "one.is_active" },
    follows
  ),
  moved(
    "an opportunity stays short when others give back what it wants",
    "concernedBy",
    { find: "less.length === 0", replace: "less.length >= 0" },
    follows
  ),
  fault("core/orders/opportunities/shortages/reactions.ts")(
    "the flag is looked at as stock was before others took it",
    "changedFlags",
    { find: "demands.after)] as const", replace: "demands.before)] as const" },
    one_answer
  ),
  fault("core/orders/opportunities/state/demands.ts")(
    "an opportunity that is over is said to be short",
    "availabilityOf",
    { find: "!hasShortageCheck(opportunity.header, settings)", replace: "false" },
    one_answer
  )
]
