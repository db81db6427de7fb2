/** Maps the columns of a file to those of the API: names, templates, constants, units. */
import { readFileSync } from "node:fs"
import { namedIn } from "../../../core/imports/cells.ts"
import { type Columns, columnName } from "../../../core/imports/rows.ts"
import { parseJson } from "../../../core/kernel/body-limits.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import { usageError } from "../../exit-codes.ts"
import { fieldOf, headOf, placesIn, type Told, withParts } from "./parts.ts"
import { reason_column } from "./refused.ts"
import { convert, unitOf } from "./units.ts"

export interface Mapping {
  /** Our column → a column of the file, or a template such as `{Manufacturer} {Model}`. */
  readonly sources: ReadonlyMap<string, string>
  /** Our column → the same value in every row. */
  readonly constants: ReadonlyMap<string, string>
}

/** A comma separates mappings only where a new `target=` begins: `name={Maker}, {Model},sku=Key`. */
export const readMapping = (
  maps: ReadonlyArray<string>,
  file: string | undefined,
  sets: ReadonlyArray<string>
): Mapping => {
  const sources = new Map<string, string>()
  for (const [target, source] of file === undefined ? [] : fileEntries(file)) sources.set(target, source)
  for (const part of maps.flatMap((text) => text.split(/,(?=\s*[A-Za-z_][\w. -]*=)/))) {
    const [target, source] = pair(part, "--map")
    sources.set(target, source)
  }
  return { sources, constants: new Map(sets.map((text) => pair(text, "--set"))) }
}
const pair = (text: string, flag: string): readonly [string, string] => {
  const at = text.indexOf("=")
  const [target, source] = [text.slice(0, at).trim(), text.slice(at + 1).trim()]
  if (at < 1 || target === "")
    throw usageError(
      `${flag} ${JSON.stringify(text)}: write column=${flag === "--map" ? "Column of the file" : "value"}.`
    )
  return [target, source]
}
/** A JSON object, or a line `target=Source` each; `#` begins a comment. */
const fileEntries = (file: string): ReadonlyArray<readonly [string, string]> => {
  const text = readFileSync(file, "utf8").replace(/^\ufeff/, "")
  if (/^\s*\{/.test(text)) {
    let parsed: Json
    try {
      parsed = parseJson(text)
    } catch (error) {
      throw usageError(`${file} is no JSON: ${error instanceof Error ? error.message : ""}`)
    }
    if (!isJsonObject(parsed) || !Object.values(parsed).every((one) => typeof one === "string"))
      throw usageError(`${file} must hold an object of column: "Column of the file".`)
    return Object.entries(parsed).map(([column, source]) => [column, String(source)])
  }
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "" && !line.trimStart().startsWith("#"))
    .map((line) => pair(line, "--map"))
}

export interface Mapper {
  readonly map: (cells: JsonObject) => JsonObject
  /** Fields as verdicts name them → the columns of the file that a row has them from. */
  readonly headings: (cells: JsonObject) => ReadonlyMap<string, string>
  /** Columns of the file that nothing takes. */
  readonly left_out: ReadonlyArray<string>
}

const holder = /\{([^{}]+)\}/g
/** The file's columns that a source names: itself, or those in braces of a template. */
const columnsIn = (source: string): ReadonlyArray<string> => {
  const named = [...source.matchAll(holder)].map(([, name = ""]) => name.trim())
  return named.length === 0 ? [source] : named
}

/**
 * `headers` undefined: the rows are JSON and name their own columns. Once anything is mapped, other columns come along
 * only when they are called exactly as one of ours: a foreign "Type" is not our type.
 */
export const mapperFor = (
  mapping: Mapping,
  headers: ReadonlyArray<string> | undefined,
  columns: Columns,
  comma_decimals: boolean
): Mapper => {
  checkMapping(mapping, headers, columns)
  const { sources, constants } = mapping
  const used = new Set([...sources.values()].flatMap(columnsIn))
  const comesAlong = (header: string): boolean =>
    header !== reason_column &&
    !used.has(header) &&
    !sources.has(header) &&
    !constants.has(header) &&
    (sources.size === 0 || columns.known.has(headOf(header)))
  const toldIn = (cells: JsonObject): ReadonlyArray<Told> => {
    const told: Array<Told> = []
    for (const [heading, value] of Object.entries(cells)) {
      if (!comesAlong(heading)) continue
      // "Weight (kg)" is our weight, in kilograms.
      const { base, unit } = unitOf(heading)
      const target = unit === undefined ? heading : base
      told.push({ target, heading, value: valued(target, value, unit, comma_decimals) })
    }
    for (const [target, source] of sources) {
      const value = filled(source, cells)
      const unit = source.includes("{") ? undefined : unitOf(source).unit
      if (value !== "") told.push({ target, heading: source, value: valued(target, value, unit, comma_decimals) })
    }
    for (const [target, value] of constants)
      told.push({ target, heading: `--set ${target}`, value: valued(target, value, undefined, false) })
    return told
  }
  return {
    map: (cells) => withParts(Object.fromEntries(toldIn(cells).map(({ target, value }) => [target, value]))),
    headings: (cells) => placesIn(toldIn(cells), columns),
    left_out:
      headers === undefined
        ? []
        : headers.filter((header) => !["", reason_column].includes(header) && !used.has(header) && !comesAlong(header))
  }
}

/** Refuses what the file or the import has no column for: the rows would come in without it. */
const checkMapping = (
  { sources, constants }: Mapping,
  headers: ReadonlyArray<string> | undefined,
  columns: Columns
): void => {
  const theirs = headers?.filter((one) => one !== "").join(", ")
  for (const [target, source] of sources) {
    const missing = columnsIn(source).find((name) => headers !== undefined && !headers.includes(name))
    if (missing !== undefined)
      throw usageError(
        `--map ${target}: the file has no column ${JSON.stringify(missing)}.`,
        `Its columns are: ${theirs}.`
      )
  }
  for (const [flag, named] of [
    ["--map", sources],
    ["--set", constants]
  ] as const)
    for (const [target, value] of named)
      if (!columns.known.has(fieldOf(target, columns)))
        throw usageError(
          `${flag} ${target}=${value}: there is no column ${target} to import into.`,
          `Write column=${flag === "--map" ? "Column of the file" : "value"}, where column is one of ` +
            `${[...columns.known].join(", ")}${
              flag === "--set" || theirs === undefined ? "" : `; the columns of the file are: ${theirs}`
            }.`
        )
}

/** The value of a source in a row: a cell, or a template filled in. */
const filled = (source: string, cells: JsonObject): Json => {
  if (!source.includes("{")) return namedIn(cells, source) ?? ""
  return source
    .replace(holder, (_, name: string) => {
      const value = namedIn(cells, name.trim())
      return value === undefined || value === null
        ? ""
        : typeof value === "object"
          ? JSON.stringify(value)
          : String(value)
    })
    .replace(/\s+/g, " ")
    .trim()
}

/** Cells that hold structures: JSON as it is, and the short forms spreadsheets can hold. */
const valued = (target: string, value: Json, unit: string | undefined, comma_decimals: boolean): Json => {
  if (typeof value !== "string") return value
  const text = value.trim()
  const head = columnName(headOf(target))
  if (/^[[{]/.test(text))
    try {
      return parseJson(text)
    } catch {
      return value
    }
  if (head === "stock" && text !== "" && !plain_count.test(text))
    return text
      .split(/[;,|\n]/)
      .map((one) => one.trim())
      .filter((one) => one !== "")
  return convert(
    head === "rate" ? columnName(target.slice(target.indexOf(".") + 1)) : head,
    value,
    unit,
    comma_decimals
  )
}
/** "12" and "1,200" are how many; "1001, 1002" and "A-1; A-2" are which. */
const plain_count = /^-?\d{1,3}(,\d{3})*$|^-?\d+([.,]\d+)?$/
