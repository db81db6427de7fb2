/**
 * Exchange rates: which one holds at an instant, and converting money with it (rules/rates 9.5, rules/conventions 17).
 */
import { scaleOf } from "./currency.ts"
import { truncateAt, exact, formatDecimal, roundHalfAway } from "./decimal.ts"
import { parseMoment } from "./moment.ts"

/** Decimals an exchange rate is stored with. */
export const EXCHANGE_RATE_SCALE = 8

/** One stored rate: 1 source unit buys `rate` target units, from `effective_at` until before `expires_at`. */
export interface ExchangeRate {
  readonly id: number
  readonly source_currency_code: string
  readonly target_currency_code: string
  readonly rate: string
  /** Null: 1 / rate. */
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
