/** Lines that cost nothing unintentionally: `meta.warnings` before they are ordered or billed. */
import { Effect } from "effect"
import type { Failure } from "../../../kernel/endpoints/endpoint.ts"
import { Store } from "../../../kernel/store/store.ts"
import { formatMoney } from "../../../values/money.ts"
import { typedOrder } from "../state/called.ts"
import { type ItemRow, opportunity_items } from "../tables/lines.ts"
import { loadDecisionState, type Now } from "../state/load.ts"
import type { OpportunityRow } from "../tables/opportunities.ts"
import { pricingRequestOf } from "../state/pricing.ts"
import { namesText } from "../state/untaxed.ts"

/** True of a line to be charged that comes out at nothing, where no price of 0 was set by hand. */
export const comesToNothing = ({ item_type, manual_unit_price, quantity, unit_price }: ItemRow): boolean =>
  (item_type === "product" || item_type === "service") &&
  Number(quantity) > 0 &&
  unit_price === 0 &&
  manual_unit_price === null

/** The lines of the active version for which no rate holds either; one query where every line has a price. */
export const unpricedLines = Effect.fnUntraced(function* (
  header: OpportunityRow,
  input: Now
): Effect.fn.Return<ReadonlyArray<ItemRow>, Failure, Store> {
  const live = { opportunity_id: header.id, is_live: true }
  const found = yield* Store.find(opportunity_items, live, { order: ["path", "id"] })
  const lines = found.filter((line) => !line.is_optional && comesToNothing(line))
  if (lines.length === 0 || header.deal_total !== null) return []
  const rated_product_ids = lines.flatMap(({ item_id }) => item_id ?? [])
  const state = yield* loadDecisionState(header, input, { live_only: true, rated_product_ids, touched_line_ids: [] })
  return lines.filter((line) => pricingRequestOf(state, header, line).request.rate === null)
})
/** Warning for these lines, with the command that prices the first one. */
export const unpricedText = (header: OpportunityRow, lines: ReadonlyArray<ItemRow>): ReadonlyArray<string> => {
  const [first] = lines
  const nothing = formatMoney(0, header.currency_code)
  return first === undefined
    ? []
    : [
        `At ${nothing} without being meant to: ${namesText(lines.map(({ name }) => name))}; ` +
          `PATCH /api/v1/opportunities/${header.id}/items/${first.id} {"unit_price": PRICE} ` +
          `(flightcase quote update ${typedOrder(header)} ${first.id} --price PRICE), 0 where it is free.`
      ]
}
