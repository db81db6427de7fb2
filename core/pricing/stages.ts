/**
 * The four stages together (rules/billing 4): 1 line prices come in, 2 discount rules, 3 surcharges, 4 totals and tax.
 * A deal price passes over stages 2 and 3; locked pricing keeps what they gave when the lock was set.
 */
import { Result } from "effect"
import type { FieldErrors } from "../kernel/rejection.ts"
import { type AppliedRule, applyDiscountRules, type DiscountRequest } from "./discounts.ts"
import type { TransactionType } from "./line.ts"
import { type AppliedSurcharge, applySurcharges, type SurchargeGroup, type SurchargeRequest } from "./surcharges.ts"
import { type RollUp, rollUp, type TotalCost, type TotalLine, type TotalsRequest } from "./totals.ts"

export interface StageLine {
  readonly id: number
  readonly transaction_type: TransactionType
  /** Minor units: the total of `priceLine`. */
  readonly net: number
  readonly product_tax_class_id: number | null
  readonly is_optional: boolean
  readonly discountable: boolean
  readonly priced_by_hand: boolean
  readonly made_at?: string | undefined
  readonly facts: DiscountRequest["lines"][number]["facts"]
}

/** What stages 2 and 3 gave: the part of a pricing that locked opportunities keep. */
export interface RuleOutcome {
  /** Minor units a line loses to rules, by line id. Lines without an entry lose nothing. */
  readonly line_discounts: ReadonlyMap<number, number>
  readonly applied_rules: ReadonlyArray<AppliedRule>
  readonly surcharges: ReadonlyArray<AppliedSurcharge>
}

export interface StagesRequest
  extends
    Pick<DiscountRequest, "rules" | "named_rule_ids" | "currency" | "store_id" | "start_date">,
    Pick<
      TotalsRequest,
      "prices_include_tax" | "deal_total" | "locked_tax_total" | "default_product_tax_class_id" | "taxOf"
    > {
  readonly lines: ReadonlyArray<StageLine>
  readonly costs: ReadonlyArray<TotalCost>
  readonly surcharge_groups: ReadonlyArray<SurchargeGroup>
  /** Chargeable days of the opportunity. */
  readonly days: number
  /** The outcome to keep while pricing is locked, else null. */
  readonly locked: RuleOutcome | null
}

export interface PricedOpportunity extends RuleOutcome, RollUp {
  /** Minor units by line id, after every discount. */
  readonly line_nets: ReadonlyMap<number, number>
}

/** The failure, under `charge_total`, is a sum too large to be counted exactly. */
export const priceOpportunity = (request: StagesRequest): Result.Result<PricedOpportunity, FieldErrors> => {
  const outcome = request.deal_total !== null ? nothing : (request.locked ?? runRules(request))
  const line_nets = new Map<number, number>()
  const lines = request.lines.map((line): TotalLine => {
    const net = netOf(line, outcome)
    line_nets.set(line.id, net)
    return {
      transaction_type: line.transaction_type,
      net,
      product_tax_class_id: line.product_tax_class_id,
      is_optional: line.is_optional
    }
  })
  const { tax_groups, totals } = rollUp({ ...request, lines, surcharges: outcome.surcharges })
  return Object.values(totals).every(Number.isSafeInteger)
    ? Result.succeed({ ...outcome, line_nets, totals, tax_groups })
    : Result.fail({ charge_total: ["The total is too large."] })
}

const nothing: RuleOutcome = { line_discounts: new Map(), applied_rules: [], surcharges: [] }

/** A kept discount never exceeds its line, which may have shrunk since. */
const netOf = (line: StageLine, { line_discounts }: RuleOutcome): number => {
  const discount = line_discounts.get(line.id) ?? 0
  return discount === 0 ? line.net : Math.max(0, line.net - discount)
}

/** Lines as they were entered: odd minor units fall to the same ones wherever lines are moved to in the quote. */
const asEntered = ({ lines }: StagesRequest): ReadonlyArray<StageLine> =>
  lines.every((line, index) => line.id >= (lines[index - 1]?.id ?? line.id))
    ? lines
    : [...lines].sort((a, b) => a.id - b.id)

/** What stage 2 is asked: the lines as stage 1 left them, as entered. */
export const discountRequestOf = (request: StagesRequest): DiscountRequest => ({
  ...request,
  lines: asEntered(request)
})

/** What stage 3 is asked: the lines that count, less what rules took off. */
export const surchargeRequestOf = (
  request: StagesRequest,
  line_discounts: RuleOutcome["line_discounts"]
): SurchargeRequest => ({
  ...request,
  groups: request.surcharge_groups,
  lines: request.lines
    .filter(({ is_optional }) => !is_optional)
    .map(({ id, net, transaction_type }) => ({ transaction_type, net: net - (line_discounts.get(id) ?? 0) }))
})

const runRules = (request: StagesRequest): RuleOutcome => {
  const { applied, line_discounts } = applyDiscountRules(discountRequestOf(request))
  const byLine = new Map<number, number>()
  asEntered(request).forEach((line, index) => byLine.set(line.id, line_discounts[index] ?? 0))
  const surcharges = request.surcharge_groups.length === 0 ? [] : applySurcharges(surchargeRequestOf(request, byLine))
  return { line_discounts: byLine, applied_rules: applied, surcharges }
}
