/** Formats explanations of amounts: a line per step, below the amount. */
import { objectsIn, type Json } from "../../core/kernel/index.ts"
import { columnsNamed, tableText } from "./table.ts"
import { oneLine, styled, type Terminal, widthOf } from "./text.ts"

/** Maximum width, as wider lines are hard to read. */
const width_max = 120
const indent = "  "

/** Formats steps: wrapped sentences below each figure on a terminal, tab-separated columns in a pipe. */
export const explanationText = (steps: Json | undefined, terminal: Terminal): string => {
  const rows = objectsIn(steps)
  if (!terminal.is_tty) return tableText(columnsNamed("figure, rule, from, to, words"), rows, terminal)
  let last = ""
  return rows
    .map((row) => {
      const figure = oneLine(String(row.figure))
      const heading = figure === last ? "" : `${styled(terminal.colour, "dim", figure)}\n`
      last = figure
      return (
        heading +
        wrapped(oneLine(String(row.words)), Math.min(terminal.columns, width_max) - indent.length)
          .map((line) => `${indent}${line}\n`)
          .join("")
      )
    })
    .join("")
}

/** Wraps a text at a width, between words; a wider word has its own line. */
export const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = "",
    taken = 0
  for (const word of text.split(" ").filter((one) => one !== "")) {
    const wide = widthOf(word)
    if (taken > 0 && taken + 1 + wide <= width) {
      line += ` ${word}`
      taken += 1 + wide
      continue
    }
    if (taken > 0) lines.push(line)
    line = word
    taken = wide
  }
  return [...lines, line]
}
