/** Recalculates an open opportunity with current rates, rules, surcharges and taxes (rules/opportunities 8.1). */
import { Effect, Result } from "effect"
import { keysOf, reject, sameJson, Store } from "../../../kernel/index.ts"
import type { DecideContext, Decided, Input, Rejection } from "../../../kernel/index.ts"
import { formatDecimal } from "../../../values/decimal.ts"
import { formatMoney } from "../../../values/money.ts"
import { liveLines, loadDecisionState, presentTaxes, recalculate, repriceRequest, withHeader } from "../state/index.ts"
import type { DecisionState, Opportunity } from "../state/index.ts"
import { opportunity_items, requireTransition, type OpportunityRow } from "../tables/index.ts"
import { headerPriced, opportunityPriced, opportunityRepriced } from "../events/money.ts"

/** A figure that differs from the stored one; `opportunity_item_id` is null for costs and totals. */
interface PriceChange {
  readonly opportunity_item_id: number | null
  readonly name: string
  readonly figure: string
  readonly from: string
  readonly to: string
}
interface Repriced {
  readonly id: number
  readonly changes: ReadonlyArray<PriceChange>
}

/** Facts for pricing, with the rates of all products. */
export const repriceFacts = Effect.fnUntraced(function* (
  header: OpportunityRow,
  input: Pick<Input, "now" | "settings">
): Store.Reads<DecisionState> {
  const lines = yield* Store.find(opportunity_items, { opportunity_id: header.id, is_live: true })
  const rated = [...new Set(lines.flatMap(({ item_id }) => item_id ?? []))]
  return yield* loadDecisionState(header, input, { live_only: true, rated_product_ids: rated, touched_line_ids: [] })
})

const accepted = 2
const refuse = (text: string): Result.Result<never, Rejection> => reject("state", text)
/** 422 on `state` if prices are final: closed, invoiced, accepted, or locked (unless only taxes are updated). */
const requireRepricing = ({ opportunity: { header }, versions }: DecisionState, only_tax: boolean) =>
  Result.gen(function* () {
    yield* requireTransition(header, "edit")
    if (header.invoiced) return yield* refuse("It is invoiced; what was billed keeps its prices.")
    if (versions.some(({ id, status }) => id === header.active_version_id && status === accepted))
      return yield* refuse("The customer accepted this version; make a new one to offer other prices.")
    if (!only_tax && (header.tax_locked || header.exchange_rate_locked))
      return yield* refuse('Prices are locked; only: "tax" takes the tax rates of today, unlock_locks frees the rest.')
  })

/** One event with all changes, or none. Locked taxes are locked again at the current rates. */
export const reprice = (state: DecisionState, only_tax: boolean, context: DecideContext): Decided<Repriced> =>
  Result.gen(function* () {
    const { opportunity } = state
    const { header } = opportunity
    yield* requireRepricing(state, only_tax)
    const priced = only_tax ? [] : liveLines(opportunity).map(({ id }) => id)
    const locked_taxes = header.tax_locked ? presentTaxes(state) : header.locked_taxes
    const is_relocked = !sameJson(locked_taxes, header.locked_taxes)
    const relocked = is_relocked ? withHeader(opportunity, { locked_taxes }) : opportunity
    const after = yield* recalculate(state, relocked, { priced, taxed: true }, context)
    const changes = changesBetween(opportunity, after.opportunity)
    const result = { id: header.id, changes }
    if (changes.length === 0 && !is_relocked) return { events: [], result }
    const priced_event = after.events.find(({ type }) => type === opportunityPriced.type) ?? headerPriced(header.id, {})
    return { events: [opportunityRepriced(header, priced_event, is_relocked ? { locked_taxes } : {})], result }
  })

const sums = { charge_total: "net", tax_total: "tax", charge_including_tax_total: "total with tax" } as const
const changesBetween = (before: Opportunity, after: Opportunity): ReadonlyArray<PriceChange> => {
  const money = (minor: number): string => formatMoney(minor, before.header.currency_code)
  const percent = (rate: string | null): string => `${formatDecimal(rate ?? "0", 2)} %`
  const change = (opportunity_item_id: number | null, name: string, figure: string, from: string, to: string) =>
    from === to ? [] : [{ opportunity_item_id, name, figure, from, to }]
  const was = new Map(before.lines.map((line) => [line.id, line]))
  const surcharges = (one: Opportunity) => one.costs.filter((cost) => cost.surcharge_id !== null)
  const of_lines = liveLines(after).flatMap((line) => {
    const old = was.get(line.id) ?? line
    return line.item_type === "group"
      ? []
      : [
          ...change(line.id, line.name, "unit price", money(old.unit_price), money(line.unit_price)),
          ...change(line.id, line.name, "tax rate", percent(old.tax_rate), percent(line.tax_rate)),
          ...change(line.id, line.name, "net", money(old.total), money(line.total))
        ]
  })
  const of_costs = after.costs.flatMap(({ description, id, tax_rate }) => {
    const old = before.costs.find((cost) => cost.id === id)
    return old === undefined ? [] : change(null, description, "tax rate", percent(old.tax_rate), percent(tax_rate))
  })
  const named = new Set([...surcharges(before), ...surcharges(after)].map(({ description }) => description))
  const of_terms = [...named].flatMap((name) => {
    const amount = (one: Opportunity) =>
      surcharges(one).reduce((sum, cost) => (cost.description === name ? sum + cost.amount : sum), 0)
    return change(null, name, "surcharge", money(amount(before)), money(amount(after)))
  })
  const of_whole = keysOf(sums).flatMap((name) =>
    change(null, "", sums[name], money(before.header[name]), money(after.header[name]))
  )
  return [...of_lines, ...of_costs, ...of_terms, ...of_whole]
}

const named_max = 3
/** One sentence on differences to current prices; empty if there are none, or if repricing is refused. */
export const outdatedWarnings = (state: DecisionState, context: DecideContext): ReadonlyArray<string> =>
  Result.match(reprice(state, false, context), {
    onFailure: () => [],
    onSuccess: ({ result: { changes } }) => {
      if (changes.length === 0) return []
      const texts = changes.map(
        ({ figure, from, name, to }) => `${name === "" ? "" : `${name} `}${figure} ${from} → ${to}`
      )
      const own = texts.filter((_text, at) => changes[at]?.name !== "")
      const whole = texts.filter((_text, at) => changes[at]?.name === "")
      const more = own.length - named_max
      const listed = [...own.slice(0, named_max), ...(more > 0 ? [`${more} more`] : []), ...whole.slice(-1)]
      return [`Would come out otherwise today: ${listed.join(", ")}; ${repriceRequest(state.opportunity.header)}.`]
    }
  })
