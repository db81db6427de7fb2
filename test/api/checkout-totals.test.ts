/** Checkout comes to what the opportunity or its active version comes to, to the unit, over a world of opportunities. */
import * as fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Books, openBooks, sums } from "./billing-black-box.ts"

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
/** The same worlds in every run. */
const worlds = (count: number): ReadonlyArray<Plan> => fc.sample(plans, { numRuns: count, seed: 14 })

describe.each(engines)("Checkout of every opportunity of a world, on %s", (engine) => {
  let books: Books
  let products: ReadonlyArray<number>, untaxed: number, surcharges: ReadonlyArray<number>
  beforeAll(async () => {
    books = await openBooks(engine)
    products = await Promise.all(
      [books.standard, books.reduced, books.exempt].map(
        async (tax_class_id) => (await books.made("/products", { name: "Thing", tax_class_id })).id
      )
    )
    untaxed = (await books.made("/members", { name: "Untaxed", membership_type: "organisation" })).id
    const group = await books.made("/surcharge_groups", {
      name: "Extras",
      surcharges: [
        { name: "Fuel", calculation_type: "percentage", value: "3.33", applies_to: "all" },
        {
          name: "Green",
          calculation_type: "percentage",
          value: "1.25",
          applies_to: "rental",
          tax_class_id: books.reduced
        }
      ]
    })
    surcharges = [group.id]
    await books.made("/discount_rules", {
      ...{ name: "Much", discount_type: "percentage", discount_value: "7.77", auto_apply: true, criteria: {} }
    })
    for (const product of products)
      for (const transaction_type of ["rental", "sale", "service"]) {
        const { id } = await books.made("/rate_definitions", {
          ...{ name: `R${product}${transaction_type}`, calculation_strategy: "fixed", base_period: null }
        })
        await books.made(`/products/${product}/rates`, {
          ...{ rate_definition_id: id, transaction_type, price: 3_333 * product, currency: "GBP" }
        })
      }
  })
  afterAll(() => books.close())

  const built = async (plan: Plan): Promise<any> => {
    const job = await books.job([], {
      ...{ currency: plan.currency, member_id: plan.untaxed ? untaxed : books.member },
      ...(plan.surcharge ? { surcharge_group_ids: surcharges } : {})
    })
    const path = `/opportunities/${job.id}`
    if (plan.version) await books.made(`${path}/convert_to_quotation`)
    for (const { kind, body } of plan.lines) {
      // A line by hand; a priced text; a product by hand; a product by its rate.
      const { unit_price: _, ...by_rate } = body as { readonly unit_price: number }
      const shape =
        kind === 0
          ? { name: "By hand", ...body }
          : kind === 1
            ? { name: "A text", item_type: "text", ...body }
            : { name: "A product", item_id: products[kind % 3], ...(kind === 5 ? by_rate : body) }
      await books.made(`${path}/items`, shape)
    }
    for (const cost of plan.costs) await books.made(`${path}/costs`, cost)
    if (plan.deal !== null) await books.made(`${path}/deal_price`, { deal_total: plan.deal })
    if (plan.version) await books.made(`${path}/versions`, {})
    return (await books.get(`${path}?include=items,costs,versions`)).opportunity
  }
  it("equals its totals to the unit", async () => {
    let billed = 0
    const problems: Array<unknown> = []
    for (const [at, plan] of worlds(engine === "sqlite" ? 60 : 25).entries()) {
      const job = await built(plan)
      const got = await books.checkout(job.id)
      if (got.status === 422) {
        expect([at, Object.keys(got.body.errors), Number(job.charge_including_tax_total)]).toEqual([at, ["items"], 0])
        continue
      }
      expect(got.status, got.text).toBe(201)
      const { invoice } = got.body
      const expected = [job.charge_excluding_tax_total, job.tax_total, job.charge_including_tax_total]
      const scale = plan.currency === "JPY" ? 1 : plan.currency === "KWD" ? 1000 : 100
      const sumOf = (rows: ReadonlyArray<any>, key: string): string =>
        (rows.reduce((sum, row) => sum + Math.round(Number(row[key]) * scale), 0) / scale).toFixed(Math.log10(scale))
      const found = {
        totals: sums(invoice),
        rows: ["subtotal", "tax_total", "total"].map((key) => sumOf(invoice.items, key)),
        classes: ["net", "tax", "gross"].map((key) => sumOf(invoice.tax_summary, key)),
        version_id: invoice.version_id
      }
      const wanted = { totals: expected, rows: expected, classes: expected, version_id: job.active_version_id || null }
      if (JSON.stringify(found) !== JSON.stringify(wanted)) problems.push({ at, plan, found, wanted })
      billed++
    }
    expect(problems).toEqual([])
    expect(billed).toBeGreaterThan(engine === "sqlite" ? 45 : 18)
  })
})
