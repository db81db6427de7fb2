/** The event of an erasure (rules/rulings 22). */
import { Schema } from "effect"
import { eventType } from "../kernel/event-type.ts"
import { eraseFromJournal, eraseRows } from "./erase.ts"

export const memberAnonymised = eventType("member.anonymised", {
  meaning: "A person's data was erased for good, also from what was recorded before.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      merged_ids: Schema.Array(Schema.Int),
      user_id: Schema.NullOr(Schema.Int),
      // Absent in events of releases without personal custom fields.
      user_streams: Schema.optionalKey(Schema.Array(Schema.String)),
      // Custom fields whose values stay, by id (used in stored values) and by name (used in bodies).
      kept_custom_fields: Schema.optionalKey(Schema.Array(Schema.String))
    }),
  project: eraseRows,
  scrub: eraseFromJournal
})
