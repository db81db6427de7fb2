/** Contact records of members: addresses, e-mails, phones, links and relationships (rules/members-activities 3). */
import { Effect, Result } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { command, get } from "../kernel/endpoint.ts"
import type { Fields } from "../kernel/field.ts"
import {
  type Access,
  createdEvent,
  deletedEvent,
  initialRow,
  crudResource,
  updatedEvent
} from "../kernel/crud-resource.ts"
import { invalidField, notFound } from "../kernel/rejection.ts"
import {
  created,
  noContent,
  ok,
  render,
  type Resource,
  renderById,
  unpagedMeta,
  viewContext
} from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import type { AnyRow, Stamped, Table } from "../kernel/table.ts"
import { relationshipProblem } from "./decide.ts"
import { addressResource, emailResource, linkResource, phoneResource, relationshipResource } from "./resource.ts"
import {
  addressFields,
  emailFields,
  linkFields,
  members,
  phoneFields,
  type RelationshipRow,
  relationshipFields,
  relationships
} from "./schema.ts"
import * as Shown from "../kernel/answer-schema.ts"

const access: Access = {
  read: "members:read",
  write: "members:write",
  view: "members.view",
  create: "members.edit",
  edit: "members.edit",
  delete: "members.edit"
}

type Contact = AnyRow & { readonly id: number; readonly is_primary?: boolean }
/** The endpoints of one type of contact record; a new primary record replaces the earlier primary one. */
const contactSlice = (resource: Resource<Table<Fields & Stamped>>, fields: Fields): Slice => {
  const table: Table = resource.table
  const primaries = "is_primary" in fields
  return crudResource<Fields, ReadonlyArray<Contact>>({
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
          const { member } = input.rows as { readonly member: { readonly id: number } }
          return (yield* (yield* Store).find(table, {
            member_id: member.id,
            is_primary: true
          })) as ReadonlyArray<Contact>
        }),
      save: ({ next, facts }) => {
        const row = next as Contact
        const others = row.is_primary === true ? facts.filter((one) => one.id !== row.id) : []
        return Result.succeed({
          also: others
            .map((one) => updatedEvent(table, one, { is_primary: false }))
            .filter((event) => event !== undefined)
        })
      }
    }
  })
}

const inPath = { member: { table: members } }
const listRelationships = get("/api/v1/members/{member}/relationships", {
  answer: { relationships: Shown.rows(() => relationshipResource), meta: Shown.meta },
  name: "members.relationships.list",
  summary: "List who a member is related to, in either direction",
  ability: access.read,
  permission: access.view,
  params: inPath,
  run: (input) =>
    Effect.gen(function* () {
      const store = yield* Store
      const { id } = input.rows.member
      const rows = [
        ...(yield* store.find(relationships, { member_id: id })),
        ...(yield* store.find(relationships, { related_member_id: id }))
      ].sort((one, other) => one.id - other.id)
      const views = yield* render(relationshipResource, rows, [], viewContext(input))
      return ok({ relationships: views, meta: unpagedMeta(views.length, input.query) })
    })
})

interface RelationshipFacts {
  readonly related: RelatedMember | undefined
  readonly existing: ReadonlyArray<RelationshipRow>
  readonly primaries: ReadonlyArray<RelationshipRow>
}
type RelatedMember = Parameters<typeof relationshipProblem>[1]
const relate = command("POST", "/api/v1/members/{member}/relationships", {
  answer: { relationship: Shown.row(() => relationshipResource) },
  name: "members.relationships.create",
  summary: "Relate two members",
  ability: access.write,
  permission: access.create,
  params: inPath,
  fields: relationshipFields,
  creates: [relationships],
  // Locks both members: otherwise two requests at once could relate the same pair twice.
  streams: (params, body) => [`member:${params["member"]}`, `member:${String(body["related_member_id"])}`],
  facts: ({ rows, values }) =>
    Effect.gen(function* () {
      const store = yield* Store
      const [here, there] = [rows.member.id, values.related_member_id ?? 0]
      return {
        related: yield* store.get(members, there),
        existing: [
          ...(yield* store.find(relationships, { member_id: here, related_member_id: there })),
          ...(yield* store.find(relationships, { member_id: there, related_member_id: here }))
        ],
        primaries:
          values.is_primary === true ? yield* store.find(relationships, { member_id: here, is_primary: true }) : []
      } satisfies RelationshipFacts
    }),
  decide: ({ related, existing, primaries }: RelationshipFacts, { rows, values }, context) => {
    const problem =
      related === undefined
        ? "The selected related member does not exist."
        : relationshipProblem(rows.member, related, existing)
    if (problem !== undefined) return Result.fail(invalidField("related_member_id", problem))
    const row = {
      ...initialRow(relationships, relationshipFields),
      ...values,
      id: context.id(relationships),
      member_id: rows.member.id
    }
    return Result.succeed({
      events: [
        createdEvent(relationships, row),
        ...primaries
          .map((one) => updatedEvent(relationships, one, { is_primary: false }))
          .filter((event) => event !== undefined)
      ],
      result: { id: row.id }
    })
  },
  respond: (result, input) =>
    Effect.map(renderById(relationshipResource, result.id, input.query, viewContext(input)), created)
})

const unrelate = command("DELETE", "/api/v1/members/{member}/relationships/{id}", {
  name: "members.relationships.delete",
  summary: "End a relationship, from either side",
  ability: access.write,
  permission: access.delete,
  params: { ...inPath, id: { table: relationships } },
  facts: () => Effect.succeed(undefined),
  decide: (_facts, { rows: { id: row, member } }) =>
    row.member_id !== member.id && row.related_member_id !== member.id
      ? Result.fail(notFound("No such relationship."))
      : Result.succeed({ events: [deletedEvent(relationships, row.id, row)], result: { id: row.id } }),
  respond: () => Effect.succeed(noContent)
})

const relationshipSlice = crudResource({
  resource: relationshipResource,
  fields: relationshipFields,
  path: "",
  access,
  only: []
})

export const contactSlices: ReadonlyArray<Slice> = [
  contactSlice(addressResource, addressFields),
  contactSlice(emailResource, emailFields),
  contactSlice(phoneResource, phoneFields),
  contactSlice(linkResource, linkFields),
  { ...relationshipSlice, name: "members.relationships", endpoints: [listRelationships, relate, unrelate] }
]
