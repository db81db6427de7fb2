/**
 * Tables and their totals. Rows do not break; the head is repeated; a group's row stays with the first row below it,
 * and the totals with the last rows. Rows that stay together are one pdfmake row with a nested table.
 */
import type { Column, Content, ContentTable, CustomTableLayout, TableCell } from "pdfmake"
import type { Cell, CellCode, Group, Row, Table, Totals } from "../../core/pricing/print/blocks.ts"
import { cell_code, colours, heightOfRow, points_per_mm, sizes, splitRow } from "./estimate.ts"
import { alignmentOf, type Drawing, inlines, inlineText } from "./direction.ts"
import { quiet_modules } from "./symbol-options.ts"

/** A row to draw, its cells in visual order. */
interface Drawn {
  readonly cells: Array<TableCell>
  /** Whether the row continues in the next one, without a line between. */
  readonly goes_on: boolean
  readonly height: number
  readonly is_group: boolean
  /** Whether a group's row stays with all rows below it. */
  readonly together: boolean
}
/** Rows that stay on one page. */
type Chunk = ReadonlyArray<Drawn>

/** Number of final chunks kept on one page with the totals. */
const rows_with_totals = 2

interface Frame {
  readonly drawing: Drawing
  readonly table: Table
  /** Text width of each column, in points. */
  readonly widths: ReadonlyArray<number>
}

/** Padding around the text of a cell. */
const cell_padding = { x: 4, y: 3.2 } as const

export const tableDefinition = (
  drawing: Drawing,
  table: Table,
  totals: Totals | undefined,
  width: number
): ReadonlyArray<Content> => {
  const shares = table.columns.reduce((sum, { share }) => sum + share, 0)
  const widths = table.columns.map(({ share }) => (width * share) / shares - 2 * cell_padding.x)
  const frame: Frame = { drawing, table, widths }
  const chunk_max = drawing.page_height * 0.6
  const chunks = chunksOf(drawnRows(frame, chunk_max / 2), chunk_max)
  const totals_height = totals === undefined ? 0 : totals.rows.length * 20 + 12
  const last = chunks.slice(-rows_with_totals).flat()
  const fits =
    totals !== undefined &&
    last.reduce((sum, { height }) => sum + height, totals_height) <= chunk_max &&
    chunks.length > 0
  const body = (fits ? chunks.slice(0, -rows_with_totals) : chunks).map((chunk) => ({ chunk, below: undefined }))
  const drawn = fits ? [...body, { chunk: last, below: totals }] : body
  const rows = drawn.map(({ below, chunk }) => bodyRow(frame, chunk, below, width))
  const head = drawing.is_rtl ? headOf(frame).reverse() : headOf(frame)
  const has_head = table.columns.some(({ title }) => title !== "")
  const goes_on = drawn.map(({ below, chunk }) => below !== undefined || chunk.at(-1)?.goes_on === true)
  const definition: ContentTable = {
    table: {
      headerRows: has_head ? 1 : 0,
      // The head stays with a row below it.
      ...(has_head && rows.length > 0 ? { keepWithHeaderRows: 1 } : {}),
      dontBreakRows: true,
      widths: visual(
        drawing,
        widths.map((one) => one + 2 * cell_padding.x)
      ),
      body: [...(has_head ? [head] : []), ...(rows.length === 0 && !has_head ? [[{ text: "" }]] : rows)]
    },
    layout: layoutOf(drawing, has_head ? 1 : 0, goes_on),
    margin: [0, 4, 0, totals === undefined || !fits ? 8 : 0]
  }
  return totals === undefined || fits ? [definition] : [definition, totalsDefinition(drawing, totals, width)]
}

const visual = <A>({ is_rtl }: Drawing, cells: ReadonlyArray<A>): Array<A> =>
  is_rtl ? [...cells].reverse() : [...cells]

const headOf = ({ drawing, table }: Frame): Array<TableCell> =>
  table.columns.map((column) => ({
    text: inlineText(drawing, column.title),
    bold: true,
    fontSize: sizes.small,
    color: drawing.accent,
    alignment: alignmentOf(drawing, column.alignment),
    margin: [cell_padding.x, cell_padding.y, cell_padding.x, cell_padding.y]
  }))

const drawnRows = (frame: Frame, row_max: number): ReadonlyArray<Drawn> => {
  let stripe = false
  return frame.table.rows.flatMap((row): ReadonlyArray<Drawn> => {
    if (row.kind === "group") {
      stripe = false
      return [groupRow(frame, row)]
    }
    const fill = frame.table.striped === true && stripe ? colours.stripe : undefined
    stripe = !stripe
    const parts = splitRow(row, frame.widths, row_max)
    return parts.map((part, at) => ({
      cells: visual(
        frame.drawing,
        part.cells.map((cell, column) => cellOf(frame, part, cell, column, fill))
      ),
      goes_on: at + 1 < parts.length,
      height: heightOfRow(part, frame.widths),
      is_group: false,
      together: false
    }))
  })
}

const cellOf = (frame: Frame, row: Row, cell: Cell, column: number, fill: string | undefined): TableCell => {
  const { drawing, table } = frame
  const alignment = alignmentOf(drawing, table.columns[column]?.alignment)
  const step = column === 0 ? (row.depth ?? 0) * 10 : 0
  const margin: [number, number, number, number] = drawing.is_rtl
    ? [cell_padding.x, cell_padding.y, cell_padding.x + step, cell_padding.y]
    : [cell_padding.x + step, cell_padding.y, cell_padding.x, cell_padding.y]
  const box = cell.tick === undefined ? [] : [{ text: `${cell.tick ? "\u2612" : "\u2610"} ` }]
  const text = inlines(drawing, [...box, ...cell.runs])
  const look = { margin, alignment, ...(fill === undefined ? {} : { fillColor: fill }) }
  const below: ReadonlyArray<Content> = [
    ...(cell.note === undefined || cell.note === "" ? [] : [smallText(drawing, cell.note)]),
    ...(cell.code === undefined ? [] : codeOf(frame, cell.code, column, alignment))
  ]
  if (below.length === 0) return { text, ...look }
  return { stack: cell.runs.length === 0 && box.length === 0 ? [...below] : [{ text }, ...below], ...look }
}
const smallText = (drawing: Drawing, text: string): Content => ({
  text: inlineText(drawing, text),
  fontSize: sizes.small,
  color: colours.muted,
  margin: [0, 1, 0, 0]
})
/** A symbol with its value as text, for when a scanner fails. */
const codeOf = (
  { drawing, widths }: Frame,
  { symbology, value }: CellCode,
  column: number,
  alignment: "left" | "center" | "right"
): ReadonlyArray<Content> => {
  const is_qr = symbology === "qr"
  const own = (is_qr ? cell_code.qr : cell_code.code128.width) * points_per_mm
  const width = Math.min(widths[column] ?? own, own)
  const height = is_qr ? width : cell_code.code128.height * points_per_mm
  const symbol = drawing.symbolOf(symbology, value)
  // Aligns the value with the bars, after the quiet zone.
  const quiet = alignment === "left" && !is_qr ? (quiet_modules.code128 * width) / symbol.width : 0
  return [
    { svg: symbol.svg, width, height, alignment, margin: [0, cell_code.gap * points_per_mm, 0, 0] },
    { stack: [smallText(drawing, value)], alignment, margin: [quiet, 0, 0, 0] }
  ]
}

const groupRow = ({ drawing, table }: Frame, group: Group): Drawn => {
  const columns = table.columns.length
  const has_value = group.value !== undefined && columns > 1
  // The last column alone may be too narrow for the value.
  const of_value = !has_value ? 0 : columns > 3 ? 2 : 1
  const look = { bold: true, fillColor: colours.group } as const
  const margin: [number, number, number, number] = [cell_padding.x, cell_padding.y, cell_padding.x, cell_padding.y]
  const name: TableCell = {
    text: inlineText(drawing, group.text),
    ...look,
    alignment: alignmentOf(drawing, "start"),
    margin,
    colSpan: columns - of_value
  }
  const fillers = (count: number): Array<TableCell> => Array.from({ length: count }, () => ({ text: "" }))
  const value: TableCell = {
    text: inlineText(drawing, group.value ?? ""),
    ...look,
    alignment: alignmentOf(drawing, "end"),
    margin,
    colSpan: of_value
  }
  const named = [name, ...fillers(columns - of_value - 1)]
  const valued = [value, ...fillers(of_value - 1)]
  const cells = !has_value ? named : drawing.is_rtl ? [...valued, ...named] : [...named, ...valued]
  return { cells, goes_on: false, height: 24, is_group: true, together: group.together === true }
}

/** Groups rows that stay together: a group's row with the first row below it, or with all of them. */
const chunksOf = (rows: ReadonlyArray<Drawn>, height_max: number): ReadonlyArray<Chunk> => {
  const chunks: Array<Array<Drawn>> = []
  for (const [at, row] of rows.entries()) {
    const open = chunks.at(-1)
    const height = open?.reduce((sum, one) => sum + one.height, row.height) ?? 0
    const joins =
      open?.at(-1)?.is_group === true ||
      (!row.is_group && open?.[0]?.together === true && heightBelow(rows, at - open.length) <= height_max)
    if (open !== undefined && joins && height <= height_max) open.push(row)
    else chunks.push([row])
  }
  return chunks
}
/** Height of a group's row and the rows below it, up to the next group. */
const heightBelow = (rows: ReadonlyArray<Drawn>, at: number): number => {
  let sum = rows[at]?.height ?? 0
  for (let next = at + 1; rows[next]?.is_group === false; next++) sum += rows[next]?.height ?? 0
  return sum
}

const bodyRow = (frame: Frame, chunk: Chunk, totals: Totals | undefined, width: number): Array<TableCell> => {
  const { drawing, table, widths } = frame
  const [first] = chunk
  if (chunk.length === 1 && first !== undefined && totals === undefined) return first.cells
  const inner: Content = {
    table: {
      dontBreakRows: true,
      widths: visual(
        drawing,
        widths.map((one) => one + 2 * cell_padding.x)
      ),
      body: chunk.map(({ cells }) => cells)
    },
    layout: layoutOf(
      drawing,
      0,
      chunk.map((row, at) => row.goes_on || (totals === undefined && at === chunk.length - 1))
    )
  }
  const stack: Array<Content> = totals === undefined ? [inner] : [inner, totalsDefinition(drawing, totals, width)]
  return [{ stack, colSpan: table.columns.length }, ...table.columns.slice(1).map(() => ({ text: "" }))]
}

/** Lines below rows, except rows that continue; a thicker one below the head. */
const layoutOf = (drawing: Drawing, head: number, goes_on: ReadonlyArray<boolean>): CustomTableLayout => ({
  hLineWidth: (line) =>
    line < head || line === 0 || goes_on[line - head - 1] === true ? 0 : line === head ? 0.9 : 0.4,
  hLineColor: (line) => (line === head ? drawing.accent : colours.line),
  vLineWidth: () => 0,
  paddingLeft: () => 0,
  paddingRight: () => 0,
  paddingTop: () => 0,
  paddingBottom: () => 0
})

/** Totals, at the right, or left in right-to-left documents; emphasised ones below a thicker line. */
export const totalsDefinition = (drawing: Drawing, totals: Totals, width: number): Content => {
  const own = Math.min(width, Math.max(width * 0.46, 180))
  const cellsOf = ({ label, strong, value }: Totals["rows"][number]): Array<TableCell> => {
    const look = strong === true ? { bold: true, fontSize: sizes.body + 1.5, color: drawing.accent } : {}
    const margin: [number, number, number, number] = [cell_padding.x, cell_padding.y, cell_padding.x, cell_padding.y]
    return visual(drawing, [
      { text: inlineText(drawing, label), alignment: alignmentOf(drawing, "start"), margin, ...look },
      { text: inlineText(drawing, value), alignment: alignmentOf(drawing, "end"), margin, ...look }
    ])
  }
  const is_strong = (row: number): boolean => totals.rows[row]?.strong === true
  const table: Column = {
    table: {
      dontBreakRows: true,
      widths: visual(drawing, [own * 0.55, own * 0.45]),
      body: totals.rows.length === 0 ? [[{ text: "" }, { text: "" }]] : totals.rows.map(cellsOf)
    },
    layout: {
      ...layoutOf(drawing, 0, []),
      hLineWidth: (line) => (is_strong(line) ? 0.9 : line === 0 || is_strong(line - 1) ? 0 : 0.4),
      hLineColor: (line) => (is_strong(line) ? drawing.accent : colours.line)
    },
    width: own
  }
  const gap: Column = { text: "", width: "*" }
  const placed: Content = { columns: drawing.is_rtl ? [table, gap] : [gap, table], margin: [0, 8, 0, 10] }
  return totals.rows.length <= 20 ? { stack: [placed], unbreakable: true } : placed
}
