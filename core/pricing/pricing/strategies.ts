/** Strategies, base periods and modifiers of the rate engine, and which strategy supports which (rules/rates 1). */
export type CalculationStrategy = "period" | "fixed" | "hybrid"
export type BasePeriod = "half_hourly" | "hourly" | "daily" | "weekly" | "monthly"
export type Modifier = "multiplier" | "factor"
/** Transaction types that product rates exist for. */
export type RateTransactionType = "rental" | "sale" | "service"

export interface StrategyFacts {
  readonly identifier: CalculationStrategy
  readonly label: string
  readonly allowed_base_periods: ReadonlyArray<BasePeriod>
  readonly supports_multiplier: boolean
  readonly supports_factor: boolean
}
export interface ModifierFacts {
  readonly identifier: Modifier
  readonly label: string
  readonly priority: number
}
interface BasePeriodFacts {
  readonly label: string
  readonly unit_label: string
  /** Minutes of one unit; those of a week depend on its rental days. A month is always 30 days. */
  readonly minutes: number
  /** `clock` periods ignore the cut-offs of first and last day. */
  readonly kind: "clock" | "day"
}

/** In the order GET /rate_engine/strategies lists them. */
export const strategies: ReadonlyArray<StrategyFacts> = [
  {
    identifier: "period",
    label: "Period-based",
    supports_multiplier: true,
    supports_factor: true,
    allowed_base_periods: ["half_hourly", "hourly", "daily", "weekly", "monthly"]
  },
  { identifier: "fixed", label: "Fixed", supports_multiplier: false, supports_factor: true, allowed_base_periods: [] },
  {
    identifier: "hybrid",
    label: "Hybrid",
    supports_multiplier: false,
    supports_factor: false,
    allowed_base_periods: ["daily", "weekly", "monthly"]
  }
]

/** In the order they run, whatever order they are sent in. */
export const modifiers: ReadonlyArray<ModifierFacts> = [
  { identifier: "multiplier", label: "Multiplier", priority: 100 },
  { identifier: "factor", label: "Factor", priority: 200 }
]

export const basePeriods: { readonly [P in BasePeriod]: BasePeriodFacts } = {
  half_hourly: { label: "Half-Hourly", unit_label: "half-hours", minutes: 30, kind: "clock" },
  hourly: { label: "Hourly", unit_label: "hours", minutes: 60, kind: "clock" },
  daily: { label: "Daily", unit_label: "days", minutes: 1_440, kind: "day" },
  weekly: { label: "Weekly", unit_label: "weeks", minutes: 10_080, kind: "day" },
  monthly: { label: "Monthly", unit_label: "months", minutes: 43_200, kind: "day" }
}

export const strategyOf = (identifier: unknown): StrategyFacts | undefined =>
  strategies.find((strategy) => strategy.identifier === identifier)

export const modifierOf = (identifier: unknown): ModifierFacts | undefined =>
  modifiers.find((modifier) => modifier.identifier === identifier)

export const isBasePeriod = (value: unknown): value is BasePeriod =>
  typeof value === "string" && Object.hasOwn(basePeriods, value)

export const supportsModifier = (strategy: StrategyFacts, modifier: Modifier): boolean =>
  modifier === "multiplier" ? strategy.supports_multiplier : strategy.supports_factor

/** The enabled modifiers a strategy supports, each once, in the order they run. */
export const runningModifiers = (
  strategy: StrategyFacts,
  enabled: ReadonlyArray<string>
): ReadonlyArray<ModifierFacts> =>
  modifiers.filter(({ identifier }) => enabled.includes(identifier) && supportsModifier(strategy, identifier))

/** `calculation_strategy_name` and `base_period_name` of a rate definition. */
export const strategyLabel = (strategy: CalculationStrategy): string => strategyOf(strategy)?.label ?? strategy
export const basePeriodLabel = (period: BasePeriod | null): string | null =>
  period === null ? null : basePeriods[period].label

export const rateTransactionTypes: { readonly [T in RateTransactionType]: string } = {
  rental: "Rental",
  sale: "Sale",
  service: "Service"
}
export const isRateTransactionType = (value: unknown): value is RateTransactionType =>
  typeof value === "string" && Object.hasOwn(rateTransactionTypes, value)
