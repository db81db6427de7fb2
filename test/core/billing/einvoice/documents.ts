/** Sample documents for e-invoices, with calculated amounts. */
import type { Source, SourceRow } from "../../../../core/billing/einvoice/amounts.ts"
import type { NamedParty } from "../../../../core/billing/state/tables.ts"
import { allocateMoney, percentOfMoney, timesMoney, withoutPercent } from "../../../../core/values/money.ts"

export const seller: NamedParty = {
  name: "Bright & Sons Hire Ltd",
  street: "1 Dock Road\nUnit 4",
  city: "Leeds",
  county: "West Yorkshire",
  postcode: "LS1 1AA",
  country_code: "GB",
  tax_number: "GB 123 4567 89",
  registration_number: "01234567",
  peppol_id: "0088:5012345678900",
  email: "billing@bright.example",
  phone: "+44 113 496 0000",
  account_number: null
}
export const buyer: NamedParty = {
  name: "Théâtre <du> Nord",
  street: "4 Place du Général-de-Gaulle",
  city: "Lille",
  county: null,
  postcode: "59800",
  country_code: "FR",
  tax_number: "FR12345678901",
  registration_number: "123456789",
  peppol_id: "0009:12345678900012",
  email: "compta@nord.example",
  phone: null,
  account_number: "C-0042"
}
export const rates: Source["rates"] = new Map([
  [1, { name: "Standard", category: null, reason: null }],
  [2, { name: "Reduced", category: "S", reason: null }],
  [3, { name: "Zero", category: null, reason: null }],
  [4, { name: "Insurance", category: "E", reason: "Insurance is exempt: VATA 1994 schedule 9 group 2" }],
  [5, { name: "Reverse charge", category: "AE", reason: null }],
  [6, { name: "Outside the scope", category: "O", reason: null }]
])
const percents: { readonly [rate: number]: string } = {
  1: "20.0000",
  2: "5.0000",
  3: "0.0000",
  4: "0.0000",
  5: "0.0000",
  6: "0.0000"
}

export interface Sold {
  readonly name: string
  readonly quantity?: string
  /** Minor units; includes tax where prices do. */
  readonly price: number
  readonly percent?: string
  readonly rate?: number
  readonly days?: readonly [starts_at: string, ends_at: string]
  readonly description?: string
}
type Given = Partial<Omit<Source, "rows">> & { readonly sold: ReadonlyArray<Sold> }

/** An invoice with the amounts of its rows: tax is rounded once per rate and distributed over its rows. */
export const invoiceOf = ({ sold, ...given }: Given): Source => {
  const inclusive = given.prices_include_tax === true
  const rows = sold.map((one, at) => rowOf(one, at))
  const by_rate = Map.groupBy(rows, ({ tax_rate_id }) => tax_rate_id)
  const taxed = [...by_rate.values()].flatMap((group) => withTax(group, inclusive))
  const in_order = taxed.sort((one, other) => one.id - other.id)
  const sum = (of: (row: SourceRow) => number): number => in_order.reduce((total, row) => total + of(row), 0)
  const [subtotal, tax_total] = [sum((row) => row.subtotal), sum((row) => row.tax_total)]
  return {
    kind: "invoice",
    number: "0000000042",
    issued_at: "2026-03-09T16:30:00.000Z",
    due_at: "2026-04-08T16:30:00.000Z",
    currency_code: "GBP",
    exchange_rate: "1.0000000000",
    base_currency: "GBP",
    prices_include_tax: false,
    notes: ["Spring tour", null],
    reference: "PO 77 & 78",
    member_id: 12,
    preceding: [],
    hire: null,
    zone: "Europe/London",
    seller,
    buyer,
    account: { iban: "GB33BUKB20201555555555", bic: "BUKBGB22", holder: "Bright & Sons" },
    rates,
    untaxed: { name: "", category: "E", reason: null },
    ...given,
    subtotal,
    tax_total,
    total: subtotal + tax_total,
    rows: in_order
  }
}
const rowOf = (one: Sold, at: number): SourceRow => {
  const quantity = one.quantity ?? "1.00"
  const gross = Number(timesMoney(one.price, quantity))
  const discount_amount = one.percent === undefined ? 0 : percentOfMoney(gross, one.percent)
  return {
    id: at + 1,
    item_type: "custom",
    name: one.name,
    description: one.description ?? null,
    quantity,
    unit_price: one.price,
    discount_percent: one.percent ?? null,
    discount_amount,
    subtotal: gross - discount_amount,
    tax_rate_id: one.rate ?? 1,
    tax_rate: percents[one.rate ?? 1] ?? null,
    tax_total: 0,
    starts_at: one.days?.[0] ?? null,
    ends_at: one.days?.[1] ?? null
  }
}
const withTax = (rows: ReadonlyArray<SourceRow>, inclusive: boolean): ReadonlyArray<SourceRow> => {
  const percent = rows[0]?.tax_rate ?? "0"
  const entered = rows.reduce((total, { subtotal }) => total + subtotal, 0)
  const net = inclusive ? withoutPercent(entered, percent) : entered
  const tax = inclusive ? entered - net : percentOfMoney(entered, percent)
  const taxes = signedShares(tax, rows)
  return rows.map((row, at) => {
    const tax_total = taxes[at] ?? 0
    return { ...row, tax_total, subtotal: inclusive ? row.subtotal - tax_total : row.subtotal }
  })
}
/** Each row's proportional tax; negative rows get negative tax, and the last row then takes the remainder. */
const signedShares = (tax: number, rows: ReadonlyArray<SourceRow>): ReadonlyArray<number> => {
  if (rows.every(({ subtotal }) => subtotal >= 0))
    return allocateMoney(
      tax,
      rows.map(({ subtotal }) => subtotal)
    )
  const parts = rows.map((row) => percentOfMoney(row.subtotal, row.tax_rate ?? "0"))
  const left = tax - parts.reduce((total, part) => total + part, 0)
  return parts.map((part, at) => (at === parts.length - 1 ? part + left : part))
}

/** Credit note for all of an invoice: its rows with opposite signs. */
export const creditOf = (invoice: Source): Source => ({
  ...invoice,
  kind: "credit_note",
  number: "0000000007",
  issued_at: "2026-03-20T09:00:00.000Z",
  due_at: null,
  notes: ["Two lamps came late"],
  subtotal: 0 - invoice.subtotal,
  tax_total: 0 - invoice.tax_total,
  total: 0 - invoice.total,
  preceding: [{ number: invoice.number, issued_at: invoice.issued_at }],
  rows: invoice.rows.map((row) => ({
    ...row,
    unit_price: 0 - row.unit_price,
    discount_percent: null,
    discount_amount: 0,
    subtotal: 0 - row.subtotal,
    tax_total: 0 - row.tax_total
  }))
})

const march = ["2026-03-02T09:00:00.000Z", "2026-03-07T00:00:00.000Z"] as const
const tour: ReadonlyArray<Sold> = [
  { name: "Moving light", quantity: "12.00", price: 7_550, percent: "10.00", days: march },
  { name: "Haze fluid", quantity: "3.00", price: 1_999, rate: 2, description: "Water-based\n5 litres" },
  {
    name: "Technician",
    quantity: "14.50",
    price: 3_333,
    days: ["2026-03-02T09:00:00.000Z", "2026-03-03T18:00:00.000Z"]
  },
  { name: "Van", quantity: "4.00", price: 9_500 },
  { name: "Damage waiver", price: 4_500, rate: 4 },
  { name: "Children's programme", price: 800, rate: 3 }
]
const standard = invoiceOf({ sold: tour })
const deposit = invoiceOf({
  kind: "deposit",
  number: "0000000031",
  issued_at: "2026-02-01T10:00:00.000Z",
  sold: [{ name: "Deposit of 50 %", price: 50_000 }],
  hire: { starts_at: march[0], ends_at: march[1] },
  reference: null
})
export const documents: { readonly [name: string]: Source } = {
  standard,
  inclusive: invoiceOf({
    prices_include_tax: true,
    sold: [
      { name: "Tent", quantity: "3.00", price: 1_000, days: march },
      { name: "Chairs", quantity: "7.00", price: 333, percent: "5.00", days: march },
      { name: "Programme", price: 499, rate: 2 }
    ]
  }),
  deposit,
  final: invoiceOf({
    number: "0000000043",
    sold: [
      { name: "Stage", price: 120_000, days: march },
      { name: "Deposit 0000000031 of 1 February 2026", price: -50_000 }
    ],
    preceding: [{ number: deposit.number, issued_at: deposit.issued_at }]
  }),
  "credit-note": creditOf(standard),
  yen: invoiceOf({
    currency_code: "JPY",
    exchange_rate: "0.0052000000",
    sold: [
      { name: "LED wall", quantity: "1.50", price: 333_333, days: march },
      { name: "Cable", quantity: "3.00", price: 125 }
    ]
  }),
  dinar: invoiceOf({
    currency_code: "KWD",
    exchange_rate: "2.5700000000",
    sold: [{ name: "Mixer", quantity: "2.00", price: 12_500, days: march }]
  }),
  "reverse-charge": invoiceOf({
    currency_code: "EUR",
    base_currency: "EUR",
    sold: [{ name: "Truss", price: 90_000, rate: 5, days: march }]
  }),
  outside: invoiceOf({ sold: [{ name: "Damages", price: 25_000, rate: 6 }] })
}
