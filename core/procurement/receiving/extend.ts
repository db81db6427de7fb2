/**
 * A hire that goes on longer than it was ordered for: the supplier agreed to another end, and what is here of the order
 * counts until then.
 */
import { Effect, Result } from "effect"
import type { DecideContext, Decided, Failure } from "../../kernel/endpoint.ts"
import { updatedEvent } from "../../kernel/crud-resource.ts"
import { integer, list, timestamp, type ValuesOf } from "../../kernel/field.ts"
import { lockStreams } from "../../kernel/engine.ts"
import { reaction } from "../../kernel/react.ts"
import { invalidField, type Rejection } from "../../kernel/rejection.ts"
import { Store } from "../../kernel/store/store.ts"
import { type StockLevelRow, stock_levels } from "../../stock/schema.ts"
import { purchaseOrderChange, purchaseOrderUpdated } from "../events.ts"
import type { PurchaseOrderItemRow, PurchaseOrderRow } from "../schema.ts"
import { orderName } from "./decide.ts"
import { windowOf } from "./intake.ts"

export const extendFields = {
  ends_at: timestamp({ required: true, describe: "When the hire ends now: later than before" }),
  item_ids: list(integer({ names: "purchase_order_items" }), {
    nullable: true,
    min_items: 1,
    max_items: 1_000,
    describe: "The rows that are hired longer; unless given the order, with all rows that end with it"
  })
}
export type ExtendValues = Partial<ValuesOf<typeof extendFields>>

export interface ExtendFacts {
  readonly order: PurchaseOrderRow
  readonly items: ReadonlyArray<PurchaseOrderItemRow>
}
const refuse = (field: string, text: string): Result.Result<never, Rejection> => Result.fail(invalidField(field, text))

/** Why the hire cannot go on longer, whatever its end. */
const notExtended = (order: PurchaseOrderRow): Rejection | undefined => {
  const name = orderName(order)
  if (order.po_type !== "sub_hire") return invalidField("po_type", `${name} is a purchase: the goods are your own.`)
  if (order.status === "draft") return invalidField("status", `${name} is a draft; change its dates instead.`)
  if (order.status === "cancelled") return invalidField("status", `${name} was cancelled; order the goods anew.`)
  return order.returned_at === null
    ? undefined
    : invalidField("status", `All goods of ${name.toLowerCase()} went back; order them anew.`)
}

/** 422: `status`, `po_type`, `item_ids.N` for a row of another order, `ends_at` unless later than what it is now. */
export const extendHire = ({ items, order }: ExtendFacts, sent: ExtendValues, _context: DecideContext): Decided =>
  Result.gen(function* () {
    const wrong = notExtended(order)
    if (wrong !== undefined) return yield* Result.fail(wrong)
    const ends_at = sent.ends_at ?? ""
    const named = sent.item_ids ?? undefined
    const foreign = (named ?? []).findIndex((id) => !items.some((item) => item.id === id))
    if (foreign >= 0)
      return yield* refuse(`item_ids.${foreign}`, `${orderName(order)} has no such row; name one of its own.`)
    const longer = items.filter((item) =>
      named === undefined ? windowOf(order, item).ends_at === order.ends_at : named.includes(item.id)
    )
    const ends = [
      ...longer.map((item) => windowOf(order, item).ends_at),
      ...(named === undefined ? [order.ends_at] : [])
    ].flatMap((end) => end ?? [])
    const latest = ends.sort().at(-1)
    if (latest !== undefined && ends_at <= latest)
      return yield* refuse(
        "ends_at",
        `The hire lasts until ${latest} already; name a later time. Goods that go back sooner are given back.`
      )
    return {
      events: [
        purchaseOrderUpdated.make({
          ...purchaseOrderChange(order, named === undefined ? { ends_at } : {}),
          items: { added: [], removed: [], altered: longer.map(({ id }) => ({ id, ends_at })) }
        })
      ],
      result: { id: order.id }
    }
  })

const extendedLevels = Effect.fnUntraced(function* (
  purchase_order_item_id: ReadonlyArray<number>
): Effect.fn.Return<ReadonlyArray<StockLevelRow>, Failure, Store> {
  if (purchase_order_item_id.length === 0) return []
  const store = yield* Store
  const where = { purchase_order_item_id, given_back_at: null }
  const found = yield* store.find(stock_levels, where, { order: ["id"] })
  yield* lockStreams(found.map(({ id }) => `stock_level:${id}`))
  return found.length === 0 ? [] : yield* store.find(stock_levels, where, { order: ["id"] })
})
/** What is here of the rows counts until they end. Rows of drafts have nothing here. */
export const hireExtended = reaction({
  on: [purchaseOrderUpdated],
  facts: ({ events }) =>
    extendedLevels(
      events.flatMap(({ data }) => data.items?.altered ?? []).flatMap(({ ends_at, id }) => (ends_at ? [id] : []))
    ),
  decide: ({ events }, levels) => {
    const ends = new Map(
      events
        .flatMap(({ data }) => data.items?.altered ?? [])
        .flatMap(({ ends_at, id }) => (ends_at ? [[id, ends_at] as const] : []))
    )
    return Result.succeed(
      levels.flatMap((level) => {
        const ends_at = ends.get(level.purchase_order_item_id ?? 0)
        const changed = ends_at === undefined ? undefined : updatedEvent(stock_levels, level, { ends_at })
        return changed === undefined ? [] : [changed]
      })
    )
  }
})
