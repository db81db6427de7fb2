/** The types of documents, and what each is made of (rules/billing 3). */
import type { InvoiceRow } from "../billing/schema.ts"

export const documentable_types = {
  Opportunity: "Opportunity",
  Invoice: "Invoice",
  CreditNote: "Credit Note",
  PurchaseOrder: "Purchase Order"
} as const
export type DocumentableType = keyof typeof documentable_types
export const documentable_tables = {
  Opportunity: "opportunities",
  Invoice: "invoices",
  CreditNote: "credit_notes",
  PurchaseOrder: "purchase_orders"
} as const satisfies { readonly [T in DocumentableType]: string }

interface TypeOfDocument {
  readonly name: string
  readonly of: DocumentableType
  readonly description: string
}
const ofType = <const K extends string>(types: { readonly [T in K]: TypeOfDocument }) => types
export const document_types = ofType({
  quotation: { name: "Quotation", of: "Opportunity", description: "What a job would cost, for the customer to accept" },
  order_confirmation: {
    name: "Order Confirmation",
    of: "Opportunity",
    description: "What was ordered, when it is delivered and what it costs"
  },
  pick_list: {
    name: "Pick List",
    of: "Opportunity",
    description: "What to take from which place, with codes to scan and boxes to tick"
  },
  delivery_note: { name: "Delivery Note", of: "Opportunity", description: "What goes out, for the receiver to sign" },
  return_note: { name: "Return Note", of: "Opportunity", description: "What is to come back and what has come back" },
  invoice: { name: "Invoice", of: "Invoice", description: "The invoice" },
  proforma_invoice: { name: "Proforma Invoice", of: "Invoice", description: "A proforma, of an invoice of that type" },
  deposit_invoice: { name: "Deposit Invoice", of: "Invoice", description: "A deposit, of an invoice of that type" },
  credit_note: { name: "Credit Note", of: "CreditNote", description: "The credit note" },
  purchase_order: { name: "Purchase Order", of: "PurchaseOrder", description: "What is ordered from a supplier" }
})
export type DocumentType = keyof typeof document_types

/** Orders to suppliers name what the house pays: their papers are for those who see costs. */
export const names_costs: ReadonlySet<DocumentType> = new Set<DocumentType>(["purchase_order"])

/** The type whose layout an invoice is drawn in where nobody names one. */
export const typeOfInvoice = ({ type }: Pick<InvoiceRow, "type">): DocumentType =>
  type === "standard" ? "invoice" : type === "deposit" ? "deposit_invoice" : "proforma_invoice"
