/** Rate definitions (how time and quantity are charged) and product rates (their prices) (rules/rates 2, 5). */
import { accessOf, bindings, boolean, choice, chunked, columnList, command, created } from "../../kernel/index.ts"
import { createdEvent, crudResource, date, decided, initialRow, integer, invalid, json } from "../../kernel/index.ts"
import { list, longText, mapValues, money, quote, ref, referredRows, renderById, resource } from "../../kernel/index.ts"
import { Shown, Store, table, text, viewContext } from "../../kernel/index.ts"
import type { FieldErrors, JsonObject, Resource, RowOf, Slice } from "../../kernel/index.ts"
import type { CalculationStrategy } from "../../pricing/pricing/modifiers.ts"
import {
  basePeriodLabel,
  basePeriods,
  rateTransactionTypes,
  strategies,
  strategyLabel
} from "../../pricing/pricing/modifiers.ts"
import { stores } from "../../setup/stores.ts"
import { Effect, Result } from "effect"
import { overlappingRateIds, type PricedRate } from "../../pricing/pricing/engine.ts"
import { scaleOf } from "../../values/money.ts"
import { products } from "../products/schema.ts"
import { parseMoment, plainDateOf } from "../../values/moment.ts"
import type { SubmittedMethod } from "../../pricing/pricing/definition.ts"
import { composeMethod, copyName, deletionErrors, presets, updateMethod } from "../../pricing/pricing/definition.ts"

const strategyNames = Object.fromEntries(strategies.map(({ identifier, label }) => [identifier, label])) as {
  [S in CalculationStrategy]: string
}
const periodNames = mapValues(basePeriods, ({ label }) => label)

const described = { name: text({ required: true, search: true }), description: longText({ nullable: true }) }
/**
 * Fields of request bodies. Period, modifiers and configs are checked together by `definition.ts`: some clients send an
 * empty list for an empty object, and a period sent with the fixed strategy is ignored.
 */
export const rateDefinitionFields = {
  ...described,
  calculation_strategy: choice(strategyNames, { required: true }),
  base_period: text({
    nullable: true,
    max: 20,
    describe: `One of ${Object.keys(basePeriods).join(", ")}; which of them depends on the strategy`
  }),
  enabled_modifiers: list(text({ max: 50 }), { default: [], max_items: 20 }),
  strategy_config: json({
    form: "any",
    default: {},
    describe: "Options of the strategy, as listed by GET /rate_engine/schema"
  }),
  modifier_configs: json({ form: "any", default: {}, describe: "Options of each enabled modifier, by its name" })
}
export const rate_definitions = table(
  "rate_definitions",
  {
    ...described,
    calculation_strategy: choice(strategyNames),
    base_period: choice(periodNames, { nullable: true }),
    enabled_modifiers: list(text()),
    strategy_config: json<JsonObject>(),
    modifier_configs: json<JsonObject>(),
    is_preset: boolean({ computed: true, default: false }),
    preset_slug: text({ computed: true, nullable: true, search: true }),
    cloned_from_id: ref("rate_definitions", { computed: true, nullable: true, on_delete: "clear" })
  },
  {
    reference: true,
    // Users who see products may calculate prices (rules/rates 6.3), and those who write quotes see them.
    visibility: { all_columns: ["rates.*", "products.*", "opportunities.*"] },
    indexes: [["name_folded"], ["cloned_from_id"]],
    uniques: [{ columns: ["preset_slug"], field: "preset_slug", message: "The preset slug has already been taken." }]
  }
)
export type RateDefinitionRow = RowOf<typeof rate_definitions>

const productRateFields = {
  /** Archived products' rates do not prevent deleting the definition, as users could not remove them. */
  rate_definition_id: ref("rate_definitions", {
    required: true,
    on_delete: "refuse",
    while_of: { column: "product_id", table: "products", is: [{ deleted_at: null }] },
    otherwise: "delete",
    way_out: "remove or change the product's rate first"
  }),
  // Deleted with the store: without it the rate would apply at all stores (rules/rates 5).
  store_id: ref("stores", { nullable: true, on_null: "clear", on_delete: "delete" }),
  transaction_type: choice(rateTransactionTypes, { required: true, any_case: true }),
  price: money({ required: true, currency: "currency" }),
  currency: text({ required: true, max: 3, length: 3, format: "currency" }),
  valid_from: date({ nullable: true, on_null: "clear" }),
  valid_to: date({ nullable: true, on_null: "clear" }),
  priority: integer({ default: 0 })
}
export const product_rates = table(
  "product_rates",
  { product_id: ref("products", { computed: true, on_delete: "keep" }), ...productRateFields },
  {
    visibility: { all_columns: ["rates.*", "products.*", "opportunities.*"] },
    indexes: [["product_id", "transaction_type"], ["rate_definition_id"], ["store_id"]]
  }
)
export type ProductRateRow = RowOf<typeof product_rates>

// API representation of product rates (rules/rates 6.2).

const common = {
  singular: "product_rate",
  table: product_rates,
  filters: [
    "rate_definition_id",
    "store_id",
    "transaction_type",
    "currency",
    "priority",
    "valid_from",
    "valid_to",
    "created_at",
    "updated_at"
  ],
  sorts: ["transaction_type", "price", "priority", "valid_from", "valid_to", "created_at", "updated_at"],
  includes: {
    store: { kind: "brief", via: "store_id", table: stores },
    rate_definition: { kind: "always", key: "rate_definition" }
  }
} as const

const withNames = (
  { id, product_id, rate_definition_id, store_id, transaction_type, ...rest }: JsonObject,
  row: ProductRateRow
): JsonObject => ({
  id: id ?? null,
  product_id: product_id ?? null,
  rate_definition_id: rate_definition_id ?? null,
  store_id: store_id ?? null,
  transaction_type: transaction_type ?? null,
  transaction_type_name: rateTransactionTypes[row.transaction_type],
  ...rest
})

const names = { transaction_type_name: text() }

/** Product rate with its definition, for lists and single rates. */
export const productRateResource: Resource<typeof product_rates> = resource({
  ...common,
  shows: { ...names, rate_definition: Shown.brief() },
  lookups: { definition: { via: "rate_definition_id", table: rate_definitions } },
  view: (base, row, { definition }) => ({
    ...withNames(base, row),
    rate_definition: definition === undefined ? null : { id: row.rate_definition_id, name: String(definition["name"]) }
  })
})

/** Product rate without its definition, for responses to writes. */
const productRateWithoutMetadata: Resource<typeof product_rates> = resource({
  ...common,
  title: "WrittenProductRate",
  shows: { ...names, rate_definition: Shown.nothing() },
  view: (base, row) => ({ ...withNames(base, row), rate_definition: null })
})

export const productRateErrors = (
  next: Pick<ProductRateRow, "valid_from" | "valid_to" | "currency">,
  before: ProductRateRow | undefined,
  price_sent: boolean
): FieldErrors | undefined => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  if (next.valid_from !== null && next.valid_to !== null && next.valid_to < next.valid_from) {
    errors["valid_to"] = ["The valid to must be a date after or equal to valid from."]
  }
  if (before !== undefined && !price_sent && scaleOf(next.currency) !== scaleOf(before.currency)) {
    errors["price"] = ["Send the price too: it would mean another amount in a currency with other decimals."]
  }
  return Object.keys(errors).length > 0 ? errors : undefined
}

const shared = {
  fields: productRateFields,
  path: "/api/v1/products/{product}/rates",
  name: "product_rates",
  access: accessOf("rates"),
  parent: { param: "product", table: products, column: "product_id" }
} as const

const reads = crudResource({ ...shared, resource: productRateResource, only: ["list", "show"] })
const writes = crudResource({
  ...shared,
  resource: productRateWithoutMetadata,
  only: ["create", "update", "delete"],
  // Locks the definition against concurrent deletion.
  streams: (params, body) => [
    ...(params["id"] === undefined ? [] : [`product_rate:${params["id"]}`]),
    ...(body["rate_definition_id"] === undefined ? [] : [`rate_definition:${String(body["rate_definition_id"])}`])
  ],
  rules: {
    save: ({ next, before, input }) => {
      const errors = productRateErrors(next, before, input.values["price"] !== undefined)
      return errors === undefined ? Result.succeed({}) : Result.fail(invalid(errors))
    },
    meta_shows: Shown.keys({ overlapping_rate_ids: list(integer()) }),
    meta: Effect.fnUntraced(function* (row) {
      const others = yield* Store.find(product_rates, {
        product_id: row.product_id,
        transaction_type: row.transaction_type,
        priority: row.priority
      })
      return { overlapping_rate_ids: overlappingRateIds(row, others) }
    })
  }
})

export const productRatesSlice: Slice = {
  ...reads,
  includes: { products: { rates: { kind: "many", via: "product_id", resource: () => productRateResource } } },
  endpoints: [...(reads.endpoints ?? []), ...(writes.endpoints ?? [])]
}

// Reads candidate rates for pricing, for many products at once.

interface RateFactsOptions {
  /** Store whose rates are included besides all-stores rates; null for the latter only. */
  readonly store_id: number | null
  /** Only rates valid on this time's date, in its own UTC offset; absent or null for any date. */
  readonly start?: string | null
}
/** Candidate rates by product id; products without any have an empty list. */
export type RateFacts = ReadonlyMap<number, ReadonlyArray<PricedRate>>

/**
 * Candidates for `resolveProductRate` and `resolveLineRate`, with the method of their definitions: one query per 5,000
 * products, and one for the definitions.
 */
export const rateFacts = Effect.fnUntraced(function* (
  product_ids: ReadonlyArray<number>,
  wanted: RateFactsOptions
): Store.Reads<RateFacts> {
  const store = yield* Store
  const distinct = [...new Set(product_ids)]
  const moment = wanted.start === undefined || wanted.start === null ? undefined : parseMoment(wanted.start)
  const day = moment === undefined ? undefined : plainDateOf(moment)
  const found = yield* Effect.forEach(chunked(distinct, 5_000), (some) => {
    const bound = bindings(store.dialect)
    const products = bound.list(some)
    const place =
      wanted.store_id === null ? "store_id is null" : `(store_id is null or store_id = ${bound.bind(wanted.store_id)})`
    const valid =
      day === undefined
        ? ""
        : ` and (valid_from is null or valid_from <= ${bound.bind(day)}) and (valid_to is null or valid_to >= ${bound.bind(day)})`
    return store.run(
      `select ${columnList(product_rates)} from ${quote(product_rates.name)} where product_id in (${products}) and ${place}${valid}`,
      bound.values
    )
  })
  const rates = found.flat().map((row) => store.decode(product_rates, row))
  const methods = yield* referredRows(rate_definitions, rates, "rate_definition_id")
  const byProduct = new Map<number, Array<PricedRate>>(distinct.map((id) => [id, []]))
  for (const rate of rates) {
    const method = methods.get(rate.rate_definition_id)
    if (method !== undefined) byProduct.get(rate.product_id)?.push({ ...rate, method, definition_name: method.name })
  }
  return byProduct
})

// Endpoints of rate definitions (rules/rates 6.1).

const access = accessOf("rates")

const rateDefinitionResource: Resource<typeof rate_definitions, "rate_definition"> = resource({
  singular: "rate_definition",
  called: { by: ["preset_slug", "name"] },
  shows: { calculation_strategy_name: text(), base_period_name: text({ nullable: true }) },
  table: rate_definitions,
  filters: ["name", "calculation_strategy", "base_period", "is_preset", "preset_slug", "created_at", "updated_at"],
  sorts: ["name", "calculation_strategy", "base_period", "created_at", "updated_at"],
  aliases: { strategy: "calculation_strategy", preset: "preset_slug" },
  includes: {
    cloned_from: { kind: "brief", via: "cloned_from_id", table: rate_definitions },
    product_rates: { kind: "many", via: "rate_definition_id", resource: () => productRateWithoutMetadata }
  },
  view: ({ calculation_strategy, base_period, id, name, description, ...rest }, row) => ({
    id: id ?? null,
    name: name ?? null,
    description: description ?? null,
    calculation_strategy: calculation_strategy ?? null,
    calculation_strategy_name: strategyLabel(row.calculation_strategy),
    base_period: base_period ?? null,
    base_period_name: basePeriodLabel(row.base_period),
    ...rest
  })
})

const crud = crudResource({
  resource: rateDefinitionResource,
  fields: rateDefinitionFields,
  path: "/api/v1/rate_definitions",
  access,
  rules: {
    save: ({ before, input }) => {
      const sent: SubmittedMethod = input.values
      const method = before === undefined ? composeMethod(sent) : updateMethod(before, sent)
      return Result.mapBoth(method, { onSuccess: (stored) => ({ set: { ...stored } }), onFailure: invalid })
    },
    delete: ({ row }) => {
      const errors = deletionErrors({ is_preset: row.is_preset, in_use: false })
      return errors === undefined ? Result.succeed([]) : Result.fail(invalid(errors))
    }
  }
})

const duplicate = command("POST", "/api/v1/rate_definitions/{id}/duplicate", {
  answer: { rate_definition: Shown.row(() => rateDefinitionResource) },
  success_status: 201,
  name: "rate_definitions.duplicate",
  summary: "Copy a rate definition",
  ability: access.write,
  permission: access.create,
  params: { id: { table: rate_definitions } },
  creates: [rate_definitions],
  facts: () => Effect.void,
  decide: (_facts, { rows }, context) => {
    const id = context.id(rate_definitions)
    const copy = {
      ...rows.id,
      id,
      name: copyName(rows.id.name),
      is_preset: false,
      preset_slug: null,
      cloned_from_id: rows.id.id
    }
    return decided(id, [createdEvent(rate_definitions, copy)])
  },
  respond: (result, input) =>
    Effect.map(renderById(rateDefinitionResource, result.id, input.query, viewContext(input)), created)
})

export const rateDefinitionsSlice: Slice = {
  ...crud,
  endpoints: [...(crud.endpoints ?? []), duplicate],
  seed: () =>
    presets.map(({ slug, ...preset }, index) =>
      createdEvent(rate_definitions, {
        ...initialRow(rate_definitions, rateDefinitionFields),
        ...preset,
        id: index + 1,
        is_preset: true,
        preset_slug: slug
      })
    )
}
