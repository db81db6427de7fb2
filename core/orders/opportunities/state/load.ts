/** Loads the state that rules decide on, in a fixed number of queries, whatever the number of lines. */
import { Effect } from "effect"
import { type LineAtStore, snapshotsForLines, spanOf } from "../../availability/api/window.ts"
import { boundInstant, loadStockedProducts } from "../../availability/facts/load-products.ts"
import { requestedUnits } from "../../availability/rules/line.ts"
import { compositionOf, type StockedProduct } from "../../availability/rules/snapshot.ts"
import { type DemandRow, demands, lockClaims, transfer_source } from "../../demands/schema.ts"
import { baseCurrency, bindings, columnList, decodeValue, referredRows, Store } from "../../../kernel/index.ts"
import type { Bindings, Now, RowOf, Settings, StoreShape, Table } from "../../../kernel/index.ts"
import { members } from "../../../people/members/schema.ts"
import type { TaxTable } from "../../../pricing/pricing/line.ts"
import { products } from "../../../products/products/schema.ts"
import { discountFacts, surchargeFacts } from "../../../products/rates/discounts-surcharges.ts"
import { rateFacts } from "../../../products/rates/product-rates.ts"
import { taxFacts } from "../../../setup/reference-data/tax.ts"
import { blocksUninspected, stock_levels, unit_category } from "../../../products/stock/schema.ts"
import { stores } from "../../../setup/stores.ts"
import { demandSettings, linesTakingStock } from "./demands.ts"
import { opportunityName, unitsByLine } from "./aggregate.ts"
import type { Customer, DecisionState, Opportunity, UnitHold } from "./aggregate.ts"
import { asset_assignments, dispatched, on_hire, opportunities, opportunity_costs } from "../tables/index.ts"
import { opportunity_items, opportunity_versions, order, type OpportunityRow } from "../tables/index.ts"

export interface LoadOptions {
  /** Further products: of a line to add, or a replacement. */
  readonly product_ids?: ReadonlyArray<number>
  /** Products whose rates may be needed; other rates are not read. */
  readonly rated_product_ids?: ReadonlyArray<number>
  readonly level_ids?: ReadonlyArray<number>
  /** Protects its units and store from deletion until the command ends: for changes after which it holds them again. */
  readonly lock?: boolean
  /** Reads the stock that lines take from, to find shortages. */
  readonly stock?: boolean
  /** Lines as the command may leave them, if windows or products change. */
  readonly lines?: ReadonlyArray<LineAtStore>
  /**
   * For commands whose rules only ask which lines are short: the most units of a product that touched and new lines may
   * take. Stock of products that surely suffice is not read.
   */
  readonly taken_max?: number
  /** The customer after the command; by default the current one. */
  readonly member_id?: number | null
  readonly store_id?: number | null
  readonly surcharge_group_ids?: ReadonlyArray<number>
  /**
   * Reads lines of other versions only if they have units. Not sufficient for rules about versions or earlier
   * dispatches.
   */
  readonly live_only?: boolean
  /**
   * Stored lines whose demands and units the command may change; demands and stock levels of others are not read.
   * Absent: all lines.
   */
  readonly touched_line_ids?: ReadonlyArray<number> | ((opportunity: Opportunity) => ReadonlyArray<number>)
  /** Lines to read even if their version is inactive. */
  readonly line_ids?: ReadonlyArray<number>
}
const level_columns = [
  ...(["id", "product_id", "store_id", "stock_category", "quantity_allocated", "item_name", "asset_number"] as const),
  ...(["serial_number", "starts_at", "ends_at", "given_back_at", "is_gone", "out_of_service"] as const),
  "inspection_due_at" as const
]
const untaxed: TaxTable = {
  rules: [],
  rates: [],
  default_organisation_tax_class_id: null,
  default_product_tax_class_id: null
}
const loadOpportunity = Effect.fnUntraced(function* (
  header: OpportunityRow,
  { line_ids = [], live_only = false }: LoadOptions = {}
): Store.Reads<Opportunity> {
  const units = yield* Store.find(asset_assignments, { opportunity_id: header.id })
  const reads_all = !live_only || header.version_count < 2
  const found = yield* Store.find(
    opportunity_items,
    { opportunity_id: header.id, ...(reads_all ? {} : { is_live: true }) },
    { order: ["path", "id"], again: true }
  )
  const there = new Set(found.map((line) => line.id))
  const others = reads_all
    ? []
    : yield* Store.getMany(
        opportunity_items,
        [...line_ids, ...units.map((unit) => unit.opportunity_item_id)].filter((id) => !there.has(id))
      )
  return {
    header,
    units,
    lines: others.length === 0 ? found : [...found, ...others],
    costs: yield* Store.find(opportunity_costs, { opportunity_id: header.id }, { order: ["sort_order", "id"] })
  }
})

export const loadCustomer = Effect.fnUntraced(function* (member_id: number | null): Store.Reads<Customer | undefined> {
  return member_id === null ? undefined : yield* Store.get(members, member_id)
})

/** Adds the products' parts, at any depth. */
const withParts = (
  product_ids: ReadonlyArray<number>,
  stocked: ReadonlyMap<number, Pick<StockedProduct, "parts">>
): ReadonlySet<number> => {
  const found = new Set(product_ids)
  // The loop also visits parts added while it runs.
  for (const id of found) for (const part of stocked.get(id)?.parts ?? []) found.add(part.component_product_id)
  return found
}

/** Ids to read: products, stock levels of units and, unless all lines may change, lines. */
const idsToRead = (opportunity: Opportunity, options: LoadOptions) => {
  const product_ids = [
    ...new Set([
      ...opportunity.lines.map((line) => line.item_id).filter((id) => id !== null),
      ...(options.product_ids ?? [])
    ])
  ]
  const touches =
    typeof options.touched_line_ids === "function" ? options.touched_line_ids(opportunity) : options.touched_line_ids
  const touched =
    touches === undefined
      ? opportunity.units
      : opportunity.units.filter((unit) => touches.includes(unit.opportunity_item_id))
  const level_ids = [...new Set([...touched.map((unit) => unit.stock_level_id), ...(options.level_ids ?? [])])]
  return { product_ids, touches, level_ids }
}

/** Stored demands of these lines of the opportunity; of all its lines if `touches` is undefined. */
const loadOwnDemands = (opportunity_id: number, touches: ReadonlyArray<number> | undefined) =>
  Store.find(
    demands,
    touches === undefined ? { opportunity_id } : { source_type: "opportunity_item", source_id: touches }
  )

/** Loads an opportunity with the facts for pricing, demands and rules. */
export const loadDecisionState = Effect.fnUntraced(function* (
  header: OpportunityRow,
  context: Now,
  options: LoadOptions = {}
): Store.Reads<DecisionState> {
  const { now, settings } = context
  const store = yield* Store
  const opportunity = yield* loadOpportunity(header, options)
  const store_id = options.store_id === undefined ? header.store_id : options.store_id
  const { level_ids, product_ids, touches } = idsToRead(opportunity, options)
  const customer = yield* loadCustomer(options.member_id === undefined ? header.member_id : options.member_id)
  const needed =
    options.stock === true
      ? [...linesTakingStock(opportunity, demandSettings(settings, now)), ...(options.lines ?? [])]
      : undefined
  const stocked = yield* loadStockedProducts(product_ids)
  const claiming = { opportunity, stocked, touches, units: level_ids.length }
  const enough = needed && (yield* lockStock(needed, claiming, options, settings))
  const own = yield* loadOwnDemands(header.id, touches)
  const read = touches === undefined ? { opportunity_id: header.id, demands: own } : undefined
  return {
    opportunity,
    versions:
      header.version_count === 0
        ? []
        : yield* store.find(opportunity_versions, { opportunity_id: header.id }, { order: ["version_number"] }),
    base_currency: baseCurrency(settings),
    products: yield* Store.byId(products, product_ids),
    stocked,
    rates:
      options.rated_product_ids === undefined || options.rated_product_ids.length === 0
        ? new Map()
        : yield* rateFacts(options.rated_product_ids, { store_id }),
    // Customers without a tax class are not taxed, unless tax was locked while they had one.
    tax: (customer?.sale_tax_class_id ?? null) === null && !header.tax_locked ? untaxed : yield* taxFacts,
    customer,
    store:
      store_id === null
        ? undefined
        : options.lock === true
          ? (yield* store.getManyLocked(stores, [store_id]))[0]
          : yield* store.get(stores, store_id),
    discount_rules: yield* discountFacts(header.created_at === "" ? null : header.created_at),
    surcharge_groups: yield* surchargeFacts(options.surcharge_group_ids ?? header.surcharge_group_ids),
    levels: new Map(
      (yield* options.lock === true
        ? store.getManyLocked(stock_levels, level_ids)
        : store.pickMany(stock_levels, level_columns, level_ids)).map((row) => [row.id, row])
    ),
    demands: own,
    touched_line_ids: touches === undefined ? undefined : new Set(touches),
    unit_holds: yield* loadUnitHolds(header.id, level_ids),
    units_out_elsewhere: header.state === order ? yield* loadUnitsOutElsewhere(header.id, level_ids) : new Map(),
    enough,
    snapshots: needed && (yield* snapshotsForLines(needed, context, read, enough))
  }
})

/** Number of lines from which on sums are looked up first, which would be one more look for a few. */
const long_order = 20
interface Claiming extends Pick<DecisionState, "opportunity" | "stocked"> {
  readonly touches: ReadonlyArray<number> | undefined
  /** Number of units that the command may move. */
  readonly units: number
}
/**
 * Locks the products that the command may demand, and those of the lines. If its rules only ask what is short, returns
 * whether a line's product surely suffices for all lines and for what the command takes.
 */
const lockStock = Effect.fnUntraced(function* (
  needed: ReadonlyArray<LineAtStore>,
  { opportunity, stocked, touches, units }: Claiming,
  { product_ids = [], taken_max }: LoadOptions,
  settings: Settings
): Store.Reads<DecisionState["enough"]> {
  const claiming = opportunity.lines.flatMap(({ id, item_id }) =>
    item_id !== null && touches?.includes(id) !== false ? [item_id] : []
  )
  const claimed = withParts([...claiming, ...product_ids], stocked)
  const wanted = new Set(needed.map(({ product_id }) => product_id))
  yield* lockClaims(claimed, wanted)
  if (taken_max === undefined || needed.length < long_order) return undefined
  const of_line = unitsByLine(opportunity)
  // Demands on parts depend on their kits.
  const parts = new Set(
    [...claimed].flatMap((id) => stocked.get(id)?.parts.map((one) => one.component_product_id) ?? [])
  )
  const taken = (id: number): number =>
    parts.has(id) ? Number.POSITIVE_INFINITY : claimed.has(id) ? taken_max + units : 0
  return yield* sufficing(
    opportunity.header.id,
    needed.map((line) => {
      const { length: quantity } = of_line.get(line.id) ?? []
      return quantity > line.quantity ? { ...line, quantity } : line
    }),
    { stocked, taken },
    settings
  )
})

// Products that suffice for all lines, which a bound shows without their demands one by one.

const placeOf = ({ product_id, store_id }: Pick<LineAtStore, "product_id" | "store_id">): string =>
  `${store_id}/${product_id}`

interface Bounded {
  /** One line for each product and store. */
  readonly lines: ReadonlyArray<LineAtStore>
  readonly window: ReturnType<typeof spanOf>
}
/** SQL of these columns for the lines' products and stores, to be continued, and its values. */
const rowsAt = ({ dialect }: Pick<StoreShape, "dialect">, { lines }: Bounded, table: Table, columns: string) => {
  const { bind, list, values } = bindings(dialect)
  const listed = (ids: ReadonlyArray<number>): string => list([...new Set(ids)])
  const text =
    `select product_id, store_id, ${columns} from ${table.name} ` +
    `where store_id in (${listed(lines.map((line) => line.store_id))}) ` +
    `and product_id in (${listed(lines.map((line) => line.product_id))})`
  return { bind, text, values }
}
/** Statement of the sums of active demands that meet the window: of all, or of one opportunity by line. */
const sumsOfDemands = (store: Pick<StoreShape, "dialect">, bounded: Bounded, opportunity_id?: number) => {
  const by = opportunity_id === undefined ? "" : "source_id, "
  const { bind, text, values } = rowsAt(store, bounded, demands, `${by}sum(quantity) as quantity`)
  const { from, to } = bounded.window
  const meeting =
    `reaches_to > ${bind(boundInstant(from))} and buffered_starts_at < ${bind(boundInstant(Math.max(to, from + 1)))}` +
    (opportunity_id === undefined
      ? ""
      : ` and source_type = 'opportunity_item' and opportunity_id = ${bind(opportunity_id)}`)
  return { text: `${text} and ${meeting} and is_active = true group by ${by}product_id, store_id`, values }
}

/**
 * Units that a plain product has left in every slot of the window, at least: stock without a hire window, less all
 * active demands that meet the window; absent if stock is out of service. One row for each place.
 */
const leastFree = Effect.fnUntraced(function* (
  bounded: Bounded,
  settings: Settings
): Store.Reads<ReadonlyMap<string, number>> {
  const store = yield* Store
  const counted = (quantity: string, category: string): string =>
    `sum(case when ${category} and starts_at is null and ends_at is null then ${quantity} else 0 end)`
  const uninspected = blocksUninspected(settings) ? " or inspection_due_at is not null" : ""
  const sums =
    `${counted("1", `stock_category = ${unit_category} and not is_gone`)} as units, ` +
    `${counted("quantity_held", `stock_category <> ${unit_category}`)} as bulk, ` +
    `sum(case when out_of_service <> '[]'${uninspected} then 1 else 0 end) as out_of_service`
  const { text, values } = rowsAt(store, bounded, stock_levels, sums)
  const of_stock = { text: `${text} group by product_id, store_id`, values }
  const [stock = [], taken = []] = yield* store.readAll([of_stock, sumsOfDemands(store, bounded)])
  const demanded = new Map(taken.map((row) => [placeOf(row), Number(row.quantity)]))
  return new Map(
    stock.flatMap((row) => {
      const bulk = Number(decodeValue(stock_levels.columns.quantity_held, row.bulk, store.dialect))
      const left = Number(row.units) + Math.floor(bulk) - (demanded.get(placeOf(row)) ?? 0)
      return Number(row.out_of_service) > 0 ? [] : [[placeOf(row), left] as const]
    })
  )
})

const bounded_millis_max = 5 * 365 * 86_400_000
const bounded_places_max = 500
/**
 * Which lines of an opportunity are of plain products that surely suffice for all its lines, and for what a command
 * takes. `lines` have the most that each may need; `taken`: the most units of a product that new demands may take.
 */
const sufficing = Effect.fnUntraced(function* (
  opportunity_id: number,
  lines: ReadonlyArray<LineAtStore>,
  {
    stocked,
    taken
  }: { readonly stocked: ReadonlyMap<number, StockedProduct>; readonly taken: (product_id: number) => number },
  settings: Settings
): Store.Reads<(line: LineAtStore) => boolean> {
  const isPlain = (product?: StockedProduct): boolean => product !== undefined && compositionOf(product) === "plain"
  const places = Map.groupBy(
    lines.filter(({ product_id }) => isPlain(stocked.get(product_id))),
    placeOf
  )
  const window = spanOf(lines)
  if (places.size === 0 || places.size > bounded_places_max || window.to - window.from > bounded_millis_max)
    return () => false
  const firsts = [...places.values()].flatMap((of_place) => of_place.slice(0, 1))
  const free = yield* leastFree({ lines: firsts, window }, settings)
  const linesAt = (line: LineAtStore): ReadonlyArray<LineAtStore> => places.get(placeOf(line)) ?? []
  const left = (line: LineAtStore): number => (free.get(placeOf(line)) ?? 0) - taken(line.product_id)
  const suffices = (line: LineAtStore): boolean =>
    linesAt(line).every((one) => requestedUnits(one.quantity) <= left(one))
  // Where the opportunity's own demands leave less than a line needs, those of each line are looked at.
  const tight = firsts.filter((line) => left(line) >= 0 && free.has(placeOf(line)) && !suffices(line))
  const enough = new Set(firsts.filter(suffices).map(placeOf))
  if (tight.length > 0) {
    const { text, values } = sumsOfDemands(yield* Store, { lines: tight, window }, opportunity_id)
    const rows = yield* Store.run<LineAtStore & { readonly source_id: number }>(text, values)
    const own = new Map(rows.map((row) => [`${placeOf(row)}/${row.source_id}`, Number(row.quantity)]))
    for (const line of tight)
      if (
        linesAt(line).every(
          (one) => requestedUnits(one.quantity) <= left(one) + (own.get(`${placeOf(one)}/${one.id}`) ?? 0)
        )
      )
        enough.add(placeOf(line))
  }
  return (line) => enough.has(placeOf(line))
})

/** Rows by a condition on these units. */
const unitRows = Effect.fnUntraced(function* <T extends Table>(
  table: T,
  level_ids: ReadonlyArray<number>,
  where: (bind: Bindings["bind"], units: string) => string
): Store.Reads<ReadonlyArray<RowOf<T>>> {
  const store = yield* Store
  const { bind, list, values } = bindings(store.dialect)
  const condition = where(bind, list(level_ids))
  const rows = yield* store.run(`select ${columnList(table)} from ${table.name} where ${condition} order by id`, values)
  return rows.map((row) => store.decode(table, row))
})

/** Active demands on these units, except the opportunity's own, with the holders' names. Two queries. */
const loadUnitHolds = Effect.fnUntraced(function* (
  opportunity_id: number,
  level_ids: ReadonlyArray<number>
): Store.Reads<ReadonlyArray<UnitHold>> {
  if (level_ids.length === 0) return []
  const found = yield* unitRows(
    demands,
    level_ids,
    (bind, units) =>
      `asset_id in (${units}) and is_active = true ` +
      `and (opportunity_id is null or opportunity_id <> ${bind(opportunity_id)})`
  )
  const holders = yield* referredRows(opportunities, found, "opportunity_id")
  return found.map((demand) => ({ demand, holder: holderName(demand, holders.get(demand.opportunity_id ?? 0)) }))
})
/** Which of these units are dispatched or on hire with another opportunity, with its name. Two queries at most. */
const loadUnitsOutElsewhere = Effect.fnUntraced(function* (
  opportunity_id: number,
  level_ids: ReadonlyArray<number>
): Store.Reads<ReadonlyMap<number, string>> {
  if (level_ids.length === 0) return new Map()
  const out = yield* unitRows(
    asset_assignments,
    level_ids,
    (bind, units) =>
      `stock_level_id in (${units}) and status in (${dispatched}, ${on_hire}) ` +
      `and opportunity_id <> ${bind(opportunity_id)}`
  )
  const others = yield* referredRows(opportunities, out, "opportunity_id")
  return new Map(
    out.map((unit) => [unit.stock_level_id, opportunityName(unit.opportunity_id, others.get(unit.opportunity_id))])
  )
})
const holderName = (demand: DemandRow, opportunity: OpportunityRow | undefined): string =>
  opportunity !== undefined
    ? opportunityName(opportunity.id, opportunity)
    : demand.source_type === "container"
      ? `container ${demand.container_id ?? demand.source_id}`
      : `${demand.source_type === transfer_source ? "transfer" : demand.source_type} ${demand.source_id}`
