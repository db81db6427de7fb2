/** Endpoints of the rate engine: the price of a hire, and available strategies and forms (rules/rates 6.3, 6.4). */
import { baseCurrency, boolean, choice, get, integer, invalid, json, later, list, money } from "../../kernel/index.ts"
import { mapValues, ok, postQuery, ref, Shown, text, timestamp, valueOf } from "../../kernel/index.ts"
import type { Query, SharedDraft, Slice } from "../../kernel/index.ts"
import { Effect, Result } from "effect"
import { type FormField, schemaSections } from "../../pricing/pricing/config-schema.ts"
import { presets } from "../../pricing/pricing/definition.ts"
import {
  basePeriods,
  isRateTransactionType,
  modifiers,
  rateTransactionTypes,
  strategies
} from "../../pricing/pricing/modifiers.ts"
import { products } from "../products/schema.ts"
import { rateFacts } from "./product-rates.ts"
import { stepShown } from "../../pricing/explain/explain-step.ts"

export const isAsked = (query: Query, name: string): boolean => ["1", "true"].includes(valueOf(query, name) ?? "")
/** Whether the request has `?explain=1`: the response then explains each amount. */
export const isExplained = (query: Query): boolean => isAsked(query, "explain")

const calculating = later(() => import("../../pricing/explain/calculate.ts"))

const named = (
  all: ReadonlyArray<{ readonly identifier: string; readonly label: string }>
): { readonly [identifier: string]: string } =>
  Object.fromEntries(all.map(({ identifier, label }) => [identifier, label]))
const modifierLabels = named(modifiers)
const periodLabels = mapValues(basePeriods, ({ label }) => label)
const formField: Shown.Part<FormField> = Shown.named("RateFormField", () =>
  Shown.keys({
    key: text(),
    type: choice({
      number: "Number",
      decimal: "Decimal",
      select: "Select",
      time: "Time",
      group: "Group",
      repeater: "Repeater"
    }),
    label: text(),
    help: Shown.nothing(),
    placeholder: Shown.nothing(),
    default: Shown.either(text({ nullable: true }), Shown.number()),
    required: boolean(),
    min: Shown.optional(Shown.number({ nullable: true })),
    max: Shown.optional(Shown.number({ nullable: true })),
    step: Shown.optional(Shown.nothing()),
    decimals: Shown.optional(integer()),
    options: Shown.optional(Shown.map(text())),
    min_items: Shown.optional(integer()),
    fields: Shown.optional(Shown.list(formField)),
    visible_when: Shown.optional(Shown.objects({ field: text(), value: text() }))
  })
)
/** Response of calculating a rate: its `RateBreakdown`, the ids of the rate used and, on request, the explanation. */
export const breakdownShown = {
  rate_breakdown: Shown.keys({
    currency: text(),
    unit_price: money(),
    units: Shown.number(),
    unit_label: text(),
    per_unit_subtotal: money(),
    quantity: integer(),
    total: money(),
    line_items: Shown.objects({
      period_from: integer(),
      period_to: integer(),
      multiplier: text(),
      unit_price: money(),
      line_total: money()
    }),
    applied_modifiers: Shown.objects({
      key: choice(modifierLabels),
      label: text(),
      description: text(),
      before: money(),
      after: money()
    })
  }),
  meta: Shown.keys({
    resolved: boolean(),
    rate_definition_id: integer({ nullable: true }),
    product_rate_id: integer({ nullable: true })
  }),
  explanation: Shown.optional(Shown.objects(stepShown, { describe: "Explanation of each figure" }))
}

const calculate = postQuery("/api/v1/products/{product}/calculate_rate", {
  answer: breakdownShown,
  name: "products.calculate_rate",
  summary: "Price a product over a window; ?explain=1 explains it",
  query: { explain: boolean({ describe: "Explain each figure" }) },
  ability: ["rates:read", "products:read"],
  permission: ["rates.view", "products.view"],
  params: { product: { table: products } },
  fields: {
    quantity: integer({ required: true, min: 1 }),
    start: timestamp({ required: true, describe: "Start of the hire; its UTC offset applies to times of day" }),
    end: timestamp({ required: true }),
    transaction_type: choice(rateTransactionTypes, {
      nullable: true,
      describe: "Transaction type; default: the product's, else rental"
    }),
    store_id: ref("stores", { nullable: true })
  },
  // Uses the raw body: decoded times have lost their UTC offset.
  run: Effect.fnUntraced(function* (input) {
    const store_id = input.values.store_id ?? null
    const { id, product_type } = input.rows.product
    const kind = isRateTransactionType(product_type) ? product_type : "rental"
    const facts = yield* rateFacts([id], { store_id, start: String(input.body["start"]) })
    const { calculateEndpoint } = yield* calculating
    const answer = calculateEndpoint(
      { ...input.body, transaction_type: input.body["transaction_type"] ?? kind },
      {
        rates: facts.get(id) ?? [],
        base_currency: baseCurrency(input.settings),
        store_exists: (requested_id) => requested_id === store_id
      },
      isExplained(input.query)
    )
    const { explanation, meta, rate_breakdown } = yield* Effect.fromResult(Result.mapError(answer, invalid))
    return ok({ rate_breakdown, meta, ...(explanation === undefined ? {} : { explanation }) })
  })
})

const engineAccess = { ability: "rates:read", permission: "rates.view" } as const satisfies SharedDraft

export const rateEngineSlice: Slice = {
  name: "rate_engine",
  endpoints: [
    calculate,
    get("/api/v1/rate_engine/strategies", {
      answer: {
        strategies: Shown.objects({
          identifier: choice(named(strategies)),
          label: text(),
          allowed_base_periods: list(choice(periodLabels)),
          supports_multiplier: boolean(),
          supports_factor: boolean()
        })
      },
      name: "rate_engine.strategies",
      summary: "List the calculation strategies",
      ...engineAccess,
      run: () => Effect.succeed(ok({ strategies: strategies }))
    }),
    get("/api/v1/rate_engine/modifiers", {
      answer: { modifiers: Shown.objects({ identifier: choice(modifierLabels), label: text(), priority: integer() }) },
      name: "rate_engine.modifiers",
      summary: "List the rate modifiers",
      ...engineAccess,
      run: () => Effect.succeed(ok({ modifiers: modifiers }))
    }),
    get("/api/v1/rate_engine/presets", {
      answer: {
        presets: Shown.objects({
          slug: text(),
          name: text(),
          description: text(),
          calculation_strategy: choice(named(strategies)),
          base_period: choice(periodLabels, { nullable: true }),
          enabled_modifiers: list(choice(modifierLabels)),
          strategy_config: json(),
          modifier_configs: json()
        })
      },
      name: "rate_engine.presets",
      summary: "List the built-in rate presets",
      ...engineAccess,
      run: () => Effect.succeed(ok({ presets: presets }))
    }),
    get("/api/v1/rate_engine/schema", {
      answer: { sections: Shown.objects({ key: text(), label: text(), fields: Shown.list(formField) }) },
      name: "rate_engine.schema",
      summary: "Describe the options of a strategy and its modifiers",
      ...engineAccess,
      fields: {
        strategy: text({
          describe: `Strategy (required): one of ${strategies.map(({ identifier }) => identifier).join(", ")}`
        }),
        modifiers: list(text())
      },
      run: ({ body }) =>
        Effect.map(Effect.fromResult(Result.mapError(schemaSections(body), invalid)), (sections) =>
          ok({ sections: sections })
        )
    })
  ]
}
