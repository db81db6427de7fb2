/** Reads rows from CSV, in any separator and encoding of spreadsheets, or from JSON. */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { readFile, stat } from "node:fs/promises"
import { Readable } from "node:stream"
import { CsvError, parse } from "csv-parse"
import { foldCase, isJsonObject, parseJson, TooDeep } from "../../../../core/kernel/index.ts"
import type { Json, JsonObject } from "../../../../core/kernel/index.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { eachOf } from "../../../context/codes.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { isRows } from "../../../base/answers.ts"
import { bytesOf } from "../../../base/line-reader.ts"
import { standardInput } from "../../../base/input.ts"
import { restoreCell } from "../../../../core/values/csv.ts"

export interface SourceRow {
  /** Number of the row, from 1 below the header. */
  readonly row: number
  /** Last line of the row in the file; undefined for JSON. */
  readonly line: number | undefined
  readonly cells: JsonObject
  /** Reason the row cannot be read or sent; absent if it can. */
  readonly broken?: string
  /** Column with the fault, if known. */
  readonly broken_column?: string
  /** Text of the CSV row without line end, if its cells are unclear. */
  readonly broken_text?: string
}
export interface Source {
  /** Hash of the content, as an interrupted import resumes only with the same file. */
  readonly hash: string
  /** Columns of a CSV; undefined for JSON, whose rows name their own. */
  readonly headers: ReadonlyArray<string> | undefined
  /** Whether numbers have decimal commas. */
  readonly comma_decimals: boolean
  /** Separator of cells. */
  readonly separator: string
  /** Whether cells are left as they are, without removing apostrophes before formulas. */
  readonly raw: boolean
  readonly notes: ReadonlyArray<string>
  readonly rows: () => AsyncGenerator<SourceRow>
}

export const openSource = async (file: string, delimiter: string | undefined, raw = false): Promise<Source> => {
  const piped = file === "-" ? Buffer.from(await standardInput(), "utf8") : undefined
  if (piped === undefined && (await stat(file)).isDirectory()) throw usageError(`${file} is a folder.`)
  const open = (): Readable => (piped === undefined ? createReadStream(file) : Readable.from([piped]))
  const { hash, bytes, encoding, head } = await examine(open())
  if (bytes === 0) throw new CliError(exit_codes.invalid, `${file === "-" ? "Standard input" : file} is empty.`)
  if (isWorkbook(head))
    throw new CliError(exit_codes.invalid, `${file} is a workbook of Excel or another spreadsheet program.`, {
      way_out: "Save its sheet as CSV (UTF-8), and import that."
    })
  const start = decode(head, encoding).replace(/^\ufeff/, "")
  const notes = encoding === "utf-8" ? [] : [`The file is read as ${encoding}.`]
  if (/^\s*[[{]/.test(start)) {
    const text = decode(piped ?? (await readFile(file)), encoding).replace(/^\ufeff/, "")
    const rows = jsonRows(text)
    return { hash, headers: undefined, comma_decimals: false, separator: ",", raw, notes, rows: () => eachOf(rows) }
  }
  const separator = delimiter === undefined ? separatorIn(start) : givenSeparator(delimiter)
  const headers = await headersOf(decoded(open(), encoding), separator)
  return {
    hash,
    headers,
    comma_decimals: separator === ";",
    separator,
    raw,
    notes,
    rows: () => csvRows(decoded(open(), encoding), separator, headers, raw ? (cell) => cell : restoreCell)
  }
}

/** First bytes of .xlsx and .ods files, which are ZIP archives, and of .xls files. */
const workbooks = ["504b0304", "d0cf11e0"]
const isWorkbook = (head: Uint8Array): boolean => workbooks.includes(Buffer.from(head.subarray(0, 4)).toString("hex"))

type Encoding = "utf-8" | "utf-16le" | "windows-1252"
const decode = (bytes: Uint8Array, encoding: Encoding): string =>
  new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)
const head_bytes = 65_536

/** Reads the file once for its hash, size, first bytes and encoding (old spreadsheets write Windows-1252). */
const examine = async (
  stream: Readable
): Promise<{
  readonly hash: string
  readonly bytes: number
  readonly encoding: Encoding
  readonly head: Uint8Array
}> => {
  const hash = createHash("sha256")
  const strict = new TextDecoder("utf-8", { fatal: true })
  let bytes = 0
  let valid = true
  const head: Array<Uint8Array> = []
  for await (const part of bytesOf(stream)) {
    hash.update(part)
    if (bytes < head_bytes) head.push(part)
    bytes += part.length
    try {
      if (valid) strict.decode(part, { stream: true })
    } catch {
      valid = false
    }
  }
  try {
    if (valid) strict.decode()
  } catch {
    valid = false
  }
  const start = Buffer.concat(head)
  const wide = start[0] === 0xff && start[1] === 0xfe
  return {
    hash: hash.digest("hex"),
    bytes,
    encoding: wide ? "utf-16le" : valid ? "utf-8" : "windows-1252",
    head: start
  }
}
async function* decodedText(stream: Readable, encoding: Encoding): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding)
  for await (const part of bytesOf(stream)) yield decoder.decode(part, { stream: true })
  yield decoder.decode()
}
const decoded = (stream: Readable, encoding: Encoding): Readable => Readable.from(decodedText(stream, encoding))

const givenSeparator = (delimiter: string): string => {
  const sign = delimiter === "tab" || delimiter === "\\t" ? "\t" : delimiter
  if (!/^[\t -~]$/.test(sign) || sign === '"') throw usageError("--delimiter is one sign, such as ; or |, or tab.")
  return sign
}
/** Separator of a CSV: the most frequent one in the header, outside quotes. */
export const separatorIn = (start: string): string => {
  const heading = /^(?:"(?:[^"]|"")*"|[^\r\n"])*/.exec(start)?.[0] ?? ""
  const bare = heading.replace(/"(?:[^"]|"")*"/g, "")
  const counts = [",", ";", "\t", "|"]
    .map((one) => [bare.split(one).length - 1, one] as const)
    .sort(([a], [b]) => b - a)
  const [most] = counts
  return most === undefined || most[0] === 0 ? "," : most[1]
}

/** Maximum length of a row; longer ones have an open quote, which would read the whole file into memory. */
const record_max_bytes = 32_000_000

interface CsvRecord {
  readonly record: ReadonlyArray<string>
  /** Text of the record, with empty lines before it and its line end. */
  readonly raw: string
}
/**
 * Parses CSV records. A quote inside an unquoted cell is text (`24" Truss`), as in spreadsheets. Errors are reported
 * with their line.
 */
async function* recordsIn(stream: Readable, separator: string): AsyncGenerator<CsvRecord> {
  let lines = 0
  const parser: AsyncIterable<CsvRecord> = stream.pipe(
    parse({
      bom: true,
      delimiter: separator,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      raw: true,
      max_record_size: record_max_bytes,
      // The parser's error has only an end; the row starts after the last complete record.
      on_record: (read) => {
        lines += lineEndsIn(rawIn(read))
        return read
      }
    })
  )
  try {
    yield* parser
  } catch (error) {
    if (error instanceof CsvError) throw unreadableFrom(lines + 1, error)
    throw error
  }
}
/** Text of a record: the parser's types lack its option `raw`. */
const rawIn = (read: object): string => ("raw" in read && typeof read.raw === "string" ? read.raw : "")
const unreadableFrom = (line: number, error: CsvError): CliError =>
  new CliError(
    exit_codes.invalid,
    `The CSV cannot be read from line ${line} on: ${
      error.code === "CSV_QUOTE_NOT_CLOSED"
        ? "a quotation mark there is not closed"
        : error.code === "CSV_MAX_RECORD_SIZE"
          ? `the row is longer than ${record_max_bytes} bytes`
          : error.message
    }.`,
    {
      cause: error,
      way_out: "Close each quoted cell with a quotation mark; one inside a quoted cell is written twice."
    }
  )

/** Whether all quoted cells of a row end with their quote, as stray quotes merge cells. */
const wellQuoted = (separator: string): ((row: string) => boolean) => {
  const between = separator.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  const cell = `(?:"[^"]*(?:""[^"]*)*"|(?!")(?:[^${between}\\r\\n])*)`
  const whole = new RegExp(`^${cell}(?:${between}${cell})*$`)
  return (row) => whole.test(row)
}
/** Whether a parsed cell still begins with a quote, as after a stray one. */
const isDoubtful = (record: ReadonlyArray<string>): boolean => record.some((cell) => cell.startsWith('"'))
/** Counts line ends in a text, as the parser counts a CRLF inside quotes twice. */
const lineEndsIn = (text: string): number => text.match(/\r\n|\r|\n/g)?.length ?? 0

const headersOf = async (stream: Readable, separator: string): Promise<ReadonlyArray<string>> => {
  for await (const read of recordsIn(stream, separator)) {
    const headers = read.record.map((name) => name.trim())
    stream.destroy()
    if (isDoubtful(read.record) && !wellQuoted(separator)(read.raw.trim()))
      throw new CliError(exit_codes.invalid, `The heading cannot be read. ${stray_quote}`)
    const twice = headers.find((name, at) => name !== "" && headers.indexOf(name) !== at)
    if (twice !== undefined)
      throw new CliError(exit_codes.invalid, `Two columns are called ${JSON.stringify(twice)}; rename one.`)
    return headers
  }
  throw new CliError(exit_codes.invalid, "The file has no heading.")
}
const stray_quote =
  "A quoted cell goes on behind its closing quotation mark: inside a quoted cell a quotation mark is written twice."

/** Rows of a CSV. `read` unescapes a cell: exports put an apostrophe before formulas. */
async function* csvRows(
  stream: Readable,
  separator: string,
  headers: ReadonlyArray<string>,
  read: (cell: string) => string
): AsyncGenerator<SourceRow> {
  const isWellQuoted = wellQuoted(separator)
  let row = -1
  let line_before = 0
  for await (const one of recordsIn(stream, separator)) {
    const { record } = one
    const [, empty = "", text = ""] = /^([\r\n]*)([^]*?)[\r\n]*$/.exec(one.raw) ?? []
    const from = line_before + lineEndsIn(empty) + 1
    const line = from + lineEndsIn(text)
    line_before += lineEndsIn(one.raw)
    row++
    if (row === 0) continue
    if (record.every((cell) => cell.trim() === "")) {
      row--
      continue
    }
    const lines = from === line ? "" : `Lines ${from} to ${line} are read as one row. `
    const broken =
      isDoubtful(record) && !isWellQuoted(text)
        ? `${lines}${stray_quote}`
        : record.slice(headers.length).some((cell) => cell.trim() !== "")
          ? `The row has ${record.length} cells, the heading ${headers.length}: is a separator not quoted?`
          : undefined
    yield {
      row,
      line,
      ...(broken === undefined ? {} : { broken, broken_text: text }),
      cells:
        broken === undefined
          ? Object.fromEntries(headers.flatMap((name, at) => (name === "" ? [] : [[name, read(record[at] ?? "")]])))
          : {}
    }
  }
}

/** Rows of JSON: an array, an object with one (`{"rows": […]}`, `{"products": […]}`), or a value per line. */
const jsonRows = (text: string): ReadonlyArray<SourceRow> => {
  const found = wholeJson(text) ?? linesOfJson(text)
  return found.map((one, at): SourceRow =>
    isJsonObject(one)
      ? { row: at + 1, line: undefined, cells: one }
      : { row: at + 1, line: undefined, cells: {}, broken: "The row must be an object of columns." }
  )
}
const wholeJson = (text: string): ReadonlyArray<Json> | undefined => {
  let whole: Json
  try {
    whole = parseJson(text)
  } catch (error) {
    if (error instanceof TooDeep) throw new CliError(exit_codes.invalid, `The file cannot be read: ${error.message}.`)
    return undefined
  }
  if (Array.isArray(whole)) return whole
  const inner = isJsonObject(whole) ? rowsUnder(whole) : undefined
  return inner !== undefined && isJsonObject(whole) && !Object.hasOwn(whole, "name") && !Object.hasOwn(whole, "sku")
    ? inner
    : [whole]
}
/** The list in an object: with any content under the kind's name, else a list of objects. */
const rowsUnder = (whole: JsonObject): ReadonlyArray<Json> | undefined => {
  const named = ["rows", "products", "rates", "members"].map((name) => whole[name]).find(isList)
  return named ?? Object.values(whole).find(isRows)
}
const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)
const linesOfJson = (text: string): ReadonlyArray<Json> =>
  text.split("\n").flatMap((line, at): ReadonlyArray<Json> => {
    if (line.trim() === "") return []
    try {
      return [parseJson(line)]
    } catch (error) {
      throw new CliError(
        exit_codes.invalid,
        `Line ${at + 1} is no JSON: ${error instanceof Error ? error.message : String(error)}.`
      )
    }
  })

// Lists of other systems: headings in several spellings, rows that belong together.

type List = Source & { readonly headers: ReadonlyArray<string> }
/** The first of these headings that a file has, as it writes it; of a template all headings must be there. */
export const headingIn = (headers: ReadonlyArray<string>, candidates: ReadonlyArray<string>): string | undefined => {
  const written = (name: string): string | undefined =>
    headers.find((header) => foldCase(header.trim()) === foldCase(name.trim()))
  for (const candidate of candidates) {
    if (!candidate.includes("{")) {
      const heading = written(candidate)
      if (heading !== undefined) return heading
      continue
    }
    const parts = [...candidate.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => written(name))
    if (parts.every((part) => part !== undefined)) {
      let at = 0
      return candidate.replace(/\{[^{}]+\}/g, () => `{${parts[at++] ?? ""}}`)
    }
  }
  return undefined
}
export const cell = (cells: JsonObject, heading: string | undefined): string =>
  heading === undefined || cells[heading] === undefined || cells[heading] === null ? "" : String(cells[heading]).trim()

/** Opens a CSV list with its headings. Exit 2 for JSON, which has none. */
export const openList = async (file: string, flags: Flags): Promise<List> => {
  const source = await openSource(file, textFlag(flags, "delimiter"), flags.raw === true)
  if (source.headers === undefined) throw usageError(`${file} is JSON; lists of another system are CSV files.`)
  return { ...source, headers: source.headers }
}
export const rowsOf = async (source: Source): Promise<Array<SourceRow>> => {
  const rows: Array<SourceRow> = []
  for await (const row of source.rows()) rows.push(row)
  return rows
}

/** Rows of a list whose rows belong together, so that an unreadable one refuses the list. */
export const readableRows = async (source: Source, what: string): Promise<ReadonlyArray<SourceRow>> => {
  const rows = await rowsOf(source)
  const broken = rows.find((row) => row.broken !== undefined)
  if (broken !== undefined)
    throw usageError(`The list of ${what} cannot be read at line ${broken.line ?? broken.row}: ${broken.broken ?? ""}`)
  return rows
}
