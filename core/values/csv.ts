/**
 * Cells and rows of CSV files. Texts that a spreadsheet would run as formulas get an apostrophe, which imports remove;
 * numbers stay unchanged, negative ones too.
 */

/** `=`, `+`, `-`, `@`, their full-width forms, and characters some spreadsheets ignore before them. */
const formula = /^'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]/
const number = /^[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?$/
const looksLikeFormula = (text: string): boolean => formula.test(text) && !number.test(text)

/** Formats cells; `led` counts those that got an apostrophe. */
export interface Cells {
  readonly of: (value: unknown) => string
  readonly led: () => number
}
/** `raw`: without apostrophes, for programs. Objects and lists are written as JSON. */
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

/** One row with its line end; cells with a separator, quote or line break are quoted. */
export const csvRow = (cells: ReadonlyArray<string>): string =>
  `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\r\n`

/** Note about cells that got an apostrophe. */
export const guardText = (led: number): string => {
  const [cells, them] =
    led === 1
      ? ["cell that a spreadsheet would run as a formula begins", "it as it is"]
      : ["cells that a spreadsheet would run as formulas begin", "them as they are"]
  return `${led} ${cells} with ' in the CSV; --raw writes ${them}.`
}
