/** Loads what activities are about (members, products, stock levels, opportunities): one query per table. */
import { Effect } from "effect"
import { Store } from "../kernel/store/store.ts"
import type { AnyRow, Table } from "../kernel/table.ts"
import { members } from "../members/schema.ts"
import { opportunities } from "../opportunities/schema.ts"
import { products } from "../products/schema.ts"
import { stock_levels } from "../stock/schema.ts"
import type { RegardingType } from "./schema.ts"

const kinds: { readonly [T in RegardingType]: { readonly table: Table; readonly names: ReadonlyArray<string> } } = {
  Member: { table: members, names: ["name"] },
  Product: { table: products, names: ["name"] },
  StockLevel: { table: stock_levels, names: ["item_name", "asset_number", "serial_number", "barcode"] },
  Opportunity: { table: opportunities, names: ["subject"] }
}
export interface Regarding {
  readonly type: RegardingType
  readonly id: number
}
export interface Subject {
  readonly id: number
  readonly name: string | null
  readonly is_deleted: boolean
}
export const regardingKey = ({ type, id }: Regarding): string => `${type}:${id}`

/** The rows that exist, by {@link regardingKey}. */
export const subjectsOf = Effect.fnUntraced(function* (wanted: ReadonlyArray<Regarding>) {
  const store = yield* Store
  const found = new Map<string, Subject>()
  for (const [type, { table, names }] of Object.entries(kinds) as ReadonlyArray<
    [RegardingType, (typeof kinds)[RegardingType]]
  >) {
    const ids = wanted.filter((one) => one.type === type).map((one) => one.id)
    for (const row of (yield* store.getMany(table, ids)) as ReadonlyArray<AnyRow>) {
      const id = row["id"] as number
      const name = names.map((column) => row[column]).find((value) => typeof value === "string" && value !== "") as
        | string
        | undefined
      found.set(regardingKey({ type, id }), { id, name: name ?? null, is_deleted: row["deleted_at"] !== null })
    }
  }
  return found
})
