/**
 * Cells of a CSV, for spreadsheets: which run as a formula whatever begins like one. Such a text is led by an apostrophe,
 * which spreadsheets take as "this is text"; an import takes it off again. Numbers are none of these, whatever their sign.
 */
import type { Json } from "../../core/kernel/json.ts"

/** `=`, `+`, `-`, `@`, also as wide as an ideograph, and what some spreadsheets pass over before one. */
const formula = /^'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]/
const number = /^[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?$/
export const looksLikeFormula = (text: string): boolean => formula.test(text) && !number.test(text)

/** How cells are written, and how many had to be led by an apostrophe. */
export interface Cells {
  readonly of: (value: Json | undefined) => string
  readonly led: () => number
}
/** `raw`: as they are, for programs. What is no plain value stands in its cell as JSON. */
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
/** A cell as it was before it was led by an apostrophe. */
export const restoreCell = (cell: string): string =>
  cell.startsWith("'") && looksLikeFormula(cell) ? cell.slice(1) : cell

/** What is told when cells were led by an apostrophe. */
export const guardText = (led: number): string =>
  `${led} ${led === 1 ? "cell that a spreadsheet would run as a formula begins" : "cells that a spreadsheet would run as formulas begin"} with ' in the CSV; --raw writes ${led === 1 ? "it as it is" : "them as they are"}.`
