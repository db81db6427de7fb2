/**
 * Estimates heights before layout. pdfmake loses content kept together that does not fit on a page, so only content
 * clearly lower than a page is kept together, and very long rows are split.
 */
import type { Block, Cell, Row, Run } from "../../core/pricing/print/blocks.ts"

export const points_per_mm = 72 / 25.4

/** Font sizes of printed documents, in points. */
export const sizes = { body: 9.5, small: 8, headings: { 1: 18, 2: 12.5, 3: 10.5 } } as const
export const colours = {
  text: "#1c2430",
  muted: "#5a6675",
  line: "#d5dae1",
  stripe: "#f4f6f8",
  group: "#e9edf2",
  accent: "#1d3f66",
  watermark: "#b3261e"
} as const

/** Size of a code in a table, in millimetres: small enough for many rows, large enough for a hand-held scanner. */
export const cell_code = { qr: 13, code128: { width: 46, height: 7 }, gap: 1.2 } as const

/** Number of lines of a text at a width, rounded up generously. */
const linesOf = (text: string, width: number, size: number): number => {
  const per_line = Math.max(1, width / (size * 0.56))
  return text.split("\n").reduce((lines, one) => lines + Math.max(1, Math.ceil(widthOf(one) / per_line)), 0)
}
/** Width of a text in average letters; Chinese and Japanese characters count as two. */
const widthOf = (text: string): number => {
  let width = 0
  for (const character of text) width += (character.codePointAt(0) ?? 0) >= 0x2e80 ? 2 : 1
  return width
}
const textOf = (runs: ReadonlyArray<Run>): string => runs.map(({ text }) => text).join("")

const line_height = 1.3
const heightOfText = (text: string, width: number, size: number): number =>
  linesOf(text, width, size) * size * line_height

/** Height of a code with its value below. */
const heightOfCode = ({ code }: Cell, width: number): number =>
  code === undefined
    ? 0
    : ((code.symbology === "qr" ? cell_code.qr : cell_code.code128.height) + cell_code.gap) * points_per_mm +
      heightOfText(code.value, width, sizes.small)
const heightOfCell = (cell: Cell, width: number): number =>
  heightOfText(textOf(cell.runs), width, sizes.body) +
  (cell.note === undefined ? 0 : heightOfText(cell.note, width, sizes.small)) +
  heightOfCode(cell, width)
export const heightOfRow = ({ cells }: Row, widths: ReadonlyArray<number>): number =>
  Math.max(0, ...cells.map((cell, at) => heightOfCell(cell, widths[at] ?? 1))) + 8

export const heightOfBlocks = (blocks: ReadonlyArray<Block>, width: number): number =>
  blocks.reduce((sum, block) => sum + heightOf(block, width), 0)
const heightOf = (block: Block, width: number): number => {
  switch (block.kind) {
    case "heading":
      return heightOfText(block.text, width, sizes.headings[block.level]) + 14
    case "paragraph":
      return heightOfText(textOf(block.runs), width, sizes.body) + 8
    case "key_values":
      return block.rows.reduce((sum, { value }) => sum + heightOfText(value, width * 0.65, sizes.body) + 3, 8)
    case "table": {
      const shares = block.columns.reduce((sum, { share }) => sum + share, 0)
      const widths = block.columns.map(({ share }) => (width * share) / shares - 8)
      return block.rows.reduce((sum, row) => sum + (row.kind === "row" ? heightOfRow(row, widths) : 24), 40)
    }
    case "totals":
      return block.rows.length * 20 + 12
    case "image":
      return (block.height_max_mm ?? block.width_mm) * points_per_mm + 8
    case "code":
      return (block.symbology === "qr" ? (block.width_mm ?? 30) : 15) * points_per_mm + 24
    case "signature":
      return 110
    case "spacer":
      return block.height_mm * points_per_mm
    case "page_break":
      return Number.POSITIVE_INFINITY
    case "columns": {
      const shares = block.columns.reduce((sum, { share }) => sum + share, 0)
      return Math.max(0, ...block.columns.map((one) => heightOfBlocks(one.blocks, (width * one.share) / shares)))
    }
    case "together":
      return heightOfBlocks(block.blocks, width)
  }
}

/** Splits a row into rows of about `height_max` points at most; unsplit if it fits. */
export const splitRow = (row: Row, widths: ReadonlyArray<number>, height_max: number): ReadonlyArray<Row> => {
  if (heightOfRow(row, widths) <= height_max) return [row]
  const parts = row.cells.map((cell, at) => splitCell(cell, widths[at] ?? 1, height_max))
  const rows = Math.max(...parts.map(({ length }) => length))
  return Array.from({ length: rows }, (_, at) => ({
    ...row,
    cells: parts.map((cells): Cell => cells[at] ?? { runs: [] })
  }))
}
const splitCell = (cell: Cell, width: number, height_max: number): ReadonlyArray<Cell> => {
  const { note, runs, ...rest } = cell
  const text_lines = Math.max(1, Math.floor(height_max / (sizes.body * line_height)) - 1)
  const note_lines = Math.max(1, Math.floor(height_max / (sizes.small * line_height)) - 1)
  const texts = splitRuns(runs, width, text_lines).map((part, at): Cell =>
    at === 0 ? { ...rest, runs: part } : { runs: part }
  )
  const notes = note === undefined ? [] : splitText(note, width, sizes.small, note_lines)
  const [first_note, ...other_notes] = notes
  if (first_note === undefined) return texts
  const last = texts.at(-1)
  const is_short = last !== undefined && heightOfCell({ ...last, note: first_note }, width) <= height_max
  const joined: ReadonlyArray<Cell> = is_short
    ? [...texts.slice(0, -1), { ...last, note: first_note }]
    : [...texts, { runs: [], note: first_note }]
  return [...joined, ...other_notes.map((part): Cell => ({ runs: [], note: part }))]
}
const splitRuns = (runs: ReadonlyArray<Run>, width: number, lines_max: number): ReadonlyArray<ReadonlyArray<Run>> => {
  const parts: Array<Array<Run>> = [[]]
  let lines = 0
  for (const run of runs) {
    for (const text of splitText(run.text, width, sizes.body, lines_max)) {
      const taken = linesOf(text, width, sizes.body)
      if (lines > 0 && lines + taken > lines_max) {
        parts.push([])
        lines = 0
      }
      parts.at(-1)?.push({ ...run, text })
      lines += taken
    }
  }
  return parts
}
/** Splits a text into parts of at most `lines_max` lines: between words, and long words after 200 characters. */
const splitText = (text: string, width: number, size: number, lines_max: number): ReadonlyArray<string> => {
  if (linesOf(text, width, size) <= lines_max) return [text]
  const made: Array<string> = []
  let part = ""
  for (const word of text.split(/(?<=[\s])/).flatMap((one) => one.match(/[^]{1,200}/gu) ?? [])) {
    if (part !== "" && linesOf(part + word, width, size) > lines_max) {
      made.push(part.replace(/\s+$/, ""))
      part = ""
    }
    part += word
  }
  return part === "" ? made : [...made, part]
}
