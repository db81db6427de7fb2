/** Expected failures as values, with their HTTP statuses and exit codes; anything else is a defect. */
import { Data, Result } from "effect"

type RejectionKind =
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "invalid"
  | "conflict"
  | "in_flight"
  | "gone"
  | "too_large"
  | "too_many"
  | "unsupported"
  | "unavailable"

/** Field name (dotted, with indexes) → errors, with advice. */
export type FieldErrors = { readonly [field: string]: ReadonlyArray<string> }

export class Rejection extends Data.TaggedError("Rejection")<{
  readonly kind: RejectionKind
  readonly message: string
  readonly errors?: FieldErrors
  readonly headers?: { readonly [name: string]: string }
}> {}

export const statusOf: { readonly [K in RejectionKind]: number } = {
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  gone: 410,
  too_large: 413,
  unsupported: 415,
  invalid: 422,
  in_flight: 425,
  too_many: 429,
  unavailable: 503
}

/** `message` is the first error, plus how many more there are (rules/conventions 1). */
export const invalid = (errors: FieldErrors): Rejection => {
  const texts = Object.values(errors).flat()
  const more = texts.length - 1
  const message =
    (texts[0] ?? "The given data was invalid.") + (more > 0 ? ` (and ${more} more error${more === 1 ? "" : "s"})` : "")
  return new Rejection({ kind: "invalid", message, errors })
}

export const invalidField = (field: string, text: string): Rejection => invalid({ [field]: [text] })
/** A rule's rejection of a field's value. */
export const reject = (field: string, text: string): Result.Result<never, Rejection> =>
  Result.fail(invalidField(field, text))
export const notFound = (message = "Not found."): Rejection => new Rejection({ kind: "not_found", message })
export const forbidden = (message: string): Rejection => new Rejection({ kind: "forbidden", message })
/** Key of a refusal's `errors` for operations only the server can do. */
export const at_server = "at_server"
export const unauthenticated = (message = "Unauthenticated."): Rejection =>
  new Rejection({ kind: "unauthenticated", message })

/** The response body of a rejection: `{message, errors?}` (rules/conventions 1). */
export const bodyOf = (rejection: Rejection): { message: string; errors?: FieldErrors } =>
  rejection.errors === undefined
    ? { message: rejection.message }
    : { message: rejection.message, errors: rejection.errors }

/** The caller: a user by their token (server), or the replica's own user (offline). */
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

/** Whether the user has the permission; owners have all (rules/conventions 11). */
export const hasOnePermission = (viewer: Viewer, permission: string): boolean =>
  viewer.is_owner || viewer.permissions.has(permission)
/** Whether the token has the ability; `*` grants all. */
export const hasAbility = (viewer: Viewer, ability: string): boolean =>
  viewer.abilities.has("*") || viewer.abilities.has(ability)
