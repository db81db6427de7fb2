/**
 * What an invoice lacks for an electronic one, by field and with the way out: rather none than a wrong one. Each check
 * names the rule of EN 16931 or Peppol that a document without it would break.
 */
import type { FieldErrors } from "../../kernel/rejection.ts"
import { fits } from "./amounts.ts"
import type { EInvoiceForm } from "./model.ts"
import { endpointOf, parsePeppolId, taxNumbersOf } from "./numbers.ts"
import type { Source, SourceRow } from "./source.ts"
import { isOtherTax, type RowVat, vatSums } from "./vat.ts"

type Problem = readonly [field: string, text: string] | undefined
const when = (is_wrong: boolean, field: string, text: string): Problem => (is_wrong ? [field, text] : undefined)
const isBlank = (text: string | null): boolean => text === null || text.trim() === ""

export const problemsOf = (
  source: Source,
  rows: ReadonlyArray<SourceRow>,
  vats: ReadonlyArray<RowVat>,
  form: EInvoiceForm
): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const found = [
    ...sellerProblems(source, vats),
    ...buyerProblems(source, vats),
    ...addressProblems(source, form),
    ...rowProblems(source, rows, vats)
  ]
  for (const problem of found)
    if (problem !== undefined) errors[problem[0]] = [...(errors[problem[0]] ?? []), problem[1]]
  return errors
}

// BR-6, BR-9, BR-CO-26, BR-S-2, BR-Z-2, BR-E-2, BR-AE-2
const sellerProblems = ({ seller }: Source, vats: ReadonlyArray<RowVat>): ReadonlyArray<Problem> => {
  const { tax_registration, vat_id } = taxNumbersOf(seller.tax_number)
  const is_outside = vats.some(({ category }) => category === "O")
  const has_number = !isBlank(seller.registration_number) || (vat_id !== null && !is_outside)
  return [
    when(isBlank(seller.name), "company.name", "An e-invoice names the seller: set company.name in the settings."),
    when(
      isBlank(seller.country_code),
      "company.country_code",
      "An e-invoice says which country the seller is in: set company.country_code in the settings."
    ),
    when(
      !is_outside && vat_id === null && tax_registration === null,
      "company.tax_number",
      "An e-invoice with VAT names the seller's VAT id: set company.tax_number in the settings, such as GB123456789."
    ),
    when(
      !has_number && (is_outside || tax_registration !== null),
      "company.registration_number",
      is_outside
        ? "Without VAT an e-invoice names the seller's registration: set company.registration_number in the settings."
        : "A tax number that is no VAT id does not identify the seller: set company.registration_number, too."
    )
  ]
}
// BR-7, BR-11, BR-AE-2
const buyerProblems = ({ buyer }: Source, vats: ReadonlyArray<RowVat>): ReadonlyArray<Problem> => [
  when(isBlank(buyer.name), "member.name", "An e-invoice names the buyer: give the member a name."),
  when(
    isBlank(buyer.country_code),
    "member.country_id",
    "An e-invoice says which country the buyer is in: give the member an address with a country."
  ),
  when(
    vats.some(({ category }) => category === "AE") &&
      taxNumbersOf(buyer.tax_number).vat_id === null &&
      isBlank(buyer.registration_number),
    "member.tax_number",
    "With reverse charge an e-invoice names the buyer's VAT id: set the member's tax_number, such as DE123456789."
  )
]
// PEPPOL-EN16931-R010, R020; CII travels inside a PDF, which needs no address
const addressProblems = ({ buyer, seller }: Source, form: EInvoiceForm): ReadonlyArray<Problem> => {
  const shape = "such as 0088:1234567890128: the scheme's four digits, a colon and the id"
  const isMalformed = (id: string | null): boolean => id !== null && !isBlank(id) && parsePeppolId(id) === undefined
  return [
    when(isMalformed(seller.peppol_id), "einvoice.peppol_id", `einvoice.peppol_id must be ${shape}.`),
    when(isMalformed(buyer.peppol_id), "member.peppol_id", `The member's peppol_id must be ${shape}.`),
    when(
      form === "ubl" && endpointOf(seller) === null,
      "einvoice.peppol_id",
      "Peppol needs the seller's address: set einvoice.peppol_id or company.email in the settings."
    ),
    when(
      form === "ubl" && endpointOf(buyer) === null,
      "member.peppol_id",
      "Peppol needs the buyer's address: give the member a peppol_id or an e-mail address."
    )
  ]
}

// BR-16, BR-CO-17, BR-E-10, BR-O-11 to BR-O-14, BR-DEC-*
const rowProblems = (
  source: Source,
  rows: ReadonlyArray<SourceRow>,
  vats: ReadonlyArray<RowVat>
): ReadonlyArray<Problem> => {
  const outside = vats.filter(({ category }) => category === "O").length
  const amounts = rows.flatMap((row) => [row.subtotal, row.tax_total])
  return [
    when(rows.length === 0, "items", "An e-invoice has at least one row that is no text."),
    when(
      outside > 0 && outside < vats.length,
      "items",
      "Rows that are not subject to VAT cannot share an e-invoice with others: bill them apart."
    ),
    when(
      [...amounts, source.subtotal, source.tax_total, source.total].some((one) => !fits(one, source.currency_code)),
      "currency_code",
      `EN 16931 gives amounts two decimals at most, and this document has thousandths of ${source.currency_code}: ` +
        "send its PDF instead. Where every amount and its tax come to whole hundredths there is an e-invoice."
    ),
    when(
      vatSums(rows, vats).some((one) => isOtherTax(one, source.currency_code)),
      "tax_total",
      "Its tax is not what its rates come to, which an e-invoice must be: send it as PDF, or credit it and bill anew."
    ),
    ...vats.map(({ category, report }, at) =>
      when(
        category === "E" && isBlank(report.reason),
        `items.${at}.tax_rate_id`,
        report.name === ""
          ? "No tax rule applied to this row, and an e-invoice says why it bears no tax: set einvoice.untaxed_reason."
          : `An e-invoice says why a row is exempt: set exemption_reason of the tax rate ${report.name}.`
      )
    )
  ]
}
