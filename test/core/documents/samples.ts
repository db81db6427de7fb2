/** Sample quotations, order confirmations and purchase orders: of any length, in several currencies and scripts. */
import { billedRows } from "../../../core/billing/state/rows.ts"
import type { PaperOptions } from "../../../core/billing/paper/letter.ts"
import type { DocumentSource } from "../../../core/documents/content/invoices.ts"
import type { salesDocument } from "../../../core/documents/content/sales.ts"
import { salesRows } from "../../../core/documents/content/sales-table.ts"
import type { purchaseDocument } from "../../../core/documents/content/purchase.ts"
import { initialRow } from "../../../core/kernel/tables/field-schema.ts"
import { type ItemRow, opportunity_items } from "../../../core/orders/opportunities/tables/lines.ts"
import {
  type CostRow,
  opportunities,
  opportunity_costs,
  type OpportunityRow
} from "../../../core/orders/opportunities/tables/opportunities.ts"
import { exclusiveTax, inclusiveTax } from "../../../core/pricing/pricing/line.ts"
import {
  purchase_order_items,
  type PurchaseOrderItemRow,
  type PurchaseOrderRow,
  purchase_orders
} from "../../../core/purchasing/schema.ts"
import { type ProductRow, products } from "../../../core/products/products/schema.ts"
import { stores } from "../../../core/setup/stores.ts"
import { percentOfMoney, scaleOf } from "../../../core/values/money.ts"
import { buyerOf, options as invoiceOptions, sample_goods, seller } from "../billing/paper/samples.ts"

export interface SalesSample {
  readonly lines: number
  readonly currency: string
  readonly language: string
  readonly type?: "quotation" | "order_confirmation"
  readonly buyer?: string
  readonly inclusive?: boolean
  readonly header?: Partial<OpportunityRow>
  /** Whether addresses, dates and texts are left out. */
  readonly is_bare?: boolean
}
const at = "2026-11-22T09:30:00.000Z"
const stamps = { created_at: at, updated_at: at, deleted_at: null }
export const sampleOptions = (language: string, set: Partial<PaperOptions> = {}): PaperOptions => ({
  ...invoiceOptions,
  language,
  terms: null,
  ...set
})
const tax_rate = "19.0000"
const taxes = {
  rules: [
    { id: 1, organisation_tax_class_id: 1, product_tax_class_id: 1, tax_rate_id: 1, priority: 0, is_active: true }
  ],
  rates: [{ id: 1, name: "VAT", rate: tax_rate, is_active: true }],
  default_organisation_tax_class_id: 1,
  default_product_tax_class_id: 1
}
const path = (...places: ReadonlyArray<number>): string => places.map((one) => String(one).padStart(4, "0")).join("")
const sourceOf = (document_type: DocumentSource["document_type"]): DocumentSource => ({
  document_type,
  documentable_id: 7,
  store_id: null,
  document_number: "0000000012",
  now: at
})

/** Groups of ten lines; every third line has an accessory, every seventh is optional, every ninth a text. */
const linesOf = ({ currency, inclusive = false, lines: count }: SalesSample): ReadonlyArray<ItemRow> => {
  const unit = 10 ** scaleOf(currency)
  const lines: Array<ItemRow> = []
  const add = (set: Partial<ItemRow>): void => {
    lines.push({
      ...initialRow(opportunity_items),
      ...stamps,
      id: lines.length + 1,
      opportunity_id: 7,
      name: "",
      path: "",
      currency_code: currency,
      tax_rate,
      ...set
    })
  }
  const priced = (quantity: number, price: number, periods: number, percent: number): Partial<ItemRow> => {
    const before = quantity * price * periods
    const discounted_total = before - percentOfMoney(before, percent)
    return {
      quantity: `${quantity}.00`,
      unit_price: price,
      discount_percent: percent === 0 ? null : `${percent}.00`,
      discounted_total,
      total: inclusive ? inclusiveTax(discounted_total, tax_rate).net : discounted_total
    }
  }
  const groups = ["Lighting", "Sound", "Bühne & Rigging", "Φωτισμός"]
  for (let n = 0; n < count; n++) {
    const group = Math.floor(n / 10) + 1
    if (count > 10 && n % 10 === 0)
      add({ item_type: "group", name: groups[(group - 1) % 4] ?? "Group", path: path(group) })
    const own = count > 10 ? path(group, (n % 10) + 1) : path(n + 1)
    const [name, description] = sample_goods[n % sample_goods.length] ?? ["Lamp", null]
    if (n % 9 === 8) {
      add({ item_type: "text", name: "All cables and cases included.", path: own, tax_rate: null })
      continue
    }
    const price = unit * (12 + ((n * 37) % 900)) + (unit === 1 ? 0 : (n * 5) % 100)
    const is_optional = n % 7 === 6
    const fixed = priced(1 + ((n * 7) % 24), price, 3, n % 4 === 3 ? 10 : 0)
    add({ ...fixed, name, description, path: own, item_id: 1, is_optional })
    if (n % 3 === 0)
      add({
        item_type: "accessory",
        name: "Safety wire",
        path: `${own}0001`,
        quantity: "2.00",
        item_id: 1,
        is_optional
      })
  }
  return lines
}
const costsOf = ({ currency }: SalesSample): ReadonlyArray<CostRow> => {
  const unit = 10 ** scaleOf(currency)
  const cost = (id: number, set: Partial<CostRow>): CostRow => ({
    ...initialRow(opportunity_costs),
    ...stamps,
    id,
    opportunity_id: 7,
    description: "",
    currency_code: currency,
    tax_rate,
    sort_order: id,
    ...set
  })
  return [
    cost(1, { description: "Truck 12 t, return", cost_type: 0, amount: 250 * unit, quantity: "1.00" }),
    cost(2, { description: "Technician", cost_type: 1, amount: 320 * unit, quantity: "2.00" }),
    cost(3, { description: "Second technician", cost_type: 1, amount: 320 * unit, is_optional: true })
  ]
}

export const salesSample = (
  sample: SalesSample,
  options: PaperOptions = sampleOptions(sample.language)
): Parameters<typeof salesDocument>[0] => {
  const { currency, inclusive = false, is_bare = false, type = "quotation" } = sample
  const header: OpportunityRow = {
    ...initialRow(opportunities),
    ...stamps,
    id: 7,
    number: "0000000031",
    subject: "Winter Gala, Große Halle",
    state: 1,
    status: 0,
    currency_code: currency,
    prices_include_tax: inclusive,
    ...(is_bare
      ? {}
      : {
          external_description: "Light and sound for the gala in the great hall.",
          starts_at: "2026-12-01T08:00:00.000Z",
          ends_at: "2026-12-04T17:00:00.000Z",
          deliver_starts_at: "2026-12-01T08:00:00.000Z",
          deliver_ends_at: "2026-12-01T10:00:00.000Z",
          collect_starts_at: "2026-12-04T22:00:00.000Z",
          quote_invalid_at: "2026-11-30T23:00:00.000Z",
          reference: "PO 4711",
          delivery_instructions: "Gate 3, ask for Ms Weber."
        }),
    ...sample.header
  }
  const lines = linesOf(sample)
  const costs = costsOf(sample)
  const net =
    header.deal_total ??
    [
      ...lines.filter(({ is_optional }) => !is_optional).map(({ total }) => total),
      ...costs
        .filter(({ is_optional }) => !is_optional)
        .map(({ amount, quantity }) =>
          inclusive ? inclusiveTax(amount * Number(quantity), tax_rate).net : amount * Number(quantity)
        )
    ].reduce((sum, one) => sum + one, 0)
  const totals = { net, tax: exclusiveTax(net, tax_rate).tax }
  const product: ProductRow = { ...initialRow(products), ...stamps, id: 1, name: "Any", tax_class_id: 1 }
  const billed = billedRows(
    { header, lines, costs, products: new Map([[1, product]]), tax: taxes, customer_tax_class_id: 1, totals },
    { id: 0, currency_code: currency }
  )
  const place = is_bare ? [] : ["Große Halle", "Messeplatz 1", "20357 Hamburg"]
  const facts = { header, lines, costs, billed }
  return {
    ...facts,
    source: sourceOf(type),
    rows: salesRows(facts, options),
    totals,
    version: undefined,
    deposits: [],
    delivery: place,
    collection: place,
    delivery_address: place.join(", ") || null,
    venue: null,
    rental_days: "3",
    seller: is_bare ? { ...seller, street: null, city: null, postcode: null, country_code: null } : seller,
    buyer: {
      ...buyerOf(sample.buyer ?? "Veranstaltungs GmbH"),
      ...(is_bare ? { street: null, city: null, postcode: null, country_code: null, account_number: null } : {})
    },
    is_organisation: true,
    website: "https://northlight.example",
    document: {
      number: "0000000012",
      date: at,
      due_date: header.quote_invalid_at,
      terms: null,
      notes: header.external_description
    }
  }
}

export const purchaseSample = ({
  buyer = "Kabel & Co. KG",
  currency,
  lines: count,
  order: set = {}
}: {
  readonly lines: number
  readonly currency: string
  readonly buyer?: string
  readonly order?: Partial<PurchaseOrderRow>
}): Parameters<typeof purchaseDocument>[0] => {
  const unit = 10 ** scaleOf(currency)
  const items = Array.from({ length: count }, (_, n): PurchaseOrderItemRow => {
    const [name, description] = sample_goods[n % sample_goods.length] ?? ["Lamp", null]
    const quantity = 1 + ((n * 7) % 24)
    const unit_cost = unit * (3 + ((n * 31) % 200)) + (unit === 1 ? 0 : (n * 7) % 100)
    const percent = n % 5 === 4 ? 15 : 0
    const subtotal = quantity * unit_cost - percentOfMoney(quantity * unit_cost, percent)
    const tax_total = percentOfMoney(subtotal, 19)
    return {
      ...initialRow(purchase_order_items),
      ...stamps,
      id: n + 1,
      purchase_order_id: 7,
      name,
      description,
      quantity: `${quantity}.00`,
      unit_cost,
      discount_percent: percent === 0 ? null : `${percent}.00`,
      subtotal,
      tax_rate,
      tax_total,
      total: subtotal + tax_total,
      starts_at: null,
      ends_at: n % 8 === 7 ? "2026-12-06T17:00:00.000Z" : null,
      sort_order: n,
      currency_code: currency
    }
  })
  const sum = (of: (item: PurchaseOrderItemRow) => number): number => items.reduce((all, one) => all + of(one), 0)
  const order: PurchaseOrderRow = {
    ...initialRow(purchase_orders),
    ...stamps,
    id: 7,
    number: "0000000005",
    subject: "Sub-hire for the winter gala",
    status: "sent",
    sent_at: at,
    supplier_id: 3,
    store_id: 1,
    currency_code: currency,
    subtotal: sum(({ subtotal }) => subtotal),
    tax_total: sum(({ tax_total }) => tax_total),
    total: sum(({ total }) => total),
    expected_at: "2026-11-30T09:00:00.000Z",
    starts_at: "2026-12-01T08:00:00.000Z",
    ends_at: "2026-12-04T17:00:00.000Z",
    delivery_instructions: "Dock 2, 7:00 to 15:00.",
    ...set
  }
  return {
    source: sourceOf("purchase_order"),
    order,
    items,
    supplier: buyerOf(buyer),
    seller,
    place: {
      ...initialRow(stores),
      ...stamps,
      id: 1,
      name: "Main Warehouse",
      street: "Hafenstraße 12",
      city: "Hamburg",
      postcode: "20457",
      country_code: "DE"
    },
    website: null,
    document: { number: "0000000012", date: at, due_date: order.expected_at, terms: null, notes: null }
  }
}
