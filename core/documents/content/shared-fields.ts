/** Groups of fields that several types of documents have. */
import type { NamedParty } from "../../billing/schema.ts"
import { addressLines } from "../../billing/paper/letter.ts"
import type { OpportunityRow } from "../../opportunities/schema.ts"
import { statusLabelOf } from "../../opportunities/status/statuses.ts"
import { type FieldGroup, group } from "./field-groups.ts"

/** What every document has. */
export interface CommonFacts {
  readonly document: {
    /** Null while it is pending. */
    readonly number: string | null
    readonly date: string
    /** Until when it is to be paid, holds, or is to be delivered. */
    readonly due_date: string | null
    /** Those that the settings give. */
    readonly terms: string | null
    readonly notes: string | null
  }
  /** The house, as the document names it. */
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
/** As texts of the settings name the house. */
export const companyGroup: FieldGroup<CommonFacts> = group("company", "Company", {
  name: ["Name", "string", ({ seller }) => seller.name]
})

/** The customer, as the document names them. */
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

export interface JobFacts {
  readonly header: OpportunityRow
  readonly venue: string | null
  /** Days of the hire that are counted. */
  readonly rental_days: string
}
/** A job without its prices, as the warehouse may read it. */
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
export const jobGroup: FieldGroup<JobFacts> = group("opportunity", "Opportunity", job)

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
