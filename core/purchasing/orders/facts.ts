/** Facts for the rules of purchase orders, read in the transaction. */
import { Effect } from "effect"
import { billingTypeIds, chosenContact } from "../../billing/state/parties.ts"
import { rateToBase } from "../../billing/invoices/facts.ts"
import { customFieldFacts } from "../../kernel/lists/custom-field.ts"
import type { Failure, Input } from "../../kernel/endpoints/endpoint.ts"
import { baseCurrency } from "../../kernel/events/settings.ts"
import { Store } from "../../kernel/store/store.ts"
import { emails, members } from "../../people/members/schema.ts"
import { opportunity_items } from "../../orders/opportunities/tables/lines.ts"
import { products } from "../../products/products/schema.ts"
import { currencies } from "../../setup/reference-data/currencies.ts"
import { taxFacts } from "../../setup/reference-data/tax.ts"
import { stores } from "../../setup/stores.ts"
import { purchase_order_items, type PurchaseOrderItemRow, type PurchaseOrderRow } from "../schema.ts"
import type { CancelFacts, CreateFacts, HeaderFacts, SendFacts, UpdateFacts } from "./decide.ts"
import type { CreateValues, SentItem, UpdateValues } from "./fields.ts"

type Named = Pick<SentItem, "product_id" | "opportunity_item_id">
const headerFacts = Effect.fnUntraced(function* (
  supplier_id: number,
  named: ReadonlyArray<Named>,
  { settings }: Pick<Input, "settings">
): Effect.fn.Return<HeaderFacts, Failure, Store> {
  const supplier = yield* Store.get(members, supplier_id)
  const idsOf = (column: keyof Named): ReadonlyArray<number> => [...new Set(named.flatMap((one) => one[column] ?? []))]
  const lines = yield* Store.getMany(opportunity_items, idsOf("opportunity_item_id"))
  return {
    supplier,
    custom: yield* customFieldFacts("PurchaseOrder"),
    products: new Map((yield* Store.getMany(products, idsOf("product_id"))).map((row) => [row.id, row])),
    opportunity_of: new Map(lines.map((row) => [row.id, row.opportunity_id])),
    tax: yield* taxFacts,
    supplier_tax_class_id: supplier?.purchase_tax_class_id ?? null,
    base_currency: baseCurrency(settings)
  }
})

export const createFactsOf = Effect.fnUntraced(function* (
  input: Pick<Input, "now" | "settings">,
  values: CreateValues
): Effect.fn.Return<CreateFacts, Failure, Store> {
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
): Effect.fn.Return<ReadonlyArray<PurchaseOrderItemRow>, Failure, Store> {
  return yield* Store.find(purchase_order_items, { purchase_order_id }, inOrder)
})
export const updateFactsOf = Effect.fnUntraced(function* (
  row: PurchaseOrderRow,
  sent: UpdateValues,
  input: Pick<Input, "settings">
): Effect.fn.Return<UpdateFacts, Failure, Store> {
  const items = yield* itemsOf(row.id)
  const facts = yield* headerFacts(sent.supplier_id ?? row.supplier_id, [...items, ...(sent.items ?? [])], input)
  return { ...facts, items }
})

export const sendFactsOf = Effect.fnUntraced(function* (
  row: PurchaseOrderRow
): Effect.fn.Return<SendFacts, Failure, Store> {
  const addresses = yield* Store.find(emails, { member_id: row.supplier_id }, { order: ["id"] })
  return {
    supplier: yield* Store.get(members, row.supplier_id),
    items: yield* itemsOf(row.id),
    known: chosenContact(addresses, yield* billingTypeIds)?.address
  }
})
export const cancelFactsOf = (row: PurchaseOrderRow): Effect.Effect<CancelFacts, Failure, Store> =>
  Effect.map(itemsOf(row.id), (items) => ({ items }))
