/**
 * Pricing 500 lines in full against the integer multiplications alone, and the cost of adding a line to quotes of
 * different sizes.
 */
import { Result } from "effect"
import { priceLine, type LineRequest } from "../../core/pricing/pricing/line.ts"
import { priceOpportunity, type StagesRequest } from "../../core/pricing/pricing/surcharges.ts"
import { inTurns, print, type Side, type Taken } from "./measure.ts"
import type { Client } from "./processes.ts"
import { onSqlite, served } from "./stage.ts"

const lines = 500
const rounds = 9
const sizes = [0, 50, 100, 250, 499]
const adds = 12

const requests = Array.from({ length: lines }, (_, at): LineRequest => ({
  transaction_type: "rental",
  quantity: `${(at % 9) + 1}.00`,
  manual_unit_price: null,
  carried_unit_price: 0,
  discount_percent: at % 5 === 0 ? "12.50" : null,
  starts_at: "2026-07-01T08:00:00Z",
  ends_at: "2026-07-06T18:00:00Z",
  days: { use_chargeable_days: false, chargeable_days: null },
  currency: "GBP",
  prices_include_tax: false,
  tax_rate: "20.0000",
  rate: {
    price: 1_000 + at,
    method: {
      calculation_strategy: "period",
      base_period: "daily",
      strategy_config: { leeway_minutes: 60 },
      enabled_modifiers: [],
      modifier_configs: {}
    }
  }
}))
const rule = {
  applies_to: "line",
  currency_code: null,
  auto_apply: true,
  stackable: true,
  is_active: true,
  valid_from: null,
  valid_to: null,
  store_id: null,
  max_discount_amount: null
} as const
const surcharge = { applies_to: "all", tax_class_id: null, min_amount: null, max_amount: null } as const
const stages = (nets: ReadonlyArray<number>): StagesRequest => ({
  lines: nets.map((net, at) => ({
    id: at + 1,
    transaction_type: "rental",
    net,
    product_tax_class_id: (at % 3) + 1,
    is_optional: false,
    discountable: true,
    priced_by_hand: at % 5 === 0,
    facts: {
      member_id: 1,
      "member.membership_type": null,
      "member.discount_category_id": null,
      "member.price_category_id": null,
      "member.tag_list": null,
      store_id: 1,
      product_id: at,
      product_group_id: at % 4,
      product_type: "rental",
      transaction_type: "rental",
      quantity: requests[at]!.quantity,
      chargeable_days: "5",
      line_total: net,
      charge_total: null,
      starts_at: null,
      ends_at: null,
      day_of_week: 3,
      state: "quotation"
    }
  })),
  costs: [{ cost_type: 0, amount: 4_000, quantity: "2.00", is_optional: false }],
  rules: [
    { ...rule, id: 1, name: "Ten", discount_type: "percentage", discount_value: "10.00", priority: 2, criteria: {} },
    {
      ...rule,
      id: 2,
      name: "Group",
      discount_type: "percentage",
      discount_value: "5.00",
      priority: 1,
      criteria: { product_group_id: [1, 2] }
    },
    {
      ...rule,
      id: 3,
      name: "Off",
      discount_type: "fixed_amount",
      discount_value: "100.00",
      applies_to: "total",
      priority: 0,
      criteria: {}
    }
  ],
  surcharge_groups: [
    {
      id: 1,
      name: "Extras",
      is_active: true,
      store_id: null,
      sort_order: 0,
      surcharges: [
        { ...surcharge, id: 1, name: "Insurance", calculation_type: "percentage", value: "2.50", sort_order: 0 },
        { ...surcharge, id: 2, name: "Driver", calculation_type: "per_day", value: "120.00", sort_order: 1 }
      ]
    }
  ],
  named_rule_ids: [],
  currency: "GBP",
  store_id: 1,
  start_date: "2026-07-01",
  days: 5,
  prices_include_tax: false,
  deal_total: null,
  tax_locked: false,
  locked: null,
  default_product_tax_class_id: 1,
  taxOf: (id) => ({ tax_rate_id: id, name: `Class ${id}`, percentage: `${id * 5}.0000` })
})

let kept = 0
const inFull = (): number => {
  const nets = requests.map((request) => Result.getOrThrow(priceLine(request)).total)
  return Result.getOrThrow(priceOpportunity(stages(nets))).totals.charge_including_tax_total
}
/** Sums price × days × quantity of every line: the least that pricing must do. */
const bare = requests.map((request, at) => ({ price: 1_000 + at, units: 6, quantity: Number(request.quantity) }))
const multiplied = (): number => {
  let sum = 0
  for (const { price, quantity, units } of bare) sum += price * units * quantity
  return sum
}
const repeated = (name: string, once: () => number, times: number): Side => ({
  name,
  round: async () => {
    const started = performance.now()
    for (let at = 0; at < times; at++) kept += once() & 1
    return { seconds: (performance.now() - started) / 1000, count: times }
  }
})

/** A quote of `size` lines; a round adds one line, the only step that is timed, and removes it. */
const quoteOf = async (
  ask: Client,
  product_id: number,
  size: number
): Promise<{ readonly side: Side; readonly bytes: () => number }> => {
  const {
    opportunity: { id }
  } = await ask("POST", "/api/v1/opportunities", {
    subject: `Quote of ${size}`,
    store_id: 1,
    starts_at: "2027-07-01T08:00:00Z",
    ends_at: "2027-07-06T18:00:00Z"
  })
  const path = `/api/v1/opportunities/${id}/items`
  const line = { name: "PAR 64", item_id: product_id, quantity: 2 }
  for (let at = 0; at < size; at++) await ask("POST", path, line)
  let bytes = 0
  return {
    bytes: () => bytes,
    side: {
      name: `line ${size + 1}`,
      round: async () => {
        let seconds = 0
        for (let at = 0; at < adds; at++) {
          const started = performance.now()
          const answer = await ask("POST", path, line)
          seconds += (performance.now() - started) / 1000
          bytes = JSON.stringify(answer).length
          await ask("DELETE", `${path}/${answer.opportunity.items.at(-1)!.id}`)
        }
        return { seconds, count: adds }
      }
    }
  }
}

export const pricing = async (): Promise<void> => {
  print(
    `pricing: ${lines} lines in full (rate engine, 3 rules, 2 surcharges, 3 tax groups) and their integer multiplications alone`,
    await inTurns([repeated("in full", inFull, 10), repeated("bare loop", multiplied, 20_000)], rounds),
    { unit: "opportunities", as: "duration" }
  )
  await served(onSqlite, async (_engine, _server, ask) => {
    const { product } = await ask("POST", "/api/v1/products", { name: "PAR 64", stock_method: 1 })
    await ask("POST", `/api/v1/products/${product.id}/rates`, {
      rate_definition_id: 2,
      transaction_type: "rental",
      price: "12.50",
      currency: "GBP"
    })
    await ask("POST", "/api/v1/discount_rules", {
      name: "Ten",
      discount_type: "percentage",
      discount_value: 10,
      criteria: {},
      auto_apply: true
    })
    const quotes = []
    for (const size of sizes) quotes.push(await quoteOf(ask, product.id, size))
    const taken: ReadonlyArray<Taken> = await inTurns(
      quotes.map(({ side }) => side),
      rounds
    )
    const [first, ...larger] = taken
    for (const one of larger) {
      print(
        `pricing: adding ${one.name} through the API on SQLite, each durable; answers of ${quotes[taken.indexOf(one)]!.bytes()} and ${quotes[0]!.bytes()} bytes`,
        [one, first!],
        { unit: "lines", as: "duration" }
      )
    }
  })
  if (kept < 0) console.log(kept)
}
