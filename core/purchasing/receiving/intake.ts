/**
 * Effect of deliveries and returns on stock, in the same transaction (rules/billing 2.3, rules/availability 3):
 * sub-hired goods count within their window, purchased ones permanently and with a ledger entry.
 */
import { Effect, Result } from "effect"
import { createdEvent, initialRow, integer, reaction, referredRows, Store, unstamped } from "../../kernel/index.ts"
import { updatedEvents } from "../../kernel/index.ts"
import type { DataOf, DecideContext, NewEvent, SettingGroups, Settings } from "../../kernel/index.ts"
import { type ProductRow, products, serialised } from "../../products/products/schema.ts"
import { documentedEvents } from "../../products/stock/decide.ts"
import type { StockLevelRow } from "../../products/stock/schema.ts"
import { bulk_category, stock_levels, stockLevelFields, unit_category } from "../../products/stock/schema.ts"
import { type StoreRow, stores } from "../../setup/stores.ts"
import { exact, type ExactNumber, formatDecimal } from "../../values/decimal.ts"
import { dayOf, instantOf, millisOf, startOfDay, zoneOf } from "../../values/time.ts"
import type { PurchaseOrderItemRow, PurchaseOrderRow } from "../schema.ts"
import { purchase_order_items, purchase_orders, purchaseOrderReceived, purchaseOrderReturned } from "../schema.ts"
import { dateAfter } from "../../values/period.ts"

interface IntakeFacts {
  readonly orders: ReadonlyMap<number, PurchaseOrderRow>
  readonly items: ReadonlyMap<number, PurchaseOrderItemRow>
  readonly products: ReadonlyMap<number, ProductRow>
  readonly levels: ReadonlyMap<number, StockLevelRow>
  /** Stores by id, for their time zones. */
  readonly stores: ReadonlyMap<number, StoreRow>
}

type GoodsMoved = DataOf<typeof purchaseOrderReceived>

const intakeFacts = Effect.fnUntraced(function* (moved: ReadonlyArray<GoodsMoved>): Store.Reads<IntakeFacts> {
  const lines = moved.flatMap((one) => one.lines)
  const items = yield* Store.byId(purchase_order_items, [...new Set(lines.flatMap(({ item_id }) => item_id ?? []))])
  return {
    orders: yield* referredRows(purchase_orders, moved, "id"),
    items,
    products: yield* referredRows(products, [...items.values()], "product_id"),
    levels: yield* Store.byId(
      stock_levels,
      lines.flatMap(({ stock_level_ids }) => stock_level_ids ?? [])
    ),
    stores: new Map((yield* Store.find(stores, {})).map((one) => [one.id, one]))
  }
})

/** Change of a level: its row, and the quantity to add. */
interface Entry {
  readonly level: StockLevelRow
  readonly quantity: string
}
const sale = 2

/** Hire period of a row: its own dates, else the order's. */
export const windowOf = (
  order: Pick<PurchaseOrderRow, "starts_at" | "ends_at">,
  item: Pick<PurchaseOrderItemRow, "starts_at" | "ends_at">
): { readonly starts_at: string | null; readonly ends_at: string | null } => ({
  starts_at: item.starts_at ?? order.starts_at,
  ends_at: item.ends_at ?? order.ends_at
})

const newLevel = (
  id: number,
  order: PurchaseOrderRow,
  item: PurchaseOrderItemRow,
  product: ProductRow,
  serial_number: string
): StockLevelRow => {
  const is_sub_hired = order.po_type === "sub_hire"
  return {
    ...initialRow(stock_levels, stockLevelFields),
    ...unstamped,
    id,
    product_id: product.id,
    store_id: order.store_id,
    stock_category: product.stock_method === serialised ? unit_category : bulk_category,
    stock_type: product.allowed_stock_type === sale ? sale : 1,
    quantity_held: product.stock_method === serialised ? "1.00" : "0.00",
    serial_number: serial_number === "" ? null : serial_number,
    ...(is_sub_hired
      ? { is_sub_hired, purchase_order_item_id: item.id, member_id: order.supplier_id, ...windowOf(order, item) }
      : {})
  }
}

const entriesOf = (moved: GoodsMoved, { items, levels, orders, products }: IntakeFacts): ReadonlyArray<Entry> => {
  const order = orders.get(moved.id)
  if (order === undefined) return []
  return moved.lines.flatMap((line) => {
    const item = items.get(line.item_id ?? 0)
    const product = products.get(item?.product_id ?? 0)
    if (item === undefined || product === undefined) return []
    const is_units = product.stock_method === serialised
    return (line.stock_level_ids ?? []).map((id, at) => ({
      level: levels.get(id) ?? newLevel(id, order, item, product, is_units ? (line.serial_numbers?.[at] ?? "") : ""),
      quantity: is_units ? "1.00" : (line.quantity ?? "0.00")
    }))
  })
}

/** Events for one level: its creation or new quantity; purchases also get a ledger line for each entry. */
const levelEvents = (
  entries: ReadonlyArray<Entry>,
  moved: GoodsMoved,
  facts: IntakeFacts,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const [first] = entries
  if (first === undefined) return []
  const { level } = first
  const is_there = facts.levels.has(level.id)
  const came = entries.reduce((sum, { quantity }) => sum.plus(quantity), exact(0))
  const quantity_held =
    level.stock_category === unit_category ? level.quantity_held : formatDecimal(came.plus(level.quantity_held), 2)
  const { created_at: _c, deleted_at: _d, updated_at: _u, ...row } = { ...level, quantity_held }
  return [
    ...(is_there ? updatedEvents(stock_levels, level, { quantity_held }) : [createdEvent(stock_levels, row)]),
    ...(level.is_sub_hired
      ? []
      : entries.flatMap(({ quantity }) =>
          documentedEvents(
            level,
            {
              transaction_type: 4,
              quantity,
              at: moved.receipt.received_at ?? context.happened_at,
              source_type: "purchase_order",
              source_id: moved.id,
              description: moved.receipt.reference ?? null
            },
            context
          )
        ))
  ]
}

export const goodsTakenIn = reaction({
  on: [purchaseOrderReceived],
  facts: ({ events }) => intakeFacts(events.map(({ data }) => data)),
  decide: ({ events }, facts, context) =>
    Result.succeed(
      events.flatMap(({ data }) =>
        [...Map.groupBy(entriesOf(data, facts), ({ level }) => level.id).values()].flatMap((entries) =>
          levelEvents(entries, data, facts, context)
        )
      )
    )
})

/**
 * End of the period in which returned goods count: the start of that day at the store, as slots count stock present in
 * any part of them. Goods returned before their period began never count.
 */
const countedUntil = (level: StockLevelRow, at: string, zone: string): string => {
  const day = instantOf(startOfDay(dayOf(millisOf(at), zone), zone))
  const end = level.ends_at === null || day < level.ends_at ? day : level.ends_at
  return level.starts_at !== null && end < level.starts_at ? level.starts_at : end
}

/** Events when `left` of a level is returned: the level ends, or that part is split off into an ended level. */
const leavingEvents = (
  level: StockLevelRow,
  left: ExactNumber,
  at: string,
  zone: string,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const gone = { given_back_at: at, ends_at: countedUntil(level, at, zone) }
  const stays = exact(level.quantity_held).minus(left)
  const { created_at: _c, deleted_at: _d, updated_at: _u, ...row } = level
  return [
    ...updatedEvents(stock_levels, level, stays.greaterThan(0) ? { quantity_held: formatDecimal(stays, 2) } : gone),
    ...(stays.greaterThan(0)
      ? [
          createdEvent(stock_levels, {
            ...row,
            ...gone,
            id: context.id(stock_levels),
            quantity_held: formatDecimal(left, 2),
            quantity_allocated: "0.00",
            // Records of the workshop are of the level that stays.
            out_of_service: []
          })
        ]
      : [])
  ]
}

const leftEvents = (
  moved: GoodsMoved,
  { levels, orders, stores }: IntakeFacts,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const at = moved.receipt.received_at ?? context.happened_at
  const zone = zoneOf(stores.get(orders.get(moved.id)?.store_id ?? 0)?.timezone)
  return moved.lines.flatMap((line) => {
    let left = exact(line.quantity ?? "0")
    const named = (line.stock_level_ids ?? []).flatMap((id) => levels.get(id) ?? [])
    // Units are returned first, as wholes; the rest of the quantity is bulk.
    const is_unit = ({ stock_category }: StockLevelRow): boolean => stock_category === unit_category
    return [...named.filter(is_unit), ...named.filter((level) => !is_unit(level))].flatMap((level) => {
      if (left.lessThanOrEqualTo(0)) return []
      const held = exact(level.quantity_held)
      const part = left.lessThan(held) ? left : held
      left = left.minus(part)
      return leavingEvents(level, part, at, zone, context)
    })
  })
}

export const goodsGivenBack = reaction({
  on: [purchaseOrderReturned],
  facts: ({ events }) => intakeFacts(events.map(({ data }) => data)),
  decide: ({ events }, facts, context) => Result.succeed(events.flatMap(({ data }) => leftEvents(data, facts, context)))
})

// Due dates of sub-hired goods, and their reminders.

const procurement_group = "procurement"
export const procurementSettings = {
  [procurement_group]: {
    return_reminder_days: integer({
      default: 1,
      min: 0,
      max: 365,
      describe: "Days before sub-hired goods are due back to send a reminder"
    })
  }
} satisfies SettingGroups
export const reminderDaysIn = (settings: Settings): number => {
  const days = settings[procurement_group]?.["return_reminder_days"]
  return typeof days === "number" ? days : 1
}

type Dated = Pick<PurchaseOrderRow, "po_type" | "starts_at" | "ends_at" | "returned_at" | "deleted_at">
type Present = Pick<PurchaseOrderItemRow, "starts_at" | "ends_at" | "received_quantity" | "returned_quantity">
export const isHere = (item: Pick<Present, "received_quantity" | "returned_quantity">): boolean =>
  exact(item.received_quantity).greaterThan(item.returned_quantity)

/** Earliest due date of goods that are present; null if none. */
export const dueBackAt = (order: Dated, items: ReadonlyArray<Present>): string | null => {
  if (order.po_type !== "sub_hire" || order.deleted_at !== null) return null
  const ends = items.filter(isHere).flatMap((item) => windowOf(order, item).ends_at ?? [])
  return ends.sort()[0] ?? null
}

/** Whether a reminder should be sent now: once per due date, even if late. */
export const isReminderDue = (
  order: Dated & Pick<PurchaseOrderRow, "return_reminded_for">,
  due_at: string | null,
  { days, now_millis, zone }: { readonly days: number; readonly now_millis: number; readonly zone: string }
): boolean =>
  due_at !== null &&
  order.return_reminded_for !== due_at &&
  dayOf(Date.parse(due_at), zone) <= dateAfter(dayOf(now_millis, zone), days)
