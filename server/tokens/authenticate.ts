/** From a bearer secret to the one who asks. What was read is used again for less than a second, never past a change made here. */
import { Clock, Effect } from "effect"
import type { Fault } from "../../core/kernel/endpoint.ts"
import { update } from "../../core/kernel/change.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { instantOf } from "../../core/values/time.ts"
import { userById } from "../users.ts"
import { hashOf, isSecretOf, type TokenRow, tokens } from "./schema.ts"

export interface Bearer {
  readonly viewer: Viewer
  /** Requests a minute of this token alone; null where the setting holds. */
  readonly rate_limit_per_minute: number | null
}
export interface Authentication {
  /** The bearer of a secret; undefined when it opens nothing (unknown, expired, revoked). */
  readonly bearerOf: (secret: string) => Effect.Effect<Bearer | undefined, Fault, Store>
  /** Notes that a token was used: at most once a minute, and without anybody waiting for it. */
  readonly used: (token_id: number) => Effect.Effect<void, Fault, Store>
  /** Nothing known counts any more: users, roles or tokens changed. */
  readonly forget: () => void
}

/** How long what another process may have changed is still believed. */
const believed_millis = 900
const bearers_kept = 10_000
const use_noted_every_millis = 60_000
const secret_length_max = 512

interface Known { readonly row: TokenRow; readonly bearer: Bearer; readonly until: number }

export const makeAuthentication = (): Authentication => {
  const known = new Map<string, Known>()
  const noted = new Map<number, number>()
  let generation = 0

  const read = Effect.fnUntraced(function*(hash: string, now: number) {
    const begun = generation
    const store = yield* Store
    const row = yield* store.first(tokens, { hash })
    if (row === undefined || !isSecretOf(row, hash)) return undefined
    const user = yield* userById(row.user_id)
    // A deactivated account is told so (403); a token revoked with it stays dead when the account comes back.
    if (user === undefined || (user.is_active && row.revoked_at !== null)) return undefined
    const viewer: Viewer = { ...user, abilities: new Set(row.abilities), token_id: row.id }
    const found: Known = { row, bearer: { viewer, rate_limit_per_minute: row.rate_limit_per_minute }, until: now + believed_millis }
    // A change that came while this was being read would otherwise be missed.
    if (begun === generation) {
      if (known.size >= bearers_kept) known.delete(known.keys().next().value as string)
      known.set(hash, found)
    }
    return found
  })

  return {
    bearerOf: Effect.fnUntraced(function*(secret: string) {
      if (secret === "" || secret.length > secret_length_max) return undefined
      const hash = hashOf(secret)
      const now = yield* Clock.currentTimeMillis
      const before = known.get(hash)
      const found = before !== undefined && now < before.until && now > before.until - 2 * believed_millis ? before : yield* read(hash, now)
      if (found === undefined) {
        known.delete(hash)
        return undefined
      }
      return found.row.expires_at !== null && Date.parse(found.row.expires_at) <= now ? undefined : found.bearer
    }),
    used: Effect.fnUntraced(function*(token_id: number) {
      const now = yield* Clock.currentTimeMillis
      if (now - (noted.get(token_id) ?? -Infinity) < use_noted_every_millis) return
      if (noted.size >= bearers_kept) noted.clear()
      noted.set(token_id, now)
      yield* (yield* Store).apply([update(tokens, token_id, { last_used_at: instantOf(now) })])
    }),
    forget: () => {
      generation++
      known.clear()
    }
  }
}
