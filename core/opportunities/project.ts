/** Events of an opportunity → rows. */
import { remove, removeWhere, type RowChange, update, updateWhere } from "../kernel/change.ts"
import type { EventMeta, Projection } from "../kernel/event.ts"
import type { JsonObject } from "../kernel/json.ts"
import type { AnyRow, Table } from "../kernel/table.ts"
import type { HeaderChange } from "./events.ts"
import { asset_assignments, opportunity_costs, opportunity_items, opportunity_participants, opportunity_versions } from "./parts.ts"
import { opportunities } from "./schema.ts"

interface Changed { readonly id: number; readonly set: JsonObject }
interface Priced extends Changed {
  readonly lines: ReadonlyArray<JsonObject & { readonly id: number }>
  /** The active version's own totals, where there are versions. */
  readonly version?: JsonObject & { readonly id: number }
  readonly costs: {
    readonly added: ReadonlyArray<JsonObject>
    readonly altered: ReadonlyArray<JsonObject & { readonly id: number }>
    readonly removed: ReadonlyArray<number>
  }
}

const stamped = (row: JsonObject, at: string): AnyRow => ({ ...row, created_at: at, updated_at: at, deleted_at: null })
const put = (table: Table, row: JsonObject, at: string): RowChange => ({ op: "insert", table, row: stamped(row, at) })
const change = (table: Table, id: number, set: JsonObject, at: string): RowChange => update(table, id, { ...set, updated_at: at })
const touched = (id: number, at: string): RowChange => update(opportunities, id, { updated_at: at })

/** An update that changed nothing is told in the activity and leaves the row as it was. */
const headerChange = ({ id, set }: Changed, { recorded_at }: EventMeta): ReadonlyArray<RowChange> =>
  Object.keys(set).length === 0 ? [] : [change(opportunities, id, set, recorded_at)]
const headerChanges: ReadonlyArray<HeaderChange> = [
  "updated", "quoted", "converted_to_order", "status_changed", "status_promoted", "reinstated", "reopened", "reverted_to_draft",
  "reverted_to_quotation", "locks_applied", "locks_released", "deal_price_set", "deal_price_cleared", "restored"
]

/** Folds of one kind of part: `<key>_id` names the row, `<key>` holds a new one. */
const added = (table: Table, key: string) => (data: JsonObject, { recorded_at }: EventMeta): ReadonlyArray<RowChange> =>
  [put(table, data[key] as JsonObject, recorded_at), touched(data["id"] as number, recorded_at)]
const altered = (table: Table, key: string) => (data: JsonObject, { recorded_at }: EventMeta): ReadonlyArray<RowChange> =>
  [change(table, data[`${key}_id`] as number, data["set"] as JsonObject, recorded_at), touched(data["id"] as number, recorded_at)]
const dropped = (table: Table, key: string) => (data: JsonObject, { recorded_at }: EventMeta): ReadonlyArray<RowChange> =>
  [remove(table, data[`${key}_id`] as number), touched(data["id"] as number, recorded_at)]
const many = (names: ReadonlyArray<string>, fold: (data: JsonObject, meta: EventMeta) => ReadonlyArray<RowChange>): Projection =>
  Object.fromEntries(names.map((name) => [`opportunity.${name}`, fold]))

export const itemChanges = [
  "item_quantity_changed", "item_dates_changed", "item_price_overridden", "item_discount_set", "item_optional_toggled", "item_substituted",
  "item_renamed", "item_details_updated", "bulk_dispatched", "bulk_returned", "bulk_quantity_adjusted", "item_store_set"
] as const
export const assignmentChanges = [
  "asset_prepared", "asset_preparation_reverted", "asset_dispatched", "asset_on_hire", "asset_returned", "asset_checked", "asset_status_reverted",
  "asset_substituted", "asset_container_set", "asset_container_cleared"
] as const

export const versionChanges = ["version_sent", "version_accepted", "version_declined", "version_superseded", "version_relabelled"] as const

interface Restructured {
  readonly id: number
  readonly paths: ReadonlyArray<{ readonly id: number; readonly path: string }>
  /** Absent in events of old: any of them. */
  readonly moved?: ReadonlyArray<number>
}
interface ActiveWas { readonly was: { readonly active_version_id: number } }
interface VersionCreated extends Changed, ActiveWas {
  readonly version: JsonObject & { readonly id: number }
  readonly items: ReadonlyArray<JsonObject>
  readonly adopts: boolean
}
interface VersionActivated extends Changed, ActiveWas { readonly version_id: number; readonly totals: JsonObject }
interface VersionDeleted extends Changed { readonly version_id: number; readonly restored: ReadonlyArray<JsonObject & { readonly id: number }> }
/** The version that was active shows and counts no more. */
const passive = (id: number, version_id: number, at: string): ReadonlyArray<RowChange> => [
  change(opportunity_versions, version_id, { is_active: false }, at),
  updateWhere(opportunity_items, { opportunity_id: id, version_id }, { is_live: false })
]
const withoutId = ({ id: _id, ...rest }: JsonObject & { readonly id: number }): JsonObject => rest

export const projection: Projection = {
  "opportunity.created": (row: JsonObject, { recorded_at }) => [put(opportunities, row, recorded_at)],
  ...Object.fromEntries(headerChanges.map((name) => [`opportunity.${name}`, headerChange])),
  "opportunity.deleted": ({ id }: { readonly id: number }, { recorded_at }) => [update(opportunities, id, { deleted_at: recorded_at })],
  "opportunity.priced": ({ id, set, lines, costs, version }: Priced, { recorded_at }) => [
    ...(Object.keys(set).length === 0 ? [] : [change(opportunities, id, set, recorded_at)]),
    ...(version === undefined ? [] : [change(opportunity_versions, version.id, withoutId(version), recorded_at)]),
    ...lines.map(({ id: line_id, ...prices }) => change(opportunity_items, line_id, prices, recorded_at)),
    ...costs.removed.map((cost_id) => remove(opportunity_costs, cost_id)),
    ...costs.altered.map(({ id: cost_id, ...columns }) => change(opportunity_costs, cost_id, columns, recorded_at)),
    ...costs.added.map((row) => put(opportunity_costs, row, recorded_at))
  ],
  "opportunity.item_added": added(opportunity_items, "item"),
  ...many(itemChanges, altered(opportunity_items, "item")),
  "opportunity.item_removed": dropped(opportunity_items, "item"),
  "opportunity.items_restructured": ({ id, moved, paths }: Restructured, { recorded_at }) => {
    const elsewhere = moved === undefined ? undefined : new Set(moved)
    return [
      ...paths.filter((one) => elsewhere?.has(one.id) ?? true).map((one) => update(opportunity_items, one.id, { path: one.path, updated_at: recorded_at })),
      touched(id, recorded_at)
    ]
  },
  "opportunity.cost_added": added(opportunity_costs, "cost"),
  "opportunity.cost_updated": altered(opportunity_costs, "cost"),
  "opportunity.cost_removed": dropped(opportunity_costs, "cost"),
  "opportunity.participant_added": added(opportunity_participants, "participant"),
  "opportunity.participant_updated": altered(opportunity_participants, "participant"),
  "opportunity.participant_removed": dropped(opportunity_participants, "participant"),
  "opportunity.asset_allocated": added(asset_assignments, "assignment"),
  ...many(assignmentChanges, altered(asset_assignments, "assignment")),
  "opportunity.asset_deallocated": dropped(asset_assignments, "assignment"),
  "opportunity.version_created": ({ adopts, id, items, set, version, was }: VersionCreated, { recorded_at }) => [
    ...(adopts ? [updateWhere(opportunity_items, { opportunity_id: id }, { version_id: version.id })]
      : passive(id, was.active_version_id, recorded_at)),
    put(opportunity_versions, version, recorded_at),
    ...items.map((row) => put(opportunity_items, row, recorded_at)),
    change(opportunities, id, set, recorded_at)
  ],
  "opportunity.version_activated": ({ id, set, totals, version_id, was }: VersionActivated, { recorded_at }) => [
    ...passive(id, was.active_version_id, recorded_at),
    change(opportunity_versions, version_id, { ...totals, is_active: true }, recorded_at),
    updateWhere(opportunity_items, { opportunity_id: id, version_id }, { is_live: true }),
    change(opportunities, id, set, recorded_at)
  ],
  ...many(versionChanges, altered(opportunity_versions, "version")),
  "opportunity.version_deleted": ({ id, restored, set, version_id }: VersionDeleted, { recorded_at }) => [
    removeWhere(opportunity_items, { opportunity_id: id, version_id }),
    remove(opportunity_versions, version_id),
    ...restored.map((row) => change(opportunity_versions, row.id, withoutId(row), recorded_at)),
    change(opportunities, id, set, recorded_at)
  ]
}
