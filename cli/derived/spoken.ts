/** Answers about products and members in words: prices, availability, contact details. */
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/fields/field.ts"
import { dayOf } from "../../core/values/time.ts"
import { type Row, rowIn, rowsIn } from "../base/answers.ts"
import type { CommandContext } from "../context/context.ts"

/** Today's price for the product's type: hire, sale or service. */
const priceOf = (product_type: string, rates: NonNullable<Row<"product">["rates"]>): string => {
  const kind = product_type === "sale" || product_type === "service" ? product_type : "rental"
  const today = dayOf(Date.now(), "UTC")
  const [rate] = rates
    .filter((one) => one.transaction_type === kind)
    .filter(({ valid_from, valid_to }) => (valid_from ?? "") <= today && (valid_to ?? "9999") >= today)
    .toSorted(
      (one, other) => Number(one.store_id !== null) - Number(other.store_id !== null) || other.priority - one.priority
    )
  return rate === undefined ? "" : `${rate.price} ${rate.currency}`
}
/** For one store the number alone; for several with their names. */
const freeIn = (free: NonNullable<Row<"product">["free"]>): string =>
  free.length === 1
    ? String(free[0]?.available)
    : free.map(({ available, store_name }) => `${available} ${store_name}`).join(", ")
const productInWords = ({ free, rates, ...row }: Row<"product">): JsonObject => ({
  ...row,
  price: priceOf(row.product_type, rates ?? []),
  free: freeIn(free ?? [])
})

const primaryFirst = <R extends { readonly is_primary: boolean }>(rows: ReadonlyArray<R>): ReadonlyArray<R> =>
  rows.toSorted((one, other) => Number(other.is_primary) - Number(one.is_primary))
const joined = (parts: ReadonlyArray<string | null>, by: string): string =>
  parts.filter((part) => part !== null && part.trim() !== "").join(by)
const countryName = async (context: CommandContext, id: number | null): Promise<string> => {
  if (id === null) return ""
  const { body, status } = await context.request({ method: "GET", path: `/api/v1/countries/${id}` })
  return status === 200 ? rowIn(body, "country").name : ""
}
const addressText = async (context: CommandContext, address: Row<"member">["addresses"][number]): Promise<string> =>
  joined(
    [
      address.street.replaceAll(/\s*\n\s*/g, ", "),
      joined([address.postcode, address.city], " "),
      address.county,
      await countryName(context, address.country_id)
    ],
    ", "
  )
const memberInWords = async (
  context: CommandContext,
  { addresses, emails, phones, primary_address: _primary, ...row }: Row<"member">
): Promise<JsonObject> => {
  const texts: Array<string> = []
  for (const address of primaryFirst(addresses)) texts.push(await addressText(context, address))
  return {
    ...row,
    emails: primaryFirst(emails)
      .map((email) => email.address)
      .join(", "),
    phones: primaryFirst(phones)
      .map((phone) => phone.number)
      .join(", "),
    addresses: texts.join("; ")
  }
}

const needs: { readonly [endpoint: string]: string | undefined } = {
  "products.list": "stock_levels,rates,free",
  "products.show": "stock_levels,rates,free",
  "members.show": "addresses,emails,phones"
}
/** Includes needed to print an endpoint's answer in words; undefined for those printed as they are. */
export const spokenNeeds = (endpoint: string): string | undefined => needs[endpoint]

/** The answer with its rows, or its one row, in words. */
export const inSpokenWords = async (context: CommandContext, endpoint: string, body: Json): Promise<Json> => {
  if (!isJsonObject(body)) return body
  switch (endpoint) {
    case "products.list":
      return { ...body, products: rowsIn(body, "products").map(productInWords) }
    case "products.show":
      return { ...body, product: productInWords(rowIn(body, "product")) }
    case "members.show":
      return { ...body, member: await memberInWords(context, rowIn(body, "member")) }
    default:
      return body
  }
}
