/** What the mail with an invoice says, and the fields that texts of the settings may name. */
import { dateText, moneyText } from "../../print/format.ts"
import { formatMoney } from "../../values/money.ts"
import { dayOf } from "../../values/zone.ts"
import type { InvoiceRow, NamedParty } from "../schema.ts"
import type { PaperOptions } from "./letter.ts"
import { paymentLink } from "./pay.ts"
import { wordsOf } from "./words.ts"

export const mail_fields = [
  "invoice.number",
  "invoice.type",
  "invoice.subject",
  "invoice.reference",
  "invoice.total",
  "invoice.to_pay",
  "invoice.issued_on",
  "invoice.due_on",
  "invoice.payment_link",
  "member.name",
  "company.name"
] as const

export interface MailData {
  readonly invoice: { readonly [field: string]: string }
  readonly member: { readonly name: string }
  readonly company: { readonly name: string }
}
export const mailData = (
  invoice: InvoiceRow,
  parties: { readonly seller: NamedParty; readonly buyer: NamedParty },
  options: PaperOptions
): MailData => {
  const { currency_code, number } = invoice
  const { language, zone } = options
  const words = wordsOf(language)
  const money = (minor: number): string => moneyText(formatMoney(minor, currency_code), currency_code, language)
  const day = (instant: string | null): string =>
    instant === null ? "" : dateText(dayOf(Date.parse(instant), zone), language)
  const link =
    options.payment_link === null || number === null || invoice.amount_outstanding <= 0
      ? undefined
      : paymentLink(options.payment_link, {
          number,
          amount: formatMoney(invoice.amount_outstanding, currency_code),
          currency: currency_code
        })
  return {
    invoice: {
      number: number ?? "",
      type: { standard: words.invoice, deposit: words.deposit, proforma: words.proforma }[invoice.type],
      subject: invoice.subject ?? "",
      reference: invoice.reference ?? "",
      total: money(invoice.total),
      to_pay: money(Math.max(0, invoice.amount_outstanding)),
      issued_on: day(invoice.issued_at),
      due_on: day(invoice.due_at),
      payment_link: link ?? ""
    },
    member: { name: parties.buyer.name },
    company: { name: parties.seller.name }
  }
}

/** Where the settings say nothing. */
export const standardMail = (data: MailData, language: string): { readonly subject: string; readonly text: string } => {
  const { company, invoice, member } = data
  const lines = mailLines[language.split("-")[0] ?? ""] ?? mailLines["en"]
  return {
    subject: [`${invoice["type"]} ${invoice["number"]}`, company.name].filter((part) => part !== "").join(", "),
    text: [
      ...(lines?.(member.name, `${invoice["type"]} ${invoice["number"]}`, invoice["total"] ?? "") ?? []),
      ...(invoice["payment_link"] === "" ? [] : [invoice["payment_link"] ?? "", ""]),
      company.name,
      ""
    ].join("\n")
  }
}
const mailLines: {
  readonly [language: string]: (name: string, document: string, total: string) => ReadonlyArray<string>
} = {
  en: (name, document, total) => [`Dear ${name},`, "", `please find attached ${document}, ${total}.`, ""],
  de: (name, document, total) => [`Guten Tag ${name},`, "", `anbei erhalten Sie: ${document}, ${total}.`, ""],
  fr: (name, document, total) => [`Bonjour ${name},`, "", `veuillez trouver ci-joint : ${document}, ${total}.`, ""]
}
