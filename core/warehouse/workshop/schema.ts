/**
 * Service records: each stretch of time that a unit, or a part of a bulk quantity, was out of service or left for good,
 * with its reason, note, cost and where it came from (rules/availability 13). What is open is the workshop; the rest is
 * the history.
 */
import { choice, integer, longText, money, ref, text, timestamp } from "../../kernel/fields/field.ts"
import { type RowOf, table } from "../../kernel/tables/table.ts"
import { service_states } from "../../products/stock/schema.ts"

/** "In service" is not a record, but the end of one. */
const { in_service: _in_service, ...recorded_states } = service_states

export const service_records = table(
  "service_records",
  {
    stock_level_id: ref("stock_levels", { computed: true, on_delete: "delete", on_merge: "follow_updated" }),
    product_id: ref("products", { computed: true, on_delete: "keep", on_merge: "follow_updated" }),
    store_id: ref("stores", { nullable: true, computed: true, on_delete: "clear" }),
    state: choice(recorded_states, { computed: true }),
    quantity: integer({ computed: true, min: 1, default: 1 }),
    reason: text({ nullable: true, computed: true, max: 255, search: true }),
    note: longText({ nullable: true, computed: true }),
    starts_at: timestamp({ computed: true }),
    expected_back_at: timestamp({ nullable: true, computed: true }),
    /** Null while it is open. */
    ended_at: timestamp({ nullable: true, computed: true }),
    end_note: longText({ nullable: true, computed: true }),
    /** Cost in the base currency: a repair's bill. */
    cost: money({ nullable: true, computed: true, visible_to: "costs.view" }),
    /** The hire it came back from. */
    opportunity_id: ref("opportunities", { nullable: true, computed: true, live: false, on_delete: "keep" }),
    opportunity_item_id: ref("opportunity_items", { nullable: true, computed: true, on_delete: "clear" }),
    /** The cost on that opportunity by which the customer is charged. */
    opportunity_cost_id: ref("opportunity_costs", { nullable: true, computed: true, on_delete: "clear" }),
    created_by_user_id: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
    ended_by_user_id: ref("users", { nullable: true, computed: true, on_delete: "keep" })
  },
  {
    entity: "service_record",
    visibility: { all_columns: ["stock.*"] },
    indexes: [["stock_level_id", "starts_at"], ["ended_at", "expected_back_at"], ["opportunity_id"], ["product_id"]]
  }
)
export type ServiceRecordRow = RowOf<typeof service_records>
