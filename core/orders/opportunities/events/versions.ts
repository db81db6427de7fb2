/** Events of quote versions (rules/opportunities 13). Each version has its own lines; those of the active one count. */
import { Schema } from "effect"
import { alterRow, columnsBefore, eventType, insertRow, keyedColumns, newRow, remove } from "../../../kernel/index.ts"
import { removeWhere, someColumns, updateRow, updateWhere, withoutStamps } from "../../../kernel/index.ts"
import type { AnyEventType, NewEvent, RowChange, SomeColumns } from "../../../kernel/index.ts"
import { changedValues, childEvents, pick, withReason } from "./event-families.ts"
import { opportunities, opportunity_items, opportunity_versions } from "../tables/index.ts"
import type { ItemRow, OpportunityRow, VersionRow } from "../tables/index.ts"

type Header = SomeColumns<typeof opportunities>
const headerColumns = () => ({ id: Schema.Int, set: someColumns(opportunities), was: someColumns(opportunities) })
/** Row changes for the version that is no longer active; 0: there was none. */
const deactivated = (
  id: number,
  { active_version_id: version_id = 0 }: Header,
  at: string
): ReadonlyArray<RowChange> => [
  updateRow(opportunity_versions, version_id, { is_active: false }, at),
  updateWhere(opportunity_items, { opportunity_id: id, version_id }, { is_live: false })
]

const versionCreatedEvent = eventType("opportunity.version_created", {
  meaning: "A version was created and made active. The first takes the existing lines, later ones copies.",
  data: () =>
    Schema.Struct({
      ...headerColumns(),
      version_id: Schema.Int,
      version: newRow(opportunity_versions),
      items: Schema.Array(newRow(opportunity_items)),
      adopts: Schema.Boolean
    }),
  project: ({ adopts, id, items, set, version, was }, { recorded_at }) => [
    ...(adopts
      ? [updateWhere(opportunity_items, { opportunity_id: id }, { version_id: version.id })]
      : deactivated(id, was, recorded_at)),
    insertRow(opportunity_versions, version, recorded_at),
    ...items.map((row) => insertRow(opportunity_items, row, recorded_at)),
    updateRow(opportunities, id, set, recorded_at)
  ],
  activity: ({ version }) => ({
    old_values: null,
    new_values: {
      version_id: version.id,
      ...pick(version, ["version_number", "version_type", "parent_version_id", "label"])
    }
  })
})
/**
 * `items`: the new version's lines; `adopts`: the first version takes over the existing lines instead. `set`: the
 * changed header columns.
 */
export const versionCreated = (
  header: OpportunityRow,
  row: VersionRow,
  { adopts, items, set }: { readonly items: ReadonlyArray<ItemRow>; readonly adopts: boolean; readonly set: Header }
): NewEvent =>
  versionCreatedEvent.make({
    id: header.id,
    version_id: row.id,
    version: withoutStamps(row),
    items: items.map(withoutStamps),
    adopts,
    set,
    was: columnsBefore(header, set)
  })

const versionActivatedEvent = eventType("opportunity.version_activated", {
  meaning: "Another version became active: its lines and totals count.",
  data: () => Schema.Struct({ ...headerColumns(), version_id: Schema.Int, totals: someColumns(opportunity_versions) }),
  project: ({ id, set, totals, version_id, was }, { recorded_at }) => [
    ...deactivated(id, was, recorded_at),
    updateRow(opportunity_versions, version_id, { ...totals, is_active: true }, recorded_at),
    updateWhere(opportunity_items, { opportunity_id: id, version_id }, { is_live: true }),
    updateRow(opportunities, id, set, recorded_at)
  ],
  activity: ({ set, was }) => ({
    old_values: { active_version_id: was.active_version_id === 0 ? null : (was.active_version_id ?? null) },
    new_values: set
  })
})
/** `totals`: totals of the version. */
export const versionActivated = (
  header: OpportunityRow,
  version_id: number,
  totals: SomeColumns<typeof opportunity_versions>
): NewEvent => {
  const set = { active_version_id: version_id }
  return versionActivatedEvent.make({ id: header.id, version_id, set, was: columnsBefore(header, set), totals })
}

const versionDeletedEvent = eventType("opportunity.version_deleted", {
  meaning: "A version was deleted, and its lines with it.",
  data: () =>
    Schema.Struct({
      ...headerColumns(),
      version_id: Schema.Int,
      version_number: Schema.Int,
      reason: Schema.NullOr(Schema.String),
      // Versions it had superseded, as draft or sent again, and its revisions, with another parent.
      restored: Schema.Array(keyedColumns(opportunity_versions))
    }),
  project: ({ id, restored, set, version_id }, { recorded_at }) => [
    removeWhere(opportunity_items, { opportunity_id: id, version_id }),
    remove(opportunity_versions, version_id),
    ...restored.map((row) => alterRow(opportunity_versions, row, recorded_at)),
    updateRow(opportunities, id, set, recorded_at)
  ],
  activity: ({ reason, version_id, version_number }) => ({
    old_values: { version_id, version_number },
    new_values: { reason }
  })
})
export const versionDeleted = (
  header: OpportunityRow,
  row: VersionRow,
  {
    reason,
    restored,
    set
  }: {
    readonly reason: string | null
    readonly set: Header
    readonly restored: ReadonlyArray<SomeColumns<typeof opportunity_versions> & { readonly id: number }>
  }
): NewEvent =>
  versionDeletedEvent.make({
    id: header.id,
    version_id: row.id,
    version_number: row.version_number,
    reason,
    restored,
    set,
    was: columnsBefore(header, set)
  })

const { changes } = childEvents("version", opportunity_versions)
const version_changes = changes({
  version_sent: "A version was sent to the customer.",
  version_accepted: "The customer accepted a version.",
  version_declined: {
    meaning: "The customer declined a version.",
    activity: (data) => withReason(changedValues(data, { version_id: data.version_id }), "decline_reason")
  },
  version_superseded: "A version was replaced by a later one.",
  version_relabelled: "A version got another label."
})
export const versionChanged = version_changes.make

export const versionEvents: ReadonlyArray<AnyEventType> = [
  versionCreatedEvent,
  versionActivatedEvent,
  versionDeletedEvent,
  ...version_changes.types
]
