/**
 * The actions an opportunity allows now, and the reasons against the others (rules/opportunities 2), by the rules of
 * the actions themselves.
 */
import { Result } from "effect"
import { hasOnePermission, type DecideContext } from "../../../kernel/index.ts"
import { gatePolicy, isDispatchBlocked, isTold, liveLines, shortageText, shortageToldText } from "../state/index.ts"
import { shortLinesOf, standingWarnings, type DecisionState } from "../state/index.ts"
import { previewAsOrder, wasDispatched } from "./decide.ts"
import { transitionRefusal, type Transition } from "../tables/index.ts"

interface AvailableAction {
  readonly key: string
  readonly label: string
  readonly allowed: boolean
  readonly reason: string | null
  readonly code: string | null
}
interface Denial {
  readonly code: string
  readonly reason: string
}
interface Action {
  readonly key: string
  readonly label: (state: DecisionState) => string
  /** Any one of these is enough. */
  readonly permissions: ReadonlyArray<"edit" | "fulfil" | "unlock_rates" | "create" | "delete">
  readonly move: Transition
  /** A reason against the action, besides status and permission. */
  readonly rule?: (state: DecisionState, context: DecideContext) => Denial | undefined
}

const isLocked = ({ opportunity }: DecisionState): boolean =>
  opportunity.header.exchange_rate_locked || opportunity.header.tax_locked
const plain = (
  key: Transition,
  label: string,
  permissions: Action["permissions"] = ["edit"],
  rule?: Action["rule"]
): Action => ({ key, label: () => label, permissions, move: key, ...(rule === undefined ? {} : { rule }) })

/** Lines that would be short if the quotation became an order. */
const shortAsOrder = (state: DecisionState, context: DecideContext) =>
  Result.match(previewAsOrder(state, context), {
    onSuccess: ({ recalculated }) => recalculated.shortages.filter((one) => one.remaining_shortfall > 0),
    onFailure: () => []
  })
const wouldFallShort = (state: DecisionState, context: DecideContext): Denial | undefined => {
  if (gatePolicy(state, context.viewer).effective !== "block") return undefined
  const short = shortAsOrder(state, context)
  return short.length === 0 ? undefined : { code: "shortage_block", reason: shortageText(short) }
}
const isHeldBack = (state: DecisionState, context: DecideContext): Denial | undefined => {
  const held = shortLinesOf(
    state,
    liveLines(state.opportunity).map(({ id }) => id),
    context
  )
  return isDispatchBlocked(state, held) ? { code: "dispatch_block", reason: shortageText(held) } : undefined
}

/** All actions, in the order of the response. */
const actions: ReadonlyArray<Action> = [
  plain("convert_to_quotation", "Convert to Quotation"),
  plain("convert_to_order", "Convert to Order", ["edit"], wouldFallShort),
  plain("change_status", "Change Status"),
  plain("reinstate", "Reinstate"),
  plain("reopen", "Re-open"),
  plain("revert_to_quotation", "Revert to Quotation", ["edit"], ({ opportunity }) =>
    wasDispatched(opportunity)
      ? { code: "dispatched", reason: "Units of this order were dispatched already." }
      : undefined
  ),
  plain("revert_to_draft", "Revert to Draft"),
  {
    key: "unlock_locks",
    label: (state) => (isLocked(state) ? "Unlock price" : "Lock price"),
    permissions: ["unlock_rates"],
    move: "locks",
    rule: (state) =>
      !isLocked(state) && state.opportunity.header.deal_total !== null
        ? { code: "deal_price_active", reason: "A deal price is set; clear it before locking prices." }
        : undefined
  },
  plain("clone", "Clone", ["create"]),
  plain("dispatch", "Dispatch", ["edit", "fulfil"], isHeldBack),
  plain("delete", "Delete", ["delete"])
]

export const availableActions = (state: DecisionState, context: DecideContext): ReadonlyArray<AvailableAction> =>
  actions.map((action) => {
    const refusal = transitionRefusal(state.opportunity.header, action.move)
    const permissions = action.permissions.map((one) => `opportunities.${one}`)
    const denial: Denial | undefined = !permissions.some((one) => hasOnePermission(context.viewer, one))
      ? { code: "permission_denied", reason: `This needs the permission ${permissions.join(" or ")}.` }
      : refusal !== undefined
        ? { code: "invalid_state", reason: refusal }
        : action.rule?.(state, context)
    return {
      key: action.key,
      label: action.label(state),
      allowed: denial === undefined,
      reason: denial?.reason ?? null,
      code: denial?.code ?? null
    }
  })

/** Warnings before a quotation becomes an order: customer credit and shortages. */
export const orderWarnings = (state: DecisionState, context: DecideContext): ReadonlyArray<string> => {
  const { customer, opportunity, owed } = state
  if (transitionRefusal(opportunity.header, "convert_to_order") !== undefined) return []
  const short = shortAsOrder(state, context)
  const is_told = short.length > 0 && isTold(state)
  return [
    ...standingWarnings(customer, owed, opportunity.header, context.settings),
    ...(is_told ? [shortageToldText(state, short, context.viewer)] : [])
  ]
}
