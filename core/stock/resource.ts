/** How answers show stock levels and their ledger. */
import { Effect } from "effect"
import { resource } from "../kernel/resource.ts"
import { bulk, products, serialised } from "../products/schema.ts"
import { stores } from "../stores/stores.ts"
import {
  stock_categories,
  stock_levels,
  stock_transactions,
  transaction_types,
  type TransactionType
} from "./schema.ts"
import { integer, text } from "../kernel/field.ts"

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
    product_name: (product?.["name"] as string | undefined) ?? null,
    store_name: (store?.["name"] as string | undefined) ?? null,
    stock_type_name: row.stock_type === 2 ? "Sale" : "Rental",
    stock_category_name: stock_categories[row.stock_category as 10 | 50]
  })
})

export const stockTransactionResource = resource({
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
