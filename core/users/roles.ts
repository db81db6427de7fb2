/** Endpoints of roles, and the lists of permissions and abilities there are (rules/conventions 11 and 12). */
import { Effect, Result } from "effect"
import { get } from "../kernel/endpoint.ts"
import { viewManageAccess, crudResource } from "../kernel/crud-resource.ts"
import { invalid, invalidField } from "../kernel/rejection.ts"
import { ok, resource, unpagedMeta } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { hasOnePermission, type Viewer } from "../kernel/viewer.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import { abilitiesOf } from "./abilities.ts"
import { owner_level } from "./permissions.ts"
import { roleFields, roles, users } from "./schema.ts"
import { roleChangeRefusal } from "./rights.ts"
import { levelOf } from "./viewer.ts"
import { boolean, text } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"

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

/** The level of the caller's highest role (rules/conventions 11); the owner's is `owner_level`. */
export const viewerLevel = Effect.fnUntraced(function* (viewer: Viewer) {
  if (viewer.is_owner) return owner_level
  const store = yield* Store
  return levelOf(yield* store.get(users, viewer.user_id), yield* store.find(roles, {}))
})

/** The stream locked by whoever grants or deletes a role, so that no role is granted while it is being deleted. */
export const grants = "role:grants"

export const rolesSlice = crudResource({
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
          permissions: new Set(catalogue.permissions.map(({ key }) => key))
        }
      }),
    save: ({ next, before, facts, input }) => {
      if (before?.is_system === true && next.name !== before.name)
        return Result.fail(invalidField("name", "A system role keeps its name."))
      const bar = before === undefined ? undefined : roleChangeRefusal(before, input.viewer, facts.level)
      if (bar !== undefined) return Result.fail(invalidField("role", `You cannot change this role: ${bar}.`))
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
      return Object.keys(errors).length > 0 ? Result.fail(invalid(errors)) : Result.succeed({})
    },
    delete: ({ row, facts, input }) => {
      if (row.is_system) return Result.fail(invalidField("role", "A system role cannot be deleted."))
      const bar = roleChangeRefusal(row, input.viewer, facts.level)
      return bar !== undefined
        ? Result.fail(invalidField("role", `You cannot delete this role: ${bar}.`))
        : Result.succeed([])
    }
  }
})

export const listPermissions = get("/api/v1/permissions", {
  answer: { permissions: Shown.objects({ key: text(), area: text(), action: text() }), meta: Shown.meta },
  name: "permissions.list",
  summary: "List what roles can allow",
  ability: "roles:read",
  permission: "roles.view",
  run: ({ query }) =>
    Effect.map(CommandRuntime, ({ catalogue: { permissions } }) =>
      ok({ permissions: [...permissions], meta: unpagedMeta(permissions.length, query) })
    )
})
export const listAbilities = get("/api/v1/abilities", {
  answer: { abilities: Shown.objects({ key: text() }), meta: Shown.meta },
  name: "abilities.list",
  summary: "List what tokens can be good for",
  ability: null,
  permission: null,
  run: ({ query }) =>
    Effect.map(CommandRuntime, ({ catalogue }) => {
      const abilities = abilitiesOf(catalogue)
      return ok({ abilities: abilities.map((key) => ({ key })), meta: unpagedMeta(abilities.length, query) })
    })
})
