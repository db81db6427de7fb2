/** Answers about products and members as people read them: prices, what is free, and how somebody is reached, in words. */
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/fields/json.ts"
import { dayOf } from "../../core/values/zone.ts"
import { rowsOr } from "../base/answers.ts"
import type { CommandContext } from "../context/context.ts"

interface Spoken {
  /** What of other tables it takes. */
  readonly needs: string
  readonly say: (context: CommandContext, row: JsonObject) => Promise<JsonObject>
}

/** The price that holds today for what the product is: a hire, a sale or a service. */
const priceOf = ({ product_type, rates }: JsonObject): string => {
  const kind = product_type === "sale" || product_type === "service" ? product_type : "rental"
  const today = dayOf(Date.now(), "UTC")
  const [rate] = rowsOr(rates)
    .filter((one) => one["transaction_type"] === kind)
    .filter(({ valid_from, valid_to }) => String(valid_from ?? "") <= today && String(valid_to ?? "9999") >= today)
    .toSorted(
      (one, other) =>
        Number(one["store_id"] !== null) - Number(other["store_id"] !== null) ||
        Number(other["priority"]) - Number(one["priority"])
    )
  return rate === undefined ? "" : `${String(rate["price"])} ${String(rate["currency"])}`
}
/** Of one store the number alone; of several with their names. */
const freeIn = ({ free }: JsonObject): string => {
  const places = rowsOr(free)
  return places.length === 1
    ? String(places[0]?.["available"])
    : places.map(({ available, store_name }) => `${String(available)} ${String(store_name)}`).join(", ")
}
const product: Spoken = {
  needs: "stock_levels,rates,free",
  say: async (_context, { free: _free, rates: _rates, ...row }) =>
    await Promise.resolve({
      ...row,
      price: priceOf({ ...row, rates: _rates ?? null }),
      free: freeIn({ free: _free ?? null })
    })
}

const primaryFirst = (rows: Json | undefined): ReadonlyArray<JsonObject> =>
  rowsOr(rows).toSorted((one, other) => Number(other["is_primary"] === true) - Number(one["is_primary"] === true))
const joined = (parts: ReadonlyArray<Json | undefined>, by: string): string =>
  parts.filter((part) => typeof part === "string" && part.trim() !== "").join(by)
const countryName = async (context: CommandContext, id: Json | undefined): Promise<string> => {
  if (typeof id !== "number") return ""
  const { body, status } = await context.request({ method: "GET", path: `/api/v1/countries/${id}` })
  const country = status === 200 && isJsonObject(body) ? body["country"] : undefined
  return isJsonObject(country) ? String(country["name"]) : ""
}
const addressText = async (context: CommandContext, address: JsonObject): Promise<string> =>
  joined(
    [
      String(address["street"]).replaceAll(/\s*\n\s*/g, ", "),
      joined([address["postcode"], address["city"]], " "),
      address["county"],
      await countryName(context, address["country_id"])
    ],
    ", "
  )
const member: Spoken = {
  needs: "addresses,emails,phones",
  say: async (context, { addresses, emails, phones, primary_address: _primary, ...row }) => {
    const texts: Array<string> = []
    for (const address of primaryFirst(addresses)) texts.push(await addressText(context, address))
    return {
      ...row,
      emails: joined(
        primaryFirst(emails).map((one) => one["address"]),
        ", "
      ),
      phones: joined(
        primaryFirst(phones).map((one) => one["number"]),
        ", "
      ),
      addresses: texts.join("; ")
    }
  }
}
const spoken: { readonly [endpoint: string]: Spoken | undefined } = {
  "products.list": product,
  "products.show": product,
  "members.show": member
}
export const spokenNeeds = (endpoint: string): string | undefined => spoken[endpoint]?.needs

/** The answer with its rows, or its one row, in words. */
export const inSpokenWords = async (context: CommandContext, endpoint: string, body: Json): Promise<Json> => {
  const how = spoken[endpoint]
  if (how === undefined || !isJsonObject(body)) return body
  const said: { [key: string]: Json } = {}
  for (const [key, value] of Object.entries(body))
    said[key] =
      key === "meta"
        ? value
        : Array.isArray(value)
          ? await Promise.all(rowsOr(value).map((row) => how.say(context, row)))
          : isJsonObject(value)
            ? await how.say(context, value)
            : value
  return said
}
