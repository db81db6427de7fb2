/** Ways to pay that an invoice shows: the bank's code for payments in euros, and an address to pay at. */
import { formatMoney } from "../../values/money.ts"

/** Without blanks, in capitals. */
export const plainIban = (iban: string): string => iban.replace(/\s+/g, "").toUpperCase()
/** Letters count as 10 to 35, the first four signs go to the end, and the number leaves 1 when divided by 97. */
export const isIban = (iban: string): boolean => {
  const plain = plainIban(iban)
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(plain)) return false
  const digits = [...(plain.slice(4) + plain.slice(0, 4))].map((sign) => Number.parseInt(sign, 36)).join("")
  let rest = 0
  for (const digit of digits) rest = (rest * 10 + Number(digit)) % 97
  return rest === 1
}
export const isBic = (bic: string): boolean => /^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$/.test(bic.trim().toUpperCase())
/** As printed: four by four. */
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
 * The text of an EPC QR code (EPC069-12, known as GiroCode): a credit transfer in euros that a banking app fills in.
 * Undefined where one cannot be made. A code has 331 bytes at most, which its limits together do not reach.
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
  // At most 999999999.99.
  if (currency !== "EUR" || amount_minor <= 0 || amount_minor > 99_999_999_999 || !isIban(iban)) return undefined
  const name = cut(holder, 70)
  if (name === "") return undefined
  const bic = payment.bic !== null && isBic(payment.bic) ? payment.bic.trim().toUpperCase() : ""
  const lines = ["BCD", "002", "1", "SCT", bic, name, plainIban(iban), `EUR${formatMoney(amount_minor, "EUR")}`]
  // Purpose and structured reference stay empty.
  return [...lines, "", "", cut(payment.text, 140)].join("\n")
}

const fields = ["number", "amount", "currency"] as const

/** What is wrong with a template of an address to pay at; undefined where nothing is. */
export const paymentLinkFault = (template: string): string | undefined => {
  const unknown = [...template.matchAll(/\{([^}]*)\}/g)].find(([, name = ""]) => !fields.some((one) => one === name))
  if (unknown !== undefined) return `knows {number}, {amount} and {currency}, and not ${unknown[0]}.`
  return paymentLink(template, { number: "1", amount: "1.00", currency: "EUR" }) === undefined
    ? "must be an address that begins with https://."
    : undefined
}
/** The address to pay one invoice at; undefined where the template does not give one. */
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
