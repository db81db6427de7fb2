/** Lines untaxed for lack of a tax class, with the reason and the fix: `meta.warnings` (rules/rates 8). */
import { Effect } from "effect"
import type { Failure } from "../../../kernel/endpoints/endpoint.ts"
import { Store } from "../../../kernel/store/store.ts"
import type { Table } from "../../../kernel/tables/table.ts"
import { members } from "../../../people/members/schema.ts"
import { resolveTax } from "../../../pricing/pricing/tax.ts"
import { type ProductRow, products } from "../../../products/products/schema.ts"
import { organisation_tax_classes, product_tax_classes, taxFacts } from "../../../setup/reference-data/tax.ts"
import { typedOrder } from "./called.ts"
import { type ItemRow, opportunity_items } from "../tables/lines.ts"
import type { OpportunityRow } from "../tables/opportunities.ts"
import { isClosed, order } from "../tables/statuses.ts"

const listed_max = 3
/** "PAR 64, Truss, Stand and 2 more" */
export const namesText = (names: ReadonlyArray<string>): string => {
  const distinct = [...new Set(names)]
  const more = distinct.length - listed_max
  return more > 0 ? `${distinct.slice(0, listed_max).join(", ")} and ${more} more` : distinct.join(", ")
}
const untaxedText = (names: ReadonlyArray<string>, why: string): string =>
  `Untaxed: ${namesText(names)}, because ${why}.`
/** The request that gives a row a tax class, and the command. */
const classRequest = (table: Table, id: number, column: string, class_id: number | null): string =>
  `PUT /api/v1/${table.name}/${id} ${JSON.stringify({ [column]: class_id })} ` +
  `(flightcase ${table.name} update ${id} --${column.replaceAll("_", "-")} ${class_id})`
const defaultOf = Effect.fnUntraced(function* (table: typeof product_tax_classes | typeof organisation_tax_classes) {
  return (yield* Store.find(table, { is_default: true }, { limit: 1 }))[0]?.id ?? null
})
const customerWithoutClass = (customer: { readonly id: number; readonly name: string }) =>
  Effect.map(
    defaultOf(organisation_tax_classes),
    (id) => `${customer.name} has no tax class; ${classRequest(members, customer.id, "sale_tax_class_id", id)}`
  )
const productsWithoutClass = Effect.fnUntraced(function* (unclassed: ReadonlyArray<ProductRow>) {
  const id = yield* defaultOf(product_tax_classes)
  const [first] = unclassed
  return unclassed.length === 1 && first !== undefined
    ? `it has no tax class; ${classRequest(products, first.id, "tax_class_id", id)}`
    : `they have no tax class; PUT /api/v1/products/{id} ${JSON.stringify({ tax_class_id: id })} ` +
        "(flightcase setup --assign-tax-classes)"
})

/** The request that updates prices and taxes of an opportunity; only taxes if its tax is locked. */
export const repriceRequest = (header: OpportunityRow): string => {
  const [body, flag] = header.tax_locked ? [{ only: "tax" }, " --only tax"] : [{}, ""]
  const noun = header.state === order ? "orders" : "quote"
  return (
    `POST /api/v1/opportunities/${header.id}/reprice ${JSON.stringify(body)} ` +
    `(flightcase ${noun} reprice ${typedOrder(header)}${flag})`
  )
}

const isUntaxed = ({ is_optional, item_type, tax_rate, total }: ItemRow): boolean =>
  item_type !== "group" && !is_optional && total !== 0 && Number(tax_rate ?? 0) === 0
const names = (lines: ReadonlyArray<ItemRow>): ReadonlyArray<string> => lines.map(({ name }) => name)

/** One query if everything is taxed, and none if nothing can be changed any more. */
export const untaxedWarnings = Effect.fnUntraced(function* (
  header: OpportunityRow
): Effect.fn.Return<ReadonlyArray<string>, Failure, Store> {
  if (isClosed(header) || header.invoiced) return []
  const live = { opportunity_id: header.id, is_live: true }
  const lines = (yield* Store.find(opportunity_items, live, { order: ["path", "id"] })).filter(isUntaxed)
  if (lines.length === 0) return []
  if (header.member_id === null)
    return [
      untaxedText(
        names(lines),
        `there is no customer; PUT /api/v1/opportunities/${header.id} {"member_id": ID} ` +
          `(flightcase quote update ${typedOrder(header)} --member CUSTOMER)`
      )
    ]
  const customer = yield* Store.get(members, header.member_id)
  const goods = yield* Store.getMany(
    products,
    lines.flatMap(({ item_id }) => item_id ?? [])
  )
  const productOf = new Map(goods.map((one) => [one.id, one]))
  const unclassed = goods.filter(({ tax_class_id }) => tax_class_id === null)
  const then = `, then ${repriceRequest(header)}`
  const warnings: Array<string> = []
  const is_classed = customer !== undefined && customer.sale_tax_class_id !== null
  if (customer !== undefined && !is_classed)
    warnings.push(untaxedText(names(lines), `${yield* customerWithoutClass(customer)}${then}`))
  // A deal price is taxed in the default class, whatever its lines are.
  if (header.deal_total !== null) return warnings
  const without = lines.filter(({ item_id }) => unclassed.some(({ id }) => id === item_id))
  if (without.length > 0) warnings.push(untaxedText(names(without), `${yield* productsWithoutClass(unclassed)}${then}`))
  if (!is_classed) return warnings
  const texts = lines.filter(({ item_id }) => item_id === null)
  if (texts.length > 0) warnings.push(untaxedText(names(texts), "only products and costs have a tax class"))
  if (!header.tax_locked) return warnings
  const table = yield* taxFacts
  const late = lines.filter(({ item_id }) => {
    const tax_class_id = productOf.get(item_id ?? 0)?.tax_class_id ?? null
    return Number(resolveTax(table, customer.sale_tax_class_id, tax_class_id).percentage) > 0
  })
  if (late.length > 0)
    warnings.push(untaxedText(names(late), `tax was locked without a tax class; ${repriceRequest(header)}`))
  return warnings
})
