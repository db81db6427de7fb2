/** Formats an order: header, lines, costs, totals. */
import type { JsonObject } from "../../core/kernel/index.ts"
import { spokenNumber } from "../../core/values/text.ts"
import { sale_line } from "../../core/orders/opportunities/tables/index.ts"
import type { OrderLine, Row } from "../base/answers.ts"
import { columnsOf } from "./columns.ts"
import { blocksText, type Column, onClockOf } from "./table.ts"
import type { Terminal } from "./text.ts"

const header = [
  ...(["id", "number", "subject", "reference", "state_label", "status_label", "member", "venue", "store"] as const),
  ...(["starts_at", "ends_at", "has_shortage", "currency_code"] as const)
]
/** Keys of the original dates of an extended hire. */
const original = ["original_starts_at", "original_ends_at"] as const
const total_keys = [
  ...(["rental_charge_total", "sale_charge_total", "service_charge_total", "sub_rental_charge_total"] as const),
  ...(["transit_charge_total", "loss_damage_charge_total", "deal_total", "charge_excluding_tax_total"] as const),
  ...(["tax_total", "charge_including_tax_total"] as const)
]
const zero = /^-?0+(\.0+)?$/

const piecesIn = ({ pieces }: Row<"opportunity">): JsonObject =>
  pieces === undefined ? {} : { packed: pieces.packed, out: pieces.out, back: pieces.back }

/** The line with its type in words, such as `accessory, sale, optional`. */
const withKind = (line: OrderLine): JsonObject => {
  const type = line.item_type
  const kind = type === "product" || type === "service" ? String(line.transaction_type_label).toLowerCase() : type
  const sold = type === "accessory" && line.transaction_type === sale_line ? ", sale" : ""
  return { ...line, item_type: `${kind}${sold}${line.is_optional ? ", optional" : ""}` }
}

/** Columns of lines; their dates are spare where all are those of the order. */
const lineColumns = ({ ends_at, items = [], starts_at }: Row<"opportunity">): ReadonlyArray<Column> => {
  const columns = columnsOf("items") ?? []
  const is_same = items?.every((line) => line.starts_at === starts_at && line.ends_at === ends_at) === true
  return is_same ? columns.map((one) => (one.title.endsWith(" AT") ? { ...one, spare: 1 } : one)) : columns
}

/** Includes needed to print an order. */
export const order_parts = "items,costs,member,venue,store,pieces"
export const orderText = (terminal: Terminal, opportunity: Row<"opportunity">): string => {
  const chosen = (keys: ReadonlyArray<keyof Row<"opportunity">>): JsonObject =>
    Object.fromEntries(
      keys.flatMap((key) => {
        const value = opportunity[key]
        return value === undefined ? [] : [[key, value] as const]
      })
    )
  const agreed = Object.fromEntries(Object.entries(chosen(original)).filter(([, value]) => value !== null))
  const totals = Object.fromEntries(
    Object.entries(chosen(total_keys)).filter(
      ([key, value]) => value !== null && (!zero.test(String(value)) || key === "charge_including_tax_total")
    )
  )
  const is_billed = !zero.test(opportunity.billed_total ?? "0")
  const shown = {
    ...chosen(header),
    number: opportunity.number === null ? "pending" : spokenNumber(opportunity.number),
    ...agreed,
    ...piecesIn(opportunity)
  }
  return blocksText(
    [
      { record: shown },
      { columns: lineColumns(opportunity), rows: (opportunity.items ?? []).map(withKind) },
      { columns: columnsOf("costs") ?? [], rows: opportunity.costs ?? [] },
      { record: is_billed ? { ...totals, ...chosen(["billed_total", "left_to_bill_total"]) } : totals }
    ],
    onClockOf(terminal, opportunity)
  )
}
