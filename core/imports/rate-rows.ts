/** The `rate` columns of a product import. A rate is identified by store, type, currency, dates and priority. */
import { choice, createdEvent, date, foldCase, integer, isJsonObject, money, readFields } from "../kernel/index.ts"
import { text, updatedEvents } from "../kernel/index.ts"
import type { DecideContext, FieldErrors, Fields, Json, NewEvent } from "../kernel/index.ts"
import { rateTransactionTypes } from "../pricing/pricing/modifiers.ts"
import type { ProductRateRow, RateDefinitionRow } from "../products/rates/product-rates.ts"
import { product_rates, productRateErrors } from "../products/rates/product-rates.ts"
import type { StoreRow } from "../setup/stores.ts"

/** Slugs of presets by rate engine of the system that rates are imported from. Usage-based engines become daily. */
export const presetSlugOfSourceEngine: { readonly [engine: string]: string } = {
  "Daily Rate": "daily-rate",
  "Daily Multiplier and Factor Rate": "daily-multiplier-factor",
  "Hourly Rate": "hourly-rate",
  "Hourly Multiplier and Factor Rate": "hourly-multiplier-factor",
  "Half Hourly Rate": "half-hourly-rate",
  "Weekly Rate": "weekly-rate",
  "Monthly Rate": "monthly-rate",
  "Monthly Multiplier and Factor Rate": "monthly-multiplier-factor",
  "Fixed Rate": "fixed-rate",
  "Fixed Rate and Factor": "fixed-rate-factor",
  "Fixed Rate and Subs Days": "fixed-rate-subs-days",
  "Days Used Rate": "daily-rate"
}

/**
 * The preset for a rate engine of the other system, by the engine's name or that name as a slug; undefined for other
 * names.
 */
export const sourceEngineSlug = (name: string): { readonly slug: string; readonly warning?: string } | undefined => {
  const word = foldCase(name)
    .replace(/[\s_-]+/g, " ")
    .trim()
  const found = Object.entries(presetSlugOfSourceEngine).find(([engine]) => foldCase(engine) === word)
  if (found === undefined) return undefined
  const [engine, slug] = found
  return engine === "Days Used Rate"
    ? {
        slug,
        warning:
          "Days Used Rate has no equal here: it is imported as the daily rate, which charges every day of the hire."
      }
    : { slug }
}

export interface Definitions {
  readonly bySlug: ReadonlyMap<string, RateDefinitionRow>
  readonly byName: (name: string) => ReadonlyArray<RateDefinitionRow>
}
export const definitionsOf = (rows: ReadonlyArray<RateDefinitionRow>): Definitions => ({
  bySlug: new Map(rows.flatMap((row) => (row.preset_slug === null ? [] : [[row.preset_slug, row]]))),
  byName: (name) => {
    const exact = rows.filter((row) => row.name === name)
    return exact.length > 0 ? exact : rows.filter((row) => foldCase(row.name) === foldCase(name))
  }
})

type DefinitionMatch =
  | { readonly definition: RateDefinitionRow; readonly warning?: string }
  | { readonly error: string }

/** Finds a rate definition by a preset's slug, by its name, or by a rate engine's name in the imported system. */
const findDefinition = (word: string, definitions: Definitions): DefinitionMatch => {
  const bySlug = definitions.bySlug.get(foldCase(word))
  if (bySlug !== undefined) return { definition: bySlug }
  const named = definitions.byName(word)
  if (named.length > 1) return { error: `Several rate definitions are called ${word}; rename all but one.` }
  if (named[0] !== undefined) return { definition: named[0] }
  const engine = sourceEngineSlug(word)
  const preset = engine === undefined ? undefined : definitions.bySlug.get(engine.slug)
  return preset === undefined
    ? {
        error: `There is no rate definition ${word}; give a preset's slug, such as daily-rate, or a definition's name.`
      }
    : { definition: preset, ...(engine?.warning === undefined ? {} : { warning: engine.warning }) }
}

/** A store by its name, in any letter case. */
export const storeNamed = (name: string, stores: ReadonlyArray<StoreRow>): StoreRow | undefined =>
  stores.find((one) => one.name === name) ?? stores.find((one) => foldCase(one.name) === foldCase(name))

const rate_fields = new Map<string, Fields>()
const rateFields = (base_currency: string, default_type: string): Fields => {
  const key = `${base_currency} ${default_type}`
  const known = rate_fields.get(key) ?? makeRateFields(base_currency, default_type)
  rate_fields.set(key, known)
  return known
}
const makeRateFields = (base_currency: string, default_type: string): Fields => ({
  preset: text({ required: true }),
  price: money({ required: true, currency: "currency" }),
  currency: text({ max: 3, length: 3, format: "currency", default: base_currency }),
  transaction_type: choice(rateTransactionTypes, { any_case: true, default: default_type }),
  store: text({ nullable: true }),
  valid_from: date({ nullable: true }),
  valid_to: date({ nullable: true }),
  priority: integer({ default: 0 })
})

interface RatesPlan {
  readonly errors: FieldErrors
  readonly warnings: ReadonlyArray<string>
  readonly rates: ReadonlyArray<NewRate>
}
type NewRate = Pick<
  ProductRateRow,
  "rate_definition_id" | "store_id" | "transaction_type" | "price" | "currency" | "valid_from" | "valid_to" | "priority"
>

interface RateFacts {
  readonly definitions: Definitions
  readonly stores: ReadonlyArray<StoreRow>
  readonly base_currency: string
}
/**
 * Reads one rate or a list of them. A sale product's rate is a sale rate unless it says otherwise, and a sale rate is
 * charged once unless it names how.
 */
export const planRates = (cell: Json, product_type: string, around: RateFacts): RatesPlan => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const warnings: Array<string> = []
  const rates: Array<NewRate> = []
  const many = Array.isArray(cell)
  const fields = rateFields(
    around.base_currency,
    Object.hasOwn(rateTransactionTypes, product_type) ? product_type : "rental"
  )
  for (const [index, one] of (many ? cell : [cell]).entries()) {
    const path = many ? `rate.${index}` : "rate"
    const planned = planRate(one, path, product_type, fields, around)
    Object.assign(errors, planned.errors)
    warnings.push(...planned.warnings)
    for (const rate of planned.rates) {
      if (rates.some((other) => holdsForTheSame(other, rate)))
        errors[path] = ["Another rate of this row already holds for the same store, type, dates and priority."]
      rates.push(rate)
    }
  }
  return { errors, warnings, rates }
}
const planRate = (one: Json, path: string, product_type: string, fields: Fields, around: RateFacts): RatesPlan => {
  const failed = (errors: FieldErrors): RatesPlan => ({ errors, warnings: [], rates: [] })
  if (!isJsonObject(one))
    return failed({ [path]: ["The rate must be an object: preset, price, and what it holds for."] })
  const kind = one["transaction_type"] ?? product_type
  const usual = typeof kind === "string" && foldCase(kind) === "sale" ? "fixed-rate" : null
  const body = {
    ...one,
    preset: one["preset"] ?? one["rate_definition"] ?? one["name"] ?? usual,
    currency: one["currency"] ?? around.base_currency
  }
  const read = readFields(fields, body, { mode: "create", base_currency: around.base_currency, path: `${path}.` })
  if (Object.keys(read.errors).length > 0) return failed(read.errors)
  const found = findDefinition(String(read.values["preset"]), around.definitions)
  const named = read.values["store"]
  const store = typeof named === "string" ? storeNamed(named, around.stores) : undefined
  const unknown_store =
    typeof named === "string" && store === undefined
      ? { [`${path}.store`]: [`There is no store ${named}.`] }
      : undefined
  if ("error" in found) return failed({ [`${path}.preset`]: [found.error], ...unknown_store })
  if (unknown_store !== undefined) return failed(unknown_store)
  const { currency, price, priority, transaction_type, valid_from, valid_to } = read.values as Pick<
    NewRate,
    Exclude<keyof NewRate, "rate_definition_id" | "store_id">
  >
  const rate: NewRate = {
    rate_definition_id: found.definition.id,
    store_id: store?.id ?? null,
    transaction_type,
    price,
    currency,
    valid_from,
    valid_to,
    priority
  }
  const warnings = found.warning === undefined ? [] : [found.warning]
  if (transaction_type === "sale" && found.definition.calculation_strategy !== "fixed")
    warnings.push(`${found.definition.name} charges for time, also when goods are sold; fixed-rate charges once.`)
  const wrong = Object.entries(productRateErrors(rate, undefined, true) ?? {})
  return {
    errors: Object.fromEntries(wrong.map(([field, texts]) => [`${path}.${field}`, texts])),
    warnings,
    rates: [rate]
  }
}

const holdsForTheSame = (a: NewRate, b: NewRate): boolean =>
  a.transaction_type === b.transaction_type &&
  a.store_id === b.store_id &&
  a.currency === b.currency &&
  a.valid_from === b.valid_from &&
  a.valid_to === b.valid_to &&
  a.priority === b.priority

/** Adds new rates; a present one of the same store, type, currency, dates and priority gets price and definition. */
export const rateEvents = (
  product_id: number,
  planned: ReadonlyArray<NewRate>,
  present: ReadonlyArray<ProductRateRow>,
  context: DecideContext
): ReadonlyArray<NewEvent> =>
  planned.flatMap((rate) => {
    const same = present.filter((one) => holdsForTheSame(one, rate)).sort((a, b) => b.id - a.id)
    if (same.some((one) => one.price === rate.price && one.rate_definition_id === rate.rate_definition_id)) return []
    if (same[0] === undefined)
      return [createdEvent(product_rates, { ...rate, id: context.id(product_rates), product_id })]
    return updatedEvents(product_rates, same[0], { price: rate.price, rate_definition_id: rate.rate_definition_id })
  })
