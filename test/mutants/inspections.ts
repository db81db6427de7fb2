/** Faults of inspections: a failed unit that goes out, an overdue one that counts as fine or goes out unnoticed. */
import { faultsIn, type Mutant } from "./mutant.ts"

const suite = "test/core/warehouse/inspections.test.ts"
const due_dates = faultsIn("core/warehouse/inspections/rules.ts", suite)
const rules = faultsIn("core/warehouse/inspections/rules.ts", suite, "sqlite")
const races = "test/api/shortage-races.test.ts"
const cases = faultsIn("core/warehouse/containers/dispatch-return.ts", suite, "sqlite")
const stock = faultsIn("core/products/stock/schema.ts", suite, "sqlite")
const blocked = "exclude failed and overdue units from allocation and availability if the policy is to block"

export const inspection_mutants: ReadonlyArray<Mutant> = [
  due_dates(
    "a failed unit has no due date if its product needs no such inspection",
    "inspectionDueAt",
    { find: 'result === "fail"', replace: 'result === "pass"' },
    "is the time of the failure for a unit that failed, even if its product does not need that kind"
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
    "do not replace newer ones when recorded late, and deleting the newest makes the previous one count"
  ),
  faultsIn("core/warehouse/inspections/rules.ts", races, "pg")(
    "a deleted inspection counts as the newest by what was read before the unit was locked",
    "afterDeleting",
    { find: "!latest.some(({ id }) => id === row.id)", replace: "!row.is_latest" },
    "leave the oldest of three inspections as the newest when the others are deleted"
  ),
  faultsIn("core/warehouse/inspections/api.ts", races, "pg")(
    "deleting an inspection does not wait for another of its unit",
    "recorded",
    { find: "lockStreams([`stock_level:${unit}`])", replace: "Effect.void" },
    "leave one newest inspection when one is recorded while the newest is deleted"
  ),
  stock(
    "an overdue unit counts as fine",
    "outOfServiceOf",
    { find: "millisOf(starts_at) > now", replace: "millisOf(starts_at) <= now" },
    blocked
  ),
  stock(
    "an overdue unit goes out without a warning",
    "inspectionWarnings",
    { find: 'settingText(settings, "inspections", "policy") !== "warn"', replace: "true" },
    "warn at allocation, on the pick list and as units go out if the policy is to warn"
  ),
  rules(
    "months to the next inspection are counted in UTC",
    "monthsAfter",
    { find: "const wall = wallOf(millisOf(at), zone)", replace: "const wall = millisOf(at)" },
    "count months by the company's clock in a store without a time zone"
  ),
  cases(
    "a case goes out while its own unit is overdue",
    "caseOutOfService",
    {
      find: "outOfServiceDuring(housing, context)",
      replace: "outOfServiceDuring({ ...housing, inspection_due_at: null }, context)"
    },
    "keep a %s case whose own unit failed from going out, or warn of it"
  )
]
