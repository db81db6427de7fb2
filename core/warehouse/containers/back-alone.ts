/** Units checked in without their case, which is still out: they are here, and not in the case. */
import { type AssignmentRow, checked_in, finalised } from "../../orders/opportunities/tables/units.ts"
import type { ContainerRow } from "../../products/packing.ts"

type Return = Pick<AssignmentRow, "opportunity_id" | "returned_at" | "status">
/** When; undefined where it did not. `around`: the outermost case. */
export const backAloneAt = (
  steps: ReadonlyArray<Return>,
  around: Pick<ContainerRow, "dispatched_at" | "opportunity_id" | "status"> | undefined
): string | undefined =>
  around?.status !== "dispatched"
    ? undefined
    : steps
        .filter(({ opportunity_id, status }) => hasReturned(status) && opportunity_id === around.opportunity_id)
        .flatMap(({ returned_at }) => returned_at ?? [])
        .find((at) => at >= (around.dispatched_at ?? ""))
export const hasReturned = (status: number): boolean => status === checked_in || status === finalised
