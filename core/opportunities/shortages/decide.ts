/** Acknowledging shortages on request, outside the conversion to an order (rules/opportunities 9.5). */
import { Result } from "effect"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import { invalidField } from "../../kernel/rejection.ts"
import { shortagesOf } from "../demands.ts"
import type { DecisionState } from "../aggregate.ts"
import { acknowledgements } from "./schema.ts"
import { shortageAcknowledged } from "./events.ts"
import { gatePolicy } from "../status/decide.ts"

/** 422 on `shortages` when nothing is short. `permission_used` is false: no policy had to be overruled. */
export const acknowledgeShortages = (state: DecisionState, notes: string | null, context: DecideContext): Decided => {
  const short = shortagesOf(state, state.opportunity, state.demands, context.settings, context.now)
  if (short.length === 0) return Result.fail(invalidField("shortages", "Nothing is short."))
  const id = context.id(acknowledgements)
  return Result.succeed({
    events: [
      shortageAcknowledged.make({
        opportunity_id: state.opportunity.header.id,
        id,
        user_id: context.viewer.user_id === 0 ? null : context.viewer.user_id,
        acknowledged_at: context.now,
        policy_at_time: gatePolicy(state, context.viewer).store,
        permission_used: false,
        shortages_snapshot: short.map((one) => ({ ...one })),
        notes
      })
    ],
    result: { id }
  })
}
