/** The hire that damage is charged to, stock that changes store, and goods sold (rules/availability 10, 13). */
import { Effect, Result } from "effect"
import { invalidField, isJsonObject, journal, lockStreams, reject, Store } from "../../kernel/index.ts"
import { streamOf, updatedEvents } from "../../kernel/index.ts"
import type { DecideContext, NewEvent, Now, Rejection } from "../../kernel/index.ts"
import { product_components } from "../../products/kits/schema.ts"
import { opportunityStream } from "../../orders/opportunities/events/event-families.ts"
import {
  asset_assignments,
  dispatched,
  isClosed,
  on_hire,
  opportunities
} from "../../orders/opportunities/tables/index.ts"
import { type ItemRow, opportunity_items, sale_line } from "../../orders/opportunities/tables/index.ts"
import { opportunityName, shortagesOf } from "../../orders/opportunities/state/index.ts"
import { container_items, type ContainerRow, containers, live_statuses } from "../../products/packing.ts"
import { documentedEvents } from "../../products/stock/decide.ts"
import { bulk_category, stock_levels, stock_transactions, type StockLevelRow } from "../../products/stock/schema.ts"
import { products } from "../../products/products/schema.ts"
import { isUnit, levelName, type ServiceFacts } from "./decide.ts"
import { stockLevelOf } from "../../orders/availability/facts/load.ts"
import { withLevels } from "../../orders/availability/rules/snapshot.ts"
import { demands, lockClaims, transfer_source } from "../../orders/demands/schema.ts"
import { loadWithDemands, stockFactsOf } from "../../orders/opportunities/shortages/api.ts"
import { stores } from "../../setup/stores.ts"
import { exact, formatDecimal } from "../../values/decimal.ts"
import { service_records } from "./schema.ts"
import { namesText } from "../../values/text.ts"

// Checks that an opportunity charged for damage or loss had the goods.

/** Maximum nesting of kits to read, above any setting. */
const nested_max = 25

/** The product and all kits that contain it. */
const asPartOf = Effect.fnUntraced(function* (product_id: number): Store.Reads<Array<number>> {
  const found = new Set([product_id])
  let level = [product_id]
  for (let depth = 0; depth < nested_max && level.length > 0; depth++) {
    const kits = (yield* Store.find(product_components, { component_product_id: level })).map((one) => one.product_id)
    level = [...new Set(kits)].filter((id) => !found.has(id))
    for (const id of level) found.add(id)
  }
  return [...found]
})

/** Stock level ids of the unit and the cases it was in; `went`: whether one of the cases was on the order. */
const travelled = Effect.fnUntraced(function* (unit_id: number, opportunity_id: number) {
  const packings = yield* Store.find(container_items, { serialised_item_id: unit_id })
  const cases = yield* Store.getMany(containers, [...new Set(packings.map((one) => one.container_id))])
  const outer = yield* Store.getMany(containers, [...new Set(cases.flatMap((one) => one.parent_container_id ?? []))])
  const all = [...cases, ...outer]
  return {
    ids: [unit_id, ...all.flatMap((one) => one.serialised_item_id ?? [])],
    went:
      all.some((one) => one.opportunity_id === opportunity_id) ||
      packings.some((one) => one.returned_from_opportunity_id === opportunity_id)
  }
})
/** Whether a unit was exchanged on the order, as such units are no longer on a line. */
const wasExchanged = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, opportunity_id: number) {
  const events = yield* Store.find(journal, {
    stream: opportunityStream(opportunity_id),
    type: "opportunity.asset_substituted"
  })
  return events.some(({ data }) => {
    const was = isJsonObject(data) ? data["was"] : undefined
    return isJsonObject(was) && ids.includes(Number(was["stock_level_id"]))
  })
})

const wasOn = Effect.fnUntraced(function* (level: StockLevelRow, opportunity_id: number) {
  if (!isUnit(level)) {
    const asked = yield* Store.first(opportunity_items, { opportunity_id, item_id: yield* asPartOf(level.product_id) })
    return asked !== undefined
  }
  const { ids, went } = yield* travelled(level.id, opportunity_id)
  if (went || (yield* Store.first(asset_assignments, { opportunity_id, stock_level_id: ids })) !== undefined)
    return true
  return yield* wasExchanged(ids, opportunity_id)
})

/**
 * 422 on `opportunity_id` if the unit was never on that opportunity (the message names its last hire) or, for bulk
 * stock, if the opportunity has no line with the product.
 */
export const requireHire = Effect.fnUntraced(function* (
  level: StockLevelRow,
  opportunity_id: number | null | undefined
): Store.Reads<void> {
  if (opportunity_id == null || (yield* wasOn(level, opportunity_id))) return
  const nameOf = Effect.fnUntraced(function* (id: number) {
    return opportunityName(id, yield* Store.get(opportunities, id))
  })
  const name = yield* nameOf(opportunity_id)
  if (!isUnit(level))
    return yield* invalidField("opportunity_id", `No line of ${name} asks for ${levelName(level)}; name another hire.`)
  const [last] = yield* Store.find(asset_assignments, { stock_level_id: level.id }, { order: ["-id"], limit: 1 })
  const way_out =
    last === undefined ? "it was on no hire yet" : `it was last on ${yield* nameOf(last.opportunity_id)}; name that one`
  return yield* invalidField("opportunity_id", `${levelName(level)} was never on ${name}: ${way_out}.`)
})

/**
 * Id of the open record that a check-in of this order made of lost bulk stock. Without one, 422 on `opportunity_id`
 * while the order has stock of the level out, as its line claims that until it is checked in as missing.
 */
export const lossOnOrder = Effect.fnUntraced(function* (
  { level, open }: ServiceFacts,
  sent: { readonly [F in "opportunity_id" | "quantity" | "service_record_id"]?: number | null | undefined }
): Store.Reads<number | undefined> {
  const { opportunity_id: id, quantity, service_record_id } = sent
  if (isUnit(level) || typeof id !== "number" || typeof service_record_id === "number") return undefined
  const lost = open.filter(
    (one) => one.state === "lost" && one.opportunity_id === id && one.opportunity_item_id !== null
  )
  const found = lost.find((one) => one.quantity >= (quantity ?? 1)) ?? lost[0]
  const header = yield* Store.get(opportunities, id)
  if (found !== undefined || header === undefined || isClosed(header)) return found?.id
  const lines = yield* Store.find(opportunity_items, { opportunity_id: id, item_id: level.product_id })
  const out = lines
    .filter((line) => (line.dispatch_store_id ?? header.store_id) === level.store_id)
    .reduce((sum, line) => sum + Number(line.dispatched_quantity) - Number(line.returned_quantity), 0)
  if (out <= 0) return undefined
  const product = yield* Store.get(products, level.product_id)
  const code = product?.sku ?? product?.barcode ?? "CODE"
  return yield* invalidField(
    "opportunity_id",
    `${out} x ${product?.name ?? levelName(level)} is still out on ${opportunityName(id, header)}: check in what ` +
      `is missing first (flightcase scan in ${header.number ?? id} ${code} --missing).`
  )
})

interface Leaving {
  /** Reason the unit cannot leave; undefined if it can. */
  readonly held: string | undefined
  readonly policy: "block" | "warn" | "allow"
  /** Sentence that names the orders that count on it; undefined if none does. */
  readonly fails: string | undefined
}

/** Facts about a level's change of store; undefined if it stays. */
export const loadLeaving = Effect.fnUntraced(function* (
  level: StockLevelRow,
  store_id: number | undefined,
  context: Now
): Store.Reads<Leaving | undefined> {
  if (store_id === undefined || store_id === level.store_id) return undefined
  yield* lockClaims([level.product_id])
  const place = yield* Store.get(stores, level.store_id)
  const names = yield* counting(level, store_id, context)
  return {
    held: yield* heldBy(level),
    policy: place?.shortage_policy ?? "warn",
    fails:
      names.length === 0 ? undefined : `${place?.name ?? "Its store"} counts on it for ${namesText(names, named_max)}.`
  }
})
const named_max = 3

const heldBy = Effect.fnUntraced(function* ({ id }: StockLevelRow): Store.Reads<string | undefined> {
  const [out] = yield* Store.find(asset_assignments, { stock_level_id: id, status: [dispatched, on_hire] })
  if (out !== undefined)
    return `It is out with ${opportunityName(out.opportunity_id, yield* Store.get(opportunities, out.opportunity_id))}.`
  const transfer = yield* Store.first(demands, { asset_id: id, source_type: transfer_source })
  if (transfer !== undefined) return `It is on transfer ${transfer.source_id}: receive or cancel that.`
  const [packed] = yield* Store.find(container_items, { serialised_item_id: id, unpacked_at: null })
  const around = packed === undefined ? undefined : yield* Store.get(containers, packed.container_id)
  if (around !== undefined) return `It is in the case ${around.name}: take it out first.`
  const [own] = yield* Store.find(containers, { serialised_item_id: id, status: live_statuses })
  return own === undefined ? undefined : `It is the case ${own.name}: dissolve that first.`
})

/** Names of opportunities with demands at its store that have this unit, or would be short without the level. */
const counting = Effect.fnUntraced(function* (
  level: StockLevelRow,
  store_id: number,
  { now, settings }: Now
): Store.Reads<ReadonlyArray<string>> {
  const claims = yield* Store.pick(demands, ["opportunity_id", "ends_at"], {
    product_id: level.product_id,
    store_id: level.store_id,
    is_active: true
  })
  const ids = new Set(claims.flatMap((one) => (one.ends_at > now ? (one.opportunity_id ?? []) : [])))
  const found = yield* loadWithDemands(yield* Store.getMany(opportunities, [...ids]), { now, settings })
  const after = new Map(
    [...found.snapshots].map(([id, here]) => [id, withLevels(here, [stockLevelOf({ ...level, store_id })], new Set())])
  )
  return found.loaded.flatMap((one) => {
    const { header, units } = one.opportunity
    const short = (snapshots: typeof after): number =>
      shortagesOf(stockFactsOf(one, { ...found, snapshots }), one.opportunity, one.demands, settings, now).reduce(
        (sum, { shortfall }) => sum + shortfall,
        0
      )
    const is_allocated = units.some((unit) => unit.stock_level_id === level.id && unit.status < dispatched)
    return is_allocated || short(after) > short(new Map(found.snapshots)) ? [opportunityName(header.id, header)] : []
  })
})

/**
 * Warnings about a change of store; 422 on `store_id` if the unit cannot leave, or the store's policy blocks shortages.
 */
export const leaveStore = (leaving: Leaving | undefined): Result.Result<ReadonlyArray<string>, Rejection> => {
  if (leaving?.held !== undefined) return reject("store_id", leaving.held)
  if (leaving?.fails === undefined || leaving.policy === "allow") return Result.succeed([])
  return leaving.policy === "warn"
    ? Result.succeed([leaving.fails])
    : reject("store_id", `${leaving.fails} That store blocks shortages: give the order another one first.`)
}

// Goods of sale lines leave the ledger when their order is complete, until it is reopened (rules/availability 13.6).

const source_type = "Opportunity"
interface Sale {
  readonly opportunity_id: number
  readonly levels: ReadonlyArray<StockLevelRow>
  /** Quantity of each level that went out to be sold and did not come back. */
  readonly out: ReadonlyMap<number, number>
  /** Quantity of each level that the ledger has for this order. */
  readonly booked: ReadonlyMap<number, number>
  /** Quantity of each level that somebody recorded as sold on this order. */
  readonly by_hand: ReadonlyMap<number, number>
  /** Units that left in a case which is still out, with the case. */
  readonly cases: ReadonlyMap<number, ContainerRow>
}

/** Sums by key. */
const sums = (pairs: ReadonlyArray<readonly [key: number, quantity: number]>): ReadonlyMap<number, number> => {
  const found = new Map<number, number>()
  for (const [key, quantity] of pairs) found.set(key, (found.get(key) ?? 0) + quantity)
  return found
}

/** Bulk levels and the quantities that left them. */
const countedOut = Effect.fnUntraced(function* (lines: ReadonlyArray<ItemRow>) {
  const moved = new Map(
    lines.map((line) => [line.id, { line, by: Number(line.dispatched_quantity) - Number(line.returned_quantity) }])
  )
  const source_id = [...moved.values()].flatMap(({ by, line }) => (by > 0 ? [line.id] : []))
  const claims = yield* Store.pick(demands, ["product_id", "store_id", "quantity", "source_id"], {
    source_type: "opportunity_item",
    source_id,
    asset_id: null
  })
  const levels = yield* Store.pick(stock_levels, ["id", "product_id", "store_id"], {
    product_id: [...new Set(claims.map(({ product_id }) => product_id))],
    stock_category: bulk_category,
    is_sub_hired: false
  })
  return claims.flatMap((claim): ReadonlyArray<readonly [number, number]> => {
    const level = levels.find((one) => one.product_id === claim.product_id && one.store_id === claim.store_id)
    const { by, line } = moved.get(claim.source_id) ?? {}
    if (level === undefined || line === undefined || by === undefined) return []
    // A kit may have several of a part.
    const of_part = (claim.quantity * by) / (Number(line.quantity) - Number(line.returned_quantity))
    return [[level.id, claim.product_id === line.item_id ? by : Math.ceil(of_part - 1e-6)]]
  })
})

/** Cases still out, by unit that left in them; without those that are sold themselves. */
const casesOut = Effect.fnUntraced(function* (opportunity_id: number, units: ReadonlyArray<number>) {
  if (units.length === 0) return new Map<number, ContainerRow>()
  const packed = yield* Store.find(container_items, { serialised_item_id: units, unpacked_at: null })
  const around = yield* Store.find(containers, {
    id: packed.map(({ container_id }) => container_id),
    status: "dispatched",
    opportunity_id
  })
  const awaited = new Map(
    around.filter((one) => !units.includes(one.serialised_item_id ?? 0)).map((one) => [one.id, one])
  )
  return new Map(
    packed.flatMap(({ container_id, serialised_item_id }) => {
      const one = awaited.get(container_id)
      return one === undefined ? [] : [[serialised_item_id, one] as const]
    })
  )
})

/** Goods sold on an order, with the levels locked; one query for an order without sale lines. */
const loadSale = Effect.fnUntraced(function* (opportunity_id: number): Store.Reads<Sale | undefined> {
  const lines = yield* Store.find(opportunity_items, { opportunity_id, transaction_type: sale_line })
  if (lines.length === 0) return undefined
  const units = (yield* Store.pick(asset_assignments, ["stock_level_id"], {
    opportunity_item_id: lines.map(({ id }) => id),
    status: [dispatched, on_hire]
  })).map((unit) => unit.stock_level_id)
  const out = sums([...(yield* countedOut(lines)), ...units.map((id) => [id, 1] as const)])
  const stock_level_id = [...out.keys()]
  if (stock_level_id.length === 0) return undefined
  yield* lockStreams(stock_level_id.map((id) => streamOf("stock_level", id)))
  const source = { source_type, source_id: opportunity_id }
  const booked = yield* Store.find(stock_transactions, { stock_level_id, ...source })
  const by_hand = yield* Store.find(service_records, { opportunity_id, state: "sold" })
  return {
    opportunity_id,
    levels: (yield* Store.getMany(stock_levels, stock_level_id)).filter((level) => !level.is_sub_hired),
    out,
    booked: sums(booked.map((row) => [row.stock_level_id, -Number(row.quantity_move)])),
    by_hand: sums(by_hand.map((row) => [row.stock_level_id, row.quantity])),
    cases: yield* casesOut(opportunity_id, units)
  }
})
const loadSales = Effect.fnUntraced(function* (ids: ReadonlyArray<number>): Store.Reads<ReadonlyArray<Sale>> {
  return (yield* Effect.forEach(ids, loadSale)).flatMap((sale) => sale ?? [])
})

/** Ledger line and new quantity of a level; a negative quantity comes back. */
const posted = (
  { opportunity_id }: Sale,
  level: StockLevelRow,
  quantity: number,
  context: DecideContext
): ReadonlyArray<NewEvent> =>
  quantity === 0
    ? []
    : [
        ...documentedEvents(
          level,
          {
            transaction_type: quantity > 0 ? 7 : 8,
            quantity: formatDecimal(Math.abs(quantity), 2),
            at: context.happened_at,
            source_type,
            source_id: opportunity_id,
            description: null
          },
          context
        ),
        ...updatedEvents(stock_levels, level, {
          quantity_held: formatDecimal(exact(level.quantity_held).minus(quantity), 2),
          is_gone: isUnit(level) && quantity > 0
        })
      ]

/** Posts all that is sold and not posted yet. 422 `state` while a unit's case is still out. */
const sell = (sale: Sale, context: DecideContext): Result.Result<ReadonlyArray<NewEvent>, Rejection> => {
  const inside = sale.levels.find(({ id }) => sale.cases.has(id))
  if (inside !== undefined)
    return reject(
      "state",
      `${levelName(inside)} left in ${sale.cases.get(inside.id)?.name ?? "a case"}, which is still out; ` +
        "check the case in before the order is complete."
    )
  const quantityOf = ({ id, is_gone }: StockLevelRow): number =>
    is_gone ? 0 : Math.max(0, (sale.out.get(id) ?? 0) - (sale.booked.get(id) ?? 0) - (sale.by_hand.get(id) ?? 0))
  return Result.succeed(sale.levels.flatMap((level) => posted(sale, level, quantityOf(level), context)))
}
/** Posts sold goods back. Units that are in stock again already stay as they are. */
const takeBack = (sale: Sale, context: DecideContext): ReadonlyArray<NewEvent> =>
  sale.levels
    .filter((level) => !isUnit(level) || level.is_gone)
    .flatMap((level) => posted(sale, level, -Math.max(0, sale.booked.get(level.id) ?? 0), context))

export const sales = {
  load: loadSales,
  /** `completed`: ids of orders that became complete; the others are reopened. */
  decide: (found: ReadonlyArray<Sale>, completed: ReadonlyArray<number>, context: DecideContext) =>
    Result.map(
      Result.all(
        found.map((sale) =>
          completed.includes(sale.opportunity_id) ? sell(sale, context) : Result.succeed(takeBack(sale, context))
        )
      ),
      (events) => events.flat()
    )
}
