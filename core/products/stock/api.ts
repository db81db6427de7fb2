/** Endpoints of stock levels and their ledger (rules/availability 10). */
import { Effect } from "effect"
import { choice, command, created, crudResource, get, integer, listOf, noContent, ok } from "../../kernel/index.ts"
import {
  renderById,
  renderOne,
  resource,
  Shown,
  Store,
  text,
  viewContext,
  viewManageAccess
} from "../../kernel/index.ts"
import type { Input, JsonObject, SaveInput, SharedDraft, Slice } from "../../kernel/index.ts"
import { bulk, products, serialised } from "../products/schema.ts"
import { stores } from "../../setup/stores.ts"
import type { StockLevelRow, TransactionType } from "./schema.ts"
import {
  stock_categories,
  stock_levels,
  stock_transactions,
  stockEvents,
  stockLevelFields,
  transaction_types
} from "./schema.ts"
import type { LevelFacts } from "./decide.ts"
import { deleteLevel, deleteTransaction, postTransaction, productStocked, saveLevel } from "./decide.ts"

// API representation of stock levels and their ledger.

export const stockLevelResource = resource({
  singular: "stock_level",
  called: { by: ["barcode", "asset_number", "serial_number"] },
  shows: {
    item_id: integer(),
    product_name: text({ nullable: true }),
    store_name: text({ nullable: true }),
    stock_type_name: text(),
    stock_category_name: text()
  },
  table: stock_levels,
  filters: [
    "product_id",
    "store_id",
    "stock_type",
    "stock_category",
    "item_name",
    "serial_number",
    "barcode",
    "asset_number",
    "service_state",
    "created_at"
  ],
  sorts: ["product_id", "store_id", "quantity_held", "stock_type", "created_at"],
  custom_module: "StockLevel",
  columns: {
    store: "store_name",
    product: "product_name",
    stock_method: () => Effect.succeed((row) => (row["stock_category"] === 50 ? serialised : bulk))
  },
  lookups: { product: { via: "product_id", table: products }, store: { via: "store_id", table: stores } },
  view: (base, row, { product, store }) => ({
    ...base,
    item_id: row.product_id,
    product_name: product?.name ?? null,
    store_name: store?.name ?? null,
    stock_type_name: row.stock_type === 2 ? "Sale" : "Rental",
    stock_category_name: stock_categories[row.stock_category as 10 | 50]
  })
})

const stockTransactionResource = resource({
  singular: "stock_transaction",
  shows: { transaction_type_name: text() },
  table: stock_transactions,
  filters: ["transaction_type", "transaction_at", "created_at"],
  sorts: ["transaction_at", "created_at"],
  order: ["-transaction_at", "-id"],
  view: (base, row) => ({
    ...base,
    transaction_type_name: transaction_types[row.transaction_type as TransactionType].name
  })
})

export const levelFacts = Effect.fnUntraced(function* (
  input: Input,
  before: StockLevelRow | undefined
): Store.Reads<LevelFacts> {
  const product_id = before?.product_id ?? Number(input.values["product_id"])
  return {
    product: yield* Store.get(products, product_id),
    bulk_levels: yield* Store.find(stock_levels, { product_id, stock_category: 10, is_sub_hired: false })
  }
})

/**
 * Declares the endpoints of stock levels. Changing the store affects orders and cases, so the workshop declares the
 * update.
 */
export const levelDraft = {
  resource: stockLevelResource,
  fields: stockLevelFields,
  path: "/api/v1/stock_levels",
  access: viewManageAccess("stock", "stock.view", "stock.adjust"),
  // Serialises commands that create levels of a product, as it has one bulk level per store.
  streams: (params: { readonly [name: string]: string }, body: JsonObject) =>
    params["id"] === undefined ? [`product_stock:${String(body["product_id"])}`] : [`stock_level:${params["id"]}`],
  rules: {
    facts: levelFacts,
    save: ({ next, before, facts, context }: SaveInput<typeof stock_levels, LevelFacts>) =>
      saveLevel(next, before, facts, context),
    delete: ({ row, facts }: { readonly row: StockLevelRow; readonly facts: LevelFacts }) => deleteLevel(row, facts)
  }
}
const levels = crudResource({ ...levelDraft, only: ["list", "show", "create", "delete"] })

const ledger = "/api/v1/products/{product}/stock_levels/{stock_level}/stock_transactions"
const ofLevel = {
  product: { table: products },
  stock_level: { table: stock_levels, of: { param: "product", column: "product_id" } }
} as const
const ofLedger = {
  ...ofLevel,
  id: { table: stock_transactions, of: { param: "stock_level", column: "stock_level_id" } }
} as const
const reading = { ability: "stock:read", permission: "stock.view" } as const satisfies SharedDraft
const writing = { ability: "stock:write", permission: "stock.adjust" } as const satisfies SharedDraft
const oneLevel = (params: { readonly [name: string]: string }): ReadonlyArray<string> => [
  `stock_level:${params["stock_level"]}`
]

const oneTransaction = { stock_transaction: Shown.row(() => stockTransactionResource) }

const transactions = [
  get(ledger, {
    answer: Shown.page(() => stockTransactionResource),
    name: "stock_transactions.list",
    summary: "List a stock level's transactions, newest first",
    ...reading,
    params: ofLevel,
    run: (input) => listOf(stockTransactionResource, input, { where: { stock_level_id: input.rows.stock_level.id } })
  }),
  get(`${ledger}/{id}`, {
    answer: oneTransaction,
    name: "stock_transactions.show",
    summary: "Show one stock transaction",
    ...reading,
    params: ofLedger,
    run: (input) => Effect.map(renderOne(stockTransactionResource, input.rows.id, input.query, viewContext(input)), ok)
  }),
  command("POST", ledger, {
    answer: oneTransaction,
    name: "stock_transactions.create",
    split_by: "quantity",
    summary: "Post a purchase, find, write-off, sale or production of stock",
    ...writing,
    params: ofLevel,
    fields: {
      transaction_type: stock_transactions.columns.transaction_type,
      quantity: stock_transactions.columns.quantity,
      transaction_at: stock_transactions.columns.transaction_at,
      description: stock_transactions.columns.description,
      store_id: stock_transactions.columns.store_id
    },
    creates: [stock_transactions],
    streams: oneLevel,
    facts: ({ rows }) => newestLineExcept(rows.stock_level.id, undefined),
    decide: (newest, { rows, values }, context) =>
      postTransaction(
        rows.stock_level,
        {
          transaction_type: values.transaction_type ?? 0,
          quantity: values.quantity ?? "0",
          transaction_at: values.transaction_at ?? null,
          description: values.description ?? null,
          store_id: values.store_id ?? null
        },
        newest,
        context
      ),
    respond: (result, input) =>
      Effect.map(renderById(stockTransactionResource, result.id, input.query, viewContext(input)), created)
  }),
  command("DELETE", `${ledger}/{id}`, {
    name: "stock_transactions.delete",
    summary: "Delete a stock transaction and reverse its movement",
    ...writing,
    params: ofLedger,
    streams: oneLevel,
    facts: ({ rows }) => newestLineExcept(rows.stock_level.id, rows.id.id),
    decide: (newest, { rows }) => deleteTransaction(rows.stock_level, rows.id, newest),
    respond: () => Effect.succeed(noContent)
  })
]

/** The newest ledger line of a level, except the line `without`. */
const newestLineExcept = Effect.fnUntraced(function* (stock_level_id: number, without: number | undefined) {
  const newest = yield* Store.find(
    stock_transactions,
    { stock_level_id },
    { order: ["-transaction_at", "-id"], limit: 2 }
  )
  return newest.find((one) => one.id !== without)
})

export const stockSlice: Slice = {
  ...levels,
  name: "stock",
  tables: [stock_levels, stock_transactions],
  resources: [stockLevelResource, stockTransactionResource],
  events: [...(levels.events ?? []), ...stockEvents],
  includes: { products: { stock_levels: { kind: "many", via: "product_id", resource: () => stockLevelResource } } },
  react: [productStocked],
  // Here, as availability counts by it (`blocksUninspected`).
  settings: {
    inspections: {
      policy: choice(
        { block: "Block", warn: "Warn", allow: "Allow" },
        {
          default: "warn",
          describe: "Units whose inspection failed or is overdue: block refuses them, warn adds a warning"
        }
      ),
      remind_days: integer({ default: 14, min: 0, max: 365, describe: "Days before an inspection is due to remind" })
    }
  },
  endpoints: [...(levels.endpoints ?? []), ...transactions]
}
