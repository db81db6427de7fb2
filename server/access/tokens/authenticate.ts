/** Resolves a bearer secret to its user. Cached for less than a second; changes by this server clear the cache. */
import { Effect } from "effect"
import { Store, update, type Failure, type Viewer } from "../../../core/kernel/index.ts"
import { instantOf } from "../../../core/values/time.ts"
import { revokedDevice } from "../../../sync/server/devices.ts"
import { userById } from "../../ports/server-context.ts"
import { hashOf, isSecretOf, type TokenRow, tokens } from "./issue.ts"

interface Bearer {
  readonly viewer: Viewer
  /** Requests per minute for this token; null for the setting's limit. */
  readonly rate_limit_per_minute: number | null
  /** Weighted units per month for this token, 0 for no limit; null for the setting's limit. */
  readonly monthly_units: number | null
  /** Whether the token's device is revoked: every request is then refused with that reason. */
  readonly device_revoked: boolean
}
export interface Authentication {
  /**
   * The bearer of a secret at an instant (milliseconds since 1970); undefined for unknown, expired and revoked tokens.
   */
  readonly bearerOf: (secret: string, now: number) => Effect.Effect<Bearer | undefined, Failure, Store>
  /** Whether this viewer was read since the cache was last cleared, and its token is valid at `now`, if given. */
  readonly isCurrent: (viewer: Viewer, now?: number) => boolean
  /** The update of `last_used_at`, to be run in the background; undefined within a minute of the last one. */
  readonly used: (token_id: number, now: number) => Effect.Effect<void, Failure, Store> | undefined
  /** Clears the cache, after users, roles or tokens changed. */
  readonly forget: () => void
}

/** Cache lifetime, as other processes may change users and tokens. */
const believed_millis = 900
const bearers_kept = 10_000
const use_noted_every_millis = 60_000
const secret_length_max = 512

interface Known {
  readonly row: TokenRow
  readonly bearer: Bearer
  readonly until: number
}

const unexpired = ({ row, bearer }: Known, now: number): Bearer | undefined =>
  row.expires_at !== null && Date.parse(row.expires_at) <= now ? undefined : bearer

export const makeAuthentication = (): Authentication => {
  const known = new Map<string, Known>()
  const noted = new Map<number, number>()
  /** When the tokens expire of viewers read since the cache was last cleared. */
  let current = new WeakMap<Viewer, number>()
  let generation = 0

  const read = Effect.fnUntraced(function* (hash: string, now: number) {
    const begun = generation
    const row = yield* Store.first(tokens, { hash })
    if (row === undefined || !isSecretOf(row, hash)) return undefined
    const user = yield* userById(row.user_id)
    // A deactivated account gets a 403 with that reason; a token revoked with it stays revoked after reactivation.
    if (user === undefined) return undefined
    const device_revoked = row.revoked_at !== null && (yield* revokedDevice(row.id)) !== undefined
    if (user.is_active && row.revoked_at !== null && !device_revoked) return undefined
    const viewer: Viewer = { ...user, abilities: new Set(row.abilities), token_id: row.id }
    const found: Known = {
      row,
      bearer: {
        viewer,
        rate_limit_per_minute: row.rate_limit_per_minute,
        monthly_units: row.monthly_units,
        device_revoked
      },
      until: now + believed_millis
    }
    // Not cached when something changed during the read.
    if (begun === generation) {
      const [oldest] = known.keys()
      if (oldest !== undefined && known.size >= bearers_kept) known.delete(oldest)
      known.set(hash, found)
      current.set(viewer, row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at))
    }
    return found
  })

  return {
    bearerOf: (secret, now) => {
      if (secret === "" || secret.length > secret_length_max) return Effect.succeed(undefined)
      const hash = hashOf(secret)
      const before = known.get(hash)
      if (before !== undefined && now < before.until && now > before.until - 2 * believed_millis)
        return Effect.succeed(unexpired(before, now))
      return Effect.map(read(hash, now), (found) => {
        if (found === undefined) known.delete(hash)
        return found === undefined ? undefined : unexpired(found, now)
      })
    },
    isCurrent: (viewer, now = 0) => now < (current.get(viewer) ?? 0),
    used: (token_id, now) => {
      if (now - (noted.get(token_id) ?? -Infinity) < use_noted_every_millis) return undefined
      if (noted.size >= bearers_kept) noted.clear()
      noted.set(token_id, now)
      return Effect.flatMap(Store, (store) => store.apply([update(tokens, token_id, { last_used_at: instantOf(now) })]))
    },
    forget: () => {
      generation++
      known.clear()
      current = new WeakMap()
    }
  }
}
