/** What an opportunity's orders to suppliers cost (rules/opportunities 13): its cost side, in the base currency. */
import { Effect } from "effect"
import * as Shown from "../../kernel/answer-schema.ts"
import { get } from "../../kernel/endpoint.ts"
import { choice, integer, text } from "../../kernel/field.ts"
import { forbidden } from "../../kernel/rejection.ts"
import { ok } from "../../kernel/resource.ts"
import { baseCurrency } from "../../kernel/settings.ts"
import { Store } from "../../kernel/store/store.ts"
import { hasOnePermission } from "../../kernel/viewer.ts"
import { opportunities } from "../../opportunities/schema.ts"
import { convertMoney } from "../../values/exchange.ts"
import { formatMoney } from "../../values/money.ts"
import {
  purchase_order_statuses,
  purchase_order_types,
  type PurchaseOrderRow,
  purchase_orders,
  type PurchaseOrderType
} from "../schema.ts"

const net = (describe: string) => text({ describe })
const orderShown = {
  id: integer(),
  number: text({ nullable: true }),
  po_type: choice(purchase_order_types),
  status: choice(purchase_order_statuses),
  supplier_id: integer(),
  currency_code: text(),
  subtotal: net("Without tax, in the order's currency"),
  base_subtotal: net("Without tax, in the base currency by the order's own rate")
}

/** The net of an order in the base currency, by the rate kept with it. */
export const baseNet = (
  { currency_code, exchange_rate, subtotal }: Pick<PurchaseOrderRow, "currency_code" | "exchange_rate" | "subtotal">,
  base: string
): number => (currency_code === base ? subtotal : convertMoney(subtotal, currency_code, base, exchange_rate))

const standing = (row: PurchaseOrderRow): boolean => row.status !== "cancelled"

export const supplyCosts = get("/api/v1/opportunities/{id}/supply_costs", {
  answer: {
    supply_costs: Shown.keys({
      opportunity_id: integer(),
      currency_code: text({ describe: "The base currency" }),
      sub_hire_cost_total: net("Without tax, in the base currency"),
      purchase_cost_total: net("Without tax, in the base currency"),
      cost_total: net("Both"),
      purchase_orders: Shown.objects(orderShown)
    })
  },
  name: "opportunities.supply_costs",
  summary: "What the orders to suppliers for it cost, those that were cancelled left out",
  ability: "purchase_orders:read",
  permission: "costs.view",
  params: { id: { table: opportunities } },
  authorize: ({ viewer }) =>
    hasOnePermission(viewer, "purchase_orders.view")
      ? Effect.void
      : Effect.fail(forbidden("This needs the permission purchase_orders.view.")),
  run: ({ rows, settings }) =>
    Effect.gen(function* () {
      const base = baseCurrency(settings)
      const found = yield* (yield* Store).find(
        purchase_orders,
        { opportunity_id: rows.id.id, deleted_at: null },
        { order: ["id"] }
      )
      const orders = found.filter(standing)
      const sum = (...types: ReadonlyArray<PurchaseOrderType>): string =>
        formatMoney(
          orders.filter(({ po_type }) => types.includes(po_type)).reduce((total, row) => total + baseNet(row, base), 0),
          base
        )
      return ok({
        supply_costs: {
          opportunity_id: rows.id.id,
          currency_code: base,
          sub_hire_cost_total: sum("sub_hire"),
          purchase_cost_total: sum("purchase"),
          cost_total: sum("sub_hire", "purchase"),
          purchase_orders: orders.map((row) => ({
            id: row.id,
            number: row.number,
            po_type: row.po_type,
            status: row.status,
            supplier_id: row.supplier_id,
            currency_code: row.currency_code,
            subtotal: formatMoney(row.subtotal, row.currency_code),
            base_subtotal: formatMoney(baseNet(row, base), base)
          }))
        }
      })
    })
})
