/** Kinds of rows that `find` searches: their tables, names, and who may list them (rules/search 1). */
import { containers } from "../../products/packing.ts"
import { invoices } from "../../billing/state/tables.ts"
import type { Table } from "../../kernel/index.ts"
import { members } from "../../people/members/schema.ts"
import { opportunities } from "../../orders/opportunities/tables/index.ts"
import { purchase_orders } from "../../purchasing/schema.ts"
import { products } from "../../products/products/schema.ts"
import { stock_levels } from "../../products/stock/schema.ts"

/** Kinds with labels, in the order of results. */
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

/** Places where a unit may be, with labels. */
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
export interface SearchKindRules {
  readonly kind: SearchKind
  readonly table: Table
  /** Columns that identify a row by their whole value; each has an index, case-folded where possible. */
  readonly codes: ReadonlyArray<string>
  /** Column whose beginning is compared with short words; undefined if none. */
  readonly begins: string | undefined
  /** Column with a document number, which users may write without leading zeros; undefined if none. */
  readonly numbered: string | undefined
  /** Columns that decide whether a row is in use, and whether it is a case. */
  readonly in_use: ReadonlyArray<string>
  /** Name of the endpoint that lists these rows; users who may not call it find none. */
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
