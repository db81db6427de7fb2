/** How answers show purchase orders and their lines (rules/billing 2.2). */
import { boolean, decimal, text } from "../kernel/fields/field.ts"
import { resource } from "../kernel/endpoints/resource.ts"
import { members } from "../people/members/schema.ts"
import { opportunities } from "../orders/opportunities/tables/opportunities.ts"
import { stores } from "../setup/stores.ts"
import { exact, formatDecimal } from "../values/decimal.ts"
import {
  purchase_order_items,
  purchase_order_statuses,
  purchase_order_types,
  purchase_orders,
  type PurchaseOrderItemRow,
  type PurchaseOrderRow,
  type PurchaseOrderStatus
} from "./schema.ts"

/** What is still to come of a line. */
export const outstandingOf = (row: Pick<PurchaseOrderItemRow, "quantity" | "received_quantity">): string => {
  const left = exact(row.quantity).minus(exact(row.received_quantity))
  return formatDecimal(left.isNegative() ? 0 : left, 2)
}

const purchaseOrderItemResource = resource({
  singular: "item",
  plural: "items",
  title: "PurchaseOrderItem",
  entity_type: "purchase_order_items",
  table: purchase_order_items,
  shows: { outstanding_quantity: decimal({ scale: 2 }) },
  order: ["sort_order", "id"],
  view: (base, row) => ({ ...base, outstanding_quantity: outstandingOf(row) })
})

/** Codes and labels of a choice as names that filters take. */
const namesOf = (column: string, labels: { readonly [code: string]: string }) =>
  Object.entries(labels).flatMap(([code, label]) => [code, label].map((name) => ({ name, where: { [column]: code } })))

/** Goods of these orders have come. */
const came_statuses: ReadonlyArray<PurchaseOrderStatus> = ["partially_received", "received"]
const not_given_back = { po_type: "sub_hire", returned_at: null }
/** Goods of the supplier have to go back, now or at the end of the hire. */
const isDueBack = ({ po_type, returned_at, status }: PurchaseOrderRow): boolean =>
  came_statuses.includes(status) && po_type === "sub_hire" && returned_at === null

/** Amounts are no filters and no sorts: what they tell, they would tell people who may not see costs. */
export const purchaseOrderResource = resource({
  singular: "purchase_order",
  heading: "Deals",
  called: { by: ["number"] },
  table: purchase_orders,
  custom_module: "PurchaseOrder",
  shows: { po_type_name: text(), status_name: text(), is_due_back: boolean(), is_overdue: boolean() },
  flags: {
    is_due_back: { column: "status", is: came_statuses, where: not_given_back },
    is_overdue: { column: "status", is: came_statuses, where: not_given_back, past: "ends_at" }
  },
  filters: [
    "number",
    "status",
    "po_type",
    "subject",
    "reference",
    "supplier_id",
    "store_id",
    "opportunity_id",
    "expected_at",
    "starts_at",
    "ends_at",
    "sent_at",
    "received_at",
    "cancelled_at",
    "created_at",
    "updated_at"
  ],
  sorts: ["number", "status", "expected_at", "starts_at", "ends_at", "sent_at", "created_at", "updated_at"],
  value_names: {
    status: namesOf("status", purchase_order_statuses),
    po_type: namesOf("po_type", purchase_order_types)
  },
  related: {
    "supplier.name": { via: "supplier_id", table: members, column: "name" },
    "store.name": { via: "store_id", table: stores, column: "name" },
    "opportunity.subject": { via: "opportunity_id", table: opportunities, column: "subject" }
  },
  includes: {
    supplier: { kind: "brief", via: "supplier_id", table: members },
    store: { kind: "brief", via: "store_id", table: stores },
    opportunity: { kind: "brief", via: "opportunity_id", table: opportunities, name: "subject" },
    items: { kind: "many", via: "purchase_order_id", resource: () => purchaseOrderItemResource }
  },
  view: (base, row, _found, { now }) => ({
    ...base,
    po_type_name: purchase_order_types[row.po_type],
    status_name: purchase_order_statuses[row.status],
    is_due_back: isDueBack(row),
    is_overdue: isDueBack(row) && row.ends_at !== null && row.ends_at < now
  })
})
