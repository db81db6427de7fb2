/**
 * Service records: periods in which a unit, or part of a bulk level, was out of service or left for good, with reason,
 * note, cost and origin (rules/availability 13). Open ones are the workshop, others the history.
 */
import { choice, integer, longText, money, ref, table, text, timestamp, type RowOf } from "../../kernel/index.ts"
import { service_states } from "../../products/stock/schema.ts"

/** States of records; "in service" is not one, as it ends a record. */
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
    /** End of the record; null while it is open. */
    ended_at: timestamp({ nullable: true, computed: true }),
    end_note: longText({ nullable: true, computed: true }),
    /** Cost of a repair in the base currency. */
    cost: money({ nullable: true, computed: true, visible_to: "costs.view" }),
    /** Opportunity the stock was returned from. */
    opportunity_id: ref("opportunities", { nullable: true, computed: true, live: false, on_delete: "keep" }),
    opportunity_item_id: ref("opportunity_items", { nullable: true, computed: true, on_delete: "clear" }),
    /** Cost of that opportunity that charges the customer. */
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
