/** Lines of opportunities that wait for goods to come free (rules/availability 9). */
import { choice, integer, longText, ref, timestamp } from "../../../kernel/fields/field.ts"
import { type RowOf, table } from "../../../kernel/tables/table.ts"
import { opportunityId } from "./child-columns.ts"

const wait_statuses = { waiting: "Waiting", matched: "Matched" } as const

/**
 * One row for each waiting line, and for each notified line whose opportunity is still open: it keeps its position
 * before those behind it. Leaving the list deletes the row; the history is in the opportunity's journal.
 */
export const shortage_waits = table(
  "shortage_waits",
  {
    opportunity_id: opportunityId(),
    opportunity_item_id: ref("opportunity_items", { computed: true, on_delete: "handled" }),
    product_id: ref("products", { computed: true, live: false, on_delete: "keep", on_merge: "follow" }),
    store_id: ref("stores", {
      computed: true,
      on_delete: "refuse",
      way_out: "take the lines off the waiting list first"
    }),
    status: choice(wait_statuses, { computed: true, default: "waiting" }),
    /** Shortfall when the line began to wait. */
    quantity: integer({ computed: true, min: 1 }),
    /** The line's demand and dates at that time: a line that now needs less is not notified of freed goods. */
    requested_quantity: integer({ computed: true, min: 1 }),
    starts_at: timestamp({ computed: true }),
    ends_at: timestamp({ computed: true }),
    waitlisted_by: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
    waitlisted_at: timestamp({ computed: true }),
    matched_at: timestamp({ nullable: true, computed: true }),
    note: longText({ nullable: true })
  },
  {
    entity: "shortage_wait",
    follows: ["status", "matched_at"],
    visibility: { all_columns: ["opportunities.*", "shortages.*"] },
    indexes: [["product_id", "store_id"], ["opportunity_id"], ["opportunity_item_id"]]
  }
)
export type WaitRow = RowOf<typeof shortage_waits>
