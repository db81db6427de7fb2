/** An e-invoice as text (rules/billing 1.7). Loaded on first use. */
import { Effect, Result } from "effect"
import { invalidField, referredRows, Store, type Failure, type Settings } from "../../kernel/index.ts"
import { buyerOf, nobody, sellerOf } from "../state/parties.ts"
import type { CreditNoteRow, InvoiceRow, NamedParty } from "../state/tables.ts"
import { credit_note_items, invoice_items, invoices } from "../state/tables.ts"
import { eInvoiceFactsNow, vatReportsNow } from "./rates.ts"
import type { DatePeriod, EInvoice, EInvoiceForm, Line, Party, Source, VatCategory, VatGroup } from "./amounts.ts"
import { discount_code, paymentMeansCode, ratesReported, unit_code } from "./amounts.ts"
import { ciiText, group, leaf, xmlDocument, type XmlElement } from "./cii.ts"
import { eInvoice } from "./build.ts"

// Reads the input of an electronic invoice, in a fixed number of queries.

interface Reading {
  readonly settings: Settings
  /** Fills values that were empty at the issue from the current ones. */
  readonly is_mended: boolean
}

const in_order = { order: ["sort_order", "id"] }

const invoiceSource = Effect.fnUntraced(function* (invoice: InvoiceRow, reading: Reading) {
  const items = yield* Store.find(invoice_items, { invoice_id: invoice.id }, in_order)
  const deposits = yield* Store.getMany(
    invoices,
    items.flatMap(({ deposit_invoice_id }) => deposit_invoice_id ?? [])
  )
  return {
    ...(yield* commonSource(invoice, items, invoice.vat_reports, reading)),
    kind: invoice.type === "deposit" ? "deposit" : "invoice",
    issued_at: invoice.issued_at ?? invoice.created_at,
    due_at: invoice.due_at,
    prices_include_tax: invoice.prices_include_tax,
    notes: [invoice.subject, invoice.notes],
    reference: invoice.reference,
    rows: items,
    preceding: deposits.flatMap(({ issued_at, number }) => (number === null ? [] : [{ number, issued_at }]))
  } satisfies Source
})
const creditNoteSource = Effect.fnUntraced(function* (note: CreditNoteRow, reading: Reading) {
  const items = yield* Store.find(credit_note_items, { credit_note_id: note.id }, in_order)
  const invoice = yield* Store.get(invoices, note.invoice_id)
  const credited = yield* referredRows(invoice_items, items, "invoice_item_id")
  return {
    ...(yield* commonSource(note, items, invoice?.vat_reports ?? null, reading)),
    kind: "credit_note",
    issued_at: note.issued_at,
    due_at: null,
    prices_include_tax: note.prices_include_tax,
    notes: [note.reason, note.notes],
    reference: invoice?.reference ?? null,
    rows: items.map((row) => {
      const of = credited.get(row.invoice_item_id)
      return {
        ...row,
        item_type: of?.item_type ?? "custom",
        description: of?.description ?? null,
        discount_percent: null,
        discount_amount: 0,
        starts_at: of?.starts_at ?? null,
        ends_at: of?.ends_at ?? null
      }
    }),
    preceding: invoice?.number == null ? [] : [{ number: invoice.number, issued_at: invoice.issued_at }]
  } satisfies Source
})

const commonSource = Effect.fnUntraced(function* (
  document: InvoiceRow | CreditNoteRow,
  items: ReadonlyArray<{ readonly tax_rate_id: number | null }>,
  vat_reports: InvoiceRow["vat_reports"],
  { is_mended, settings }: Reading
) {
  const { billed_by, billed_to } = document
  const now = yield* eInvoiceFactsNow(document, settings)
  const then = billed_by?.einvoice
  const { account, base_currency, hire, member_id, zone } = then ?? now
  const isAsIssued = then !== undefined && !is_mended
  const seller = filled(billed_by, isAsIssued ? null : yield* sellerOf(document.store_id, settings))
  const said = isAsIssued ? then : now
  const legal_name = then?.legal_name ?? (then !== undefined && billed_by?.name ? null : said.legal_name)
  return {
    number: document.number ?? "",
    currency_code: document.currency_code,
    exchange_rate: document.exchange_rate,
    base_currency,
    member_id,
    subtotal: document.subtotal,
    tax_total: document.tax_total,
    total: document.total,
    hire,
    zone,
    seller: {
      ...seller,
      name: legal_name ?? seller.name,
      peppol_id: seller.peppol_id ?? then?.peppol_id ?? said.peppol_id
    },
    buyer: filled(billed_to, isAsIssued ? null : yield* buyerOf(document.member_id)),
    account,
    ...ratesReported(vat_reports, yield* vatReportsNow(items, settings))
  } satisfies Partial<Source>
})

/** A party as of the issue; empty values are filled from `now`. */
const filled = (then: NamedParty | null, now: NamedParty | null): NamedParty => ({
  ...nobody,
  ...now,
  ...Object.fromEntries(Object.entries(then ?? {}).filter(([, value]) => value !== null && value !== ""))
})

// An electronic invoice as UBL 2.1, in the form of Peppol BIS Billing 3. The order of elements is the schema's.

type Elements = ReadonlyArray<XmlElement>
const namespaces = {
  "xmlns:cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
  "xmlns:cbc": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
}
const peppol_customization = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0"
const peppol_process = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"

export const ublText = (invoice: EInvoice): string => {
  const kind = invoice.code === "381" ? "CreditNote" : "Invoice"
  return xmlDocument(
    kind,
    { xmlns: `urn:oasis:names:specification:ubl:schema:xsd:${kind}-2`, ...namespaces },
    [
      leaf("cbc:CustomizationID", peppol_customization),
      leaf("cbc:ProfileID", peppol_process),
      leaf("cbc:ID", invoice.number),
      leaf("cbc:IssueDate", invoice.issue_date),
      kind === "Invoice" ? leaf("cbc:DueDate", invoice.due_date) : [],
      leaf(`cbc:${kind}TypeCode`, invoice.code),
      leaf("cbc:Note", invoice.note),
      leaf("cbc:DocumentCurrencyCode", invoice.currency),
      leaf("cbc:TaxCurrencyCode", invoice.accounting?.currency),
      leaf("cbc:BuyerReference", invoice.buyer_reference),
      periodOf(invoice.period),
      group("cac:OrderReference", leaf("cbc:ID", invoice.order_reference)),
      invoice.preceding.flatMap(({ date, number }) =>
        group(
          "cac:BillingReference",
          group("cac:InvoiceDocumentReference", leaf("cbc:ID", number), leaf("cbc:IssueDate", date))
        )
      ),
      group("cac:AccountingSupplierParty", partyOf(invoice.seller)),
      group("cac:AccountingCustomerParty", partyOf(invoice.buyer)),
      group("cac:Delivery", leaf("cbc:ActualDeliveryDate", invoice.delivery_date)),
      paymentMeansOf(invoice),
      group("cac:PaymentTerms", leaf("cbc:Note", invoice.payment_terms)),
      taxTotals(invoice),
      totalsOf(invoice),
      invoice.lines.flatMap((line) => lineOf(line, invoice, kind))
    ].flat()
  )
}

const money = (name: string, amount: string, currency: string): Elements => leaf(name, amount, { currencyID: currency })
const periodOf = (period: DatePeriod | null): Elements =>
  group("cac:InvoicePeriod", leaf("cbc:StartDate", period?.first), leaf("cbc:EndDate", period?.last))
const taxScheme = (id: string): Elements => group("cac:TaxScheme", leaf("cbc:ID", id))

const partyOf = (party: Party): Elements =>
  group(
    "cac:Party",
    leaf("cbc:EndpointID", party.endpoint?.id, party.endpoint === null ? {} : { schemeID: party.endpoint.scheme }),
    group("cac:PartyIdentification", leaf("cbc:ID", party.identifier)),
    group("cac:PartyName", leaf("cbc:Name", party.name)),
    group(
      "cac:PostalAddress",
      leaf("cbc:StreetName", party.street),
      leaf("cbc:CityName", party.city),
      leaf("cbc:PostalZone", party.postcode),
      leaf("cbc:CountrySubentity", party.county),
      group("cac:Country", leaf("cbc:IdentificationCode", party.country_code))
    ),
    party.vat_id === null ? [] : group("cac:PartyTaxScheme", leaf("cbc:CompanyID", party.vat_id), taxScheme("VAT")),
    party.tax_registration === null
      ? []
      : group("cac:PartyTaxScheme", leaf("cbc:CompanyID", party.tax_registration), taxScheme("TAX")),
    group(
      "cac:PartyLegalEntity",
      leaf("cbc:RegistrationName", party.name),
      leaf("cbc:CompanyID", party.registration_number)
    ),
    group("cac:Contact", leaf("cbc:Telephone", party.phone), leaf("cbc:ElectronicMail", party.email))
  )

const paymentMeansOf = ({ account, currency, number }: EInvoice): Elements =>
  account === null
    ? []
    : group(
        "cac:PaymentMeans",
        leaf("cbc:PaymentMeansCode", paymentMeansCode(currency)),
        leaf("cbc:PaymentID", number),
        group(
          "cac:PayeeFinancialAccount",
          leaf("cbc:ID", account.iban),
          leaf("cbc:Name", account.holder),
          group("cac:FinancialInstitutionBranch", leaf("cbc:ID", account.bic))
        )
      )

const taxTotals = ({ accounting, currency, totals, vat }: EInvoice): Elements => [
  ...group(
    "cac:TaxTotal",
    money("cbc:TaxAmount", totals.tax, currency),
    vat.flatMap((one) => vatOf(one, currency))
  ),
  ...(accounting === null ? [] : group("cac:TaxTotal", money("cbc:TaxAmount", accounting.tax, accounting.currency)))
]
const vatOf = (vat: VatGroup, currency: string): Elements =>
  group(
    "cac:TaxSubtotal",
    money("cbc:TaxableAmount", vat.net, currency),
    money("cbc:TaxAmount", vat.tax, currency),
    group(
      "cac:TaxCategory",
      leaf("cbc:ID", vat.category),
      leaf("cbc:Percent", vat.rate),
      leaf("cbc:TaxExemptionReasonCode", vat.reason_code),
      leaf("cbc:TaxExemptionReason", vat.reason),
      taxScheme("VAT")
    )
  )

const totalsOf = ({ currency, totals }: EInvoice): Elements =>
  group(
    "cac:LegalMonetaryTotal",
    money("cbc:LineExtensionAmount", totals.net, currency),
    money("cbc:TaxExclusiveAmount", totals.net, currency),
    money("cbc:TaxInclusiveAmount", totals.gross, currency),
    money("cbc:PayableAmount", totals.gross, currency)
  )

const lineOf = (line: Line, { currency }: EInvoice, kind: "Invoice" | "CreditNote"): Elements =>
  group(
    `cac:${kind}Line`,
    leaf("cbc:ID", line.id),
    leaf(kind === "Invoice" ? "cbc:InvoicedQuantity" : "cbc:CreditedQuantity", line.quantity, { unitCode: unit_code }),
    money("cbc:LineExtensionAmount", line.net, currency),
    periodOf(line.period),
    line.allowance === null
      ? []
      : group(
          "cac:AllowanceCharge",
          leaf("cbc:ChargeIndicator", "false"),
          leaf("cbc:AllowanceChargeReasonCode", discount_code),
          leaf("cbc:AllowanceChargeReason", "Discount"),
          leaf("cbc:MultiplierFactorNumeric", line.allowance.percent),
          money("cbc:Amount", line.allowance.amount, currency),
          line.allowance.percent === null ? [] : money("cbc:BaseAmount", line.allowance.base, currency)
        ),
    group(
      "cac:Item",
      leaf("cbc:Description", line.description),
      leaf("cbc:Name", line.name),
      classified(line.category, line.rate)
    ),
    group(
      "cac:Price",
      money("cbc:PriceAmount", line.price, currency),
      leaf("cbc:BaseQuantity", line.price_quantity, { unitCode: unit_code })
    )
  )
const classified = (category: VatCategory, rate: string | null): Elements =>
  group("cac:ClassifiedTaxCategory", leaf("cbc:ID", category), leaf("cbc:Percent", rate), taxScheme("VAT"))

const writers = { ubl: ublText, cii: ciiText }

/**
 * Text of an electronic invoice as issued. If data is missing, current data completes it, so that faults can be
 * corrected.
 */
const textOf = Effect.fnUntraced(function* (
  sourceOf: (reading: Reading) => Effect.Effect<Source, Failure, Store>,
  settings: Settings,
  form: EInvoiceForm
) {
  const issued = eInvoice(yield* sourceOf({ settings, is_mended: false }), form)
  const made = Result.isSuccess(issued) ? issued : eInvoice(yield* sourceOf({ settings, is_mended: true }), form)
  return writers[form](yield* Effect.fromResult(made))
})
const without_number = invalidField("number", "It has no number yet: sync first, the server gives it.")

/** The invoice as XML; rejected for drafts, voided invoices, proformas, a missing number or other missing data. */
export const invoiceXml = Effect.fnUntraced(function* (invoice: InvoiceRow, settings: Settings, form: EInvoiceForm) {
  if (invoice.type === "proforma")
    return yield* invalidField("type", "A proforma is no invoice, so there is no e-invoice of it.")
  if (invoice.status === "draft") return yield* invalidField("status", "A draft is no invoice yet: issue it first.")
  if (invoice.status === "voided") return yield* invalidField("status", "The invoice was voided.")
  if (invoice.number === null) return yield* without_number
  return yield* textOf((reading) => invoiceSource(invoice, reading), settings, form)
})
export const creditNoteXml = Effect.fnUntraced(function* (note: CreditNoteRow, settings: Settings, form: EInvoiceForm) {
  if (note.number === null) return yield* without_number
  return yield* textOf((reading) => creditNoteSource(note, reading), settings, form)
})
