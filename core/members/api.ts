/** Endpoints of members (rules/members-activities 2). */
import { Effect, Result } from "effect"
import { update } from "../kernel/row-change.ts"
import type { Slice } from "../kernel/catalogue.ts"
import { command, type Failure } from "../kernel/endpoint.ts"
import { integer } from "../kernel/field.ts"
import { accessOf, crudResource } from "../kernel/crud-resource.ts"
import { invalid, invalidField } from "../kernel/rejection.ts"
import { ok, renderById, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { contactSlices } from "./contacts.ts"
import { memberProblems, mergeMembers, type Related } from "./decide.ts"
import { memberEvents, memberRestored } from "./events.ts"
import { mergeFacts } from "./merge.ts"
import { memberResource } from "./resource.ts"
import { memberFields, members, type RelationshipRow, relationships } from "./schema.ts"
import * as Shown from "../kernel/answer-schema.ts"

/** The relationships a member has, whichever of the two sides it is on. */
const relatedTo = Effect.fnUntraced(function* (id: number): Effect.fn.Return<ReadonlyArray<Related>, Failure, Store> {
  const store = yield* Store
  const found = [
    ...(yield* store.find(relationships, { member_id: id })),
    ...(yield* store.find(relationships, { related_member_id: id }))
  ]
  const otherOf = (one: RelationshipRow): number => (one.member_id === id ? one.related_member_id : one.member_id)
  const others = new Map((yield* store.getMany(members, found.map(otherOf))).map((row) => [row.id, row]))
  return found.flatMap((one) => {
    const other = others.get(otherOf(one))
    return other === undefined ? [] : [{ id: one.id, other }]
  })
})

const crud = crudResource({
  resource: memberResource,
  fields: memberFields,
  path: "/api/v1/members",
  access: accessOf("members"),
  // Two related contacts must not both change their type at once, so changes of types wait for each other.
  streams: ({ id }, { membership_type }) => [
    ...(membership_type === undefined ? [] : ["member_types"]),
    ...(id === undefined ? [] : [`member:${id}`])
  ],
  rules: {
    facts: (input, before) =>
      before === undefined || (input.values["membership_type"] ?? before.membership_type) === before.membership_type
        ? Effect.succeed([])
        : relatedTo(before.id),
    save: ({ next, before, facts }) => {
      const errors = memberProblems(next, before, facts)
      return Object.keys(errors).length > 0 ? Result.fail(invalid(errors)) : Result.succeed({})
    },
    delete: ({ row }) =>
      row.membership_type === "user"
        ? Result.fail(invalidField("member", "This member is a user: deactivate the user instead."))
        : Result.succeed([])
  },
  on_delete: (id) => [update(members, id, { is_active: false })]
})

const oneMember = { member: Shown.row(() => memberResource) }
const shownMember = (
  id: number,
  input: Parameters<typeof viewContext>[0] & { readonly query: Parameters<typeof renderById>[2] }
) => Effect.map(renderById(memberResource, id, input.query, viewContext(input)), ok)

const restore = command("POST", "/api/v1/members/{id}/restore", {
  answer: oneMember,
  name: "members.restore",
  summary: "Bring an archived member back",
  ability: "members:write",
  permission: "members.delete",
  params: { id: { table: members, with_deleted: true } },
  facts: () => Effect.succeed(undefined),
  decide: (_facts, { rows: { id: row } }) =>
    Result.succeed({
      events: row.deleted_at === null ? [] : [memberRestored.make({ id: row.id })],
      result: { id: row.id }
    }),
  respond: (_result, input) => shownMember(input.rows.id.id, input)
})

const merge = command("POST", "/api/v1/members/{id}/merge", {
  answer: oneMember,
  name: "members.merge",
  summary: "Merge another member into this one",
  ability: "members:write",
  permission: "members.delete",
  params: { id: { table: members } },
  fields: { secondary_id: integer({ required: true, names: "members" }) },
  streams: (params, body) => [`member:${params["id"]}`, `member:${String(body["secondary_id"])}`],
  facts: ({ rows, values }) => mergeFacts(rows.id.id, values.secondary_id ?? 0),
  decide: (facts, input) => mergeMembers(input.rows.id, facts),
  respond: (_result, input) => shownMember(input.rows.id.id, input)
})

export const memberSlices: ReadonlyArray<Slice> = [
  {
    ...crud,
    events: [...(crud.events ?? []), ...memberEvents],
    endpoints: [...(crud.endpoints ?? []), restore, merge]
  },
  ...contactSlices
]
