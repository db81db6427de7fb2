/** How figures came about, in words: a line a step, under the figure it leads to. */
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import { column, tableText } from "./table.ts"
import { inked, type Terminal } from "./terminal.ts"

/** On a terminal whole sentences, each figure named once; in a pipe figure, rule, from, to and words between tabs. */
export const explanationText = (steps: Json | undefined, terminal: Terminal): string => {
  const rows: ReadonlyArray<JsonObject> = Array.isArray(steps) ? steps.filter(isJsonObject) : []
  if (!terminal.seen) return tableText(["figure", "rule", "from", "to", "words"].map((key) => column(key)), rows, terminal)
  let last = ""
  return rows.map((row) => {
    const figure = String(row["figure"])
    const heading = figure === last ? "" : `${inked(terminal.colour, "dim", figure)}\n`
    last = figure
    return `${heading}  ${String(row["words"])}\n`
  }).join("")
}
