/** A draft from an opportunity (rules/billing 1.3). */
import { Result } from "effect"
import { type CustomFieldFacts, readCustomFields } from "../../kernel/custom-field.ts"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import type { Json, JsonObject } from "../../kernel/json.ts"
import { invalidField } from "../../kernel/rejection.ts"
import { withoutStamps } from "../../kernel/stored-schema.ts"
import type { MemberRow } from "../../members/schema.ts"
import { snapshotRate } from "../../opportunities/header/decide.ts"
import type { OpportunityRow } from "../../opportunities/schema.ts"
import { statusLabelOf } from "../../opportunities/status/statuses.ts"
import { exclusiveTax } from "../../pricing/tax.ts"
import { percentOfMoney } from "../../values/money.ts"
import { sumsOf } from "../amounts.ts"
import { invoiceCreated } from "../events.ts"
import { billable, newInvoice, termsOf } from "../invoices/decide.ts"
import { newItem } from "../invoices/items.ts"
import { invoice_items, type InvoiceItemRow, type InvoiceRow, invoices, type InvoiceType } from "../schema.ts"
import { type Deposit, depositRows } from "./deposits.ts"
import { billedRows, type CheckoutSource } from "./rows.ts"

export interface CheckoutFacts {
  readonly source: CheckoutSource
  readonly member: MemberRow | undefined
  /** Issued deposits of the opportunity that no issued invoice takes off yet, the earliest first. */
  readonly deposits: ReadonlyArray<Deposit>
  /** Custom fields of opportunities and of invoices. */
  readonly custom: { readonly from: CustomFieldFacts; readonly to: CustomFieldFacts }
}
export interface CheckoutAsked {
  readonly type: InvoiceType
  readonly deduct_deposits: boolean
  /** Percent of the whole, for a deposit. */
  readonly percent: string | null
}

/** Statuses of opportunities that nobody is billed for, by state. */
const not_billed: { readonly [state: number]: ReadonlyArray<number> } = { 1: [2, 3], 2: [6] }

/** Values of fields that invoices have by the same name and of the same kind; defaults for the others. */
export const copiedCustomFields = (
  { from, to }: CheckoutFacts["custom"],
  values: JsonObject
): { readonly [id: string]: Json } => {
  const copies = to.definitions.flatMap((own) => {
    const source = from.definitions.find(
      (one) => one.name === own.name && one.field_type === own.field_type && one.list_name_id === own.list_name_id
    )
    const value = source === undefined ? undefined : values[String(source.id)]
    return value === undefined || value === null ? [] : [[String(own.id), value] as const]
  })
  // What a required field lacks is asked for when somebody edits the draft.
  return { ...readCustomFields(to, undefined, {}, "create").stored, ...Object.fromEntries(copies) }
}

/** A part of the whole: one row for each tax class and rate. */
const partRows = (
  rows: ReadonlyArray<InvoiceItemRow>,
  percent: string,
  header: Pick<InvoiceRow, "id" | "currency_code">,
  subject: string
): ReadonlyArray<InvoiceItemRow> =>
  sumsOf(rows).tax_summary.flatMap((group, at) => {
    const net = percentOfMoney(group.net, percent)
    if (net === 0) return []
    const { gross, tax } = exclusiveTax(net, group.rate)
    return [
      {
        ...newItem(header),
        name: `${percent.replace(/\.?0+$/, "")} % of ${subject}`.slice(0, 255),
        unit_price: net,
        subtotal: net,
        tax_class_id: group.tax_class_id,
        tax_rate_id: group.tax_rate_id,
        tax_rate_name: group.tax_rate_name,
        tax_rate: group.rate,
        tax_total: tax,
        total: gross,
        sort_order: at
      }
    ]
  })

export const checkout = (facts: CheckoutFacts, asked: CheckoutAsked, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { header: opportunity } = facts.source
    if (not_billed[opportunity.state]?.includes(opportunity.status) === true)
      return yield* Result.fail(
        invalidField("opportunity", `The opportunity is ${statusLabelOf(opportunity)}; reinstate it to bill it.`)
      )
    if (opportunity.member_id === null)
      return yield* Result.fail(invalidField("member_id", "The opportunity has no customer; give it one first."))
    if (asked.percent !== null && asked.type !== "deposit")
      return yield* Result.fail(invalidField("percent", "Only a deposit is a part of the whole."))
    const member = yield* billable(facts.member)
    const header = yield* draftOf(opportunity, member, asked.type, facts, context)
    const whole = billedRows(facts.source, header)
    const billed = asked.percent === null ? whole : partRows(whole, asked.percent, header, opportunity.subject)
    if (whole.length > 0 && billed.length === 0)
      return yield* Result.fail(
        invalidField("percent", "This part of the whole comes to nothing; name a higher percentage.")
      )
    if (billed.length === 0)
      return yield* Result.fail(
        invalidField("items", "Nothing of the opportunity is charged, so there is nothing to bill.")
      )
    const deducted =
      asked.type === "standard" && asked.deduct_deposits
        ? depositRows(facts.deposits, sumsOf(billed).total, header, billed.length)
        : []
    const items = [...billed, ...deducted].map((row) => ({ ...row, id: context.id(invoice_items) }))
    return {
      events: [
        invoiceCreated.make({ ...withoutStamps({ ...header, ...sumsOf(items) }), items: items.map(withoutStamps) })
      ],
      result: { id: header.id }
    }
  })

const draftOf = (
  opportunity: OpportunityRow,
  member: MemberRow,
  type: InvoiceType,
  { custom }: CheckoutFacts,
  context: DecideContext
) =>
  Result.map(snapshotRate(opportunity.exchange_rate, opportunity.currency_code), (exchange_rate): InvoiceRow => ({
    ...newInvoice(context.id(invoices)),
    type,
    subject: opportunity.subject,
    reference: opportunity.reference,
    member_id: member.id,
    store_id: opportunity.store_id,
    opportunity_id: opportunity.id,
    version_id: opportunity.active_version_id === 0 ? null : opportunity.active_version_id,
    currency_code: opportunity.currency_code,
    exchange_rate,
    // Its rows are net, whatever prices of the opportunity are.
    prices_include_tax: false,
    payment_terms_days: termsOf(member),
    custom_fields: copiedCustomFields(custom, opportunity.custom_fields)
  }))
