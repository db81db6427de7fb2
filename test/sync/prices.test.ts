/** A price worked out on a device without a network is the server's, to the last figure and word. */
import { join } from "node:path"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Json } from "../../core/kernel/json.ts"
import { type Device, enrolDevice } from "../../sync/device/device.ts"
import { type Engine, engines } from "../app.ts"
import { type FillTestServer, openFillTestServer, owner_token } from "./filling.ts"

interface Reply {
  readonly status: number
  readonly body: any
}
type Ask = (method: string, path: string, body?: Json) => Promise<Reply>

describe.each(engines)("prices on a device and on a server on %s", (engine: Engine) => {
  let server: FillTestServer, device: Device
  let products: ReadonlyArray<number>, customer: number, group: number, named: number
  const onServer: Ask = (method, path, body) => server.ask(method, path.slice("/api/v1/".length), body)
  const onDevice: Ask = async (method, path, body) => {
    const at = path.indexOf("?")
    const query =
      at < 0 ? [] : ([...new URLSearchParams(path.slice(at + 1))] as ReadonlyArray<readonly [string, string]>)
    const { status, body: answered } = await device.ask({
      method,
      path: at < 0 ? path : path.slice(0, at),
      query,
      body
    })
    return { status, body: answered }
  }
  const made = async (path: string, body: Json, key: string): Promise<number> => {
    const reply = await onServer("POST", path, body)
    expect(reply.status, JSON.stringify(reply.body)).toBe(201)
    return reply.body[key].id
  }
  beforeAll(async () => {
    server = await openFillTestServer(engine)
    customer = await made(
      "/api/v1/members",
      { name: "Taxed Ltd", membership_type: "organisation", sale_tax_class_id: 1 },
      "member"
    )
    const definition = await made(
      "/api/v1/rate_definitions",
      {
        name: "Everything",
        calculation_strategy: "period",
        base_period: "daily",
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
      },
      "rate_definition"
    )
    const hybrid = await made(
      "/api/v1/rate_definitions",
      {
        name: "Block",
        calculation_strategy: "hybrid",
        base_period: "daily",
        strategy_config: { fixed_charge: 4999, fixed_period_units: 3 }
      },
      "rate_definition"
    )
    products = await Promise.all(
      [
        [definition, "10.01"],
        [hybrid, "7.77"]
      ].map(async ([rate_definition_id, price], n) => {
        const id = await made("/api/v1/products", { name: `Product ${n}`, tax_class_id: 1 }, "product")
        await made(
          `/api/v1/products/${id}/rates`,
          { rate_definition_id: rate_definition_id!, transaction_type: "rental", price: price!, currency: "GBP" },
          "product_rate"
        )
        await made(
          `/api/v1/products/${id}/rates`,
          { rate_definition_id: 2, transaction_type: "rental", price: "99.00", currency: "GBP", priority: -1 },
          "product_rate"
        )
        return id
      })
    )
    await made(
      "/api/v1/discount_rules",
      {
        name: "Ten",
        discount_type: "percentage",
        discount_value: "10",
        criteria: {},
        auto_apply: true,
        stackable: true
      },
      "discount_rule"
    )
    named = await made(
      "/api/v1/discount_rules",
      {
        name: "Odd",
        discount_type: "fixed_amount",
        discount_value: "3.34",
        currency_code: "GBP",
        applies_to: "total",
        criteria: {},
        stackable: true
      },
      "discount_rule"
    )
    group = await made(
      "/api/v1/surcharge_groups",
      {
        name: "Extras",
        surcharges: [
          { name: "Insurance", calculation_type: "percentage", value: "2.75" },
          { name: "Driver", calculation_type: "per_day", value: "12.35", applies_to: "rental" }
        ]
      },
      "surcharge_group"
    )
    device = await enrolDevice(join(server.folder, "device"), {
      name: "device",
      url: server.url,
      token: owner_token,
      device: "device"
    })
  })
  afterAll(async () => {
    await device.close()
    await server?.close()
  })

  const hours = fc.integer({ min: 0, max: 400 })
  const at = (hour: number): string => new Date(Date.UTC(2027, 2, 25) + hour * 3_600_000).toISOString()

  it("the calculator gives the same answer and the same explanation, byte for byte", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 1 }),
        hours,
        hours,
        fc.integer({ min: 1, max: 12 }),
        async (which, from, length, quantity) => {
          const path = `/api/v1/products/${products[which]}/calculate_rate?explain=1`
          const body = { quantity, start: at(from), end: at(from + length) }
          const [here, there] = [await onServer("POST", path, body), await onDevice("POST", path, body)]
          expect(here.status).toBe(200)
          expect(JSON.stringify(there)).toBe(JSON.stringify(here))
        }
      ),
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
  it("a quote built offline has the server's prices, and keeps them and their words when it is sent", async () => {
    await fc.assert(
      fc.asyncProperty(job, async ({ from, length, lines, prices_include_tax, rules, surcharges }) => {
        const build = async (ask: Ask): Promise<number> => {
          const quote = await ask("POST", "/api/v1/opportunities", {
            subject: "Job",
            store_id: 1,
            member_id: customer,
            starts_at: at(from),
            ends_at: at(from + length),
            prices_include_tax,
            discount_rule_ids: rules ? [named] : [],
            surcharge_group_ids: surcharges ? [group] : []
          })
          expect(quote.status).toBe(201)
          const { id } = quote.body.opportunity
          for (const { discount_percent, is_optional, quantity, which } of lines) {
            const priced = which === 2 ? { unit_price: "9.99" } : { item_id: products[which]! }
            const added = await ask("POST", `/api/v1/opportunities/${id}/items`, {
              name: "Line",
              quantity: (quantity / 100).toFixed(2),
              discount_percent,
              is_optional,
              ...priced
            })
            expect(added.status).toBe(201)
          }
          return id
        }
        // Ids differ between the two, figures and words must not.
        const figuresOf = (body: any): Json => {
          const { opportunity: deal } = body
          const named = (kind: string) =>
            deal[kind].map((row: any, n: number): [string, string] => [`${kind}.${row.id}`, `${kind}.#${n}`])
          const names = new Map<string, string>([...named("items"), ...named("costs")])
          return {
            totals: Object.fromEntries(Object.entries(deal).filter(([name]) => name.endsWith("_total"))) as Json,
            lines: deal.items.map((item: any) => [item.unit_price, item.total, item.tax_rate, item.quantity]),
            costs: deal.costs.map((cost: any) => [cost.description, cost.amount]),
            explanation: body.explanation.map((step: any) => ({
              ...step,
              figure: step.figure.replace(/^(items|costs)\.-?\d+/, (row: string) => names.get(row) ?? "of no row")
            }))
          }
        }
        const show = async (ask: Ask, id: number) =>
          figuresOf((await ask("GET", `/api/v1/opportunities/${id}?include=items,costs&explain=1`)).body)
        const here = await show(onServer, await build(onServer))
        const offline = await build(onDevice)
        const before = await show(onDevice, offline)
        expect(JSON.stringify(before)).toBe(JSON.stringify(here))
        expect(await device.sync()).toMatchObject({ rejected: 0, conflicts: 0, pending: 0 })
        const both = [
          await onServer("GET", `/api/v1/opportunities/${offline}?include=items,costs&explain=1`),
          await onDevice("GET", `/api/v1/opportunities/${offline}?include=items,costs&explain=1`)
        ]
        expect(JSON.stringify(figuresOf(both[0]!.body))).toBe(JSON.stringify(before))
        expect(JSON.stringify(figuresOf(both[1]!.body))).toBe(JSON.stringify(before))
      }),
      { numRuns: 10 }
    )
  }, 120_000)
})
