/** Moving the end of a sub-hire, later or earlier (rules/billing 2.3). A reaction moves the window of its stock. */
import { Effect, Result, Schema } from "effect"
import { boolean, command, decimal, integer, invalidField, later, list, lockStreams } from "../../kernel/index.ts"
import { longText, ok, reaction, reject, renderById, Shown, Store, text, timestamp } from "../../kernel/index.ts"
import { picked, updatedEvents, viewContext, wholeNumber, withRules } from "../../kernel/index.ts"
import type { DecideContext, Decided, Endpoint, Input, Rejection, ValuesOf } from "../../kernel/index.ts"
import { stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import { exact } from "../../values/decimal.ts"
import { isHere, windowOf } from "./intake.ts"
import type { PurchaseOrderItemRow, PurchaseOrderRow } from "../schema.ts"
import {
  one,
  path,
  purchase_order_receipt_lines,
  purchase_order_receipts,
  purchaseOrderChange,
  purchaseOrderExtended,
  write
} from "../schema.ts"
import { claimsOf, itemsOfOrder, receiveFactsOf, returnFactsOf } from "./give-back-facts.ts"
import { purchaseOrderAnswer, purchaseOrderResource, purchaseOrderShown } from "../orders/api.ts"
import type { GoodsResult } from "./decide.ts"
import { claimText, orderName, receiveFields, returnFields, type UnitClaim, unitName } from "../fields.ts"

const extendFields = {
  ends_at: timestamp({ required: true, describe: "New end of the hire, later or earlier" }),
  item_ids: list(integer({ min: 1, names: "purchase_order_items" }), {
    nullable: true,
    min_items: 1,
    max_items: 1_000,
    describe: "Ids of lines to move; default: all that end with the order"
  }),
  reason: longText({ nullable: true, max: 1_000 })
}
type ExtendValues = Partial<ValuesOf<typeof extendFields>>

interface ExtendFacts {
  readonly order: PurchaseOrderRow
  readonly items: ReadonlyArray<PurchaseOrderItemRow>
  /** Serialised units received for the order and not returned yet. */
  readonly units: ReadonlyArray<StockLevelRow>
  readonly claims: ReadonlyArray<UnitClaim>
}

const hereWhere = (items: ReadonlyArray<Pick<PurchaseOrderItemRow, "id">>) => ({
  purchase_order_item_id: items.map(({ id }) => id),
  given_back_at: null
})

const extendFactsOf = Effect.fnUntraced(function* (order: PurchaseOrderRow, now: string): Store.Reads<ExtendFacts> {
  const items = yield* itemsOfOrder(order.id)
  const levels = items.length === 0 ? [] : yield* Store.find(stock_levels, hereWhere(items), { order: ["id"] })
  // Serialises with allocations of the units.
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

/** Reason the end of the hire cannot move at all; undefined if it can. */
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

/** Whether part of a line is present or outstanding. */
const isOpen = (item: PurchaseOrderItemRow): boolean =>
  isHere(item) || exact(item.quantity).greaterThan(item.received_quantity)

/** Lines whose end moves: the named ones, else open ones that end with the order. */
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
        return yield* reject(`item_ids.${at}`, `${orderName(order)} has no row ${id}; name one of its own.`)
      if (!isOpen(item)) return yield* reject(`item_ids.${at}`, `All of "${item.name}" went back to the supplier.`)
      if (!named.includes(item)) named.push(item)
    }
    return named
  })

/**
 * Moves the end of a sub-hire. 422: `po_type`, `status`, `item_ids.N`, `ends_at` not after the start, or before the end
 * of a demand on a unit.
 */
const extendHire = (facts: ExtendFacts, sent: ExtendValues, context: DecideContext): Decided =>
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
      return yield* reject("ends_at", "The ends at field must be a date after starts at.")
    const ids = new Map(moved.map((item) => [item.id, item]))
    for (const unit of units) {
      const item = ids.get(unit.purchase_order_item_id ?? 0)
      const before = item === undefined ? null : windowOf(order, item).ends_at
      if (item === undefined || (before !== null && ends_at >= before)) continue
      const beyond = claims.find(({ demand }) => demand.asset_id === unit.id && demand.ends_at > ends_at)
      if (beyond !== undefined) return yield* reject("ends_at", `${unitName(unit)} ${claimText(beyond)}`)
    }
    const is_whole = sent.item_ids === null || sent.item_ids === undefined
    const set = is_whole && order.ends_at !== ends_at ? { ends_at } : {}
    // Lines to store a new end on; those without an end of their own follow the order's if that moves.
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

/** Moves the end of stock levels that are still present. */
export const hireExtended = reaction({
  on: [purchaseOrderExtended],
  facts: ({ events }) =>
    Effect.gen(function* (): Store.Reads<ReadonlyArray<StockLevelRow>> {
      const ids = events.flatMap(({ data }) => data.hired_items.map((id) => ({ id })))
      return ids.length === 0 ? [] : yield* Store.find(stock_levels, hereWhere(ids), { order: ["id"] })
    }),
  decide: ({ events }, levels) =>
    Result.succeed(
      events.flatMap(({ data }) =>
        levels
          .filter(({ purchase_order_item_id }) => data.hired_items.includes(purchase_order_item_id ?? 0))
          .flatMap((level) => updatedEvents(stock_levels, level, { ends_at: data.ends_at }))
      )
    )
})

// Endpoints of deliveries and returns (rules/billing 2.3). Commands on one order are serialised.

const receiving = later(() => import("./decide.ts"))
const givingBack = later(() => import("./give-back.ts"))

const receiptShown = {
  id: integer(),
  received_at: timestamp(),
  reference: text({ nullable: true }),
  notes: text({ nullable: true }),
  received_by: integer({ nullable: true }),
  lines: Shown.objects({
    id: integer(),
    item_id: integer(),
    quantity: decimal({ scale: 2 }),
    serial_numbers: list(text()),
    stock_level_ids: list(integer()),
    is_return: boolean(),
    notes: text({ nullable: true })
  })
}
const goodsShown = {
  purchase_order: Shown.row(() => purchaseOrderResource),
  meta: Shown.keys({ receipt: Shown.keys(receiptShown) })
}
const result: Schema.Codec<GoodsResult> = Schema.suspend(() =>
  Schema.Struct({ id: wholeNumber, receipt_id: wholeNumber })
)
const with_items = ["include", "items"] as const

/** The recorded delivery or return, with its lines. */
const receiptOf = Effect.fnUntraced(function* (id: number) {
  const receipt = yield* Store.get(purchase_order_receipts, id)
  if (receipt === undefined) return yield* Effect.die(new Error(`receipt ${id} vanished while it was being shown`))
  const lines = yield* Store.find(purchase_order_receipt_lines, { receipt_id: id }, { order: ["id"] })
  return {
    ...picked(receipt, ["id", "received_at", "reference", "notes", "received_by"]),
    lines: lines.map((line) =>
      picked(line, ["id", "item_id", "quantity", "serial_numbers", "stock_level_ids", "is_return", "notes"])
    )
  }
})
const goodsAnswer = ({ id, receipt_id }: GoodsResult, input: Input) =>
  Effect.map(
    Effect.all({
      order: renderById(purchaseOrderResource, id, [with_items, ...input.query], viewContext(input)),
      receipt: receiptOf(receipt_id)
    }),
    ({ order, receipt }) => ok({ purchase_order: order.purchase_order, meta: { receipt } })
  )
const take = { ability: write, permission: "purchase_orders.receive" } as const

const receive = command("POST", `${path}/{id}/receive`, {
  answer: goodsShown,
  name: "purchase_orders.receive",
  summary: "Receive goods of a sent purchase order into stock",
  ...take,
  params: one,
  fields: receiveFields,
  split_by: "lines",
  result,
  facts: ({ rows, values }) => withRules(receiving, () => receiveFactsOf(rows.id, values)),
  decide: ({ known, rules }, { values }, context) => rules.receiveGoods(known, values, context),
  respond: goodsAnswer
})
const giveBackGoods = command("POST", `${path}/{id}/return`, {
  answer: goodsShown,
  name: "purchase_orders.return",
  summary: "Return sub-hired goods to the supplier, all or some",
  ...take,
  params: one,
  fields: returnFields,
  result,
  facts: ({ now, rows }) => withRules(givingBack, () => returnFactsOf(rows.id, now)),
  decide: ({ known, rules }, { values }, context) => rules.giveBack(known, values, context),
  respond: goodsAnswer
})

const extend = command("POST", `${path}/{id}/extend`, {
  answer: purchaseOrderShown,
  name: "purchase_orders.extend",
  summary: "Extend or shorten a sent sub-hire",
  ability: write,
  permission: "purchase_orders.edit",
  params: one,
  fields: extendFields,
  facts: ({ now, rows }) => extendFactsOf(rows.id, now),
  decide: (facts, { values }, context) => extendHire(facts, values, context),
  respond: purchaseOrderAnswer(ok)
})

export const receivingEndpoints: ReadonlyArray<Endpoint> = [receive, giveBackGoods, extend]
