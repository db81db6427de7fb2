/**
 * Stage 1 of pricing: price of one line before rules, surcharges and tax (rules/rates 9.1, 9.2; rules/opportunities
 * 7.6).
 */
import { Result } from "effect"
import type { FieldErrors } from "../../kernel/index.ts"
import { formatDecimal, wholeUnits } from "../../values/decimal.ts"
import { DAY_MS, parseMoment } from "../../values/moment.ts"
import { MAX_MONEY_MINOR, percentOfMoney, withoutPercent } from "../../values/money.ts"
import { calculateRateTotal, type RateMethod } from "./engine.ts"
import type { RateTransactionType } from "./modifiers.ts"

// Calculates tax, and finds the rate for a pair of tax classes (rules/rates 8).

/** Decimals of a tax percentage: "20.0000". */
const TAX_RATE_SCALE = 4

/** An amount without and with tax, in minor units; net + tax = gross always. */
export interface TaxedAmount {
  readonly net: number
  readonly tax: number
  readonly gross: number
}

/** Adds tax to a net amount. `rate`: percentage such as "20.0000". Negative amounts mirror positive ones. */
export const exclusiveTax = (net: number, rate: string): TaxedAmount => {
  const tax = percentOfMoney(net, rate)
  return { net, tax, gross: net + tax }
}

/** Splits a gross amount into net and tax; the net is rounded, and the tax is the remainder. */
export const inclusiveTax = (gross: number, rate: string): TaxedAmount => {
  const net = withoutPercent(gross, rate)
  return { net, tax: gross - net, gross }
}

interface TaxRate {
  readonly id: number
  readonly name: string
  /** Percentage, 4 decimals. */
  readonly rate: string
  readonly is_active: boolean
}
interface TaxRule {
  readonly id: number
  readonly organisation_tax_class_id: number
  readonly product_tax_class_id: number
  readonly tax_rate_id: number
  readonly priority: number
  readonly is_active: boolean
}
/** Tax rules, rates and default classes. */
export interface TaxTable {
  readonly rules: ReadonlyArray<TaxRule>
  readonly rates: ReadonlyArray<TaxRate>
  readonly default_organisation_tax_class_id: number | null
  readonly default_product_tax_class_id: number | null
}

/** Tax of a pair of classes. Without tax: no rate id, name "No Tax", 0 percent. */
export interface ResolvedTax {
  readonly tax_rate_id: number | null
  readonly name: string
  readonly percentage: string
}
export const noTax: ResolvedTax = { tax_rate_id: null, name: "No Tax", percentage: formatDecimal(0, TAX_RATE_SCALE) }

/**
 * Tax for a member's and a product's tax class. Without a class there is no tax; pairs without a rule use that of the
 * default classes; an inactive rate means no tax, without fallback.
 */
export const resolveTax = (
  table: TaxTable,
  organisation_tax_class_id: number | null,
  product_tax_class_id: number | null
): ResolvedTax => {
  if (organisation_tax_class_id === null || product_tax_class_id === null) return noTax
  const rule =
    ruleFor(table.rules, organisation_tax_class_id, product_tax_class_id) ??
    ruleFor(table.rules, table.default_organisation_tax_class_id, table.default_product_tax_class_id)
  const rate = table.rates.find(({ id, is_active }) => is_active && id === rule?.tax_rate_id)
  return rate === undefined
    ? noTax
    : { tax_rate_id: rate.id, name: rate.name, percentage: formatDecimal(rate.rate, TAX_RATE_SCALE) }
}

/** A stored percentage of a product tax class, used while tax is locked; with null for all other classes. */
export type LockedTax = Pick<ResolvedTax, keyof ResolvedTax> & { readonly product_tax_class_id: number | null }
/** Percentages of a customer's class with each product tax class, to store when tax is locked. */
export const lockedTaxes = (table: TaxTable, organisation_tax_class_id: number | null): ReadonlyArray<LockedTax> => {
  const own = table.rules.filter((rule) => rule.organisation_tax_class_id === organisation_tax_class_id)
  const classes = [...new Set(own.map((rule) => rule.product_tax_class_id))].sort((a, b) => a - b)
  // No class has id 0, so this gives the rule of the default pair.
  const others = resolveTax(table, organisation_tax_class_id, 0)
  return [
    ...classes.map((id) => ({ product_tax_class_id: id, ...resolveTax(table, organisation_tax_class_id, id) })),
    { product_tax_class_id: null, ...others }
  ]
}
/** Tax of a pair of classes, by stored percentages if tax is locked, else by the table. */
export const resolveLockedTax = (
  { locked_taxes, tax_locked }: { readonly tax_locked: boolean; readonly locked_taxes: ReadonlyArray<LockedTax> },
  table: TaxTable,
  organisation_tax_class_id: number | null,
  product_tax_class_id: number | null
): ResolvedTax => {
  const kept = locked_taxes.find((one) => one.product_tax_class_id === product_tax_class_id) ?? locked_taxes.at(-1)
  if (!tax_locked || kept === undefined) return resolveTax(table, organisation_tax_class_id, product_tax_class_id)
  return product_tax_class_id === null
    ? noTax
    : { tax_rate_id: kept.tax_rate_id, name: kept.name, percentage: kept.percentage }
}

const ruleFor = (
  rules: ReadonlyArray<TaxRule>,
  organisation: number | null,
  product: number | null
): TaxRule | undefined =>
  rules
    .filter(
      (rule) =>
        rule.is_active && rule.organisation_tax_class_id === organisation && rule.product_tax_class_id === product
    )
    .sort((a, b) => b.priority - a.priority || a.id - b.id)[0]

export type TransactionType = RateTransactionType | "sub_rental"

/** Transaction types of lines by their code in the API. */
export const transactionTypes: { readonly [code: number]: TransactionType } = {
  0: "rental",
  1: "sale",
  2: "service",
  3: "sub_rental"
}

/** Transaction type of the product rates that price a line; sub-hired equipment is charged at the rental rate. */
export const rateTypeOfLine: { readonly [T in TransactionType]: RateTransactionType } = {
  rental: "rental",
  sale: "sale",
  service: "service",
  sub_rental: "rental"
}

interface Window {
  /** Start and end as timestamps; if one is null, a line without a rate is charged for one day. */
  readonly starts_at: string | null
  readonly ends_at: string | null
}
interface DayOverride {
  readonly use_chargeable_days: boolean
  /** Chargeable days as a decimal string with one decimal, or null. */
  readonly chargeable_days: string | null
}

/**
 * Chargeable days of a line without a rate: the override, rounded to whole days, else full 24-hour days of the window;
 * at least one. The rate engine counts otherwise, rounding up.
 */
export const chargeableDays = (window: Window, override: DayOverride): number => {
  if (override.use_chargeable_days && override.chargeable_days !== null) {
    return Math.max(1, wholeUnits(override.chargeable_days))
  }
  const start = window.starts_at === null ? undefined : parseMoment(window.starts_at)
  const end = window.ends_at === null ? undefined : parseMoment(window.ends_at)
  if (start === undefined || end === undefined) return 1
  return Math.max(1, Math.floor((end.epoch_ms - start.epoch_ms) / DAY_MS))
}

export interface LineRequest extends Window {
  readonly transaction_type: TransactionType
  /** Quantity as a decimal string, rounded half away from zero to whole units for pricing. */
  readonly quantity: string
  /** Manual price in minor units; null to use a rate. 0 for accessories charged at zero. */
  readonly manual_unit_price: number | null
  /** Manual total of the whole line, whatever its quantity and time. */
  readonly manual_total?: number | null
  /** Chosen product rate with its price converted to `currency`; null if none applies. */
  readonly rate: { readonly price: number; readonly method: RateMethod } | null
  /** Stored unit price in minor units, used if there is neither a manual price nor a rate. */
  readonly carried_unit_price: number
  /** Discount percentage with up to 2 decimals, or null. */
  readonly discount_percent: string | null
  readonly days: DayOverride
  /** Whether a manual or carried price is charged once, whatever the time. */
  readonly is_fixed?: boolean
  readonly currency: string
  readonly prices_include_tax: boolean
  /** Tax percentage of the line: "20.0000". */
  readonly tax_rate: string
}

/** Price of a line; amounts are in minor units. */
export interface PricedLine {
  readonly source: "manual" | "rate" | "carried"
  readonly unit_price: number
  /** Units by the engine, or chargeable days; without a rate 1 for sales, fixed prices and manual totals. */
  readonly units: number
  readonly subtotal: number
  /** Amount of the line's own discount. */
  readonly discount: number
  /** Total after the line's discount, without tax. */
  readonly total: number
}

/** Maximum line total, so that the sum of a thousand such lines is still exact. */
const MAX_LINE_TOTAL_MINOR = 9_000_000_000_000

export const priceLine = (line: LineRequest): Result.Result<PricedLine, FieldErrors> => {
  const priced = lineSubtotal(line)
  if (Result.isFailure(priced)) return Result.fail(priced.failure)
  const { source, subtotal, unit_price, units } = priced.success
  if (subtotal > MAX_LINE_TOTAL_MINOR) {
    return Result.fail({ quantity: ["The line total is too large. Split the line or lower its quantity."] })
  }
  const discount = line.discount_percent === null ? 0 : percentOfMoney(subtotal, line.discount_percent)
  const discounted = subtotal - discount
  const total = line.prices_include_tax ? inclusiveTax(discounted, line.tax_rate).net : discounted
  return Result.succeed({ source, unit_price, units, subtotal, discount, total })
}

/** Price of a line before discount. `subtotal`: minor units; above the limit of a line it is not exact. */
type Subtotal = Pick<PricedLine, "source" | "unit_price" | "units" | "subtotal">

const lineSubtotal = (line: LineRequest): Result.Result<Subtotal, FieldErrors> => {
  const quantity = wholeUnits(line.quantity)
  if (line.manual_total !== undefined && line.manual_total !== null)
    return Result.succeed({
      source: "manual",
      unit_price: shareOf(line.manual_total, line.quantity),
      units: 1,
      subtotal: line.manual_total
    })
  if (line.manual_unit_price !== null) return Result.succeed(byTheDay(line, "manual", line.manual_unit_price, quantity))
  if (line.rate === null) return Result.succeed(byTheDay(line, "carried", line.carried_unit_price, quantity))
  const { method, price } = line.rate
  const start = line.starts_at ?? line.ends_at
  const end = line.ends_at ?? line.starts_at
  if (start === null || end === null) return Result.fail({ starts_at: ["A line priced by a rate needs its dates."] })
  const request = { ...method, price, currency: line.currency, start, end, quantity: Math.max(1, quantity) }
  const calculated = calculateRateTotal(request)
  if (Result.isFailure(calculated)) return Result.fail(asLineErrors(calculated.failure))
  const { total, units } = calculated.success
  return Result.succeed({ source: "rate", unit_price: price, units, subtotal: total })
}

/** Rounded price of one unit of a line with this total; the quantity is rounded to whole units, at least one. */
export const shareOf = (total: number, quantity: string): number =>
  Math.round(total / Math.max(1, wholeUnits(quantity)))

const byTheDay = (line: LineRequest, source: "manual" | "carried", unit_price: number, quantity: number): Subtotal => {
  const units = line.transaction_type === "sale" || line.is_fixed === true ? 1 : chargeableDays(line, line.days)
  const subtotal = unit_price * quantity * units
  return {
    source,
    unit_price,
    units,
    subtotal: Number.isSafeInteger(subtotal) ? subtotal : Number(BigInt(unit_price) * BigInt(quantity) * BigInt(units))
  }
}

/** Errors of the engine, keyed by the line's fields. */
const asLineErrors = (errors: FieldErrors): FieldErrors => {
  const names: { readonly [field: string]: string } = { start: "starts_at", end: "ends_at" }
  return Object.fromEntries(Object.entries(errors).map(([field, texts]) => [names[field] ?? field, texts]))
}

/** Errors of a manual price: unit price and line total must be within the range of money (rules/rates 9.3). */
export const overrideErrors = (unit_price: number, line: PricedLine): FieldErrors | undefined =>
  unit_price < 0 || unit_price > MAX_MONEY_MINOR || line.subtotal > MAX_MONEY_MINOR
    ? { unit_price: [`The unit price makes the line total greater than ${MAX_MONEY_MINOR} minor units.`] }
    : undefined
