/**
 * A hire of goods that ends at another time than was agreed (rules/billing 2.3): the supplier lets them stay, or wants
 * them back sooner. The stock of them counts until then, by a reaction.
 */
import { Effect, Result } from "effect"
import { updatedEvent } from "../../kernel/crud-resource.ts"
import type { DecideContext, Decided, Failure } from "../../kernel/endpoint.ts"
import { lockStreams } from "../../kernel/engine.ts"
import { longText, timestamp, integer, list, type ValuesOf } from "../../kernel/field.ts"
import { reaction } from "../../kernel/react.ts"
import { invalidField, type Rejection } from "../../kernel/rejection.ts"
import { Store } from "../../kernel/store/store.ts"
import { type StockLevelRow, stock_levels } from "../../stock/schema.ts"
import { exact } from "../../values/decimal.ts"
import { purchaseOrderChange } from "../events.ts"
import { isHere } from "../return-due.ts"
import { type PurchaseOrderItemRow, type PurchaseOrderRow } from "../schema.ts"
import { orderName } from "./decide.ts"
import { purchaseOrderExtended } from "./events.ts"
import { itemsOfOrder } from "./facts.ts"
import { claimText, type UnitClaim, unitName } from "./claims.ts"
import { claimsOf } from "./give-back-facts.ts"
import { windowOf } from "./intake.ts"

export const extendFields = {
  ends_at: timestamp({ required: true, describe: "When the hire ends now: later, or sooner" }),
  item_ids: list(integer({ min: 1, names: "purchase_order_items" }), {
    nullable: true,
    min_items: 1,
    max_items: 1_000,
    describe: "Lines that end at another time than the order; all that end with the order unless given"
  }),
  reason: longText({ nullable: true, max: 1_000 })
}
export type ExtendValues = Partial<ValuesOf<typeof extendFields>>

export interface ExtendFacts {
  readonly order: PurchaseOrderRow
  readonly items: ReadonlyArray<PurchaseOrderItemRow>
  /** Units of the order that are here, with who has them from now on. */
  readonly units: ReadonlyArray<StockLevelRow>
  readonly claims: ReadonlyArray<UnitClaim>
}

const hereWhere = (items: ReadonlyArray<Pick<PurchaseOrderItemRow, "id">>) => ({
  purchase_order_item_id: items.map(({ id }) => id),
  given_back_at: null
})

export const extendFactsOf = Effect.fnUntraced(function* (
  order: PurchaseOrderRow,
  now: string
): Effect.fn.Return<ExtendFacts, Failure, Store> {
  const store = yield* Store
  const items = yield* itemsOfOrder(order.id)
  const levels = items.length === 0 ? [] : yield* store.find(stock_levels, hereWhere(items), { order: ["id"] })
  // Who allocates one of the units waits, or is seen.
  yield* lockStreams(levels.map(({ id }) => `stock_level:${id}`))
  const units = levels.filter(({ stock_category }) => stock_category === 50)
  return {
    order,
    items,
    units,
    claims: yield* claimsOf(
      units.map(({ id }) => id),
      now
    )
  }
})

type Refused = Result.Result<never, Rejection>
const refuse = (field: string, text: string): Refused => Result.fail(invalidField(field, text))

/** Why the end of the hire cannot move, whatever to. */
const refusalOf = (order: PurchaseOrderRow): Rejection | undefined => {
  if (order.po_type !== "sub_hire")
    return invalidField("po_type", `${orderName(order)} is a purchase; only a hire has an end.`)
  if (order.status === "draft")
    return invalidField("status", `${orderName(order)} is a draft; change its dates instead.`)
  const ended = order.status === "cancelled" ? "was cancelled" : order.returned_at === null ? undefined : "went back"
  return ended === undefined
    ? undefined
    : invalidField("status", `${orderName(order)} ${ended}; nothing of it is hired any longer.`)
}

/** Something of the line is here, or still to come. */
const isOpen = (item: PurchaseOrderItemRow): boolean =>
  isHere(item) || exact(item.quantity).greaterThan(item.received_quantity)

/** The lines that get the new end: those named, else those that end with the order. */
const movedItems = (
  { items, order }: ExtendFacts,
  { item_ids }: ExtendValues
): Result.Result<ReadonlyArray<PurchaseOrderItemRow>, Rejection> =>
  Result.gen(function* () {
    if (item_ids === null || item_ids === undefined)
      return items.filter((item) => isOpen(item) && windowOf(order, item).ends_at === order.ends_at)
    const named: Array<PurchaseOrderItemRow> = []
    for (const [at, id] of item_ids.entries()) {
      const item = items.find((one) => one.id === id)
      if (item === undefined)
        return yield* refuse(`item_ids.${at}`, `${orderName(order)} has no row ${id}; name one of its own.`)
      if (!isOpen(item)) return yield* refuse(`item_ids.${at}`, `All of "${item.name}" went back to the supplier.`)
      if (!named.includes(item)) named.push(item)
    }
    return named
  })

/** 422: `po_type`, `status`, `item_ids.N`, `ends_at` before the beginning, or while a unit is promised beyond it. */
export const extendHire = (facts: ExtendFacts, sent: ExtendValues, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { claims, order, units } = facts
    const wrong = refusalOf(order)
    if (wrong !== undefined) return yield* Result.fail(wrong)
    const ends_at = sent.ends_at ?? context.happened_at
    const moved = yield* movedItems(facts, sent)
    const starts = [
      ...moved.map((item) => windowOf(order, item).starts_at),
      ...(sent.item_ids ? [] : [order.starts_at])
    ]
    if (starts.some((starts_at) => starts_at !== null && ends_at <= starts_at))
      return yield* refuse("ends_at", "The ends at field must be a date after starts at.")
    const ids = new Map(moved.map((item) => [item.id, item]))
    for (const unit of units) {
      const item = ids.get(unit.purchase_order_item_id ?? 0)
      const before = item === undefined ? null : windowOf(order, item).ends_at
      if (item === undefined || (before !== null && ends_at >= before)) continue
      const beyond = claims.find(({ demand }) => demand.asset_id === unit.id && demand.ends_at > ends_at)
      if (beyond !== undefined) return yield* refuse("ends_at", `${unitName(unit)} ${claimText(beyond)}`)
    }
    const is_whole = sent.item_ids === null || sent.item_ids === undefined
    const set = is_whole && order.ends_at !== ends_at ? { ends_at } : {}
    // A line without an end of its own has the order's, unless the order's stays where it is.
    const items = moved.filter((item) =>
      is_whole ? item.ends_at !== null && item.ends_at !== ends_at : windowOf(order, item).ends_at !== ends_at
    )
    const level_items = moved.filter((item) => windowOf(order, item).ends_at !== ends_at).map(({ id }) => id)
    return {
      events:
        Object.keys(set).length + items.length === 0
          ? []
          : [
              purchaseOrderExtended.make({
                ...purchaseOrderChange(order, set),
                items: items.map(({ id }) => ({ id, ends_at })),
                hired_items: level_items,
                ends_at,
                reason: sent.reason ?? null
              })
            ],
      result: { id: order.id }
    }
  })

/** Levels of the lines that are still here end with the hire. */
export const hireExtended = reaction({
  on: [purchaseOrderExtended],
  facts: ({ events }) =>
    Effect.gen(function* (): Effect.fn.Return<ReadonlyArray<StockLevelRow>, Failure, Store> {
      const ids = events.flatMap(({ data }) => data.hired_items.map((id) => ({ id })))
      return ids.length === 0 ? [] : yield* (yield* Store).find(stock_levels, hereWhere(ids), { order: ["id"] })
    }),
  decide: ({ events }, levels) =>
    Result.succeed(
      events.flatMap(({ data }) =>
        levels
          .filter(({ purchase_order_item_id }) => data.hired_items.includes(purchase_order_item_id ?? 0))
          .flatMap((level) => updatedEvent(stock_levels, level, { ends_at: data.ends_at }) ?? [])
      )
    )
})
