/** The rate definitions of a new installation, and of imported rates (rules/rates 3). */
import type { RateMethod } from "./engine.ts"
import type { BasePeriod, CalculationStrategy, Modifier } from "./strategies.ts"

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

/** In listing order. Seeding adds missing slugs and never overwrites what users changed. */
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

/** Presets for the rate engines of the system that rates are imported from. Usage-based ones become daily. */
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
