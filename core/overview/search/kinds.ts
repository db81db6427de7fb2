/** Kinds of rows that `find` searches: their tables, names, and who may list them (rules/search 1). */
import { containers } from "../../products/packing.ts"
import { invoices } from "../../billing/state/tables.ts"
import type { Table } from "../../kernel/tables/table.ts"
import { members } from "../../people/members/schema.ts"
import { opportunities } from "../../orders/opportunities/tables/opportunities.ts"
import { purchase_orders } from "../../purchasing/schema.ts"
import { products } from "../../products/products/schema.ts"
import { stock_levels } from "../../products/stock/schema.ts"

/** In the order their results are shown in. */
export const search_kinds = {
  units: "Units and stock",
  orders: "Orders",
  members: "Members",
  products: "Products",
  containers: "Cases",
  invoices: "Invoices",
  purchase_orders: "Purchase orders"
} as const
export type SearchKind = keyof typeof search_kinds

/** Where a unit may be. */
export const unit_places = {
  in_store: "In store",
  in_case: "In a case",
  prepared: "Prepared to go out",
  out: "Out",
  returned: "Back, not checked yet",
  not_here_yet: "Not here yet",
  quarantine: "In quarantine",
  in_repair: "In repair",
  lost: "Lost",
  sold: "Sold",
  gone: "Written off or moved away",
  given_back: "Given back to its supplier"
} as const
export type UnitPlace = keyof typeof unit_places

export interface SearchKindRules {
  readonly kind: SearchKind
  readonly table: Table
  /** Columns by which a whole text names one row; each has an index, of its case-folded column where it has one. */
  readonly codes: ReadonlyArray<string>
  /** The column that short words are looked for at the beginning of. */
  readonly begins: string | undefined
  /** The column that holds a document's number, written with leading zeros or without. */
  readonly numbered: string | undefined
  /** The columns that say whether a row is still worked with, and whether it is a case. */
  readonly in_use: ReadonlyArray<string>
  /** The list of the same rows: users who may not call it find none. */
  readonly list: string
}
const rulesOf = (
  kind: SearchKind,
  table: Table,
  rules: Partial<Pick<SearchKindRules, "codes" | "begins" | "numbered" | "in_use" | "list">>
): SearchKindRules => ({
  kind,
  table,
  codes: [],
  begins: undefined,
  numbered: undefined,
  in_use: ["status"],
  list: `${kind}.list`,
  ...rules
})

export const kind_rules: ReadonlyArray<SearchKindRules> = [
  rulesOf("units", stock_levels, {
    codes: ["asset_number", "serial_number", "barcode"],
    in_use: ["given_back_at", "is_gone", "service_state", "product_id"],
    list: "stock_levels.list"
  }),
  rulesOf("containers", containers, { codes: ["barcode", "name"], begins: "name" }),
  rulesOf("orders", opportunities, {
    codes: ["number", "reference"],
    begins: "subject",
    numbered: "number",
    in_use: ["state", "status"],
    list: "opportunities.list"
  }),
  rulesOf("members", members, { codes: ["account_number", "name"], begins: "name", in_use: ["is_active"] }),
  rulesOf("products", products, {
    codes: ["sku", "barcode", "name"],
    begins: "name",
    in_use: ["is_active", "is_containerable"]
  }),
  rulesOf("invoices", invoices, { codes: ["number", "reference"], begins: "subject", numbered: "number" }),
  rulesOf("purchase_orders", purchase_orders, { codes: ["number"], begins: "number", numbered: "number" })
]
