/** Effect of an opportunity's status on stock (rules/availability 2.3, rules/opportunities 1 and 10). */
import { type Phase, phase_labels } from "../../demands/demand.ts"

export { type Phase, phase_labels }

/** Setting `availability.release_point`: the step at which stock is free again. `off_hired` behaves like `returned`. */
export type ReleasePoint = "off_hired" | "returned" | "checked"

/** state × 100 + status → phase, for the default release point. */
const phases: ReadonlyMap<number, Phase> = new Map<number, Phase>([
  [0, "draft"],
  [100, "draft"],
  [101, "reserved"],
  [102, "void"],
  [103, "void"],
  [104, "held"],
  [200, "reserved"],
  [201, "on_hire"],
  [202, "on_hire"],
  [203, "closed"],
  [204, "closed"],
  [205, "closed"],
  [206, "void"]
])

const orderReturned = 203
/** Lost, Dead, Complete, Cancelled. */
const closedOpportunities: ReadonlySet<number> = new Set([102, 103, 205, 206])

/** The opportunity's `availability_phase`. Throws RangeError on a status the state does not have. */
export const phaseOf = (state: number, status: number, release_point: ReleasePoint = "returned"): Phase => {
  const phase = phases.get(state * 100 + status)
  if (phase === undefined) throw new RangeError(`State ${state} has no status ${status}.`)
  return state * 100 + status === orderReturned && release_point === "checked" ? "on_hire" : phase
}

/**
 * The phase of the opportunity's demands: as its own, but void once the opportunity is closed (rules/opportunities 10).
 */
export const demandPhaseOf = (state: number, status: number, release_point: ReleasePoint = "returned"): Phase =>
  closedOpportunities.has(state * 100 + status) ? "void" : phaseOf(state, status, release_point)

/** Whether demands of this phase take stock away from others. */
export const holdsStock = (phase: Phase): boolean => phase === "held" || phase === "reserved" || phase === "on_hire"

/** Whether preparation and turnaround time count around the hire window; a held quotation has none. */
export const takesBuffers = (phase: Phase): boolean => phase === "reserved" || phase === "on_hire" || phase === "closed"
