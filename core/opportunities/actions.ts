/** What may be done with an opportunity now, and why not (opportunities 2): from the same table and rules that guard the moves. */
import { Result } from "effect"
import type { DecideContext } from "../kernel/endpoint.ts"
import { can } from "../kernel/viewer.ts"
import { type Known, liveLines } from "./deal.ts"
import { heldBack, isDispatchBlocked } from "./decide/progress.ts"
import { asOrder, gatePolicy, shortageText, wasDispatched } from "./decide/status.ts"
import { type Move, refusalOf } from "./statuses.ts"

export interface AvailableAction {
  readonly key: string
  readonly label: string
  readonly allowed: boolean
  readonly reason: string | null
  readonly code: string | null
}
interface Denial { readonly code: string; readonly reason: string }
interface Action {
  readonly key: string
  readonly label: (known: Known) => string
  readonly permission: "edit" | "unlock_rates" | "create" | "delete"
  readonly move: Move
  /** What the status allows and something else forbids. A look, never a change. */
  readonly rule?: (known: Known, context: DecideContext) => Denial | undefined
}

const isLocked = ({ deal }: Known): boolean => deal.header.exchange_rate_locked || deal.header.tax_locked
const plain = (key: Move, label: string, permission: Action["permission"] = "edit", rule?: Action["rule"]): Action =>
  ({ key, label: () => label, permission, move: key, ...(rule === undefined ? {} : { rule }) })

const wouldFallShort = (known: Known, context: DecideContext): Denial | undefined => {
  if (gatePolicy(known, context.viewer).effective !== "block") return undefined
  const short = Result.match(asOrder(known, context), {
    onSuccess: ({ settled }) => settled.shortages.filter((one) => one.remaining_shortfall > 0), onFailure: () => []
  })
  return short.length === 0 ? undefined : { code: "shortage_block", reason: shortageText(short) }
}
const isHeldBack = (known: Known, context: DecideContext): Denial | undefined => {
  const held = heldBack(known, liveLines(known.deal).map(({ id }) => id), context)
  return isDispatchBlocked(known, held) ? { code: "dispatch_block", reason: shortageText(held) } : undefined
}

/** Always these, in this order. */
const actions: ReadonlyArray<Action> = [
  plain("convert_to_quotation", "Convert to Quotation"),
  plain("convert_to_order", "Convert to Order", "edit", wouldFallShort),
  plain("change_status", "Change Status"),
  plain("reinstate", "Reinstate"),
  plain("reopen", "Re-open"),
  plain("revert_to_quotation", "Revert to Quotation", "edit", ({ deal }) =>
    wasDispatched(deal) ? { code: "dispatched", reason: "Units of this order were dispatched already." } : undefined),
  plain("revert_to_draft", "Revert to Draft"),
  {
    key: "unlock_locks", label: (known) => isLocked(known) ? "Unlock price" : "Lock price", permission: "unlock_rates", move: "locks",
    rule: (known) => !isLocked(known) && known.deal.header.deal_total !== null
      ? { code: "deal_price_active", reason: "A deal price is set; clear it before locking prices." } : undefined
  },
  plain("clone", "Clone", "create"),
  plain("dispatch", "Dispatch", "edit", isHeldBack),
  plain("delete", "Delete", "delete")
]

export const availableActions = (known: Known, context: DecideContext): ReadonlyArray<AvailableAction> => actions.map((action) => {
  const refusal = refusalOf(known.deal.header, action.move)
  const denial: Denial | undefined = !can(context.viewer, `opportunities.${action.permission}`)
    ? { code: "permission_denied", reason: `This needs the permission opportunities.${action.permission}.` }
    : refusal !== undefined ? { code: "invalid_state", reason: refusal }
    : action.rule?.(known, context)
  return { key: action.key, label: action.label(known), allowed: denial === undefined, reason: denial?.reason ?? null, code: denial?.code ?? null }
})
