/** Field groups shared by several document types. */
import { dateText, moneyText, quantityText } from "../../pricing/print/format.ts"
import { formatMoney } from "../../values/money.ts"
import { dayOf } from "../../values/time.ts"
import type { NamedParty } from "../../billing/state/tables.ts"
import { addressLines } from "../../billing/paper/letter.ts"
import { statusLabelOf, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"

// Fields of document texts. A group is declared once; the list of fields (rules/billing 3), the check of texts and
// their data derive from it.

/** Type of a field's value. Dates, numbers and amounts are rendered as text; booleans serve conditions. */
type FieldType = "string" | "date" | "number" | "currency" | "boolean" | "collection"

/** Language, time zone and currency for formatting values. */
interface Written {
  readonly language: string
  readonly zone: string
  readonly currency: string
}
/** A value as stored: instant or plain date, decimal string, minor units, boolean or text. */
type Raw = string | number | boolean | null | undefined
interface Field<F> {
  readonly name: string
  readonly label: string
  readonly type: Exclude<FieldType, "collection">
  readonly of: (facts: F) => Raw
}
export interface FieldGroup<F> {
  readonly label: string
  /** Name before the dot: `member` in `member.name`. For rows, the name of a single row. */
  readonly key: string
  readonly fields: ReadonlyArray<Field<F>>
  /** Name of the list of rows, if the group is one. */
  readonly rows?: { readonly key: string; readonly label: string }
  readonly dataOf: (facts: F, written: Written) => unknown
}

type Declared<F> = {
  readonly [name: string]: readonly [label: string, type: Exclude<FieldType, "collection">, of: (facts: F) => Raw]
}
const fieldsIn = <F>(declared: Declared<F>): ReadonlyArray<Field<F>> =>
  Object.entries(declared).map(([name, [label, type, of]]) => ({ name, label, type, of }))
const valuesOf = <F>(fields: ReadonlyArray<Field<F>>, facts: F, written: Written) =>
  Object.fromEntries(fields.map(({ name, of, type }) => [name, shown(type, of(facts), written)]))

/** Declares a group of single fields. */
export const group = <F>(key: string, label: string, declared: Declared<F>): FieldGroup<F> => {
  const fields = fieldsIn(declared)
  return { key, label, fields, dataOf: (facts, written) => valuesOf(fields, facts, written) }
}
/** Declares a group of rows, such as lines. */
export const rowGroup = <F, R>(
  { key, label, one }: { readonly key: string; readonly label: string; readonly one: string },
  rowsOf: (facts: F) => ReadonlyArray<R>,
  declared: Declared<R>
): FieldGroup<F> => {
  const fields = fieldsIn(declared)
  return {
    key: one,
    label,
    // Single fields have no value here: `dataOf` reads them row by row.
    fields: fields.map(({ label: words, name, type }) => ({ name, label: words, type, of: () => null })),
    rows: { key, label },
    dataOf: (facts, written) => rowsOf(facts).map((row) => valuesOf(fields, row, written))
  }
}

const shown = (type: FieldType, raw: Raw, { currency, language, zone }: Written): string | boolean => {
  if (type === "boolean") return raw === true
  if (raw === null || raw === undefined || raw === "") return ""
  if (type === "currency") return moneyText(formatMoney(Number(raw), currency), currency, language)
  if (type === "number") return quantityText(String(raw), language)
  if (type === "date") {
    const at = String(raw)
    return dateText(at.length === 10 ? at : dayOf(Date.parse(at), zone), language)
  }
  return String(raw)
}

export interface OfferedGroup {
  readonly group: string
  readonly fields: ReadonlyArray<{ readonly name: string; readonly label: string; readonly type: FieldType }>
}
/** Paths that texts may use; row fields are below the name of the list. */
export const pathsOf = <F>(groups: ReadonlyArray<FieldGroup<F>>): ReadonlyArray<string> =>
  groups.flatMap(({ fields, key, rows }) => fields.map(({ name }) => `${rows?.key ?? key}.${name}`))
/** Data to render texts with, by group. */
export const dataOf = <F>(
  groups: ReadonlyArray<FieldGroup<F>>,
  facts: F,
  written: Written
): { readonly [group: string]: unknown } =>
  Object.fromEntries(groups.map((one) => [one.rows?.key ?? one.key, one.dataOf(facts, written)]))

/** Facts for the fields that every document has. */
export interface CommonFacts {
  readonly document: {
    /** Null until numbered by a server. */
    readonly number: string | null
    readonly date: string
    /** Due, expiry or delivery date. */
    readonly due_date: string | null
    /** Terms from the settings. */
    readonly terms: string | null
    readonly notes: string | null
  }
  /** The company as named on the document. */
  readonly seller: NamedParty
  readonly website: string | null
}
export const documentGroup: FieldGroup<CommonFacts> = group("document", "Document", {
  number: ["Number", "string", ({ document }) => document.number],
  date: ["Date", "date", ({ document }) => document.date],
  due_date: ["Due, valid until or expected", "date", ({ document }) => document.due_date],
  terms: ["Terms of the settings", "string", ({ document }) => document.terms],
  notes: ["Notes", "string", ({ document }) => document.notes]
})
const addressOf = (party: NamedParty): string => addressLines(party).join(", ")
export const storeGroup: FieldGroup<CommonFacts> = group("store", "Store", {
  name: ["Name", "string", ({ seller }) => seller.name],
  address: ["Address", "string", ({ seller }) => addressOf(seller)],
  phone: ["Phone", "string", ({ seller }) => seller.phone],
  email: ["E-mail", "string", ({ seller }) => seller.email],
  vat_number: ["Tax number", "string", ({ seller }) => seller.tax_number],
  company_number: ["Registration number", "string", ({ seller }) => seller.registration_number],
  website: ["Website", "string", ({ website }) => website]
})
/** The company, for texts in the settings. */
export const companyGroup: FieldGroup<CommonFacts> = group("company", "Company", {
  name: ["Name", "string", ({ seller }) => seller.name]
})

export interface CustomerFacts {
  readonly buyer: NamedParty
  readonly is_organisation: boolean
  readonly delivery_address: string | null
}
export const memberGroup: FieldGroup<CustomerFacts> = group("member", "Customer", {
  company_name: ["Company", "string", ({ buyer, is_organisation }) => (is_organisation ? buyer.name : "")],
  name: ["Name", "string", ({ buyer }) => buyer.name],
  email: ["E-mail", "string", ({ buyer }) => buyer.email],
  phone: ["Phone", "string", ({ buyer }) => buyer.phone],
  billing_address: ["Address for bills", "string", ({ buyer }) => addressOf(buyer)],
  delivery_address: ["Delivery address", "string", ({ delivery_address }) => delivery_address],
  vat_number: ["Tax number", "string", ({ buyer }) => buyer.tax_number],
  account_number: ["Customer number", "string", ({ buyer }) => buyer.account_number]
})

interface JobFacts {
  readonly header: OpportunityRow
  readonly venue: string | null
  /** Chargeable days of the hire; of a quotation or order those that lines are charged, empty where they differ. */
  readonly rental_days: string
}
/** Fields of a job without prices. */
const job = {
  number: ["Number", "string", ({ header }: JobFacts) => header.number],
  subject: ["Subject", "string", ({ header }: JobFacts) => header.subject],
  reference: ["Customer's reference", "string", ({ header }: JobFacts) => header.reference],
  status: ["Status", "string", ({ header }: JobFacts) => statusLabelOf(header)],
  starts_at: ["First day", "date", ({ header }: JobFacts) => header.starts_at],
  ends_at: ["Last day", "date", ({ header }: JobFacts) => header.ends_at],
  rental_days: ["Days of hire", "number", ({ rental_days }: JobFacts) => rental_days],
  description: ["Description for the customer", "string", ({ header }: JobFacts) => header.external_description],
  venue: ["Venue", "string", ({ venue }: JobFacts) => venue],
  delivery_instructions: ["Delivery instructions", "string", ({ header }: JobFacts) => header.delivery_instructions],
  collection_instructions: [
    "Collection instructions",
    "string",
    ({ header }: JobFacts) => header.collection_instructions
  ],
  customer_collecting: ["Customer collects", "boolean", ({ header }: JobFacts) => header.customer_collecting],
  customer_returning: ["Customer returns", "boolean", ({ header }: JobFacts) => header.customer_returning]
} as const
const jobGroup: FieldGroup<JobFacts> = group("opportunity", "Opportunity", job)

export interface PricedJobFacts extends JobFacts {
  readonly totals: { readonly net: number; readonly tax: number }
}
export const pricedJobGroup: FieldGroup<PricedJobFacts> = group<PricedJobFacts>("opportunity", "Opportunity", {
  ...job,
  valid_until: ["Valid until", "date", ({ header }) => header.quote_invalid_at],
  charge_total: ["Net", "currency", ({ totals }) => totals.net],
  tax_total: ["Tax", "currency", ({ totals }) => totals.tax],
  grand_total: ["Total", "currency", ({ totals }) => totals.net + totals.tax]
})

// Fields of warehouse document texts: the job without prices.

export interface WarehouseFieldFacts extends CommonFacts, CustomerFacts, JobFacts {
  /** Live product and accessory lines of the order. */
  readonly items: ReadonlyArray<{
    readonly name: string
    readonly description: string | null
    readonly quantity: string
  }>
}
export const warehouseGroups: ReadonlyArray<FieldGroup<WarehouseFieldFacts>> = [
  documentGroup,
  jobGroup,
  memberGroup,
  storeGroup,
  companyGroup,
  rowGroup<WarehouseFieldFacts, WarehouseFieldFacts["items"][number]>(
    { key: "items", label: "Lines", one: "item" },
    ({ items }) => items,
    {
      product_name: ["Name", "string", ({ name }) => name],
      description: ["Description", "string", ({ description }) => description],
      quantity: ["Quantity", "number", ({ quantity }) => quantity]
    }
  )
]
