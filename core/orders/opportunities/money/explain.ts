/** Explains the prices of an opportunity: lines in order, then discount rules, surcharges, totals and tax. */
import { Effect, Result } from "effect"
import { type AnyRow, type Input, type JsonObject, sameJson, Store } from "../../../kernel/index.ts"
import type { Step } from "../../../pricing/explain/explain-step.ts"
import { explainLine, explainTotals } from "../../../pricing/explain/explain-totals.ts"
import { priceOpportunity } from "../../../pricing/pricing/surcharges.ts"
import { formatMoney } from "../../../values/money.ts"
import { liveLines, loadDecisionState, pricingRequestOf, stagesOf, type DecisionState } from "../state/index.ts"
import { opportunity_items, totalFields, type OpportunityRow } from "../tables/index.ts"

/** Explanation steps, named like the figures in responses: `items.12.total`, `tax_total`. */
const explainOpportunity = (state: DecisionState, now: string): ReadonlyArray<Step> => {
  const { opportunity } = state
  const { header } = opportunity
  const lines = liveLines(opportunity).filter((line) => line.item_type !== "group")
  const money = (minor: number): string => formatMoney(minor, header.currency_code)
  const steps = lines.flatMap((line) => {
    const own = explainLine(pricingRequestOf(state, header, line), line)
    const optional: ReadonlyArray<Step> = line.is_optional
      ? [
          {
            figure: "total",
            rule: "optional",
            from: money(line.total),
            to: money(0),
            words: "The line is optional: it counts towards no sum."
          }
        ]
      : []
    return [...own, ...optional].map((step) => ({ ...step, figure: `items.${line.id}.${step.figure}` }))
  })
  if (lines.length + opportunity.costs.length === 0 && header.deal_total === null) {
    return header.charge_total === 0
      ? []
      : [
          {
            figure: "charge_total",
            rule: "first_guess",
            from: null,
            to: money(header.charge_total),
            words: "A first guess by hand, until there are lines or costs."
          }
        ]
  }
  const request = stagesOf(state, opportunity, now)
  const priced = priceOpportunity(request)
  if (Result.isFailure(priced)) return steps
  const is_current =
    sameJson(pick(header), pick({ ...priced.success.totals })) &&
    lines.every((line) => priced.success.line_nets.get(line.id) === line.total)
  return is_current
    ? [
        ...steps,
        ...explainTotals({
          request,
          priced: priced.success,
          costs: opportunity.costs.filter((cost) => cost.surcharge_id === null)
        })
      ]
    : [
        ...steps,
        {
          figure: "charge_total",
          rule: "kept",
          from: null,
          to: money(header.charge_total),
          words: `The sums are those of the last change; rules, surcharges or tax differ since, and would give ${money(priced.success.totals.charge_total)} net now.`
        }
      ]
}
const pick = (row: AnyRow): JsonObject =>
  Object.fromEntries(Object.keys(totalFields).map((name) => [name, row[name] ?? null]))

/** Loads and explains an opportunity's prices in a fixed number of queries, whatever the number of lines. */
export const explanationOf = Effect.fnUntraced(function* (
  header: OpportunityRow,
  input: Input
): Store.Reads<ReadonlyArray<JsonObject>> {
  const lines = yield* Store.find(opportunity_items, { opportunity_id: header.id, is_live: true })
  const rated = [...new Set(lines.map((line) => line.item_id).filter((id) => id !== null))]
  const state = yield* loadDecisionState(header, input, { live_only: true, rated_product_ids: rated })
  return explainOpportunity(state, input.now).map((step) => ({ ...step }))
})
