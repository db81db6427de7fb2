/** Resolves targets of attachments: `member:12`, `order:0000000009`, `product:SKU`, `unit:BARCODE`. */
import { attachables } from "../../../../core/office/attachments/attachables.ts"
import { findAsset } from "../../../context/codes.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { isNameableTable } from "../../../base/nameable.ts"
import { looksLikeId, resolveId } from "../../../context/resolve-id.ts"

export interface Target {
  readonly attachable_type: string
  readonly attachable_id: number
}
/** Other words for kinds of targets, besides the API's own. */
const other_words: { readonly [word: string]: string } = {
  order: "opportunity",
  quote: "opportunity",
  unit: "stock_level",
  asset: "stock_level",
  case: "container",
  po: "purchase_order"
}
const shown_words = ["member", "product", "order", "activity", "container", "unit"]

export const targetNamed = async (context: CommandContext, text: string): Promise<Target> => {
  const at = text.indexOf(":")
  const word = text.slice(0, Math.max(at, 0)).toLowerCase().replaceAll("-", "_")
  const entity = other_words[word] ?? word
  const kind = attachables.find(({ table }) => table.entity === entity)
  const name = text.slice(at + 1).trim()
  if (kind === undefined || name === "")
    throw usageError(
      `${JSON.stringify(text)} names nothing files can be attached to.`,
      `Say what it is, then its id, number or code: ${shown_words.map((one) => `${one}:…`).join(", ")}.`
    )
  return { attachable_type: kind.type, attachable_id: await idOf(context, kind.table.name, word, name) }
}
const idOf = async (context: CommandContext, table: string, word: string, name: string): Promise<number> => {
  // Units are looked up by code before id, as scanners send codes.
  if (table === "stock_levels") {
    const unit = await findAsset(context, name, true)
    if (unit !== undefined) return unit.id
    throw new CliError(exit_codes.not_found, `No unit has the code ${JSON.stringify(name)}.`, {
      way_out: "flightcase stock-levels list shows asset numbers, serial numbers and barcodes; any of them is a code."
    })
  }
  if (isNameableTable(table)) return resolveId(context, table, name)
  if (!looksLikeId(name))
    throw usageError(`${JSON.stringify(name)} is no id.`, `Name the ${word} by its id: ${word}:12.`)
  return Number(name)
}
