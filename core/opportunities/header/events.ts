/**
 * What happens to an opportunity as a whole (rules/opportunities 4 to 7). All its events lie in the stream `opportunity:<id>`, so
 * that the stream read backwards is its activity (rules/opportunities 15). `set` is what an event changes, `was` what stood there
 * before, `also` what is told in the activity and kept nowhere else.
 */
import { Schema } from "effect"
import { remove, type RowChange, update } from "../../kernel/row-change.ts"
import { type ProjectionContext, type NewEvent, streamOf } from "../../kernel/event.ts"
import { type ActivityValues, type EventType, eventType } from "../../kernel/event-type.ts"
import type { Json, JsonObject } from "../../kernel/json.ts"
import { rowMade } from "../../kernel/crud-resource.ts"
import {
  jsonObject,
  keyedColumns,
  newRow,
  type SomeColumns,
  someColumns,
  type Stored
} from "../../kernel/stored-schema.ts"
import type { AnyRow, Table } from "../../kernel/table.ts"
import { opportunity_costs, opportunity_items, opportunity_versions } from "../child-tables.ts"
import { opportunities, type OpportunityRow } from "../schema.ts"

export interface Changed<T extends Table> {
  readonly id: number
  readonly set: SomeColumns<T>
  readonly was: SomeColumns<T>
  readonly also: JsonObject
}
/** The same columns as they were. */
export const before = <T extends Table>(row: AnyRow, set: SomeColumns<T>): SomeColumns<T> =>
  Object.fromEntries(Object.keys(set).map((name) => [name, row[name] ?? null])) as SomeColumns<T>
export const stampedRow = (row: AnyRow, at: string): AnyRow => ({
  ...row,
  created_at: at,
  updated_at: at,
  deleted_at: null
})
export const put = (table: Table, row: AnyRow, at: string): RowChange => ({
  op: "insert",
  table,
  row: stampedRow(row, at)
})
export const change = (table: Table, id: number, set: AnyRow, at: string): RowChange =>
  update(table, id, { ...set, updated_at: at })

/** Columns by the names answers use. */
const shownNames = (values: AnyRow): JsonObject =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name === "manual_unit_price" ? "unit_price" : name, value as Json])
  )
/** Columns of a row for the activity; null where the row has none. */
export const pick = (row: AnyRow, names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.map((name) => [name, (row[name] ?? null) as Json]))
/** Old and new values of a change; `part` names the row beside the columns, where the event is about a part. */
export const changedValues = (
  { also, set, was }: Pick<Changed<Table>, "also" | "set" | "was">,
  part: JsonObject = {}
): ActivityValues => ({
  old_values: { ...part, ...shownNames(was) },
  new_values: { ...part, ...shownNames(set), ...also }
})
/** A reason nobody gave is told as none. */
export const withReason = ({ new_values, old_values }: ActivityValues, key = "reason"): ActivityValues => ({
  old_values,
  new_values: { ...new_values, reason: new_values?.[key] ?? null }
})

/** The stream of an opportunity, all of what happens to it. */
export const opportunityStream = (id: number): string => streamOf("opportunity", id)

type HeaderData = Changed<typeof opportunities>
const headerSchema = (): Stored<HeaderData> =>
  Schema.Struct({ id: Schema.Int, set: someColumns(opportunities), was: someColumns(opportunities), also: jsonObject })
/** An update that changed nothing is told in the activity and leaves the row as it was. */
const projectHeader = ({ id, set }: HeaderData, { recorded_at }: ProjectionContext): ReadonlyArray<RowChange> =>
  Object.keys(set).length === 0 ? [] : [change(opportunities, id, set, recorded_at)]

const meanings = {
  updated: "Fields of the opportunity's header were changed.",
  quoted: "A draft became a quotation.",
  converted_to_order: "A quotation became an order; what it needs is reserved.",
  status_changed: "The opportunity got another status within its state.",
  status_promoted: "The order's status followed what happened to its lines: dispatched, on hire, returned, complete.",
  reinstated: "A closed opportunity is open again.",
  reopened: "A complete order is open again.",
  reverted_to_draft: "A quotation became a draft again.",
  reverted_to_quotation: "An order became a quotation again; what it held is free.",
  locks_applied: "Exchange rate and taxes stay as they are from now on.",
  locks_released: "Exchange rate and taxes follow the present ones again.",
  deal_price_set: "A price for the whole was agreed.",
  deal_price_cleared: "The price for the whole no longer counts; lines do.",
  restored: "A deleted opportunity is back."
} as const
export type HeaderChange = keyof typeof meanings
const with_reason: ReadonlySet<HeaderChange> = new Set([
  "reinstated",
  "reopened",
  "reverted_to_draft",
  "reverted_to_quotation",
  "locks_applied",
  "locks_released"
])

const headerEvent = (name: HeaderChange): EventType<HeaderData> =>
  eventType(`opportunity.${name}`, {
    meaning: meanings[name],
    data: headerSchema,
    project: projectHeader,
    ...(name === "restored"
      ? { activity: ({ id }) => ({ old_values: null, new_values: { id } }) }
      : { activity: (data) => (with_reason.has(name) ? withReason(changedValues(data)) : changedValues(data)) })
  })
const header_events = new Map(
  (Object.keys(meanings) as ReadonlyArray<HeaderChange>).map((name) => [name, headerEvent(name)])
)
/** Columns of the header that changed. */
export const headerChanged = (
  row: OpportunityRow,
  name: HeaderChange,
  set: SomeColumns<typeof opportunities>,
  also: JsonObject = {}
): NewEvent => header_events.get(name)!.make({ id: row.id, set, was: before(row, set), also })

export const opportunityCreated = rowMade("opportunity.created", opportunities, {
  meaning: "An opportunity was made: all of its header.",
  activity: (row) => ({
    old_values: null,
    new_values: pick(row, [
      "subject",
      "number",
      "state",
      "status",
      "member_id",
      "store_id",
      "owned_by",
      "venue_id",
      "reference",
      "description",
      "external_description",
      "charge_total",
      "tag_list"
    ])
  })
})
export const opportunityCloned = eventType("opportunity.cloned", {
  meaning: "This opportunity was made as a copy of another one.",
  data: () => Schema.Struct({ id: Schema.Int, source_opportunity_id: Schema.Int }),
  project: "changes_no_table",
  activity: (data) => ({ old_values: null, new_values: pick(data, ["source_opportunity_id"]) })
})
export const opportunityDeleted = eventType("opportunity.deleted", {
  meaning: "An opportunity was deleted; it can be restored.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }, { recorded_at }) => [update(opportunities, id, { deleted_at: recorded_at })],
  activity: ({ id }) => ({ old_values: null, new_values: { id } })
})

const withoutId = <T extends { readonly id: number }>({ id: _id, ...rest }: T): Omit<T, "id"> => rest
/** Follows from other changes, so it is no entry of the activity. */
export const opportunityPriced = eventType("opportunity.priced", {
  meaning: "Prices, totals, taxes and surcharges as they are after a change.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      set: someColumns(opportunities),
      lines: Schema.Array(keyedColumns(opportunity_items)),
      costs: Schema.Struct({
        added: Schema.Array(newRow(opportunity_costs)),
        altered: Schema.Array(keyedColumns(opportunity_costs)),
        removed: Schema.Array(Schema.Int)
      }),
      // The active version's own totals, where there are versions.
      version: Schema.optionalKey(keyedColumns(opportunity_versions))
    }),
  project: ({ costs, id, lines, set, version }, { recorded_at }) => [
    ...(Object.keys(set).length === 0 ? [] : [change(opportunities, id, set, recorded_at)]),
    ...(version === undefined ? [] : [change(opportunity_versions, version.id, withoutId(version), recorded_at)]),
    ...lines.map((line) => change(opportunity_items, line.id, withoutId(line), recorded_at)),
    ...costs.removed.map((cost_id) => remove(opportunity_costs, cost_id)),
    ...costs.altered.map((cost) => change(opportunity_costs, cost.id, withoutId(cost), recorded_at)),
    ...costs.added.map((row) => put(opportunity_costs, row, recorded_at))
  ]
})

export const headerEvents = [
  opportunityCreated,
  ...header_events.values(),
  opportunityCloned,
  opportunityDeleted,
  opportunityPriced
]
