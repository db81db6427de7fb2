/** Creating, updating, deleting, issuing and voiding invoices (rules/billing 1.1, 1.3). */
import { changedColumns, customFieldsFrom, decision, initialRow, invalid, itemsMoved } from "../../kernel/index.ts"
import { picked, reject, unstamped, withoutStamps } from "../../kernel/index.ts"
import type { CustomFieldFacts, DecideContext, Decided, Input, Json, Rejection } from "../../kernel/index.ts"
import { Result } from "effect"
import type { MemberRow } from "../../people/members/schema.ts"
import { snapshotRate } from "../../orders/opportunities/header/decide.ts"
import type { OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { resolveTax } from "../../pricing/pricing/line.ts"
import { dayOf, isInFuture, plusDays } from "../../values/time.ts"
import { exactSums, requireEnabled, rowTax, settled, sumsOf } from "../state/amounts.ts"
import { type Billing, overbilling } from "../state/billed.ts"
import {
  invoiceChange,
  invoiceCreated,
  invoiceDeleted,
  invoiceIssued,
  invoiceUpdated,
  invoiceVoided,
  nextDocumentNumber
} from "../state/events.ts"
import { type ItemFacts, itemsFrom, taxedItems } from "../state/rows.ts"
import type { InvoiceItemRow, InvoiceRow, NamedParty, VatReport } from "../state/tables.ts"
import { invoice_statuses, invoices } from "../state/tables.ts"
import type { CreateValues, SentItem, UpdateValues } from "../state/fields.ts"

/** Facts that create and update share. */
export interface HeaderFacts extends ItemFacts {
  /** The customer after the update. */
  readonly member: MemberRow | undefined
  /** The opportunity after the update; undefined without one. */
  readonly opportunity: OpportunityRow | undefined
  readonly custom: CustomFieldFacts
}
export interface CreateFacts extends HeaderFacts {
  readonly currency: { readonly code: string; readonly is_enabled: boolean }
  /** Undefined without an exchange rate to the base currency. */
  readonly exchange_rate: string | undefined
}
export interface UpdateFacts extends HeaderFacts {
  readonly items: ReadonlyArray<InvoiceItemRow>
}
const terms_default_days = 30
/** Days until payment is due: the customer's term, at most 365, else 30. */
export const termsOf = (member: Pick<MemberRow, "invoice_term_length"> | undefined): number =>
  member !== undefined && member.invoice_term_length > 0
    ? Math.min(member.invoice_term_length, 365)
    : terms_default_days

/** The member, if it can be billed; else 422 on `member_id`. */
export const billable = (member: MemberRow | undefined): Result.Result<MemberRow, Rejection> =>
  member === undefined || member.deleted_at !== null
    ? reject("member_id", "The customer is archived; restore the member or name another one.")
    : member.membership_type === "user"
      ? reject("member_id", "A user cannot be billed; name an organisation, a contact or a venue.")
      : Result.succeed(member)
const sameCustomer = (opportunity: OpportunityRow | undefined, member_id: number): Result.Result<void, Rejection> =>
  opportunity !== undefined && opportunity.member_id !== member_id
    ? reject("opportunity_id", "The opportunity belongs to another customer.")
    : Result.succeed(undefined)

/** An invoice with default values. */
export const newInvoice = (id: number): InvoiceRow => ({ ...initialRow(invoices), ...unstamped, id })

export const createInvoice = (
  facts: CreateFacts,
  { body, values }: Pick<Input, "body"> & { readonly values: CreateValues },
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const { currency: _c, currency_code: _code, items, ...sent } = values
    const member = yield* billable(facts.member)
    yield* sameCustomer(facts.opportunity, member.id)
    yield* requireEnabled(facts.currency)
    const custom_fields = yield* customFieldsFrom(facts.custom, body["custom_fields"])
    const exchange_rate = yield* snapshotRate(facts.exchange_rate, facts.currency.code)
    const header: InvoiceRow = {
      ...newInvoice(context.id(invoices)),
      ...sent,
      member_id: member.id,
      currency_code: facts.currency.code,
      exchange_rate,
      payment_terms_days: sent.payment_terms_days ?? termsOf(member),
      custom_fields
    }
    const rows = yield* Result.mapError(itemsFrom(header, items ?? [], body["items"], [], facts, context), invalid)
    const sums = yield* exactSums(sumsOf(rows))
    return decision(header.id, [
      invoiceCreated.make({ ...withoutStamps({ ...header, ...sums }), items: rows.map(withoutStamps) })
    ])
  })
const columns_of_any_status: ReadonlySet<string> = new Set(["custom_fields"])
const draftOnly = ({ status }: InvoiceRow, words: string): Result.Result<void, Rejection> =>
  status === "draft"
    ? Result.succeed(undefined)
    : reject("status", `The invoice is ${invoice_statuses[status].toLowerCase()}; only a draft can be ${words}.`)

/** Updates an invoice; absent fields keep their values, and issued invoices change only in custom fields. */
export const updateInvoice = (
  facts: UpdateFacts,
  input: Pick<Input, "body"> & { readonly values: UpdateValues; readonly rows: { readonly id: InvoiceRow } },
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const { body, values } = input
    const before = input.rows.id
    const { items, ...sent } = values
    if (Object.keys(body).length === 0 || Object.keys(body).some((name) => !columns_of_any_status.has(name)))
      yield* draftOnly(before, "changed")
    const custom_fields = yield* customFieldsFrom(facts.custom, body["custom_fields"], before.custom_fields)
    const next: InvoiceRow = { ...before, ...sent, custom_fields }
    const isMoved = next.member_id !== before.member_id
    if (isMoved) {
      if (next.opportunity_id !== null)
        return yield* reject("member_id", "The customer is that of the opportunity; take the opportunity off first.")
      yield* billable(facts.member)
    }
    if (next.opportunity_id !== before.opportunity_id) yield* sameCustomer(facts.opportunity, next.member_id)
    const rows = yield* rowsAfter({ next, isMoved, items, raw: body["items"] }, facts, context)
    const sums = rows === undefined ? {} : yield* exactSums(sumsOf(rows))
    const set = changedColumns(before, { ...next, ...sums })
    const replaced = rows === undefined ? undefined : itemsMoved(facts.items, rows)
    const change = invoiceChange(before, set)
    return {
      events:
        Object.keys(set).length === 0 && replaced === undefined
          ? []
          : [invoiceUpdated.make({ ...change, ...(replaced === undefined ? {} : { items: replaced }) })],
      result: { id: before.id }
    }
  })

/** Rows after an update; undefined if they stay as they are. A new customer changes their taxes. */
const rowsAfter = (
  asked: {
    readonly next: InvoiceRow
    readonly isMoved: boolean
    readonly items: ReadonlyArray<SentItem> | null | undefined
    readonly raw: Json | undefined
  },
  facts: UpdateFacts,
  context: DecideContext
): Result.Result<ReadonlyArray<InvoiceItemRow> | undefined, Rejection> => {
  const { isMoved, items, next, raw } = asked
  const stored = isMoved ? retaxed(next, facts) : facts.items
  if (items === undefined || items === null) return Result.succeed(isMoved ? stored : undefined)
  return Result.mapError(itemsFrom(next, items, raw, stored, facts, context), invalid)
}
const retaxed = (next: InvoiceRow, facts: UpdateFacts): ReadonlyArray<InvoiceItemRow> => {
  const rows = facts.items.map((row) => ({
    ...row,
    ...rowTax(row.tax_class_id, resolveTax(facts.tax, facts.customer_tax_class_id, row.tax_class_id))
  }))
  return taxedItems(next, rows, new Map(facts.items.map((row) => [row.id, row])))
}

export const deleteInvoice = (row: InvoiceRow): Decided =>
  Result.map(draftOnly(row, "deleted"), () => decision(row.id, [invoiceDeleted.make({ id: row.id })]))

export interface IssueFacts {
  readonly items: number
  readonly billing: Billing | undefined
  readonly member: MemberRow | undefined
  readonly billed_to: NamedParty | null
  readonly billed_by: NamedParty
  readonly vat_reports: ReadonlyArray<VatReport>
  /** Names of deposits its rows deduct that another issued invoice deducts, or that were voided or credited in full. */
  readonly spent_deposits: ReadonlyArray<string>
  /** Names of deposits its rows deduct in excess of their rest, because part was credited. */
  readonly exceeded_deposits: ReadonlyArray<string>
}
export const issueInvoice = (
  row: InvoiceRow,
  facts: IssueFacts,
  asked: {
    readonly issued_at?: string | null
    readonly due_at?: string | null
    readonly allow_overbilling?: boolean | null
  },
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    yield* draftOnly(row, "issued")
    if (facts.items === 0) return yield* reject("items", "An invoice without rows cannot be issued.")
    const member = yield* billable(facts.member)
    if (row.total < 0)
      return yield* reject("total", "The total is below zero; take deductions off, or issue a credit note instead.")
    if (facts.spent_deposits.length > 0)
      return yield* reject(
        "items",
        `Take off the deduction of ${facts.spent_deposits.join(", ")}: it was deducted or undone.`
      )
    if (facts.exceeded_deposits.length > 0)
      return yield* reject(
        "items",
        `More is taken off for ${facts.exceeded_deposits.join(", ")} than is left of it: part of it was credited. ` +
          "Lower the deduction, or check the opportunity out again."
      )
    const too_much = overbilling(facts.billing)
    if (too_much !== undefined && asked.allow_overbilling !== true) return yield* reject("items", too_much)
    const issued_at = asked.issued_at ?? context.now
    if (isInFuture(issued_at, context.now))
      return yield* reject("issued_at", "The issued at field must not be in the future.")
    const due_at = asked.due_at ?? row.due_at ?? plusDays(issued_at, row.payment_terms_days ?? termsOf(member))
    const zone = facts.billed_by?.einvoice?.zone ?? "UTC"
    if (dayOf(Date.parse(due_at), zone) < dayOf(Date.parse(issued_at), zone))
      return yield* reject("due_at", "The due at field must not be before the day of issue; send a later due_at.")
    const set = {
      number: nextDocumentNumber(row.type === "proforma" ? "proforma" : "invoice", row.store_id, context),
      ...settled(row, { paid: 0, credited: 0 }, context.now),
      issued_at,
      due_at,
      ...picked(facts, ["billed_to", "billed_by", "vat_reports"])
    }
    const allowed = too_much === undefined ? {} : { also: { allow_overbilling: true } }
    return decision(row.id, [invoiceIssued.make({ ...invoiceChange(row, set), ...allowed })])
  })

export interface VoidFacts {
  readonly credit_notes: number
  /** Names of issued invoices that deduct this deposit. */
  readonly deducted_by: ReadonlyArray<string>
}
/** Voids an unpaid invoice, or one with a total of zero, which counts as paid from its issue. */
export const voidInvoice = (
  row: InvoiceRow,
  facts: VoidFacts,
  reason: string | null,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const refuse = (text: string) => reject("status", text)
    if (row.amount_paid !== 0)
      return yield* refuse("The invoice has payments; refund them first, or issue a credit note.")
    if (facts.credit_notes > 0) return yield* refuse("The invoice has a credit note and cannot be voided.")
    if (row.status !== "issued" && !(row.status === "paid" && row.total === 0))
      return yield* refuse(
        row.status === "draft"
          ? "The invoice is a draft; delete it instead."
          : `The invoice is ${invoice_statuses[row.status].toLowerCase()} and cannot be voided.`
      )
    if (facts.deducted_by.length > 0)
      return yield* refuse(`The deposit is taken off by ${facts.deducted_by.join(", ")}; void that first.`)
    const set = {
      status: "voided",
      amount_outstanding: 0,
      paid_at: null,
      voided_at: context.now,
      void_reason: reason
    } as const
    return decision(row.id, [invoiceVoided.make(invoiceChange(row, set))])
  })
