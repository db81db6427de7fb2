/** The event of an erasure (rules/rulings 22). */
import { Schema } from "effect"
import { eventType } from "../kernel/event-type.ts"
import { eraseFromJournal, eraseRows } from "./erase.ts"

const row_ids = Schema.optionalKey(Schema.Array(Schema.Int))

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
      kept_custom_fields: Schema.optionalKey(Schema.Array(Schema.String)),
      // By kind, ids of contact records that were recorded of the person and belong to somebody else since a merge.
      moved_contacts: Schema.optionalKey(
        Schema.Struct({ addresses: row_ids, emails: row_ids, phones: row_ids, links: row_ids })
      )
    }),
  project: eraseRows,
  scrub: eraseFromJournal
})
