/** Endpoints of purchase orders, except to receive, return and extend (rules/billing 2.3). */
import { Effect } from "effect"
import { baseCurrency, boolean, command, created, crudResource, customFieldFacts, decimal } from "../../kernel/index.ts"
import { isJsonObject, later, list, longText, noContent, ok, renderById, resource } from "../../kernel/index.ts"
import { Shown, Store, text, viewContext, viewManageAccess, withRules } from "../../kernel/index.ts"
import type { Endpoint, Id, Input, Json, Status } from "../../kernel/index.ts"
import type { PurchaseOrderItemRow, PurchaseOrderRow, PurchaseOrderStatus } from "../schema.ts"
import {
  one,
  path,
  purchase_order_items,
  purchase_order_statuses,
  purchase_order_types,
  purchase_orders,
  write
} from "../schema.ts"
import type { CreateValues, SentItem, UpdateValues } from "../fields.ts"
import { createFields, purchaseOrderMail, PurchaseOrderMailer, updateFields } from "../fields.ts"
import { billingTypeIds, chosenContact } from "../../billing/state/parties.ts"
import { rateToBase } from "../../billing/invoices/facts.ts"
import { emails, members } from "../../people/members/schema.ts"
import { opportunities, opportunity_items } from "../../orders/opportunities/tables/index.ts"
import { products } from "../../products/products/schema.ts"
import { currencies } from "../../setup/reference-data/currencies.ts"
import { taxFacts } from "../../setup/reference-data/tax.ts"
import { stores } from "../../setup/stores.ts"
import type { CreateFacts, HeaderFacts, SendFacts, UpdateFacts } from "./decide.ts"
import { exact, formatDecimal } from "../../values/decimal.ts"

// API representation of purchase orders and their lines (rules/billing 2.2).

/** Outstanding quantity of a line with 2 decimals; never negative. */
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

/** Codes and labels of a choice, as filter names. */
const namesOf = (column: string, labels: { readonly [code: string]: string }) =>
  Object.entries(labels).flatMap(([code, label]) => [code, label].map((name) => ({ name, where: { [column]: code } })))

/** Statuses of orders of which goods were received. */
const came_statuses: ReadonlyArray<PurchaseOrderStatus> = ["partially_received", "received"]
const not_given_back = { po_type: "sub_hire", returned_at: null }
/** Whether goods of the order must be returned to the supplier, now or at the end of the hire. */
const isDueBack = ({ po_type, returned_at, status }: PurchaseOrderRow): boolean =>
  came_statuses.includes(status) && po_type === "sub_hire" && returned_at === null

/** API representation of orders. Amounts are neither filters nor sorts, which would reveal costs without permission. */
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

// Facts for the rules of purchase orders, read in the transaction.

type Named = Pick<SentItem, "product_id" | "opportunity_item_id">
const headerFacts = Effect.fnUntraced(function* (
  supplier_id: number,
  named: ReadonlyArray<Named>,
  { settings }: Pick<Input, "settings">
): Store.Reads<HeaderFacts> {
  const supplier = yield* Store.get(members, supplier_id)
  const idsOf = (column: keyof Named): ReadonlyArray<number> => [...new Set(named.flatMap((one) => one[column] ?? []))]
  const lines = yield* Store.getMany(opportunity_items, idsOf("opportunity_item_id"))
  return {
    supplier,
    custom: yield* customFieldFacts("PurchaseOrder"),
    products: yield* Store.byId(products, idsOf("product_id")),
    opportunity_of: new Map(lines.map((row) => [row.id, row.opportunity_id])),
    tax: yield* taxFacts,
    supplier_tax_class_id: supplier?.purchase_tax_class_id ?? null,
    base_currency: baseCurrency(settings)
  }
})

export const createFactsOf = Effect.fnUntraced(function* (
  input: Pick<Input, "now" | "settings">,
  values: CreateValues
): Store.Reads<CreateFacts> {
  const facts = yield* headerFacts(values.supplier_id ?? 0, values.items ?? [], input)
  const code =
    values.currency ?? values.currency_code ?? facts.supplier?.default_currency_code ?? baseCurrency(input.settings)
  const [known] = yield* Store.find(currencies, { code }, { limit: 1 })
  const [place] = yield* Store.find(stores, { is_default: true }, { order: ["id"], limit: 1 })
  return {
    ...facts,
    currency: { code, is_enabled: known?.is_enabled ?? false },
    exchange_rate: yield* rateToBase(code, input),
    default_store_id: place?.id ?? null
  }
})

const inOrder = { order: ["sort_order", "id"] }
const itemsOf = Effect.fnUntraced(function* (
  purchase_order_id: number
): Store.Reads<ReadonlyArray<PurchaseOrderItemRow>> {
  return yield* Store.find(purchase_order_items, { purchase_order_id }, inOrder)
})
export const updateFactsOf = Effect.fnUntraced(function* (
  row: PurchaseOrderRow,
  sent: UpdateValues,
  input: Pick<Input, "settings">
): Store.Reads<UpdateFacts> {
  const items = yield* itemsOf(row.id)
  const facts = yield* headerFacts(sent.supplier_id ?? row.supplier_id, [...items, ...(sent.items ?? [])], input)
  return { ...facts, items }
})

const sendFactsOf = Effect.fnUntraced(function* (row: PurchaseOrderRow): Store.Reads<SendFacts> {
  const addresses = yield* Store.find(emails, { member_id: row.supplier_id }, { order: ["id"] })
  return {
    supplier: yield* Store.get(members, row.supplier_id),
    items: yield* itemsOf(row.id),
    known: chosenContact(addresses, yield* billingTypeIds)?.address
  }
})

// Reading purchase orders: the list and one of them.

const purchaseOrderReads = crudResource({
  resource: purchaseOrderResource,
  fields: {},
  path,
  access: viewManageAccess("purchase_orders", "purchase_orders.view", null),
  only: ["list", "show"]
}).endpoints

const deciding = later(() => import("./decide.ts"))

export const purchaseOrderShown = { purchase_order: Shown.row(() => purchaseOrderResource) }
/** Response to sending: the order, and whether mail goes to the supplier, which needs an address. */
const sentShown = { ...purchaseOrderShown, meta: Shown.keys({ is_mailed: boolean(), warnings: list(text()) }) }
/** Includes of write responses besides the requested ones. */
const with_items = ["include", "items"] as const
export const purchaseOrderAnswer = (status: Status) => (result: Id, input: Input) =>
  Effect.map(renderById(purchaseOrderResource, result.id, [with_items, ...input.query], viewContext(input)), status)

const create = command("POST", path, {
  answer: purchaseOrderShown,
  name: "purchase_orders.create",
  summary: "Create a draft purchase order",
  ability: write,
  permission: "purchase_orders.create",
  fields: createFields,
  creates: [purchase_orders, purchase_order_items],
  facts: (input) => withRules(deciding, () => createFactsOf(input, input.values)),
  decide: ({ known, rules }, input, context) => rules.createPurchaseOrder(known, input, context),
  respond: purchaseOrderAnswer(created)
})
const update = command("PUT", `${path}/{id}`, {
  answer: purchaseOrderShown,
  name: "purchase_orders.update",
  summary: "Update a draft purchase order; items replace all lines",
  ability: write,
  permission: "purchase_orders.edit",
  params: one,
  fields: updateFields,
  facts: (input) => withRules(deciding, () => updateFactsOf(input.rows.id, input.values, input)),
  decide: ({ known, rules }, input, context) => rules.updatePurchaseOrder(known, input, context),
  respond: purchaseOrderAnswer(ok)
})
const remove = command("DELETE", `${path}/{id}`, {
  name: "purchase_orders.delete",
  summary: "Delete a draft purchase order",
  ability: write,
  permission: "purchase_orders.delete",
  params: one,
  facts: () => deciding,
  decide: ({ deletePurchaseOrder }, { rows }) => deletePurchaseOrder(rows.id),
  respond: () => Effect.succeed(noContent)
})
const sendFields = {
  email: text({
    format: "email",
    nullable: true,
    describe: "Recipient; default: the supplier's address; if none, no mail is sent"
  }),
  message: longText({ nullable: true, max: 5_000, describe: "Text of the e-mail; default: as in the settings" })
}

const send = command("POST", `${path}/{id}/send`, {
  answer: sentShown,
  name: "purchase_orders.send",
  summary: "Send a draft purchase order to its supplier, by e-mail if an address is known",
  ability: write,
  permission: "purchase_orders.send",
  params: one,
  fields: sendFields,
  facts: ({ rows }) => withRules(deciding, () => sendFactsOf(rows.id)),
  decide: ({ known, rules }, { rows, values }, context) => rules.sendPurchaseOrder(rows.id, known, values, context),
  result: purchaseOrderMail,
  respond: (mail, input) =>
    Effect.gen(function* () {
      const warnings = yield* (yield* PurchaseOrderMailer)(mail)
      const shown = yield* renderById(
        purchaseOrderResource,
        mail.purchase_order_id,
        [with_items, ...input.query],
        viewContext(input)
      )
      // Absent from the lines of those who may not see costs.
      const { items } = shown.purchase_order
      const isFree = (item: Json): boolean => isJsonObject(item) && Number(item["unit_cost"]) === 0
      const unpriced = Array.isArray(items) && items.every(isFree) ? ["No line of the order has a price."] : []
      return ok({ ...shown, meta: { is_mailed: mail.to !== null, warnings: [...unpriced, ...warnings] } })
    })
})
const cancel = command("POST", `${path}/{id}/cancel`, {
  answer: purchaseOrderShown,
  name: "purchase_orders.cancel",
  summary: "Cancel a purchase order without deliveries; it keeps its number",
  destructive: true,
  ability: write,
  permission: "purchase_orders.edit",
  params: one,
  fields: { reason: longText({ nullable: true, max: 1_000 }) },
  facts: ({ rows }) => withRules(deciding, () => Effect.map(itemsOf(rows.id.id), (items) => ({ items }))),
  decide: ({ known, rules }, { rows, values }, context) =>
    rules.cancelPurchaseOrder(rows.id, known, values.reason ?? null, context),
  respond: purchaseOrderAnswer(ok)
})

export const orderEndpoints: ReadonlyArray<Endpoint> = [
  ...(purchaseOrderReads ?? []),
  create,
  update,
  remove,
  send,
  cancel
]
