/** Endpoints of users, where POST invites one and DELETE deactivates one, and of roles (rules/conventions 11, 12). */
import { Context, Effect, Result } from "effect"
import { boolean, command, CommandRuntime, created, crudResource, get, hasOnePermission } from "../../kernel/index.ts"
import { invalid, list, listOf, noContent, ok, reject, renderById, renderOne, resource } from "../../kernel/index.ts"
import { picked, Shown, Store, text, unpagedMeta, viewContext, viewManageAccess } from "../../kernel/index.ts"
import type { Catalogue, Failure, Slice, Viewer } from "../../kernel/index.ts"
import {
  beyondToken,
  interfacePermissions,
  isAdministrator,
  laterGrants,
  laterPermissions,
  levelOf,
  owner_level,
  roleChangeRefusal,
  roleFields,
  roles,
  rolesOf,
  serverPermissions,
  users
} from "./permissions.ts"
import { members } from "../members/schema.ts"
import {
  activateUser,
  changeUser,
  deactivateUser,
  grantToSystemRoles,
  inviteUser,
  roleSeed,
  userEvents
} from "./decide.ts"

// Abilities that tokens can be issued with (rules/conventions 11).

const words = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)
const readAndWrite = (areas: string): ReadonlyArray<string> =>
  words(areas).flatMap((area) => [`${area}:read`, `${area}:write`])

/** Abilities that the API promises, including those of parts not built yet. */
const interface_abilities: ReadonlyArray<string> = [
  ...readAndWrite(`members exchange_rates products stock stores containers kits activities opportunities shortages rates pricing
    custom-fields custom-views static-data tax-classes settings users roles tokens sync invoices purchase_orders documents
    notifications notification-preferences notification-settings boards`),
  ...words(`countries:read currencies:read availability:read schema:read system:read system:write action-log:read
    webhooks:manage payments:write credit-notes:read api-usage:read api-log:read`)
]

/** All abilities of the API and its endpoints, sorted; without `*`, which means all of them. */
export const abilitiesOf = ({ endpoints }: Catalogue): ReadonlyArray<string> => {
  const asked_for = endpoints.flatMap(({ ability }) => ability ?? [])
  return [...new Set([...interface_abilities, ...asked_for])].filter((ability) => ability !== "*").sort()
}

// Mail to account holders, provided by the server; the default for devices assumes that mail is sent.

interface AccountMailShape {
  /** Whether the company's setting enables invitations by mail. */
  readonly invites: Effect.Effect<boolean, Failure, Store>
  /** Invitation code to show to the inviting user; null if it is mailed to the invited one. */
  readonly codeShown: (user_id: number) => Effect.Effect<string | null, Failure, Store>
}
export const AccountMail = Context.Reference<AccountMailShape>("flightcase/core/AccountMail", {
  defaultValue: () => ({ invites: Effect.succeed(true), codeShown: () => Effect.succeed(null) })
})

// Endpoints of roles, and lists of all permissions and abilities (rules/conventions 11 and 12).

export const roleResource = resource({
  singular: "role",
  shows: { cost_visibility: boolean() },
  table: roles,
  called: { by: ["name"] },
  filters: ["name", "is_system", "level", "created_at"],
  sorts: ["name", "level", "sort_order", "created_at"],
  order: ["sort_order"],
  view: (base, row) => ({ ...base, cost_visibility: row.permissions.includes("costs.view") })
})

/** Highest level of the caller's roles (rules/conventions 11); `owner_level` for the owner. */
const viewerLevel = Effect.fnUntraced(function* (viewer: Viewer) {
  if (viewer.is_owner) return owner_level
  return levelOf(yield* Store.get(users, viewer.user_id), yield* Store.find(roles, {}))
})

/** Stream locked by all commands on roles and users, so that no role is granted while being deleted. */
export const grants = "role:grants"

const rolesSlice = crudResource({
  resource: roleResource,
  fields: roleFields,
  path: "/api/v1/roles",
  access: viewManageAccess("roles", "roles.view", "roles.manage"),
  streams: ({ id }) => [grants, ...(id === undefined ? [] : [`role:${id}`])],
  rules: {
    facts: (input) =>
      Effect.gen(function* () {
        const { catalogue } = yield* CommandRuntime
        return {
          level: yield* viewerLevel(input.viewer),
          permissions: new Set(catalogue.permissions.map(({ key }) => key)),
          catalogue
        }
      }),
    save: ({ next, before, facts, input }) => {
      if (before?.is_system === true && next.name !== before.name)
        return reject("name", "A system role keeps its name.")
      const bar = before === undefined ? undefined : roleChangeRefusal(before, input.viewer, facts.level)
      if (bar !== undefined) return reject("role", `You cannot change this role: ${bar}.`)
      const added = next.permissions.filter((key) => before?.permissions.includes(key) !== true)
      const errors = Object.fromEntries(
        added.flatMap((key): ReadonlyArray<readonly [string, ReadonlyArray<string>]> => {
          const at = `permissions.${next.permissions.indexOf(key)}`
          return !facts.permissions.has(key)
            ? [[at, [`There is no permission ${key}.`]]]
            : !hasOnePermission(input.viewer, key)
              ? [[at, [`You cannot give away the permission ${key} without having it.`]]]
              : []
        })
      )
      if (Object.keys(errors).length > 0) return Result.fail(invalid(errors))
      const refusal = beyondToken(facts.catalogue, input.viewer, { is_owner: false, permissions: added })
      return refusal === undefined ? Result.succeed({}) : Result.fail(refusal)
    },
    delete: ({ row, facts, input }) => {
      if (row.is_system) return reject("role", "A system role cannot be deleted.")
      const bar = roleChangeRefusal(row, input.viewer, facts.level)
      return bar !== undefined ? reject("role", `You cannot delete this role: ${bar}.`) : Result.succeed([])
    }
  }
})

const listPermissions = get("/api/v1/permissions", {
  answer: { permissions: Shown.objects({ key: text(), area: text(), action: text() }), meta: Shown.meta },
  name: "permissions.list",
  summary: "List the permissions roles can grant",
  ability: "roles:read",
  permission: "roles.view",
  run: ({ query }) =>
    Effect.map(CommandRuntime, ({ catalogue: { permissions } }) =>
      ok({ permissions: [...permissions], meta: unpagedMeta(permissions.length, query) })
    )
})
const listAbilities = get("/api/v1/abilities", {
  answer: { abilities: Shown.objects({ key: text() }), meta: Shown.meta },
  name: "abilities.list",
  summary: "List the abilities tokens can have",
  ability: null,
  permission: null,
  run: ({ query }) =>
    Effect.map(CommandRuntime, ({ catalogue }) => {
      const abilities = abilitiesOf(catalogue)
      return ok({ abilities: abilities.map((key) => ({ key })), meta: unpagedMeta(abilities.length, query) })
    })
})

export const userResource = resource({
  singular: "user",
  shows: { roles: list(text()), is_admin: boolean() },
  table: users,
  called: { by: ["email", "name"] },
  filters: ["name", "email", "is_active", "is_owner", "member_id", "created_at", "updated_at"],
  sorts: ["name", "email", "created_at", "updated_at"],
  aliases: { active: "is_active" },
  includes: { member: { kind: "brief", via: "member_id", table: members } },
  load: () => Store.find(roles, {}, { order: ["sort_order", "id"] }),
  view: (base, row, _found, _context, all) => {
    const names = rolesOf(row, all).map((role) => role.name)
    return { ...base, roles: row.is_owner ? ["Owner", ...names] : names, is_admin: isAdministrator(row, all) }
  }
})

const oneUser = { user: Shown.row(() => userResource) }
const inPath = { id: { table: users } }
/** Facts for the rules of users: all roles in order, the caller's level and the catalogue. */
export const factsFor = Effect.fnUntraced(function* (viewer: Viewer) {
  const { catalogue } = yield* CommandRuntime
  return {
    roles: yield* Store.find(roles, {}, { order: ["sort_order", "id"] }),
    level: yield* viewerLevel(viewer),
    catalogue
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
    run: (input) => listOf(userResource, input)
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
    answer: {
      ...oneUser,
      invitation_sent: boolean({ describe: "Whether mail with a login code is queued" }),
      invitation_code: text({
        nullable: true,
        secret: true,
        describe: "Login code, if no mail server is set; else null"
      })
    },
    name: "users.create",
    summary: "Invite a user",
    ability: "users:write",
    permission: "users.invite",
    fields: {
      name: text({ required: true }),
      email: text({ required: true, format: "email" }),
      roles: list(text(), { default: [] }),
      active: boolean({ default: false, describe: "Activate the user at once, before any login" }),
      send_invitation: boolean({ default: true, describe: "Mail the user a login code" })
    },
    creates: [members, users],
    streams: () => [grants],
    facts: ({ viewer }) => factsFor(viewer),
    decide: (facts, { values, viewer }, context) =>
      inviteUser(
        {
          id: context.id(users),
          member_id: context.id(members),
          ...picked(values, ["name", "email", "roles"]),
          is_active: values.active,
          send_invitation: values.send_invitation !== false
        },
        viewer,
        facts,
        context.now
      ),
    respond: Effect.fnUntraced(function* (result, input) {
      const shown = yield* shownUser(result.id, input)
      const invitation_sent = input.values.send_invitation === true && (yield* (yield* AccountMail).invites)
      const invitation_code = invitation_sent ? yield* (yield* AccountMail).codeShown(result.id) : null
      return created({ ...shown, invitation_sent, invitation_code })
    })
  }),
  command("PUT", "/api/v1/users/{id}", {
    answer: oneUser,
    name: "users.update",
    summary: "Update a user",
    ability: "users:write",
    permission: "users.edit",
    params: inPath,
    streams: sameUser,
    fields: { name: text({ required: true }), email: text({ required: true, format: "email" }), roles: list(text()) },
    facts: ({ viewer, rows }) =>
      Effect.gen(function* () {
        return { ...(yield* factsFor(viewer)), member: yield* Store.get(members, rows.id.member_id) }
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
