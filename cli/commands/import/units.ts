/** Numbers as other systems write them: units in the heading, currency signs, decimal commas. */
import { exact } from "../../../core/values/decimal.ts"

const in_minutes = { min: "1", mins: "1", minutes: "1", h: "60", hrs: "60", hours: "60", d: "1440", days: "1440" }
/** Unit → what one of it is in ours: kilograms for weights, minutes for times. */
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
const amounts = new Set([
  "replacement_charge",
  "sub_rental_price",
  "purchase_price",
  "price",
  "credit_limit",
  "day_cost",
  "hour_cost",
  "distance_cost",
  "flat_rate_cost"
])
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

/** "Weight (kg)" → weight in kg; a bracket that is no unit stays part of the name. */
export const unitOf = (header: string): { readonly base: string; readonly unit: string | undefined } => {
  const [, base = header, written] = /^(.*?)\s*[([]\s*([^()[\]]+?)\s*[)\]]$/.exec(header) ?? []
  const unit = written?.toLowerCase()
  return unit === undefined || !known_units.has(unit) ? { base: header, unit: undefined } : { base, unit }
}

/** A cell's number in our unit, as text; what is no number stays as it is, for the rules to say so. */
export const convert = (column: string, text: string, unit: string | undefined, comma_decimals: boolean): string => {
  if (!decimal_columns.has(column)) return text
  const plain = plainNumber(text, comma_decimals, amounts.has(column))
  if (plain === undefined) return text
  const factor = amounts.has(column)
    ? unit !== undefined && minor_units.has(unit)
      ? "0.01"
      : "1"
    : unit === undefined
      ? "1"
      : factors[column]?.[unit]
  if (factor === undefined || factor === "1") return plain
  const value = exact(plain).times(exact(factor))
  return column === "weight" ? value.toDecimalPlaces(4).toFixed() : value.toFixed()
}

/** "1.234,50" with decimal commas, "£1,234.50" without: digits and one point. */
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
