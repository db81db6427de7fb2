/** Rules of rate definitions: validation, update, copy and deletion (rules/rates 2, 6.1). */
import { isJsonObject, type FieldErrors, type Json, type JsonObject } from "../../kernel/index.ts"
import { compareDecimals, isPlainDecimalText } from "../../values/decimal.ts"
import { parseTimeOfDay } from "../../values/moment.ts"
import type { ConfigField, RepeaterField, ValueField } from "./config-schema.ts"
import { modifierFields, strategyFields } from "./config-schema.ts"
import { Result } from "effect"
import type { RateMethod } from "./engine.ts"
import type { BasePeriod, CalculationStrategy, Modifier, StrategyFacts } from "./modifiers.ts"
import {
  basePeriods,
  modifierOf,
  modifiers,
  runningModifiers,
  strategies,
  strategyOf,
  supportsModifier
} from "./modifiers.ts"

// Reads submitted configs by their schema: hidden and unknown values are dropped, the others are checked and converted,
// absent ones stay absent (rules/rates 2). Error keys are dotted: `modifier_configs.factor.ranges.0.from`.

interface ReadConfig {
  readonly stored: JsonObject
  readonly errors: { readonly [field: string]: ReadonlyArray<string> }
}

/** Parses one config. `path`: prefix of the error keys, such as `strategy_config`. */
const readConfig = (fields: ReadonlyArray<ConfigField>, submitted: JsonObject, path: string): ReadConfig =>
  merge(
    fields.map((field) => {
      if (field.type === "repeater") return readRepeater(field, submitted[field.key], `${path}.${field.key}`)
      if (field.type !== "group") return readValue(field, submitted, path)
      // Visibility is decided by sent values: an absent day_type is not "business", even if that is the form's default.
      const visible = field.visible_when.every((rule) => submitted[rule.field] === rule.value)
      return visible ? merge(field.fields.map((inner) => readValue(inner, submitted, path))) : nothing
    })
  )

const nothing: ReadConfig = { stored: {}, errors: {} }
const merge = (parts: ReadonlyArray<ReadConfig>): ReadConfig => ({
  stored: Object.assign({}, ...parts.map(({ stored }) => stored)),
  errors: Object.assign({}, ...parts.map(({ errors }) => errors))
})

const readRepeater = (field: RepeaterField, value: Json | undefined, path: string): ReadConfig => {
  if (value === undefined) return nothing
  if (value === null) return { stored: { [field.key]: [] }, errors: {} }
  const refused = (text: string): ReadConfig => ({ stored: {}, errors: { [path]: [`The ${field.key} ${text}`] } })
  if (!Array.isArray(value)) return refused("must be an array.")
  if (value.length < field.min_items) return refused(`must have at least ${field.min_items} item.`)
  const rows = value.map((row, index) =>
    merge(field.fields.map((inner) => readValue(inner, isJsonObject(row) ? row : {}, `${path}.${index}`)))
  )
  return { stored: { [field.key]: rows.map(({ stored }) => stored) }, errors: merge(rows).errors }
}

const readValue = (field: ValueField, submitted: JsonObject, path: string): ReadConfig => {
  const sent = submitted[field.key]
  // Emptied form fields are sent as "", which means null.
  const value = sent === "" ? null : sent
  const failed = (text: string): ReadConfig => ({
    stored: {},
    errors: { [`${path}.${field.key}`]: [`The ${field.key.replaceAll("_", " ")} ${text}`] }
  })
  if (value === undefined || value === null) {
    if (field.required) return failed("field is required.")
    return value === null ? { stored: { [field.key]: null }, errors: {} } : nothing
  }
  const read = castValue(field, value)
  if ("text" in read) return failed(read.text)
  const floor = field.type === "number" && field.not_below !== undefined ? submitted[field.not_below] : undefined
  if (floor !== undefined && isWholeNumber(floor) && compareDecimals(String(read.value), String(floor)) < 0) {
    return failed(`must not be below ${String(floor)}.`)
  }
  return { stored: { [field.key]: read.value }, errors: {} }
}

type Cast = { readonly value: Json } | { readonly text: string }

const castValue = (field: ValueField, value: Json): Cast => {
  switch (field.type) {
    case "number":
      return castNumber(field, value)
    case "decimal": {
      // Stored as sent, without exponent or sign: lines of a price are merged if their multipliers have the same text.
      const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : ""
      return isPlainDecimalText(text) ? { value: text } : { text: "must be a number of at least 0, written in digits." }
    }
    case "select":
      return typeof value === "string" && Object.hasOwn(field.options, value)
        ? { value }
        : { text: `must be one of: ${Object.keys(field.options).join(", ")}.` }
    case "time":
      return parseTimeOfDay(value) === undefined ? { text: "must be a time as HH:MM, 00:00 to 23:59." } : { value }
  }
}

const castNumber = ({ max, min }: ValueField & { readonly type: "number" }, value: Json): Cast => {
  if (!isWholeNumber(value)) return { text: "must be a whole number." }
  const whole = Number(value)
  if (min !== null && whole < min) return { text: `must be at least ${min}.` }
  return max !== null && whole > max ? { text: `must not be greater than ${max}.` } : { value: whole }
}

const isWholeNumber = (value: Json): value is number | string =>
  (typeof value === "number" && Number.isSafeInteger(value)) ||
  (typeof value === "string" && /^-?\d{1,15}$/.test(value.trim()))

/** Method as sent in a body; absent and null both mean "not sent". */
export interface SubmittedMethod {
  readonly calculation_strategy?: Json | undefined
  readonly base_period?: Json | undefined
  readonly enabled_modifiers?: Json | undefined
  readonly strategy_config?: Json | undefined
  readonly modifier_configs?: Json | undefined
}

const isBasePeriod = (value: unknown): value is BasePeriod =>
  typeof value === "string" && Object.hasOwn(basePeriods, value)

/**
 * The method to store: checks types, then strategy with period and modifiers, then configs, and stops at the first step
 * with errors. Drops values of hidden fields and disabled modifiers.
 */
export const composeMethod = (submitted: SubmittedMethod): Result.Result<RateMethod, FieldErrors> => {
  const type = shapeErrors(submitted)
  if (hasErrors(type)) return Result.fail(type)
  const strategy = strategyOf(submitted.calculation_strategy)
  if (strategy === undefined) return Result.fail({ calculation_strategy: [oneOf("calculation strategy", strategies)] })
  const enabled_modifiers = stringsOf(submitted.enabled_modifiers)
  const fit = fitErrors(strategy, submitted.base_period, enabled_modifiers)
  if (hasErrors(fit)) return Result.fail(fit)
  const config = readConfig(strategyFields[strategy.identifier], objectOf(submitted.strategy_config), "strategy_config")
  const entries = objectOf(submitted.modifier_configs)
  const modified = runningModifiers(strategy, enabled_modifiers).map(({ identifier }) => ({
    identifier,
    read: readConfig(modifierFields[identifier], objectOf(entries[identifier]), `modifier_configs.${identifier}`)
  }))
  const errors = Object.assign({}, config.errors, ...modified.map(({ read }) => read.errors))
  if (hasErrors(errors)) return Result.fail(errors)
  return Result.succeed({
    calculation_strategy: strategy.identifier,
    base_period: strategy.identifier === "fixed" || !isBasePeriod(submitted.base_period) ? null : submitted.base_period,
    strategy_config: config.stored,
    enabled_modifiers,
    modifier_configs: Object.fromEntries(modified.map(({ identifier, read }) => [identifier, read.stored]))
  })
}

/**
 * The method after an update: absent and null fields stay, configs are replaced as wholes, and the result is validated
 * like a new method.
 */
export const updateMethod = (existing: RateMethod, patch: SubmittedMethod): Result.Result<RateMethod, FieldErrors> =>
  composeMethod({
    calculation_strategy: patch.calculation_strategy ?? existing.calculation_strategy,
    base_period: patch.base_period ?? existing.base_period,
    enabled_modifiers: patch.enabled_modifiers ?? existing.enabled_modifiers,
    strategy_config: patch.strategy_config ?? existing.strategy_config,
    modifier_configs: patch.modifier_configs ?? existing.modifier_configs
  })

/** Errors of deleting a definition: a preset, or in use; undefined if it can be deleted. */
export const deletionErrors = (facts: {
  readonly is_preset: boolean
  readonly in_use: boolean
}): FieldErrors | undefined =>
  facts.is_preset
    ? { rate_definition: ["A shipped preset cannot be deleted. Duplicate it and change the copy instead."] }
    : facts.in_use
      ? { rate_definition: ["The rate definition is in use by product rates. Remove or change those first."] }
      : undefined

const NAME_MAX = 255
const COPY_SUFFIX = " (Copy)"

/** Name of a copy; the base name is cut so that the suffix fits. */
export const copyName = (name: string): string =>
  [...name]
    .slice(0, NAME_MAX - COPY_SUFFIX.length)
    .join("")
    .trimEnd() + COPY_SUFFIX

const shapeErrors = (submitted: SubmittedMethod): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const { base_period, calculation_strategy, enabled_modifiers, modifier_configs, strategy_config } = submitted
  if (calculation_strategy === undefined || calculation_strategy === null || calculation_strategy === "") {
    errors["calculation_strategy"] = ["The calculation strategy field is required."]
  } else if (strategyOf(calculation_strategy) === undefined) {
    errors["calculation_strategy"] = [oneOf("calculation strategy", strategies)]
  }
  if (base_period !== undefined && base_period !== null && typeof base_period !== "string") {
    errors["base_period"] = ["The base period must be a string."]
  }
  if (Array.isArray(enabled_modifiers)) {
    enabled_modifiers.forEach((name: unknown, index) => {
      if (typeof name !== "string") errors[`enabled_modifiers.${index}`] = ["The modifier must be a string."]
    })
  } else if (enabled_modifiers !== undefined && enabled_modifiers !== null) {
    errors["enabled_modifiers"] = ["The enabled modifiers must be an array."]
  }
  if (!isObjectLike(strategy_config)) errors["strategy_config"] = ["The strategy config must be an object."]
  if (!isObjectLike(modifier_configs)) errors["modifier_configs"] = ["The modifier configs must be an object."]
  for (const name of stringsOf(enabled_modifiers)) {
    if (modifierOf(name) !== undefined && !isObjectLike(objectOf(modifier_configs)[name])) {
      errors[`modifier_configs.${name}`] = [`The ${name} config must be an object.`]
    }
  }
  return errors
}

const fitErrors = (
  strategy: StrategyFacts,
  base_period: Json | undefined,
  enabled: ReadonlyArray<string>
): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const allowed = strategy.allowed_base_periods
  if (allowed.length > 0 && (base_period === undefined || base_period === null || base_period === "")) {
    errors["base_period"] = [`A base period is required with the ${strategy.label} strategy.`]
  } else if (allowed.length > 0 && !allowed.some((period) => period === base_period)) {
    errors["base_period"] = [`The base period must be one of: ${allowed.join(", ")}.`]
  }
  const refused = [...new Set(enabled)].flatMap((name) => {
    const modifier = modifierOf(name)
    if (modifier === undefined) return [oneOf("modifier", modifiers)]
    return supportsModifier(strategy, modifier.identifier)
      ? []
      : [`The ${strategy.label} strategy does not support the ${modifier.label} modifier.`]
  })
  if (refused.length > 0) errors["enabled_modifiers"] = refused
  return errors
}

const oneOf = (what: string, rows: ReadonlyArray<{ readonly identifier: string }>): string =>
  `The ${what} must be one of: ${rows.map(({ identifier }) => identifier).join(", ")}.`
const hasErrors = (errors: FieldErrors): boolean => Object.keys(errors).length > 0

/**
 * Whether a value can be an object: absent, null and an empty list count as `{}`, as some clients cannot send an empty
 * object.
 */
const isObjectLike = (value: Json | undefined): boolean =>
  value === undefined || value === null || isJsonObject(value) || (Array.isArray(value) && value.length === 0)
const objectOf = (value: Json | undefined): JsonObject => (value !== undefined && isJsonObject(value) ? value : {})
const stringsOf = (value: Json | undefined): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((name: unknown) => typeof name === "string") : []

// Rate definitions of a new installation, and those for imported rates (rules/rates 3).

interface RatePreset extends RateMethod {
  readonly slug: string
  readonly name: string
  readonly description: string
}

const preset = (
  slug: string,
  name: string,
  calculation_strategy: CalculationStrategy,
  base_period: BasePeriod | null,
  enabled_modifiers: ReadonlyArray<Modifier>,
  description: string
): RatePreset => ({
  slug,
  name,
  description,
  calculation_strategy,
  base_period,
  enabled_modifiers,
  strategy_config: {},
  modifier_configs: {}
})

/** Presets in list order. They are seeded once, so users' changes to them stay. */
export const presets: ReadonlyArray<RatePreset> = [
  preset(
    "daily-multiplier-factor",
    "Daily Multiplier and Factor",
    "period",
    "daily",
    ["multiplier", "factor"],
    "A price per day that changes with the length of the hire and with the quantity."
  ),
  preset("daily-rate", "Daily Rate", "period", "daily", [], "One price for every day of the hire."),
  preset(
    "fixed-rate-factor",
    "Fixed Rate and Factor",
    "fixed",
    null,
    ["factor"],
    "One price for the whole hire, lower or higher with the quantity."
  ),
  preset(
    "fixed-rate-subs-days",
    "Fixed Rate and Subs Days",
    "hybrid",
    "daily",
    [],
    "One charge for the first days, then a price for each day that follows."
  ),
  preset("fixed-rate", "Fixed Rate", "fixed", null, [], "One price for the whole hire, however long it is."),
  preset(
    "half-hourly-rate",
    "Half Hourly Rate",
    "period",
    "half_hourly",
    [],
    "One price for every half hour of the hire."
  ),
  preset(
    "hourly-multiplier-factor",
    "Hourly Multiplier and Factor",
    "period",
    "hourly",
    ["multiplier", "factor"],
    "A price per hour that changes with the length of the hire and with the quantity."
  ),
  preset("hourly-rate", "Hourly Rate", "period", "hourly", [], "One price for every hour of the hire."),
  preset(
    "monthly-multiplier-factor",
    "Monthly Multiplier and Factor",
    "period",
    "monthly",
    ["multiplier", "factor"],
    "A price per 30 days that changes with the length of the hire and with the quantity."
  ),
  preset("monthly-rate", "Monthly Rate", "period", "monthly", [], "One price for every 30 days of the hire."),
  preset("weekly-rate", "Weekly Rate", "period", "weekly", [], "One price for every week of the hire.")
]
