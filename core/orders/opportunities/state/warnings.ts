/** Warnings about lines: untaxed, unpriced, or left behind when the hire's dates changed. */
import { Effect } from "effect"
import { bindings, referredRows, Store, type Now, type Table } from "../../../kernel/index.ts"
import { members } from "../../../people/members/schema.ts"
import { resolveTax } from "../../../pricing/pricing/line.ts"
import { type ProductRow, products } from "../../../products/products/schema.ts"
import { organisation_tax_classes, product_tax_classes, taxFacts } from "../../../setup/reference-data/tax.ts"
import { isClosed, opportunity_items, order, type ItemRow, type OpportunityRow } from "../tables/index.ts"
import { formatMoney } from "../../../values/money.ts"
import { loadDecisionState } from "./load.ts"
import { pricingRequestOf } from "./pricing.ts"
import { liveLines, type Opportunity } from "./aggregate.ts"
import { counted, namesText, typedNumber } from "../../../values/text.ts"

// Warnings for lines that are untaxed because a tax class is missing, with the fix (rules/rates 8).

const typedOrder = ({ id, number }: OpportunityRow): string => typedNumber(number, id)
const listed_max = 3
const distinctText = (names: ReadonlyArray<string>): string => namesText([...new Set(names)], listed_max)
const untaxedText = (names: ReadonlyArray<string>, why: string): string =>
  `Untaxed: ${distinctText(names)}, because ${why}.`
/** The request and the CLI command that give a row a tax class. */
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

/** The request and the CLI flag that update an opportunity's prices and taxes; only taxes if its tax is locked. */
export const repriceRequest = (header: OpportunityRow): string => {
  const [body, flag] = header.tax_locked ? [{ only: "tax" }, " --only tax"] : [{}, ""]
  const noun = header.state === order ? "orders" : "quote"
  return (
    `POST /api/v1/opportunities/${header.id}/reprice ${JSON.stringify(body)} ` +
    `(flightcase ${noun} reprice ${typedOrder(header)}${flag})`
  )
}

type UntaxedLine = Pick<ItemRow, "name" | "item_id">
/** Live lines that are charged without tax, one for each name and product, in the order of the first of each. */
const untaxedLines = Effect.fnUntraced(function* (opportunity_id: number): Store.Reads<ReadonlyArray<UntaxedLine>> {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  return yield* store.run<UntaxedLine>(
    `select name, item_id from ${opportunity_items.name} where opportunity_id = ${bind(opportunity_id)} ` +
      "and is_live = true and item_type <> 'group' and is_optional = false and total <> 0 " +
      "and coalesce(tax_rate, 0) = 0 group by name, item_id order by min(path), min(id)",
    values
  )
})
const names = (lines: ReadonlyArray<UntaxedLine>): ReadonlyArray<string> => lines.map(({ name }) => name)

/** Warnings for untaxed lines: one query if all are taxed, none for a closed or invoiced opportunity. */
export const untaxedWarnings = Effect.fnUntraced(function* (
  header: OpportunityRow
): Store.Reads<ReadonlyArray<string>> {
  if (isClosed(header) || header.invoiced) return []
  const lines = yield* untaxedLines(header.id)
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
  const goods = yield* referredRows(products, lines, "item_id")
  const unclassed = [...goods.values()].filter(({ tax_class_id }) => tax_class_id === null)
  const then = `, then ${repriceRequest(header)}`
  const warnings: Array<string> = []
  const is_classed = customer !== undefined && customer.sale_tax_class_id !== null
  if (customer !== undefined && !is_classed)
    warnings.push(untaxedText(names(lines), `${yield* customerWithoutClass(customer)}${then}`))
  // A deal price is taxed in the default class, regardless of its lines.
  if (header.deal_total !== null) return warnings
  const without = lines.filter(({ item_id }) => unclassed.some(({ id }) => id === item_id))
  if (without.length > 0) warnings.push(untaxedText(names(without), `${yield* productsWithoutClass(unclassed)}${then}`))
  if (!is_classed) return warnings
  const texts = lines.filter(({ item_id }) => item_id === null)
  if (texts.length > 0) warnings.push(untaxedText(names(texts), "only products and costs have a tax class"))
  if (!header.tax_locked) return warnings
  const table = yield* taxFacts
  const late = lines.filter(({ item_id }) => {
    const tax_class_id = goods.get(item_id ?? 0)?.tax_class_id ?? null
    return Number(resolveTax(table, customer.sale_tax_class_id, tax_class_id).percentage) > 0
  })
  if (late.length > 0)
    warnings.push(untaxedText(names(late), `tax was locked without a tax class; ${repriceRequest(header)}`))
  return warnings
})

// Warnings for lines that unintentionally cost nothing, before they are ordered or billed.

/** Whether a chargeable line costs nothing although no price of 0 was set by hand. */
export const comesToNothing = ({ item_type, manual_unit_price, quantity, unit_price }: ItemRow): boolean =>
  (item_type === "product" || item_type === "service") &&
  Number(quantity) > 0 &&
  unit_price === 0 &&
  manual_unit_price === null

/** Charged lines without a price or a matching rate; none under a deal price. One query if every line has a price. */
export const unpricedLines = Effect.fnUntraced(function* (
  header: OpportunityRow,
  input: Now
): Store.Reads<ReadonlyArray<ItemRow>> {
  const live = { opportunity_id: header.id, is_live: true }
  const found = yield* Store.find(opportunity_items, live, { order: ["path", "id"] })
  const lines = found.filter((line) => !line.is_optional && comesToNothing(line))
  if (lines.length === 0 || header.deal_total !== null) return []
  const rated_product_ids = lines.flatMap(({ item_id }) => item_id ?? [])
  const state = yield* loadDecisionState(header, input, { live_only: true, rated_product_ids, touched_line_ids: [] })
  return lines.filter((line) => pricingRequestOf(state, header, line).request.rate === null)
})
/** Warning for these lines, with the command that prices the first one. */
export const unpricedText = (header: OpportunityRow, lines: ReadonlyArray<ItemRow>): ReadonlyArray<string> => {
  const [first] = lines
  const nothing = formatMoney(0, header.currency_code)
  return first === undefined
    ? []
    : [
        `At ${nothing} without being meant to: ${distinctText(lines.map(({ name }) => name))}; ` +
          `PATCH /api/v1/opportunities/${header.id}/items/${first.id} {"unit_price": PRICE} ` +
          `(flightcase quote update ${typedOrder(header)} ${first.id} --price PRICE), 0 where it is free.`
      ]
}

// Warnings for lines left behind when the hire's dates change, with the command that moves them (rules/opportunities
// 4.3).

const bounds = ["starts_at", "ends_at"] as const
const lines_listed_max = 10

/** Lines with their dates: `PAR 64 (until …), Truss (from … until …)`; shortened if there are many. */
const datedNames = (lines: ReadonlyArray<ItemRow>, with_start = false): string => {
  const shown = lines.slice(0, lines_listed_max).map(({ ends_at, name, starts_at }) => {
    const from = with_start && starts_at !== null ? `from ${starts_at} ` : ""
    return `${name} (${from}${ends_at === null ? "without an end" : `until ${ends_at}`})`
  })
  return [...shown, ...(lines.length > lines_listed_max ? [`and ${lines.length - lines_listed_max} more`] : [])].join(
    ", "
  )
}
export const keptText = (lines: ReadonlyArray<ItemRow>, with_start = false): string =>
  `${counted(lines.length, "line keeps its dates", "lines keep their dates")}: ${datedNames(lines, with_start)}.`

/** Whether the line's own date is before a header's date that moved later, or after one that moved earlier. */
const isBehind = (own: string | null, was: string | null, now: string | null): boolean =>
  own !== null && was !== null && now !== null && (now > was ? own < now : own > now)

/** Warnings about a change of the header's dates `set`; none if it leaves no line behind. */
export const leftBehind = (before: Opportunity, set: Partial<OpportunityRow>): ReadonlyArray<string> => {
  const { header } = before
  const moved = bounds.filter((bound) => set[bound] !== undefined && set[bound] !== null)
  const lines = liveLines(before).filter(
    (line) =>
      line.item_type !== "group" && moved.some((bound) => isBehind(line[bound], header[bound], set[bound] ?? null))
  )
  if (lines.length === 0) return []
  const ids = lines.map(({ id }) => id)
  const body = { ...Object.fromEntries(moved.map((bound) => [bound, set[bound]])), lines: ids }
  const flags = moved.map((bound) => `--${bound === "starts_at" ? "from" : "to"} ${set[bound]}`).join(" ")
  return [
    `${keptText(lines, moved.includes("starts_at"))} Price and stock follow the lines. ` +
      `To move ${lines.length === 1 ? "it" : "them"} along: ` +
      `POST /api/v1/opportunities/${header.id}/extend ${JSON.stringify(body)} ` +
      `(flightcase orders extend ${typedOrder(header)} ${flags} --lines ${ids.join(",")}).`
  ]
}
