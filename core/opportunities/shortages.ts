/** Shortages somebody saw and went ahead with all the same (opportunities 9.5). */
import { insert } from "../kernel/change.ts"
import { event, type NewEvent, type Projection } from "../kernel/event.ts"
import { boolean, choice, json, prose, ref, timestamp } from "../kernel/field.ts"
import type { JsonObject } from "../kernel/json.ts"
import { type RowOf, table } from "../kernel/table.ts"
import { streamOfDeal } from "./events.ts"

export const acknowledgements = table("shortage_acknowledgements", {
  opportunity_id: ref("opportunities", { computed: true, live: false, on_delete: "keep" }),
  user_id: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
  acknowledged_at: timestamp({ computed: true }),
  /** The store's own policy. */
  policy_at_time: choice({ block: "Block", warn: "Warn", allow: "Allow" }, { computed: true }),
  /** Whether it took the right to ignore shortages. */
  permission_used: boolean({ computed: true }),
  shortages_snapshot: json<ReadonlyArray<JsonObject>>({ form: "array", computed: true }),
  notes: prose({ nullable: true })
}, { sight: { whole: ["opportunities.*", "shortages.*"] }, indexes: [["opportunity_id"]], entity: "shortage_acknowledgement" })
export type AcknowledgementRow = RowOf<typeof acknowledgements>

export const acknowledged = (opportunity_id: number, row: Omit<AcknowledgementRow, "opportunity_id" | "created_at" | "updated_at" | "deleted_at">): NewEvent =>
  event(streamOfDeal(opportunity_id), "shortage.acknowledged", { ...row, opportunity_id })

export const shortageProjection: Projection = {
  "shortage.acknowledged": (row: AcknowledgementRow, { recorded_at }) =>
    [insert(acknowledgements, { ...row, created_at: recorded_at, updated_at: recorded_at, deleted_at: null })]
}
