/** Tax: its amount, and the rule that decides its percentage (rules/rates 8). */
import { formatDecimal } from "../../values/decimal.ts"
import { percentOfMoney, withoutPercent } from "../../values/money.ts"

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
