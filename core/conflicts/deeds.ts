/** What commands do, in the trade's words: what follows after "Sam wanted to". */
import type { JsonObject } from "../kernel/json.ts"
import { spokenNumber } from "../values/short-text.ts"
import { damaged, missing } from "../opportunities/units/schema.ts"
import { daysInWords } from "./days.ts"
import type { Facts, Refused } from "./about.ts"

/** `order 1042 Summer Fest for Acme Ltd, 3–5 Dec`; undefined where the command is about none. */
const orderText = ({ customer, order, zone }: Facts, now: string): string | undefined => {
  if (order === null) return undefined
  const number = order.number === null ? "without a number yet" : spokenNumber(order.number)
  const days = order.starts_at === null ? "" : `, ${daysInWords(order.starts_at, order.ends_at, zone, now)}`
  const whose = customer === null ? "" : ` for ${customer.name}`
  return `${order.state_name.toLowerCase()} ${number} ${order.name}${whose}${days}`
}
const listed = (names: ReadonlyArray<string>): string =>
  names.length <= 3 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`

/** What somebody wanted to do, after "wanted to". */
export const wishOf = (command: Refused, facts: Facts, now: string): string => {
  const said = deeds[command.name]?.(command.body, facts, now)
  const order = orderText(facts, now)
  if (said !== undefined) return said.replace("{order}", () => order ?? "an order that is not here")
  const [summary = ""] = command.summary.split(/[;:]/)
  const what = facts.units.length > 0 ? listed(facts.units.map(({ name }) => name)) : facts.product?.name
  const known = [facts.paper, what, facts.container?.name, order ?? facts.customer?.name].filter(
    (one) => one !== undefined && one !== null
  )
  const own = [command.body["name"], command.body["subject"]].filter((one) => typeof one === "string" && one !== "")
  const rest = known.length > 0 ? known : own.slice(0, 1)
  return `${summary.charAt(0).toLowerCase()}${summary.slice(1)}${rest.length === 0 ? "" : `: ${rest.join(", ")}`}`
}

type Deed = (body: JsonObject, facts: Facts, now: string) => string | undefined
/** What a code names where it was scanned, the units, the line or the goods. */
const what = ({ line, product, units }: Facts, { code }: JsonObject = {}): string =>
  units.length > 0
    ? listed(units.map(({ name }) => name))
    : (line ?? product?.name ?? (typeof code === "string" ? code : "a line"))
const counted = ({ quantity }: Facts, name: string): string => (quantity === null ? name : `${quantity} × ${name}`)
/** ` as damaged: lens cracked`; nothing for what comes back good. */
const inWhatState = ({ condition, damage_notes, finalise }: JsonObject): string => {
  const state =
    condition === damaged
      ? " as damaged"
      : condition === missing
        ? " as missing"
        : finalise === true
          ? " as checked"
          : ""
  return `${state}${typeof damage_notes === "string" && damage_notes !== "" ? `: ${damage_notes}` : ""}`
}
const newDays = (body: JsonObject, { order, zone }: Facts, now: string): string | undefined => {
  const [from, to] = [body["starts_at"] ?? order?.starts_at, body["ends_at"] ?? order?.ends_at]
  return typeof from === "string" && (body["starts_at"] !== undefined || body["ends_at"] !== undefined)
    ? daysInWords(from, typeof to === "string" ? to : null, zone, now)
    : undefined
}
/** Fields with the values they were to get, where those are short; of rows they name, what such a row is called. */
const fieldsOf = (body: JsonObject, { referring }: Facts): string =>
  Object.entries(body)
    .map(([name, value]) => {
      const row = referring.get(name)
      if (row !== undefined) return row
      const words = name.replaceAll("_", " ")
      const is_short = (typeof value === "string" && value.length <= 40) || typeof value === "number"
      return is_short && value !== "" ? `${words} ${value}` : words
    })
    .join(", ")

const deeds: { readonly [name: string]: Deed } = {
  "opportunities.add_item": (body, facts) => {
    const named = typeof body["name"] === "string" ? body["name"] : "a line"
    return `add ${counted(facts, facts.product?.name ?? named)} to {order}`
  },
  "opportunities.update_item": (body, facts) =>
    facts.quantity === null
      ? `change ${what(facts)} (${fieldsOf(body, facts)}) in {order}`
      : `make it ${counted(facts, what(facts))} in {order}`,
  "opportunities.remove_item": (_body, facts) => `take ${what(facts)} out of {order}`,
  "opportunities.update": (body, facts, now) => {
    const days = newDays(body, facts, now)
    return days === undefined ? `change {order}: ${fieldsOf(body, facts)}` : `move {order} to ${days}`
  },
  "opportunities.extend": (body, facts, now) => `extend {order} to ${newDays(body, facts, now) ?? "other dates"}`,
  "opportunities.delete": () => "delete {order}",
  "opportunities.clone": () => "copy {order}",
  "opportunities.convert_to_quotation": () => "make a quotation of {order}",
  "opportunities.convert_to_order": () => "make an order of {order}",
  "opportunities.quick_allocate": (_body, facts) => `allocate ${what(facts)} to {order}`,
  "opportunities.allocate_asset": (_body, facts) => `allocate ${what(facts)} to {order}`,
  "opportunities.deallocate_asset": (_body, facts) => `release ${what(facts)} from {order}`,
  "opportunities.quick_prepare": (_body, facts) => `prepare ${what(facts)} for {order}`,
  "opportunities.quick_book_out": (_body, facts) => `book out ${what(facts)} for {order}`,
  "opportunities.quick_check_in": (_body, facts) => `check in ${what(facts)} from {order}`,
  "opportunities.fulfil_item": (body, facts) =>
    typeof body["action"] === "string"
      ? `${body["action"].replaceAll("_", " ")} ${counted(facts, what(facts))} of {order}`
      : undefined,
  "opportunities.scan": (body, facts) =>
    body["direction"] === "in"
      ? `check in ${counted(facts, what(facts, body))} from {order}${inWhatState(body)}`
      : `book out ${counted(facts, what(facts, body))} for {order}`,
  "scans.check_in": (body, facts) => `check in ${counted(facts, what(facts, body))}${inWhatState(body)}`,
  "containers.pack": (_body, facts) => `pack ${what(facts)} into ${facts.container?.name ?? "a case"}`,
  "containers.unpack": (_body, facts) => `take ${what(facts)} out of ${facts.container?.name ?? "a case"}`,
  "opportunities.resolve_shortages": (body) =>
    body["resolution"] === "waitlist" ? "put what is short of {order} on the waiting list" : undefined,
  "stock_levels.create": (body, facts) => {
    const number = body["asset_number"] ?? body["serial_number"]
    return typeof number === "string" ? `add ${facts.product?.name ?? "the unit"} ${number} to the stock` : undefined
  }
}
