/** Facts for the rules of invoices, read in the transaction. */
import { Effect } from "effect"
import { baseCurrency, customFieldFacts, lockStreams, Store, type Input } from "../../kernel/index.ts"
import { members } from "../../people/members/schema.ts"
import { opportunities } from "../../orders/opportunities/tables/index.ts"
import { products } from "../../products/products/schema.ts"
import { currencies, exchangeRateAt } from "../../setup/reference-data/currencies.ts"
import { opportunityStream } from "../../orders/opportunities/events/event-families.ts"
import { taxFacts } from "../../setup/reference-data/tax.ts"
import { billingOf, nameOfInvoice } from "../state/billed.ts"
import { eInvoiceFactsNow, vatReportsNow } from "../einvoice/rates.ts"
import { invoiceStream } from "../state/events.ts"
import { buyerOf, sellerOf } from "../state/parties.ts"
import { credit_note_items, invoice_items, type InvoiceRow, invoices, standing_statuses } from "../state/tables.ts"
import type { CreateFacts, HeaderFacts, IssueFacts, UpdateFacts } from "./decide.ts"
import type { CreateValues, SentItem, UpdateValues } from "../state/fields.ts"

interface Named {
  readonly member_id: number
  readonly opportunity_id: number | null
  readonly items: ReadonlyArray<SentItem>
}
const headerFacts = Effect.fnUntraced(function* ({
  items,
  member_id,
  opportunity_id
}: Named): Store.Reads<HeaderFacts> {
  const member = yield* Store.get(members, member_id)
  const product_ids = [...new Set(items.flatMap(({ product_id }) => product_id ?? []))]
  return {
    member,
    opportunity: opportunity_id === null ? undefined : yield* Store.get(opportunities, opportunity_id),
    custom: yield* customFieldFacts("Invoice"),
    products: yield* Store.byId(products, product_ids),
    tax: yield* taxFacts,
    customer_tax_class_id: member?.sale_tax_class_id ?? null
  }
})

/** The currency's present rate to the base currency, for new documents; undefined if there is none. */
export const rateToBase = (code: string, { now, settings }: Pick<Input, "now" | "settings">) => {
  const base_currency = baseCurrency(settings)
  return exchangeRateAt({ from: code, to: base_currency, base_currency, at: now })
}
export const createFactsOf = Effect.fnUntraced(function* (
  input: Pick<Input, "now" | "settings">,
  values: CreateValues
): Store.Reads<CreateFacts> {
  const facts = yield* headerFacts({
    member_id: values.member_id ?? 0,
    opportunity_id: values.opportunity_id ?? null,
    items: values.items ?? []
  })
  const code =
    values.currency ?? values.currency_code ?? facts.member?.default_currency_code ?? baseCurrency(input.settings)
  const [known] = yield* Store.find(currencies, { code }, { limit: 1 })
  return {
    ...facts,
    currency: { code, is_enabled: known?.is_enabled ?? false },
    exchange_rate: yield* rateToBase(code, input)
  }
})

const inOrder = { order: ["sort_order", "id"] }
export const itemsOf = (invoice_id: number) => Store.find(invoice_items, { invoice_id }, inOrder)
export const updateFactsOf = Effect.fnUntraced(function* (
  row: InvoiceRow,
  sent: UpdateValues
): Store.Reads<UpdateFacts> {
  const named = {
    member_id: sent.member_id ?? row.member_id,
    opportunity_id: sent.opportunity_id === undefined ? row.opportunity_id : sent.opportunity_id,
    items: sent.items ?? []
  }
  return { ...(yield* headerFacts(named)), items: yield* itemsOf(row.id) }
})

/** Names of issued invoices that deduct this deposit; empty for other types of invoices. */
export const deductedBy = Effect.fnUntraced(function* ({ id, type }: InvoiceRow) {
  const deducted = type === "deposit" ? ((yield* deductionsOf([id])).get(id) ?? []) : []
  return [...new Set(deducted.map(({ holder }) => nameOfInvoice(holder)))]
})
/** Issued invoices (`holder`) that deduct these deposits by rows not fully credited, by deposit id. Three queries. */
export const deductionsOf = Effect.fnUntraced(function* (deposit_ids: ReadonlyArray<number>) {
  const rows = deposit_ids.length === 0 ? [] : yield* Store.find(invoice_items, { deposit_invoice_id: deposit_ids })
  const holders = (yield* Store.getMany(
    invoices,
    rows.map((row) => row.invoice_id)
  )).filter(({ deleted_at, status }) => deleted_at === null && standing_statuses.some((one) => one === status))
  const standing = new Map(holders.map((row) => [row.id, row]))
  // Invoices with a total of zero never get the status "credited", so their credit notes are checked by row.
  const notes = holders.length === 0 ? [] : yield* Store.find(credit_note_items, { invoice_id: [...standing.keys()] })
  const credited = Map.groupBy(notes, (note) => note.invoice_item_id)
  return Map.groupBy(
    rows.flatMap((row) => {
      const holder = standing.get(row.invoice_id)
      const left = (credited.get(row.id) ?? []).reduce((sum, note) => sum + note.total, row.total)
      return holder === undefined || row.deposit_invoice_id === null || (left === 0 && row.total !== 0)
        ? []
        : [{ deposit_id: row.deposit_invoice_id, holder }]
    }),
    ({ deposit_id }) => deposit_id
  )
})

export const issueFactsOf = Effect.fnUntraced(function* (
  row: InvoiceRow,
  { settings }: Pick<Input, "settings">
): Store.Reads<IssueFacts> {
  const items = yield* itemsOf(row.id)
  const deposit_ids = [...new Set(items.flatMap((item) => item.deposit_invoice_id ?? []))]
  // Serialises invoices that deduct one deposit or bill one opportunity.
  yield* lockStreams(deposit_ids.map(invoiceStream))
  if (row.opportunity_id !== null) yield* lockStreams([opportunityStream(row.opportunity_id)])
  const deducted = yield* deductionsOf(deposit_ids)
  const deposits = yield* Store.getMany(invoices, deposit_ids)
  const spent = deposits.filter(
    (deposit) => deducted.has(deposit.id) || deposit.status === "voided" || deposit.status === "credited"
  )
  const taken = Map.groupBy(items, (item) => item.deposit_invoice_id)
  const exceeded = deposits.filter(
    ({ amount_credited, id, total }) =>
      (taken.get(id) ?? []).reduce((sum, item) => sum - item.total, 0) > total - amount_credited
  )
  return {
    items: items.length,
    billing: yield* billingOf(row, items),
    member: yield* Store.get(members, row.member_id),
    billed_to: yield* buyerOf(row.member_id),
    billed_by: { ...(yield* sellerOf(row.store_id, settings)), einvoice: yield* eInvoiceFactsNow(row, settings) },
    vat_reports: yield* vatReportsNow(items, settings),
    spent_deposits: spent.map((deposit) => `deposit ${deposit.number ?? deposit.id}`),
    exceeded_deposits: exceeded.map((deposit) => `deposit ${deposit.number ?? deposit.id}`)
  }
})
