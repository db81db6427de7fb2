/** Maps the columns of a file to those of the API: names, templates, constants, units. */
import { countries } from "../../../../core/values/country.ts"
import { foldForSearch } from "../../../../core/kernel/store/search-index.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { cellsFor } from "../../../../core/values/csv.ts"
import type { Source, SourceRow } from "./source.ts"
import { exact } from "../../../../core/values/decimal.ts"
import { columnName, type Columns, namedIn } from "../../../../core/imports/rows.ts"
import { isJsonObject, parseJson, type Json, type JsonObject } from "../../../../core/kernel/index.ts"
import { fieldOf, headOf, placesIn, type Told, withParts } from "./parts.ts"

// Formats of numbers, dates and country names by locale.

interface Writing {
  readonly locale: string | undefined
  readonly comma_decimals: boolean
  /** Order of day, month and year, such as `dmy`; undefined without a locale. */
  readonly date_order: string | undefined
}

/** Formats of a locale. Without one the delimiter decides on decimal commas, and dates are left unchanged. */
export const writingOf = (locale: string | undefined, comma_decimals: boolean): Writing => {
  if (locale === undefined) return { locale, comma_decimals, date_order: undefined }
  try {
    const parts = new Intl.NumberFormat(locale).formatToParts(1.5)
    const of_date = new Intl.DateTimeFormat(locale, { day: "numeric", month: "numeric", year: "numeric" })
    return {
      locale,
      comma_decimals: parts.some(({ type, value }) => type === "decimal" && value === ","),
      date_order: of_date
        .formatToParts(0)
        .flatMap(({ type }) => (["day", "month", "year"].includes(type) ? [type.slice(0, 1)] : []))
        .join("")
    }
  } catch {
    throw usageError(`--locale ${JSON.stringify(locale)} is no locale.`, "Such as --locale de, fr-CH or en-US.")
  }
}

/** Converts `31.12.2026`, in the locale's order, to `2026-12-31`; undefined for other texts, and without a locale. */
export const dateWritten = (text: string, { date_order }: Writing): string | undefined => {
  const parts = /^(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})$/.exec(text)?.slice(1)
  if (parts === undefined || date_order === undefined) return undefined
  const [year = "", month = "", day = ""] = ["y", "m", "d"].map((one) => parts[date_order.indexOf(one)])
  return year.length === 4 ? `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}` : undefined
}

const languages = ["en", "de", "fr", "es", "it", "nl"]
const codes = new Map<string, string>()
/** Country code for a name in a common language or the locale's; undefined if unknown. */
const countryNamed = (text: string, { locale }: Writing): string | undefined => {
  if (codes.size === 0)
    for (const language of [...languages, ...(locale === undefined ? [] : [locale])]) {
      const names = new Intl.DisplayNames(language, { type: "region", fallback: "none" })
      for (const { code } of countries) codes.set(foldForSearch(names.of(code) ?? code), code)
    }
  return codes.get(foldForSearch(text))
}

// Writes rejected rows with reasons, in the format of the imported file.

/** Name of the column with reasons; imports ignore it. */
const reason_column = "refused_because"

/** Writer of rejected rows; undefined without a file. `going_on` appends to the file of an interrupted import. */
export const refusedRows = (
  file: string | undefined,
  { headers, separator, raw }: Source,
  going_on: boolean
): ((row: SourceRow, reasons: string) => void) | undefined => {
  if (file === undefined) return undefined
  const cells = cellsFor(raw)
  const line = (values: ReadonlyArray<string>): string =>
    `${values
      .map((value) => (/["\r\n]/.test(value) || value.includes(separator) ? `"${value.replaceAll('"', '""')}"` : value))
      .join(separator)}\n`
  const columns = headers?.filter((header) => header !== "" && header !== reason_column)
  if (!going_on || !existsSync(file))
    // Byte order mark, by which spreadsheets detect UTF-8.
    writeFileSync(file, columns === undefined ? "" : `\ufeff${line([...columns, reason_column])}`)
  return ({ cells: row, broken_text }, reasons) =>
    appendFileSync(
      file,
      columns === undefined
        ? `${JSON.stringify({ ...row, [reason_column]: reasons })}\n`
        : broken_text === undefined
          ? line([...columns.map((column) => cells.of(row[column])), cells.of(reasons)])
          : `${broken_text}${separator}${line([reasons])}`
    )
}

// Number formats of other systems: units in the header, currency signs, decimal commas.

const in_minutes = { min: "1", mins: "1", minutes: "1", h: "60", hrs: "60", hours: "60", d: "1440", days: "1440" }
/** Factors from units to the API's: kilograms for weights, minutes for times. */
const factors: { readonly [column: string]: { readonly [unit: string]: string } } = {
  weight: {
    kg: "1",
    kgs: "1",
    kilo: "1",
    g: "0.001",
    gram: "0.001",
    grams: "0.001",
    t: "1000",
    lb: "0.45359237",
    lbs: "0.45359237",
    oz: "0.028349523125"
  },
  buffer_before_minutes: in_minutes,
  post_rent_unavailability: in_minutes,
  buffer_percent: { "%": "1", percent: "1" }
}
const amounts = new Set(
  (
    "replacement_charge sub_rental_price purchase_price price credit_limit day_cost hour_cost " +
    "distance_cost flat_rate_cost"
  ).split(" ")
)
const minor_units = new Set(["pence", "p", "cents", "cent", "minor"])
const known_units = new Set([
  ...Object.values(factors).flatMap((units) => Object.keys(units)),
  ...minor_units,
  "£",
  "€",
  "$",
  "gbp",
  "eur",
  "usd"
])
const decimal_columns = new Set([...Object.keys(factors), ...amounts])

/** Splits a heading into column and unit: "Weight (kg)"; brackets without a known unit belong to the name. */
export const unitOf = (header: string): { readonly base: string; readonly unit: string | undefined } => {
  const [, base = header, written] = /^(.*?)\s*[([]\s*([^()[\]]+?)\s*[)\]]$/.exec(header) ?? []
  const unit = written?.toLowerCase()
  return unit === undefined || !known_units.has(unit) ? { base: header, unit: undefined } : { base, unit }
}

/** Converts a cell's number to the API's unit, as text; other texts are unchanged, for validation to reject. */
export const convert = (column: string, text: string, unit: string | undefined, comma_decimals: boolean): string => {
  if (!decimal_columns.has(column)) return text
  // A unit after the number (`1,2 kg`) overrides the heading's.
  const [, number = text, own] = /^\s*(-?[\d.,'\s\u00a0\u202f]*\d)\s*([a-z%]+)\.?\s*$/i.exec(text) ?? []
  const of_cell = own === undefined ? undefined : factors[column]?.[own.toLowerCase()]
  const plain = plainNumber(of_cell === undefined ? text : number, comma_decimals, amounts.has(column))
  if (plain === undefined) return text
  const factor = amounts.has(column)
    ? unit !== undefined && minor_units.has(unit)
      ? "0.01"
      : "1"
    : (of_cell ?? (unit === undefined ? "1" : factors[column]?.[unit]))
  if (factor === undefined || factor === "1") return plain
  const value = exact(plain).times(exact(factor))
  return column === "weight" ? value.toDecimalPlaces(4).toFixed() : value.toFixed()
}

/**
 * Number with digits and a point, from "1.234,50" with decimal commas or "£1,234.50" without; undefined for other
 * texts.
 */
const plainNumber = (text: string, comma_decimals: boolean, amount: boolean): string | undefined => {
  const bare = (
    amount ? text.replace(/^\s*(?:£|€|\$|GBP|EUR|USD)\s*|\s*(?:£|€|\$|GBP|EUR|USD)\s*$/gi, "") : text
  ).replace(/[\s\u00a0\u202f']/g, "")
  const western =
    comma_decimals && /^-?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?$/.test(bare)
      ? bare.replaceAll(".", "").replace(",", ".")
      : /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(bare)
        ? bare.replaceAll(",", "")
        : bare
  return /^-?\d+(\.\d+)?$/.test(western) ? western : undefined
}

interface Mapping {
  /** Columns or templates of the file, such as `{Manufacturer} {Model}`, by column of the import. */
  readonly sources: ReadonlyMap<string, string>
  /** Fixed values for every row, by column of the import. */
  readonly constants: ReadonlyMap<string, string>
}

/** Parses mappings. A comma only separates before a new `target=`: `name={Maker}, {Model},sku=Key`. */
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
/** Parses a mapping file: a JSON object, or lines of `target=Source` with `#` for comments. */
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

interface Mapper {
  readonly map: (cells: JsonObject) => JsonObject
  /** Columns of the file by field of the result, for naming faults. */
  readonly headings: (cells: JsonObject) => ReadonlyMap<string, string>
  /** Columns of the file that are not used. */
  readonly left_out: ReadonlyArray<string>
}

const holder = /\{([^{}]+)\}/g
/** Columns used by a source: itself, or those in a template's braces. */
const columnsIn = (source: string): ReadonlyArray<string> => {
  const named = [...source.matchAll(holder)].map(([, name = ""]) => name.trim())
  return named.length === 0 ? [source] : named
}

/**
 * Makes a mapper of rows. `headers` undefined: JSON rows with their own columns. With a mapping, other columns need the
 * exact name, as another system's "Type" is not ours.
 */
export const mapperFor = (
  mapping: Mapping,
  headers: ReadonlyArray<string> | undefined,
  columns: Columns,
  writing: Writing
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
      // For example "Weight (kg)": the column `weight`, in kilograms.
      const { base, unit } = unitOf(heading)
      const target = unit === undefined ? heading : base
      told.push({ target, heading, value: valued(target, value, unit, writing) })
    }
    for (const [target, source] of sources) {
      const value = filled(source, cells)
      const unit = source.includes("{") ? undefined : unitOf(source).unit
      if (value !== "") told.push({ target, heading: source, value: valued(target, value, unit, writing) })
    }
    for (const [target, value] of constants)
      told.push({
        target,
        heading: `--set ${target}`,
        value: valued(target, value, undefined, { ...writing, comma_decimals: false })
      })
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

/** Rejects mappings with columns that the file or the import lacks. */
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

/** Value of a source in a row: a cell, or a rendered template. */
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

/** Value of a cell for the API: parses JSON, lists of units, country names, dates of custom fields, and numbers. */
const valued = (target: string, value: Json, unit: string | undefined, writing: Writing): Json => {
  if (typeof value !== "string") return value
  const text = value.trim()
  const head = columnName(headOf(target))
  if (/^[[{]/.test(text))
    try {
      return parseJson(text)
    } catch {
      return value
    }
  if (head === "country" || target.trim().toLowerCase().endsWith(".country"))
    return countryNamed(text, writing) ?? value
  if (head === "custom_fields" || head === "cf") return dateWritten(text, writing) ?? value
  if (head === "stock" && writing.comma_decimals && /^\d{1,3}(\.\d{3})+$/.test(text)) return text.replaceAll(".", "")
  if (head === "stock" && text !== "" && !plain_count.test(text))
    return text
      .split(/[;,|\n]/)
      .map((one) => one.trim())
      .filter((one) => one !== "")
  return convert(
    head === "rate" ? columnName(target.slice(target.indexOf(".") + 1)) : head,
    value,
    unit,
    writing.comma_decimals
  )
}
/** Matches quantities such as "12" and "1,200"; "1001, 1002" and "A-1; A-2" are identifiers. */
const plain_count = /^-?\d{1,3}(,\d{3})*$|^-?\d+([.,]\d+)?$/
