/** The answer of the rate engine as the API shows it (rules/rates 4.6). */
import { formatMoney } from "../values/money.ts"
import type { Modifier } from "./strategies.ts"

interface RateLineItem {
  /** 1-based position of the first and the last unit, both inclusive. */
  readonly period_from: number
  readonly period_to: number
  /** As configured: "1.0" and "1" are different texts. */
  readonly multiplier: string
  readonly unit_price: string
  readonly line_total: string
}
interface AppliedModifier {
  readonly key: Modifier
  readonly label: string
  /** Free text; not for parsing. */
  readonly description: string
  /** Per-unit subtotals as money strings. */
  readonly before: string
  readonly after: string
}
export interface RateBreakdown {
  readonly currency: string
  readonly unit_price: string
  readonly units: number
  readonly unit_label: string
  readonly per_unit_subtotal: string
  readonly quantity: number
  readonly total: string
  readonly line_items: ReadonlyArray<RateLineItem>
  readonly applied_modifiers: ReadonlyArray<AppliedModifier>
}

/** The same in minor units, as the engine computes it. Integers of any size, so that no digit is lost. */
export interface RateCalculation {
  readonly currency: string
  readonly unit_price: bigint
  readonly units: number
  readonly unit_label: string
  readonly per_unit_subtotal: bigint
  readonly quantity: number
  readonly total: bigint
  readonly lines: ReadonlyArray<CalculatedLine>
  readonly applied: ReadonlyArray<CalculatedModifier>
}
export interface CalculatedLine {
  readonly from: number
  readonly to: number
  readonly multiplier: string
  readonly unit_price: bigint
  readonly total: bigint
}
export interface CalculatedModifier {
  readonly key: Modifier
  readonly label: string
  readonly description: string
  readonly before: bigint
  readonly after: bigint
}

export const toBreakdown = (calculation: RateCalculation): RateBreakdown => {
  const money = (minor: bigint): string => formatMoney(minor, calculation.currency)
  return {
    currency: calculation.currency,
    unit_price: money(calculation.unit_price),
    units: calculation.units,
    unit_label: calculation.unit_label,
    per_unit_subtotal: money(calculation.per_unit_subtotal),
    quantity: calculation.quantity,
    total: money(calculation.total),
    line_items: calculation.lines.map((line) => ({
      period_from: line.from,
      period_to: line.to,
      multiplier: line.multiplier,
      unit_price: money(line.unit_price),
      line_total: money(line.total)
    })),
    applied_modifiers: calculation.applied.map(({ after, before, ...modifier }) => ({
      ...modifier,
      before: money(before),
      after: money(after)
    }))
  }
}
