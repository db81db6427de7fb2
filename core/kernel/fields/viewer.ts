/** The caller: a user through a token (server) or the replica's own user (offline). */
export interface Viewer {
  readonly user_id: number
  readonly name: string
  readonly person_id: number | null
  readonly is_owner: boolean
  readonly is_active: boolean
  readonly role_ids: ReadonlyArray<number>
  readonly permissions: ReadonlySet<string>
  readonly abilities: ReadonlySet<string>
  readonly token_id: number | null
}

/** Owners pass every permission (rules/conventions 11). */
export const hasOnePermission = (viewer: Viewer, permission: string): boolean =>
  viewer.is_owner || viewer.permissions.has(permission)
/** Whether the token has the ability; `*` stands for all. */
export const hasAbility = (viewer: Viewer, ability: string): boolean =>
  viewer.abilities.has("*") || viewer.abilities.has(ability)
