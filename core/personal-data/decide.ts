/** The rule for erasing a person (rules/rulings 22). */
import { Result } from "effect"
import type { CustomFieldRow } from "../kernel/custom-field.ts"
import type { Decided } from "../kernel/endpoint.ts"
import type { DataOf } from "../kernel/event-type.ts"
import { updatedEvent } from "../kernel/crud-resource.ts"
import { invalidField } from "../kernel/rejection.ts"
import { type MemberRow, members } from "../members/schema.ts"
import type { UserRow } from "../users/schema.ts"
import type { MovedContacts } from "./erase.ts"
import { memberAnonymised } from "./events.ts"

export interface AnonymiseFacts {
  /** Members merged into this one, directly or through others: the same person. */
  readonly merged: ReadonlyArray<MemberRow>
  /** The account of a member that is a user. */
  readonly user: UserRow | undefined
  /** Other streams that hold text the user wrote, such as names of tokens. */
  readonly user_streams: ReadonlyArray<string>
  /** Every definition of members' custom fields, inactive ones included. */
  readonly custom_fields: ReadonlyArray<CustomFieldRow>
  /** Contact records recorded of the person that belong to somebody else since a merge. */
  readonly moved_contacts: MovedContacts
}
/**
 * Erases a person for good. 422 on `member` for the caller's own record, and for an account in use, whose name and
 * e-mail would remain. Repeated, it erases what was added since, and values of custom fields marked as personal since.
 */
export const anonymiseMember = (member: MemberRow, own_id: number | null, facts: AnonymiseFacts): Decided => {
  const { custom_fields, merged, moved_contacts, user, user_streams } = facts
  const refuse = (text: string): Decided => Result.fail(invalidField("member", text))
  if (member.id === own_id) return refuse("You cannot anonymise your own record.")
  if (user?.is_owner === true) return refuse("The owner cannot be anonymised: their account cannot be deactivated.")
  if (user?.is_active === true) {
    return refuse(
      `This member is a user whose account is in use: deactivate the user first (DELETE /api/v1/users/${user.id}), then anonymise the member.`
    )
  }
  const stays = custom_fields.filter((one) => !one.is_personal)
  const kept_ids = new Set(stays.map(({ id }) => String(id)))
  const anonymised: DataOf<typeof memberAnonymised> = {
    id: member.id,
    merged_ids: merged.map(({ id }) => id),
    user_id: user?.id ?? null,
    user_streams,
    kept_custom_fields: [...kept_ids, ...stays.map(({ name }) => name)],
    ...(Object.keys(moved_contacts).length === 0 ? {} : { moved_contacts })
  }
  return Result.succeed({
    events: [
      // A projection reads nothing but its event, so the event lists all values that remain.
      ...[member, ...merged].flatMap(
        (row) =>
          updatedEvent(members, row, {
            custom_fields: Object.fromEntries(Object.entries(row.custom_fields).filter(([id]) => kept_ids.has(id)))
          }) ?? []
      ),
      memberAnonymised.make(anonymised)
    ],
    result: { id: member.id }
  })
}
