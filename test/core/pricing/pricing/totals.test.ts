import { describe, expect, it } from "vitest"
import type { ResolvedTax, TransactionType } from "../../../../core/pricing/pricing/line.ts"
import { rollUp, type TotalCost, type TotalLine, type TotalsRequest } from "../../../../core/pricing/pricing/totals.ts"

const rates: { readonly [product_tax_class: number]: string } = { 1: "20.0000", 2: "5.0000", 3: "0.0000", 4: "20.0000" }
const taxOf = (id: number): ResolvedTax => ({ tax_rate_id: id, name: `Rate ${id}`, percentage: rates[id] ?? "0.0000" })
const line = (net: number, product_tax_class_id: number | null = 1, over: Partial<TotalLine> = {}): TotalLine => ({
  transaction_type: "rental",
  net,
  product_tax_class_id,
  is_optional: false,
  ...over
})
const cost = (cost_type: number, amount: number, quantity = "1.00", is_optional = false): TotalCost => ({
  cost_type,
  amount,
  quantity,
  is_optional
})
const totals = (over: Partial<TotalsRequest>) =>
  rollUp({
    lines: [],
    costs: [],
    prices_include_tax: false,
    deal_total: null,
    default_product_tax_class_id: 1,
    taxOf,
    ...over
  })

describe("the calculation of totals", () => {
  it("sums lines by transaction type and costs by kind", () => {
    const types: ReadonlyArray<TransactionType> = ["rental", "sale", "service", "sub_rental"]
    const { totals: sums } = totals({
      lines: types.map((transaction_type, index) => line(1000 * (index + 1), null, { transaction_type })),
      costs: [0, 1, 2, 3, 4, 5].map((cost_type) => cost(cost_type, 10 ** cost_type)),
      default_product_tax_class_id: null
    })
    expect(sums).toEqual({
      rental_charge_total: 1000,
      sale_charge_total: 2000,
      service_charge_total: 3000 + 10 + 100 + 1000 + 100_000,
      sub_rental_charge_total: 4000,
      transit_charge_total: 1,
      loss_damage_charge_total: 10_000,
      charge_excluding_tax_total: 121_111,
      charge_total: 121_111,
      tax_total: 0,
      charge_including_tax_total: 121_111
    })
  })

  it("taxes each class once on its sum: 66.66 at 20 percent is 13.33, not twice 6.67", () => {
    const { tax_groups, totals: sums } = totals({ lines: [line(3333), line(3333), line(1001, 2), line(500, null)] })
    expect(tax_groups).toEqual([
      { product_tax_class_id: 1, tax_rate_id: 1, name: "Rate 1", percentage: "20.0000", net: 6666, tax: 1333 },
      { product_tax_class_id: 2, tax_rate_id: 2, name: "Rate 2", percentage: "5.0000", net: 1001, tax: 50 },
      { product_tax_class_id: null, tax_rate_id: null, name: "No Tax", percentage: "0.0000", net: 500, tax: 0 }
    ])
    // Two classes with the same rate are rounded separately.
    expect(totals({ lines: [line(3), line(3, 4)] }).totals).toMatchObject({ charge_total: 6, tax_total: 2 })
    expect(sums).toMatchObject({ charge_total: 8167, tax_total: 1383, charge_including_tax_total: 9550 })
  })

  it("taxes costs in the default product class, rounds them to whole units, and removes tax that prices include", () => {
    expect(totals({ costs: [cost(5, 1000, "1.50")] }).totals).toMatchObject({
      service_charge_total: 2000,
      tax_total: 400
    })
    expect(totals({ costs: [cost(0, 1200, "2.00")], prices_include_tax: true }).totals).toMatchObject({
      transit_charge_total: 2000,
      tax_total: 400,
      charge_including_tax_total: 2400
    })
    // The quantity first, then the tax: 0.30 is 0.25 net, where 0.10 would be 0.08 three times.
    expect(totals({ costs: [cost(0, 10, "3.00")], prices_include_tax: true }).totals).toMatchObject({
      transit_charge_total: 25,
      tax_total: 5
    })
    expect(totals({ costs: [cost(5, 1000, "0.40")] }).totals.charge_total).toBe(0)
    expect(totals({ lines: [line(2)], costs: [cost(5, 1)] }).totals).toMatchObject({ charge_total: 3, tax_total: 1 })
    expect(totals({ costs: [cost(5, 1000)], default_product_tax_class_id: null }).totals.tax_total).toBe(0)
  })

  it("leaves optional lines and costs out", () => {
    expect(
      totals({ lines: [line(1000, 1, { is_optional: true })], costs: [cost(0, 1000, "1.00", true)] }).totals
        .charge_including_tax_total
    ).toBe(0)
  })

  it("takes the deal price as the net total, taxed in the default class, also at zero", () => {
    const lines = [line(10_000, 2)]
    expect(totals({ lines, deal_total: 7500 }).totals).toMatchObject({
      rental_charge_total: 10_000,
      charge_total: 7500,
      tax_total: 1500,
      charge_including_tax_total: 9000
    })
    expect(totals({ lines, deal_total: 0 }).totals).toMatchObject({ charge_total: 0, tax_total: 0 })
  })

  it("adds surcharges net even where prices include tax, in their own class", () => {
    const surcharges = [
      { cost_type: 2, net: 1200, product_tax_class_id: 2 },
      { cost_type: 2, net: 100, product_tax_class_id: null }
    ]
    expect(totals({ surcharges, prices_include_tax: true }).totals).toMatchObject({
      service_charge_total: 1300,
      tax_total: 60 + 20
    })
  })
})
