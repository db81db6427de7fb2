/** Reads rows from CSV as spreadsheets write it, in any of their separators and encodings, or from JSON. */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { readFile, stat } from "node:fs/promises"
import { Readable } from "node:stream"
import { type Info, parse } from "csv-parse"
import { parseJson, TooDeep } from "../../../core/kernel/body-limits.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import { CliError, exit_codes, usageError } from "../../exit-codes.ts"
import { isRows } from "../../answers.ts"
import { bytesOf } from "../../line-reader.ts"
import { standardInput } from "../../input.ts"
import { restoreCell } from "../../output/csv.ts"

export interface SourceRow {
  /** 1 for the first row below the heading. */
  readonly row: number
  /** The line of the file the row ends on. */
  readonly line: number | undefined
  readonly cells: JsonObject
  /** Why the row cannot be read; its cells are empty then. */
  readonly broken?: string
  /** The cells of a row that has more of them than the heading. */
  readonly broken_cells?: ReadonlyArray<string>
}
export interface Source {
  /** Hash of the content: an interrupted import continues only with the same file. */
  readonly hash: string
  readonly total_bytes: number
  /** Columns of a CSV; undefined for JSON, whose rows name their own. */
  readonly headers: ReadonlyArray<string> | undefined
  /** Numbers in it have a decimal comma. */
  readonly comma_decimals: boolean
  /** Between the cells of a CSV. */
  readonly separator: string
  /** Cells are taken as they are. */
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
  const start = decode(head, encoding).replace(/^\ufeff/, "")
  const notes = encoding === "utf-8" ? [] : [`The file is read as ${encoding}.`]
  if (/^\s*[[{]/.test(start)) {
    const text = decode(piped ?? (await readFile(file)), encoding).replace(/^\ufeff/, "")
    const rows = jsonRows(text)
    return {
      hash,
      total_bytes: bytes,
      headers: undefined,
      comma_decimals: false,
      separator: ",",
      raw,
      notes,
      rows: async function* () {
        yield* rows
      }
    }
  }
  const separator =
    delimiter === undefined ? separatorIn(start) : delimiter === "tab" || delimiter === "\\t" ? "\t" : delimiter
  const headers = await headersOf(decoded(open(), encoding), separator)
  return {
    hash,
    total_bytes: bytes,
    headers,
    comma_decimals: separator === ";",
    separator,
    raw,
    notes,
    rows: () => csvRows(decoded(open(), encoding), separator, headers, raw ? (cell) => cell : restoreCell)
  }
}

type Encoding = "utf-8" | "utf-16le" | "windows-1252"
const decode = (bytes: Uint8Array, encoding: Encoding): string =>
  new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)
const head_bytes = 65_536

/** One pass over the file: its hash, its size, and whether it is UTF-8 (old spreadsheets write Windows-1252). */
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

/** The separator the heading uses most, quoted text aside. */
export const separatorIn = (start: string): string => {
  const heading = /^(?:"(?:[^"]|"")*"|[^\r\n"])*/.exec(start)?.[0] ?? ""
  const bare = heading.replace(/"(?:[^"]|"")*"/g, "")
  const counts = [",", ";", "\t", "|"]
    .map((one) => [bare.split(one).length - 1, one] as const)
    .sort(([a], [b]) => b - a)
  const [most] = counts
  return most === undefined || most[0] === 0 ? "," : most[1]
}

const parserOf = (
  stream: Readable,
  separator: string
): AsyncIterable<{ readonly record: ReadonlyArray<string>; readonly info: Info }> =>
  stream.pipe(
    parse({
      bom: true,
      delimiter: separator,
      relax_column_count: true,
      skip_empty_lines: true,
      info: true,
      max_record_size: 4_000_000
    })
  )

const headersOf = async (stream: Readable, separator: string): Promise<ReadonlyArray<string>> => {
  for await (const { record } of readable(parserOf(stream, separator))) {
    const headers = record.map((name) => name.trim())
    stream.destroy()
    const twice = headers.find((name, at) => name !== "" && headers.indexOf(name) !== at)
    if (twice !== undefined)
      throw new CliError(exit_codes.invalid, `Two columns are called ${JSON.stringify(twice)}; rename one.`)
    return headers
  }
  throw new CliError(exit_codes.invalid, "The file has no heading.")
}

/** `read` gives a cell its value back: exports put an apostrophe before what a spreadsheet would run as a formula. */
async function* csvRows(
  stream: Readable,
  separator: string,
  headers: ReadonlyArray<string>,
  read: (cell: string) => string
): AsyncGenerator<SourceRow> {
  let row = -1
  for await (const { record, info } of readable(parserOf(stream, separator))) {
    row++
    if (row === 0) continue
    if (record.every((cell) => cell.trim() === "")) {
      row--
      continue
    }
    const extra = record.slice(headers.length).some((cell) => cell.trim() !== "")
    yield {
      row,
      line: info.lines,
      ...(extra
        ? {
            broken: `The row has ${record.length} cells, the heading ${headers.length}: is a separator not quoted?`,
            broken_cells: record
          }
        : {}),
      cells: extra
        ? {}
        : Object.fromEntries(headers.flatMap((name, at) => (name === "" ? [] : [[name, read(record[at] ?? "")]])))
    }
  }
}
/** Turns errors of the CSV parser into errors that name the line. */
async function* readable<A>(records: AsyncIterable<A>): AsyncGenerator<A> {
  try {
    yield* records
  } catch (error) {
    if (error instanceof Error && "code" in error && String(error.code).startsWith("CSV_")) {
      throw new CliError(exit_codes.invalid, `The CSV cannot be read: ${error.message}.`, {
        cause: error,
        way_out: "A quotation mark inside a quoted cell is written twice."
      })
    }
    throw error
  }
}

/** An array, an object with one (`{"rows": […]}`, `{"products": […]}`), or a JSON value per line. */
const jsonRows = (text: string): ReadonlyArray<SourceRow> => {
  const found = wholeJson(text) ?? linesOfJson(text)
  return found.map((one, at): SourceRow =>
    isJsonObject(one)
      ? { row: at + 1, line: undefined, cells: one }
      : { row: at + 1, line: undefined, cells: {}, broken: "The row is no object of columns." }
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
  const inner = isJsonObject(whole) ? Object.values(whole).find(isRows) : undefined
  return inner !== undefined && isJsonObject(whole) && !Object.hasOwn(whole, "name") && !Object.hasOwn(whole, "sku")
    ? inner
    : [whole]
}
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
