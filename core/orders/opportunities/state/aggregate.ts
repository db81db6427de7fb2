/**
 * The state that rules decide on: an opportunity with its lines, costs and units, and the facts about customer, prices
 * and stock.
 */
import { Result } from "effect"
import type { AvailabilitySnapshot, StockedProduct } from "../../availability/rules/snapshot.ts"
import type { Demand } from "../../availability/rules/demand.ts"
import type { DemandRow } from "../../demands/schema.ts"
import { reject, type Rejection } from "../../../kernel/fields/rejection.ts"
import type { DiscountRule } from "../../../pricing/pricing/discounts.ts"
import type { SurchargeGroup } from "../../../pricing/pricing/surcharges.ts"
import type { TaxTable } from "../../../pricing/pricing/tax.ts"
import type { ProductRow } from "../../../products/products/schema.ts"
import type { RateFacts } from "../../../products/rates/facts.ts"
import type { StockLevelRow } from "../../../products/stock/schema.ts"
import type { StoreRow } from "../../../setup/stores.ts"
import type { AssignmentRow } from "../tables/units.ts"
import type { CostRow, VersionRow } from "../tables/money.ts"
import { service_line } from "../tables/child-columns.ts"
import type { ItemRow } from "../tables/lines.ts"
import type { OpportunityRow } from "../tables/opportunities.ts"

export interface Opportunity {
  readonly header: OpportunityRow
  /** Lines of the active version in path order, and those of other versions that the command needs. */
  readonly lines: ReadonlyArray<ItemRow>
  readonly costs: ReadonlyArray<CostRow>
  readonly units: ReadonlyArray<AssignmentRow>
}

/** Amounts a customer owes, or will owe once invoiced, in minor units of the base currency. */
export interface Owed {
  /** Orders that no invoice was issued for, without the one that is decided on. */
  readonly orders: number
  /** Outstanding amount of issued invoices, as far as the caller may see them. */
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

/** An active demand of another order on a unit, with the holder's name. */
export interface UnitHold {
  readonly demand: Demand
  readonly holder: string
}

/** Result of a command with warnings besides the changed opportunity: `meta.warnings`. */
export interface Warned {
  readonly id: number
  readonly warnings: ReadonlyArray<string>
}

export interface DecisionState {
  readonly opportunity: Opportunity
  /** Sorted by number; empty until the first is made. */
  readonly versions: ReadonlyArray<VersionRow>
  readonly base_currency: string
  readonly products: ReadonlyMap<number, ProductRow>
  /** Products of the lines and the components of kits. */
  readonly stocked: ReadonlyMap<number, StockedProduct>
  readonly rates: RateFacts
  readonly tax: TaxTable
  readonly customer: Customer | undefined
  /** The customer's other debt, read before more is promised; undefined without a limit. */
  readonly owed?: Owed | undefined
  readonly store: StoreRow | undefined
  readonly discount_rules: ReadonlyArray<DiscountRule>
  readonly surcharge_groups: ReadonlyArray<SurchargeGroup>
  /** Stock levels of allocated units and of those named by the command. */
  readonly levels: ReadonlyMap<number, StockLevelRow>
  /** The opportunity's stored demands: all of them, or those of `touched_line_ids`. */
  readonly demands: ReadonlyArray<DemandRow>
  /** The only stored lines whose demands may change; undefined: all. */
  readonly touched_line_ids: ReadonlySet<number> | undefined
  readonly unit_holds: ReadonlyArray<UnitHold>
  /**
   * Units out with another opportunity, and with whom, by stock level. Needed in addition to demands, because a kit's
   * unit has no demand of its own (its parts have).
   */
  readonly units_out_elsewhere: ReadonlyMap<number, string>
  /** Stock by store, read only where shortages matter: for opportunities that hold stock or are about to. */
  readonly snapshots: ReadonlyMap<number, AvailabilitySnapshot> | undefined
}

/** Lines of the active version in path order: those that are shown, charged and take stock. */
export const liveLines = (opportunity: Opportunity): ReadonlyArray<ItemRow> =>
  opportunity.lines.filter((line) => line.is_live)
/** 422 on `item` for lines of an inactive version: an offer is not changed. */
export const inActiveVersion = (line: ItemRow): Result.Result<void, Rejection> =>
  line.is_live
    ? Result.succeed(undefined)
    : reject("item", `${line.name} belongs to a version that is not active; activate it first.`)
export const unitsOf = (opportunity: Opportunity, line_id: number): ReadonlyArray<AssignmentRow> =>
  opportunity.units.filter((unit) => unit.opportunity_item_id === line_id)
const byLine = new WeakMap<Opportunity["units"], ReadonlyMap<number, ReadonlyArray<AssignmentRow>>>()
/** The units of every line by its id, computed once for each state of the opportunity. */
export const unitsByLine = ({ units }: Opportunity): ReadonlyMap<number, ReadonlyArray<AssignmentRow>> => {
  let found = byLine.get(units)
  if (found === undefined) byLine.set(units, (found = Map.groupBy(units, (unit) => unit.opportunity_item_id)))
  return found
}

/** The catalogue product a line takes from stock; groups, services and texts take nothing. */
export const stockedProductOf = (line: Pick<ItemRow, "item_type" | "item_id" | "transaction_type">): number | null =>
  (line.item_type === "product" || line.item_type === "accessory") && line.transaction_type !== service_line
    ? line.item_id
    : null

export const withLine = (opportunity: Opportunity, line_id: number, set: Partial<ItemRow>): Opportunity => ({
  ...opportunity,
  lines: opportunity.lines.map((line) => (line.id === line_id ? { ...line, ...set } : line))
})
export const withUnit = (opportunity: Opportunity, unit_id: number, set: Partial<AssignmentRow>): Opportunity => ({
  ...opportunity,
  units: opportunity.units.map((unit) => (unit.id === unit_id ? { ...unit, ...set } : unit))
})
export const withHeader = (opportunity: Opportunity, set: Partial<OpportunityRow>): Opportunity => ({
  ...opportunity,
  header: { ...opportunity.header, ...set }
})
