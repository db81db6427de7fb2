/** Endpoints of members (rules/members-activities 2). */
import { Effect, Result } from "effect"
import { accessOf, command, CommandRuntime, created, createdEvent, crudResource, decided } from "../../kernel/index.ts"
import { deletedEvent, get, initialRow, integer, invalid, noContent, notFound, ok, reject } from "../../kernel/index.ts"
import { render, renderById, Shown, Store, unpagedMeta, update, updatedEvents } from "../../kernel/index.ts"
import { viewContext, viewManageAccess, withId } from "../../kernel/index.ts"
import type { AnyRow, Fields, Resource, Slice, Stamped, Table } from "../../kernel/index.ts"
import type { MergeFacts, Related } from "./decide.ts"
import { memberEvents, memberProblems, memberRestored, mergeMembers, relationshipProblem } from "./decide.ts"
import {
  addressResource,
  emailResource,
  linkResource,
  memberResource,
  phoneResource,
  relationshipResource
} from "./resource.ts"
import type { ContactKind, RelationshipRow } from "./schema.ts"
import {
  addressFields,
  contactTables,
  emailFields,
  linkFields,
  member_tax_columns,
  memberFields,
  members,
  phoneFields,
  relationshipFields,
  relationships
} from "./schema.ts"
import { doublesOf } from "../../kernel/runtime/reference-checks.ts"
import { assignedClass, classesFor, organisation_tax_classes } from "../../setup/reference-data/tax.ts"

// Contact records of members: addresses, e-mails, phones, links and relationships (rules/members-activities 3).

const access = viewManageAccess("members", "members.view", "members.edit")

/** Endpoints of one kind of contact record; making one primary removes the mark from the earlier one. */
const contactSlice = (resource: Resource<Table<Fields & Stamped>>, fields: Fields): Slice => {
  const table: Table = resource.table
  const primaries = "is_primary" in fields
  return crudResource<Fields, ReadonlyArray<AnyRow & { readonly id: number }>, Fields, "member", typeof members>({
    resource,
    fields,
    path: `/api/v1/members/{member}/${resource.plural}`,
    name: `members.${resource.plural}`,
    access,
    parent: { param: "member", table: members, column: "member_id" },
    only: ["list", "create", "update", "delete"],
    unpaged: true,
    rules: {
      facts: (input) =>
        Effect.gen(function* () {
          if (!primaries) return []
          const { member } = input.rows
          return (yield* Store.find(table, { member_id: member.id, is_primary: true })).map(withId)
        }),
      save: ({ next, facts }) => {
        const others = next["is_primary"] === true ? facts.filter((one) => one.id !== next.id) : []
        return Result.succeed({ also: others.flatMap((one) => updatedEvents(table, one, { is_primary: false })) })
      }
    }
  })
}

/** Relationships of a member, whichever side it is on. */
const relationshipsOf = Effect.fnUntraced(function* (id: number) {
  const from = yield* Store.find(relationships, { member_id: id })
  return [...from, ...(yield* Store.find(relationships, { related_member_id: id }))]
})
const inPath = { member: { table: members } }
const listRelationships = get("/api/v1/members/{member}/relationships", {
  answer: { relationships: Shown.rows(() => relationshipResource), meta: Shown.meta },
  name: "members.relationships.list",
  summary: "List a member's relationships, in either direction",
  ability: access.read,
  permission: access.view,
  params: inPath,
  run: Effect.fnUntraced(function* (input) {
    const rows = (yield* relationshipsOf(input.rows.member.id)).toSorted((one, other) => one.id - other.id)
    const views = yield* render(relationshipResource, rows, [], viewContext(input))
    return ok({ relationships: views, meta: unpagedMeta(views.length, input.query) })
  })
})

interface RelationshipFacts {
  readonly related: Parameters<typeof relationshipProblem>[1] | undefined
  readonly existing: ReadonlyArray<RelationshipRow>
  readonly primaries: ReadonlyArray<RelationshipRow>
}
const relate = command("POST", "/api/v1/members/{member}/relationships", {
  answer: { relationship: Shown.row(() => relationshipResource) },
  name: "members.relationships.create",
  summary: "Create a relationship between two members",
  ability: access.write,
  permission: access.create,
  params: inPath,
  fields: relationshipFields,
  creates: [relationships],
  // Locks both members: otherwise two requests at once could relate the same pair twice.
  streams: (params, body) => [`member:${params["member"]}`, `member:${String(body["related_member_id"])}`],
  facts: ({ rows, values }) =>
    Effect.gen(function* () {
      const [here, there] = [rows.member.id, values.related_member_id ?? 0]
      return {
        related: yield* Store.get(members, there),
        existing: [
          ...(yield* Store.find(relationships, { member_id: here, related_member_id: there })),
          ...(yield* Store.find(relationships, { member_id: there, related_member_id: here }))
        ],
        primaries:
          values.is_primary === true ? yield* Store.find(relationships, { member_id: here, is_primary: true }) : []
      } satisfies RelationshipFacts
    }),
  decide: ({ related, existing, primaries }: RelationshipFacts, { rows, values }, context) => {
    const problem =
      related === undefined
        ? "The selected related member does not exist."
        : relationshipProblem(rows.member, related, existing)
    if (problem !== undefined) return reject("related_member_id", problem)
    const row = {
      ...initialRow(relationships, relationshipFields),
      ...values,
      id: context.id(relationships),
      member_id: rows.member.id
    }
    return decided(row.id, [
      createdEvent(relationships, row),
      ...primaries.flatMap((one) => updatedEvents(relationships, one, { is_primary: false }))
    ])
  },
  respond: (result, input) =>
    Effect.map(renderById(relationshipResource, result.id, input.query, viewContext(input)), created)
})

const unrelate = command("DELETE", "/api/v1/members/{member}/relationships/{id}", {
  name: "members.relationships.delete",
  summary: "Delete a relationship, from either side",
  ability: access.write,
  permission: access.delete,
  params: { ...inPath, id: { table: relationships } },
  facts: () => Effect.succeed(undefined),
  decide: (_facts, { rows: { id: row, member } }) =>
    row.member_id !== member.id && row.related_member_id !== member.id
      ? Result.fail(notFound("No such relationship."))
      : decided(row.id, [deletedEvent(relationships, row.id, row)]),
  respond: () => Effect.succeed(noContent)
})

const relationshipSlice = crudResource({
  resource: relationshipResource,
  fields: relationshipFields,
  path: "",
  access,
  only: []
})

const contactSlices: ReadonlyArray<Slice> = [
  contactSlice(addressResource, addressFields),
  contactSlice(emailResource, emailFields),
  contactSlice(phoneResource, phoneFields),
  contactSlice(linkResource, linkFields),
  { ...relationshipSlice, name: "members.relationships", endpoints: [listRelationships, relate, unrelate] }
]

// Facts for merging two members (rules/members-activities 2).

/** Facts for merging: both members' relationships, kinds with a primary contact record, and shared participations. */
const mergeFacts = Effect.fnUntraced(function* (primary_id: number, secondary_id: number) {
  const both = [primary_id, secondary_id]
  const joined = [
    ...(yield* Store.find(relationships, { member_id: both })),
    ...(yield* Store.find(relationships, { related_member_id: both }))
  ]
  const primary_kinds: Array<ContactKind> = []
  for (const kind of ["addresses", "emails", "phones"] as const) {
    if (yield* Store.exists(contactTables[kind], { member_id: primary_id, is_primary: true })) primary_kinds.push(kind)
  }
  const { references } = (yield* CommandRuntime).catalogue
  return {
    secondary: yield* Store.get(members, secondary_id),
    primary_kinds,
    doubled: yield* doublesOf(references, members, { from: secondary_id, into: primary_id }),
    relationships: [...new Map(joined.map((one) => [one.id, one])).values()].sort((one, other) => one.id - other.id)
  } satisfies MergeFacts
})

/** Relationships of a member, whichever side it is on, with the other member. */
const relatedTo = Effect.fnUntraced(function* (id: number): Store.Reads<ReadonlyArray<Related>> {
  const found = yield* relationshipsOf(id)
  const otherOf = (one: RelationshipRow): number => (one.member_id === id ? one.related_member_id : one.member_id)
  const others = yield* Store.byId(members, found.map(otherOf))
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
  // Serialises changes of type: two related contacts must not both change theirs at once.
  streams: ({ id }, { membership_type }) => [
    ...(membership_type === undefined ? [] : ["member_types"]),
    ...(id === undefined ? [] : [`member:${id}`])
  ],
  rules: {
    facts: (input, before) =>
      Effect.gen(function* () {
        const keeps_type =
          before === undefined || (input.values["membership_type"] ?? before.membership_type) === before.membership_type
        return {
          related: keeps_type ? [] : yield* relatedTo(before.id),
          tax_class_id:
            before === undefined ? yield* assignedClass(organisation_tax_classes, input.settings) : undefined
        }
      }),
    save: ({ next, before, facts, input }) => {
      const errors = memberProblems(next, before, facts.related)
      return Object.keys(errors).length > 0
        ? Result.fail(invalid(errors))
        : Result.succeed({ set: classesFor(member_tax_columns, input.body, facts.tax_class_id) })
    },
    delete: ({ row }) =>
      row.membership_type === "user"
        ? reject("member", "This member is a user: deactivate the user instead.")
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
  summary: "Restore an archived member",
  ability: "members:write",
  permission: "members.delete",
  params: { id: { table: members, with_deleted: true } },
  facts: () => Effect.succeed(undefined),
  decide: (_facts, { rows: { id: row } }) =>
    decided(row.id, row.deleted_at === null ? [] : [memberRestored.make({ id: row.id })]),
  respond: (_result, input) => shownMember(input.rows.id.id, input)
})

const merge = command("POST", "/api/v1/members/{id}/merge", {
  answer: oneMember,
  name: "members.merge",
  summary: "Merge another member into this one",
  destructive: true,
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
