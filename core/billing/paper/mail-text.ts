/** Text of the mail with an invoice, and the fields for texts of the settings. */
import { formatMoney } from "../../values/money.ts"
import type { InvoiceRow, NamedParty } from "../state/tables.ts"
import { dateText, moneyText } from "../../pricing/print/format.ts"
import { inLanguage } from "../../values/text.ts"
import { dayOf } from "../../values/time.ts"
import type { PaperOptions } from "./letter.ts"
import { type Words, wordsOf } from "./words.ts"

// Ways to pay printed on an invoice: a QR code for credit transfers in euros, and a payment URL.

/** Amount due of an invoice; 0 for proformas, which take no payments. */
export const amountAsked = ({ amount_outstanding, type }: Pick<InvoiceRow, "amount_outstanding" | "type">): number =>
  type === "proforma" ? 0 : Math.max(0, amount_outstanding)

/** IBAN without spaces, in capitals. */
const plainIban = (iban: string): string => iban.replace(/\s+/g, "").toUpperCase()
/** IBAN check: letters count as 10 to 35, the first four characters move to the end, and the number modulo 97 is 1. */
export const isIban = (iban: string): boolean => {
  const plain = plainIban(iban)
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(plain)) return false
  const digits = [...(plain.slice(4) + plain.slice(0, 4))].map((sign) => Number.parseInt(sign, 36)).join("")
  let rest = 0
  for (const digit of digits) rest = (rest * 10 + Number(digit)) % 97
  return rest === 1
}
export const isBic = (bic: string): boolean => /^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$/.test(bic.trim().toUpperCase())
/** IBAN in groups of four, for printing. */
export const spacedIban = (iban: string): string => plainIban(iban).replace(/(.{4})(?=.)/g, "$1 ")

const cut = (text: string, bytes_max: number): string => {
  let kept = ""
  let bytes = 0
  for (const sign of text.replace(/\s+/g, " ").trim()) {
    bytes += new TextEncoder().encode(sign).length
    if (bytes > bytes_max) break
    kept += sign
  }
  return kept
}

/**
 * Text of an EPC QR code (EPC069-12, GiroCode), at most 331 bytes: a credit transfer that banking apps fill in.
 * Undefined for other currencies than EUR, an invalid IBAN, a blank holder or an amount outside 0.01 to 999999999.99.
 */
export const epcCode = (payment: {
  readonly iban: string
  readonly bic: string | null
  readonly holder: string
  readonly currency: string
  readonly amount_minor: number
  readonly text: string
}): string | undefined => {
  const { amount_minor, currency, holder, iban } = payment
  // The format allows at most 999999999.99.
  if (currency !== "EUR" || amount_minor <= 0 || amount_minor > 99_999_999_999 || !isIban(iban)) return undefined
  const name = cut(holder, 70)
  if (name === "") return undefined
  const bic = payment.bic !== null && isBic(payment.bic) ? payment.bic.trim().toUpperCase() : ""
  const lines = ["BCD", "002", "1", "SCT", bic, name, plainIban(iban), `EUR${formatMoney(amount_minor, "EUR")}`]
  // Purpose and structured reference stay empty.
  return [...lines, "", "", cut(payment.text, 140)].join("\n")
}

const fields = ["number", "amount", "currency"] as const

/** The error of a payment URL template; undefined if valid. */
export const paymentLinkFault = (template: string): string | undefined => {
  const unknown = [...template.matchAll(/\{([^}]*)\}/g)].find(([, name = ""]) => !fields.some((one) => one === name))
  if (unknown !== undefined) return `knows {number}, {amount} and {currency}, and not ${unknown[0]}.`
  return paymentLink(template, { number: "1", amount: "1.00", currency: "EUR" }) === undefined
    ? "must be an address that begins with https://."
    : undefined
}
/** The payment URL of one invoice; undefined if the template yields none. */
export const paymentLink = (
  template: string,
  values: { readonly [name in (typeof fields)[number]]: string }
): string | undefined => {
  const address = fields.reduce(
    (text, name) => text.replaceAll(`{${name}}`, encodeURIComponent(values[name])),
    template
  )
  return /^https:\/\/[^\s]+$/i.test(address) && address.length <= 2_000 && URL.canParse(address) ? address : undefined
}

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

interface MailData {
  readonly invoice: { readonly [field: string]: string }
  readonly member: { readonly name: string }
  readonly company: { readonly name: string }
}
const mailData = (
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
  const asked = amountAsked(invoice)
  const link =
    options.payment_link === null || number === null || asked === 0
      ? undefined
      : paymentLink(options.payment_link, {
          number,
          amount: formatMoney(asked, currency_code),
          currency: currency_code
        })
  return {
    invoice: {
      number: number ?? "",
      type: { standard: words.invoice, deposit: words.deposit, proforma: words.proforma }[invoice.type],
      subject: invoice.subject ?? "",
      reference: invoice.reference ?? "",
      total: money(invoice.total),
      to_pay: money(asked),
      issued_on: day(invoice.issued_at),
      due_on: day(invoice.due_at),
      payment_link: link ?? ""
    },
    member: { name: parties.buyer.name },
    company: { name: parties.seller.name }
  }
}

/** Amount left to pay and its due date, or the note that it is void; "" for drafts and proformas. */
const standingOf = (invoice: InvoiceRow, { due_on, to_pay }: MailData["invoice"], words: Words): string => {
  if (invoice.status === "voided") return words.voided
  if (invoice.status === "draft" || invoice.type === "proforma") return ""
  if (amountAsked(invoice) === 0) return words.nothing_to_pay
  return [`${words.outstanding}: ${to_pay}`, ...(due_on ? [`${words.due}: ${due_on}`] : [])].join("\n")
}

/** Subject and text of the mail if the settings have none. */
export const standardMail = (
  row: InvoiceRow,
  parties: Parameters<typeof mailData>[1],
  options: PaperOptions
): { readonly subject: string; readonly text: string } => {
  const { language } = options
  const { company, invoice, member } = mailData(row, parties, options)
  const document = `${invoice["type"]} ${invoice["number"]}`
  const standing = standingOf(row, invoice, wordsOf(language))
  return {
    subject: [document, company.name].filter((part) => part !== "").join(", "),
    text: [
      ...inLanguage(mailLines, language)(member.name, document, invoice["total"] ?? ""),
      ...[standing, invoice["payment_link"] ?? ""].flatMap((part) => (part === "" ? [] : [part, ""])),
      company.name,
      ""
    ].join("\n")
  }
}
const mailLines: Record<"en" | "de" | "fr", (name: string, document: string, total: string) => ReadonlyArray<string>> =
  {
    en: (name, document, total) => [`Dear ${name},`, "", `please find attached ${document}, ${total}.`, ""],
    de: (name, document, total) => [`Guten Tag ${name},`, "", `anbei erhalten Sie: ${document}, ${total}.`, ""],
    fr: (name, document, total) => [`Bonjour ${name},`, "", `veuillez trouver ci-joint : ${document}, ${total}.`, ""]
  }
