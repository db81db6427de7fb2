/**
 * A document as a tree of blocks, for paper, page and mail; PDF and HTML are rendered from it. Texts are final
 * (formatted by format.ts), so that a stored document never changes.
 */
import { Result, Schema } from "effect"

const limited = (max: number): Schema.Codec<string> => Schema.String.check(Schema.isMaxLength(max))
const between = (least: number, most: number): Schema.Codec<number> =>
  Schema.Finite.check(Schema.isBetween({ minimum: least, maximum: most }))
const few = <S extends Schema.Top>(of: S, max: number) => Schema.Array(of).check(Schema.isMaxLength(max))
const optional = Schema.optionalKey

/** Limits in characters: of a line, and of long text such as terms and conditions. */
const line = limited(2_000)
const long = limited(100_000)
const share = between(0.01, 1_000)
const colour = Schema.String.check(Schema.isPattern(/^#[0-9a-f]{6}$/))
/** URL that readers may open: web, mail or telephone, no scripts or files. */
const address = Schema.String.check(Schema.isMaxLength(2_000), Schema.isPattern(/^(https?:\/\/|mailto:|tel:)[^\s]+$/i))

const run = Schema.Struct({
  text: long,
  bold: optional(Schema.Boolean),
  italic: optional(Schema.Boolean),
  link: optional(address)
})
/** Text in one style; `\n` begins a new line. */
export type Run = typeof run.Type
const runs = few(run, 1_000)

const alignment = Schema.Literals(["start", "center", "end"])
export type Alignment = typeof alignment.Type

/** A picture, by the hash of its content (supplied when rendering) or with its content. */
const picture = Schema.Union([
  Schema.Struct({ sha256: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)) }),
  Schema.Struct({
    mime_type: Schema.Literals(["image/png", "image/jpeg", "image/svg+xml"]),
    base64: limited(14_000_000)
  })
])
export type Picture = typeof picture.Type

const heading = Schema.Struct({ kind: Schema.Literal("heading"), level: Schema.Literals([1, 2, 3]), text: line })
const paragraph = Schema.Struct({
  kind: Schema.Literal("paragraph"),
  runs,
  alignment: optional(alignment),
  small: optional(Schema.Boolean)
})
const key_values = Schema.Struct({
  kind: Schema.Literal("key_values"),
  rows: few(Schema.Struct({ label: line, value: long }), 1_000)
})

const symbology = Schema.Literals(["qr", "code128"])
/** Content of a code, 1 to 1,000 characters. */
const coded = limited(1_000).check(Schema.isMinLength(1))
const fitsItsCode = Schema.makeFilter(
  ({ symbology: kind, value }: { readonly symbology: string; readonly value: string }) =>
    kind === "code128" && !/^[\u0020-\u007e]{1,80}$/.test(value)
      ? "Code 128 holds 1 to 80 printable ASCII characters"
      : undefined
)
const cell_code = Schema.Struct({ symbology, value: coded }).check(fitsItsCode)
export type CellCode = typeof cell_code.Type

const column = Schema.Struct({
  /** Title; empty for columns without one, such as tick boxes. */
  title: line,
  /** Width of the column relative to the others. */
  share,
  alignment: optional(alignment)
})
export type Column = typeof column.Type
const cell = Schema.Struct({
  runs,
  /** Small text below, such as a description or serial number. */
  note: optional(long),
  /** Box before the text to tick by hand; true if ticked already. */
  tick: optional(Schema.Boolean),
  /** Code for scanners below the text, at most as wide as its column, with its value as text. */
  code: optional(cell_code)
})
export type Cell = typeof cell.Type
const row = Schema.Struct({
  kind: Schema.Literal("row"),
  cells: few(cell, 20),
  /** Indentation of the first cell, for rows that belong to the one above, such as accessories. */
  depth: optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8 })))
})
export type Row = typeof row.Type
/** A heading row over all columns, with a value at its end, such as a sum. */
const group = Schema.Struct({
  kind: Schema.Literal("group"),
  text: line,
  value: optional(line),
  /** Whether the rows up to the next group stay on one page if they fit, such as the contents of a case. */
  together: optional(Schema.Boolean)
})
export type Group = typeof group.Type
const table = Schema.Struct({
  kind: Schema.Literal("table"),
  /** Accessible description of the table. */
  caption: optional(line),
  columns: few(column, 20),
  rows: few(Schema.Union([row, group]), 20_000),
  /** Whether every other row is tinted. */
  striped: optional(Schema.Boolean)
})
export type Table = typeof table.Type
/** Sums. Directly after a table they stay on a page with its last rows. */
const totals = Schema.Struct({
  kind: Schema.Literal("totals"),
  rows: few(Schema.Struct({ label: line, value: line, strong: optional(Schema.Boolean) }), 200)
})
export type Totals = typeof totals.Type

const image = Schema.Struct({
  kind: Schema.Literal("image"),
  picture,
  /** Alternative text; empty for decoration. */
  alt: line,
  width_mm: between(1, 400),
  height_max_mm: optional(between(1, 400)),
  alignment: optional(alignment)
})
export type Image = typeof image.Type
const code = Schema.Struct({
  kind: Schema.Literal("code"),
  /** Kind of code: QR holds any text, also of several lines; Code 128 one line of ASCII. */
  symbology,
  value: coded,
  caption: optional(line),
  width_mm: optional(between(10, 150)),
  alignment: optional(alignment)
}).check(fitsItsCode)
export type Code = typeof code.Type
const signature = Schema.Struct({
  kind: Schema.Literal("signature"),
  /** Role of the signatory. */
  label: line,
  name: optional(line),
  date: optional(line),
  drawn: optional(picture)
})
export type Signature = typeof signature.Type
const spacer = Schema.Struct({ kind: Schema.Literal("spacer"), height_mm: between(0, 200) })
const page_break = Schema.Struct({ kind: Schema.Literal("page_break") })

/** Blocks side by side. */
export interface Columns {
  readonly kind: "columns"
  readonly columns: ReadonlyArray<{ readonly share: number; readonly blocks: ReadonlyArray<Block> }>
}
/** Blocks that stay on one page. */
interface Together {
  readonly kind: "together"
  readonly blocks: ReadonlyArray<Block>
}
const flat = [heading, paragraph, key_values, table, totals, image, code, signature, spacer, page_break] as const
export type Block = (typeof flat)[number]["Type"] | Columns | Together

const columns: Schema.Codec<Columns> = Schema.Struct({
  kind: Schema.Literal("columns"),
  columns: few(Schema.Struct({ share, blocks: Schema.suspend(() => blocks) }), 6)
})
const together: Schema.Codec<Together> = Schema.Struct({
  kind: Schema.Literal("together"),
  blocks: Schema.suspend(() => blocks)
})
const block: Schema.Codec<Block> = Schema.Union([...flat, columns, together])
const blocks: Schema.Codec<ReadonlyArray<Block>> = few(block, 5_000)

const margin = between(5, 80)
const page = Schema.Struct({
  size: Schema.Literals(["A4", "LETTER"]),
  landscape: optional(Schema.Boolean),
  margins_mm: optional(Schema.Struct({ top: margin, right: margin, bottom: margin, left: margin }))
})
export type Page = typeof page.Type

const document = Schema.Struct({
  format: Schema.Literal("flightcase.document"),
  /** Version of rendering: 1 has no tags, so that old files stay equal; 2 is tagged for screen readers. */
  version: Schema.Literals([1, 2]),
  title: line,
  /** Language by BCP 47, such as `en` or `de-CH`, for pronunciation and the direction of text. */
  language: Schema.String.check(Schema.isPattern(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/)),
  author: optional(line),
  /** Time its content was fixed, which is the file's date; ISO 8601 in UTC. */
  dated_at: Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/)),
  page,
  /** Text at the start and end of each page's top. */
  header: optional(Schema.Struct({ start: optional(runs), end: optional(runs) })),
  footer: optional(
    Schema.Struct({
      lines: optional(few(line, 6)),
      /** Page numbers: `{page}` and `{pages}` are replaced in "Page {page} of {pages}". */
      page_label: optional(limited(200))
    })
  ),
  /** Watermark on each page; it can be searched and copied as text. */
  watermark: optional(Schema.Literals(["DRAFT", "VOID"])),
  /** Color of headings and lines. */
  accent: optional(colour),
  blocks
})
export type PrintDocument = typeof document.Type

/** Maximum nesting of blocks. */
const depth_max = 5
const depthOf = (of: ReadonlyArray<Block>): number =>
  of.reduce((deepest, one) => {
    if (one.kind === "together") return Math.max(deepest, 1 + depthOf(one.blocks))
    if (one.kind !== "columns") return deepest
    return Math.max(deepest, ...one.columns.map((part) => 1 + depthOf(part.blocks)))
  }, 1)
/** Whether JSON is nested at most `left` levels deep, as decoding a recursive schema could exhaust the stack. */
const isShallow = (value: unknown, left: number): boolean =>
  typeof value !== "object" ||
  value === null ||
  (left > 0 && Object.values(value).every((one) => isShallow(one, left - 1)))

const decoded = Schema.decodeUnknownResult(document, { errors: "first" })

/** Parses a stored document. Failures name the invalid part. */
export const readDocument = (value: unknown): Result.Result<PrintDocument, string> => {
  if (!isShallow(value, 40)) return Result.fail("The document is nested too deeply.")
  return Result.flatMap(Result.mapError(decoded(value), String), (read) => {
    if (depthOf(read.blocks) > depth_max) return Result.fail(`Blocks lie more than ${depth_max} deep.`)
    const uneven = unevenTable(read.blocks)
    return uneven === undefined ? Result.succeed(read) : Result.fail(uneven)
  })
}
/** Error of the first table without columns, or with a row of another number of cells; undefined if there is none. */
const unevenTable = (of: ReadonlyArray<Block>): string | undefined => {
  for (const one of of) {
    const inner =
      one.kind === "together" ? one.blocks : one.kind === "columns" ? one.columns.flatMap((part) => part.blocks) : []
    const found = unevenTable(inner)
    if (found !== undefined) return found
    if (one.kind !== "table") continue
    if (one.columns.length === 0) return "A table has no columns."
    const at = one.rows.findIndex((line) => line.kind === "row" && line.cells.length !== one.columns.length)
    if (at >= 0) return `Row ${at + 1} of a table has other cells than its ${one.columns.length} columns.`
  }
  return undefined
}

/** Hashes of pictures that a document refers to, without duplicates. */
export const picturesOf = (of: ReadonlyArray<Block>): ReadonlyArray<string> => {
  const named = (one: Block): ReadonlyArray<string> => {
    if (one.kind === "together") return picturesOf(one.blocks)
    if (one.kind === "columns") return one.columns.flatMap((part) => picturesOf(part.blocks))
    const shown = one.kind === "image" ? one.picture : one.kind === "signature" ? one.drawn : undefined
    return shown !== undefined && "sha256" in shown ? [shown.sha256] : []
  }
  return [...new Set(of.flatMap(named))]
}

const right_to_left = new Set(["ar", "he", "fa", "ur", "ps", "yi", "dv", "ckb", "ug", "sd"])
export const isRightToLeft = (language: string): boolean => right_to_left.has(language.split("-")[0] ?? "")

/** Runs of a text in one style, for cells and paragraphs. */
export const plain = (text: string): ReadonlyArray<Run> => [{ text }]
