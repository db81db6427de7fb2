/**
 * Currencies: ISO 4217 codes with the number of decimals their minor unit has, as seeded (rules/conventions 17). Money:
 * stored as an integer of minor units, in responses a decimal string at the currency's scale; requests may send either
 * (rules/rates 7). Fractions of a minor unit are rounded half away from zero, once.
 */
import { Result } from "effect"
import {
  exact,
  formatDecimal,
  fromScaled,
  isNumericText,
  multiplyDivide,
  type Numeric,
  plainDecimal,
  plainScaled,
  roundHalfAway,
  truncateAt
} from "./decimal.ts"
import { parseMoment } from "./moment.ts"

interface Currency {
  readonly code: string
  readonly name: string
  readonly symbol: string
  readonly decimal_places: number
  readonly symbol_position: "before" | "after"
  readonly thousand_separator: string
  readonly decimal_separator: string
  readonly is_enabled: boolean
}

type Style = "1,234.5 before" | "1.234,5 before" | "1.234,5 after" | "1 234,5 after" | "1'234.5 before"
const enabled: ReadonlySet<string> = new Set(["GBP", "USD", "EUR"])

const currency = (code: string, name: string, symbol: string, decimal_places: number, style: Style): Currency => ({
  code,
  name,
  symbol,
  decimal_places,
  symbol_position: style.endsWith("before") ? "before" : "after",
  thousand_separator: style.charAt(1),
  decimal_separator: style.charAt(5),
  is_enabled: enabled.has(code)
})

/** The seeded currencies, by code. Money in any other currency is refused. */
export const currencies: ReadonlyArray<Currency> = [
  currency("AED", "United Arab Emirates Dirham", "AED", 2, "1,234.5 before"),
  currency("ARS", "Argentine Peso", "$", 2, "1.234,5 before"),
  currency("AUD", "Australian Dollar", "$", 2, "1,234.5 before"),
  currency("BGN", "Bulgarian Lev", "лв", 2, "1 234,5 after"),
  currency("BHD", "Bahraini Dinar", "BD", 3, "1,234.5 before"),
  currency("BRL", "Brazilian Real", "R$", 2, "1.234,5 before"),
  currency("CAD", "Canadian Dollar", "$", 2, "1,234.5 before"),
  currency("CHF", "Swiss Franc", "CHF", 2, "1'234.5 before"),
  currency("CLP", "Chilean Peso", "$", 0, "1.234,5 before"),
  currency("CNY", "Chinese Yuan", "¥", 2, "1,234.5 before"),
  currency("COP", "Colombian Peso", "$", 2, "1.234,5 before"),
  currency("CZK", "Czech Koruna", "Kč", 2, "1 234,5 after"),
  currency("DKK", "Danish Krone", "kr", 2, "1.234,5 after"),
  currency("EGP", "Egyptian Pound", "E£", 2, "1,234.5 before"),
  currency("EUR", "Euro", "€", 2, "1.234,5 before"),
  currency("GBP", "Pound Sterling", "£", 2, "1,234.5 before"),
  currency("HKD", "Hong Kong Dollar", "HK$", 2, "1,234.5 before"),
  currency("HUF", "Hungarian Forint", "Ft", 2, "1 234,5 after"),
  currency("IDR", "Indonesian Rupiah", "Rp", 2, "1.234,5 before"),
  currency("ILS", "Israeli New Shekel", "₪", 2, "1,234.5 before"),
  currency("INR", "Indian Rupee", "₹", 2, "1,234.5 before"),
  currency("ISK", "Icelandic Króna", "kr", 0, "1.234,5 after"),
  currency("JOD", "Jordanian Dinar", "JD", 3, "1,234.5 before"),
  currency("JPY", "Japanese Yen", "¥", 0, "1,234.5 before"),
  currency("KES", "Kenyan Shilling", "KSh", 2, "1,234.5 before"),
  currency("KRW", "South Korean Won", "₩", 0, "1,234.5 before"),
  currency("KWD", "Kuwaiti Dinar", "KD", 3, "1,234.5 before"),
  currency("MXN", "Mexican Peso", "$", 2, "1,234.5 before"),
  currency("MYR", "Malaysian Ringgit", "RM", 2, "1,234.5 before"),
  currency("NOK", "Norwegian Krone", "kr", 2, "1 234,5 after"),
  currency("NZD", "New Zealand Dollar", "$", 2, "1,234.5 before"),
  currency("OMR", "Omani Rial", "OMR", 3, "1,234.5 before"),
  currency("PHP", "Philippine Peso", "₱", 2, "1,234.5 before"),
  currency("PLN", "Polish Złoty", "zł", 2, "1 234,5 after"),
  currency("QAR", "Qatari Riyal", "QR", 2, "1,234.5 before"),
  currency("RON", "Romanian Leu", "lei", 2, "1.234,5 after"),
  currency("SAR", "Saudi Riyal", "SR", 2, "1,234.5 before"),
  currency("SEK", "Swedish Krona", "kr", 2, "1 234,5 after"),
  currency("SGD", "Singapore Dollar", "S$", 2, "1,234.5 before"),
  currency("THB", "Thai Baht", "฿", 2, "1,234.5 before"),
  currency("TND", "Tunisian Dinar", "DT", 3, "1 234,5 after"),
  currency("TRY", "Turkish Lira", "₺", 2, "1.234,5 before"),
  currency("TWD", "New Taiwan Dollar", "NT$", 2, "1,234.5 before"),
  currency("UAH", "Ukrainian Hryvnia", "₴", 2, "1 234,5 after"),
  currency("USD", "US Dollar", "$", 2, "1,234.5 before"),
  currency("VND", "Vietnamese Đồng", "₫", 0, "1.234,5 after"),
  currency("ZAR", "South African Rand", "R", 2, "1 234,5 after")
]

const byCode: ReadonlyMap<string, Currency> = new Map(currencies.map((row) => [row.code, row]))

/** The currency of an upper-case ISO code, or undefined when it is not one this system knows. */
export const currencyOf = (code: string): Currency | undefined => byCode.get(code)
export const isCurrency = (code: string): boolean => byCode.has(code)

/**
 * Decimals of a currency's minor unit: GBP 2, JPY 0, KWD 3. Codes are checked at the edge; a foreign one counts as 2.
 */
export const scaleOf = (code: string): number => byCode.get(code)?.decimal_places ?? 2

/** The code as stored: trimmed and upper-case; undefined when it is not text or not a known currency. */
export const normaliseCurrency = (input: unknown): string | undefined => {
  if (typeof input !== "string") return undefined
  const code = input.trim().toUpperCase()
  return isCurrency(code) ? code : undefined
}

// Exchange rates: which one holds at an instant, and converting money with it (rules/rates 9.5, rules/conventions 17).

export const EXCHANGE_RATE_SCALE = 8

/** One stored rate: 1 source unit buys `rate` target units, from `effective_at` until before `expires_at`. */
interface ExchangeRate {
  readonly id: number
  readonly source_currency_code: string
  readonly target_currency_code: string
  readonly rate: string
  /** Null: computed as 1 / rate. */
  readonly inverse_rate: string | null
  readonly effective_at: string
  readonly expires_at: string | null
}

/** `1 / rate`, cut to 8 decimals. */
export const inverseOf = (rate: string): string =>
  formatDecimal(truncateAt(exact(1).dividedBy(exact(rate)), EXCHANGE_RATE_SCALE), EXCHANGE_RATE_SCALE)

/**
 * The rate from one currency to another at an instant: the stored pair, else the inverse of the reverse pair, else by
 * way of the base currency, cut to 8 decimals. Undefined when nothing connects them. Equal currencies give
 * "1.00000000".
 */
export const findExchangeRate = (
  rates: ReadonlyArray<ExchangeRate>,
  question: { readonly from: string; readonly to: string; readonly base_currency: string; readonly at: string }
): string | undefined => {
  const { at, base_currency, from, to } = question
  if (from === to) return formatDecimal(1, EXCHANGE_RATE_SCALE)
  const straight = pairRate(rates, from, to, at)
  if (straight !== undefined || from === base_currency || to === base_currency) return straight
  const toBase = pairRate(rates, from, base_currency, at)
  const fromBase = pairRate(rates, base_currency, to, at)
  if (toBase === undefined || fromBase === undefined) return undefined
  return formatDecimal(truncateAt(exact(toBase).times(exact(fromBase)), EXCHANGE_RATE_SCALE), EXCHANGE_RATE_SCALE)
}

const pairRate = (rates: ReadonlyArray<ExchangeRate>, from: string, to: string, at: string): string | undefined => {
  const direct = effectiveRate(rates, from, to, at)
  if (direct !== undefined) return formatDecimal(direct.rate, EXCHANGE_RATE_SCALE)
  const reverse = effectiveRate(rates, to, from, at)
  if (reverse === undefined) return undefined
  return reverse.inverse_rate === null
    ? inverseOf(reverse.rate)
    : formatDecimal(reverse.inverse_rate, EXCHANGE_RATE_SCALE)
}

/** The newest rate of the pair in force at the instant; of two equally new ones, the one entered last. */
const effectiveRate = (
  rates: ReadonlyArray<ExchangeRate>,
  from: string,
  to: string,
  at: string
): ExchangeRate | undefined => {
  const now = instant(at)
  return rates
    .filter((rate) => rate.source_currency_code === from && rate.target_currency_code === to)
    .filter((rate) => instant(rate.effective_at) <= now && (rate.expires_at === null || now < instant(rate.expires_at)))
    .sort((a, b) => instant(b.effective_at) - instant(a.effective_at) || b.id - a.id)[0]
}

const instant = (text: string): number => parseMoment(text)?.epoch_ms ?? Number.NaN

/** Converts minor units between currencies, allowing for their scales; rounds half away from zero once. */
export const convertMoney = (minor: number, from: string, to: string, rate: string): number =>
  roundHalfAway(
    exact(minor)
      .times(exact(rate))
      .times(exact(10).pow(scaleOf(to) - scaleOf(from)))
  ).toNumber() + 0

/** The largest amount a body may carry: what fits a signed 32-bit integer of minor units. */
export const MAX_MONEY_MINOR = 2_147_483_647

interface MoneyRules {
  /** Allow amounts below zero (deductions on an invoice). */
  readonly signed?: boolean
  /** Take whole JSON numbers of minor units only, no decimal strings (plain columns such as a member's day cost). */
  readonly minor_only?: boolean
}

/** Sum of amounts in minor units. */
export const sumMoney = (amounts: ReadonlyArray<number>): number => amounts.reduce((all, one) => all + one, 0)

/**
 * Reads money from a body: a whole JSON number is minor units; a string, or a number with a fraction, is major units
 * at the currency's scale. The failure is a text that continues a field's name: "must be a number."
 */
export const parseMoney = (input: unknown, currency: string, rules: MoneyRules = {}): Result.Result<number, string> => {
  if (typeof input === "number" && Number.isInteger(input)) return inRange(input, rules, undefined)
  if (rules.minor_only === true) return Result.fail("must be a whole number of minor units.")
  const text = typeof input === "number" ? String(input) : typeof input === "string" ? input.trim() : ""
  if (!isNumericText(text)) return Result.fail("must be a number.")
  const scale = scaleOf(currency)
  const plain = plainScaled(text, scale)
  if (plain !== undefined) return inRange(Number(plain), rules, currency)
  const minor = exact(text).times(exact(10).pow(scale))
  if (!minor.isInteger()) {
    return Result.fail(`must have ${scale === 0 ? "no" : `at most ${scale}`} decimals in ${currency}.`)
  }
  return inRange(minor.toNumber(), rules, currency)
}

/** `currency`: the amount was given in its major units, and errors state the limits in them. */
const inRange = (minor: number, rules: MoneyRules, currency: string | undefined): Result.Result<number, string> => {
  if (minor < 0 && rules.signed !== true) return Result.fail("must be at least 0.")
  if (Math.abs(minor) > MAX_MONEY_MINOR) {
    const most = currency === undefined ? `${MAX_MONEY_MINOR} minor units` : formatMoney(MAX_MONEY_MINOR, currency)
    return Result.fail(`must not be greater than ${most}.`)
  }
  // Adding zero turns a negative zero ("-0.00") into plain zero.
  return Result.succeed(minor + 0)
}

/**
 * Minor units as a decimal string at the currency's own scale: 12550 GBP is "125.50", 1234 KWD "1.234". Exact at any
 * size.
 */
export const formatMoney = (minor: number | bigint, currency: string): string =>
  fromScaled(Number.isSafeInteger(minor) ? minor : BigInt(minor), scaleOf(currency))

/** `minor × factor`, rounded half away from zero to the minor unit. */
export const timesMoney = (minor: number | bigint, factor: Numeric): bigint => {
  const plain = plainDecimal(factor)
  const whole = plain === undefined ? undefined : multiplyDivide(Number(minor), plain.parts, plain.per_one)
  return whole === undefined ? BigInt(roundHalfAway(exact(minor).times(exact(factor))).toFixed(0)) : BigInt(whole)
}

/** `percent` of an amount, rounded half away from zero to the minor unit. */
export const percentOfMoney = (minor: number, percent: Numeric): number => {
  const plain = plainDecimal(percent)
  return (
    (plain === undefined ? undefined : multiplyDivide(minor, plain.parts, plain.per_one * 100)) ??
    roundHalfAway(exact(minor).times(exact(percent)).dividedBy(100)).toNumber() + 0
  )
}

/** The amount without the `percent` included in it, rounded half away from zero to the minor unit. */
export const withoutPercent = (minor: number, percent: Numeric): number => {
  const plain = plainDecimal(percent)
  return (
    (plain === undefined || plain.parts < 0
      ? undefined
      : multiplyDivide(minor, plain.per_one * 100, plain.parts + plain.per_one * 100)) ??
    roundHalfAway(exact(minor).times(100).dividedBy(exact(percent).plus(100))).toNumber() + 0
  )
}

/**
 * Splits an amount over weights by largest remainder: the parts add up to it exactly, ties go to the earlier part.
 * Weights below zero count as zero; when no weight is left the amount is split evenly. A negative amount mirrors.
 */
export const allocateMoney = (total: number, weights: ReadonlyArray<number>): ReadonlyArray<number> => {
  if (weights.length === 0) return []
  if (total < 0) return allocateMoney(-total, weights).map((part) => 0 - part)
  const clamped = weights.map((weight) => Math.max(0, weight))
  const sum = clamped.reduce((a, b) => a + b, 0)
  const shares = sum === 0 ? weights.map(() => 1) : clamped
  const divisor = sum === 0 ? weights.length : sum
  const heaviest = shares.reduce((a, b) => Math.max(a, b), 0)
  const { parts, remainders } =
    Number.isSafeInteger(divisor) && Number.isSafeInteger(total * heaviest)
      ? plainShares(total, shares, divisor)
      : wideShares(total, shares)
  handOut(parts, remainders, total - parts.reduce((a, b) => a + b, 0))
  return parts
}

/** Shares cut to whole minor units, and the remainders as fractions of one divisor. */
interface Shared<N> {
  readonly parts: Array<number>
  readonly remainders: ReadonlyArray<N>
}
const plainShares = (total: number, shares: ReadonlyArray<number>, divisor: number): Shared<number> => {
  const remainders = shares.map((share) => (total * share) % divisor)
  return { parts: shares.map((share, index) => (total * share - remainders[index]!) / divisor), remainders }
}
const wideShares = (total: number, shares: ReadonlyArray<number>): Shared<bigint> => {
  const products = shares.map((share) => BigInt(total) * BigInt(share))
  const divisor = shares.reduce((sum, share) => sum + BigInt(share), 0n)
  return {
    parts: products.map((product) => Number(product / divisor)),
    remainders: products.map((product) => product % divisor)
  }
}

const inOrder = (values: ReadonlyArray<number | bigint>): Float64Array | ReadonlyArray<number | bigint> =>
  typeof values[0] === "number"
    ? Float64Array.from(values).sort()
    : [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
/** Adds the remaining minor units, one each, to the parts with the largest remainders; ties go to the earlier part. */
const handOut = (parts: Array<number>, remainders: ReadonlyArray<number | bigint>, left: number): void => {
  if (left <= 0) return
  const sorted = inOrder(remainders)
  const least = sorted[sorted.length - left]!
  let equals = left
  for (let at = sorted.length - 1; sorted[at]! > least; at--) equals--
  remainders.forEach((remainder, index) => {
    if (remainder > least || (remainder === least && equals-- > 0)) parts[index] = (parts[index] ?? 0) + 1
  })
}
