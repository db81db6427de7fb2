/** Rules for members: changes of type and merging duplicates (rules/members-activities 2). */
import { Schema } from "effect"
import { decided, eventType, reject, remove, streamOf, update, updatedEvents, updateWhere } from "../../kernel/index.ts"
import type { DataOf, Decided, FieldErrors } from "../../kernel/index.ts"
import type { ContactKind, MemberRow, RelationshipRow } from "./schema.ts"
import { contactTables, members, relationships } from "./schema.ts"

// Events of members besides created, updated and deleted (rules/members-activities 2).

const ids = () => Schema.Array(Schema.Int)

const memberArchived = eventType("member.archived", {
  meaning: "A member was archived by a merge; it can be restored.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }, { recorded_at }) => [update(members, id, { is_active: false, deleted_at: recorded_at })]
})
export const memberRestored = eventType("member.restored", {
  meaning: "An archived member was restored.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }, { recorded_at }) => [
    update(members, id, { is_active: true, deleted_at: null, merged_into_id: null, updated_at: recorded_at })
  ]
})

/** Event of a merge. Other columns that refer to the secondary follow as they declare (`on_merge`). */
const memberMerged = eventType("member.merged", {
  meaning: "Two members were merged: records of the secondary moved to the primary.",
  data: () =>
    Schema.Struct({
      primary_id: Schema.Int,
      secondary_id: Schema.Int,
      // Kinds of moved contact records that lose `is_primary`, as the remaining member already has a primary one.
      demoted: Schema.Array(Schema.Literals(["addresses", "emails", "phones", "links"])),
      relationships: Schema.Struct({
        moved: Schema.Array(Schema.Struct({ id: Schema.Int, member_id: Schema.Int, related_member_id: Schema.Int })),
        dropped: ids()
      }),
      // By table, ids of the secondary's rows that the primary has as well, such as participants of one activity.
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

/** A relationship of the member being changed, and the member on its other side. */
export interface Related {
  readonly id: number
  readonly other: MemberRow
}
/**
 * Errors of saving a member, by field (422): a new user; a type changed to or from user, or that a relationship does
 * not allow; a user's name, activity or location type, which are changed with the account.
 */
export const memberProblems = (
  next: MemberRow,
  before: MemberRow | undefined,
  related: ReadonlyArray<Related>
): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  if (before === undefined) {
    if (next.membership_type === "user") errors["membership_type"] = ["Users are made by inviting them."]
    return errors
  }
  if (
    next.membership_type !== before.membership_type &&
    (next.membership_type === "user" || before.membership_type === "user")
  ) {
    errors["membership_type"] = ["A member cannot be turned into a user, nor a user into something else."]
  } else if (next.membership_type !== before.membership_type) {
    const broken = related.filter(({ other }) => relationshipProblem(next, other, []) !== undefined)
    if (broken.length > 0)
      errors["membership_type"] = broken.map(
        ({ id, other }) =>
          `Relationship ${id} joins this member with the ${other.membership_type} ${other.name}, and one of the two must be a contact: end that relationship first.`
      )
  }
  if (before.membership_type === "user") {
    for (const field of ["name", "is_active", "location_type"] as const) {
      if (next[field] !== before[field])
        errors[field] = [`The ${field.replace("_", " ")} of a user is changed with the user.`]
    }
  }
  return errors
}

export interface MergeFacts {
  readonly secondary: MemberRow | undefined
  /** Relationships of both members. */
  readonly relationships: ReadonlyArray<RelationshipRow>
  /** Kinds of contact records of which the remaining member already has a primary one. */
  readonly primary_kinds: ReadonlyArray<ContactKind>
  /** By table, ids of the secondary's rows that the primary has as well, such as participants of one activity. */
  readonly doubled: { readonly [table: string]: ReadonlyArray<number> }
}
/**
 * Merges two members: contact records, relationships and missing custom field values move to the primary, and the
 * secondary is archived. 422 on `secondary_id`: missing, archived, the primary itself, another type, or a user.
 */
export const mergeMembers = (primary: MemberRow, facts: MergeFacts): Decided => {
  const { secondary } = facts
  const refuse = (text: string): Decided => reject("secondary_id", text)
  if (secondary === undefined || secondary.deleted_at !== null)
    return refuse("The selected secondary member does not exist.")
  if (secondary.id === primary.id) return refuse("A member cannot be merged with itself.")
  if (secondary.membership_type !== primary.membership_type)
    return refuse("Only members of the same type can be merged.")
  if (primary.membership_type === "user") return refuse("Users cannot be merged.")
  const filled = {
    ...secondary.custom_fields,
    ...Object.fromEntries(Object.entries(primary.custom_fields).filter(([, value]) => value !== null))
  }
  const merged: DataOf<typeof memberMerged> = {
    primary_id: primary.id,
    secondary_id: secondary.id,
    demoted: facts.primary_kinds,
    relationships: movedRelationships(primary.id, secondary.id, facts.relationships),
    doubled: facts.doubled
  }
  return decided(primary.id, [
    ...updatedEvents(members, primary, { custom_fields: filled }),
    memberArchived.make({ id: secondary.id }),
    memberMerged.make(merged)
  ])
}

/** Relationships of the secondary to move, and those to drop as they relate the primary to itself or duplicate one. */
const movedRelationships = (
  primary: number,
  secondary: number,
  relationships: ReadonlyArray<RelationshipRow>
): DataOf<typeof memberMerged>["relationships"] => {
  const joined = new Set(
    relationships.flatMap((one) =>
      one.member_id === primary ? [one.related_member_id] : one.related_member_id === primary ? [one.member_id] : []
    )
  )
  joined.add(primary)
  const moved: Array<DataOf<typeof memberMerged>["relationships"]["moved"][number]> = []
  const dropped: Array<number> = []
  for (const { id, member_id, related_member_id } of relationships) {
    if (member_id !== secondary && related_member_id !== secondary) continue
    const other = member_id === secondary ? related_member_id : member_id
    if (joined.has(other)) dropped.push(id)
    else {
      joined.add(other)
      moved.push({
        id,
        ...(member_id === secondary
          ? { member_id: primary, related_member_id }
          : { member_id, related_member_id: primary })
      })
    }
  }
  return { moved, dropped }
}

export const relationshipProblem = (
  member: MemberRow,
  related: MemberRow,
  existing: ReadonlyArray<RelationshipRow>
): string | undefined => {
  const types = [member.membership_type, related.membership_type]
  return member.id === related.id
    ? "A member cannot be related to itself."
    : types.includes("user")
      ? "Users cannot be related to members."
      : !types.includes("contact")
        ? "One of the two must be a contact."
        : existing.length > 0
          ? "These two members are related already."
          : undefined
}
