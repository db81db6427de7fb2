/** Repeatable columns (`rate2.price`, `email2`), and the names of their fields in results. */
import { address_columns } from "../../../../core/imports/member-columns.ts"
import { columnName, type Columns, namedIn, partsOfText } from "../../../../core/imports/rows.ts"
import type { Json, JsonObject } from "../../../../core/kernel/index.ts"

const isBlank = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === "string" && value.trim() === "")

interface Several {
  /** Part that a column without a suffix holds. */
  readonly main?: string
  /** Part without which a record is skipped, as price lists have gaps. */
  readonly needs?: string
  /** Separator of several values in one cell. */
  readonly separator?: RegExp
}
/** Columns that a row may have several of: `rate2.price`, `email2`. */
const several: { readonly [head: string]: Several | undefined } = {
  rate: { needs: "price" },
  address: { main: "street" },
  email: { main: "address", separator: /[;,]/ },
  phone: { main: "number", separator: /;/ },
  link: { main: "url", separator: /;/ },
  contact: { main: "name", separator: /;/ }
}
const numbered = new RegExp(`^(${Object.keys(several).join("|")})[\\s_]?(\\d*)(?:\\.(.+))?$`, "is")
/** Column without number and suffix: `rate` for `rate2.price`, `stock` for `stock.North`. */
export const headOf = (column: string): string => {
  const head = column.split(".")[0] ?? ""
  return numbered.exec(head)?.[1]?.toLowerCase() ?? head
}
/** The import's column for a name or alias: `account_number` for `Customer number`. */
export const fieldOf = (column: string, { aliases }: Columns): string => {
  const name = columnName(headOf(column.trim()))
  return namedIn(aliases, name) ?? name
}

/** A repeatable column's name, number and part: `rate`, 2 and `price` for `rate2.price`; undefined for other columns. */
const slotOf = (column: string) => {
  const [, head, number = "", part] = numbered.exec(column.trim()) ?? []
  return head === undefined
    ? undefined
    : {
        head: head.toLowerCase(),
        at: Number(number === "" ? 1 : number),
        part,
        is_bare: number === "" && part === undefined
      }
}

/** The row with repeatable columns as lists; a list, an object or a `rate` without suffix stays as it is if alone. */
export const withParts = (row: { readonly [column: string]: Json }): JsonObject => {
  const rest: { [column: string]: Json } = {}
  const found = new Map<string, Map<number, { [part: string]: Json }>>()
  const alone = new Map<string, Json>()
  for (const [column, value] of Object.entries(row)) {
    const slot = slotOf(column)
    if (slot === undefined) rest[column] = value
    if (slot === undefined || isBlank(value)) continue
    const { at, head, is_bare, part } = slot
    const main = several[head]?.main
    if (is_bare && (main === undefined || typeof value === "object")) alone.set(head, value)
    else {
      const slots = found.get(head) ?? new Map<number, { [part: string]: Json }>()
      slots.set(at, { ...slots.get(at), [part === undefined ? (main ?? "") : columnName(part)]: value })
      found.set(head, slots)
    }
  }
  for (const [head, slots] of found) {
    const { main = "", needs } = several[head] ?? {}
    const parts = [...slots]
      .sort(([one], [other]) => one - other)
      .map(([, part]) => part)
      .filter((part) => needs === undefined || part[needs] !== undefined)
      // A record of its main part alone is the plain cell, in which the server separates several values.
      .map((part) => (Object.keys(part).length === 1 ? (part[main] ?? part) : part))
    const all = [...parts, ...[alone.get(head) ?? []].flat()]
    if (all.length > 0) rest[head] = all
    alone.delete(head)
  }
  return { ...rest, ...Object.fromEntries(alone) }
}

/** A value of a row, with its column of the import (`target`) and the file's heading. */
export interface Told {
  readonly target: string
  readonly heading: string
  readonly value: Json
}
interface Slot {
  readonly told: Array<{ readonly part: string | undefined; readonly heading: string }>
  /** Number of records in the cell. */
  count: number
}

/** Columns of the file by field name in results. */
export const placesIn = (told: ReadonlyArray<Told>, columns: Columns): ReadonlyMap<string, string> => {
  const places = new Map<string, string>()
  const found = new Map<string, Map<number, Slot>>()
  for (const { target, heading, value } of told) {
    const named = slotOf(target)
    if (named === undefined) places.set(placeOf(target, columns), heading)
    if (named === undefined || isBlank(value)) continue
    const { at, head, part } = named
    const slots = found.get(head) ?? new Map<number, Slot>()
    const slot = slots.get(at) ?? { told: [], count: 1 }
    const separator = several[head]?.separator
    if (part === undefined && typeof value === "string" && separator !== undefined)
      slot.count = Math.max(1, partsOfText(value, separator).length)
    slot.told.push({ part, heading })
    found.set(head, slots.set(at, slot))
  }
  for (const [head, slots] of found)
    for (const [place, heading] of placesOfRecords(head, slots, columns)) places.set(place, heading)
  return places
}
const placesOfRecords = (
  head: string,
  slots: ReadonlyMap<number, Slot>,
  columns: Columns
): ReadonlyArray<readonly [place: string, heading: string]> => {
  const needs = several[head]?.needs
  const cells = [...slots]
    .sort(([one], [other]) => one - other)
    .map(([, slot]) => slot)
    .filter(({ told }) => needs === undefined || told.some(({ part }) => columnName(part ?? "") === needs))
  // A column with parts is a single record, whatever separators its cell contains.
  const records = cells.flatMap(({ count, told }) => Array.from({ length: told.length === 1 ? count : 1 }, () => told))
  return records.flatMap((told, of) =>
    told.flatMap(({ part, heading }) =>
      namesOfRecord(head, of).map((base) => [`${base}${partPlace(head, part, columns)}`, heading] as const)
    )
  )
}
/** Names of a record's fields: rates are counted from 0, others from 2, as the first has no number. */
const namesOfRecord = (head: string, at: number): ReadonlyArray<string> => [
  ...(head === "rate" ? [`rate.${at}`] : at === 0 ? [] : [`${head}${at + 1}`]),
  ...(at === 0 ? [head] : [])
]
const isOfAddress = (field: string): boolean => (address_columns as ReadonlyArray<string>).includes(field)
const partPlace = (head: string, part: string | undefined, columns: Columns): string => {
  if (part === undefined) return head === "address" ? ".street" : ""
  const field = fieldOf(part, columns)
  const plain = columnName(part)
  if (head === "contact") return `.${placeOf(part, columns)}`
  return `.${head === "address" && isOfAddress(field) ? field : plain}`
}
const placeOf = (target: string, columns: Columns): string => {
  const field = fieldOf(target, columns)
  const dot = target.indexOf(".")
  if (isOfAddress(field) && columns.known.has("address")) return `address.${field}`
  return dot >= 0 && columns.spread.has(field) ? `${field}.${target.slice(dot + 1).trim()}` : field
}
