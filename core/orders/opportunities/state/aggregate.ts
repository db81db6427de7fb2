/**
 * The state that rules decide on: an opportunity with its lines, costs and units, and facts about customer, prices and
 * stock.
 */
import { Effect, Result } from "effect"
import type { AvailabilitySnapshot, StockedProduct } from "../../availability/rules/snapshot.ts"
import type { LineAtStore } from "../../availability/api/window.ts"
import type { Demand } from "../../availability/rules/demand.ts"
import type { DemandRow } from "../../demands/schema.ts"
import { reject, Store, type Rejection } from "../../../kernel/index.ts"
import type { DiscountRule } from "../../../pricing/pricing/discounts.ts"
import type { SurchargeGroup } from "../../../pricing/pricing/surcharges.ts"
import type { TaxTable } from "../../../pricing/pricing/line.ts"
import type { ProductRow } from "../../../products/products/schema.ts"
import type { RateFacts } from "../../../products/rates/product-rates.ts"
import type { StockLevelRow } from "../../../products/stock/schema.ts"
import type { StoreRow } from "../../../setup/stores.ts"
import { opportunities, order, service_line } from "../tables/index.ts"
import type { AssignmentRow, CostRow, ItemRow, ItemType, OpportunityRow, VersionRow } from "../tables/index.ts"
import { numberText } from "../../../values/text.ts"

export interface Opportunity {
  readonly header: OpportunityRow
  /** Lines of the active version in path order, and those of other versions that the command needs. */
  readonly lines: ReadonlyArray<ItemRow>
  readonly costs: ReadonlyArray<CostRow>
  readonly units: ReadonlyArray<AssignmentRow>
}

/** Debt of a customer, or future debt once invoiced, in minor units of the base currency. */
export interface Owed {
  /** Total of orders without an issued invoice, except the one being decided. */
  readonly orders: number
  /** Outstanding total of issued invoices; on a device, of those it holds. */
  readonly invoices: number
}

/** Properties of the customer for pricing, tax and credit checks. */
export interface Customer {
  readonly id: number
  readonly name: string
  readonly is_on_stop: boolean
  /** Minor units of the base currency; null: no limit. */
  readonly credit_limit: number | null
  readonly membership_type: string
  readonly sale_tax_class_id: number | null
  readonly price_category_id: number | null
  readonly discount_category_id: number | null
  readonly tag_list: ReadonlyArray<string>
}

/** An active demand on a unit by another opportunity, a container or a transfer, with the holder's name. */
export interface UnitHold {
  readonly demand: Demand
  readonly holder: string
}

/** Result of a command whose response has `meta.warnings`. */
export interface Warned {
  readonly id: number
  readonly warnings: ReadonlyArray<string>
}

/** Columns of stock levels that rules read. */
type UnitLevel = Pick<
  StockLevelRow,
  | "id"
  | "product_id"
  | "store_id"
  | "stock_category"
  | "quantity_allocated"
  | "item_name"
  | "asset_number"
  | "serial_number"
  | "starts_at"
  | "ends_at"
  | "given_back_at"
  | "is_gone"
  | "out_of_service"
  | "inspection_due_at"
>

export interface DecisionState {
  readonly opportunity: Opportunity
  /** Sorted by number; empty if there are no versions. */
  readonly versions: ReadonlyArray<VersionRow>
  readonly base_currency: string
  readonly products: ReadonlyMap<number, ProductRow>
  /** Products of the lines, and components of kits. */
  readonly stocked: ReadonlyMap<number, StockedProduct>
  readonly rates: RateFacts
  readonly tax: TaxTable
  readonly customer: Customer | undefined
  /** The customer's other debt; undefined if there is no credit limit or nothing more is promised. */
  readonly owed?: Owed | undefined
  readonly store: StoreRow | undefined
  readonly discount_rules: ReadonlyArray<DiscountRule>
  readonly surcharge_groups: ReadonlyArray<SurchargeGroup>
  /** Stock levels of allocated units and of units in the request. */
  readonly levels: ReadonlyMap<number, UnitLevel>
  /** The opportunity's stored demands: all of them, or those of `touched_line_ids`. */
  readonly demands: ReadonlyArray<DemandRow>
  /** The only stored lines whose demands may change; undefined for all. */
  readonly touched_line_ids: ReadonlySet<number> | undefined
  readonly unit_holds: ReadonlyArray<UnitHold>
  /**
   * Units that are out with another opportunity, with its name, by stock level. Needed besides demands, as a kit's unit
   * has no demand of its own (its parts have).
   */
  readonly units_out_elsewhere: ReadonlyMap<number, string>
  /** Stock by store; read only where shortages matter: if the opportunity holds stock or is about to. */
  readonly snapshots: ReadonlyMap<number, AvailabilitySnapshot> | undefined
  /** Whether a line's product surely suffices for all lines and the command; then it is in no snapshot. */
  readonly enough?: ((line: LineAtStore) => boolean) | undefined
}

/** Lines of the active version in path order: those that are displayed, charged and take stock. */
export const liveLines = (opportunity: Opportunity): ReadonlyArray<ItemRow> =>
  opportunity.lines.filter((line) => line.is_live)
/** 422 on `item` for a line of an inactive version: only lines of the active one change. */
export const inActiveVersion = (line: ItemRow): Result.Result<void, Rejection> =>
  line.is_live
    ? Result.succeed(undefined)
    : reject("item", `${line.name} belongs to a version that is not active; activate it first.`)
export const unitsOf = (opportunity: Opportunity, line_id: number): ReadonlyArray<AssignmentRow> =>
  opportunity.units.filter((unit) => unit.opportunity_item_id === line_id)
const byLine = new WeakMap<Opportunity["units"], ReadonlyMap<number, ReadonlyArray<AssignmentRow>>>()
/** Units by line id, cached per state of the opportunity. */
export const unitsByLine = ({ units }: Opportunity): ReadonlyMap<number, ReadonlyArray<AssignmentRow>> => {
  let found = byLine.get(units)
  if (found === undefined) byLine.set(units, (found = Map.groupBy(units, (unit) => unit.opportunity_item_id)))
  return found
}

/** The stock product of a line; null for groups, services and texts, which take no stock. */
export const stockedProductOf = (line: Pick<ItemRow, "item_type" | "item_id" | "transaction_type">): number | null =>
  (line.item_type === "product" || line.item_type === "accessory") && line.transaction_type !== service_line
    ? line.item_id
    : null

export const withLine = (opportunity: Opportunity, line_id: number, set: Partial<ItemRow>): Opportunity => ({
  ...opportunity,
  lines: opportunity.lines.map((line) => (line.id === line_id ? { ...line, ...set } : line))
})
export const withHeader = (opportunity: Opportunity, set: Partial<OpportunityRow>): Opportunity => ({
  ...opportunity,
  header: { ...opportunity.header, ...set }
})

// Names of an opportunity in messages, and the holder of a demanded unit.

/** `"Gala" (order 12)`; by id if the opportunity is not given. */
export const opportunityName = (id: number, opportunity: OpportunityRow | undefined): string => {
  if (opportunity === undefined) return `opportunity ${id}`
  const kind = opportunity.state === order ? "order" : "quotation"
  return `"${opportunity.subject}" (${kind} ${numberText(opportunity.number, id)})`
}

/** A demand with its opportunity's name; `holder` is absent if it has none. */
export interface HeldDemand extends DemandRow {
  readonly holder?: string
}
/** Adds the name of each demand's opportunity, in at most one query. */
export const withHolders = Effect.fnUntraced(function* (
  demands: ReadonlyArray<DemandRow>
): Store.Reads<ReadonlyArray<HeldDemand>> {
  const ids = [...new Set(demands.flatMap(({ opportunity_id }) => opportunity_id ?? []))]
  if (ids.length === 0) return demands
  const found = yield* Store.byId(opportunities, ids)
  return demands.map((demand) => {
    const { opportunity_id: id } = demand
    return id === null ? demand : { ...demand, holder: opportunityName(id, found.get(id)) }
  })
})
export const holderText = ({ holder, opportunity_id }: HeldDemand): string =>
  holder ?? `opportunity ${opportunity_id ?? "unknown"}`

// Position of a line: a path of four digits per level, "0001", "00010001" (rules/opportunities 7.1).

const width = 4
const group_levels_max = 5
const siblings_max = 9_999

export const parentPath = (path: string): string | null => (path.length > width ? path.slice(0, -width) : null)
export const depthOf = (path: string): number => path.length / width
export const isBelow = (path: string, ancestor: string): boolean =>
  path.length > ancestor.length && path.startsWith(ancestor)
const childPath = (parent: string | null, place: number): string =>
  `${parent ?? ""}${String(place).padStart(width, "0")}`

/** Whether a line may be below a line of type `parent` (undefined: at the root). */
const canNest = (type: ItemType, parent: ItemType | undefined): boolean =>
  type === "accessory" ? parent === "product" : parent === undefined || parent === "group"
const nestingError = (type: ItemType): string =>
  type === "accessory" ? "An accessory belongs below a product line." : "A line stands at the top or below a group."

/** The path after a parent's last child. 422 on `parent_path` if it is full, unknown, or may not hold the type. */
export const nextPath = (
  lines: ReadonlyArray<ItemRow>,
  type: ItemType,
  parent: string | null
): Result.Result<string, Rejection> => {
  const refuse = (text: string) => reject("parent_path", text)
  const above = parent === null ? undefined : lines.find((line) => line.path === parent)
  if (parent !== null && above === undefined) return refuse("There is no line at this path.")
  if (!canNest(type, above?.item_type)) return refuse(nestingError(type))
  if (type === "group" && parent !== null && depthOf(parent) >= group_levels_max)
    return refuse(`Groups nest at most ${group_levels_max} levels deep.`)
  const last = lines
    .filter((line) => parentPath(line.path) === parent)
    .reduce((top, line) => Math.max(top, Number(line.path.slice(-width))), 0)
  return last >= siblings_max
    ? refuse(`A group holds at most ${siblings_max} lines.`)
    : Result.succeed(childPath(parent, last + 1))
}

export interface Node {
  readonly id: number
  readonly depth: number
}
/**
 * Paths for all lines in display order. A row is at most one level deeper than the row before, else its depth is cut;
 * its parent is the nearest earlier row one level up. 422 on `nodes.N` if the line's type is not allowed there.
 */
export const restructured = (
  nodes: ReadonlyArray<Node>,
  lines: ReadonlyMap<number, ItemRow>
): Result.Result<ReadonlyArray<{ readonly id: number; readonly path: string }>, Rejection> => {
  const open: Array<{ readonly path: string; readonly type: ItemType; children: number }> = []
  let roots = 0
  const paths: Array<{ readonly id: number; readonly path: string }> = []
  for (const [index, node] of nodes.entries()) {
    const line = lines.get(node.id)
    if (line === undefined) continue
    const depth = Math.min(node.depth, open.length + 1)
    open.length = depth - 1
    const parent = open.at(-1)
    const refuse = (text: string) => reject(`nodes.${index}`, `${line.name}: ${text}`)
    if (!canNest(line.item_type, parent?.type)) return refuse(nestingError(line.item_type))
    if (line.item_type === "group" && depth > group_levels_max)
      return refuse(`Groups nest at most ${group_levels_max} levels deep.`)
    const place = parent === undefined ? ++roots : ++parent.children
    if (place > siblings_max) return refuse(`A group holds at most ${siblings_max} lines.`)
    const path = childPath(parent?.path ?? null, place)
    paths.push({ id: node.id, path })
    open.push({ path, type: line.item_type, children: 0 })
  }
  return Result.succeed(paths)
}
