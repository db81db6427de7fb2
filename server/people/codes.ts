/**
 * Login codes: 140 bits, random or, of invitations, derived from the key; sent by mail, stored as a hash, exchanged for
 * one token (rules/conventions 11). A user has one at most, until it is used or replaced or expires, or until the
 * account, the e-mail address or the person's data ends.
 */
import { insert, integer, plainTable, remove, Store, text, timestamp, type RowOf } from "../../core/kernel/index.ts"
import { hkdfSync, randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { UserRow } from "../../core/people/users/permissions.ts"
import { hashOf, isSecretOf } from "../access/tokens/issue.ts"

// Login codes, on the server only: one per user, with a hash instead of the code.

const whole = { min: 0, max: Number.MAX_SAFE_INTEGER } as const

export const login_codes = plainTable(
  "login_codes",
  "user_id",
  {
    user_id: integer(whole),
    /** Journal position of the causing event: later events replace the code, earlier ones never do. */
    position: integer(whole),
    /** SHA-256 of the code without its hyphens, in hex. */
    hash: text({ secret: true, length: 64 }),
    expires_at: timestamp()
  },
  {
    entity: "login_code",
    uniques: [{ columns: ["hash"], field: "code", message: "Try again." }],
    indexes: [["expires_at"]]
  }
)
type LoginCodeRow = RowOf<typeof login_codes>

/** Digits of Crockford's base 32, without letters easily mistaken for digits. */
const signs = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const signs_count = 28
const group_length = 4

/** Formats a code in seven groups of four: `7K2M-…`. */
const codeOf = (bytes: Uint8Array): string => {
  const drawn = [...bytes].map((byte) => signs[byte % signs.length]).join("")
  return drawn.match(new RegExp(`.{${group_length}}`, "g"))?.join("-") ?? drawn
}
const freshCode = (): string => codeOf(randomBytes(signs_count))
/**
 * The first code of an account, derived from the key and the account, so that the response can show the mailed code.
 */
export const firstCode = (key: string, { created_at, email, id }: UserRow): string =>
  codeOf(new Uint8Array(hkdfSync("sha256", key, "flightcase", `invitation ${id} ${created_at} ${email}`, signs_count)))
/** A typed code normalised for hashing; undefined if it cannot be a code. */
const plainCode = (typed: string): string | undefined => {
  if (typed.length > 200) return undefined
  const plain = typed.toUpperCase().replace(/[\s-]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1")
  return plain.length === signs_count && [...plain].every((sign) => signs.includes(sign)) ? plain : undefined
}
export const hashOfCode = (typed: string): string | undefined => {
  const plain = plainCode(typed)
  return plain === undefined ? undefined : hashOf(plain)
}

interface Reason {
  readonly user_id: number
  readonly position: number
  readonly expires_at: string
  /** The code to store; default: a random one. */
  readonly code?: string | undefined
}
/** Stores a user's code, under the lock of the user's stream; undefined if a later event's code is stored already. */
export const makeCode = Effect.fnUntraced(function* ({
  code = freshCode(),
  expires_at,
  position,
  user_id
}: Reason): Store.Reads<string | undefined> {
  const before = yield* Store.get(login_codes, user_id)
  if (before !== undefined && before.position >= position) return undefined
  const hash = hashOfCode(code) ?? ""
  yield* Store.apply([remove(login_codes, user_id), insert(login_codes, { user_id, position, hash, expires_at })])
  return code
})

/** The row of a code that is valid at an instant; undefined if there is none. */
export const codeWith = Effect.fnUntraced(function* (hash: string, now: string): Store.Reads<LoginCodeRow | undefined> {
  const row = yield* Store.first(login_codes, { hash })
  return row !== undefined && isSecretOf(row, hash) && row.expires_at > now ? row : undefined
})
