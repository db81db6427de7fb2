/**
 * Cells of a CSV. Spreadsheets run whatever begins like a formula, so such a text gets an apostrophe before it, which
 * marks it as text; an import removes it again. Numbers are written as they are, whatever their sign.
 */
import type { Json } from "../../core/kernel/json.ts"

/** `=`, `+`, `-`, `@`, their full-width forms, and characters some spreadsheets ignore before them. */
const formula = /^'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]/
const number = /^[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?$/
export const looksLikeFormula = (text: string): boolean => formula.test(text) && !number.test(text)

/** Writes cells, and counts those that got an apostrophe. */
export interface Cells {
  readonly of: (value: Json | undefined) => string
  readonly led: () => number
}
/** `raw`: as they are, for programs. Objects and lists are written as JSON. */
export const cellsFor = (raw: boolean): Cells => {
  let led = 0
  return {
    of: (value) => {
      if (value === null || value === undefined) return ""
      if (typeof value !== "string") return typeof value === "object" ? JSON.stringify(value) : String(value)
      if (raw || !looksLikeFormula(value)) return value
      led++
      return `'${value}`
    },
    led: () => led
  }
}
/** A cell without the apostrophe that `cellsFor` put before it. */
export const restoreCell = (cell: string): string =>
  cell.startsWith("'") && looksLikeFormula(cell) ? cell.slice(1) : cell

/** The note about cells that got an apostrophe. */
export const guardText = (led: number): string =>
  `${led} ${led === 1 ? "cell that a spreadsheet would run as a formula begins" : "cells that a spreadsheet would run as formulas begin"} with ' in the CSV; --raw writes ${led === 1 ? "it as it is" : "them as they are"}.`
