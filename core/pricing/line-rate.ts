/** Which product rate prices a line, and what it costs in the opportunity's currency (rules/rates 9.1). */
import { scaleOf } from "../values/currency.ts"
import { exact, roundHalfAway } from "../values/decimal.ts"
import type { PricedRate } from "./resolution.ts"
import type { RateMethod } from "./engine.ts"
import { type RateLookup, resolveProductRate } from "./resolution.ts"
import { integerOr } from "./units.ts"

export interface LineCurrency {
  /** The opportunity's currency. */
  readonly currency: string
  readonly base_currency: string
  /** The exchange rate stored on the opportunity: one unit of `currency` in the base currency, decimal string. */
  readonly exchange_rate: string
}

export interface LineRate {
  readonly product_rate_id: number
  readonly rate_definition_id: number
  /** Minor units of the opportunity's currency. */
  readonly price: number
  readonly method: RateMethod
}

/**
 * Rates in the opportunity's own currency come first; only when none of them matches, one in the base currency is
 * converted at the exchange rate of the opportunity. Rates in any third currency never price a line.
 */
export const resolveLineRate = (
  rates: ReadonlyArray<PricedRate>,
  question: RateLookup,
  money: LineCurrency
): LineRate | null => {
  const own = resolveProductRate(
    rates.filter(({ currency }) => currency === money.currency),
    question
  )
  if (own !== null) return lineRate(own, own.price, own.method)
  if (money.currency === money.base_currency || exact(money.exchange_rate).isZero()) return null
  const base = resolveProductRate(
    rates.filter(({ currency }) => currency === money.base_currency),
    question
  )
  if (base === null) return null
  const charge = integerOr(base.method.strategy_config["fixed_charge"], 0)
  const strategy_config =
    charge === 0
      ? base.method.strategy_config
      : { ...base.method.strategy_config, fixed_charge: fromBase(charge, money) }
  return lineRate(base, fromBase(base.price, money), { ...base.method, strategy_config })
}

const lineRate = (rate: PricedRate, price: number, method: RateMethod): LineRate => ({
  product_rate_id: rate.id,
  rate_definition_id: rate.rate_definition_id,
  price,
  method
})

/**
 * Minor units of the base currency, converted to the opportunity's; unchanged where that is the same or has no rate.
 */
export const fromBase = (minor: number, { base_currency, currency, exchange_rate }: LineCurrency): number => {
  if (currency === base_currency || exact(exchange_rate).isZero()) return minor
  const scale = exact(10).pow(scaleOf(currency) - scaleOf(base_currency))
  return roundHalfAway(exact(minor).times(scale).dividedBy(exact(exchange_rate))).toNumber()
}
