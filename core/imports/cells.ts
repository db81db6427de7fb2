/** How imports read cells of spreadsheets: `yes` as true, a number as text, tags between commas. */
import type { Fields } from "../kernel/field.ts"
import { isStorableText } from "../kernel/input.ts"
import { isJsonObject, type Json, type JsonObject } from "../kernel/json.ts"

const yes = new Set(["yes", "y", "true", "t", "1", "on"])
const no = new Set(["no", "n", "false", "f", "0", "off"])

/** What stands between separators, without blanks and empty ones. */
export const partsOfText = (text: string, separator: RegExp): ReadonlyArray<string> =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== "")

/** What stands under a name that somebody gave: `constructor` and its like, which every object has, is nothing. */
export const namedIn = <A>(by_name: { readonly [name: string]: A }, name: string): A | undefined =>
  Object.hasOwn(by_name, name) ? by_name[name] : undefined

/** A cell as the value a request would hold for this field. */
export const cellValue = (fields: Fields, column: string, cell: Json): Json => {
  const kind = namedIn(fields, column)?.type.kind
  if (kind === "text" && typeof cell === "number") return String(cell)
  if (typeof cell !== "string") return cell
  const word = cell.trim().toLowerCase()
  if (kind === "boolean") return yes.has(word) ? true : no.has(word) ? false : cell
  if (kind === "list") return [...partsOfText(cell, /[,;]/)]
  return cell
}

/** A cell that identifies a row, as text: a sku may come as a number. Undefined for anything that cannot be stored. */
export const textCell = (cells: JsonObject, column: string): string | undefined => {
  const cell = cells[column]
  return typeof cell === "string" && isStorableText(cell)
    ? cell.trim()
    : typeof cell === "number"
      ? String(cell)
      : undefined
}

/** A cell that holds one part or several: a list of objects; text goes under `main`, several parted by `separator`. */
export const recordsIn = (
  cell: Json | undefined,
  main: string,
  separator: RegExp | undefined
): ReadonlyArray<JsonObject> | undefined => {
  if (cell === undefined) return []
  if (Array.isArray(cell)) {
    const inner = (cell as ReadonlyArray<Json>).map((one) => recordsIn(one, main, separator))
    return inner.some((one) => one === undefined) ? undefined : inner.flatMap((one) => one ?? [])
  }
  if (isJsonObject(cell)) return [cell]
  if (typeof cell !== "string" && typeof cell !== "number") return undefined
  const text = String(cell)
  return (separator === undefined ? [text] : partsOfText(text, separator)).map((one) => ({ [main]: one }))
}
