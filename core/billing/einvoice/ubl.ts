/** An electronic invoice as UBL 2.1, in the form of Peppol BIS Billing 3. The order of elements is the schema's. */
import {
  type DatePeriod,
  discount_code,
  type EInvoice,
  type Line,
  type Party,
  unit_code,
  paymentMeansCode,
  type VatCategory,
  type VatGroup
} from "./model.ts"
import { group, leaf, type XmlElement, xmlDocument } from "./xml.ts"

type Elements = ReadonlyArray<XmlElement>
const namespaces = {
  "xmlns:cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
  "xmlns:cbc": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
}
export const peppol_customization = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0"
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
