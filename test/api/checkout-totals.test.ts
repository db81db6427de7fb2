/**
 * Checkout totals equal those of the opportunity or its active version, to the minor unit, for random opportunities.
 */
import * as fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { engines, plays_everything } from "../app.ts"
import { appHouse } from "../app-house.ts"

interface Plan {
  readonly currency: string
  readonly lines: ReadonlyArray<{ readonly kind: number; readonly body: object }>
  readonly costs: ReadonlyArray<object>
  readonly deal: number | null
  readonly surcharge: boolean
  readonly version: boolean
  readonly untaxed: boolean
}
const percent = fc.constantFrom(null, null, null, "0", "10", "12.5", "33.33", "100")
const price = fc.integer({ min: 0, max: 99_999 })
const line = fc.record({
  kind: fc.nat({ max: 5 }),
  body: fc
    .record({
      unit_price: price,
      quantity: fc.constantFrom("1", "2", "3", "7", "0.5", "1.5", "2.49", "1000"),
      discount_percent: percent,
      transaction_type: fc.constantFrom(0, 1, 2, 3),
      is_optional: fc.constantFrom(false, false, false, true)
    })
    .map(({ discount_percent, ...rest }) => (discount_percent === null ? rest : { ...rest, discount_percent }))
})
const plans: fc.Arbitrary<Plan> = fc.record({
  currency: fc.constantFrom("GBP", "JPY", "KWD"),
  lines: fc.array(line, { minLength: 1, maxLength: 9 }),
  costs: fc.array(
    fc.record({
      description: fc.constant("A cost"),
      amount: price,
      quantity: fc.constantFrom("1", "2", "0.5", "2.49"),
      cost_type: fc.integer({ min: 0, max: 5 }),
      is_optional: fc.constantFrom(false, false, true)
    }),
    { maxLength: 3 }
  ),
  deal: fc.option(price, { freq: 6 }),
  surcharge: fc.boolean(),
  version: fc.boolean(),
  untaxed: fc.constantFrom(false, false, false, true)
})
/** Equal opportunities in every run. */
const worlds = (count: number): ReadonlyArray<Plan> => fc.sample(plans, { numRuns: count, seed: 14 })

describe.each(engines)("checkout of every opportunity of a generated company, on %s", (engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00.000Z")
  let products: ReadonlyArray<number>, taxed: number, untaxed: number, surcharges: ReadonlyArray<number>
  beforeAll(async () => {
    const reduced = (await w.create("/product_tax_classes", { name: "Reduced" })).id
    const tax_rate_id = await w.named("tax_rates", "Reduced")
    await w.create("/tax_rules", { organisation_tax_class_id: 1, product_tax_class_id: reduced, tax_rate_id })
    for (const code of ["JPY", "KWD"]) {
      await w.must("PUT", `/currencies/${code}`, { is_enabled: true })
      await w.create("/exchange_rates", { source_currency_code: "GBP", target_currency_code: code, rate: "2" })
    }
    products = await Promise.all(
      [1, reduced, await w.named("product_tax_classes", "Exempt")].map((tax_class_id) => w.product({ tax_class_id }))
    )
    taxed = await w.customer({ sale_tax_class_id: 1 })
    untaxed = await w.customer()
    const fuel = { name: "Fuel", calculation_type: "percentage", value: "3.33", applies_to: "all" }
    const green = { ...fuel, name: "Green", value: "1.25", applies_to: "rental", tax_class_id: reduced }
    surcharges = [(await w.create("/surcharge_groups", { name: "Extras", surcharges: [fuel, green] })).id]
    const much = { name: "Much", discount_type: "percentage", discount_value: "7.77", auto_apply: true }
    await w.create("/discount_rules", { ...much, criteria: {} })
    const rate_definition_id = await w.named("rate_definitions", "Fixed Rate")
    for (const [at, product] of products.entries())
      for (const transaction_type of ["rental", "sale", "service"]) {
        const rate = { rate_definition_id, transaction_type, price: 3_333 * (at + 2), currency: "GBP" }
        await w.create(`/products/${product}/rates`, rate)
      }
  })

  const built = async (plan: Plan) => {
    const { id } = await w.opportunity({
      starts_at: "2026-07-01T09:00:00Z",
      ends_at: "2026-07-04T09:00:00Z",
      currency: plan.currency,
      member_id: plan.untaxed ? untaxed : taxed,
      ...(plan.surcharge ? { surcharge_group_ids: surcharges } : {})
    })
    const path = `/opportunities/${id}`
    if (plan.version) await w.create(`${path}/convert_to_quotation`)
    for (const { kind, body } of plan.lines) {
      // A manual line; a priced text; a product with a manual price; a product priced by its rate.
      const { unit_price: _, ...by_rate } = body as { readonly unit_price: number }
      const shape =
        kind === 0
          ? { name: "By hand", ...body }
          : kind === 1
            ? { name: "A text", item_type: "text", ...body }
            : { name: "A product", item_id: products[kind % 3], ...(kind === 5 ? by_rate : body) }
      await w.create(`${path}/items`, shape)
    }
    for (const cost of plan.costs) await w.create(`${path}/costs`, cost)
    if (plan.deal !== null) await w.create(`${path}/deal_price`, { deal_total: plan.deal })
    if (plan.version) await w.create(`${path}/versions`)
    return w.show(`${path}?include=items,costs,versions`)
  }
  it("bills exactly the opportunity's totals, to the minor unit", async () => {
    let billed = 0
    const problems: Array<unknown> = []
    for (const [at, plan] of worlds(plays_everything ? 60 : 25).entries()) {
      const job = await built(plan)
      const got = await w.post(`/opportunities/${job.id}/invoices`, {})
      if (got.status === 422) {
        expect([at, Object.keys(got.body.errors), Number(job.charge_including_tax_total)]).toEqual([at, ["items"], 0])
        continue
      }
      expect(got.status, JSON.stringify(got.body)).toBe(201)
      const { invoice } = got.body
      const expected = [job.charge_excluding_tax_total, job.tax_total, job.charge_including_tax_total]
      const scale = plan.currency === "JPY" ? 1 : plan.currency === "KWD" ? 1000 : 100
      const sumOf = (rows: ReadonlyArray<{ readonly [key: string]: unknown }>, key: string): string =>
        (rows.reduce((sum, row) => sum + Math.round(Number(row[key]) * scale), 0) / scale).toFixed(Math.log10(scale))
      const found = {
        totals: [invoice.subtotal, invoice.tax_total, invoice.total],
        rows: ["subtotal", "tax_total", "total"].map((key) => sumOf(invoice.items, key)),
        classes: ["net", "tax", "gross"].map((key) => sumOf(invoice.tax_summary, key)),
        version_id: invoice.version_id
      }
      const wanted = { totals: expected, rows: expected, classes: expected, version_id: job.active_version_id || null }
      if (JSON.stringify(found) !== JSON.stringify(wanted)) problems.push({ at, plan, found, wanted })
      billed++
    }
    expect(problems).toEqual([])
    expect(billed).toBeGreaterThan(18)
  })
})
