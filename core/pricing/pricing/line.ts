/**
 * Stage 1 of pricing: what one line costs before rules, surcharges and tax (rules/rates 9.1, 9.2; rules/opportunities
 * 7.6).
 */
import { Result } from "effect"
import type { FieldErrors } from "../../kernel/fields/rejection.ts"
import { formatDecimal, wholeUnits } from "../../values/decimal.ts"
import { DAY_MS, parseMoment } from "../../values/moment.ts"
import { MAX_MONEY_MINOR, percentOfMoney, withoutPercent } from "../../values/money.ts"
import { calculateRateTotal, type RateMethod } from "./engine.ts"
import type { RateTransactionType } from "./modifiers.ts"

// Tax: its amount, and the rule that decides its percentage (rules/rates 8).

/** Decimals of a tax percentage: "20.0000". */
const TAX_RATE_SCALE = 4

/** Minor units; net + tax = gross always. */
export interface TaxedAmount {
  readonly net: number
  readonly tax: number
  readonly gross: number
}

/** Tax on top of a net amount. `rate` is a percentage: "20.0000". Negative amounts mirror positive ones. */
export const exclusiveTax = (net: number, rate: string): TaxedAmount => {
  const tax = percentOfMoney(net, rate)
  return { net, tax, gross: net + tax }
}

/** Tax contained in a gross amount: the net is rounded, the tax is what remains. */
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
export interface TaxRule {
  readonly id: number
  readonly organisation_tax_class_id: number
  readonly product_tax_class_id: number
  readonly tax_rate_id: number
  readonly priority: number
  readonly is_active: boolean
}
/** Everything tax depends on but the two tax classes. */
export interface TaxTable {
  readonly rules: ReadonlyArray<TaxRule>
  readonly rates: ReadonlyArray<TaxRate>
  readonly default_organisation_tax_class_id: number | null
  readonly default_product_tax_class_id: number | null
}

/** The tax of a pair of classes. No tax has no rate id, the name "No Tax" and 0 percent. */
export interface ResolvedTax {
  readonly tax_rate_id: number | null
  readonly name: string
  readonly percentage: string
}
export const noTax: ResolvedTax = { tax_rate_id: null, name: "No Tax", percentage: formatDecimal(0, TAX_RATE_SCALE) }

/**
 * The tax for a member's sale tax class and a product's tax class. A missing class means no tax; a pair without a rule
 * falls back to the rule of the two default classes; an inactive rate means no tax and does not fall back.
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

/** A percentage that a lock keeps, of a product tax class; of every class without one of its own where that is null. */
export type LockedTax = Pick<ResolvedTax, keyof ResolvedTax> & { readonly product_tax_class_id: number | null }
/** The percentages of a customer's class with every product tax class, to be kept while tax is locked. */
export const lockedTaxes = (table: TaxTable, organisation_tax_class_id: number | null): ReadonlyArray<LockedTax> => {
  const own = table.rules.filter((rule) => rule.organisation_tax_class_id === organisation_tax_class_id)
  const classes = [...new Set(own.map((rule) => rule.product_tax_class_id))].sort((a, b) => a - b)
  // No class has the id 0: the rule of the default pair.
  const others = resolveTax(table, organisation_tax_class_id, 0)
  return [
    ...classes.map((id) => ({ product_tax_class_id: id, ...resolveTax(table, organisation_tax_class_id, id) })),
    { product_tax_class_id: null, ...others }
  ]
}
/** As it was locked; as the table has it while it is not, or where no percentages were kept. */
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

/** Transaction types of lines by their code in the interface. */
export const transactionTypes: { readonly [code: number]: TransactionType } = {
  0: "rental",
  1: "sale",
  2: "service",
  3: "sub_rental"
}

/** Which product rates price a line. Equipment hired in is hired out at the rental rate. */
export const rateTypeOfLine: { readonly [T in TransactionType]: RateTransactionType } = {
  rental: "rental",
  sale: "sale",
  service: "service",
  sub_rental: "rental"
}

export interface Window {
  /** Timestamps; where one is null, a single day is charged. */
  readonly starts_at: string | null
  readonly ends_at: string | null
}
export interface DayOverride {
  readonly use_chargeable_days: boolean
  /** Decimal string with one decimal, or null. */
  readonly chargeable_days: string | null
}

/**
 * Days of a line without a rate: the override, rounded to whole days, else the whole 24-hour days of the window,
 * rounded down; at least one. The rate engine counts its own days, rounded up.
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
  /** Decimal string; priced in whole units, rounded half away from zero. */
  readonly quantity: string
  /** The manual price in minor units, or null to let a rate decide. 0 for accessories charged at zero. */
  readonly manual_unit_price: number | null
  /** The manual price is this total of the whole line, whatever the quantity and the time. */
  readonly manual_total?: number | null
  /** The chosen product rate, its price converted to `currency`; null when there is none. */
  readonly rate: { readonly price: number; readonly method: RateMethod } | null
  /** The stored unit price in minor units, which a line keeps when neither of the above applies. */
  readonly carried_unit_price: number
  /** Percentage with up to 2 decimals, or null. */
  readonly discount_percent: string | null
  readonly days: DayOverride
  /** A manual or carried price counts once, whatever the time. */
  readonly is_fixed?: boolean
  readonly currency: string
  readonly prices_include_tax: boolean
  /** Percentage of the line's tax: "20.0000". */
  readonly tax_rate: string
}

/** Minor units. */
export interface PricedLine {
  readonly source: "manual" | "rate" | "carried"
  readonly unit_price: number
  /** Engine units or chargeable days; 1 for manual sales and fixed prices. */
  readonly units: number
  readonly subtotal: number
  /** The amount of the line's own discount. */
  readonly discount: number
  /** Net of the line discount and of tax. */
  readonly total: number
}

/** The highest line total: a roll-up of a thousand such lines still counts exactly. */
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

/** `subtotal`: minor units; not exact above the limit of a line. */
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

/** Rounded price of one unit of a line with this total; only full units are charged. */
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

/** Failures of the engine, under the names of the line's fields. */
const asLineErrors = (errors: FieldErrors): FieldErrors => {
  const names: { readonly [field: string]: string } = { start: "starts_at", end: "ends_at" }
  return Object.fromEntries(Object.entries(errors).map(([field, texts]) => [names[field] ?? field, texts]))
}

/**
 * Errors of a manual price: the unit price and the total of the line must be within the range of money (rules/rates
 * 9.3).
 */
export const overrideErrors = (unit_price: number, line: PricedLine): FieldErrors | undefined =>
  unit_price < 0 || unit_price > MAX_MONEY_MINOR || line.subtotal > MAX_MONEY_MINOR
    ? { unit_price: [`The unit price makes the line total greater than ${MAX_MONEY_MINOR} minor units.`] }
    : undefined
