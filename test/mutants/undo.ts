/** Faults of undo: too much is taken back, too little, or in an order that the rules refuse. */
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
    "an undo takes back what somebody else set since",
    "laterChange",
    { find: "(one) => !holds(done, one)", replace: "(one) => holds(done, one)" },
    kept
  ),
  guards(
    "what others have worked on since is deleted by whoever made it",
    "laterChange",
    { find: "isByOtherDevice(context, one) &&", replace: "!isByOtherDevice(context, one) &&" },
    kept
  ),
  at_server(
    "the server takes back what somebody else set meanwhile",
    "changedSince",
    { find: "event.position <= unless_changed.since", replace: "event.position > unless_changed.since" },
    kept
  ),
  common(
    "an undo forgets which values it would overwrite",
    "putBack",
    { find: ".flatMap((name) => watchedOf(row, name))", replace: ".slice(changed.length)" },
    "restores the values that it sent and no others, and expects them unchanged"
  ),
  common(
    "a row is made again without what went with it",
    "makeAgain",
    { find: "with_it.length > 0", replace: "with_it.length > 1_000" },
    "creates deleted rows again, unless other rows were deleted with them"
  ),
  common(
    "what was made is deleted whoever worked on it",
    "deleteMade",
    { find: "{ untouched: [made] }", replace: "{}" },
    "deletes a created row unless somebody else changed it"
  ),
  kinds(
    "a secret that devices never saw is set to nothing",
    "settingsBefore",
    { find: "|| fields[key].secret", replace: "" },
    "of settings restores those that it sent, but none that devices do not have"
  ),
  kinds(
    "somebody who could not log in before is let in",
    "reactivated",
    { find: '?.before?.["is_active"] === true', replace: "?.before !== null" },
    "reactivates an account that had been active"
  ),
  kinds(
    "what was written off is back in service without its stock",
    "inServiceAgain",
    { find: '|| done.body["write_off"] === true', replace: "" },
    "releases a unit by its own service record, unless stock was written off or an earlier record changed"
  ),
  orders(
    "a closed order is given its status without being opened",
    "statusBefore",
    { find: "(state === 2 && is === cancelled) ||", replace: "" },
    "sets the earlier status, and opens a closed order before"
  ),
  orders(
    "a line's parts are added before the line they stand in",
    "removedLine",
    { find: "pathOf(one).localeCompare(pathOf(other))", replace: "pathOf(other).localeCompare(pathOf(one))" },
    "restores deleted lines in order, each at its place"
  ),
  units(
    "units that are out are taken off without coming back",
    "unitBack",
    { find: "statusOf(set) > 1", replace: "statusOf(set) > 1_000" },
    "reverts a unit's status before it removes the unit"
  ),
  units(
    "what went out is counted back before what came back of it",
    "countedBack",
    { find: "counted.toReversed()", replace: "counted" },
    "reverts returns before dispatches"
  ),
  scans(
    "a seal that was broken for a scan stays broken",
    "backInCases",
    { find: 'before?.["status"] === "sealed"', replace: 'before?.["status"] === "open"' },
    "seals a case that was opened for them, and is impossible if a case moved"
  )
]
