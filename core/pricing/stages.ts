/**
 * The four stages of pricing (rules/billing 4): 1 lines, which are input here, 2 discount rules, 3 surcharges, 4 totals
 * and tax. With a deal price stages 2 and 3 are skipped; while prices are locked their results from before the lock are
 * kept.
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

/** Results of stages 2 and 3, which locked opportunities keep. */
export interface RuleOutcome {
  /** Discount by rules in minor units, by line id; 0 for lines without an entry. */
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
  /** The results to keep while pricing is locked, else null. */
  readonly locked: RuleOutcome | null
}

export interface PricedOpportunity extends RuleOutcome, RollUp {
  /** Minor units by line id, after every discount. */
  readonly line_nets: ReadonlyMap<number, number>
}

/** Fails under `charge_total` where a sum is too large to be exact. */
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

/** A discount kept from before a lock may exceed its line, whose price changed since; the net is at least 0. */
const netOf = (line: StageLine, { line_discounts }: RuleOutcome): number => {
  const discount = line_discounts.get(line.id) ?? 0
  return discount === 0 ? line.net : Math.max(0, line.net - discount)
}

/**
 * Lines in order of id: moving lines in the quote does not change which of them get the minor units left by rounding.
 */
const asEntered = ({ lines }: StagesRequest): ReadonlyArray<StageLine> =>
  lines.every((line, index) => line.id >= (lines[index - 1]?.id ?? line.id))
    ? lines
    : [...lines].sort((a, b) => a.id - b.id)

/** Input of stage 2: the priced lines in order of id. */
export const discountRequestOf = (request: StagesRequest): DiscountRequest => ({
  ...request,
  lines: asEntered(request)
})

/** Input of stage 3: the lines that are charged, less the discounts of rules. */
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
