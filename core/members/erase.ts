/** Taking a person's data out: of the rows, and of everything the journal remembers (rulings, personal data). */
import { removeWhere, type RowChange, update } from "../kernel/change.ts"
import type { EventMeta, Scrub } from "../kernel/event.ts"
import { streamOf } from "../kernel/event.ts"
import { users } from "../users/schema.ts"
import type { MemberAnonymised } from "./decide.ts"
import { contactTables, type MemberRow, members } from "./schema.ts"

export const anonymous_name = "Anonymised Member"
const word = "Anonymised"
/** Addresses under `.invalid` reach nobody (RFC 2606); with the id in it, it is nobody else's. */
const anonymousEmail = (user_id: number): string => `anonymised-${user_id}@example.invalid`

/** What identifies a person, emptied. Custom fields, costs and relationships stay. */
const erased: Partial<MemberRow> = {
  name: anonymous_name, description: null, icon_url: null, icon_thumb_url: null, tag_list: [], account_number: null, tax_number: null,
  peppol_id: null, chamber_of_commerce_number: null, global_location_number: null, mapping_id: null, title: null, department: null
}

export const eraseRows = ({ id, merged_ids, user_id }: MemberAnonymised, { recorded_at }: EventMeta): ReadonlyArray<RowChange> => [
  ...[id, ...merged_ids].flatMap((member_id) => [
    update(members, member_id, { ...erased, updated_at: recorded_at }),
    ...Object.values(contactTables).map((table) => removeWhere(table, { member_id }))
  ]),
  ...(user_id === null ? [] : [update(users, user_id, { name: anonymous_name, email: anonymousEmail(user_id), updated_at: recorded_at })])
]

/** Members' streams hold their contact records too, so these keys are all there is. Folding the rest again gives the same rows. */
export const eraseFromJournal = ({ id, merged_ids, user_id }: MemberAnonymised): Scrub => ({
  streams: [...[id, ...merged_ids].map((member_id) => streamOf("member", member_id)), ...(user_id === null ? [] : [streamOf("user", user_id)])],
  placeholders: {
    name: anonymous_name, description: null, icon_url: null, icon_thumb_url: null, tag_list: [], account_number: null, tax_number: null,
    peppol_id: null, chamber_of_commerce_number: null, global_location_number: null, mapping_id: null, title: null, department: null,
    street: word, city: null, county: null, postcode: null, what3words: null, latitude: null, longitude: null,
    number: word, address: word, url: word, ...(user_id === null ? {} : { email: anonymousEmail(user_id) })
  }
})
