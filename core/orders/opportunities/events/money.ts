/** Events of costs, prices and totals (rules/opportunities 8, 11). */
import { Schema } from "effect"
import { alterRow, columnsBefore, eventType, insertRow, keyedColumns, newRow, remove } from "../../../kernel/index.ts"
import { someColumns, updateRow, type AnyEventType, type NewEvent } from "../../../kernel/index.ts"
import { type ProjectionContext, type RowChange, type SomeColumns } from "../../../kernel/index.ts"
import { childEvents, headerChanges, pick } from "./event-families.ts"
import { opportunities, opportunity_costs, opportunity_items, opportunity_versions } from "../tables/index.ts"
import type { CostRow, OpportunityRow } from "../tables/index.ts"

const { added, changes, removed } = childEvents("cost", opportunity_costs)
/** Values of a cost in the activity (rules/opportunities 15). */
const shown = ["description", "cost_type", "amount", "quantity", "transaction_type", "is_optional"]

const cost_added = added("cost_added", "A cost was added.", (row) => ({ cost_id: row.id, ...pick(row, shown) }))
export const costAdded = cost_added.make

const cost_changes = changes({ cost_updated: "A cost changed." })
/** `was` holds all columns that the activity shows; `also` holds those that did not change. */
export const costUpdated = (cost: CostRow, set: Partial<CostRow>): NewEvent => {
  const was = pick(cost, shown)
  const unchanged = Object.fromEntries(Object.entries(was).filter(([name]) => !(name in set)))
  const event = cost_changes.make(cost, "cost_updated", set, unchanged)
  return { ...event, data: { ...event.data, was: { ...was, ...pick(cost, Object.keys(set)) } } }
}

const cost_removed = removed("cost_removed", "A cost was removed.")
export const costRemoved = (cost: CostRow): NewEvent =>
  cost_removed.make(cost, { cost_id: cost.id, ...pick(cost, shown) })

const deal_price_changes = headerChanges({
  deal_price_set: "A total price was agreed.",
  deal_price_cleared: "The agreed total price was removed; line prices apply."
})
export const dealPriceChanged = deal_price_changes.make

const priced_fields = () => ({
  id: Schema.Int,
  set: someColumns(opportunities),
  lines: Schema.Array(keyedColumns(opportunity_items)),
  costs: Schema.Struct({
    added: Schema.Array(newRow(opportunity_costs)),
    altered: Schema.Array(keyedColumns(opportunity_costs)),
    removed: Schema.Array(Schema.Int)
  }),
  // Totals of the active version, if there are versions.
  version: Schema.optionalKey(keyedColumns(opportunity_versions))
})
const pricedSchema = () => Schema.Struct(priced_fields())
type Priced = ReturnType<typeof pricedSchema>["Type"]
const projectPriced = (
  { costs, id, lines, set, version }: Priced,
  { recorded_at }: ProjectionContext
): ReadonlyArray<RowChange> => [
  ...(Object.keys(set).length === 0 ? [] : [updateRow(opportunities, id, set, recorded_at)]),
  ...(version === undefined ? [] : [alterRow(opportunity_versions, version, recorded_at)]),
  ...lines.map((line) => alterRow(opportunity_items, line, recorded_at)),
  ...costs.removed.map((cost_id) => remove(opportunity_costs, cost_id)),
  ...costs.altered.map((cost) => alterRow(opportunity_costs, cost, recorded_at)),
  ...costs.added.map((row) => insertRow(opportunity_costs, row, recorded_at))
]
/** No activity entry, as it results from other changes. */
export const opportunityPriced = eventType("opportunity.priced", {
  meaning: "Prices, totals, taxes and surcharges as they are after a change.",
  data: pricedSchema,
  project: projectPriced
})
/** `was`: the opportunity's previous totals. */
const opportunity_repriced = eventType("opportunity.repriced", {
  meaning: "Prices, taxes and terms were brought up to date, with nothing else changed.",
  data: () => Schema.Struct({ ...priced_fields(), was: someColumns(opportunities) }),
  project: projectPriced,
  activity: ({ set, was }) => ({
    old_values: pick(was, Object.keys(was)),
    new_values: pick({ ...was, ...set }, Object.keys(was))
  })
})
const sums = { charge_total: 0, tax_total: 0, charge_including_tax_total: 0 }
/** Makes `opportunity.repriced` of the event `opportunity.priced`; `also`: further header columns. */
export const opportunityRepriced = (
  before: OpportunityRow,
  priced: NewEvent,
  also: SomeColumns<typeof opportunities>
): NewEvent => {
  const data = priced.data as Priced
  return opportunity_repriced.make({ ...data, set: { ...data.set, ...also }, was: columnsBefore(before, sums) })
}
/** Changes only columns of the opportunity. */
export const headerPriced = (id: number, set: SomeColumns<typeof opportunities>): NewEvent =>
  opportunityPriced.make({ id, set, lines: [], costs: { added: [], altered: [], removed: [] } })

export const moneyEvents: ReadonlyArray<AnyEventType> = [
  cost_added.type,
  ...cost_changes.types,
  cost_removed.type,
  ...deal_price_changes.types,
  opportunityPriced,
  opportunity_repriced
]
