/** Faults of undo: too much or too little undone, or in an order the rules refuse. */
import { faultsIn, type Mutant } from "./mutant.ts"

const rules = "test/core/offline/undo/compensation.test.ts"
const common = faultsIn("core/offline/undo/compensation.ts", rules),
  kinds = faultsIn("core/offline/undo/compensations.ts", rules),
  orders = faultsIn("core/offline/undo/orders.ts", rules),
  units = faultsIn("core/offline/undo/units.ts", rules),
  scans = faultsIn("core/offline/undo/units.ts", rules)
const daily = "test/sync/undo-daily.test.ts"
const guards = faultsIn("sync/device/undo/guards.ts", daily),
  at_server = faultsIn("sync/server/push.ts", daily)
const kept = "is refused because of others' later changes"

export const undo_mutants: ReadonlyArray<Mutant> = [
  guards(
    "an undo overwrites values that others set since",
    "laterChange",
    { find: "(one) => !holds(done, one)", replace: "(one) => holds(done, one)" },
    kept
  ),
  guards(
    "an undo deletes rows that others changed since",
    "laterChange",
    { find: "isByOtherDevice(context, one) &&", replace: "!isByOtherDevice(context, one) &&" },
    kept
  ),
  at_server(
    "the server accepts an undo over others' changes",
    "changedSince",
    { find: "event.position <= unless_changed.since", replace: "event.position > unless_changed.since" },
    kept
  ),
  common(
    "an undo forgets which values it would overwrite",
    "putBack",
    { find: ".flatMap((name) => watchedOf(row, name))", replace: ".slice(changed.length)" },
    "restores only the values that the update sent, and expects them unchanged"
  ),
  common(
    "a recreated row lacks its dependent rows",
    "makeAgain",
    { find: "with_it.length > 0", replace: "with_it.length > 1_000" },
    "creates deleted rows again, unless other rows were deleted with them"
  ),
  common(
    "an undone creation is deleted despite others' changes",
    "deleteMade",
    { find: "{ untouched: [made] }", replace: "{}" },
    "deletes a created row unless somebody else changed it"
  ),
  kinds(
    "an undo clears a secret that devices never saw",
    "settingsBefore",
    { find: "|| fields[key].secret", replace: "" },
    "restores the settings it set, and is impossible for secret settings"
  ),
  kinds(
    "an undo activates a user who was not active before",
    "reactivated",
    { find: '?.before?.["is_active"] === true', replace: "?.before !== null" },
    "reactivates an account that had been active"
  ),
  kinds(
    "an undone write-off restores the unit without its stock",
    "inServiceAgain",
    { find: '|| done.body["write_off"] === true', replace: "" },
    "releases a unit by its own service record, unless stock was written off or an earlier record changed"
  ),
  orders(
    "an undo sets a closed order's status without reopening it",
    "statusBefore",
    { find: "(state === 2 && is === cancelled) ||", replace: "" },
    "reopens or reinstates a closed order before it sets the earlier status"
  ),
  orders(
    "a recreated line's parts are added before the line",
    "removedLine",
    { find: "pathOf(one).localeCompare(pathOf(other))", replace: "pathOf(other).localeCompare(pathOf(one))" },
    "restores deleted lines in order, each at its place"
  ),
  units(
    "an undo removes dispatched units without a return",
    "unitBack",
    { find: "statusOf(set) > 1", replace: "statusOf(set) > 1_000" },
    "reverts a unit's status before it removes the unit"
  ),
  units(
    "an undo reverts a dispatch before its return",
    "countedBack",
    { find: "counted.toReversed()", replace: "counted" },
    "reverts returns before dispatches"
  ),
  scans(
    "an undone scan leaves the seal broken",
    "backInCases",
    { find: 'before?.["status"] === "sealed"', replace: 'before?.["status"] === "open"' },
    "seals a case that the command opened, and is impossible if a case was dispatched"
  )
]
