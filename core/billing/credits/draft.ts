/**
 * The credit draft of an opportunity: what invoices bill beyond its total, as rows to credit (rules/billing
 * 1.10). It is computed, as the unbilled rest is, and so never stale.
 */
import { Effect, Result } from "effect"
import { bindings, chunked, lockStreams, reject, Store } from "../../kernel/index.ts"
import type { DecideContext, Decided, NewEvent } from "../../kernel/index.ts"
import { opportunities, opportunity_items, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { members } from "../../people/members/schema.ts"
import { exclusiveTax } from "../../pricing/pricing/line.ts"
import { formatMoney } from "../../values/money.ts"
import { chargedSource } from "../checkout/api.ts"
import { type Billed, billedOf, billedText, billedTotal, leftToBill } from "../state/billed.ts"
import { invoiceStream } from "../state/events.ts"
import { billedRows } from "../state/rows.ts"
import type { InvoiceItemRow, InvoiceRow } from "../state/tables.ts"
import { credit_note_items, invoice_items, invoices, standing_statuses } from "../state/tables.ts"
import { type CreditFacts, type CreditInput, issueCreditNote } from "./decide.ts"

/** A row of the draft. Amounts are minor units of the opportunity's currency. */
interface DraftRow {
  readonly invoice: InvoiceRow
  readonly item: InvoiceItemRow
  readonly net: number
  readonly tax: number
}
type Charged = Pick<InvoiceItemRow, "opportunity_item_id" | "opportunity_cost_id" | "subtotal">
/** The line that a line was split from, or itself. */
type LineOrigin = (opportunity_item_id: number) => number

/** Key of the line (with the parts split from it) or cost that a row charges; undefined for other rows. */
const subjectBy =
  (originOf: LineOrigin) =>
  ({ opportunity_cost_id, opportunity_item_id }: Omit<Charged, "subtotal">): string | undefined =>
    opportunity_item_id !== null
      ? `line ${originOf(opportunity_item_id)}`
      : opportunity_cost_id === null
        ? undefined
        : `cost ${opportunity_cost_id}`

/**
 * Rows to credit, the newest invoice first: of each line or cost what is billed beyond its own total, then of rows that
 * bill neither, up to what is billed beyond the opportunity's total. Invoices in other currencies are left out.
 */
const draftRows = (whole: ReadonlyArray<Charged>, billed: Billed, originOf: LineOrigin): ReadonlyArray<DraftRow> => {
  const subjectOf = subjectBy(originOf)
  const beyond = new Map<string | undefined, number>()
  const add = (subject: string | undefined, net: number): Map<string | undefined, number> =>
    beyond.set(subject, (beyond.get(subject) ?? 0) + net)
  for (const { item, net } of billed.rows) add(subjectOf(item), net)
  for (const row of whole) add(subjectOf(row), -row.subtotal)
  let left = -leftToBill(billed)
  const own = billed.rows.filter(({ invoice, net }) => net > 0 && invoice.currency_code === billed.currency_code)
  const newest_first = own
    .toReversed()
    .toSorted((one, other) => rankOf(subjectOf(one.item)) - rankOf(subjectOf(other.item)))
  return newest_first.flatMap(({ invoice, item, net, tax }) => {
    const subject = subjectOf(item)
    const most = Math.min(net, left, subject === undefined ? net : (beyond.get(subject) ?? 0))
    if (most <= 0) return []
    left -= most
    add(subject, -most)
    return [{ invoice, item, net: most, tax: most === net ? tax : exclusiveTax(most, item.tax_rate ?? "0").tax }]
  })
}
const rankOf = (subject: string | undefined): number => (subject === undefined ? 1 : 0)

interface Draft {
  readonly billed: Billed
  readonly rows: ReadonlyArray<DraftRow>
}
/** The draft of an opportunity, by what its issued invoices bill now. */
const draftOf = Effect.fnUntraced(function* (header: OpportunityRow): Store.Reads<Draft | undefined> {
  const billed = (yield* billedOf([header])).get(header.id)
  if (billed === undefined) return undefined
  if (leftToBill(billed) >= 0) return { billed, rows: [] }
  const member = header.member_id === null ? undefined : yield* Store.get(members, header.member_id)
  const source = yield* chargedSource(header, member?.sale_tax_class_id ?? null)
  const whole = billedRows(source, { id: 0, currency_code: header.currency_code })
  const ids = [...billed.rows.map(({ item }) => item), ...whole].flatMap((row) => row.opportunity_item_id ?? [])
  const lines = yield* Store.byId(opportunity_items, ids)
  return { billed, rows: draftRows(whole, billed, (id) => lines.get(id)?.origin_item_id ?? id) }
})

/** The draft in responses. */
export const creditDraft = Effect.fnUntraced(function* (header: OpportunityRow) {
  const draft = yield* draftOf(header)
  const rows = draft?.rows ?? []
  const money = (minor: number): string => formatMoney(minor, header.currency_code)
  const sum = (amounts: ReadonlyArray<number>): string => money(amounts.reduce((all, one) => all + one, 0))
  return {
    opportunity_id: header.id,
    currency_code: header.currency_code,
    subtotal: sum(rows.map(({ net }) => net)),
    tax_total: sum(rows.map(({ tax }) => tax)),
    total: sum(rows.map(({ net, tax }) => net + tax)),
    left_out: sum([Math.max(0, draft === undefined ? 0 : -leftToBill(draft.billed)), ...rows.map(({ net }) => -net)]),
    items: rows.map(({ invoice, item, net, tax }) => ({
      invoice_id: invoice.id,
      invoice_number: invoice.number,
      invoice_item_id: item.id,
      name: item.name,
      amount: money(net),
      tax_total: money(tax)
    }))
  }
})

const looked_at_once = 500
/** One page of the opportunities that invoices bill beyond their total, the newest first, and the count of all. */
export const listDrafts = Effect.fnUntraced(function* ({
  member_id = null,
  page = 1,
  per_page = 50,
  store_id = null
}: {
  readonly member_id?: number | null
  readonly store_id?: number | null
  readonly page?: number
  readonly per_page?: number
}) {
  const headers = yield* Store.getMany(opportunities, yield* billedBeyond({ member_id, store_id }))
  const found: Array<{ readonly header: OpportunityRow; readonly billed: Billed }> = []
  for (const some of chunked(headers, looked_at_once)) {
    const billed_of = yield* billedOf(some)
    for (const header of some) {
      const billed = billed_of.get(header.id)
      if (billed !== undefined && leftToBill(billed) < 0) found.push({ header, billed })
    }
  }
  const shown = found
    .toSorted((one, other) => other.header.id - one.header.id)
    .slice((page - 1) * per_page, page * per_page)
  const customers = yield* Store.byId(
    members,
    shown.map(({ header }) => header.member_id)
  )
  return {
    total: found.length,
    drafts: shown.map(({ billed, header }) => ({
      number: header.number,
      subject: header.subject,
      member_name: customers.get(header.member_id ?? 0)?.name ?? null,
      beyond_total: formatMoney(-leftToBill(billed), header.currency_code),
      billed_total: formatMoney(billedTotal(billed), header.currency_code),
      currency_code: header.currency_code,
      opportunity_id: header.id,
      member_id: header.member_id,
      store_id: header.store_id
    }))
  }
})

/** Ids of opportunities that charges on invoices may bill beyond: deductions and credits are not counted. One query. */
const billedBeyond = Effect.fnUntraced(function* (where: {
  readonly member_id: number | null
  readonly store_id: number | null
}): Store.Reads<ReadonlyArray<number>> {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const of = (["member_id", "store_id"] as const).map((column) =>
    where[column] === null ? "" : ` and o.${column} = ${bind(where[column])}`
  )
  const rows = yield* store.run<{ id: number | string }>(
    "select o.id from opportunities o left join opportunity_versions v on v.id = o.active_version_id " +
      "join invoices i on i.opportunity_id = o.id and i.type = 'standard' and i.deleted_at is null " +
      `and i.status in (${standing_statuses.map((status) => `'${status}'`).join(", ")}) ` +
      "join invoice_items r on r.invoice_id = i.id and r.deposit_invoice_id is null " +
      `where o.invoiced and o.deleted_at is null${of.join("")} ` +
      "group by o.id, o.currency_code, o.charge_excluding_tax_total, v.charge_excluding_tax_total " +
      "having sum(case when r.subtotal > 0 then r.subtotal else 0 end) > " +
      "coalesce(v.charge_excluding_tax_total, o.charge_excluding_tax_total) " +
      "or max(case when i.currency_code <> o.currency_code then 1 else 0 end) = 1",
    values
  )
  return rows.map(({ id }) => Number(id))
})

interface DraftFacts {
  readonly draft: Draft | undefined
  /** Facts of each invoice with rows to credit. */
  readonly credits: ReadonlyArray<CreditFacts>
}
/** Facts for issuing the draft; writers of the opportunity's invoices wait for each other. */
export const draftFacts = Effect.fnUntraced(function* (header: OpportunityRow) {
  const of = { opportunity_id: header.id, type: "standard" as const, status: [...standing_statuses], deleted_at: null }
  const standing = yield* Store.find(invoices, of, { order: ["id"] })
  yield* lockStreams(standing.map(({ id }) => invoiceStream(id)))
  const draft = yield* draftOf(header)
  const ids = [...new Set((draft?.rows ?? []).map(({ invoice }) => invoice.id))]
  const invoice_id = { invoice_id: ids }
  const items = ids.length === 0 ? [] : yield* Store.find(invoice_items, invoice_id, { order: ["sort_order", "id"] })
  const credited = ids.length === 0 ? [] : yield* Store.find(credit_note_items, invoice_id, { order: ["id"] })
  const facts: DraftFacts = {
    draft,
    credits: (yield* Store.getMany(invoices, ids)).map((invoice) => ({
      invoice,
      items: items.filter((item) => item.invoice_id === invoice.id),
      credited: credited.filter((row) => row.invoice_id === invoice.id),
      deducted_by: []
    }))
  }
  return facts
})

interface DraftIssued {
  readonly id: number
  readonly credit_note_ids: ReadonlyArray<number>
}
/** Issues the draft: one credit note for each invoice. 422 on `items` if nothing is billed beyond the total. */
export const issueDraft = (
  header: OpportunityRow,
  { credits, draft }: DraftFacts,
  sent: Pick<CreditInput, "reason" | "notes" | "issued_at">,
  context: DecideContext
): Decided<DraftIssued> =>
  Result.gen(function* () {
    if (draft === undefined || draft.rows.length === 0)
      return yield* reject(
        "items",
        `Nothing is billed beyond the total${draft === undefined ? "" : `: ${billedText(draft.billed)}`}.`
      )
    const events: Array<NewEvent> = []
    const credit_note_ids: Array<number> = []
    for (const facts of credits) {
      const items = draft.rows
        .filter(({ invoice }) => invoice.id === facts.invoice.id)
        .map(({ item, net }) => ({ invoice_item_id: item.id, amount: net }))
      const issued = yield* issueCreditNote(facts, { ...sent, items }, context)
      events.push(...issued.events)
      credit_note_ids.push(issued.result.credit_note_id)
    }
    return { events, result: { id: header.id, credit_note_ids } }
  })
