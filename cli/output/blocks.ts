/**
 * Output of one record in several parts: its fields, tables of its rows, its sums. A terminal and a pipe get the same
 * parts, separated by an empty line; a pipe gets them without colours, in full width.
 */
import type { JsonObject } from "../../core/kernel/fields/field.ts"
import { type Column, recordText, tableText } from "./table.ts"
import type { Terminal } from "./terminal.ts"

export type Block =
  | { readonly record: JsonObject }
  | { readonly text: string }
  | { readonly title?: string; readonly columns: ReadonlyArray<Column>; readonly rows: ReadonlyArray<JsonObject> }

export const blocksText = (blocks: ReadonlyArray<Block>, terminal: Terminal): string =>
  blocks
    .map((block) => textOf(block, terminal))
    .filter((text) => text !== "")
    .join("\n")
const textOf = (block: Block, terminal: Terminal): string => {
  if ("text" in block) return block.text
  if ("record" in block) return Object.keys(block.record).length === 0 ? "" : recordText(block.record, terminal)
  const { columns, rows, title } = block
  if (rows.length === 0) return ""
  return `${title === undefined ? "" : `${title}\n`}${tableText(columns, rows, terminal, { has_titles: true })}`
}
