/** Creates a draft invoice from an opportunity (rules/billing 1.3). */
import { exclusiveTax, inclusiveTax } from "../../pricing/pricing/line.ts"
import { allocateMoney, formatMoney, parseMoney, percentOfMoney, sumMoney } from "../../values/money.ts"
import { groupKey, type RowTax, sumsOf } from "../state/amounts.ts"
import { invoice_items, type InvoiceItemRow, type InvoiceRow, invoices, type TaxSummaryRow } from "../state/tables.ts"
import { Result } from "effect"
import { decision, readCustomFields, reject, withoutStamps } from "../../kernel/index.ts"
import type { CustomFieldFacts, DecideContext, Decided, Json, JsonObject, Rejection } from "../../kernel/index.ts"
import { type Billed, billedText, leftToBill, namesOfInvoices } from "../state/billed.ts"
import { hundredths, quantityText, share } from "../state/credited.ts"
import { paperLanguage, type Words, wordsOf } from "../paper/words.ts"
import { quantityText as numberText } from "../../pricing/print/format.ts"
import { withValues } from "../../values/text.ts"
import type { MemberRow } from "../../people/members/schema.ts"
import { snapshotRate } from "../../orders/opportunities/header/decide.ts"
import { statusLabelOf, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { invoiceCreated } from "../state/events.ts"
import { billable, newInvoice, termsOf } from "../invoices/decide.ts"
import { billedRows, type CheckoutSource, newItem, priceOfNet } from "../state/rows.ts"

// Rows of the unbilled rest of an opportunity.

type BilledRow = Billed["rows"][number]
/** The draft that rows are for; names of rows are in the customer's language. */
interface Target extends Pick<InvoiceRow, "id" | "currency_code"> {
  readonly language: string
  readonly words: Words
}

/** Key of a row's source, to match rows of earlier invoices; undefined without a source. */
const subjectOf = (row: InvoiceItemRow): string | undefined =>
  row.opportunity_item_id === null
    ? row.opportunity_cost_id === null
      ? undefined
      : `cost ${row.opportunity_cost_id}`
    : `line ${row.opportunity_item_id}`

/** Unbilled part of a row; undefined if it is billed completely. */
const leftOfRow = (row: InvoiceItemRow, taken: ReadonlyArray<BilledRow>, target: Target) => {
  if (taken.length === 0) return row
  const net = row.subtotal - sumMoney(taken.map((one) => one.net))
  const quantity = hundredths(row.quantity) - sumMoney(taken.map((one) => one.quantity))
  if (net === 0) return row.subtotal === 0 && quantity > 0 ? { ...row, quantity: quantityText(quantity) } : undefined
  return withNet(
    row,
    net,
    quantity,
    taken.every(({ item }) => item.tax_rate === row.tax_rate)
      ? row.tax_total - sumMoney(taken.map((one) => one.tax))
      : exclusiveTax(net, row.tax_rate ?? "0").tax,
    target
  )
}
/** A copy of the row for part of its net; `quantity` in hundredths. */
const withNet = (row: InvoiceItemRow, net: number, quantity: number, tax: number, target: Target): InvoiceItemRow => ({
  ...row,
  ...priceOfNet(row, quantity > 0 ? quantityText(quantity) : "1.00", net, target.words.quantity),
  subtotal: net,
  tax_total: tax,
  total: net + tax
})

/**
 * Rows of the unbilled rest: unbilled lines and costs, and a deduction per tax for amounts billed otherwise. They add
 * up to the rest.
 */
const leftRows = (
  whole: ReadonlyArray<InvoiceItemRow>,
  { currency_code, rows }: Billed,
  target: Target
): ReadonlyArray<InvoiceItemRow> => {
  const { words } = target
  const subjects = new Set(whole.map(subjectOf))
  const isOwn = (row: BilledRow): boolean =>
    subjectOf(row.item) !== undefined &&
    row.invoice.currency_code === currency_code &&
    subjects.has(subjectOf(row.item))
  const by_subject = Map.groupBy(rows.filter(isOwn), ({ item }) => subjectOf(item))
  const left = whole.flatMap((row) => {
    const subject = subjectOf(row)
    return leftOfRow(row, subject === undefined ? [] : (by_subject.get(subject) ?? []), target) ?? []
  })
  const others = Map.groupBy(
    rows.filter((row) => !isOwn(row)),
    ({ item }) => groupKey(item)
  )
  const deductions = [...others.values()].flatMap((group) => {
    const [first] = group
    const [net, tax] = [sumMoney(group.map((row) => row.net)), sumMoney(group.map((row) => row.tax))]
    if (first === undefined || (net === 0 && tax === 0)) return []
    const { tax_class_id, tax_rate, tax_rate_id, tax_rate_name } = first.item
    return [
      {
        ...newItem(target),
        ...{ tax_class_id, tax_rate, tax_rate_id, tax_rate_name },
        name: withValues(words.billed_by, { invoices: namesOfInvoices(group, words.one_invoice) }).slice(0, 255),
        unit_price: -net,
        subtotal: -net,
        tax_total: -tax,
        total: -net - tax
      }
    ]
  })
  return [...left, ...deductions].map((row, at) => ({ ...row, sort_order: at }))
}

// Rows that deduct issued deposits from the final invoice (rules/rulings, deposits at checkout).

export interface Deposit {
  readonly invoice: InvoiceRow
  /** Tax summaries of its credit notes; negative. */
  readonly credited: ReadonlyArray<TaxSummaryRow>
}
const taxOf = (row: TaxSummaryRow): RowTax => ({
  tax_class_id: row.tax_class_id,
  tax_rate_id: row.tax_rate_id,
  tax_rate_name: row.tax_rate_name,
  tax_rate: row.rate
})
/** Uncredited rest of a deposit by class and rate, negative for deductions with their own rate; empty if used up. */
const leftOf = ({ credited, invoice }: Deposit): ReadonlyArray<TaxSummaryRow> => {
  const by_tax = Map.groupBy([...invoice.tax_summary, ...credited], (row) => groupKey(taxOf(row)))
  const groups = [...by_tax.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const net = group.reduce((sum, row) => sum + row.net, 0)
    const tax = group.reduce((sum, row) => sum + row.tax, 0)
    return net === 0 && tax === 0 ? [] : [{ ...first, net, tax, gross: net + tax }]
  })
  return grossOf(groups) <= 0 ? [] : groups
}
const grossOf = (groups: ReadonlyArray<TaxSummaryRow>): number => groups.reduce((sum, { gross }) => sum + gross, 0)

/** Limits tax groups to a gross total, in proportion to their amounts. */
const within = (groups: ReadonlyArray<TaxSummaryRow>, limit: number): ReadonlyArray<TaxSummaryRow> => {
  if (grossOf(groups) <= limit) return groups
  // The limit may be below the sum of the positive groups, as negative ones offset them; those are dropped.
  const above = groups.filter(({ gross }) => gross > 0)
  const parts = allocateMoney(
    limit,
    above.map((row) => row.gross)
  )
  return above.map((row, at) => ({ ...row, ...inclusiveTax(parts[at] ?? 0, row.rate) })).filter((row) => row.gross > 0)
}

/**
 * Deposit rows, earliest first, with the deposits' tax; they never deduct more than `total`. `whole` skips partly
 * deductible deposits: no other invoice would deduct the rest of one.
 */
const depositRows = (
  deposits: ReadonlyArray<Deposit>,
  total: number,
  target: Target,
  { sort_from, whole }: { readonly sort_from: number; readonly whole: boolean }
): ReadonlyArray<InvoiceItemRow> => {
  let left = total
  const rows: Array<InvoiceItemRow> = []
  for (const deposit of deposits) {
    const owed = leftOf(deposit)
    for (const group of left <= 0 || (whole && grossOf(owed) > left) ? [] : within(owed, left)) {
      left -= group.gross
      rows.push({
        ...newItem(target),
        ...taxOf(group),
        name: nameOf(deposit.invoice, target),
        unit_price: -group.net,
        subtotal: -group.net,
        tax_total: -group.tax,
        total: -group.gross,
        sort_order: sort_from + rows.length,
        deposit_invoice_id: deposit.invoice.id
      })
    }
  }
  return rows
}
const nameOf = ({ id, issued_at, number }: InvoiceRow, { words }: Target): string =>
  withValues(words.deposit_invoiced, {
    number: number ?? `(id ${id}, number pending)`,
    date: (issued_at ?? "").slice(0, 10)
  })

// Part of the unbilled rest: a percentage, an amount or lines (rules/billing 1.9).

/** The requested part of the unbilled rest, by at most one of the fields; without any, all of it. */
interface PartAsked {
  /** Share of the opportunity's total. */
  readonly percent: string | null
  /** Amount before tax. */
  readonly amount: Json
  readonly lines: ReadonlyArray<{ readonly opportunity_item_id: number; readonly quantity?: string | null }> | null
}
interface Parts {
  readonly header: Target
  readonly subject: string
  readonly whole: ReadonlyArray<InvoiceItemRow>
  /** Rows of all that is unbilled; `whole` has all rows of the opportunity. */
  readonly rest: ReadonlyArray<InvoiceItemRow>
}
type Rows = Result.Result<ReadonlyArray<InvoiceItemRow>, Rejection>
const netOf = (rows: ReadonlyArray<Pick<InvoiceItemRow, "subtotal">>): number =>
  rows.reduce((all, { subtotal }) => all + subtotal, 0)

const isPart = ({ amount, lines, percent }: PartAsked): boolean => percent !== null || amount !== null || lines !== null

const partRows = (parts: Parts, asked: PartAsked): Rows => {
  const { amount, lines, percent } = asked
  const given = (["percent", "amount", "lines"] as const).filter((name) => asked[name] !== null)
  const [first] = given
  if (first === undefined) return Result.succeed(parts.rest)
  if (given.length > 1) return reject(first, "Send one of percent, amount and lines.")
  return lines === null ? moneyPart(parts, percent, amount) : linePart(parts, lines)
}

const moneyPart = ({ header, rest, subject, whole }: Parts, percent: string | null, amount: Json): Rows => {
  const { currency_code, language, words } = header
  const groups = sumsOf(whole).tax_summary
  const left = netOf(rest)
  const field = percent === null ? "amount" : "percent"
  const tooMuch = (net: number) =>
    reject(
      field,
      `${formatMoney(net, currency_code)} is more than the ${formatMoney(left, currency_code)} ${currency_code} ` +
        "(without tax) left to bill."
    )
  const nets = groups.map(({ net }) => net)
  if (percent !== null) {
    const shares = nets.map((net) => percentOfMoney(net, percent))
    const net = shares.reduce((all, one) => all + one, 0)
    // Two shares of 50 % of an odd amount are both rounded up, so each tax group may exceed the rest by one unit.
    if (net - left > groups.length) return tooMuch(net)
    const rows = groupRows(groups, net > left ? allocateMoney(left, shares) : shares, {
      header,
      name: withValues(words.percent_of, { percent: numberText(percent, language), subject })
    })
    return rows.length === 0
      ? reject(field, "This part of the whole comes to nothing; name a higher percentage.")
      : Result.succeed(rows)
  }
  const read = parseMoney(amount, currency_code)
  if (Result.isFailure(read)) return reject(field, `The amount field ${read.failure}`)
  if (read.success <= 0) return reject(field, "The amount must be above zero.")
  if (read.success > left) return tooMuch(read.success)
  const name = withValues(words.part_of, { subject })
  return Result.succeed(groupRows(groups, allocateMoney(read.success, nets), { header, name }))
}
/** Rows for a part of the rest: one per tax class and rate with a non-zero net. */
const groupRows = (
  groups: ReadonlyArray<TaxSummaryRow>,
  nets: ReadonlyArray<number>,
  { header, name }: Pick<Parts, "header"> & { readonly name: string }
): ReadonlyArray<InvoiceItemRow> =>
  groups.flatMap((group, at) => {
    const net = nets[at] ?? 0
    if (net === 0) return []
    const { gross, tax } = exclusiveTax(net, group.rate)
    return [
      {
        ...newItem(header),
        name: name.slice(0, 255),
        unit_price: net,
        subtotal: net,
        ...taxOf(group),
        tax_total: tax,
        total: gross,
        sort_order: at
      }
    ]
  })

const linePart = ({ header, rest, whole }: Parts, lines: NonNullable<PartAsked["lines"]>): Rows =>
  Result.gen(function* () {
    const rows: Array<InvoiceItemRow> = []
    for (const [at, { opportunity_item_id, quantity = null }] of lines.entries()) {
      const isIt = (row: InvoiceItemRow): boolean => row.opportunity_item_id === opportunity_item_id
      const row = rest.find(isIt)
      const field = `lines.${at}.opportunity_item_id`
      if (rows.some(isIt)) return yield* reject(field, "The line is named twice.")
      if (row === undefined)
        return yield* reject(
          field,
          whole.some(isIt)
            ? "All of the line is billed."
            : "The opportunity charges no such line; with a deal price, send percent or amount."
        )
      const left = hundredths(row.quantity)
      const wanted = hundredths(quantity ?? row.quantity)
      if (wanted > left)
        return yield* reject(`lines.${at}.quantity`, `Only ${quantityText(left)} of the line is left to bill.`)
      const net = share(row.subtotal, wanted, left)
      rows.push(wanted === left ? row : withNet(row, net, wanted, exclusiveTax(net, row.tax_rate ?? "0").tax, header))
    }
    if (rows.length === 0) return yield* reject("lines", "Name the lines to bill.")
    if (netOf(rows) > netOf(rest))
      return yield* reject(
        "lines",
        `These lines come to ${formatMoney(netOf(rows), header.currency_code)}, and ` +
          `${formatMoney(netOf(rest), header.currency_code)} ${header.currency_code} (without tax) is left to bill.`
      )
    return rows.map((row, sort_order) => ({ ...row, sort_order }))
  })

export interface CheckoutFacts {
  readonly source: CheckoutSource
  readonly member: MemberRow | undefined
  /** The customer's locale, else the company's. */
  readonly locale: string
  /** The opportunity's issued deposits that no issued invoice deducts yet, earliest first. */
  readonly deposits: ReadonlyArray<Deposit>
  readonly billed: Billed | undefined
  /** Custom fields of opportunities and of invoices. */
  readonly custom: { readonly from: CustomFieldFacts; readonly to: CustomFieldFacts }
}
interface CheckoutAsked extends PartAsked {
  readonly type: InvoiceRow["type"]
  readonly deduct_deposits: boolean
}

/** Statuses of opportunities that cannot be billed, by state. */
const not_billed: { readonly [state: number]: ReadonlyArray<number> } = { 1: [2, 3], 2: [6] }

/** Copies custom fields that invoices have with the same name, type and list; the others get defaults. */
const copiedCustomFields = (
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
  // Missing required fields are reported when the draft is edited.
  return { ...readCustomFields(to, undefined).stored, ...Object.fromEntries(copies) }
}

export const checkout = (facts: CheckoutFacts, asked: CheckoutAsked, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { header: opportunity } = facts.source
    if (not_billed[opportunity.state]?.includes(opportunity.status) === true)
      return yield* reject("opportunity", `The opportunity is ${statusLabelOf(opportunity)}; reinstate it to bill it.`)
    if (opportunity.member_id === null)
      return yield* reject("member_id", "The opportunity has no customer; give it one first.")
    const member = yield* billable(facts.member)
    const header = yield* draftOf(opportunity, member, asked.type, facts, context)
    const language = paperLanguage(facts.locale)
    const target: Target = { ...header, language, words: wordsOf(language) }
    const whole = billedRows(facts.source, target, target.words.quantity)
    if (whole.length === 0)
      return yield* reject("items", "Nothing of the opportunity is charged, so there is nothing to bill.")
    const rest = yield* restOf(whole, asked.type === "standard" ? facts.billed : undefined, target)
    const billed = yield* partRows({ header: target, subject: opportunity.subject, whole, rest }, asked)
    const deducted =
      asked.type === "standard" && asked.deduct_deposits
        ? depositRows(facts.deposits, sumsOf(billed).total, target, { sort_from: billed.length, whole: isPart(asked) })
        : []
    const items = [...billed, ...deducted].map((row) => ({ ...row, id: context.id(invoice_items) }))
    return decision(header.id, [
      invoiceCreated.make({ ...withoutStamps({ ...header, ...sumsOf(items) }), items: items.map(withoutStamps) })
    ])
  })

/** Unbilled rows of the opportunity; all rows if `billed` is undefined or empty; 422 if nothing is left to bill. */
const restOf = (
  whole: ReadonlyArray<InvoiceItemRow>,
  billed: Billed | undefined,
  target: Target
): Result.Result<ReadonlyArray<InvoiceItemRow>, Rejection> => {
  if (billed === undefined || billed.rows.length === 0) return Result.succeed(whole)
  return leftToBill(billed) > 0
    ? Result.succeed(leftRows(whole, billed, target))
    : reject("items", `Nothing is left to bill: ${billedText(billed)}.`)
}

const draftOf = (
  opportunity: OpportunityRow,
  member: MemberRow,
  type: InvoiceRow["type"],
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
    // The draft's rows are net, even if the opportunity's prices include tax.
    prices_include_tax: false,
    payment_terms_days: termsOf(member),
    custom_fields: copiedCustomFields(custom, opportunity.custom_fields)
  }))
