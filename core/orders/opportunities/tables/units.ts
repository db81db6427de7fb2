/** Single units allocated to lines, with the steps each has made (rules/opportunities 9.1). */
import { code, longText, ref, timestamp } from "../../../kernel/fields/field.ts"
import { type RowOf, table } from "../../../kernel/tables/table.ts"
import { opportunityId } from "./child-columns.ts"
import { open_status_conditions } from "./statuses.ts"

export const allocated = 0,
  prepared = 1,
  dispatched = 2,
  on_hire = 3,
  checked_in = 4,
  finalised = 5
export const assignment_statuses = {
  [allocated]: "Allocated",
  [prepared]: "Prepared",
  [dispatched]: "Dispatched",
  [on_hire]: "On Hire",
  [checked_in]: "Checked In",
  [finalised]: "Finalised"
}
export const good = 0,
  damaged = 1,
  missing = 2
export const condition_labels = { [good]: "Good", [damaged]: "Damaged", [missing]: "Missing" }

export const asset_assignments = table(
  "asset_assignments",
  {
    opportunity_id: opportunityId(),
    opportunity_item_id: ref("opportunity_items", { computed: true, on_delete: "handled" }),
    /** A stock level is not deleted while an open opportunity has it; on closed ones the row is a record. */
    stock_level_id: ref("stock_levels", {
      computed: true,
      on_delete: "refuse",
      while: [{ status: [allocated, prepared, dispatched, on_hire, checked_in] }],
      while_of: { column: "opportunity_id", table: "opportunities", is: open_status_conditions },
      way_out: "release the unit there first"
    }),
    status: code(assignment_statuses, { computed: true, default: allocated }),
    allocated_at: timestamp({ nullable: true, computed: true }),
    prepared_at: timestamp({ nullable: true, computed: true }),
    dispatched_at: timestamp({ nullable: true, computed: true }),
    returned_at: timestamp({ nullable: true, computed: true }),
    checked_at: timestamp({ nullable: true, computed: true }),
    container_stock_level_id: ref("stock_levels", { nullable: true, computed: true, on_delete: "clear" }),
    condition_on_return: code(condition_labels, { nullable: true, computed: true }),
    notes: longText({ nullable: true })
  },
  {
    entity: "asset_assignment",
    lease_block_size: 1_000,
    visibility: {
      all_columns: ["opportunities.*", "containers.*", "shortages.*"],
      // Needed offline to refuse the deletion of a unit that an open opportunity has.
      granted_columns: [{ to: ["stock.*"], columns: ["opportunity_id", "stock_level_id", "status"] }]
    },
    indexes: [["opportunity_id"], ["opportunity_item_id"], ["stock_level_id", "status"]]
  }
)
export type AssignmentRow = RowOf<typeof asset_assignments>
