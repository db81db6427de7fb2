/**
 * Billable rows of an opportunity: one for each charged line and cost, with nets and taxes that add up exactly to its
 * totals (rules/billing 1.3).
 */
import type { ItemRow } from "../../orders/opportunities/tables/lines.ts"
import type { CostRow, OpportunityRow } from "../../orders/opportunities/tables/opportunities.ts"
import { exclusiveTax, resolveLockedTax, type TaxTable } from "../../pricing/pricing/line.ts"
import { netCost } from "../../pricing/pricing/totals.ts"
import type { ProductRow } from "../../products/products/schema.ts"
import { compareDecimals, exact, formatDecimal, wholeUnits } from "../../values/decimal.ts"
import { allocateMoney, timesMoney } from "../../values/money.ts"
import { groupKey, type GroupTax, type RowTax, rowTax, type Taxable, taxedRows } from "./amounts.ts"
import { newItem } from "./items.ts"
import type { InvoiceItemRow, InvoiceRow } from "./tables.ts"

export interface CheckoutSource {
  readonly header: OpportunityRow
  /** Lines that are charged, in path order. */
  readonly lines: ReadonlyArray<ItemRow>
  readonly costs: ReadonlyArray<CostRow>
  readonly products: ReadonlyMap<number, ProductRow>
  readonly tax: TaxTable
  readonly customer_tax_class_id: number | null
  /** Totals of the active version, else of the opportunity. */
  readonly totals: { readonly net: number; readonly tax: number }
}

/** A charged line or cost. `as_priced`: tax percentage used for its price, if stored. */
interface Charged {
  readonly row: Pick<InvoiceItemRow, "name" | "item_type"> & Partial<InvoiceItemRow>
  readonly net: number
  readonly tax_class_id: number | null
  readonly as_priced: string | null
}
const sale = 1
const chargedLine = ({ header, products }: CheckoutSource, line: ItemRow): Charged => {
  const product = line.item_id === null ? undefined : products.get(line.item_id)
  const is_sale = line.transaction_type === sale
  return {
    net: line.total,
    tax_class_id: product?.tax_class_id ?? null,
    as_priced: line.tax_rate,
    row: {
      opportunity_item_id: line.id,
      product_id: line.item_id,
      item_type:
        line.item_type === "text" || (line.item_type === "service" && product === undefined) ? "custom" : "product",
      name: line.name,
      description: line.description,
      quantity: line.quantity,
      revenue_group_id:
        line.revenue_group_id ?? (is_sale ? product?.sale_revenue_group_id : product?.rental_revenue_group_id) ?? null,
      starts_at: is_sale ? null : (line.starts_at ?? header.charge_starts_at ?? header.starts_at),
      ends_at: is_sale ? null : (line.ends_at ?? header.charge_ends_at ?? header.ends_at)
    }
  }
}
const chargedCost = (source: CheckoutSource, cost: CostRow): Charged => {
  const { default_product_tax_class_id } = source.tax
  const is_computed = cost.surcharge_id !== null
  const tax_class_id = (is_computed ? cost.product_tax_class_id : null) ?? default_product_tax_class_id
  const net = is_computed
    ? cost.amount
    : netCost(
        {
          prices_include_tax: source.header.prices_include_tax,
          default_product_tax_class_id,
          taxOf: (id) => resolveLockedTax(source.header, source.tax, source.customer_tax_class_id, id)
        },
        cost
      ).net
  return {
    net,
    tax_class_id,
    as_priced: cost.tax_rate,
    row: {
      opportunity_cost_id: cost.id,
      item_type: "cost",
      name: cost.description,
      quantity: is_computed ? "1.00" : formatDecimal(wholeUnits(cost.quantity), 2)
    }
  }
}

/** Whether a line is billed; texts and lines of quantity 0 are only if they have a price. */
const isBilled = ({ item_type, quantity, total }: ItemRow): boolean =>
  total !== 0 || (item_type !== "text" && compareDecimals(quantity, "0") > 0)
const chargedParts = (source: CheckoutSource): ReadonlyArray<Charged> => {
  const { costs, header, lines, tax } = source
  if (header.deal_total !== null)
    return [
      {
        net: header.deal_total,
        tax_class_id: tax.default_product_tax_class_id,
        as_priced: null,
        row: {
          name: header.subject,
          item_type: "custom",
          starts_at: header.charge_starts_at ?? header.starts_at,
          ends_at: header.charge_ends_at ?? header.ends_at
        }
      }
    ]
  return [
    ...lines
      .filter((line) => line.item_type !== "group" && !line.is_optional && isBilled(line))
      .map((line) => chargedLine(source, line)),
    ...costs
      .filter((cost) => !cost.is_optional && (cost.surcharge_id !== null || wholeUnits(cost.quantity) > 0))
      .map((cost) => chargedCost(source, cost))
  ]
}

type Rates = (part: Charged) => RowTax
/** Tax rates by current rules, or as of the tax lock. */
const byRules =
  ({ customer_tax_class_id, header, tax }: CheckoutSource): Rates =>
  ({ tax_class_id }) =>
    rowTax(tax_class_id, resolveLockedTax(header, tax, customer_tax_class_id, tax_class_id))
/** Tax rates used when the lines were priced; current rules where not stored. */
const asPriced = (source: CheckoutSource): Rates => {
  const now = byRules(source)
  return (part) => {
    const rules = now(part)
    if (part.as_priced === null || part.as_priced === rules.tax_rate) return rules
    const rate = source.tax.rates.find((one) => compareDecimals(one.rate, part.as_priced ?? "0") === 0)
    return {
      tax_class_id: part.tax_class_id,
      tax_rate_id: rate?.id ?? null,
      tax_rate_name: rate?.name ?? `${formatDecimal(part.as_priced, 2)} %`,
      tax_rate: formatDecimal(part.as_priced, 4)
    }
  }
}

interface Group {
  readonly net: number
  readonly tax: number
}
const groupsOf = (parts: ReadonlyArray<Charged>, rates: Rates): ReadonlyMap<string, Group> =>
  new Map(
    [...Map.groupBy(parts, (part) => groupKey(rates(part)))].map(([key, group]) => {
      const [first] = group
      const net = sum(group.map((part) => part.net))
      return [key, { net, tax: exclusiveTax(net, (first && rates(first).tax_rate) ?? "0").tax }]
    })
  )
const sum = (amounts: ReadonlyArray<number>): number => amounts.reduce((all, one) => all + one, 0)

/**
 * Rates, and tax by group, that give the opportunity's total tax, which may be locked or follow older rules. If neither
 * current rules nor the lines' own rates give it, it is split in proportion to the groups.
 */
const ratesAndGroups = (
  source: CheckoutSource,
  parts: ReadonlyArray<Charged>
): { readonly rates: Rates; readonly ofGroup: GroupTax } => {
  const tries = [byRules(source), asPriced(source)].map((rates) => ({ rates, groups: groupsOf(parts, rates) }))
  const taxIn = (groups: ReadonlyMap<string, Group>): number => sum([...groups.values()].map(({ tax }) => tax))
  const exact_try = tries.find(({ groups }) => taxIn(groups) === source.totals.tax)
  const { groups, rates } = exact_try ??
    tries[source.header.tax_locked ? 1 : 0] ?? { rates: byRules(source), groups: new Map<string, Group>() }
  const all = [...groups]
  const weights = all.map(([, group]) => group.tax)
  const shared =
    exact_try === undefined
      ? allocateMoney(source.totals.tax, weights.some((one) => one !== 0) ? weights : all.map(([, { net }]) => net))
      : weights
  const taxes = new Map(all.map(([key], at) => [key, shared[at] ?? 0]))
  return { rates, ofGroup: (amount, tax) => ({ net: amount, tax: taxes.get(groupKey(tax)) ?? 0 }) }
}

/** Nets that add up to the net total; the last non-zero one takes the difference. */
const exactNets = (parts: ReadonlyArray<Charged>, net: number): ReadonlyArray<Charged> => {
  const missing = net - sum(parts.map((part) => part.net))
  const at = parts.findLastIndex((part) => part.net !== 0)
  return missing === 0
    ? parts
    : parts.map((part, index) => (index === at ? { ...part, net: part.net + missing } : part))
}

/** Largest rounding difference of a row: a hundredth of its net (1 in 100). */
const rounding_share = 100
/**
 * Quantity, price and rounding of a row with a given net: quantity × price − rounding = net. If no price comes close,
 * the quantity becomes 1.
 */
export const quantityAndPrice = (
  quantity: string,
  net: number
): Pick<InvoiceItemRow, "quantity" | "unit_price" | "discount_amount"> => {
  const one = { quantity: "1.00", unit_price: net, discount_amount: 0 }
  if (net <= 0 || compareDecimals(quantity, "0") <= 0) return one
  const unit_price = exact(net).dividedBy(exact(quantity)).ceil().toNumber()
  const discount_amount = Number(timesMoney(unit_price, quantity)) - net
  return discount_amount < 0 || discount_amount * rounding_share > net ? one : { quantity, unit_price, discount_amount }
}
/** Adds a quantity the row could not keep to its description. */
export const quantityIn = (row: Partial<InvoiceItemRow>, quantity: string): Partial<InvoiceItemRow> =>
  row.quantity === undefined || compareDecimals(row.quantity, quantity) === 0
    ? {}
    : { description: [`Quantity ${row.quantity}`, row.description].filter((line) => line).join("\n") }

/** The rows without ids, with net, tax and total. Empty if nothing is charged. */
export const billedRows = (
  source: CheckoutSource,
  invoice: Pick<InvoiceRow, "id" | "currency_code">
): ReadonlyArray<InvoiceItemRow> => {
  const parts = exactNets(chargedParts(source), source.totals.net)
  const { ofGroup, rates } = ratesAndGroups(source, parts)
  const taxable = parts.map((part): Taxable => ({ amount: part.net, tax: rates(part) }))
  const taxed = taxedRows(taxable, false, ofGroup)
  return parts.map((part, at) => {
    const amounts = quantityAndPrice(part.row.quantity ?? "1.00", part.net)
    return {
      ...newItem(invoice),
      ...part.row,
      ...amounts,
      ...(part.net === 0 ? {} : quantityIn(part.row, amounts.quantity)),
      ...(part.net === 0 && part.row.quantity !== undefined ? { quantity: part.row.quantity } : {}),
      ...rates(part),
      ...taxed[at],
      sort_order: at
    }
  })
}
