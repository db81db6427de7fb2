/** Rules of stock levels and their ledger (rules/availability 10). */
import { Effect, Result } from "effect"
import { createdEvent, dataOf, decided, deletedEvent, initialRow, invalidField, reaction } from "../../kernel/index.ts"
import { picked, reject, rowCreated, Store, updatedEvents } from "../../kernel/index.ts"
import type { DataOf, DecideContext, Decided, Happened, NewEvent, Rejection, SaveResult } from "../../kernel/index.ts"
import { bulk, type ProductRow, products, serialised } from "../products/schema.ts"
import { compareDecimals, exact, formatDecimal } from "../../values/decimal.ts"
import { bulk_category, stockLevelFields, type StockLevelRow, type StockTransactionRow } from "./schema.ts"
import { stock_levels, stock_transactions, type TransactionType, transaction_types, unit_category } from "./schema.ts"
import { type StoreRow, stores } from "../../setup/stores.ts"

const opening = 1
const transfer_out: TransactionType = 10
const transfer_in: TransactionType = 11
/** Types after which a unit is gone: decrease, write-off, sale, transfer out. */
const moves_out: ReadonlySet<number> = new Set([3, 6, 7, 10])

export interface LevelFacts {
  readonly product: ProductRow | undefined
  /** Bulk levels of the product, except sub-hired ones. */
  readonly bulk_levels: ReadonlyArray<StockLevelRow>
}

/**
 * Creates or changes a level; a unit's quantity starts at 1 and is changed only by its ledger. 422: `product_id` or
 * `store_id` if the product has a bulk level at that store, `ends_at` before `starts_at`, columns of sub-hired stock.
 */
export const saveLevel = (
  next: StockLevelRow,
  before: StockLevelRow | undefined,
  facts: LevelFacts,
  context: DecideContext
): SaveResult<typeof stock_levels> => {
  const is_unit =
    before === undefined ? facts.product?.stock_method === serialised : before.stock_category === unit_category
  if (next.starts_at !== null && next.ends_at !== null && next.ends_at < next.starts_at) {
    return reject("ends_at", "The ends at field must be a date on or after starts at.")
  }
  const held = before === undefined ? undefined : byOrder(before, next)
  if (held !== undefined) return Result.fail(held)
  const duplicate =
    is_unit || next.is_sub_hired
      ? undefined
      : facts.bulk_levels.find((one) => one.store_id === next.store_id && one.id !== next.id)
  if (duplicate !== undefined) {
    return Result.fail(
      before === undefined
        ? invalidField(
            "product_id",
            `The product already has stock level ${duplicate.id} at this store; change that one or post a transaction.`
          )
        : invalidField("store_id", `The product already has stock level ${duplicate.id} at that store.`)
    )
  }
  const quantity_held = !is_unit ? next.quantity_held : (before?.quantity_held ?? "1.00")
  const set = { stock_category: is_unit ? unit_category : bulk_category, quantity_held }
  const also =
    before === undefined ? openingEvents({ ...next, ...set }, context) : transferEvents(before, next, context)
  return Result.succeed({ set, also })
}

/** Ledger lines of a change of store: out of one and into the other. */
const transferEvents = (before: StockLevelRow, next: StockLevelRow, context: DecideContext): ReadonlyArray<NewEvent> =>
  before.store_id === next.store_id || exact(before.quantity_held).isZero()
    ? []
    : [
        { type: transfer_out, level: before, other: next },
        { type: transfer_in, level: next, other: before }
      ].map(({ level, other, type }) =>
        createdEvent(stock_transactions, {
          ...transactionRow(level, type, before.quantity_held),
          id: context.id(stock_transactions),
          transaction_at: context.happened_at,
          source_type: "Store",
          source_id: other.store_id,
          manual: false
        })
      )

/** Rejects changes of sub-hired stock that belong to its purchase order: quantity, dates and owner. */
const byOrder = (before: StockLevelRow, next: StockLevelRow): Rejection | undefined => {
  if (!before.is_sub_hired) return undefined
  const changed = (["quantity_held", "starts_at", "ends_at", "member_id"] as const).find((name) =>
    name === "quantity_held"
      ? before.stock_category !== unit_category && !exact(next[name]).equals(before[name])
      : next[name] !== before[name]
  )
  return changed === undefined ? undefined : invalidField(changed, sub_hired)
}
const sub_hired =
  "The stock is sub-hired and belongs to a purchase order: receive, extend or give it back there; what is lost is " +
  "given back with a note."

/** Opening balance as the first ledger line of a new level; none for quantity 0. */
export const openingEvents = (level: StockLevelRow, context: DecideContext): ReadonlyArray<NewEvent> =>
  compareDecimals(level.quantity_held, "0.00") === 0
    ? []
    : [
        createdEvent(stock_transactions, {
          ...transactionRow(level, opening, level.quantity_held),
          id: context.id(stock_transactions),
          transaction_at: context.happened_at,
          manual: false
        })
      ]

/** Ledger line of a document, such as a purchase; the caller changes the level's quantity. */
export const documentedEvents = (
  level: StockLevelRow,
  moved: {
    readonly transaction_type: TransactionType
    readonly quantity: string
    readonly at: string
    readonly source_type: string
    readonly source_id: number
    readonly description: string | null
  },
  context: DecideContext
): ReadonlyArray<NewEvent> => [
  createdEvent(stock_transactions, {
    ...transactionRow(level, moved.transaction_type, moved.quantity),
    id: context.id(stock_transactions),
    transaction_at: moved.at,
    ...picked(moved, ["source_type", "source_id", "description"]),
    manual: false
  })
]

/** Ledger line of goods that leave a store by a transfer or reach one, and the new quantity of a bulk level. */
export const transferredEvents = (
  level: StockLevelRow,
  moved: { readonly way: "out" | "in"; readonly quantity: number; readonly at: string; readonly transfer_id: number },
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const row = transactionRow(level, moved.way === "out" ? transfer_out : transfer_in, `${moved.quantity}.00`)
  return [
    createdEvent(stock_transactions, {
      ...row,
      id: context.id(stock_transactions),
      transaction_at: moved.at,
      source_type: "Transfer",
      source_id: moved.transfer_id,
      manual: false
    }),
    ...(level.stock_category === unit_category ? [] : levelMoved(level, row.quantity_move, level.is_gone))
  ]
}

const transactionRow = (level: StockLevelRow, type: TransactionType, quantity: string) => ({
  ...initialRow(stock_transactions, stock_transactions.columns),
  stock_level_id: level.id,
  product_id: level.product_id,
  store_id: level.store_id,
  transaction_type: type,
  quantity,
  quantity_move: formatDecimal(transaction_types[type].sign === 1 ? quantity : exact(quantity).negated(), 2)
})

/**
 * Rejects deleting sub-hired stock, and the last level of a bulk product that still exists (422 `stock_level`). Packed
 * units, cases in use and units with demands are protected by references.
 */
export const deleteLevel = (
  level: StockLevelRow,
  facts: LevelFacts
): Result.Result<ReadonlyArray<NewEvent>, Rejection> => {
  const refuse = (text: string) => reject("stock_level", text)
  if (level.is_sub_hired)
    return refuse("The stock is sub-hired and belongs to a purchase order; give it back to the supplier there.")
  const is_live = facts.product !== undefined && facts.product.deleted_at === null
  if (is_live && level.stock_category === bulk_category && !facts.bulk_levels.some((one) => one.id !== level.id)) {
    return refuse("The last stock level of a bulk product cannot be deleted; set its quantity to 0 instead.")
  }
  return Result.succeed([])
}

interface TransactionInput {
  readonly transaction_type: number
  readonly quantity: string
  readonly transaction_at: string | null
  readonly description: string | null
  readonly store_id: number | null
}
/**
 * Posts a manual ledger line and changes the level's quantity. 422: `stock_level` if sub-hired, `transaction_type` if
 * not manual, `quantity` if not whole, or not 1 for a unit. `newest`: the level's newest line before.
 */
export const postTransaction = (
  level: StockLevelRow,
  input: TransactionInput,
  newest: StockTransactionRow | undefined,
  context: DecideContext
): Decided => {
  if (level.is_sub_hired) return reject("stock_level", sub_hired)
  const type = input.transaction_type as TransactionType
  if (!transaction_types[type].manual) {
    return reject(
      "transaction_type",
      `${transaction_types[type].name} is recorded by the system; ` +
        "post 4 (Buy), 5 (Find), 6 (Write Off), 7 (Sell) or 9 (Make)."
    )
  }
  if (!exact(input.quantity).isInteger()) return reject("quantity", "The quantity field must be a whole number.")
  const is_unit = level.stock_category === unit_category
  if (is_unit && !exact(input.quantity).equals(1))
    return reject("quantity", "The quantity field must be 1 for a serialised unit.")
  const row = {
    ...transactionRow(level, type, input.quantity),
    id: context.id(stock_transactions),
    store_id: input.store_id ?? level.store_id,
    transaction_at: input.transaction_at ?? context.happened_at,
    description: input.description,
    manual: true
  }
  const is_newest =
    newest === undefined || newest.transaction_at === null || newest.transaction_at <= row.transaction_at
  return decided(row.id, [
    createdEvent(stock_transactions, row),
    ...levelMoved(level, row.quantity_move, is_unit && (is_newest ? moves_out.has(type) : level.is_gone))
  ])
}

/**
 * Deletes a ledger line and reverses its quantity; 422 `stock_transaction` if it belongs to a document. `newest`: the
 * newest of the remaining lines.
 */
export const deleteTransaction = (
  level: StockLevelRow,
  row: StockTransactionRow,
  newest: StockTransactionRow | undefined
): Decided => {
  if (row.source_type !== null) return reject("stock_transaction", "The line belongs to a document; undo it there.")
  const is_gone =
    level.stock_category === unit_category && newest !== undefined && moves_out.has(newest.transaction_type)
  return decided(row.id, [
    deletedEvent(stock_transactions, row.id),
    ...levelMoved(level, formatDecimal(exact(row.quantity_move).negated(), 2), is_gone)
  ])
}

const levelMoved = (level: StockLevelRow, move: string, is_gone: boolean): ReadonlyArray<NewEvent> => {
  return updatedEvents(stock_levels, level, {
    quantity_held: formatDecimal(exact(level.quantity_held).plus(move), 2),
    is_gone
  })
}

// A new bulk product gets an empty stock level, so that quantities can be posted to it (rules/availability 7.1).

/** Empty level of a new bulk product, at the default or else the first store; none without a store. */
export const firstStockLevel = (
  product: Pick<ProductRow, "id" | "stock_method">,
  stores: ReadonlyArray<StoreRow>,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const store = stores.find((one) => one.is_default) ?? stores[0]
  if (product.stock_method !== bulk || store === undefined) return []
  return [
    createdEvent(stock_levels, {
      ...initialRow(stock_levels, stockLevelFields),
      id: context.id(stock_levels),
      product_id: product.id,
      store_id: store.id,
      stock_category: 10,
      quantity_held: "0.00"
    })
  ]
}

const productCreated = rowCreated(products)
const levelCreated = rowCreated(stock_levels)
/** New bulk products for which the same command created no stock level; imports create them. */
const withoutStock = ({
  all,
  events
}: Happened<DataOf<typeof productCreated>>): ReadonlyArray<Pick<ProductRow, "id" | "stock_method">> => {
  const stocked = new Set(dataOf(levelCreated, all).map(({ product_id }) => product_id))
  return events.flatMap(({ data: { id, stock_method } }) =>
    stock_method === bulk && !stocked.has(id) ? [{ id, stock_method }] : []
  )
}

export const productStocked = reaction({
  on: [productCreated],
  facts: (happened) => (withoutStock(happened).length === 0 ? Effect.succeed([]) : Store.find(stores, {})),
  decide: (happened, found, context) =>
    Result.succeed(withoutStock(happened).flatMap((product) => firstStockLevel(product, found, context)))
})
