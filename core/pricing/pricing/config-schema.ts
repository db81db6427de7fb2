/** Fields of the configs of a rate definition, as data for forms and for checking input (rules/rates 2). */
import { Result } from "effect"
import type { FieldErrors } from "../../kernel/index.ts"
import type { CalculationStrategy, Modifier } from "./modifiers.ts"
import { modifierOf, modifiers as allModifiers, strategies, strategyOf } from "./modifiers.ts"

interface Named {
  readonly key: string
  readonly label: string
}
interface NumberField extends Named {
  readonly type: "number"
  readonly default: number | null
  readonly required: boolean
  readonly min: number | null
  readonly max: number | null
  /** Another field of the same config whose value is the minimum. */
  readonly not_below?: string
}
interface DecimalField extends Named {
  readonly type: "decimal"
  readonly default: string | null
  readonly required: boolean
  /** Decimals in forms; values with more are stored as sent. */
  readonly decimals: number
}
interface SelectField extends Named {
  readonly type: "select"
  readonly default: string | null
  readonly required: boolean
  readonly options: { readonly [value: string]: string }
}
interface TimeField extends Named {
  readonly type: "time"
  readonly default: string | null
  readonly required: boolean
}
export type ValueField = NumberField | DecimalField | SelectField | TimeField
/**
 * Fields that are visible under a condition. Their values are stored in the config itself, not below the group's key.
 */
interface GroupField extends Named {
  readonly type: "group"
  readonly fields: ReadonlyArray<ValueField>
  readonly visible_when: ReadonlyArray<{ readonly field: string; readonly value: string }>
}
export interface RepeaterField extends Named {
  readonly type: "repeater"
  readonly min_items: number
  readonly fields: ReadonlyArray<ValueField>
}
export type ConfigField = ValueField | GroupField | RepeaterField

const optionalNumber = (
  key: string,
  label: string,
  fallback: number,
  min: number,
  max: number | null = null
): NumberField => ({ type: "number", key, label, default: fallback, required: false, min, max })
const time = (key: string, label: string, fallback: string | null, required: boolean): TimeField => ({
  type: "time",
  key,
  label,
  default: fallback,
  required
})

const timeOptions: ReadonlyArray<ConfigField> = [
  {
    type: "select",
    key: "day_type",
    label: "Day Type",
    default: "clock",
    required: false,
    options: { clock: "Clock", business: "Business Hours" }
  },
  {
    type: "group",
    key: "business_hours",
    label: "Business Hours",
    visible_when: [{ field: "day_type", value: "business" }],
    fields: [time("business_hours_start", "Opens", "09:00", true), time("business_hours_end", "Closes", "17:00", true)]
  },
  optionalNumber("rental_days_per_week", "Rental Days per Week", 7, 1, 7),
  optionalNumber("leeway_minutes", "Leeway Minutes", 0, 0),
  time("first_day_cutoff", "First Day Cut-off", null, false),
  time("last_day_cutoff", "Last Day Cut-off", null, false)
]

export const strategyFields: { readonly [S in CalculationStrategy]: ReadonlyArray<ConfigField> } = {
  period: timeOptions,
  fixed: [],
  hybrid: [
    optionalNumber("fixed_charge", "Fixed Charge", 0, 0),
    optionalNumber("fixed_period_units", "Fixed Period Units", 1, 0),
    ...timeOptions
  ]
}

/** Fields of each entry of `modifier_configs`. */
export const modifierFields: { readonly [M in Modifier]: ReadonlyArray<ConfigField> } = {
  multiplier: [
    {
      type: "repeater",
      key: "tiers",
      label: "Tiers",
      min_items: 1,
      fields: [{ type: "decimal", key: "multiplier", label: "Multiplier", default: "1.0", required: true, decimals: 2 }]
    }
  ],
  factor: [
    {
      type: "repeater",
      key: "ranges",
      label: "Ranges",
      min_items: 1,
      fields: [
        { type: "number", key: "from", label: "From", default: 1, required: true, min: 1, max: null },
        {
          type: "number",
          key: "to",
          label: "To",
          default: null,
          required: false,
          min: 1,
          max: null,
          not_below: "from"
        },
        { type: "decimal", key: "factor", label: "Factor", default: "1.0", required: true, decimals: 2 }
      ]
    }
  ]
}

interface FormSection {
  readonly key: string
  readonly label: string
  readonly fields: ReadonlyArray<FormField>
}
/** A field of a form in responses; its type decides which optional keys it has. */
export interface FormField extends Named {
  readonly type: ConfigField["type"]
  readonly help: null
  readonly placeholder: null
  readonly default: string | number | null
  readonly required: boolean
  readonly min?: number | null | undefined
  readonly max?: number | null | undefined
  readonly step?: null | undefined
  readonly decimals?: number | undefined
  readonly options?: { readonly [value: string]: string } | undefined
  readonly min_items?: number | undefined
  readonly visible_when?: ReadonlyArray<{ readonly field: string; readonly value: string }> | undefined
  readonly fields?: ReadonlyArray<FormField> | undefined
}

/**
 * Sections of the form for a strategy and its modifiers, in the order they run (rules/rates 6.4). Errors: `strategy`,
 * `modifiers`, `modifiers.<n>`. Does not check that the strategy supports the modifiers.
 */
export const schemaSections = (query: {
  readonly strategy?: unknown
  readonly modifiers?: unknown
}): Result.Result<ReadonlyArray<FormSection>, FieldErrors> => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const strategy = strategyOf(query.strategy)
  if (strategy === undefined) {
    const known = strategies.map(({ identifier }) => identifier).join(", ")
    const absent = query.strategy === undefined || query.strategy === null || query.strategy === ""
    errors["strategy"] = [absent ? "The strategy field is required." : `The strategy must be one of: ${known}.`]
  }
  const requested = query.modifiers ?? []
  if (!Array.isArray(requested)) errors["modifiers"] = ["The modifiers must be an array."]
  const names: ReadonlyArray<unknown> = Array.isArray(requested) ? requested : []
  names.forEach((name, index) => {
    const known = allModifiers.map(({ identifier }) => identifier).join(", ")
    if (modifierOf(name) === undefined) errors[`modifiers.${index}`] = [`The modifier must be one of: ${known}.`]
  })
  if (strategy === undefined || Object.keys(errors).length > 0) return Result.fail(errors)
  const options = strategyFields[strategy.identifier]
  return Result.succeed([
    ...(options.length === 0 ? [] : [{ key: "options", label: "Options", fields: options.map(describeField) }]),
    ...allModifiers
      .filter(({ identifier }) => names.includes(identifier))
      .map(({ identifier, label }) => ({
        key: identifier,
        label,
        fields: modifierFields[identifier].map(describeField)
      }))
  ])
}

const describeField = (field: ConfigField): FormField => ({
  key: field.key,
  type: field.type,
  label: field.label,
  help: null,
  placeholder: null,
  default: "default" in field ? field.default : null,
  required: "required" in field ? field.required : false,
  ...describeKind(field)
})

const describeKind = (field: ConfigField): Partial<FormField> => {
  switch (field.type) {
    case "number":
      return { min: field.min, max: field.max, step: null }
    case "decimal":
      return { decimals: field.decimals }
    case "select":
      return { options: field.options }
    case "time":
      return {}
    case "group":
      return { fields: field.fields.map(describeField), visible_when: field.visible_when.map((rule) => ({ ...rule })) }
    case "repeater":
      return { min_items: field.min_items, fields: field.fields.map(describeField) }
  }
}
