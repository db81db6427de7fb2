/** Asking the rate engine: what a hire would cost, and what the engine can do (interface 4.3, 4.4). */
import { Effect, Result } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { ask, get } from "../kernel/endpoint.ts"
import { choice, integer, list, ref, text, timestamp } from "../kernel/field.ts"
import type { JsonObject } from "../kernel/json.ts"
import { invalid } from "../kernel/rejection.ts"
import { ok } from "../kernel/resource.ts"
import { baseCurrency } from "../kernel/settings.ts"
import { calculateEndpoint } from "../pricing/calculate.ts"
import { schemaSections } from "../pricing/config-schema.ts"
import { presets } from "../pricing/presets.ts"
import { modifiers, rateTransactionTypes, strategies } from "../pricing/strategies.ts"
import { products } from "../products/schema.ts"
import { isExplained } from "./explained.ts"
import { rateFacts } from "./facts.ts"

const calculate = ask("/api/v1/products/{product}/calculate_rate", {
  name: "products.calculate_rate", summary: "What a product costs over a window; with ?explain=1 how it came about",
  ability: ["rates:read", "products:read"], permission: ["rates.view", "products.view"],
  params: { product: { table: products } },
  fields: {
    quantity: integer({ required: true, min: 1 }),
    start: timestamp({ required: true, describe: "Times of day are read in the offset written here" }),
    end: timestamp({ required: true }),
    transaction_type: choice(rateTransactionTypes, { nullable: true, describe: "Default rental" }),
    store_id: ref("stores", { nullable: true })
  },
  // The body itself is asked, not its values: those have lost the offset the times were written in.
  run: (input) => Effect.gen(function*() {
    const store_id = input.values.store_id ?? null
    const { id } = input.rows.product
    const facts = yield* rateFacts([id], { store_id, start: String(input.body["start"]) })
    const answer = calculateEndpoint(input.body, {
      rates: facts.get(id) ?? [], base_currency: baseCurrency(input.settings), store_exists: (asked) => asked === store_id
    }, isExplained(input.query))
    const { explanation, meta, rate_breakdown } = yield* Effect.fromResult(Result.mapError(answer, invalid))
    const { applied_modifiers, line_items } = rate_breakdown
    return ok({
      rate_breakdown: { ...rate_breakdown, line_items: listed(line_items), applied_modifiers: listed(applied_modifiers) }, meta: { ...meta },
      ...(explanation === undefined ? {} : { explanation: listed(explanation) })
    })
  })
})

const engineAccess = { ability: "rates:read", permission: "rates.view" } as const
const listed = (rows: ReadonlyArray<object>): ReadonlyArray<JsonObject> => rows.map((row) => ({ ...row }))

export const rateEngineSlice: Slice = {
  name: "rate_engine",
  endpoints: [
    calculate,
    get("/api/v1/rate_engine/strategies", {
      name: "rate_engine.strategies", summary: "List the calculation strategies", ...engineAccess,
      run: () => Effect.succeed(ok({ strategies: listed(strategies) }))
    }),
    get("/api/v1/rate_engine/modifiers", {
      name: "rate_engine.modifiers", summary: "List the modifiers", ...engineAccess,
      run: () => Effect.succeed(ok({ modifiers: listed(modifiers) }))
    }),
    get("/api/v1/rate_engine/presets", {
      name: "rate_engine.presets", summary: "List the shipped presets", ...engineAccess,
      run: () => Effect.succeed(ok({ presets: listed(presets) }))
    }),
    get("/api/v1/rate_engine/schema", {
      name: "rate_engine.schema", summary: "The form of a strategy with its modifiers", ...engineAccess,
      fields: {
        strategy: text({ describe: `Required: one of ${strategies.map(({ identifier }) => identifier).join(", ")}` }),
        modifiers: list(text())
      },
      run: ({ body }) => Effect.map(
        Effect.fromResult(Result.mapError(schemaSections(body), invalid)), (sections) => ok({ sections: listed(sections) }))
    })
  ]
}
