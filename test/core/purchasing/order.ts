/** A purchase order with lines, as its tables hold it. */
import { initialRow } from "../../../core/kernel/tables/field-schema.ts"
import { members, type MemberRow } from "../../../core/people/members/schema.ts"
import {
  type CreateFacts,
  newPurchaseOrder,
  type SendFacts,
  type UpdateFacts
} from "../../../core/purchasing/orders/decide.ts"
import type { SentItem } from "../../../core/purchasing/fields.ts"
import { newItem } from "../../../core/purchasing/orders/items.ts"
import {
  procurementEvents,
  purchase_order_items,
  purchase_orders,
  type PurchaseOrderItemRow,
  type PurchaseOrderRow
} from "../../../core/purchasing/schema.ts"
import { products, type ProductRow } from "../../../core/products/products/schema.ts"
import { decider, type Facts, row, stamps } from "../decider.ts"

export const header = (set: Partial<PurchaseOrderRow> = {}): PurchaseOrderRow => ({
  ...newPurchaseOrder(1),
  number: "0000000001",
  supplier_id: 7,
  store_id: 1,
  currency_code: "GBP",
  subtotal: 10_000,
  tax_total: 2_000,
  total: 12_000,
  starts_at: "2026-07-01T09:00:00.000Z",
  ends_at: "2026-07-05T09:00:00.000Z",
  ...stamps,
  ...set
})
export const line = (set: Partial<PurchaseOrderItemRow> = {}): PurchaseOrderItemRow => ({
  ...newItem(header()),
  id: 11,
  name: "Truss",
  unit_cost: 10_000,
  subtotal: 10_000,
  tax_class_id: 1,
  tax_rate: "20.0000",
  tax_total: 2_000,
  total: 12_000,
  ...stamps,
  ...set
})
export const supplier = (set: Partial<MemberRow> = {}): MemberRow => ({
  ...initialRow(members),
  id: 7,
  name: "Rig Hire",
  membership_type: "organisation",
  is_active: true,
  ...stamps,
  ...set
})
export const product = (set: Partial<ProductRow> = {}): ProductRow => ({
  ...initialRow(products),
  id: 3,
  name: "Lamp",
  ...stamps,
  ...set
})
/** One rate of 20 % for class 1 of suppliers and of products. */
const itemFacts = {
  products: new Map<number, ProductRow>(),
  opportunity_of: new Map<number, number>(),
  tax: {
    rules: [
      { id: 1, organisation_tax_class_id: 1, product_tax_class_id: 1, tax_rate_id: 1, priority: 0, is_active: true }
    ],
    rates: [{ id: 1, name: "Standard", rate: "20", is_active: true }],
    default_organisation_tax_class_id: null,
    default_product_tax_class_id: 1
  },
  supplier_tax_class_id: 1,
  base_currency: "GBP"
}
export const createFacts = (set: Partial<CreateFacts> = {}): CreateFacts => ({
  ...itemFacts,
  supplier: supplier(),
  custom: { definitions: [], values: [] },
  currency: { code: "GBP", is_enabled: true },
  exchange_rate: "1.00000000",
  default_store_id: 1,
  ...set
})
export const updateFacts = (facts: Facts, set: Partial<UpdateFacts> = {}): UpdateFacts => ({
  ...createFacts(),
  items: linesIn(facts),
  ...set
})
export const sendFacts = (facts: Facts, set: Partial<SendFacts> = {}): SendFacts => ({
  supplier: supplier(),
  items: linesIn(facts),
  known: undefined,
  ...set
})
/** A line as a request sends it: omitted values are null. */
export const sent = (set: Partial<SentItem>): SentItem => ({
  id: null,
  product_id: null,
  opportunity_item_id: null,
  name: null,
  description: null,
  quantity: null,
  unit_cost: null,
  discount_percent: null,
  tax_class_id: null,
  cost_group_id: null,
  starts_at: null,
  ends_at: null,
  sort_order: null,
  ...set
})
export const orderIn = (facts: Facts): PurchaseOrderRow => {
  const found = facts.get(purchase_orders, 1)
  if (found === undefined) throw new Error("no order was given")
  return found
}
const linesIn = (facts: Facts) => facts.find(purchase_order_items, { purchase_order_id: 1 })
export const rowsOf = (order: PurchaseOrderRow, ...lines: ReadonlyArray<PurchaseOrderItemRow>) => [
  row(purchase_orders, order),
  ...lines.map((one) => row(purchase_order_items, one))
]
export const { given } = decider(procurementEvents)
