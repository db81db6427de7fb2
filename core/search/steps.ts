/** What the steps of a unit on its orders tell of where it is (rules/search 3). Pure. */
import { hasReturned } from "../containers/back-alone.ts"
import {
  allocated,
  type AssignmentRow,
  checked_in,
  dispatched,
  finalised,
  on_hire,
  prepared
} from "../opportunities/units/schema.ts"

export type Step = Pick<AssignmentRow, "opportunity_id" | "returned_at" | "status">
/** The step that says most about where a unit is: out before back before prepared. */
export const in_order = [dispatched, on_hire, checked_in, prepared, allocated]

/** The last return, checked or not: an older one that nobody checked says nothing any more. */
const lastReturn = (steps: ReadonlyArray<Step>): Step | undefined =>
  steps
    .filter(({ status }) => hasReturned(status))
    .toSorted((one, other) => ((one.returned_at ?? "") < (other.returned_at ?? "") ? 1 : -1))[0]
export const telling = (steps: ReadonlyArray<Step>): Step | undefined => {
  const back = lastReturn(steps)
  return steps
    .filter(({ status }) => status !== finalised)
    .filter((step) => step.status !== checked_in || step === back)
    .toSorted((one, other) => in_order.indexOf(one.status) - in_order.indexOf(other.status))[0]
}

/** The order it is out on or came back from last; what is only planned with it is no answer to that. */
export const cameFromOrder = (step: Step | undefined): number | null =>
  step === undefined || step.status === prepared || step.status === allocated ? null : step.opportunity_id

/**
 * The order that it is out on or came back from: its own step's, else that of the outermost case around it, which has
 * none once it is back. What is planned with it for later is no answer to that.
 */
export const orderOfPlace = (
  place: "out" | "returned",
  step: Step | undefined,
  around: { readonly opportunity_id: number | null } | undefined
): number | null => {
  const says = place === "out" ? [dispatched, on_hire] : [checked_in]
  return step !== undefined && says.includes(step.status) ? step.opportunity_id : (around?.opportunity_id ?? null)
}
