/** What happened to an opportunity, told from its stream: each event as an entry with what was and what is (opportunities 15). */
import type { StoredEvent } from "../kernel/event.ts"
import { isJsonObject, type Json, type JsonObject } from "../kernel/json.ts"

/** Followed in the activity; prices and claims that follow from these are not entries of their own. */
const header = [
  "updated", "quoted", "converted_to_order", "status_changed", "status_promoted", "reinstated", "reopened", "reverted_to_draft", "reverted_to_quotation",
  "locks_applied", "locks_released", "deal_price_set", "deal_price_cleared"
]
const items = [
  "item_quantity_changed", "item_dates_changed", "item_price_overridden", "item_discount_set", "item_optional_toggled", "item_substituted",
  "item_renamed", "item_details_updated", "bulk_dispatched", "bulk_returned", "bulk_quantity_adjusted"
]
const assets = [
  "asset_deallocated", "asset_prepared", "asset_preparation_reverted", "asset_dispatched", "asset_on_hire", "asset_returned", "asset_checked",
  "asset_status_reverted", "asset_substituted", "asset_container_set", "asset_container_cleared"
]

const versions = ["version_sent", "version_accepted", "version_declined", "version_superseded", "version_relabelled"]

interface Told { readonly old_values: JsonObject | null; readonly new_values: JsonObject | null }
type Tell = (data: JsonObject) => Told

const part = (data: JsonObject, key: string): JsonObject => isJsonObject(data[key]) ? data[key] : {}
const pick = (row: JsonObject, names: ReadonlyArray<string>): JsonObject => Object.fromEntries(names.map((name) => [name, row[name] ?? null]))
/** Columns by the names answers use. */
const named = (values: JsonObject): JsonObject => Object.fromEntries(Object.entries(values).map(([name, value]) =>
  [name === "manual_unit_price" ? "unit_price" : name, value]))

/** `key` names the row beside the columns, where the event is about a part. */
const changed = (key?: string): Tell => (data) => {
  const id: JsonObject = key === undefined ? {} : { [key]: data[key] ?? null }
  return { old_values: { ...id, ...named(part(data, "was")) }, new_values: { ...id, ...named(part(data, "set")), ...part(data, "also") } }
}
const added = (row: string, tell: (row: JsonObject) => JsonObject): Tell => (data) => ({ old_values: null, new_values: tell(part(data, row)) })
const removed: Tell = (data) => ({ old_values: part(data, "was"), new_values: null })
const onItem = changed("item_id")
/** A reason nobody gave is told as none. */
const reasoned = (tell: Tell, key = "reason"): Tell => (data) => {
  const { old_values, new_values } = tell(data)
  return { old_values, new_values: { ...new_values, reason: new_values?.[key] ?? null } }
}
const with_reason = ["reinstated", "reopened", "reverted_to_draft", "reverted_to_quotation", "locks_applied", "locks_released"]

const tellers: { readonly [type: string]: Tell } = {
  created: (data) => ({
    old_values: null,
    new_values: pick(data, ["subject", "number", "state", "status", "member_id", "store_id", "owned_by", "venue_id", "reference", "description",
      "external_description", "charge_total", "tag_list"])
  }),
  ...Object.fromEntries(header.map((name) => [name, with_reason.includes(name) ? reasoned(changed()) : changed()])),
  deleted: (data) => ({ old_values: null, new_values: { id: data["id"] ?? null } }),
  restored: (data) => ({ old_values: null, new_values: { id: data["id"] ?? null } }),
  cloned: (data) => ({ old_values: null, new_values: pick(data, ["source_opportunity_id"]) }),
  item_added: added("item", (row) => ({
    item_id: row["id"] ?? null, product_id: row["item_id"] ?? null, ...pick(row, ["name", "quantity", "unit_price", "total", "transaction_type", "is_optional"])
  })),
  item_removed: removed,
  ...Object.fromEntries(items.map((name) => [name, onItem])),
  item_substituted: (data) => {
    const { old_values, new_values } = onItem(data)
    const products = (values: JsonObject | null, columns: JsonObject): JsonObject => ({ ...values, item_id: data["item_id"] ?? null, product_id: columns["item_id"] ?? null })
    return { old_values: products(old_values, part(data, "was")), new_values: products(new_values, part(data, "set")) }
  },
  bulk_dispatched: (data) => ({ old_values: null, new_values: onItem(data).new_values }),
  bulk_returned: (data) => ({ old_values: null, new_values: onItem(data).new_values }),
  items_restructured: (data) => ({ old_values: null, new_values: { paths: data["paths"] ?? null } }),
  cost_added: added("cost", (row) => ({
    cost_id: row["id"] ?? null, ...pick(row, ["description", "cost_type", "amount", "quantity", "transaction_type", "is_optional"])
  })),
  cost_updated: changed("cost_id"),
  cost_removed: removed,
  participant_added: added("participant", (row) => ({ participant_id: row["id"] ?? null, ...pick(row, ["member_id", "role", "mute"]) })),
  participant_updated: changed("participant_id"),
  participant_removed: removed,
  version_created: added("version", (row) => ({
    version_id: row["id"] ?? null, ...pick(row, ["version_number", "version_type", "parent_version_id", "label"])
  })),
  version_activated: (data) => {
    const { active_version_id } = part(data, "was")
    return { old_values: { active_version_id: active_version_id === 0 ? null : active_version_id ?? null }, new_values: part(data, "set") }
  },
  ...Object.fromEntries(versions.map((name) => [name, changed("version_id")])),
  version_declined: reasoned(changed("version_id"), "decline_reason"),
  version_deleted: (data) => ({ old_values: pick(data, ["version_id", "version_number"]), new_values: pick(data, ["reason"]) }),
  asset_allocated: added("assignment", (row) => ({ assignment_id: row["id"] ?? null, ...pick(row, ["opportunity_item_id", "stock_level_id"]) })),
  ...Object.fromEntries(assets.map((name) => [name, changed("assignment_id")]))
}
const tellerOf: ReadonlyMap<string, Tell> = new Map([
  ...Object.entries(tellers).map(([name, tell]) => [`opportunity.${name}`, tell] as const),
  ["shortage.acknowledged", (data: JsonObject): Told => ({
    old_values: null,
    new_values: {
      ...pick(data, ["policy_at_time", "permission_used"]),
      shortage_count: Array.isArray(data["shortages_snapshot"]) ? data["shortages_snapshot"].length : 0
    }
  })] as const
])
/** The types of events that are entries. */
export const told: ReadonlyArray<string> = [...tellerOf.keys()]

/** One entry; `user_name` is the actor's name as it is now, null for the system. The journal keeps no addresses of people's machines. */
export const entryOf = (event: StoredEvent, opportunity_id: number, user_name: string | null): { readonly [key: string]: Json } => ({
  id: event.position, user_id: event.actor_id, user_name, action: event.type,
  auditable_type: "opportunity", auditable_id: opportunity_id,
  ...tellerOf.get(event.type)?.(event.data) ?? { old_values: null, new_values: null },
  ip_address: null, created_at: event.recorded_at
})
