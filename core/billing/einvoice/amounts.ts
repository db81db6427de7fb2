/** Amounts and prices as EN 16931 wants them: at most two decimals, prices never below zero. */
import { scaleOf } from "../../values/currency.ts"
import { exact, formatDecimal, fromScaled } from "../../values/decimal.ts"
import { formatMoney, timesMoney } from "../../values/money.ts"
import type { LineAllowance } from "./model.ts"
import type { Source, SourceRow } from "./source.ts"

/** Decimals of amounts (BR-DEC-*); prices may have more. */
const decimals_max = 2

/** Whether the amount can be written: thousandths of a dinar cannot. */
export const fits = (minor: number, currency: string): boolean =>
  minor % 10 ** Math.max(0, scaleOf(currency) - decimals_max) === 0

/** An amount that {@link fits}. */
export const amountText = (minor: number, currency: string): string => {
  const scale = scaleOf(currency)
  return scale <= decimals_max
    ? formatMoney(minor, currency)
    : fromScaled(BigInt(Math.round(minor / 10 ** (scale - decimals_max))), decimals_max)
}

/** Without zeros at the end: "20.0000" is "20". */
export const plainText = (decimal: string): string =>
  decimal.includes(".") ? decimal.replace(/0+$/, "").replace(/\.$/, "") : decimal

/** An amount in the base currency, to two decimals at most. */
export const inBaseCurrency = (
  minor: number,
  { base_currency, currency_code, exchange_rate }: Pick<Source, "base_currency" | "currency_code" | "exchange_rate">
): string =>
  formatDecimal(
    exact(minor)
      .dividedBy(exact(10).pow(scaleOf(currency_code)))
      .times(exact(exchange_rate)),
    Math.min(decimals_max, scaleOf(base_currency))
  )

export interface LinePrice {
  readonly quantity: string
  readonly price: string
  readonly price_quantity: string | null
  readonly allowance: LineAllowance | null
}
/** Quantity times price may miss the line's amount by so much (Peppol allows 0.02). */
const slack = exact("0.005")
const price_scales = [2, 3, 4, 6, 8] as const

/**
 * Price and quantity that come to the line's net: as they were entered where they do, else a price without tax made
 * from the net (rows with tax in their price, rows credited in part, currencies without decimals), of one unit where
 * so many decimals can hold it, else of the whole quantity (BT-149). What is below zero is so by its quantity (BR-27).
 */
export const linePrice = (
  row: SourceRow,
  net: number,
  { currency_code, prices_include_tax }: Pick<Source, "currency_code" | "prices_include_tax">
): LinePrice => {
  const quantity = plainText(row.quantity)
  const is_negative = net < 0 || (net === 0 && row.unit_price < 0)
  const signed = is_negative ? `-${quantity}` : quantity
  const amount = amountOf(Math.abs(net), currency_code)
  const price = amountOf(Math.abs(row.unit_price), currency_code)
  const before = Number(timesMoney(Math.abs(row.unit_price), row.quantity))
  const discount = Math.abs(row.discount_amount)
  // Without a percentage it is the rounding of a price, and nobody was granted anything.
  const is_shown = discount === 0 || (row.discount_percent !== null && !is_negative)
  const comes = is_shown && before - discount === Math.abs(net)
  const is_close = price.times(exact(quantity)).minus(amountOf(before, currency_code)).abs().lessThanOrEqualTo(slack)
  if (!prices_include_tax && comes && is_close && fits(before, currency_code) && fits(discount, currency_code)) {
    return {
      quantity: signed,
      price: formatMoney(Math.abs(row.unit_price), currency_code),
      price_quantity: null,
      allowance: discount === 0 ? null : allowanceOf(row, before, discount, currency_code)
    }
  }
  for (const scale of price_scales) {
    const unit = exact(formatDecimal(amount.dividedBy(exact(quantity)), scale))
    if (unit.times(exact(quantity)).minus(amount).abs().lessThan(slack))
      return { quantity: signed, price: unit.toFixed(scale), price_quantity: null, allowance: null }
  }
  return {
    quantity: signed,
    price: amountText(Math.abs(net), currency_code),
    price_quantity: quantity,
    allowance: null
  }
}
const amountOf = (minor: number, currency: string) => exact(minor).dividedBy(exact(10).pow(scaleOf(currency)))

/** The percentage is left out where rounding to whole yen took the discount away from it. */
const allowanceOf = (row: SourceRow, before: number, discount: number, currency: string): LineAllowance => {
  const percent = row.discount_percent
  const missed =
    percent === null
      ? undefined
      : amountOf(before, currency).times(exact(percent)).dividedBy(100).minus(amountOf(discount, currency))
  return {
    amount: amountText(discount, currency),
    base: amountText(before, currency),
    percent: percent === null || missed?.abs().greaterThan(slack) === true ? null : plainText(percent)
  }
}
