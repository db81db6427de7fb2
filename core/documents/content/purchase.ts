/** Purchase orders for the supplier (rules/billing 2, 3). */
import { Effect } from "effect"
import { paperOptions } from "../../billing/paper/document.ts"
import type { PaperOptions, Parties } from "../../billing/paper/letter.ts"
import {
  addressLines,
  dayText,
  frame,
  head,
  hireOf,
  pairs,
  shown_left_to_right,
  shownMoney,
  text,
  windowText
} from "../../billing/paper/letter.ts"
import { wordsOf } from "../../billing/paper/words.ts"
import { buyerOf, nobody, sellerOf } from "../../billing/state/parties.ts"
import type { NamedParty } from "../../billing/state/tables.ts"
import { settingText, Store, type Settings } from "../../kernel/index.ts"
import type { PurchaseOrderItemRow, PurchaseOrderRow } from "../../purchasing/schema.ts"
import {
  purchase_order_items,
  purchase_order_statuses,
  purchase_order_types,
  purchase_orders
} from "../../purchasing/schema.ts"
import { type Block, type Column, plain as run, type PrintDocument, type Table } from "../../pricing/print/blocks.ts"
import { percentText, quantityText } from "../../pricing/print/format.ts"
import { type StoreRow, stores } from "../../setup/stores.ts"
import { compareDecimals } from "../../values/decimal.ts"
import { brandOf, branded, fragmentsOf, mail_places, text_places } from "../brand.ts"
import type { CommonFacts, FieldGroup } from "./shared-fields.ts"
import { companyGroup, dataOf, documentGroup, group, rowGroup, storeGroup } from "./shared-fields.ts"
import { letterWordsOf, plainMail } from "./words.ts"
import type { DocumentSource, PreparedDocument } from "./invoices.ts"
import { withValues } from "../../values/text.ts"

interface PurchasePaper extends CommonFacts {
  readonly source: DocumentSource
  readonly order: PurchaseOrderRow
  readonly items: ReadonlyArray<PurchaseOrderItemRow>
  readonly supplier: NamedParty
  /** Store to deliver to; undefined if it is gone. */
  readonly place: StoreRow | undefined
}
const placeLines = (place: StoreRow | undefined): ReadonlyArray<string> =>
  place === undefined ? [] : [place.name, ...addressLines(place)]

export const purchaseGroups: ReadonlyArray<FieldGroup<PurchasePaper>> = [
  documentGroup,
  group<PurchasePaper>("purchase_order", "Purchase order", {
    number: ["Number", "string", ({ order }) => order.number],
    type: ["Kind", "string", ({ order }) => purchase_order_types[order.po_type]],
    subject: ["Subject", "string", ({ order }) => order.subject],
    reference: ["Supplier's reference", "string", ({ order }) => order.reference],
    expected_at: ["Expected", "date", ({ order }) => order.expected_at],
    starts_at: ["First day of hire", "date", ({ order }) => order.starts_at],
    ends_at: ["Last day of hire", "date", ({ order }) => order.ends_at],
    delivery_address: ["Delivery address", "string", ({ place }) => placeLines(place).join(", ")],
    delivery_instructions: ["Delivery instructions", "string", ({ order }) => order.delivery_instructions],
    subtotal: ["Net", "currency", ({ order }) => order.subtotal],
    tax_total: ["Tax", "currency", ({ order }) => order.tax_total],
    total: ["Total", "currency", ({ order }) => order.total],
    // Kind code, as in the API (rules/billing 2.2).
    po_type: ["Kind code", "string", ({ order }) => order.po_type],
    po_type_name: ["Kind, in English", "string", ({ order }) => purchase_order_types[order.po_type]],
    status: ["Status code", "string", ({ order }) => order.status],
    status_name: ["Status", "string", ({ order }) => purchase_order_statuses[order.status]],
    currency_code: ["Currency", "string", ({ order }) => order.currency_code],
    exchange_rate: ["Exchange rate", "number", ({ order }) => order.exchange_rate],
    notes: ["Notes", "string", ({ order }) => order.notes],
    cancellation_reason: ["Reason for cancelling", "string", ({ order }) => order.cancellation_reason],
    sent_at: ["Sent on", "date", ({ order }) => order.sent_at],
    received_at: ["Received on", "date", ({ order }) => order.received_at],
    returned_at: ["Given back on", "date", ({ order }) => order.returned_at],
    cancelled_at: ["Cancelled on", "date", ({ order }) => order.cancelled_at],
    created_at: ["Made on", "date", ({ order }) => order.created_at],
    updated_at: ["Changed on", "date", ({ order }) => order.updated_at]
  }),
  group<PurchasePaper>("supplier", "Supplier", {
    name: ["Name", "string", ({ supplier }) => supplier.name],
    email: ["E-mail", "string", ({ supplier }) => supplier.email],
    phone: ["Phone", "string", ({ supplier }) => supplier.phone],
    address: ["Address", "string", ({ supplier }) => addressLines(supplier).join(", ")],
    vat_number: ["Tax number", "string", ({ supplier }) => supplier.tax_number],
    account_number: ["Supplier number", "string", ({ supplier }) => supplier.account_number]
  }),
  storeGroup,
  companyGroup,
  rowGroup<PurchasePaper, PurchaseOrderItemRow>({ key: "items", label: "Lines", one: "item" }, ({ items }) => items, {
    product_name: ["Name", "string", ({ name }) => name],
    description: ["Description", "string", ({ description }) => description],
    quantity: ["Quantity", "number", ({ quantity }) => quantity],
    unit_charge: ["Price", "currency", ({ unit_cost }) => unit_cost],
    discount: ["Discount in percent", "number", ({ discount_percent }) => discount_percent],
    tax_rate: ["Tax in percent", "number", ({ tax_rate }) => tax_rate],
    total_charge: ["Net", "currency", ({ subtotal }) => subtotal]
  })
]

export const preparePurchase = Effect.fnUntraced(function* (
  source: DocumentSource,
  settings: Settings
): Store.Reads<PreparedDocument | undefined> {
  const order = yield* Store.get(purchase_orders, source.documentable_id)
  if (order === undefined || order.deleted_at !== null) return undefined
  const store_id = source.store_id ?? order.store_id
  // The terms in the settings apply to customers, so purchase orders omit them.
  const plain = {
    ...(yield* paperOptions({ member_id: order.supplier_id, store_id: order.store_id }, settings)),
    terms: null
  }
  const brand = yield* brandOf(source.document_type, store_id, settings)
  const supplier: NamedParty | null = yield* buyerOf(order.supplier_id)
  const paper: PurchasePaper = {
    source,
    order,
    items: yield* Store.find(purchase_order_items, { purchase_order_id: order.id }, { order: ["sort_order", "id"] }),
    supplier: supplier ?? nobody,
    seller: yield* sellerOf(store_id, settings),
    place: yield* Store.get(stores, order.store_id),
    website: settingText(settings, "company", "website") || null,
    document: {
      number: source.document_number,
      date: order.sent_at ?? source.now,
      due_date: order.expected_at,
      terms: settingText(settings, "invoicing", "terms").trim() || null,
      notes: order.notes
    }
  }
  const written = { language: plain.language, zone: plain.zone, currency: order.currency_code }
  return {
    fragments: fragmentsOf(brand, text_places),
    data: dataOf(purchaseGroups, paper, written),
    compose: (filled) => purchaseDocument(paper, branded(plain, brand, filled)),
    mail: {
      fragments: fragmentsOf(brand, mail_places),
      plain: plainMail(
        {
          document: headingOf(order, plain.language),
          name: paper.supplier.name,
          sender: paper.seller.name,
          subject: order.subject ?? ""
        },
        plain.language
      )
    },
    file_name: `purchase-order-${(order.number ?? `pending-${order.id}`).replace(/[^\w.-]+/g, "-")}`
  }
})

const headingOf = ({ number }: PurchaseOrderRow, language: string): string => {
  const words = letterWordsOf(language)
  return `${words.purchase_order} ${number ?? `(${words.pending})`}`
}

export const purchaseDocument = (paper: PurchasePaper, options: PaperOptions): PrintDocument => {
  const { items, order, place, seller, source, supplier } = paper
  const words = wordsOf(options.language)
  const own = letterWordsOf(options.language)
  const parties: Parties = { seller, buyer: supplier, options }
  const heading = headingOf(order, options.language)
  const hire = hireOf([order]) ?? hireOf(items)
  const deliver = [...placeLines(place), order.delivery_instructions ?? ""].filter((line) => line.trim() !== "")
  return {
    ...frame(parties, heading, order.sent_at ?? source.now),
    ...(order.status === "draft"
      ? { watermark: "DRAFT" as const }
      : order.status === "cancelled"
        ? { watermark: "VOID" as const }
        : {}),
    blocks: [
      head(
        parties,
        pairs([
          [words.number, order.number],
          [words.date, dayText(order.sent_at ?? source.now, options)],
          [words.reference, order.reference],
          [own.expected, dayText(order.expected_at, options)],
          [own.hire_window, hire === undefined ? null : windowText(hire, options)]
        ])
      ),
      { kind: "heading", level: 1, text: heading },
      ...text(order.subject, true),
      ...text(options.intro),
      ...(deliver.length === 0
        ? []
        : [
            {
              kind: "paragraph" as const,
              runs: [{ text: own.deliver_to, bold: true }, { text: deliver.map((line) => `\n${line}`).join("") }]
            }
          ]),
      linesOf(paper, hire, options),
      totalsOf(paper, options),
      ...text(order.notes),
      ...text(options.terms, false, true)
    ]
  }
}

const linesOf = (
  { items, order }: PurchasePaper,
  hire: Pick<PurchaseOrderItemRow, "starts_at" | "ends_at"> | undefined,
  options: PaperOptions
): Table => {
  const { language } = options
  const words = wordsOf(language)
  const money = (minor: number): string => shownMoney(minor, order.currency_code, options)
  const is_discounted = items.some(({ discount_percent }) => Number(discount_percent ?? 0) !== 0)
  const ends = (title: string, share: number): Column => ({ title, share, alignment: "end" })
  const ownWindow = (item: PurchaseOrderItemRow): string => {
    const own = { starts_at: item.starts_at ?? order.starts_at, ends_at: item.ends_at ?? order.ends_at }
    const is_common = hire === undefined || (own.starts_at === hire.starts_at && own.ends_at === hire.ends_at)
    return is_common ? "" : shown_left_to_right + windowText(own, options)
  }
  return {
    kind: "table",
    caption: words.description,
    striped: true,
    columns: [
      { title: words.description, share: 5 },
      ends(words.quantity, 1),
      ends(words.unit_price, 1.7),
      ...(is_discounted ? [ends(words.discount, 1.1)] : []),
      ends(words.tax, 0.9),
      ends(words.net, 1.8)
    ],
    rows: items.map((item) => {
      const note = [item.description, ownWindow(item)].filter((line) => line).join("\n")
      const percent = Number(item.discount_percent ?? 0) === 0 ? "" : percentText(item.discount_percent ?? "", language)
      const figures = [
        quantityText(item.quantity, language),
        money(item.unit_cost),
        ...(is_discounted ? [percent] : []),
        item.tax_rate === null ? "" : percentText(item.tax_rate, language),
        money(item.subtotal)
      ]
      return {
        kind: "row",
        cells: [
          { runs: run(item.name), ...(note === "" ? {} : { note }) },
          ...figures.map((shown) => ({ runs: run(shown) }))
        ]
      }
    })
  }
}

const totalsOf = ({ items, order }: PurchasePaper, options: PaperOptions): Block => {
  const { language } = options
  const words = wordsOf(language)
  const money = (minor: number): string => shownMoney(minor, order.currency_code, options)
  const taxes = [...Map.groupBy(items, ({ tax_rate }) => tax_rate ?? "0.0000")]
    .map(([rate, of_rate]) => ({
      rate,
      net: of_rate.reduce((sum, { subtotal }) => sum + subtotal, 0),
      tax: of_rate.reduce((sum, { tax_total }) => sum + tax_total, 0)
    }))
    .toSorted((a, b) => compareDecimals(b.rate, a.rate))
  const adds_up = taxes.reduce((sum, { tax }) => sum + tax, 0) === order.tax_total
  return {
    kind: "totals",
    rows: [
      { label: words.subtotal, value: money(order.subtotal) },
      ...(adds_up
        ? taxes.map(({ net, rate, tax }) => ({
            label: `${words.tax} ${percentText(rate, language)} ${withValues(words.on, { net: money(net) })}`,
            value: money(tax)
          }))
        : [{ label: words.tax, value: money(order.tax_total) }]),
      { label: words.total, value: money(order.total), strong: true }
    ]
  }
}
