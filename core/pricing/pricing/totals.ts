/**
 * Stage 4: the totals of an opportunity from lines and costs, with deal price and tax groups (rules/rates 9.3,
 * 9.4).
 */
import { compareDecimals, wholeUnits } from "../../values/decimal.ts"
import { exclusiveTax, inclusiveTax, noTax, type ResolvedTax, type TransactionType } from "./line.ts"

export interface TotalLine {
  readonly transaction_type: TransactionType
  /** Net in minor units, after every discount. */
  readonly net: number
  /** Product tax class; null for untaxed (no product, or a product without a class). */
  readonly product_tax_class_id: number | null
  readonly is_optional: boolean
  /** Tax percentage it was last priced with, if stored; otherwise that of its class applies. */
  readonly tax_rate?: string | null | undefined
}

/** Cost types by their code in the API. */
export const costTypes = {
  0: "Delivery",
  1: "Labour",
  2: "Surcharge",
  3: "Insurance",
  4: "Loss / Damage",
  5: "Miscellaneous"
} as const
export const SURCHARGE_COST_TYPE = 2

export interface TotalCost {
  readonly cost_type: number
  /** Amount of one in minor units; gross if prices include tax, else net. */
  readonly amount: number
  /** Quantity as a decimal string, rounded to whole units. */
  readonly quantity: string
  readonly is_optional: boolean
  readonly tax_rate?: string | null | undefined
}
/** A cost computed from a surcharge: net, even where prices include tax. */
export interface NetCharge {
  readonly cost_type: number
  readonly net: number
  /** Product tax class; null for the default. */
  readonly product_tax_class_id: number | null
  readonly tax_rate?: string | null | undefined
}

export interface TotalsRequest {
  readonly lines: ReadonlyArray<TotalLine>
  readonly costs: ReadonlyArray<TotalCost>
  readonly surcharges?: ReadonlyArray<NetCharge>
  readonly prices_include_tax: boolean
  /** Net deal price in minor units, or null. */
  readonly deal_total: number | null
  readonly default_product_tax_class_id: number | null
  /** The member's tax for a product tax class; not called for lines without a class. */
  readonly taxOf: (product_tax_class_id: number) => ResolvedTax
}

/** Tax of one product tax class and percentage, in minor units, rounded once for the whole group. */
export interface TaxGroup extends ResolvedTax {
  readonly product_tax_class_id: number | null
  readonly net: number
  readonly tax: number
}

/** Totals in minor units: all net, except tax_total and charge_including_tax_total. */
export interface Totals {
  readonly rental_charge_total: number
  readonly sale_charge_total: number
  readonly service_charge_total: number
  readonly sub_rental_charge_total: number
  readonly transit_charge_total: number
  readonly loss_damage_charge_total: number
  readonly charge_excluding_tax_total: number
  /** Always equal to charge_excluding_tax_total. */
  readonly charge_total: number
  readonly tax_total: number
  readonly charge_including_tax_total: number
}
export interface RollUp {
  readonly totals: Totals
  /** Groups that add up to tax_total. */
  readonly tax_groups: ReadonlyArray<TaxGroup>
}

/**
 * Sums up lines and costs of the active version, without optional ones. A deal price replaces the total, but not the
 * sums by type.
 */
export const rollUp = (request: TotalsRequest): RollUp => {
  const lines = request.lines.filter((line) => !line.is_optional)
  const charges = [
    ...request.costs.filter((cost) => !cost.is_optional).map((cost) => netCost(request, cost)),
    ...(request.surcharges ?? []).map((charge) => ({ ...charge, ...classOrDefault(request, charge) }))
  ]
  const parts = partTotals(lines, charges)
  const net = request.deal_total ?? sum(Object.values(parts))
  const tax_groups =
    request.deal_total === null
      ? taxGroups(request, lines, charges)
      : taxGroups(request, [{ net: request.deal_total, product_tax_class_id: request.default_product_tax_class_id }])
  const tax_total = sum(tax_groups.map(({ tax }) => tax))
  return {
    totals: {
      ...parts,
      charge_excluding_tax_total: net,
      charge_total: net,
      tax_total,
      charge_including_tax_total: net + tax_total
    },
    tax_groups
  }
}

/** Net of one cost; costs are taxed in the default product class. */
export const netCost = (
  request: Pick<TotalsRequest, "prices_include_tax" | "default_product_tax_class_id" | "taxOf">,
  cost: TotalCost
): NetCharge => {
  const product_tax_class_id = request.default_product_tax_class_id
  const amount = cost.amount * wholeUnits(cost.quantity)
  const { percentage } = taxAt(request, { product_tax_class_id, tax_rate: cost.tax_rate })
  const net = request.prices_include_tax ? inclusiveTax(amount, percentage).net : amount
  return { cost_type: cost.cost_type, net, product_tax_class_id, tax_rate: percentage }
}

const classOrDefault = (request: TotalsRequest, charge: NetCharge): Pick<NetCharge, "product_tax_class_id"> => ({
  product_tax_class_id: charge.product_tax_class_id ?? request.default_product_tax_class_id
})

const partTotals = (lines: ReadonlyArray<TotalLine>, charges: ReadonlyArray<NetCharge>) => {
  const ofLines: { [T in TransactionType]: number } = { rental: 0, sale: 0, service: 0, sub_rental: 0 }
  for (const { net, transaction_type } of lines) ofLines[transaction_type] += net
  const chargesOf = (types: ReadonlyArray<number>): number =>
    sum(charges.filter(({ cost_type }) => types.includes(cost_type)).map(({ net }) => net))
  return {
    rental_charge_total: ofLines.rental,
    sale_charge_total: ofLines.sale,
    service_charge_total: ofLines.service + chargesOf([1, 2, 3, 5]),
    sub_rental_charge_total: ofLines.sub_rental,
    transit_charge_total: chargesOf([0]),
    loss_damage_charge_total: chargesOf([4])
  }
}

type TaxSource = Pick<TotalLine, "product_tax_class_id" | "tax_rate">
/** Tax of a class, but with the percentage it was priced at, if stored. */
const taxAt = ({ taxOf }: Pick<TotalsRequest, "taxOf">, { product_tax_class_id, tax_rate }: TaxSource): ResolvedTax => {
  const tax = product_tax_class_id === null ? noTax : taxOf(product_tax_class_id)
  return tax_rate === undefined || tax_rate === null || compareDecimals(tax_rate, tax.percentage) === 0
    ? tax
    : { tax_rate_id: null, name: "As priced", percentage: tax_rate }
}

const taxGroups = (
  request: TotalsRequest,
  ...taxables: ReadonlyArray<ReadonlyArray<TaxSource & Pick<TotalLine, "net">>>
): ReadonlyArray<TaxGroup> => {
  const groups = new Map<string, Omit<TaxGroup, "tax">>()
  for (const one of taxables.flat()) {
    const tax = taxAt(request, one)
    const { product_tax_class_id } = one
    const key = `${product_tax_class_id}/${tax.percentage}`
    groups.set(key, { ...tax, product_tax_class_id, net: (groups.get(key)?.net ?? 0) + one.net })
  }
  return [...groups.values()].map((group) => ({ ...group, tax: exclusiveTax(group.net, group.percentage).tax }))
}

const sum = (amounts: ReadonlyArray<number>): number => amounts.reduce((total, amount) => total + amount, 0)
