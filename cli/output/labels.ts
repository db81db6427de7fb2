/** Labels of numeric codes in responses, such as statuses, as declared by the tables. */
import { isJsonObject, type JsonObject } from "../../core/kernel/index.ts"
import { spokenNumber } from "../../core/values/text.ts"
import { resourceWhere } from "../base/nameable.ts"

/** Rows of a response with labels instead of codes, for rows under this key. */
export const inWords = <R extends JsonObject>(key: string, rows: ReadonlyArray<R>): ReadonlyArray<JsonObject> => {
  const resource = resourceWhere(({ plural, singular }) => plural === key || singular === key)
  if (resource === undefined) return key === "shortages" ? rows.map(withSpokenOrder) : rows
  const codes = Object.entries(resource.table.columns).flatMap(([name, { type }]) =>
    type.kind === "code" ? [[name, type.labels] as const] : []
  )
  const is_numbered = spoken_by_number.has(key)
  if (codes.length === 0 && !is_numbered) return rows
  return rows.map((row) => {
    const worded = codes.flatMap(([name, labels]) => {
      const value = row[name]
      const word = typeof value === "number" ? labels[value] : undefined
      return word === undefined ? [] : [[name, word] as const]
    })
    const { number, status_name } = row
    return {
      ...row,
      ...Object.fromEntries(worded),
      ...(is_numbered && typeof number === "string" ? { number: spokenNumber(number) } : {}),
      // A status number's meaning depends on the state, so the response's own label is used.
      ...(is_numbered && typeof status_name === "string" ? { status: status_name } : {})
    }
  })
}

/** Keys of rows named by number without zeros; documents for customers keep their printed form. */
const spoken_by_number: ReadonlySet<string> = new Set([
  "opportunities",
  "opportunity",
  "purchase_orders",
  "purchase_order"
])

/** The row with its included order named by number. */
const withSpokenOrder = (row: JsonObject): JsonObject => {
  const { opportunity } = row
  return isJsonObject(opportunity) && typeof opportunity.number === "string"
    ? { ...row, opportunity: { ...opportunity, number: spokenNumber(opportunity.number) } }
    : row
}
