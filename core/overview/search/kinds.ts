/** Kinds of rows that `find` searches: their tables, names, and who may list them (rules/search 1). */
import type { Table } from "../../kernel/index.ts"

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
