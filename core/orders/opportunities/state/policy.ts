/** A store's shortage policy, and the record of acknowledgements (rules/opportunities 9.5). */
import type { LineShortage } from "../../availability/rules/line.ts"
import type { DecideContext } from "../../../kernel/endpoints/endpoint.ts"
import type { NewEvent } from "../../../kernel/events/event-type.ts"
import { hasOnePermission, type Viewer } from "../../../kernel/fields/rejection.ts"
import type { DecisionState } from "./aggregate.ts"
import { shortageAcknowledged } from "../events/shortages.ts"

type GatePolicy = "block" | "warn" | "allow"
/** The store's policy on shortages, one step milder for those who may ignore them (rules/opportunities 9.5). */
export const gatePolicy = (
  state: DecisionState,
  viewer: Viewer
): { readonly store: GatePolicy; readonly effective: GatePolicy } => {
  const store = state.store?.shortage_policy ?? "warn"
  return {
    store,
    effective: !hasOnePermission(viewer, "shortages.ignore") ? store : store === "block" ? "warn" : "allow"
  }
}
/** The shortage was acknowledged. `permission_used`: the store's policy alone would have refused. */
export const acknowledgementOf = (
  id: number,
  opportunity_id: number,
  short: ReadonlyArray<LineShortage>,
  { notes, policy }: { readonly policy: ReturnType<typeof gatePolicy>; readonly notes: string | null },
  { now, viewer }: DecideContext
): NewEvent =>
  shortageAcknowledged.make({
    opportunity_id,
    id,
    user_id: viewer.user_id === 0 ? null : viewer.user_id,
    acknowledged_at: now,
    policy_at_time: policy.store,
    permission_used: policy.store !== policy.effective,
    shortages_snapshot: short.map((one) => ({ ...one })),
    notes
  })
/** Users who may ignore shortages are warned like all others, unless the store's policy allows shortages. */
export const isTold = ({ store }: Pick<DecisionState, "store">): boolean => store?.shortage_policy !== "allow"
/** The shortage, and the user responsible if the store's policy alone would refuse it. */
export const shortageToldText = (state: DecisionState, short: ReadonlyArray<LineShortage>, viewer: Viewer): string => {
  const { effective, store } = gatePolicy(state, viewer)
  const passes = "The store blocks shortages; your permission to ignore them lets this one through."
  return store === "block" && effective !== "block" ? `${shortageText(short)} ${passes}` : shortageText(short)
}
export const shortageText = (short: ReadonlyArray<LineShortage>): string =>
  `Stock is short: ${short
    .map((one) => `${one.product_name ?? `product ${one.product_id}`} by ${one.remaining_shortfall}`)
    .join(", ")}.`
