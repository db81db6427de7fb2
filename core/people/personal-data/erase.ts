/** Removes a person's data from rows and from the journal (rules/rulings 22). */
import { command, CommandRuntime, custom_fields, decided, eventType, journal, lockStreams } from "../../kernel/index.ts"
import { ok, reject, remove, removeWhere, renderById, Shown, Store, streamOf, update } from "../../kernel/index.ts"
import { updatedEvents, viewContext } from "../../kernel/index.ts"
import type { CustomFieldRow, DataOf, Decided, ProjectionContext, RowChange, Scrub, Slice } from "../../kernel/index.ts"
import type { StoreShape, Table } from "../../kernel/index.ts"
import { type UserRow, users } from "../users/permissions.ts"
import { anonymous_name, anonymousEmail } from "../users/decide.ts"
import { contact_kinds, type ContactKind, contactTables, type MemberRow, members } from "../members/schema.ts"
import { Effect, Schema } from "effect"
import { member_module, memberResource } from "../members/resource.ts"

/** Event data of an erasure: the member, members merged into it, and its user account. */
interface MemberAnonymised {
  readonly id: number
  readonly merged_ids: ReadonlyArray<number>
  readonly user_id: number | null
  readonly user_streams?: ReadonlyArray<string>
  readonly kept_custom_fields?: ReadonlyArray<string>
  readonly moved_contacts?: MovedContacts
}
/** Ids, by kind, of contact records recorded for the person that a merge moved to another member. */
type MovedContacts = { readonly [kind in ContactKind]?: ReadonlyArray<number> }

const word = "Anonymised"

/** Values that replace identifying columns. Costs and relationships stay; custom fields have an event of their own. */
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
 * Data to erase from the journal, so that replaying the rest gives the same rows. Streams of members include contact
 * records and attachments.
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
      // Absent in events of releases before personal custom fields.
      user_streams: Schema.optionalKey(Schema.Array(Schema.String)),
      // Custom fields whose values stay, by id (in stored values) and by name (in request bodies).
      kept_custom_fields: Schema.optionalKey(Schema.Array(Schema.String)),
      // Ids, by kind, of contact records recorded for the person that a merge moved to another member.
      moved_contacts: Schema.optionalKey(
        Schema.Struct({ addresses: row_ids, emails: row_ids, phones: row_ids, links: row_ids })
      )
    }),
  project: eraseRows,
  scrub: eraseFromJournal
})

// The rule and endpoint for erasing a person (rules/members-activities 2, rules/rulings 22).

interface AnonymiseFacts {
  /** Members merged into this one, directly or indirectly; they are the same person. */
  readonly merged: ReadonlyArray<MemberRow>
  /** User account of the member; undefined without one. */
  readonly user: UserRow | undefined
  /** Other streams that hold text the user wrote, such as names of tokens. */
  readonly user_streams: ReadonlyArray<string>
  /** All definitions of members' custom fields, inactive ones included. */
  readonly custom_fields: ReadonlyArray<CustomFieldRow>
  /** Contact records recorded for the person that a merge moved to another member. */
  readonly moved_contacts: MovedContacts
}
/**
 * Erases a person permanently; run again, it erases data added since. 422 on `member` for the caller's own record, for
 * the owner and for a user whose account is active.
 */
const anonymiseMember = (member: MemberRow, own_id: number | null, facts: AnonymiseFacts): Decided => {
  const { custom_fields, merged, moved_contacts, user, user_streams } = facts
  const refuse = (text: string): Decided => reject("member", text)
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
  return decided(member.id, [
    // Projections read only their event, so it lists all values that remain.
    ...[member, ...merged].flatMap((row) =>
      updatedEvents(members, row, {
        custom_fields: Object.fromEntries(Object.entries(row.custom_fields).filter(([id]) => kept_ids.has(id)))
      })
    ),
    memberAnonymised.make(anonymised)
  ])
}

// Records about persons, including those moved by a merge: they are erased with the person's events.

/** Existing rows of a table that were created in the streams of these members. */
export const rowsRecordedOf = <T extends Table>(store: StoreShape, table: T, member_ids: ReadonlyArray<number>) =>
  Effect.flatMap(
    store.find(journal, { stream: member_ids.map((id) => streamOf("member", id)), type: `${table.entity}.created` }),
    (events) => store.getMany(table, [...new Set(events.map(({ data }) => Number(data["id"])))])
  )

const anonymise = command("POST", "/api/v1/members/{id}/anonymise", {
  answer: { member: Shown.row(() => memberResource) },
  name: "members.anonymise",
  summary: "Erase a person's data permanently, from the journal too",
  destructive: true,
  ability: "members:write",
  permission: "members.delete",
  params: { id: { table: members } },
  facts: ({ rows: { id: row } }) =>
    Effect.gen(function* () {
      const store = yield* Store
      const { catalogue } = yield* CommandRuntime
      const account = row.membership_type === "user" ? yield* store.first(users, { member_id: row.id }) : undefined
      // Locks the account against concurrent activation.
      if (account !== undefined) yield* lockStreams([streamOf("user", account.id)])
      const user = account === undefined ? undefined : yield* store.get(users, account.id)
      const user_streams =
        user === undefined
          ? []
          : yield* Effect.forEach(catalogue.slices, (slice) => slice.streams_of_user?.(user.id) ?? Effect.succeed([]))
      const merged = yield* mergedInto(store, row.id)
      return {
        user,
        user_streams: user_streams.flat(),
        merged,
        moved_contacts: yield* movedContacts(
          store,
          [row, ...merged].map(({ id }) => id)
        ),
        custom_fields: yield* store.find(custom_fields, { module_type: member_module })
      }
    }),
  decide: (facts, input) => anonymiseMember(input.rows.id, input.viewer.person_id, facts),
  respond: (_result, input) =>
    Effect.map(renderById(memberResource, input.rows.id.id, input.query, viewContext(input)), ok)
})
/** Members merged into this one, directly or indirectly: one query per level, as chains of merges are rare. */
const mergedInto = Effect.fnUntraced(function* (store: StoreShape, id: number) {
  const found = new Map<number, MemberRow>()
  for (let at: ReadonlyArray<number> = [id]; at.length > 0;) {
    const rows = (yield* store.find(members, { merged_into_id: at })).filter(
      (row) => !found.has(row.id) && row.id !== id
    )
    for (const row of rows) found.set(row.id, row)
    at = rows.map((row) => row.id)
  }
  return [...found.values()].sort((one, other) => one.id - other.id)
})

/**
 * Contact records of erased members that belong to others since a merge; they are erased, too, even if the member was
 * restored.
 */
const movedContacts = Effect.fnUntraced(function* (store: StoreShape, erased_ids: ReadonlyArray<number>) {
  const moved: { [kind in ContactKind]?: ReadonlyArray<number> } = {}
  for (const kind of contact_kinds) {
    const table: Table = contactTables[kind]
    const recorded = yield* rowsRecordedOf(store, table, erased_ids)
    const elsewhere = recorded.filter((row) => !erased_ids.includes(Number(row["member_id"])))
    const ids = elsewhere.map((row) => Number(row["id"]))
    if (ids.length > 0) moved[kind] = ids
  }
  return moved
})

export const personalDataSlice: Slice = { name: "personal_data", endpoints: [anonymise], events: [memberAnonymised] }
