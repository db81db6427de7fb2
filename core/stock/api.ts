/** Endpoints of stock levels and their ledger (rules/availability 10). */
import { Effect } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { command, type Failure, get, type Input, type SharedDraft } from "../kernel/endpoint.ts"
import { crudResource } from "../kernel/crud-resource.ts"
import { created, listOf, noContent, ok, renderOne, renderById, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { products } from "../products/schema.ts"
import { deleteLevel, deleteTransaction, type LevelFacts, postTransaction, saveLevel } from "./decide.ts"
import { stockEvents } from "./events.ts"
import { productStocked } from "./first-level.ts"
import { stockLevelResource, stockTransactionResource } from "./resource.ts"
import { type StockLevelRow, stock_levels, stock_transactions, stockLevelFields } from "./schema.ts"
import * as Shown from "../kernel/answer-schema.ts"

const levelFacts = Effect.fnUntraced(function* (
  input: Input,
  before: StockLevelRow | undefined
): Effect.fn.Return<LevelFacts, Failure, Store> {
  const store = yield* Store
  const product_id = before?.product_id ?? (input.values as { readonly product_id: number }).product_id
  return {
    product: yield* store.get(products, product_id),
    bulk_levels: yield* store.find(stock_levels, { product_id, stock_category: 10, is_sub_hired: false })
  }
})

const levels = crudResource({
  resource: stockLevelResource,
  fields: stockLevelFields,
  path: "/api/v1/stock_levels",
  access: {
    read: "stock:read",
    write: "stock:write",
    view: "stock.view",
    create: "stock.adjust",
    edit: "stock.adjust",
    delete: "stock.adjust"
  },
  // One bulk level per product and store: commands that make a level of a product wait for each other.
  streams: (params, body) =>
    params["id"] === undefined ? [`product_stock:${String(body["product_id"])}`] : [`stock_level:${params["id"]}`],
  rules: {
    facts: levelFacts,
    save: ({ next, before, facts, context }) => saveLevel(next, before, facts, context),
    delete: ({ row, facts }) => deleteLevel(row, facts)
  }
})

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
    summary: "List the ledger of a stock level, newest first",
    ...reading,
    params: ofLevel,
    run: (input) =>
      Effect.map(
        listOf(stockTransactionResource, input.query, viewContext(input), {
          where: { stock_level_id: input.rows.stock_level.id }
        }),
        ok
      )
  }),
  get(`${ledger}/{id}`, {
    answer: oneTransaction,
    name: "stock_transactions.show",
    summary: "Show one line of the ledger",
    ...reading,
    params: ofLedger,
    run: (input) => Effect.map(renderOne(stockTransactionResource, input.rows.id, input.query, viewContext(input)), ok)
  }),
  command("POST", ledger, {
    answer: oneTransaction,
    name: "stock_transactions.create",
    split_by: "quantity",
    summary: "Post a purchase, find, write-off, sale or making of stock",
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
    summary: "Take a line out of the ledger and its move back",
    ...writing,
    params: ofLedger,
    streams: oneLevel,
    facts: ({ rows }) => newestLineExcept(rows.stock_level.id, rows.id.id),
    decide: (newest, { rows }) => deleteTransaction(rows.stock_level, rows.id, newest),
    respond: () => Effect.succeed(noContent)
  })
]

/** The newest line of a level's ledger, except the one given. */
const newestLineExcept = (stock_level_id: number, without: number | undefined) =>
  Effect.gen(function* () {
    const newest = yield* (yield* Store).find(
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
  endpoints: [...(levels.endpoints ?? []), ...transactions]
}
