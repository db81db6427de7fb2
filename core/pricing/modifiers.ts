/** The modifiers of the rate engine: multiplier and factor (rules/rates 4.4, 4.5). */
import { isJsonObject, type Json, type JsonObject } from "../kernel/json.ts"
import { timesMoney } from "../values/money.ts"
import type { CalculatedLine, RateCalculation } from "./breakdown.ts"
import type { ModifierFacts } from "./strategies.ts"
import { integerOr } from "./units.ts"

export const applyModifier = (
  facts: ModifierFacts,
  config: JsonObject,
  calculation: RateCalculation
): RateCalculation => {
  const before = calculation.per_unit_subtotal
  const changed =
    facts.identifier === "multiplier" ? applyMultiplier(config, calculation) : applyFactor(config, calculation)
  const applied = {
    key: facts.identifier,
    label: facts.label,
    description: changed.description,
    before,
    after: changed.per_unit_subtotal
  }
  return {
    ...calculation,
    per_unit_subtotal: changed.per_unit_subtotal,
    lines: changed.lines,
    applied: [...calculation.applied, applied]
  }
}

interface Change {
  readonly per_unit_subtotal: bigint
  readonly lines: ReadonlyArray<CalculatedLine>
  readonly description: string
}

/**
 * One multiplier for each position; the last applies to all further ones. Neighbours with the same text share a line.
 */
const applyMultiplier = (config: JsonObject, calculation: RateCalculation): Change => {
  const tiers = rows(config["tiers"]).map((row) => decimalOr(row["multiplier"], "1.0"))
  const lines = multiplierRuns(tiers, calculation.units).map(({ from, multiplier, to }): CalculatedLine => {
    const unit_price = timesMoney(calculation.unit_price, multiplier)
    return { from, to, multiplier, unit_price, total: unit_price * BigInt(to - from + 1) }
  })
  return {
    per_unit_subtotal: lines.reduce((sum, line) => sum + line.total, 0n),
    lines,
    description: `Price of each position over ${calculation.units} ${calculation.unit_label}`
  }
}

interface Run {
  readonly from: number
  readonly to: number
  readonly multiplier: string
}

/** Takes time by the number of tiers, not of units: all units after the last tier are one run. */
const multiplierRuns = (tiers: ReadonlyArray<string>, units: number): ReadonlyArray<Run> => {
  const used = tiers.length === 0 ? ["1.0"] : tiers.slice(0, units)
  const runs: Array<{ from: number; to: number; multiplier: string }> = []
  used.forEach((multiplier, index) => {
    const position = index + 1
    const to = position === used.length ? units : position
    const last = runs.at(-1)
    if (last?.multiplier === multiplier) last.to = to
    else runs.push({ from: position, to, multiplier })
  })
  return runs
}

/** The factor of the first range, in list order, that holds the quantity; undefined when none does. */
export const factorFor = (config: JsonObject, quantity: number): string | undefined => {
  const range = rows(config["ranges"]).find(
    (row) => quantity >= integerOr(row["from"], 1) && quantity <= integerOr(row["to"], Number.POSITIVE_INFINITY)
  )
  return range === undefined ? undefined : decimalOr(range["factor"], "1.0")
}

/** Without a matching range the factor is 1.0. Lines do not change. */
const applyFactor = (config: JsonObject, calculation: RateCalculation): Change => {
  const { quantity } = calculation
  const factor = factorFor(config, quantity) ?? "1.0"
  return {
    per_unit_subtotal: timesMoney(calculation.per_unit_subtotal, factor),
    lines: calculation.lines,
    description: `Factor ${factor} for a quantity of ${quantity}`
  }
}

const rows = (value: Json | undefined): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isJsonObject) : []
const decimalOr = (value: Json | undefined, fallback: string): string =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : fallback
