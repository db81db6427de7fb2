/** Matching order lines with shortages (rules/availability 9). */
import { Result } from "effect"
import type { LineShortage } from "../../orders/availability/rules/line.ts"
import { reject, type Rejection } from "../../kernel/fields/rejection.ts"
import type { PurchaseOrderType } from "../schema.ts"
import type { ResolveValues, SentItem } from "../fields.ts"

/** A line with a shortage, and the period its goods are needed for: with buffers, null where open-ended. */
export interface ShortLine {
  readonly shortage: LineShortage
  readonly name: string
  /** Whether the line is a kit, of which only components can be short. */
  readonly is_kit: boolean
  readonly starts_at: string | null
  readonly ends_at: string | null
}
interface Wanted {
  readonly short: ShortLine
  readonly quantity: string
  readonly unit_cost: SentItem["unit_cost"]
}
type Refusable<A> = Result.Result<A, Rejection>

/** Whether goods ordered for `one` are there for the whole period of `other`. */
const covers = (one: LineShortage, other: LineShortage): boolean =>
  one.product_id === other.product_id &&
  one.store_id === other.store_id &&
  one.starts_at <= other.starts_at &&
  one.ends_at >= other.ends_at

/** Quantities to order for all shortages. Goods ordered for one line also count for others in the same period. */
const everything = (short: ReadonlyArray<ShortLine>): ReadonlyArray<Wanted> => {
  const wanted: Array<Wanted> = []
  for (const one of short.filter(({ is_kit }) => !is_kit)) {
    const served = wanted
      .filter((other) => covers(other.short.shortage, one.shortage))
      .reduce((sum, { quantity }) => sum + Number(quantity), 0)
    const left = one.shortage.remaining_shortfall - served
    if (left > 0) wanted.push({ short: one, quantity: String(left), unit_cost: null })
  }
  return wanted
}

const named = (
  short: ReadonlyArray<ShortLine>,
  lines: NonNullable<ResolveValues["lines"]>
): Refusable<ReadonlyArray<Wanted>> =>
  Result.gen(function* () {
    const wanted: Array<Wanted> = []
    for (const [at, line] of lines.entries()) {
      const field = `lines.${at}.opportunity_item_id`
      const one = short.find(({ shortage }) => shortage.opportunity_item_id === line.opportunity_item_id)
      if (one === undefined) return yield* reject(field, "The line is not short; nothing has to be ordered for it.")
      if (one.is_kit)
        return yield* reject(field, `"${one.name}" is a kit: order those of its parts that are short by an order.`)
      if (wanted.some(({ short: other }) => other === one)) return yield* reject(field, "The line is named twice.")
      const left = one.shortage.remaining_shortfall
      if (left === 0 && line.quantity === null)
        return yield* reject(field, "All that is short of the line is on order already; say how many more are wanted.")
      wanted.push({ short: one, quantity: line.quantity ?? String(left), unit_cost: line.unit_cost })
    }
    return wanted
  })

const blank: SentItem = {
  id: null,
  product_id: null,
  opportunity_item_id: null,
  name: null,
  description: null,
  quantity: null,
  unit_cost: null,
  discount_percent: null,
  tax_class_id: null,
  cost_group_id: null,
  starts_at: null,
  ends_at: null,
  sort_order: null
}
/** An existing line as the request would send it unchanged. */
export const unchanged = (id: number): SentItem => ({ ...blank, id })

export interface Resolved {
  readonly items: ReadonlyArray<SentItem>
  readonly store_id: number
  readonly starts_at: string | null
  readonly ends_at: string | null
}
const outer = (values: ReadonlyArray<string | null>, pick: (sorted: ReadonlyArray<string>) => string | undefined) =>
  values.includes(null) ? null : (pick(values.filter((one) => one !== null).sort()) ?? null)

/**
 * Order lines for shortages: the requested ones, else all, which must be at one store. 422: `shortages` if nothing is
 * short, `lines.N.opportunity_item_id` for a line that is not short, a kit, or at another store.
 */
export const resolvingLines = (
  short: ReadonlyArray<ShortLine>,
  { lines, resolution }: { readonly lines: ResolveValues["lines"] | undefined; readonly resolution: PurchaseOrderType }
): Refusable<Resolved> =>
  Result.gen(function* () {
    if (short.length === 0) return yield* reject("shortages", "Nothing is short.")
    const wanted = lines === null || lines === undefined ? everything(short) : yield* named(short, lines)
    const [first] = wanted
    if (first === undefined)
      return yield* reject(
        "shortages",
        short.some(({ is_kit }) => is_kit)
          ? "Only kits are short: order those of their parts that are short by an order."
          : "All that is short is on order already."
      )
    const { store_id } = first.short.shortage
    const elsewhere = wanted.findIndex(({ short: one }) => one.shortage.store_id !== store_id)
    if (elsewhere >= 0 && lines !== null && lines !== undefined)
      return yield* reject(
        `lines.${elsewhere}.opportunity_item_id`,
        "The line takes stock from another store than the first one; order it by an order of its own."
      )
    const here = wanted.filter(({ short: one }) => one.shortage.store_id === store_id)
    const is_hire = resolution === "sub_hire"
    return {
      store_id,
      starts_at: is_hire
        ? outer(
            here.map(({ short: one }) => one.starts_at),
            (all) => all[0]
          )
        : null,
      ends_at: is_hire
        ? outer(
            here.map(({ short: one }) => one.ends_at),
            (all) => all.at(-1)
          )
        : null,
      items: here.map(({ quantity, short: one, unit_cost }) => ({
        ...blank,
        product_id: one.shortage.product_id,
        opportunity_item_id: one.shortage.opportunity_item_id,
        quantity,
        unit_cost,
        starts_at: is_hire ? one.starts_at : null,
        ends_at: is_hire ? one.ends_at : null
      }))
    }
  })
