/** Endpoints of users (rules/conventions 12): POST invites a user, DELETE deactivates one. */
import { Effect } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { command, get } from "../kernel/endpoint.ts"
import { boolean, list, text } from "../kernel/field.ts"
import { created, listOf, noContent, ok, resource, renderOne, renderById, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import type { Viewer } from "../kernel/viewer.ts"
import { members } from "../members/schema.ts"
import { sendsInvitations } from "./account-mail.ts"
import { activateUser, changeUser, deactivateUser, inviteUser } from "./decide.ts"
import { grants, listAbilities, listPermissions, rolesSlice, viewerLevel } from "./roles.ts"
import { laterGrants, interfacePermissions, laterPermissions, serverPermissions } from "./permissions.ts"
import { roles, users } from "./schema.ts"
import { grantToSystemRoles, roleSeed } from "./seed.ts"
import { isAdministrator } from "./rights.ts"
import { userEvents } from "./events.ts"
import { rolesOf } from "./viewer.ts"
import * as Shown from "../kernel/answer-schema.ts"

export const userResource = resource({
  singular: "user",
  shows: { roles: list(text()), is_admin: boolean() },
  table: users,
  called: { by: ["email", "name"] },
  filters: ["name", "email", "is_active", "is_owner", "member_id", "created_at", "updated_at"],
  sorts: ["name", "email", "created_at", "updated_at"],
  aliases: { active: "is_active" },
  includes: { member: { kind: "brief", via: "member_id", table: members } },
  load: () => Effect.flatMap(Store, (store) => store.find(roles, {}, { order: ["sort_order", "id"] })),
  view: (base, row, _found, _context, all) => {
    const names = rolesOf(row, all).map((role) => role.name)
    return { ...base, roles: row.is_owner ? ["Owner", ...names] : names, is_admin: isAdministrator(row, all) }
  }
})

const oneUser = { user: Shown.row(() => userResource) }
const inPath = { id: { table: users } }
/** What rules about people must know. */
export const factsFor = Effect.fnUntraced(function* (viewer: Viewer) {
  return {
    roles: yield* (yield* Store).find(roles, {}, { order: ["sort_order", "id"] }),
    level: yield* viewerLevel(viewer)
  }
})
const shownUser = (
  id: number,
  input: Parameters<typeof viewContext>[0] & { readonly query: Parameters<typeof renderById>[2] }
) => renderById(userResource, id, input.query, viewContext(input))
const sameUser = ({ id }: { readonly [name: string]: string }) => [`user:${id}`, grants]

const endpoints = [
  get("/api/v1/users", {
    answer: Shown.page(() => userResource),
    name: "users.list",
    summary: "List users",
    ability: "users:read",
    permission: "users.view",
    run: (input) => Effect.map(listOf(userResource, input.query, viewContext(input)), ok)
  }),
  get("/api/v1/users/{id}", {
    answer: oneUser,
    name: "users.show",
    summary: "Show one user",
    ability: "users:read",
    permission: "users.view",
    params: inPath,
    run: (input) => Effect.map(renderOne(userResource, input.rows.id, input.query, viewContext(input)), ok)
  }),
  command("POST", "/api/v1/users", {
    answer: { ...oneUser, invitation_sent: boolean({ describe: "Whether they are sent a code to log in with" }) },
    name: "users.create",
    summary: "Invite a user",
    ability: "users:write",
    permission: "users.invite",
    fields: {
      name: text({ required: true }),
      email: text({ required: true, format: "email" }),
      roles: list(text(), { default: [] }),
      active: boolean({ default: false, describe: "They may log in at once, without accepting an invitation" }),
      send_invitation: boolean({ default: true, describe: "Send them a code to log in with, by mail" })
    },
    creates: [members, users],
    streams: () => [grants],
    facts: ({ viewer }) => factsFor(viewer),
    decide: (facts, { values, viewer }, context) =>
      inviteUser(
        {
          id: context.id(users),
          member_id: context.id(members),
          name: values.name!,
          email: values.email!,
          roles: values.roles!,
          is_active: values.active!,
          send_invitation: values.send_invitation !== false
        },
        viewer,
        facts,
        context.now
      ),
    respond: (result, input) =>
      Effect.gen(function* () {
        const shown = yield* shownUser(result.id, input)
        const invitation_sent = input.values.send_invitation === true && (yield* sendsInvitations)
        return created({ ...shown, invitation_sent })
      })
  }),
  command("PUT", "/api/v1/users/{id}", {
    answer: oneUser,
    name: "users.update",
    summary: "Change a user; what is left out stays",
    ability: "users:write",
    permission: "users.edit",
    params: inPath,
    streams: sameUser,
    fields: { name: text({ required: true }), email: text({ required: true, format: "email" }), roles: list(text()) },
    facts: ({ viewer, rows }) =>
      Effect.gen(function* () {
        return { ...(yield* factsFor(viewer)), member: yield* (yield* Store).get(members, rows.id.member_id) }
      }),
    decide: (facts, { rows, values, viewer }) => changeUser(rows.id, values, viewer, facts),
    respond: (result, input) => Effect.map(shownUser(result.id, input), ok)
  }),
  command("DELETE", "/api/v1/users/{id}", {
    name: "users.delete",
    summary: "Deactivate a user",
    ability: "users:write",
    permission: "users.deactivate",
    params: inPath,
    streams: sameUser,
    facts: ({ viewer }) => factsFor(viewer),
    decide: (facts, { rows, viewer }) => deactivateUser(rows.id, viewer, facts),
    respond: () => Effect.succeed(noContent)
  }),
  command("POST", "/api/v1/users/{id}/activate", {
    answer: oneUser,
    name: "users.activate",
    summary: "Activate an invited or deactivated user",
    ability: "users:write",
    permission: "users.activate",
    params: inPath,
    streams: sameUser,
    facts: ({ viewer }) => factsFor(viewer),
    decide: (facts, { rows, viewer }) => activateUser(rows.id, viewer, facts),
    respond: (result, input) => Effect.map(shownUser(result.id, input), ok)
  })
]

export const userSlices: ReadonlyArray<Slice> = [
  {
    ...rolesSlice,
    permissions: [...interfacePermissions, ...serverPermissions, ...laterPermissions],
    seed: roleSeed,
    later_seeds: [grantToSystemRoles(laterGrants)],
    endpoints: [...(rolesSlice.endpoints ?? []), listPermissions, listAbilities]
  },
  { name: "users", tables: [users], resources: [userResource], events: userEvents, endpoints }
]
