/** Rows of an opportunity for tests of its decisions, and the decision state built from them. */
import type { StockedProduct } from "../../../../core/orders/availability/rules/snapshot.ts"
import { demands, type DemandRow } from "../../../../core/orders/demands/schema.ts"
import { initialRow } from "../../../../core/kernel/tables/field-schema.ts"
import type { Opportunity, DecisionState } from "../../../../core/orders/opportunities/state/aggregate.ts"
import {
  asset_assignments,
  type AssignmentRow,
  type ItemRow,
  opportunity_items
} from "../../../../core/orders/opportunities/tables/lines.ts"
import {
  opportunities,
  opportunity_costs,
  opportunity_versions,
  type OpportunityRow
} from "../../../../core/orders/opportunities/tables/opportunities.ts"
import { stock_levels, type StockLevelRow } from "../../../../core/products/stock/schema.ts"
import { stores } from "../../../../core/setup/stores.ts"
import { type Facts, given_at, type GivenRow, row, stamps } from "../../decider.ts"

export const opportunity_id = 7
export const line_id = 70
const store_id = 1
const lamp_id = 50
export const starts_at = "2026-09-01T09:00:00.000Z"
export const ends_at = "2026-09-05T17:00:00.000Z"

/** Opportunity 7 without lines; `set` gives its status. */
export const opportunity = (set: Partial<OpportunityRow> = {}): GivenRow =>
  row(opportunities, {
    ...initialRow(opportunities),
    ...stamps,
    id: opportunity_id,
    subject: "Summer fair",
    store_id,
    currency_code: "GBP",
    starts_at,
    ends_at,
    ...set
  })
/** Line 70: two lamps, which are tracked unit by unit. */
export const line = (set: Partial<ItemRow> = {}): GivenRow =>
  row(opportunity_items, {
    ...initialRow(opportunity_items),
    ...stamps,
    id: line_id,
    opportunity_id,
    name: "Lamp",
    item_id: lamp_id,
    path: "0001",
    quantity: "2.00",
    currency_code: "GBP",
    starts_at,
    ends_at,
    ...set
  })
/** An assignment of stock level `500 + id` to line 70. */
export const unit = (id: number, set: Partial<AssignmentRow> = {}): GivenRow =>
  row(asset_assignments, {
    ...initialRow(asset_assignments),
    ...stamps,
    id,
    opportunity_id,
    opportunity_item_id: line_id,
    stock_level_id: 500 + id,
    allocated_at: given_at,
    ...set
  })
/** Stock level `500 + id`: a lamp named `Lamp <id>` that is allocated to one opportunity. */
export const lamp = (id: number, set: Partial<StockLevelRow> = {}): GivenRow =>
  row(stock_levels, {
    ...initialRow(stock_levels),
    ...stamps,
    id: 500 + id,
    product_id: lamp_id,
    store_id,
    item_name: `Lamp ${id}`,
    stock_category: 50,
    quantity_held: "1.00",
    quantity_allocated: "1.00",
    ...set
  })

/** Demand `id` of line 70 for one unit, as of a draft. */
export const demand = (id: number, set: Partial<DemandRow> = {}): GivenRow =>
  row(demands, { ...stamps, reaches_to: null, ...demandOf(id, set) })
/** Data of such a demand, as events record it. */
export const demandOf = (id: number, set: Partial<DemandRow> = {}) => ({
  product_id: lamp_id,
  store_id,
  asset_id: null,
  quantity: 1,
  starts_at,
  ends_at,
  buffered_starts_at: starts_at,
  buffered_ends_at: ends_at,
  source_type: "opportunity_item",
  source_id: line_id,
  phase: "draft" as DemandRow["phase"],
  is_active: false,
  out: false,
  pending_checkin: false,
  returned_at: null,
  checked_at: null,
  opportunity_id,
  container_id: null,
  ...set,
  id
})
const stocked_lamp: StockedProduct = {
  id: lamp_id,
  name: "Lamp",
  is_serialised: true,
  track_availability: true,
  is_kit: false,
  before_minutes: 0,
  after_minutes: 0,
  container_mode: null,
  parts: []
}

const only = <T>(found: T | undefined, what: string): T => {
  if (found === undefined) throw new Error(`given without ${what}`)
  return found
}
export const unitIn = ({ get }: Facts, id: number): AssignmentRow => only(get(asset_assignments, id), `unit ${id}`)

/** Decision state of opportunity 7 with the given rows, without other demands and without a check of stock. */
export const stateOf = ({ find, get }: Facts, more: Partial<DecisionState> = {}): DecisionState => {
  const of = { opportunity_id }
  const opportunity: Opportunity = {
    header: only(get(opportunities, opportunity_id), "the opportunity"),
    lines: find(opportunity_items, of).toSorted((one, other) => (one.path < other.path ? -1 : 1)),
    costs: find(opportunity_costs, of),
    units: find(asset_assignments, of)
  }
  return {
    opportunity,
    versions: find(opportunity_versions, of),
    base_currency: "GBP",
    products: new Map(),
    stocked: new Map([[lamp_id, stocked_lamp]]),
    rates: new Map(),
    tax: { rules: [], rates: [], default_organisation_tax_class_id: null, default_product_tax_class_id: null },
    customer: undefined,
    store: get(stores, store_id),
    discount_rules: [],
    surcharge_groups: [],
    levels: new Map(find(stock_levels, {}).map((level) => [level.id, level])),
    demands: find(demands, of),
    touched_line_ids: undefined,
    unit_holds: [],
    units_out_elsewhere: new Map(),
    snapshots: undefined,
    ...more
  }
}
