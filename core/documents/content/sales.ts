/** Quotations and order confirmations (rules/billing 3). */
import { Effect } from "effect"
import { taxSummary } from "../../billing/state/amounts.ts"
import { paperOptions } from "../../billing/paper/document.ts"
import type { PaperOptions, Parties } from "../../billing/paper/letter.ts"
import { dayText, frame, head, pairs, shownMoney, taxRows, text, windowText } from "../../billing/paper/letter.ts"
import { wordsOf } from "../../billing/paper/words.ts"
import { Store, type Settings } from "../../kernel/index.ts"
import {
  isAbandoned,
  opportunities,
  type OpportunityRow,
  statusNameOf
} from "../../orders/opportunities/tables/index.ts"
import type { Block, PrintDocument } from "../../pricing/print/blocks.ts"
import { momentText, quantityText } from "../../pricing/print/format.ts"
import { chargeableDays } from "../../pricing/pricing/line.ts"
import { brandOf, branded, fragmentsOf, mail_places, text_places } from "../brand.ts"
import { companyGroup, dataOf, documentGroup, type FieldGroup, memberGroup } from "./shared-fields.ts"
import { pricedJobGroup, rowGroup, storeGroup } from "./shared-fields.ts"
import { letterWordsOf, plainMail } from "./words.ts"
import { salesFacts, type SalesFacts, type SalesRow, salesRows, salesTable, showsGross } from "./sales-table.ts"
import type { DocumentSource, PreparedDocument } from "./invoices.ts"
import { withValues } from "../../values/text.ts"
import { plusDays } from "../../values/time.ts"

interface SalesPaper extends SalesFacts {
  readonly rows: ReadonlyArray<SalesRow>
}
export const salesGroups: ReadonlyArray<FieldGroup<SalesPaper>> = [
  documentGroup,
  pricedJobGroup,
  memberGroup,
  storeGroup,
  companyGroup,
  rowGroup<SalesPaper, SalesRow>(
    { key: "items", label: "Lines and costs", one: "item" },
    ({ rows }) => rows.filter(({ figures }) => figures !== null),
    {
      product_name: ["Name", "string", ({ name }) => name],
      description: ["Description", "string", ({ note }) => note],
      quantity: ["Quantity", "number", ({ figures }) => figures?.quantity],
      unit_charge: ["Price", "currency", ({ figures }) => figures?.price],
      discount: ["Discount in percent", "number", ({ figures }) => figures?.discount_percent],
      tax_rate: ["Tax in percent", "number", ({ figures }) => figures?.tax_rate],
      total_charge: ["Net", "currency", ({ figures }) => figures?.net],
      is_optional: ["Optional", "boolean", ({ is_optional }) => is_optional]
    }
  )
]

export const prepareSales = Effect.fnUntraced(function* (
  source: DocumentSource,
  settings: Settings
): Store.Reads<PreparedDocument | undefined> {
  const header = yield* Store.get(opportunities, source.documentable_id)
  if (header === undefined || header.deleted_at !== null) return undefined
  const store_id = source.store_id ?? header.store_id
  // The terms in the settings apply to invoices, so quotations and orders omit them.
  const plain = { ...(yield* paperOptions({ member_id: header.member_id, store_id }, settings)), terms: null }
  const brand = yield* brandOf(source.document_type, store_id, settings)
  const facts = yield* salesFacts(source, header, settings)
  const rows = salesRows(facts, plain)
  const paper: SalesPaper = { ...facts, rows, rental_days: daysCharged(header, rows) || facts.rental_days }
  const written = { language: plain.language, zone: plain.zone, currency: header.currency_code }
  return {
    fragments: fragmentsOf(brand, text_places),
    data: dataOf(salesGroups, paper, written),
    compose: (filled) => salesDocument(paper, branded(plain, brand, filled)),
    mail: {
      fragments: fragmentsOf(brand, mail_places),
      plain: plainMail(
        {
          document: headingOf(paper, plain.language),
          name: paper.buyer.name,
          sender: paper.seller.name,
          subject: header.subject
        },
        plain.language
      )
    },
    file_name: [source.document_type, source.document_number ?? `order-${header.number ?? header.id}`]
      .join("-")
      .replace(/[^a-z0-9.-]+/gi, "-")
  }
})

const isQuotation = ({ source }: SalesPaper): boolean => source.document_type === "quotation"
const headingOf = (paper: SalesPaper, language: string): string => {
  const words = letterWordsOf(language)
  const kind = isQuotation(paper) ? words.quotation : words.order_confirmation
  return `${kind} ${paper.source.document_number ?? paper.header.number ?? `(${words.pending})`}`
}

export const salesDocument = (paper: SalesPaper, options: PaperOptions): PrintDocument => {
  const { header, rows, source } = paper
  const parties: Parties = { seller: paper.seller, buyer: paper.buyer, options }
  const heading = headingOf(paper, options.language)
  return {
    ...frame(parties, heading, source.now),
    // Lost or cancelled quotations can be neither accepted nor confirmed.
    ...(isAbandoned(statusNameOf(header)) ? { watermark: "VOID" as const } : {}),
    blocks: [
      head(parties, headRows(paper, options)),
      { kind: "heading", level: 1, text: heading },
      ...text(header.subject, true),
      ...text(header.external_description),
      ...text(options.intro),
      ...placesBlock(paper, options),
      salesTable(rows, header, showsGross(header), options),
      totalsBlock(paper, options),
      ...text(options.terms, false, true),
      ...(isQuotation(paper) ? acceptance(paper, options) : [])
    ]
  }
}

/**
 * Days that lines for the whole hire are charged: the hire's whole days, or one more, as rates may count. "" if lines
 * differ, or if none is charged by the day and the hire is no whole number of days.
 */
const daysCharged = (header: OpportunityRow, rows: ReadonlyArray<SalesRow>): string => {
  const { ends_at, starts_at } = header
  const whole = chargeableDays(header, header)
  const full = chargeableDays(header, { use_chargeable_days: false, chargeable_days: null })
  const is_longer = starts_at !== null && ends_at !== null && plusDays(starts_at, full) < ends_at
  const charged = new Set(
    rows
      .filter(({ takes_whole_hire }) => takes_whole_hire)
      .map(({ figures }) => Number(figures?.periods))
      .filter((periods) => periods === whole || periods === full + 1)
  )
  const [days = whole] = charged
  return charged.size > 1 || (charged.size === 0 && is_longer && whole === full) ? "" : String(days)
}

const headRows = ({ buyer, header, rows, source, version }: SalesPaper, options: PaperOptions) => {
  const words = wordsOf(options.language)
  const own = letterWordsOf(options.language)
  const days = daysCharged(header, rows)
  const window = windowText(
    { starts_at: header.charge_starts_at ?? header.starts_at, ends_at: header.charge_ends_at ?? header.ends_at },
    options
  )
  return pairs([
    [words.number, source.document_number],
    [words.date, dayText(source.now, options)],
    [own.valid_until, source.document_type === "quotation" ? dayText(header.quote_invalid_at, options) : null],
    [words.customer_number, buyer.account_number],
    [words.your_tax_number, buyer.tax_number],
    [words.reference, header.reference],
    [words.order, header.number],
    [
      own.version,
      version === undefined ? null : [String(version.version_number), version.label].filter(Boolean).join(" · ")
    ],
    [words.hire, window],
    [own.days, window === "" || days === "" ? null : quantityText(days, options.language)]
  ])
}

/** Place and time of delivery, and how the equipment comes back. */
const placesBlock = (paper: SalesPaper, options: PaperOptions): ReadonlyArray<Block> => {
  const { collection, delivery, header, venue } = paper
  const words = letterWordsOf(options.language)
  const between = (from: string | null, to: string | null): string =>
    [
      ...new Set(
        [from, to].flatMap((at) => (at === null ? [] : [momentText(at, options.zone, options.language, "long")]))
      )
    ].join(" – ")
  const block = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<Block> => {
    const said = lines.filter((line) => line.trim() !== "")
    return said.length === 0
      ? []
      : [{ kind: "paragraph", runs: [{ text: title, bold: true }, { text: said.map((line) => `\n${line}`).join("") }] }]
  }
  const out = block(words.delivery, [
    between(header.deliver_starts_at, header.deliver_ends_at),
    ...(header.customer_collecting ? [words.you_collect] : [venue ?? "", ...delivery]),
    header.delivery_instructions ?? ""
  ])
  const back = block(words.collection, [
    between(header.collect_starts_at, header.collect_ends_at),
    ...(header.customer_returning ? [words.you_return] : [venue ?? "", ...collection]),
    header.collection_instructions ?? ""
  ])
  if (out.length + back.length === 0) return []
  return [
    {
      kind: "columns",
      columns: [
        { share: 1, blocks: out },
        { share: 1, blocks: back }
      ]
    }
  ]
}

const totalsBlock = (paper: SalesPaper, options: PaperOptions): Block => {
  const { billed, deposits, header, totals } = paper
  const words = wordsOf(options.language)
  const own = letterWordsOf(options.language)
  const money = (minor: number): string => shownMoney(minor, header.currency_code, options)
  const rules = header.applied_discounts.reduce((sum, { amount }) => sum + Number(amount), 0)
  const list = listPrice(header)
  const gross = totals.net + totals.tax
  const taken = deposits.map(({ credited, invoice }) => ({
    label: withValues(words.deposit_invoiced, {
      number: invoice.number ?? "",
      date: dayText(invoice.issued_at, options) ?? ""
    }),
    amount: invoice.total + credited.reduce((sum, row) => sum + row.gross, 0)
  }))
  return {
    kind: "totals",
    rows: [
      ...(header.deal_total === null || list === totals.net ? [] : [{ label: own.list_price, value: money(list) }]),
      { label: header.deal_total === null ? words.subtotal : own.agreed, value: money(totals.net) },
      ...(rules === 0 || header.deal_total !== null ? [] : [{ label: own.rule_discounts, value: money(rules) }]),
      ...taxRows(taxSummary(billed), words, money, options),
      { label: words.total, value: money(gross), strong: true },
      ...taken.map(({ amount, label }) => ({ label, value: money(0 - amount) })),
      ...(taken.length === 0
        ? []
        : [
            {
              label: own.remaining,
              value: money(taken.reduce((left, { amount }) => left - amount, gross)),
              strong: true
            }
          ])
    ]
  }
}
/** Net of lines and costs before the deal price. */
const listPrice = (header: SalesPaper["header"]): number =>
  header.rental_charge_total +
  header.sale_charge_total +
  header.service_charge_total +
  header.sub_rental_charge_total +
  header.transit_charge_total +
  header.loss_damage_charge_total

/** Signature line for paper; public pages have a form instead. */
const acceptance = (paper: SalesPaper, options: PaperOptions): ReadonlyArray<Block> => {
  const words = letterWordsOf(options.language)
  const { header, totals } = paper
  const accepted = withValues(words.accept_text, {
    document: headingOf(paper, options.language),
    amount: shownMoney(totals.net + totals.tax, header.currency_code, options)
  })
  return [
    {
      kind: "together",
      blocks: [
        { kind: "heading", level: 2, text: words.acceptance },
        { kind: "paragraph", runs: [{ text: accepted }] },
        { kind: "signature", label: words.accepted_by }
      ]
    }
  ]
}
