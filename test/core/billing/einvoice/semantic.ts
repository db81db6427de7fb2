/** Parses both XML forms into the terms of EN 16931, independent of the code that writes them. */
import { at, readXml, textAt, type XmlNode } from "./xml-reader.ts"

type Text = string | undefined
interface ReadPeriod {
  readonly first: Text
  readonly last: Text
}
export interface ReadParty {
  readonly name: Text
  readonly vat_id: Text
  readonly tax_registration: Text
  readonly registration: Text
  readonly country: Text
  readonly endpoint: Text
  readonly endpoint_scheme: Text
  readonly has_address: boolean
}
export interface ReadLine {
  readonly id: Text
  readonly quantity: Text
  readonly unit: Text
  readonly net: Text
  readonly price: Text
  readonly price_quantity: Text
  readonly name: Text
  readonly category: Text
  readonly rate: Text
  readonly period: ReadPeriod | undefined
  readonly allowances: ReadonlyArray<{
    readonly amount: Text
    readonly base: Text
    readonly percent: Text
    readonly reason: Text
  }>
}
interface ReadVat {
  readonly category: Text
  readonly rate: Text
  readonly net: Text
  readonly tax: Text
  readonly reason: Text
  readonly reason_code: Text
}
export interface ReadInvoice {
  readonly form: "ubl" | "cii"
  readonly specification: Text
  readonly process: Text
  readonly number: Text
  readonly code: Text
  readonly issue_date: Text
  readonly due_date: Text
  readonly terms: Text
  readonly currency: Text
  readonly accounting_currency: Text
  readonly accounting_tax: Text
  readonly notes: number
  readonly buyer_reference: Text
  readonly order_reference: Text
  readonly preceding: ReadonlyArray<{ readonly number: Text; readonly date: Text }>
  readonly period: ReadPeriod | undefined
  readonly delivery_date: Text
  readonly seller: ReadParty
  readonly buyer: ReadParty
  readonly means: Text
  readonly account: Text
  readonly lines: ReadonlyArray<ReadLine>
  readonly vat: ReadonlyArray<ReadVat>
  readonly line_total: Text
  readonly without_vat: Text
  readonly tax: Text
  readonly with_vat: Text
  readonly due: Text
}

export const readInvoice = (text: string): ReadInvoice => {
  const root = readXml(text)
  return root.name === "CrossIndustryInvoice" ? readCii(root) : readUbl(root)
}
const nothing: XmlNode = { name: "", namespace: "", attributes: {}, children: [], text: "" }
const first = (node: XmlNode, path: string): XmlNode => at(node, path)[0] ?? nothing

const ublPeriod = (node: XmlNode): ReadPeriod | undefined =>
  at(node, "InvoicePeriod").map((one) => ({ first: textAt(one, "StartDate"), last: textAt(one, "EndDate") }))[0]
const ublParty = (party: XmlNode): ReadParty => {
  const numbers = (scheme: string): Text =>
    at(party, "PartyTaxScheme")
      .filter((one) => textAt(one, "TaxScheme/ID") === scheme)
      .map((one) => textAt(one, "CompanyID"))[0]
  return {
    name: textAt(party, "PartyLegalEntity/RegistrationName"),
    vat_id: numbers("VAT"),
    tax_registration: numbers("TAX"),
    registration: textAt(party, "PartyLegalEntity/CompanyID"),
    country: textAt(party, "PostalAddress/Country/IdentificationCode"),
    endpoint: textAt(party, "EndpointID"),
    endpoint_scheme: first(party, "EndpointID").attributes["schemeID"],
    has_address: at(party, "PostalAddress").length === 1
  }
}
const ublLine = (line: XmlNode): ReadLine => {
  const quantity = [...at(line, "InvoicedQuantity"), ...at(line, "CreditedQuantity")][0]
  return {
    id: textAt(line, "ID"),
    quantity: quantity?.text,
    unit: quantity?.attributes["unitCode"],
    net: textAt(line, "LineExtensionAmount"),
    price: textAt(line, "Price/PriceAmount"),
    price_quantity: textAt(line, "Price/BaseQuantity"),
    name: textAt(line, "Item/Name"),
    category: textAt(line, "Item/ClassifiedTaxCategory/ID"),
    rate: textAt(line, "Item/ClassifiedTaxCategory/Percent"),
    period: ublPeriod(line),
    allowances: at(line, "AllowanceCharge").map((one) => ({
      amount: textAt(one, "Amount"),
      base: textAt(one, "BaseAmount"),
      percent: textAt(one, "MultiplierFactorNumeric"),
      reason: textAt(one, "AllowanceChargeReason")
    }))
  }
}
const readUbl = (root: XmlNode): ReadInvoice => {
  const totals = first(root, "LegalMonetaryTotal")
  const [tax, accounting] = at(root, "TaxTotal")
  return {
    form: "ubl",
    specification: textAt(root, "CustomizationID"),
    process: textAt(root, "ProfileID"),
    number: textAt(root, "ID"),
    code: textAt(root, `${root.name}TypeCode`),
    issue_date: textAt(root, "IssueDate"),
    due_date: textAt(root, "DueDate"),
    terms: textAt(root, "PaymentTerms/Note"),
    currency: textAt(root, "DocumentCurrencyCode"),
    accounting_currency: textAt(root, "TaxCurrencyCode"),
    accounting_tax: accounting === undefined ? undefined : textAt(accounting, "TaxAmount"),
    notes: at(root, "Note").length,
    buyer_reference: textAt(root, "BuyerReference"),
    order_reference: textAt(root, "OrderReference/ID"),
    preceding: at(root, "BillingReference/InvoiceDocumentReference").map((one) => ({
      number: textAt(one, "ID"),
      date: textAt(one, "IssueDate")
    })),
    period: ublPeriod(root),
    delivery_date: textAt(root, "Delivery/ActualDeliveryDate"),
    seller: ublParty(first(root, "AccountingSupplierParty/Party")),
    buyer: ublParty(first(root, "AccountingCustomerParty/Party")),
    means: textAt(root, "PaymentMeans/PaymentMeansCode"),
    account: textAt(root, "PaymentMeans/PayeeFinancialAccount/ID"),
    lines: at(root, `${root.name}Line`).map(ublLine),
    vat: at(tax ?? nothing, "TaxSubtotal").map((one) => ({
      category: textAt(one, "TaxCategory/ID"),
      rate: textAt(one, "TaxCategory/Percent"),
      net: textAt(one, "TaxableAmount"),
      tax: textAt(one, "TaxAmount"),
      reason: textAt(one, "TaxCategory/TaxExemptionReason"),
      reason_code: textAt(one, "TaxCategory/TaxExemptionReasonCode")
    })),
    line_total: textAt(totals, "LineExtensionAmount"),
    without_vat: textAt(totals, "TaxExclusiveAmount"),
    tax: textAt(tax ?? nothing, "TaxAmount"),
    with_vat: textAt(totals, "TaxInclusiveAmount"),
    due: textAt(totals, "PayableAmount")
  }
}

const ciiDate = (node: XmlNode, path: string): Text =>
  textAt(node, `${path}/DateTimeString`)?.replace(/^(\d{4})(\d\d)(\d\d)$/, "$1-$2-$3")
const ciiPeriod = (node: XmlNode): ReadPeriod | undefined =>
  at(node, "BillingSpecifiedPeriod").map((one) => ({
    first: ciiDate(one, "StartDateTime"),
    last: ciiDate(one, "EndDateTime")
  }))[0]
const ciiParty = (party: XmlNode): ReadParty => {
  const numbers = (scheme: string): Text =>
    at(party, "SpecifiedTaxRegistration/ID").find(({ attributes }) => attributes["schemeID"] === scheme)?.text
  return {
    name: textAt(party, "Name"),
    vat_id: numbers("VA"),
    tax_registration: numbers("FC"),
    registration: textAt(party, "SpecifiedLegalOrganization/ID"),
    country: textAt(party, "PostalTradeAddress/CountryID"),
    endpoint: textAt(party, "URIUniversalCommunication/URIID"),
    endpoint_scheme: first(party, "URIUniversalCommunication/URIID").attributes["schemeID"],
    has_address: at(party, "PostalTradeAddress").length === 1
  }
}
const ciiLine = (line: XmlNode): ReadLine => {
  const settlement = first(line, "SpecifiedLineTradeSettlement")
  const price = first(line, "SpecifiedLineTradeAgreement/NetPriceProductTradePrice")
  const quantity = first(line, "SpecifiedLineTradeDelivery/BilledQuantity")
  return {
    id: textAt(line, "AssociatedDocumentLineDocument/LineID"),
    quantity: quantity.text,
    unit: quantity.attributes["unitCode"],
    net: textAt(settlement, "SpecifiedTradeSettlementLineMonetarySummation/LineTotalAmount"),
    price: textAt(price, "ChargeAmount"),
    price_quantity: textAt(price, "BasisQuantity"),
    name: textAt(line, "SpecifiedTradeProduct/Name"),
    category: textAt(settlement, "ApplicableTradeTax/CategoryCode"),
    rate: textAt(settlement, "ApplicableTradeTax/RateApplicablePercent"),
    period: ciiPeriod(settlement),
    allowances: at(settlement, "SpecifiedTradeAllowanceCharge").map((one) => ({
      amount: textAt(one, "ActualAmount"),
      base: textAt(one, "BasisAmount"),
      percent: textAt(one, "CalculationPercent"),
      reason: textAt(one, "Reason")
    }))
  }
}
const readCii = (root: XmlNode): ReadInvoice => {
  const trade = first(root, "SupplyChainTradeTransaction")
  const agreement = first(trade, "ApplicableHeaderTradeAgreement")
  const settlement = first(trade, "ApplicableHeaderTradeSettlement")
  const totals = first(settlement, "SpecifiedTradeSettlementHeaderMonetarySummation")
  const currency = textAt(settlement, "InvoiceCurrencyCode")
  const taxes = at(totals, "TaxTotalAmount")
  const document = first(root, "ExchangedDocument")
  return {
    form: "cii",
    specification: textAt(root, "ExchangedDocumentContext/GuidelineSpecifiedDocumentContextParameter/ID"),
    process: undefined,
    number: textAt(document, "ID"),
    code: textAt(document, "TypeCode"),
    issue_date: ciiDate(document, "IssueDateTime"),
    due_date: ciiDate(settlement, "SpecifiedTradePaymentTerms/DueDateDateTime"),
    terms: textAt(settlement, "SpecifiedTradePaymentTerms/Description"),
    currency,
    accounting_currency: textAt(settlement, "TaxCurrencyCode"),
    accounting_tax: taxes.find(({ attributes }) => attributes["currencyID"] !== currency)?.text,
    notes: at(document, "IncludedNote").length,
    buyer_reference: textAt(agreement, "BuyerReference"),
    order_reference: textAt(agreement, "BuyerOrderReferencedDocument/IssuerAssignedID"),
    preceding: at(settlement, "InvoiceReferencedDocument").map((one) => ({
      number: textAt(one, "IssuerAssignedID"),
      date: ciiDate(one, "FormattedIssueDateTime")
    })),
    period: ciiPeriod(settlement),
    delivery_date: ciiDate(trade, "ApplicableHeaderTradeDelivery/ActualDeliverySupplyChainEvent/OccurrenceDateTime"),
    seller: ciiParty(first(agreement, "SellerTradeParty")),
    buyer: ciiParty(first(agreement, "BuyerTradeParty")),
    means: textAt(settlement, "SpecifiedTradeSettlementPaymentMeans/TypeCode"),
    account: textAt(settlement, "SpecifiedTradeSettlementPaymentMeans/PayeePartyCreditorFinancialAccount/IBANID"),
    lines: at(trade, "IncludedSupplyChainTradeLineItem").map(ciiLine),
    vat: at(settlement, "ApplicableTradeTax").map((one) => ({
      category: textAt(one, "CategoryCode"),
      rate: textAt(one, "RateApplicablePercent"),
      net: textAt(one, "BasisAmount"),
      tax: textAt(one, "CalculatedAmount"),
      reason: textAt(one, "ExemptionReason"),
      reason_code: textAt(one, "ExemptionReasonCode")
    })),
    line_total: textAt(totals, "LineTotalAmount"),
    without_vat: textAt(totals, "TaxBasisTotalAmount"),
    tax: taxes.find(({ attributes }) => attributes["currencyID"] === currency)?.text,
    with_vat: textAt(totals, "GrandTotalAmount"),
    due: textAt(totals, "DuePayableAmount")
  }
}
