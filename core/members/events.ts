/** Events of members beside created, updated and deleted (rules/members-activities 2). */
import { Schema } from "effect"
import { remove, update, updateWhere } from "../kernel/row-change.ts"
import { eventType } from "../kernel/event-type.ts"
import { streamOf } from "../kernel/event.ts"
import { contactTables, members, relationships } from "./schema.ts"

const ids = () => Schema.Array(Schema.Int)

export const memberArchived = eventType("member.archived", {
  meaning: "A member was put away: merged into another one, or deleted; it can be restored.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }, { recorded_at }) => [update(members, id, { is_active: false, deleted_at: recorded_at })]
})
export const memberRestored = eventType("member.restored", {
  meaning: "An archived member is in use again.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }, { recorded_at }) => [
    update(members, id, { is_active: true, deleted_at: null, merged_into_id: null, updated_at: recorded_at })
  ]
})

/** Other columns that refer to the secondary member follow the merge as they declare (`on_merge`). */
export const memberMerged = eventType("member.merged", {
  meaning: "Two members were one: what belonged to the secondary belongs to the primary.",
  data: () =>
    Schema.Struct({
      primary_id: Schema.Int,
      secondary_id: Schema.Int,
      // Types of moved contact records that lose `is_primary`, as the remaining member has a primary one already.
      demoted: Schema.Array(Schema.Literals(["addresses", "emails", "phones", "links"])),
      relationships: Schema.Struct({
        moved: Schema.Array(Schema.Struct({ id: Schema.Int, member_id: Schema.Int, related_member_id: Schema.Int })),
        dropped: ids()
      }),
      // By table, ids of the secondary's participations in things the primary member takes part in as well.
      doubled: Schema.Record(Schema.String, ids())
    }),
  stream: ({ primary_id }) => streamOf("member", primary_id),
  project: ({ demoted, primary_id, relationships: joined, secondary_id }, { recorded_at }) => [
    ...demoted.map((kind) => updateWhere(contactTables[kind], { member_id: secondary_id }, { is_primary: false })),
    ...joined.dropped.map((id) => remove(relationships, id)),
    ...joined.moved.map(({ id, ...sides }) => update(relationships, id, { ...sides, updated_at: recorded_at })),
    update(members, secondary_id, { custom_fields: {}, merged_into_id: primary_id })
  ]
})

export const memberEvents = [memberArchived, memberRestored, memberMerged]
