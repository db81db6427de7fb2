/** Invoices and credit notes to draw: of any length, in several currencies and scripts. */
import type { CreditNotePaper, InvoicePaper } from "../../../../core/billing/paper/document.ts"
import type { PaperOptions } from "../../../../core/billing/paper/letter.ts"
import type {
  CreditNoteItemRow,
  CreditNoteRow,
  InvoiceItemRow,
  InvoiceRow,
  NamedParty
} from "../../../../core/billing/state/tables.ts"
import type { Block } from "../../../../core/pricing/print/blocks.ts"
import { percentOfMoney, scaleOf } from "../../../../core/values/money.ts"

export interface Sample {
  readonly lines: number
  readonly currency: string
  readonly language: string
  readonly buyer?: string
  readonly with_discount?: boolean
  readonly with_deposit?: boolean
  readonly invoice?: Partial<InvoiceRow>
  readonly options?: Partial<PaperOptions>
}
const at = "2026-11-22T09:30:00.000Z"
export const seller: NamedParty = {
  name: "Northlight Rental GmbH",
  street: "Hafenstraße 12",
  city: "Hamburg",
  county: null,
  postcode: "20457",
  country_code: "DE",
  tax_number: "DE123456789",
  registration_number: "HRB 12345",
  peppol_id: null,
  email: "office@northlight.example",
  phone: "+49 40 123456",
  account_number: null
}
export const buyerOf = (name: string): NamedParty => ({
  ...seller,
  name,
  street: "12 Example Street",
  city: "Kuwait City",
  postcode: "13001",
  country_code: "KW",
  tax_number: "KW-778812",
  registration_number: null,
  account_number: "C-10042"
})
export const options: PaperOptions = {
  language: "en-GB",
  zone: "Europe/Berlin",
  base_currency: "EUR",
  page_size: "A4",
  accent: "#1f4e79",
  intro: null,
  terms: "Equipment remains our property. Damage and loss are charged at the price of a new piece.",
  footer: null,
  account_holder: null,
  bank_name: "Testbank Hamburg",
  iban: "DE02120300000000202051",
  bic: "BYLADEM1001",
  payment_link: "https://pay.example/?ref={number}&amount={amount}&currency={currency}",
  logo_sha256: null
}

/** Product names as rental companies write them, in scripts that documents must render. */
export const sample_goods = [
  ["Robe MegaPointe", "Moving head, 470 W, in twin flight case"],
  ["d&b V8 loudspeaker", null],
  ["Chain hoist 500 kg, D8+", "Chain bag, control cable 20 m"],
  ["Φωτιστικό σποτ PAR 64", null],
  ["Прожектор следящий 2500 Вт", "С подставкой и фильтрами"],
  ["شركة الأضواء للفعاليات", "اسم عربي مع رقم 250 وكلمة LED في الوسط"],
  ["Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaftskabelbrücke", null]
] as const

export const invoiceSample = (sample: Sample): InvoicePaper => {
  const { currency, lines, with_deposit = false, with_discount = false } = sample
  const unit = 10 ** scaleOf(currency)
  const items: Array<InvoiceItemRow> = []
  const add = (more: Partial<InvoiceItemRow>, quantity: number, price: number, percent: number): void => {
    const gross = quantity * price
    const discount = percent === 0 ? 0 : percentOfMoney(gross, percent)
    const subtotal = gross - discount
    const tax = percentOfMoney(subtotal, 19)
    const row: InvoiceItemRow = {
      id: items.length + 1,
      invoice_id: 7,
      opportunity_item_id: null,
      opportunity_cost_id: null,
      product_id: null,
      item_type: "product",
      name: "",
      description: null,
      quantity: `${quantity}.00`,
      unit_price: price,
      discount_percent: percent === 0 ? null : `${percent}.00`,
      discount_amount: discount,
      subtotal,
      tax_class_id: 1,
      tax_rate_id: 1,
      tax_rate_name: "VAT",
      tax_rate: "19.0000",
      tax_total: tax,
      total: subtotal + tax,
      revenue_group_id: null,
      starts_at: "2026-12-01T08:00:00.000Z",
      ends_at: "2026-12-04T17:00:00.000Z",
      sort_order: items.length,
      deposit_invoice_id: null,
      currency_code: currency,
      created_at: at,
      updated_at: at,
      deleted_at: null,
      ...more
    }
    items.push(row)
  }
  for (let n = 0; n < lines; n++) {
    const [name, description] = sample_goods[n % sample_goods.length] ?? ["Lamp", null]
    const later = n % 9 === 8 ? { ends_at: "2026-12-06T17:00:00.000Z" } : {}
    const price = unit * (12 + ((n * 37) % 900)) + (unit === 1 ? 0 : (n * 5) % 100)
    add({ name, description, ...later }, 1 + ((n * 7) % 24), price, with_discount && n % 3 === 0 ? 10 : 0)
  }
  if (with_deposit)
    add(
      {
        name: "Deposit 0000000003 of 2026-11-02",
        item_type: "custom",
        deposit_invoice_id: 3,
        starts_at: null,
        ends_at: null
      },
      1,
      -100 * unit,
      0
    )
  const subtotal = items.reduce((sum, row) => sum + row.subtotal, 0)
  const tax_total = items.reduce((sum, row) => sum + row.tax_total, 0)
  const total = subtotal + tax_total
  return {
    invoice: {
      id: 7,
      number: "0000000042",
      type: "standard",
      status: "issued",
      subject: "Winter Gala",
      reference: "PO 4711",
      member_id: 5,
      store_id: 1,
      opportunity_id: 9,
      version_id: null,
      currency_code: currency,
      exchange_rate: currency === "EUR" ? "1.0000000000" : "0.9123000000",
      prices_include_tax: false,
      subtotal,
      discount_total: items.reduce((sum, row) => sum + row.discount_amount, 0),
      tax_total,
      total,
      amount_paid: 0,
      amount_credited: 0,
      amount_outstanding: total,
      tax_summary: [
        {
          tax_class_id: 1,
          tax_rate_id: 1,
          tax_rate_name: "VAT",
          rate: "19.0000",
          net: subtotal,
          tax: tax_total,
          gross: total
        }
      ],
      payment_terms_days: 30,
      notes: "Thank you for your order.",
      void_reason: null,
      custom_fields: {},
      issued_at: at,
      due_at: "2026-12-22T09:30:00.000Z",
      paid_at: null,
      voided_at: null,
      emailed_at: null,
      overdue_told_at: null,
      billed_to: null,
      billed_by: null,
      vat_reports: null,
      created_at: at,
      updated_at: at,
      deleted_at: null,
      ...sample.invoice
    },
    items,
    seller,
    buyer: buyerOf(sample.buyer ?? "Gulf Events W.L.L."),
    order: { number: "0000000815", subject: "Winter Gala" },
    period: null,
    exemptions: [],
    options: { ...options, language: sample.language, ...sample.options }
  }
}

export const creditNoteSample = (sample: Sample): CreditNotePaper => {
  const { buyer, invoice, items, options, seller } = invoiceSample(sample)
  const minus = (value: number): number => 0 - value
  const credit_note: CreditNoteRow = {
    id: 3,
    number: "0000000002",
    status: "issued",
    invoice_id: invoice.id,
    member_id: 5,
    store_id: 1,
    opportunity_id: 9,
    currency_code: invoice.currency_code,
    exchange_rate: invoice.exchange_rate,
    prices_include_tax: false,
    subtotal: minus(invoice.subtotal),
    tax_total: minus(invoice.tax_total),
    total: minus(invoice.total),
    tax_summary: invoice.tax_summary.map((row) => ({
      ...row,
      net: minus(row.net),
      tax: minus(row.tax),
      gross: minus(row.gross)
    })),
    reason: "Two lamps did not work.",
    notes: null,
    issued_at: "2026-12-10T10:00:00.000Z",
    billed_to: null,
    billed_by: null,
    created_at: at,
    updated_at: at,
    deleted_at: null
  }
  const credited = items.map((item): CreditNoteItemRow => ({
    id: item.id,
    credit_note_id: 3,
    invoice_id: invoice.id,
    invoice_item_id: item.id,
    name: item.name,
    quantity: item.quantity,
    unit_price: minus(item.unit_price),
    subtotal: minus(item.subtotal),
    tax_class_id: item.tax_class_id,
    tax_rate_id: item.tax_rate_id,
    tax_rate_name: item.tax_rate_name,
    tax_rate: item.tax_rate,
    tax_total: minus(item.tax_total),
    total: minus(item.total),
    by_amount: false,
    sort_order: item.sort_order,
    currency_code: item.currency_code,
    created_at: at,
    updated_at: at,
    deleted_at: null
  }))
  return { buyer, seller, options, credit_note, items: credited, invoice, exemptions: [] }
}

/** The blocks of a document, those in columns and groups included. */
export const flat = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> =>
  blocks.flatMap((block) =>
    block.kind === "columns"
      ? block.columns.flatMap((column) => flat(column.blocks))
      : block.kind === "together"
        ? flat(block.blocks)
        : [block]
  )
