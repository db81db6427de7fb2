/** Removes a person's data from rows and from the journal (rules/rulings 22). */
import { remove, removeWhere, type RowChange, update } from "../../kernel/tables/table.ts"
import { eventType, type ProjectionContext, type Scrub, streamOf } from "../../kernel/events/event-type.ts"
import { users } from "../users/schema.ts"
import { anonymous_name, anonymousEmail } from "../users/decide.ts"
import { contact_kinds, type ContactKind, contactTables, type MemberRow, members } from "../members/schema.ts"
import { Schema } from "effect"

/** The person to erase: the member, members merged into it, and the user account. */
interface MemberAnonymised {
  readonly id: number
  readonly merged_ids: ReadonlyArray<number>
  readonly user_id: number | null
  readonly user_streams?: ReadonlyArray<string>
  readonly kept_custom_fields?: ReadonlyArray<string>
  readonly moved_contacts?: MovedContacts
}
/** Contact records by kind: ids of those recorded for the person that a merge gave to another. */
export type MovedContacts = { readonly [kind in ContactKind]?: ReadonlyArray<number> }

const word = "Anonymised"

/** Identifying columns with empty values. Costs and relationships stay; custom fields have an event of their own. */
const erased = {
  name: anonymous_name,
  description: null,
  icon_url: null,
  icon_thumb_url: null,
  tag_list: [],
  account_number: null,
  tax_number: null,
  peppol_id: null,
  chamber_of_commerce_number: null,
  global_location_number: null,
  mapping_id: null,
  title: null,
  department: null
} satisfies Partial<MemberRow>

const eraseRows = (
  { id, merged_ids, moved_contacts = {}, user_id }: MemberAnonymised,
  { recorded_at }: ProjectionContext
): ReadonlyArray<RowChange> => [
  ...[id, ...merged_ids].flatMap((member_id) => [
    update(members, member_id, { ...erased, updated_at: recorded_at }),
    ...Object.values(contactTables).map((table) => removeWhere(table, { member_id }))
  ]),
  ...contact_kinds.flatMap((kind) => (moved_contacts[kind] ?? []).map((row_id) => remove(contactTables[kind], row_id))),
  ...(user_id === null
    ? []
    : [update(users, user_id, { name: anonymous_name, email: anonymousEmail(user_id), updated_at: recorded_at })])
]

/**
 * Data to remove from the journal; streams of members include contact records and attachments. The remaining data
 * projects to the same rows.
 */
const eraseFromJournal = ({
  id,
  kept_custom_fields,
  merged_ids,
  user_id,
  user_streams = []
}: MemberAnonymised): Scrub => ({
  streams: [
    ...[id, ...merged_ids].map((member_id) => streamOf("member", member_id)),
    ...(user_id === null ? [] : [streamOf("user", user_id)]),
    ...user_streams
  ],
  placeholders: {
    ...erased,
    street: word,
    city: null,
    county: null,
    postcode: null,
    what3words: null,
    latitude: null,
    longitude: null,
    number: word,
    address: word,
    url: word,
    original_name: word,
    sha256: "",
    uuid: "",
    category: null,
    ...(user_id === null ? {} : { email: anonymousEmail(user_id) })
  },
  ...(kept_custom_fields === undefined ? {} : { kept: { custom_fields: kept_custom_fields } })
})

// The event of an erasure (rules/rulings 22).

const row_ids = Schema.optionalKey(Schema.Array(Schema.Int))

export const memberAnonymised = eventType("member.anonymised", {
  meaning: "A person's data was erased permanently, from earlier events as well.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      merged_ids: Schema.Array(Schema.Int),
      user_id: Schema.NullOr(Schema.Int),
      // Absent in events of releases without personal custom fields.
      user_streams: Schema.optionalKey(Schema.Array(Schema.String)),
      // Custom fields whose values stay, by id (used in stored values) and by name (used in bodies).
      kept_custom_fields: Schema.optionalKey(Schema.Array(Schema.String)),
      // By kind, ids of contact records recorded for the person that a merge gave to another.
      moved_contacts: Schema.optionalKey(
        Schema.Struct({ addresses: row_ids, emails: row_ids, phones: row_ids, links: row_ids })
      )
    }),
  project: eraseRows,
  scrub: eraseFromJournal
})
