/** Postings as import files of accounting programs. */
import { dateText } from "../../pricing/print/format.ts"
import { csvRow } from "../../values/csv.ts"
import { picked } from "../../values/text.ts"
import type { PostedDocument } from "./postings.ts"

export const export_formats = ["csv", "xero", "quickbooks"] as const
export type ExportFormat = (typeof export_formats)[number]
interface ExportOptions {
  /** Date format of the accounting program, by the company's locale; plain files have ISO dates. */
  readonly locale: string
  /** Escapes a cell that a spreadsheet would run as a formula. */
  readonly cell: (text: string) => string
}

/** Xero takes 500 invoices a file, QuickBooks Online 100. */
const per_file = { xero: 500, quickbooks: 100 } as const

type Row = { readonly [column: string]: string | null }
const csv = (columns: ReadonlyArray<string>, rows: ReadonlyArray<Row>, { cell }: ExportOptions): string =>
  [columns, ...rows.map((row) => columns.map((column) => cell(row[column] ?? "")))].map(csvRow).join("")

export const exportFiles = (
  documents: ReadonlyArray<PostedDocument>,
  format: ExportFormat,
  options: ExportOptions
): ReadonlyArray<{ readonly name: string; readonly text: string }> => {
  if (documents.length === 0) return []
  if (format === "csv") return [{ name: "postings.csv", text: plainFile(documents, options) }]
  const bills = documents.filter(({ kind }) => kind !== "payments")
  const moved = documents.filter(({ kind }) => kind === "payments")
  const written = format === "xero" ? xeroFile : quickbooksFile
  const parts: Array<ReadonlyArray<PostedDocument>> = []
  for (let at = 0; at < bills.length; at += per_file[format]) parts.push(bills.slice(at, at + per_file[format]))
  return [
    ...parts.map((part, at) => ({ name: `${format}-invoices-${at + 1}.csv`, text: written(part, options) })),
    ...(moved.length === 0 ? [] : [{ name: `${format}-payments.csv`, text: paymentsFile(moved, options) }])
  ]
}

const plain_columns =
  "date kind number invoice_number member account tax_code debit credit currency exchange_rate reference".split(" ")
const plainFile = (documents: ReadonlyArray<PostedDocument>, options: ExportOptions): string =>
  csv(
    plain_columns,
    documents.flatMap((one) =>
      one.postings.map(({ account, credit, debit, tax_code }) => ({
        ...picked(one, ["date", "kind", "number", "invoice_number"]),
        member: one.member_name,
        account,
        tax_code,
        debit,
        credit,
        ...picked(one, ["currency", "exchange_rate", "reference"])
      }))
    ),
    options
  )

const xero_columns = (
  "*ContactName EmailAddress *InvoiceNumber Reference *InvoiceDate *DueDate Total *Description " +
  "*Quantity *UnitAmount *AccountCode *TaxType TaxAmount Currency"
).split(" ")
/**
 * Invoices and credit notes for Xero, with amounts before tax. Each row has quantity 1 and its full amount, as Xero
 * would round unit prices and discounts again. Negative totals become credit notes there.
 */
const xeroFile = (documents: ReadonlyArray<PostedDocument>, options: ExportOptions): string =>
  csv(
    xero_columns,
    documents.flatMap((one) =>
      one.lines.map((line) => ({
        "*ContactName": one.member_name,
        EmailAddress: one.member_email,
        "*InvoiceNumber": one.number,
        Reference: one.invoice_number ?? one.reference,
        "*InvoiceDate": dateText(one.date, options.locale, "figures"),
        "*DueDate": dateText(one.due_date ?? one.date, options.locale, "figures"),
        Total: one.total,
        "*Description": line.description,
        "*Quantity": "1",
        "*UnitAmount": line.net,
        "*AccountCode": line.account,
        "*TaxType": line.tax_code,
        TaxAmount: line.tax,
        Currency: one.currency
      }))
    ),
    options
  )

const quickbooks_columns = (
  "*InvoiceNo *Customer *InvoiceDate *DueDate Memo Item(Product/Service) ItemDescription ItemQuantity " +
  "ItemRate *ItemAmount *ItemTaxCode ItemTaxAmount Currency"
).split(" ")
const quickbooksFile = (documents: ReadonlyArray<PostedDocument>, options: ExportOptions): string =>
  csv(
    quickbooks_columns,
    documents.flatMap((one) =>
      one.lines.map((line) => ({
        "*InvoiceNo": one.number,
        "*Customer": one.member_name,
        "*InvoiceDate": dateText(one.date, options.locale, "figures"),
        "*DueDate": dateText(one.due_date ?? one.date, options.locale, "figures"),
        Memo: one.invoice_number ?? one.reference,
        "Item(Product/Service)": line.account,
        ItemDescription: line.description,
        ItemQuantity: "1",
        ItemRate: line.net,
        "*ItemAmount": line.net,
        "*ItemTaxCode": line.tax_code,
        ItemTaxAmount: line.tax,
        Currency: one.currency
      }))
    ),
    options
  )

/** Payments as rows of a bank statement, for both programs; refunds are negative. */
const paymentsFile = (documents: ReadonlyArray<PostedDocument>, options: ExportOptions): string =>
  csv(
    ["*Date", "*Amount", "Payee", "Description", "Reference", "Account", "Currency"],
    documents.map((one) => ({
      "*Date": dateText(one.date, options.locale, "figures"),
      "*Amount": one.total,
      Payee: one.member_name,
      Description: `Invoice ${one.invoice_number ?? ""}`,
      Reference: one.reference,
      // The account that received the payment comes first.
      Account: one.postings[0]?.account ?? "",
      Currency: one.currency
    })),
    options
  )
