/** Filters and sorts by the conventions over rows in memory, without SQL or the kernel's code. */
import type { LampRow } from "./lamp-shop.ts"

export type Kind =
  | "text"
  | "choice"
  | "code"
  | "boolean"
  | "integer"
  | "decimal"
  | "money"
  | "date"
  | "timestamp"
  | "tags"
  | "listed"
  | "listed many"
export interface Asked {
  readonly name: string
  readonly predicate: string
  readonly values: ReadonlyArray<string>
  readonly array: boolean
}
interface Column {
  readonly kind: Kind
  readonly of: (row: LampRow) => unknown
  readonly sort?: "folded" | "plain"
}

const custom =
  (id: number) =>
  (row: LampRow): unknown =>
    row.custom_fields[String(id)] ?? null
export const columns: { readonly [name: string]: Column } = {
  name: { kind: "text", of: (row) => row.name, sort: "folded" },
  label: { kind: "text", of: (row) => row.label, sort: "folded" },
  bay: { kind: "text", of: (row) => row.bay, sort: "plain" },
  kind: { kind: "choice", of: (row) => row.kind, sort: "plain" },
  method: { kind: "code", of: (row) => row.method, sort: "plain" },
  is_active: { kind: "boolean", of: (row) => row.is_active, sort: "plain" },
  count: { kind: "integer", of: (row) => row.count, sort: "plain" },
  weight: { kind: "decimal", of: (row) => row.weight, sort: "plain" },
  price: { kind: "money", of: (row) => row.price, sort: "plain" },
  bought_on: { kind: "date", of: (row) => row.bought_on, sort: "plain" },
  seen_at: { kind: "timestamp", of: (row) => row.seen_at, sort: "plain" },
  rack_id: { kind: "integer", of: (row) => row.rack_id },
  tag_list: { kind: "tags", of: (row) => row.tag_list },
  "cf.power": { kind: "decimal", of: custom(101) },
  "cf.finish": { kind: "text", of: custom(102) },
  "cf.103": { kind: "boolean", of: custom(103) },
  "cf.colour": { kind: "listed", of: custom(104) },
  "cf.105": { kind: "listed many", of: custom(105) },
  "cf.tested_on": { kind: "date", of: custom(108) },
  "cf.serviced_at": { kind: "timestamp", of: custom(109) }
}

const folded = (text: string): string => text.normalize("NFC").toLowerCase()
const bytewise = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
/** Numbers with up to 30 digits before and after the point, scaled to integers that can be compared. */
const scaled = (text: string): bigint => {
  const [, sign, whole, fraction = ""] = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(text)!
  return BigInt(`${whole}${fraction.padEnd(30, "0")}`) * (sign === "-" ? -1n : 1n)
}
/** Minor units of two decimals; values between two of them become their middle, which compares equally. */
const betweenUnits = (value: bigint): number => {
  const unit = 10n ** 28n
  return Number(value / unit) + (value % unit === 0n ? 0 : value < 0n ? -0.5 : 0.5)
}
const listed = new Map([
  ["warm", 11],
  ["cold", 12],
  ["größe", 13]
])
const plainCase = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "")
const whole = (text: string): number | undefined => (/^-?\d{1,15}$/.test(text) ? Number(text) + 0 : undefined)

/** A filter's value as the column would hold it; undefined if invalid. */
const operand = (kind: Kind, text: string): unknown => {
  if (text.includes("\u0000")) return undefined
  switch (kind) {
    case "text":
    case "tags":
      return text
    case "choice":
      return { rental: "rental", sale: "sale", lossdamage: "loss_and_damage", lossanddamage: "loss_and_damage" }[
        plainCase(text)
      ]
    case "code":
      return text === "1" || plainCase(text) === "bulk"
        ? 1
        : text === "2" || plainCase(text) === "serialised"
          ? 2
          : undefined
    case "boolean":
      return /^(true|t|1)$/.test(text) ? true : /^(false|f|0)$/.test(text) ? false : undefined
    case "integer":
      return whole(text)
    case "decimal":
      return /^[+-]?\d+(\.\d+)?$/.test(text) ? text : undefined
    case "money":
      return /^[+-]?\d+(\.\d+)?$/.test(text) ? betweenUnits(scaled(text)) : undefined
    case "date":
      return /^\d{4}-\d\d-\d\d/.test(text) && !text.startsWith("0000") ? text.slice(0, 10) : undefined
    case "timestamp":
      return Number.isNaN(Date.parse(text)) || !/^\d{4}-/.test(text) ? undefined : new Date(text).toISOString()
    case "listed":
    case "listed many":
      return whole(text) ?? listed.get(folded(text))
  }
}
const compare = (kind: Kind, a: unknown, b: unknown): number => {
  if (kind === "decimal") {
    const x = scaled(String(a)),
      y = scaled(String(b))
    return x < y ? -1 : x > y ? 1 : 0
  }
  return typeof a === "string" ? bytewise(a, String(b)) : Number(a) - Number(b)
}

const holds = (column: Column, row: LampRow, asked: Asked): boolean => {
  const value = column.of(row)
  const { kind } = column
  const { predicate } = asked
  const many = predicate === "in" || predicate === "not_in"
  const given = !many
    ? asked.values.slice(-1)
    : asked.array
      ? asked.values
      : asked.values.flatMap((one) => one.split(","))
  const operands = given.map((text) => operand(kind, text)).filter((one) => one !== undefined)
  if (kind === "tags" || kind === "listed many") {
    const items = (value ?? []) as ReadonlyArray<unknown>
    if (["null", "blank"].includes(predicate)) return items.length === 0
    if (["not_null", "present"].includes(predicate)) return items.length > 0
    const any = operands.some((one) => items.includes(one))
    if (["eq", "cont", "in"].includes(predicate)) return any
    return !["not_eq", "not_cont", "not_in"].includes(predicate) || (operands.length > 0 && !any)
  }
  switch (predicate) {
    case "null":
      return value === null
    case "not_null":
      return value !== null
    case "blank":
      return value === null || value === ""
    case "present":
      return value !== null && value !== ""
    case "true":
      return value === true
    case "false":
      return value === false
  }
  if (value === null || (operands.length === 0 && !["cont", "not_cont", "start", "end"].includes(predicate)))
    return false
  if (["cont", "not_cont", "start", "end"].includes(predicate)) {
    if ((kind !== "text" && kind !== "choice") || given[0]!.includes("\u0000")) return false
    const text = folded(String(value)),
      part = folded(given[0]!)
    return predicate === "start"
      ? text.startsWith(part)
      : predicate === "end"
        ? text.endsWith(part)
        : text.includes(part) === (predicate === "cont")
  }
  const order = operands.map((one) => compare(kind, value, one))
  switch (predicate) {
    case "eq":
    case "in":
      return order.includes(0)
    case "not_eq":
    case "not_in":
      return !order.includes(0)
    case "lt":
      return order[0]! < 0
    case "lteq":
      return order[0]! <= 0
    case "gt":
      return order[0]! > 0
    case "gteq":
      return order[0]! >= 0
    default:
      throw new Error(predicate)
  }
}

/** Ids of matching rows in the requested order (`-name` descending): nulls last, then by id. */
export const foundIn = (
  rows: ReadonlyArray<LampRow>,
  conditions: ReadonlyArray<Asked>,
  sort: string | undefined
): ReadonlyArray<number> => {
  const passed = rows.filter((row) => conditions.every((asked) => holds(columns[asked.name]!, row, asked)))
  const by = sort === undefined ? undefined : columns[sort.replace("-", "")]!
  const sign = sort?.startsWith("-") === true ? -1 : 1
  const key = (row: LampRow): unknown => {
    const value = by?.of(row) ?? null
    return by?.sort === "folded" && typeof value === "string" ? folded(value) : value
  }
  return passed
    .sort((one, other) => {
      const a = key(one),
        b = key(other)
      const order = a === null || b === null ? Number(a === null) - Number(b === null) : compare(by!.kind, a, b)
      return order === 0 ? one.id - other.id : order * sign
    })
    .map((row) => row.id)
}
