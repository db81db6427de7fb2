/** Faults of inspections: a failed unit that goes out, an overdue one that counts as fine. */
import { faultsIn, type Mutant } from "./mutant.ts"

const suite = "test/core/warehouse/inspections.test.ts"
const rules = faultsIn("core/warehouse/inspections/rules.ts", suite, "sqlite")
const stock = faultsIn("core/products/stock/schema.ts", suite, "sqlite")
const blocked = "keep failed and overdue units from being allocated if the policy is to block, and count them out"

export const inspection_mutants: ReadonlyArray<Mutant> = [
  rules(
    "a failed unit has no due date if its product needs no such inspection",
    "inspectionDueAt",
    { find: 'result === "fail"', replace: 'result === "pass"' },
    "of a failed unit is when it failed, whether its product needs the kind or not"
  ),
  rules(
    "a failed unit is due after the interval, and is allocated until then",
    "saveInspection",
    { find: 'next.result === "fail" ? inspected_at', replace: 'next.result !== "fail" ? inspected_at' },
    blocked
  ),
  rules(
    "an inspection recorded late replaces a newer one",
    "saveInspection",
    { find: '(other.inspected_at ?? "") <= inspected_at', replace: '(other.inspected_at ?? "") !== inspected_at' },
    "recorded late do not replace newer ones, and deleting one makes the one before it the newest"
  ),
  stock(
    "an overdue unit counts as fine",
    "outOfServiceOf",
    { find: "millisOf(starts_at) > now", replace: "millisOf(starts_at) <= now" },
    blocked
  )
]
