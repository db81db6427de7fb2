/** Amounts, numbers and dates as documents show them. */
import { currencies, currencyOf } from "../../values/currency.ts"
import { wallOf } from "../../values/time.ts"
import { type Locale, localeOf } from "./locales.ts"

const nbsp = "\u00a0"

/** A decimal string ("-1234.50") with the language's signs; its decimals stay as they are. */
export const numberText = (amount: string, language: string): string => numberIn(amount, localeOf(language))
const numberIn = (amount: string, { decimal, group }: Locale): string => {
  const [, sign = "", whole = "", fraction] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? []
  if (whole === "") return amount
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group)
  return `${sign}${grouped}${fraction === undefined ? "" : decimal + fraction}`
}

/** A quantity without decimals that say nothing: "2.500" is 2.5. */
export const quantityText = (amount: string, language: string): string =>
  numberText(/\./.test(amount) ? amount.replace(/\.?0+$/, "") : amount, language)

/** Signs that one currency alone has; `$` and `kr` are plain at home only. */
const shared = new Set(currencies.map(({ symbol }) => symbol).filter((symbol, at, all) => all.indexOf(symbol) !== at))
const signOf = (code: string, locale: Locale): string => {
  const found = currencyOf(code)
  if (found === undefined) return code
  return shared.has(found.symbol) && !locale.at_home.includes(code) ? code : found.symbol
}

/** Money: a decimal string at its currency's own scale, as answers have it ("1234.50" EUR, "1234" JPY, "1.234" KWD). */
export const moneyText = (amount: string, currency: string, language: string): string => {
  const locale = localeOf(language)
  const sign = signOf(currency, locale)
  const is_negative = amount.startsWith("-")
  const digits = numberIn(is_negative ? amount.slice(1) : amount, locale)
  const minus = is_negative ? "-" : ""
  if (locale.money === "after") return `${minus}${digits}${nbsp}${sign}`
  const space = locale.money === "before_spaced" || /\p{L}$/u.test(sign) ? nbsp : ""
  return `${minus}${sign}${space}${digits}`
}
/** "19" or "7.50" as "19 %" or "7.5%". */
export const percentText = (percent: string, language: string): string =>
  `${quantityText(percent, language)}${localeOf(language).money === "after" ? nbsp : ""}%`

/** A day ("2026-12-05"), in figures or with the month's name. */
export const dateText = (day: string, language: string, form: "figures" | "long" = "long"): string => {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})/.exec(day) ?? []
  if (year === undefined || month === undefined || date === undefined) return day
  const locale = localeOf(language)
  const parts: { readonly [part: string]: string } = {
    yyyy: year,
    mm: month,
    dd: date,
    month: locale.months[Number(month) - 1] ?? month,
    m: String(Number(month)),
    d: String(Number(date))
  }
  // A word such as "de" is no part: parts stand alone.
  return (form === "long" ? locale.long_date : locale.date).replace(
    /(?<![a-z])(yyyy|month|mm|dd|m|d)(?![a-z])/g,
    (part) => parts[part] ?? part
  )
}
/** An instant as a zone's clock shows it: day and time. */
export const momentText = (
  instant: string,
  zone: string,
  language: string,
  form: "figures" | "long" = "figures"
): string => {
  const millis = Date.parse(instant)
  if (Number.isNaN(millis)) return instant
  const wall = new Date(wallOf(millis, zone)).toISOString()
  return `${dateText(wall.slice(0, 10), language, form)} ${timeText(wall.slice(11, 16), language)}`
}
/** "14:30", or "2:30 PM" where it is written so. */
const timeText = (time: string, language: string): string => {
  if (localeOf(language).clock === "24") return time
  const hours = Number(time.slice(0, 2))
  return `${hours % 12 === 0 ? 12 : hours % 12}:${time.slice(3, 5)}${nbsp}${hours < 12 ? "AM" : "PM"}`
}
/** "Page {page} of {pages}" in the language. */
export const pageLabel = (language: string): string => localeOf(language).page_label
