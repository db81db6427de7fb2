/**
 * Writes an electronic invoice as UN/CEFACT Cross Industry Invoice, in the profile of EN 16931, as used by Factur-X and
 * ZUGFeRD. The schema defines the order of elements.
 */
import type { DatePeriod, EInvoice, Line, Party, VatGroup } from "./amounts.ts"
import { discount_code, paymentMeansCode, unit_code } from "./amounts.ts"

// XML as a tree of elements; only the writer escapes.

export interface XmlElement {
  readonly name: string
  readonly attributes: { readonly [name: string]: string }
  /** Child elements, or text. */
  readonly content: ReadonlyArray<XmlElement> | string
}
type Attributes = XmlElement["attributes"]

/** An element with children; omitted without any, as invoices may not hold empty elements. */
export const group = (
  name: string,
  ...content: ReadonlyArray<XmlElement | ReadonlyArray<XmlElement>>
): ReadonlyArray<XmlElement> => {
  const flat = content.flat()
  return flat.length === 0 ? [] : [{ name, attributes: {}, content: flat }]
}
/** An element with text; omitted if the text is missing or blank. */
export const leaf = (
  name: string,
  text: string | null | undefined,
  attributes: Attributes = {}
): ReadonlyArray<XmlElement> =>
  text === null || text === undefined || text.trim() === "" ? [] : [{ name, attributes, content: text.trim() }]

/** Matches characters XML 1.0 cannot represent, even escaped, and unpaired surrogates. */
const not_xml = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu
const escaped = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    .replace(not_xml, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
const inQuotes = (text: string): string => escaped(text).replaceAll('"', "&quot;").replaceAll("\n", "&#10;")

const lines = ({ attributes, content, name }: XmlElement, indent: string): string => {
  const head = `${name}${Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${inQuotes(value)}"`)
    .join("")}`
  return typeof content === "string"
    ? `${indent}<${head}>${escaped(content)}</${name}>\n`
    : `${indent}<${head}>\n${content.map((one) => lines(one, `${indent}  `)).join("")}${indent}</${name}>\n`
}

export const xmlDocument = (name: string, attributes: Attributes, content: ReadonlyArray<XmlElement>): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${lines({ name, attributes, content }, "")}`

type Elements = ReadonlyArray<XmlElement>
const namespaces = {
  "xmlns:rsm": "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100",
  "xmlns:ram": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100",
  "xmlns:qdt": "urn:un:unece:uncefact:data:standard:QualifiedDataType:100",
  "xmlns:udt": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100"
}
const en16931_guideline = "urn:cen.eu:en16931:2017"

export const ciiText = (invoice: EInvoice): string =>
  xmlDocument("rsm:CrossIndustryInvoice", namespaces, [
    ...group(
      "rsm:ExchangedDocumentContext",
      group("ram:GuidelineSpecifiedDocumentContextParameter", leaf("ram:ID", en16931_guideline))
    ),
    ...group(
      "rsm:ExchangedDocument",
      leaf("ram:ID", invoice.number),
      leaf("ram:TypeCode", invoice.code),
      date("ram:IssueDateTime", "udt", invoice.issue_date),
      group("ram:IncludedNote", leaf("ram:Content", invoice.note))
    ),
    ...group(
      "rsm:SupplyChainTradeTransaction",
      invoice.lines.flatMap(lineOf),
      agreementOf(invoice),
      // Required by the schema, even if empty.
      { name: "ram:ApplicableHeaderTradeDelivery", attributes: {}, content: deliveryOf(invoice) },
      settlementOf(invoice)
    )
  ])

/** A date element, written as `20260131` (format 102). */
const date = (name: string, types: "udt" | "qdt", day: string | null | undefined): Elements =>
  group(name, leaf(`${types}:DateTimeString`, day?.replaceAll("-", ""), { format: "102" }))
const periodOf = (period: DatePeriod | null): Elements =>
  group(
    "ram:BillingSpecifiedPeriod",
    date("ram:StartDateTime", "udt", period?.first),
    date("ram:EndDateTime", "udt", period?.last)
  )

const lineOf = (line: Line): Elements =>
  group(
    "ram:IncludedSupplyChainTradeLineItem",
    group("ram:AssociatedDocumentLineDocument", leaf("ram:LineID", line.id)),
    group("ram:SpecifiedTradeProduct", leaf("ram:Name", line.name), leaf("ram:Description", line.description)),
    group(
      "ram:SpecifiedLineTradeAgreement",
      group(
        "ram:NetPriceProductTradePrice",
        leaf("ram:ChargeAmount", line.price),
        leaf("ram:BasisQuantity", line.price_quantity, { unitCode: unit_code })
      )
    ),
    group("ram:SpecifiedLineTradeDelivery", leaf("ram:BilledQuantity", line.quantity, { unitCode: unit_code })),
    group(
      "ram:SpecifiedLineTradeSettlement",
      group(
        "ram:ApplicableTradeTax",
        leaf("ram:TypeCode", "VAT"),
        leaf("ram:CategoryCode", line.category),
        leaf("ram:RateApplicablePercent", line.rate)
      ),
      periodOf(line.period),
      line.allowance === null
        ? []
        : group(
            "ram:SpecifiedTradeAllowanceCharge",
            group("ram:ChargeIndicator", leaf("udt:Indicator", "false")),
            leaf("ram:CalculationPercent", line.allowance.percent),
            line.allowance.percent === null ? [] : leaf("ram:BasisAmount", line.allowance.base),
            leaf("ram:ActualAmount", line.allowance.amount),
            leaf("ram:ReasonCode", discount_code),
            leaf("ram:Reason", "Discount")
          ),
      group("ram:SpecifiedTradeSettlementLineMonetarySummation", leaf("ram:LineTotalAmount", line.net))
    )
  )

const agreementOf = (invoice: EInvoice): Elements =>
  group(
    "ram:ApplicableHeaderTradeAgreement",
    leaf("ram:BuyerReference", invoice.buyer_reference),
    partyOf("ram:SellerTradeParty", invoice.seller),
    partyOf("ram:BuyerTradeParty", invoice.buyer),
    group("ram:BuyerOrderReferencedDocument", leaf("ram:IssuerAssignedID", invoice.order_reference))
  )
const partyOf = (name: string, party: Party): Elements =>
  group(
    name,
    leaf("ram:ID", party.identifier),
    leaf("ram:Name", party.name),
    group("ram:SpecifiedLegalOrganization", leaf("ram:ID", party.registration_number)),
    group(
      "ram:DefinedTradeContact",
      group("ram:TelephoneUniversalCommunication", leaf("ram:CompleteNumber", party.phone)),
      group("ram:EmailURIUniversalCommunication", leaf("ram:URIID", party.email))
    ),
    group(
      "ram:PostalTradeAddress",
      leaf("ram:PostcodeCode", party.postcode),
      leaf("ram:LineOne", party.street),
      leaf("ram:CityName", party.city),
      leaf("ram:CountryID", party.country_code),
      leaf("ram:CountrySubDivisionName", party.county)
    ),
    group(
      "ram:URIUniversalCommunication",
      leaf("ram:URIID", party.endpoint?.id, party.endpoint === null ? {} : { schemeID: party.endpoint.scheme })
    ),
    group("ram:SpecifiedTaxRegistration", leaf("ram:ID", party.vat_id, { schemeID: "VA" })),
    group("ram:SpecifiedTaxRegistration", leaf("ram:ID", party.tax_registration, { schemeID: "FC" }))
  )

const deliveryOf = ({ delivery_date }: EInvoice): Elements =>
  group("ram:ActualDeliverySupplyChainEvent", date("ram:OccurrenceDateTime", "udt", delivery_date))

const settlementOf = (invoice: EInvoice): Elements =>
  group(
    "ram:ApplicableHeaderTradeSettlement",
    invoice.account === null ? [] : leaf("ram:PaymentReference", invoice.number),
    leaf("ram:TaxCurrencyCode", invoice.accounting?.currency),
    leaf("ram:InvoiceCurrencyCode", invoice.currency),
    paymentMeansOf(invoice),
    invoice.vat.flatMap(vatOf),
    periodOf(invoice.period),
    group(
      "ram:SpecifiedTradePaymentTerms",
      leaf("ram:Description", invoice.payment_terms),
      date("ram:DueDateDateTime", "udt", invoice.due_date)
    ),
    totalsOf(invoice),
    invoice.preceding.flatMap((one) =>
      group(
        "ram:InvoiceReferencedDocument",
        leaf("ram:IssuerAssignedID", one.number),
        date("ram:FormattedIssueDateTime", "qdt", one.date)
      )
    )
  )
const paymentMeansOf = ({ account, currency }: EInvoice): Elements =>
  account === null
    ? []
    : group(
        "ram:SpecifiedTradeSettlementPaymentMeans",
        leaf("ram:TypeCode", paymentMeansCode(currency)),
        group(
          "ram:PayeePartyCreditorFinancialAccount",
          leaf("ram:IBANID", account.iban),
          leaf("ram:AccountName", account.holder)
        ),
        group("ram:PayeeSpecifiedCreditorFinancialInstitution", leaf("ram:BICID", account.bic))
      )
const vatOf = (vat: VatGroup): Elements =>
  group(
    "ram:ApplicableTradeTax",
    leaf("ram:CalculatedAmount", vat.tax),
    leaf("ram:TypeCode", "VAT"),
    leaf("ram:ExemptionReason", vat.reason),
    leaf("ram:BasisAmount", vat.net),
    leaf("ram:CategoryCode", vat.category),
    leaf("ram:ExemptionReasonCode", vat.reason_code),
    leaf("ram:RateApplicablePercent", vat.rate)
  )
const totalsOf = ({ accounting, currency, totals }: EInvoice): Elements =>
  group(
    "ram:SpecifiedTradeSettlementHeaderMonetarySummation",
    leaf("ram:LineTotalAmount", totals.net),
    leaf("ram:TaxBasisTotalAmount", totals.net),
    leaf("ram:TaxTotalAmount", totals.tax, { currencyID: currency }),
    accounting === null ? [] : leaf("ram:TaxTotalAmount", accounting.tax, { currencyID: accounting.currency }),
    leaf("ram:GrandTotalAmount", totals.gross),
    leaf("ram:DuePayableAmount", totals.gross)
  )
