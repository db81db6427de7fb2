/** Names of rows in sentences about undoing. */
import { wordsOf, type Table } from "../../kernel/index.ts"

const states = ["draft", "quotation", "order"]
/** A row, as a table or an event holds it. */
interface Row {
  readonly [column: string]: unknown
}
const numberOf = (row: Row): string | undefined => {
  const number = row["number"]
  return typeof number === "string" && number !== "" ? number.replace(/^0+(?=\d)/, "") : undefined
}

export const calledRow = (table: Table, key: string | number, row: Row | undefined): string => {
  if (row === undefined) return `${wordsOf(table)} ${key}`
  if (table.name === "opportunities") {
    const subject = typeof row["subject"] === "string" ? ` ${row["subject"]}` : ""
    return `${states[Number(row["state"])] ?? "order"} ${numberOf(row) ?? `${key}${subject}`}`
  }
  const name = table.named_by
    .map((column) => row[column])
    .find((one): one is string => typeof one === "string" && one !== "")
  if (table.name === "opportunity_items") return `${trimmed(row["quantity"])} × ${name ?? String(row["name"] ?? key)}`
  return `${wordsOf(table)} ${name ?? key}`
}
const trimmed = (quantity: unknown): string => String(Number(quantity ?? 0))

/** Columns that refer to the row by whose name users know this one, with its table. */
export const naming: { readonly [column: string]: string } = {
  stock_level_id: "stock_levels",
  serialised_item_id: "stock_levels"
}
