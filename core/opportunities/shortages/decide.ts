/** Acknowledging shortages on request, outside the conversion to an order (rules/opportunities 9.5). */
import { Result } from "effect"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import { invalidField } from "../../kernel/rejection.ts"
import { shortagesOf } from "../demands.ts"
import type { DecisionState } from "../aggregate.ts"
import { acknowledgements } from "./schema.ts"
import { acknowledgementOf, gatePolicy } from "./policy.ts"

/** 422 on `shortages` when nothing is short. `permission_used` is false: no policy had to be overruled. */
export const acknowledgeShortages = (state: DecisionState, notes: string | null, context: DecideContext): Decided => {
  const short = shortagesOf(state, state.opportunity, state.demands, context.settings, context.now)
  if (short.length === 0) return Result.fail(invalidField("shortages", "Nothing is short."))
  const id = context.id(acknowledgements)
  const { store } = gatePolicy(state, context.viewer)
  const policy = { store, effective: store }
  return Result.succeed({
    events: [acknowledgementOf(id, state.opportunity.header.id, short, { policy, notes }, context)],
    result: { id }
  })
}
