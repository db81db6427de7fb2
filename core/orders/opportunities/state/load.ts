/** Loads the state that rules decide on, in a fixed number of queries, whatever the number of lines. */
import { Effect } from "effect"
import { type LineAtStore, snapshotsForLines } from "../../availability/api/window.ts"
import { loadStockedProducts } from "../../availability/facts/load-products.ts"
import type { StockedProduct } from "../../availability/rules/snapshot.ts"
import { type DemandRow, demands, lockClaims, transfer_source } from "../../demands/schema.ts"
import { baseCurrency, bindings, columnList, referredRows, Store } from "../../../kernel/index.ts"
import type { Bindings, Now, RowOf, Table } from "../../../kernel/index.ts"
import { members } from "../../../people/members/schema.ts"
import type { TaxTable } from "../../../pricing/pricing/line.ts"
import { products } from "../../../products/products/schema.ts"
import { discountFacts, surchargeFacts } from "../../../products/rates/discounts-surcharges.ts"
import { rateFacts } from "../../../products/rates/product-rates.ts"
import { taxFacts } from "../../../setup/reference-data/tax.ts"
import { stock_levels } from "../../../products/stock/schema.ts"
import { stores } from "../../../setup/stores.ts"
import { demandSettings, linesTakingStock } from "./demands.ts"
import { type Customer, type DecisionState, type Opportunity, opportunityName, type UnitHold } from "./aggregate.ts"
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
  { now, settings }: Now,
  options: LoadOptions = {}
): Store.Reads<DecisionState> {
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
  if (needed !== undefined) {
    const claiming = opportunity.lines.flatMap(({ id, item_id }) =>
      item_id !== null && touches?.includes(id) !== false ? [item_id] : []
    )
    yield* lockClaims(
      withParts([...claiming, ...(options.product_ids ?? [])], stocked),
      needed.map(({ product_id }) => product_id)
    )
  }
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
      (yield* (options.lock === true ? store.getManyLocked : store.getMany)(stock_levels, level_ids)).map((row) => [
        row.id,
        row
      ])
    ),
    demands: own,
    touched_line_ids: touches === undefined ? undefined : new Set(touches),
    unit_holds: yield* loadUnitHolds(header.id, level_ids),
    units_out_elsewhere: header.state === order ? yield* loadUnitsOutElsewhere(header.id, level_ids) : new Map(),
    snapshots: needed === undefined ? undefined : yield* snapshotsForLines(needed, { now, settings }, read)
  }
})

/** Rows by a condition on these units. */
const unitRows = Effect.fnUntraced(function* <T extends Table>(
  table: T,
  level_ids: ReadonlyArray<number>,
  where: (bind: Bindings["bind"], units: string) => string
): Store.Reads<ReadonlyArray<RowOf<T>>> {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const condition = where(bind, level_ids.map(bind).join(", "))
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
