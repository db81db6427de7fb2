/**
 * Billed and unbilled amounts of an opportunity (rules/billing 1.9). Amounts are net, in minor units of the
 * opportunity's currency.
 */
import { convertMoney, formatMoney, sumMoney } from "../../values/money.ts"
import { isUsedUp, leftOf } from "./credited.ts"
import type { InvoiceItemRow, InvoiceRow } from "./tables.ts"
import { credit_note_items, invoice_items, invoices, standing_statuses } from "./tables.ts"
import { Effect } from "effect"
import { Store } from "../../kernel/index.ts"
import { opportunities, opportunity_versions, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { exact } from "../../values/decimal.ts"

/** A row of an issued standard invoice, less its credits. */
interface BilledRow {
  readonly invoice: InvoiceRow
  readonly item: InvoiceItemRow
  /** Billed quantity in hundredths; 0 if credits by amount left no net. */
  readonly quantity: number
  readonly net: number
  readonly tax: number
}
export interface Billed {
  /** Total before tax of the active version, else of the opportunity. */
  readonly total: number
  readonly currency_code: string
  /** Rows of issued invoices, except those that deduct deposits or are credited completely. */
  readonly rows: ReadonlyArray<BilledRow>
  /** Drafts of standard invoices, with the amounts they would bill. */
  readonly drafts: ReadonlyArray<{ readonly invoice: InvoiceRow; readonly net: number }>
}
/** An invoice's amount, and the billed amounts of its opportunity without it. */
export interface Billing {
  readonly others: Billed
  readonly own: number
}
export const billedTotal = ({ rows }: Pick<Billed, "rows">): number => sumMoney(rows.map(({ net }) => net))
export const leftToBill = (billed: Pick<Billed, "rows" | "total">): number => billed.total - billedTotal(billed)

/** Net billed by rows. Deducted deposits do not reduce it: they were billed before as part of the total. */
const netOfRows = (rows: ReadonlyArray<Pick<InvoiceItemRow, "deposit_invoice_id" | "subtotal">>): number =>
  sumMoney(rows.map((row) => (row.deposit_invoice_id === null ? row.subtotal : 0)))

export const nameOfInvoice = ({ id, number }: Pick<InvoiceRow, "id" | "number">, word = "invoice"): string =>
  `${word} ${number ?? `(id ${id}, number pending)`}`
export const namesOfInvoices = (rows: ReadonlyArray<BilledRow>, word?: string): string =>
  [...new Set(rows.map(({ invoice }) => nameOfInvoice(invoice, word)))].join(", ")
const moneyIn = (billed: Pick<Billed, "currency_code">, amount: number): string =>
  formatMoney(amount, billed.currency_code)

/** Describes the state: `60.00 of 100.00 GBP (without tax) is billed by invoice 12; 40.00 is left`. */
export const billedText = (billed: Billed): string => {
  const by = billed.rows.length === 0 ? "" : ` by ${namesOfInvoices(billed.rows)}`
  return (
    `${moneyIn(billed, billedTotal(billed))} of ${moneyIn(billed, billed.total)} ${billed.currency_code} ` +
    `(without tax) is billed${by}; ${moneyIn(billed, Math.max(0, leftToBill(billed)))} is left`
  )
}

/** Message refusing an invoice above the unbilled rest; undefined if within it, or without an amount or opportunity. */
export const overbilling = (billing: Billing | undefined): string | undefined => {
  if (billing === undefined || billing.own <= 0 || billing.own <= leftToBill(billing.others)) return undefined
  const { others, own } = billing
  return (
    `${billedText(others)}, and this invoice bills ${moneyIn(others, own)}. ` +
    "Take rows off, bill the opportunity again for what is left, or send allow_overbilling."
  )
}

/** Warnings about a draft that exceeds the opportunity's total together with issued invoices and other drafts. */
export const draftWarnings = (billing: Billing | undefined): ReadonlyArray<string> => {
  if (billing === undefined || billing.own <= 0) return []
  const { others, own } = billing
  const drafts = others.drafts.filter(({ net }) => net > 0)
  const together = billedTotal(others) + sumMoney(drafts.map(({ net }) => net)) + own
  if (together <= others.total) return []
  return [
    ...(drafts.length === 0
      ? []
      : [
          `Also billed by ${drafts.map(({ invoice }) => `draft ${invoice.id}`).join(", ")}: with this one ` +
            `${moneyIn(others, together)} of ${moneyIn(others, others.total)} ${others.currency_code} (without tax). ` +
            "Delete drafts that repeat."
        ]),
    ...(own <= leftToBill(others) ? [] : [`${billedText(others)}. Issuing this draft needs allow_overbilling.`])
  ]
}

// Reads the billed amounts of opportunities; four queries, for any number.

type BilledOpportunity = Pick<
  OpportunityRow,
  "id" | "active_version_id" | "charge_excluding_tax_total" | "currency_code" | "exchange_rate"
>
/** Converts amounts of an invoice to the opportunity's currency, by their stored rates. */
const amountsIn = (opportunity: BilledOpportunity, invoice: InvoiceRow): ((amount: number) => number) => {
  if (invoice.currency_code === opportunity.currency_code) return (amount) => amount
  const rate = exact(invoice.exchange_rate).dividedBy(exact(opportunity.exchange_rate)).toFixed(12)
  return (amount) => convertMoney(amount, invoice.currency_code, opportunity.currency_code, rate)
}

/** Billed amounts by opportunity id. `but`: id of an invoice to leave out. */
export const billedOf = Effect.fnUntraced(function* (
  headers: ReadonlyArray<BilledOpportunity>,
  but?: number
): Store.Reads<ReadonlyMap<number, Billed>> {
  const found = (yield* Store.find(
    invoices,
    {
      opportunity_id: headers.map(({ id }) => id),
      type: "standard",
      status: ["draft", ...standing_statuses],
      deleted_at: null
    },
    { order: ["issued_at", "id"] }
  )).filter(({ id }) => id !== but)
  const invoice_id = found.map(({ id }) => id)
  const items = Map.groupBy(
    invoice_id.length === 0 ? [] : yield* Store.find(invoice_items, { invoice_id }, { order: ["sort_order", "id"] }),
    (item) => item.invoice_id
  )
  const credited = Map.groupBy(
    invoice_id.length === 0 ? [] : yield* Store.find(credit_note_items, { invoice_id }),
    (note) => note.invoice_id
  )
  const versions = yield* Store.byId(
    opportunity_versions,
    headers.flatMap((one) => (one.active_version_id === 0 ? [] : [one.active_version_id]))
  )
  return new Map(
    headers.map((opportunity) => {
      const own = found.filter((invoice) => invoice.opportunity_id === opportunity.id)
      const rowsOf = (invoice: InvoiceRow): ReadonlyArray<BilledRow> => {
        const amountIn = amountsIn(opportunity, invoice)
        return leftOf(items.get(invoice.id) ?? [], credited.get(invoice.id) ?? [])
          .filter((row) => row.item.deposit_invoice_id === null && !isUsedUp(row))
          .map((row) => ({
            invoice,
            item: row.item,
            quantity: row.left.net === 0 && row.has_amounts ? 0 : row.quantity,
            net: amountIn(row.left.net),
            tax: amountIn(row.left.tax)
          }))
      }
      const billed: Billed = {
        total: (versions.get(opportunity.active_version_id) ?? opportunity).charge_excluding_tax_total,
        currency_code: opportunity.currency_code,
        rows: own.filter(({ status }) => status !== "draft").flatMap(rowsOf),
        drafts: own
          .filter(({ status }) => status === "draft")
          .map((invoice) => ({ invoice, net: amountsIn(opportunity, invoice)(netOfRows(items.get(invoice.id) ?? [])) }))
      }
      return [opportunity.id, billed]
    })
  )
})

/**
 * Billing of a standard invoice and of its opportunity's others; undefined for other types or without an opportunity.
 */
export const billingOf = Effect.fnUntraced(function* (
  invoice: InvoiceRow,
  items: ReadonlyArray<InvoiceItemRow>
): Store.Reads<Billing | undefined> {
  if (invoice.type !== "standard" || invoice.opportunity_id === null) return undefined
  const opportunity = yield* Store.get(opportunities, invoice.opportunity_id)
  if (opportunity === undefined) return undefined
  const others = (yield* billedOf([opportunity], invoice.id)).get(opportunity.id)
  return others === undefined ? undefined : { others, own: amountsIn(opportunity, invoice)(netOfRows(items)) }
})
