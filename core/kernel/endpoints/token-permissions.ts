/**
 * The permissions that a user's token lets through. Devices hold rows, so a token that may sync must not reveal what
 * the API refuses it: a permission counts only if the token also opens an endpoint that needs it.
 */
import type { Catalogue } from "./endpoint.ts"
import { hasAbility, type Viewer } from "../fields/rejection.ts"

interface PermissionIndex {
  /** Abilities that open an endpoint requiring the permission. */
  readonly abilities: ReadonlyMap<string, ReadonlySet<string>>
  /** All permissions used by endpoints or columns; owners have them all. */
  readonly permissions: ReadonlySet<string>
}
const permission_indexes = new WeakMap<Catalogue, PermissionIndex>()
const areaOf = (permission: string): string => permission.slice(0, permission.indexOf(".") + 1)

const permissionIndexOf = (catalogue: Catalogue): PermissionIndex => {
  const before = permission_indexes.get(catalogue)
  if (before !== undefined) return before
  // Endpoints with several permissions or abilities, or no ability, count only for permissions no other one requires.
  const alone = new Map<string, Set<string>>(),
    shared = new Map<string, Set<string>>()
  const note = (map: Map<string, Set<string>>, name: string, abilities: ReadonlyArray<string>): void => {
    map.set(name, new Set([...(map.get(name) ?? []), ...abilities]))
  }
  for (const { ability, permission } of catalogue.endpoints) {
    const permissions = [permission ?? []].flat(),
      abilities = [ability ?? []].flat()
    for (const one of permissions)
      note(permissions.length === 1 && abilities.length === 1 ? alone : shared, one, abilities)
  }
  // A permission that no endpoint requires is treated like the others of its area.
  const areas = new Map<string, Set<string>>()
  for (const [permission, abilities] of alone) note(areas, areaOf(permission), [...abilities])
  const columns = catalogue.tables.flatMap(({ columns }) =>
    Object.values(columns).flatMap(({ visible_to }) => visible_to ?? [])
  )
  const known: PermissionIndex = {
    abilities: new Map([...areas, ...shared, ...alone]),
    permissions: new Set([...alone.keys(), ...shared.keys(), ...columns])
  }
  permission_indexes.set(catalogue, known)
  return known
}

/** The user with the permissions their token allows; unchanged if the token has every ability. */
export const restrictToToken = (catalogue: Catalogue, viewer: Viewer): Viewer => {
  if (viewer.abilities.has("*")) return viewer
  const { abilities, permissions } = permissionIndexOf(catalogue)
  const opened = (permission: string): boolean => {
    const wanted = abilities.get(permission) ?? abilities.get(areaOf(permission))
    return wanted === undefined || [...wanted].some((one) => hasAbility(viewer, one))
  }
  return {
    ...viewer,
    is_owner: false,
    permissions: new Set([...(viewer.is_owner ? permissions : viewer.permissions)].filter(opened))
  }
}

/**
 * The first ability that these permissions would open but the token lacks; undefined if it lacks none. Owners'
 * permissions are `"all"`.
 */
export const abilityLacking = (
  catalogue: Catalogue,
  viewer: Viewer,
  permissions: ReadonlySet<string> | "all"
): string | undefined => {
  if (viewer.abilities.has("*")) return undefined
  if (permissions === "all") return "*"
  const closed = catalogue.endpoints.find(
    ({ ability, permission }) =>
      [permission ?? []].flat().some((one) => permissions.has(one)) &&
      ability !== null &&
      ![ability].flat().some((one) => hasAbility(viewer, one))
  )
  return closed === undefined ? undefined : [closed.ability ?? []].flat()[0]
}
