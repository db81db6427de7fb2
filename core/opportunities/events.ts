/**
 * What happened to an opportunity; all of it in the stream `opportunity:<id>`, so that the stream read backwards is its
 * activity. `set` is what the event folds, `was` what stood there before, `also` what is told but kept nowhere else.
 */
import { event, type NewEvent, streamOf } from "../kernel/event.ts"
import type { Json, JsonObject } from "../kernel/json.ts"
import type { AnyRow } from "../kernel/table.ts"

export const streamOfDeal = (id: number): string => streamOf("opportunity", id)

const plain = (row: AnyRow): JsonObject => {
  const { created_at: _c, updated_at: _u, deleted_at: _d, ...kept } = row
  return kept as JsonObject
}
/** The same columns as they were. */
const before = (row: AnyRow, set: AnyRow): JsonObject =>
  Object.fromEntries(Object.keys(set).map((name) => [name, (row[name] ?? null) as Json]))

const dealEvent = (id: number, name: string, data: JsonObject): NewEvent => event(streamOfDeal(id), `opportunity.${name}`, { id, ...data })

export type HeaderChange =
  | "updated" | "quoted" | "converted_to_order" | "status_changed" | "status_promoted" | "reinstated" | "reopened" | "reverted_to_draft"
  | "reverted_to_quotation" | "locks_applied" | "locks_released" | "deal_price_set" | "deal_price_cleared" | "restored"
/** Columns of the header that changed. */
export const headerChanged = (row: AnyRow & { readonly id: number }, name: HeaderChange, set: AnyRow, also: JsonObject = {}): NewEvent =>
  dealEvent(row.id, name, { set: set as JsonObject, was: before(row, set), also })
export const dealCreated = (row: AnyRow & { readonly id: number }): NewEvent => event(streamOfDeal(row.id), "opportunity.created", plain(row))
export const dealCloned = (id: number, source_opportunity_id: number): NewEvent => dealEvent(id, "cloned", { source_opportunity_id })
export const dealDeleted = (id: number): NewEvent => dealEvent(id, "deleted", {})

/** Things an opportunity has: each has an added, a removed and, with names of its own, changed events. */
export type Part = "item" | "cost" | "assignment" | "participant" | "version"
const keyOf: { readonly [P in Part]: string } = { item: "item_id", cost: "cost_id", assignment: "assignment_id", participant: "participant_id", version: "version_id" }
export const partAdded = (deal_id: number, part: Part, name: string, row: AnyRow & { readonly id: number }, also: JsonObject = {}): NewEvent =>
  dealEvent(deal_id, name, { [keyOf[part]]: row.id, [part]: plain(row), also })
export const partChanged = (
  deal_id: number, part: Part, name: string, row: AnyRow & { readonly id: number }, set: AnyRow, also: JsonObject = {}
): NewEvent => dealEvent(deal_id, name, { [keyOf[part]]: row.id, set: set as JsonObject, was: before(row, set), also })
export const partRemoved = (
  deal_id: number, part: Part, name: string, row: AnyRow & { readonly id: number }, was: JsonObject, also: JsonObject = {}
): NewEvent => dealEvent(deal_id, name, { [keyOf[part]]: row.id, was, also })
/** All lines in their order; `moved` are those that stand elsewhere than before. */
export const itemsRestructured = (
  deal_id: number, paths: ReadonlyArray<{ readonly id: number; readonly path: string }>, moved: ReadonlyArray<number>
): NewEvent => dealEvent(deal_id, "items_restructured", { paths: paths.map((one) => ({ ...one })), moved })

/** A version, the lines it has of its own, or (the first) all lines there are; `set` is what becomes of the header. */
export const versionCreated = (
  header: AnyRow & { readonly id: number }, row: AnyRow & { readonly id: number },
  { adopts, items, set }: { readonly items: ReadonlyArray<AnyRow>; readonly adopts: boolean; readonly set: AnyRow }
): NewEvent => dealEvent(header.id, "version_created", {
  version_id: row.id, version: plain(row), items: items.map(plain), adopts, set: set as JsonObject, was: before(header, set)
})
/** `totals` are the version's own from now on. */
export const versionActivated = (header: AnyRow & { readonly id: number }, version_id: number, totals: JsonObject): NewEvent => {
  const set = { active_version_id: version_id }
  return dealEvent(header.id, "version_activated", { version_id, set, was: before(header, set), totals })
}
/** Its lines go with it; `restored` are versions it had superseded, as they are again. */
export const versionDeleted = (
  header: AnyRow & { readonly id: number }, row: AnyRow & { readonly id: number },
  { reason, restored, set }: { readonly reason: string | null; readonly restored: ReadonlyArray<JsonObject>; readonly set: AnyRow }
): NewEvent => dealEvent(header.id, "version_deleted", {
  version_id: row.id, version_number: row["version_number"] as number, reason, restored, set: set as JsonObject, was: before(header, set)
})
