/** Maps the columns of a file to those of the API: names, templates, constants, units. */
import { readFileSync } from "node:fs"
import { parseJson } from "../../../core/kernel/body-limits.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import { usageError } from "../../exit-codes.ts"
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
  known: ReadonlySet<string>,
  comma_decimals: boolean
): Mapper => {
  const { sources, constants } = mapping
  if (headers !== undefined) {
    for (const [target, source] of sources) {
      const missing = columnsIn(source).find((name) => !headers.includes(name))
      if (missing !== undefined)
        throw usageError(
          `--map ${target}: the file has no column ${JSON.stringify(missing)}.`,
          `Its columns are: ${headers.filter((one) => one !== "").join(", ")}.`
        )
    }
  }
  const used = new Set([...sources.values()].flatMap(columnsIn))
  const comesAlong = (header: string): boolean =>
    header !== reason_column &&
    !used.has(header) &&
    !sources.has(header) &&
    !constants.has(header) &&
    (sources.size === 0 || known.has(headOf(header)))
  const map = (cells: JsonObject): JsonObject => {
    const out: { [column: string]: Json } = {}
    for (const [header, value] of Object.entries(cells)) {
      if (!comesAlong(header)) continue
      // "Weight (kg)" is our weight, in kilograms.
      const { base, unit } = unitOf(header)
      const target = unit === undefined ? header : base
      out[target] = valued(target, value, unit, comma_decimals)
    }
    for (const [target, source] of sources) {
      const value = filled(source, cells)
      if (value !== "")
        out[target] = valued(target, value, source.includes("{") ? undefined : unitOf(source).unit, comma_decimals)
    }
    for (const [target, value] of constants) out[target] = valued(target, value, undefined, false)
    return withParts(out)
  }
  return {
    map,
    left_out:
      headers === undefined
        ? []
        : headers.filter((header) => !["", reason_column].includes(header) && !used.has(header) && !comesAlong(header))
  }
}

/** The value of a source in a row: a cell, or a template filled in. */
const filled = (source: string, cells: JsonObject): Json => {
  if (!source.includes("{")) return cells[source] ?? ""
  return source
    .replace(holder, (_, name: string) => {
      const value = cells[name.trim()]
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
const columnName = (target: string): string =>
  (target.split(".")[0] ?? "")
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_")
/** "12" and "1,200" are how many; "1001, 1002" and "A-1; A-2" are which. */
const plain_count = /^-?\d{1,3}(,\d{3})*$|^-?\d+([.,]\d+)?$/

const isBlank = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === "string" && value.trim() === "")

interface Several {
  /** The part that the column by itself holds. */
  readonly main?: string
  /** Without this part there is none: a price list has gaps. */
  readonly needs?: string
}
/** Columns of which a row may have several: `rate2.price`, `email2`. */
const several: { readonly [head: string]: Several | undefined } = {
  rate: { needs: "price" },
  address: { main: "street" },
  email: { main: "address" },
  phone: { main: "number" },
  link: { main: "url" },
  contact: { main: "name" }
}
const numbered = new RegExp(`^(${Object.keys(several).join("|")})[\\s_]?(\\d*)(?:\\.(.+))?$`, "is")
/** Our column that a column of a row belongs to: `rate` of `rate2.price`, `stock` of `stock.North`. */
export const headOf = (column: string): string => {
  const head = column.split(".")[0] ?? ""
  return numbered.exec(head)?.[1]?.toLowerCase() ?? head
}

/** Columns of which a row has several, as lists; a column that stands for itself stays as it is. */
const withParts = (row: { readonly [column: string]: Json }): JsonObject => {
  const rest: { [column: string]: Json } = {}
  const found = new Map<string, Map<number, { [part: string]: Json }>>()
  const alone = new Map<string, Json>()
  for (const [column, value] of Object.entries(row)) {
    const [, head, number = "", part] = numbered.exec(column.trim()) ?? []
    const of = head === undefined ? undefined : several[head.toLowerCase()]
    if (head === undefined || of === undefined) rest[column] = value
    else if (isBlank(value)) continue
    else if (part === undefined && number === "" && (of.main === undefined || typeof value === "object"))
      alone.set(head.toLowerCase(), value)
    else {
      const slots = found.get(head.toLowerCase()) ?? new Map<number, { [part: string]: Json }>()
      const at = Number(number === "" ? 1 : number)
      slots.set(at, { ...slots.get(at), [part === undefined ? (of.main ?? "") : columnName(part)]: value })
      found.set(head.toLowerCase(), slots)
    }
  }
  for (const [head, slots] of found) {
    const { main = "", needs } = several[head] ?? {}
    const parts = [...slots]
      .sort(([one], [other]) => one - other)
      .map(([, part]) => part)
      .filter((part) => needs === undefined || part[needs] !== undefined)
      // By itself it may hold several between semicolons.
      .map((part) => (Object.keys(part).length === 1 ? (part[main] ?? part) : part))
    const others = alone.get(head)
    const all = [
      ...parts,
      ...(Array.isArray(others) ? (others as ReadonlyArray<Json>) : others === undefined ? [] : [others])
    ]
    if (all.length > 0) rest[head] = all
    alone.delete(head)
  }
  return { ...rest, ...Object.fromEntries(alone) }
}
