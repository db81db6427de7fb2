/** Rules of planning transfers: goods, demands and supplies of stores, and promises of the sending store. */
import { Result } from "effect"
import { invalid, reject } from "../../kernel/index.ts"
import type { DecideContext, Decided, FieldErrors, NewEvent, Rejection } from "../../kernel/index.ts"
import { supplyAsStock } from "../../orders/availability/facts/load.ts"
import { lowestFree } from "../../orders/availability/rules/line.ts"
import { type AvailabilitySnapshot, withDemands, withLevels } from "../../orders/availability/rules/snapshot.ts"
import { demands, demandsReplaced, suppliesReplacedEvent, transfer_source } from "../../orders/demands/schema.ts"
import { supplies as supplies_table } from "../../orders/demands/schema.ts"
import type { ContainerItemRow, ContainerRow } from "../../products/packing.ts"
import { type ProductRow, serialised } from "../../products/products/schema.ts"
import { stateWords, type StockLevelRow } from "../../products/stock/schema.ts"
import type { StoreRow } from "../../setup/stores.ts"
import { instantOf, millisOf, openEnd } from "../../values/time.ts"
import { openEndMillis } from "../../values/period.ts"
import { labelOf } from "../containers/events.ts"
import { type Item, type Plan, transfer_items, transferCreated, transfers, transferStream } from "./schema.ts"
import { namesText } from "../../values/text.ts"

/** Goods named by a code or an item of a request. `field`: its place, for errors. */
export type Goods = { readonly field: string } & (
  | { readonly kind: "unit"; readonly level: StockLevelRow }
  | { readonly kind: "case"; readonly container: ContainerRow; readonly housing: StockLevelRow | undefined }
  | { readonly kind: "product"; readonly product: ProductRow; readonly quantity: number }
  | { readonly kind: "nothing"; readonly problem: string }
)
export interface CaseContent {
  readonly containers: ReadonlyArray<ContainerRow>
  /** `item`: its packing; undefined for cases. `is_held`: whether its case demands it (rules/availability 8.5). */
  readonly units: ReadonlyArray<{
    readonly item: ContainerItemRow | undefined
    readonly level: StockLevelRow
    readonly is_held: boolean
  }>
}
type Cases = ReadonlyMap<number, CaseContent>
export interface GoodsFacts {
  readonly from: StoreRow
  readonly to: StoreRow
  readonly goods: ReadonlyArray<Goods>
  /** Products of goods and items, by id. */
  readonly products: ReadonlyMap<number, ProductRow>
  /** Bulk levels of the sending store, by product. */
  readonly bulk_from: ReadonlyMap<number, StockLevelRow>
  /** Reason a unit cannot leave from `starts_at` on, by stock level: an order, a case, another transfer. */
  readonly held: ReadonlyMap<number, string>
  readonly cases: Cases
}
export interface PlanFacts extends GoodsFacts {
  /** Stock and demands of the sending store. */
  readonly snapshot: AvailabilitySnapshot
  /** Names of opportunities that its demands are for, where the viewer may see them. */
  readonly orders: ReadonlyMap<number, string>
}

/** Reason a unit cannot be sent from this store; undefined if it can. */
export const unitProblem = (
  level: StockLevelRow,
  { from, held }: Pick<GoodsFacts, "from" | "held">
): string | undefined => {
  const name = labelOf(level)
  if (level.store_id !== from.id) return `${name} does not belong to ${from.name}.`
  if (level.is_gone || level.given_back_at !== null) return `${name} has left the stock.`
  if (level.service_state !== "in_service")
    return `${name} is ${stateWords[level.service_state]}: release it first, or send another one.`
  return held.get(level.id)
}
const caseProblem = ({ container }: Goods & { readonly kind: "case" }, facts: GoodsFacts): string | undefined => {
  const { name, parent_container_id, status, store_id } = container
  if (status === "dispatched" || status === "dissolved") return `${name} is ${status}.`
  if (parent_container_id !== null) return `${name} is in another case: take it out first.`
  if (store_id !== null && store_id !== facts.from.id) return `${name} does not belong to ${facts.from.name}.`
  const content = facts.cases.get(container.id)?.units ?? []
  return content.map(({ level }) => unitProblem(level, facts)).find((problem) => problem !== undefined)
}

const itemOf = (transfer_id: number, context: DecideContext, of: Partial<Item>): Item => ({
  id: context.id(transfer_items),
  transfer_id,
  product_id: null,
  stock_level_id: null,
  container_id: null,
  quantity: 1,
  sent_quantity: 0,
  received_quantity: 0,
  ...of
})

/** Items of the named goods: units and cases once, quantities of one product added up. 422 at each that cannot go. */
const itemsOf = (
  transfer_id: number,
  facts: GoodsFacts,
  context: DecideContext
): Result.Result<ReadonlyArray<Item>, Rejection> => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const items = new Map<string, Item>()
  const add = (key: string, of: Partial<Item>): void => {
    const before = items.get(key)
    const quantity = of.quantity ?? 1
    items.set(key, before ? { ...before, quantity: before.quantity + quantity } : itemOf(transfer_id, context, of))
  }
  for (const one of facts.goods) {
    const problem = problemOf(one, facts)
    const [key, of] = columnsOf(one)
    if (problem !== undefined) errors[one.field] = [problem]
    else if (one.kind !== "product" && items.has(key)) errors[one.field] = ["The goods are named twice."]
    else add(key, of)
  }
  if (Object.keys(errors).length > 0) return Result.fail(invalid(errors))
  return items.size === 0
    ? reject(
        "items",
        "Name what is to be moved: units, cases, quantities of products, or an order that is short of them."
      )
    : Result.succeed([...items.values()])
}
/** Columns of the item of goods, under a key that only the same goods have. */
const columnsOf = (one: Goods): readonly [key: string, of: Partial<Item>] => {
  switch (one.kind) {
    case "unit":
      return [`unit ${one.level.id}`, { product_id: one.level.product_id, stock_level_id: one.level.id }]
    case "product":
      return [`product ${one.product.id}`, { product_id: one.product.id, quantity: one.quantity }]
    case "case": {
      const { id: stock_level_id = null, product_id = null } = one.housing ?? {}
      return [`case ${one.container.id}`, { container_id: one.container.id, stock_level_id, product_id }]
    }
    case "nothing":
      return ["", {}]
  }
}
const problemOf = (one: Goods, facts: GoodsFacts): string | undefined => {
  if (one.kind === "nothing") return one.problem
  if (one.kind === "unit") return unitProblem(one.level, facts)
  if (one.kind === "case") return caseProblem(one, facts)
  const { id, name, stock_method } = one.product
  if (one.quantity < 1) return "The quantity must be at least 1."
  return stock_method === serialised || facts.bulk_from.has(id)
    ? undefined
    : `${facts.from.name} has no stock of ${name}.`
}

const arrivalOf = ({ arrives_at, starts_at }: Pick<Plan, "arrives_at" | "starts_at">): string => arrives_at ?? starts_at
/** Time at which goods that go back at `ends_at` are home: the way takes as long as the way there. */
export const homeAt = (transfer: Plan, ends_at: string): string =>
  instantOf(millisOf(ends_at) + millisOf(arrivalOf(transfer)) - millisOf(transfer.starts_at))

/** Goods of an item that stores count: units, or a quantity. Units that their case demands count nowhere else. */
const countedIn = (item: Item, cases: Cases) => {
  if (item.container_id === null) return [item]
  const units = cases.get(item.container_id)?.units ?? []
  return units.flatMap(({ is_held, level }) =>
    is_held ? [] : [{ ...item, product_id: level.product_id, stock_level_id: level.id }]
  )
}

/**
 * Demands at the sending store until the goods arrive, and supplies: at the receiving store from the arrival until they
 * go back, at the sending store from then on. Bulk goods that were sent have left the sender's stock, and take nothing
 * more there.
 */
const claimsOf = (
  transfer: Plan,
  items: ReadonlyArray<Item>,
  { cases, is_under_way }: Claiming,
  context: DecideContext
) => {
  const source = { source_type: transfer_source, source_id: transfer.id }
  const open = is_under_way ? items.filter(({ quantity, received_quantity }) => quantity > received_quantity) : []
  const counted = open.flatMap((item) => countedIn(item, cases))
  const demanded = counted.flatMap(({ product_id, quantity, received_quantity, sent_quantity, stock_level_id }) => {
    const left = quantity - Math.max(received_quantity, stock_level_id === null ? sent_quantity : 0)
    if (product_id === null || left <= 0) return []
    return [
      {
        ...source,
        id: context.id(demands),
        product_id,
        store_id: transfer.from_store_id,
        asset_id: stock_level_id,
        quantity: left,
        starts_at: transfer.starts_at,
        ends_at: openEnd,
        buffered_starts_at: null,
        buffered_ends_at: null,
        phase: "reserved" as const,
        ...{ is_active: true, out: false, pending_checkin: false, returned_at: null, checked_at: null },
        ...{ opportunity_id: null, container_id: null }
      }
    ]
  })
  const supplied = counted.flatMap(({ product_id, quantity, received_quantity }) => {
    if (product_id === null) return []
    const of = { ...source, product_id, quantity: quantity - received_quantity }
    const { ends_at, from_store_id, to_store_id } = transfer
    const there = { ...of, store_id: to_store_id, starts_at: arrivalOf(transfer), ends_at }
    const home = ends_at === null ? [] : [{ ...of, store_id: from_store_id, starts_at: homeAt(transfer, ends_at) }]
    return [there, ...home.map((one) => ({ ...one, ends_at: null }))].map((one) => ({
      ...one,
      id: context.id(supplies_table)
    }))
  })
  return { demanded, supplied }
}
interface Claiming {
  readonly cases: Cases
  readonly is_under_way: boolean
}
/** Events that replace the demands and supplies of the transfer. */
export const claimed = (
  transfer: Plan,
  items: ReadonlyArray<Item>,
  claiming: Claiming,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const { demanded, supplied } = claimsOf(transfer, items, claiming, context)
  const stream = transferStream(transfer.id)
  return [
    demandsReplaced(stream, transfer_source, transfer.id, demanded),
    suppliesReplacedEvent.make({ source_type: transfer_source, source_id: transfer.id, supplies: supplied }, stream)
  ]
}

const named_max = 3
/** Promises that the sending store could not keep without the goods: `Leeds would be short of 2 × Head …`. */
const brokenPromises = (
  transfer: Plan,
  items: ReadonlyArray<Item>,
  facts: PlanFacts,
  context: DecideContext
): ReadonlyArray<string> => {
  const { demanded, supplied } = claimsOf(transfer, items, { cases: facts.cases, is_under_way: true }, context)
  const { snapshot } = facts
  const after = withLevels(withDemands(snapshot, demanded), supplied.map(supplyAsStock), new Set())
  const window = { from: millisOf(transfer.starts_at), to: openEndMillis }
  return [...new Set(demanded.map(({ product_id }) => product_id))].flatMap((product_id) => {
    const left = lowestFree(after, product_id, window)
    if (left >= 0 || left >= lowestFree(snapshot, product_id, window)) return []
    const orders = snapshot.demandsOf(product_id).flatMap(({ demand: { is_active, opportunity_id }, to }) => {
      if (!is_active || to <= window.from || opportunity_id === null) return []
      return [facts.orders.get(opportunity_id) ?? `opportunity ${opportunity_id}`]
    })
    const names = [...new Set(orders)]
    const promised = names.length === 0 ? "" : `, promised to ${namesText(names, named_max)}`
    const name = facts.products.get(product_id)?.name ?? `product ${product_id}`
    return [`${facts.from.name} would be short of ${-left} × ${name}${promised}.`]
  })
}

type Sent = Pick<Plan, "from_store_id" | "to_store_id" | "starts_at"> &
  Partial<Pick<Plan, "opportunity_id" | "arrives_at" | "ends_at" | "notes">>

const dateProblems = ({ arrives_at, ends_at, from_store_id, starts_at, to_store_id }: Sent): FieldErrors => ({
  ...(from_store_id === to_store_id ? { to_store_id: ["Goods are moved to another store: name that one."] } : {}),
  ...(arrives_at != null && arrives_at < starts_at ? { arrives_at: ["The goods arrive after they leave."] } : {}),
  ...(ends_at != null && ends_at <= (arrives_at ?? starts_at)
    ? { ends_at: ["The goods go back after they have arrived."] }
    : {})
})

export const newPlan = (id: number, sent: Sent): Plan => ({
  id,
  from_store_id: sent.from_store_id,
  to_store_id: sent.to_store_id,
  opportunity_id: sent.opportunity_id ?? null,
  starts_at: sent.starts_at,
  arrives_at: sent.arrives_at ?? sent.starts_at,
  ends_at: sent.ends_at ?? null,
  notes: sent.notes ?? null,
  status: "draft",
  return_of_transfer_id: null,
  ...{ sent_at: null, sent_by_user_id: null, received_at: null, received_by_user_id: null },
  ...{ cancelled_at: null, cancelled_by_user_id: null, late_told_at: null }
})

/**
 * Plans a transfer. 422 at goods that cannot go; where the sending store could not keep its promises, its
 * `shortage_policy` decides: 422 `items`, or a warning.
 */
export const plan = (
  sent: Sent,
  facts: PlanFacts,
  context: DecideContext
): Decided<{ readonly id: number; readonly warnings: ReadonlyArray<string> }> =>
  Result.gen(function* () {
    const problems = dateProblems(sent)
    if (Object.keys(problems).length > 0) return yield* Result.fail(invalid(problems))
    const transfer = newPlan(context.id(transfers), sent)
    const items = yield* itemsOf(transfer.id, facts, context)
    const broken = facts.from.shortage_policy === "allow" ? [] : brokenPromises(transfer, items, facts, context)
    if (broken.length > 0 && facts.from.shortage_policy === "block")
      return yield* Result.fail(invalid({ items: broken }))
    return {
      events: [
        transferCreated.make({ ...transfer, items }),
        ...claimed(transfer, items, { cases: facts.cases, is_under_way: true }, context)
      ],
      result: { id: transfer.id, warnings: broken }
    }
  })
