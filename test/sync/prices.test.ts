/** Prices calculated offline on a device equal the server's in every digit and word. */
import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import type { Json } from "../../core/kernel/fields/field.ts"
import { engines } from "../app.ts"
import { serverOfSuite, type TestDevice, type TestServer } from "./opening.ts"

type At = Pick<TestServer | TestDevice, "create" | "get">

describe.each(engines)("prices on a device, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  let device: TestDevice
  let products: ReadonlyArray<number>, member_id: number, group: number, named: number
  const made = async (path: string, body: object): Promise<number> => (await server.create(path, body)).id
  beforeAll(async () => {
    member_id = await server.customer({ sale_tax_class_id: 1 })
    const period = await made("/rate_definitions", {
      ...{ name: "Everything", calculation_strategy: "period", base_period: "daily" },
      enabled_modifiers: ["multiplier", "factor"],
      strategy_config: { first_day_cutoff: "12:00", last_day_cutoff: "10:00", leeway_minutes: 30 },
      modifier_configs: {
        multiplier: { tiers: [{ multiplier: "1" }, { multiplier: "0.333" }, { multiplier: "0.5" }] },
        factor: {
          ranges: [
            { from: 1, to: 4, factor: "1" },
            { from: 5, factor: "0.925" }
          ]
        }
      }
    })
    const hybrid = await made("/rate_definitions", {
      ...{ name: "Block", calculation_strategy: "hybrid", base_period: "daily" },
      strategy_config: { fixed_charge: 4999, fixed_period_units: 3 }
    })
    const priced: Array<number> = []
    for (const [rate_definition_id, price] of [
      [period, "10.01"],
      [hybrid, "7.77"]
    ] as const) {
      const id = await server.product({ tax_class_id: 1 })
      const rate = { transaction_type: "rental", currency: "GBP" }
      await made(`/products/${id}/rates`, { ...rate, rate_definition_id, price })
      await made(`/products/${id}/rates`, { ...rate, rate_definition_id: 2, price: "99.00", priority: -1 })
      priced.push(id)
    }
    products = priced
    const rule = { criteria: {}, stackable: true }
    const ten = { name: "Ten", discount_type: "percentage", discount_value: "10", auto_apply: true }
    await made("/discount_rules", { ...rule, ...ten })
    const odd = { name: "Odd", discount_type: "fixed_amount", discount_value: "3.34", currency_code: "GBP" }
    named = await made("/discount_rules", { ...rule, ...odd, applies_to: "total" })
    const surcharges = [
      { name: "Insurance", calculation_type: "percentage", value: "2.75" },
      { name: "Driver", calculation_type: "per_day", value: "12.35", applies_to: "rental" }
    ]
    group = await made("/surcharge_groups", { name: "Extras", surcharges })
    device = await server.enrol()
  })

  const hours = fc.integer({ min: 0, max: 400 })
  const at = (hour: number): string => new Date(Date.UTC(2027, 2, 25) + hour * 3_600_000).toISOString()

  it("equal the server's in the rate calculator, with the same explanation byte for byte", async () => {
    const asked = fc.record({
      which: fc.nat({ max: 1 }),
      from: hours,
      length: hours,
      quantity: fc.integer({ min: 1, max: 12 })
    })
    await fc.assert(
      fc.asyncProperty(asked, async ({ from, length, quantity, which }) => {
        const path = `/products/${products[which]}/calculate_rate?explain=1`
        const body = { quantity, start: at(from), end: at(from + length) }
        const there = await server.post(path, body)
        expect(there.status).toBe(200)
        expect(JSON.stringify((await device.post(path, body)).body)).toBe(JSON.stringify(there.body))
      }),
      { numRuns: 40 }
    )
  })

  const line = fc.record({
    which: fc.nat({ max: 2 }),
    quantity: fc.integer({ min: 0, max: 900 }),
    discount_percent: fc.option(fc.constantFrom("12.50", "33.33")),
    is_optional: fc.boolean()
  })
  const job = fc.record({
    from: hours,
    length: hours,
    lines: fc.array(line, { minLength: 1, maxLength: 4 }),
    rules: fc.boolean(),
    surcharges: fc.boolean(),
    prices_include_tax: fc.boolean()
  })
  // Ids differ between the two, amounts and words must not.
  const figures = async (from: At, id: number): Promise<string> => {
    const { body } = await from.get(`/opportunities/${id}?include=items,costs&explain=1`)
    const { opportunity: deal } = body
    const named = (kind: "items" | "costs") =>
      deal[kind].map((row, n): [string, string] => [`${kind}.${row.id}`, `${kind}.#${n}`])
    const names = new Map<string, string>([...named("items"), ...named("costs")])
    return JSON.stringify({
      totals: Object.fromEntries(Object.entries(deal).filter(([name]) => name.endsWith("_total"))) as Json,
      lines: deal.items.map((item) => [item.unit_price, item.total, item.tax_rate, item.quantity]),
      costs: deal.costs.map((cost) => [cost.description, cost.amount]),
      explanation: body.explanation.map((step) => ({
        ...step,
        figure: step.figure.replace(/^(items|costs)\.-?\d+/, (row: string) => names.get(row) ?? "of no row")
      }))
    })
  }
  it("equal the server's in a quote built offline, before and after the sync", async () => {
    await fc.assert(
      fc.asyncProperty(job, async ({ from, length, lines, prices_include_tax, rules, surcharges }) => {
        const build = async (by: At): Promise<number> => {
          const { id } = await by.create("/opportunities", {
            ...{ subject: "Job", store_id: 1, member_id, starts_at: at(from), ends_at: at(from + length) },
            prices_include_tax,
            discount_rule_ids: rules ? [named] : [],
            surcharge_group_ids: surcharges ? [group] : []
          })
          for (const { quantity, which, ...more } of lines) {
            const priced = which === 2 ? { unit_price: "9.99" } : { item_id: products[which]! }
            const body = { name: "Line", quantity: (quantity / 100).toFixed(2), ...more, ...priced }
            await by.create(`/opportunities/${id}/items`, body)
          }
          return id
        }
        const there = await figures(server, await build(server))
        const offline = await build(device)
        expect(await figures(device, offline)).toBe(there)
        expect(await device.sync()).toMatchObject({ rejected: 0, conflicts: 0, pending: 0 })
        for (const one of [server, device]) expect(await figures(one, offline)).toBe(there)
      }),
      { numRuns: 10 }
    )
  }, 120_000)
})
