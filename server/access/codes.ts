/**
 * Codes to log in with: 140 random bits, told by mail only, kept as a hash, good for one token (rules/conventions 11).
 * A person has one at most. It ends when it is used, when a later one is sent, and with the account, the e-mail
 * address or the person's data.
 */
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { StoredEvent } from "../../core/kernel/event.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { insert, remove, removeWhere } from "../../core/kernel/row-change.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { memberAnonymised } from "../../core/personal-data/events.ts"
import { userDeactivated } from "../../core/users/events.ts"
import { users } from "../../core/users/schema.ts"
import { hashOf, isSecretOf } from "../tokens/schema.ts"
import { login_codes, type LoginCodeRow } from "./schema.ts"

/** Without letters that are taken for digits (Crockford's base 32). */
const signs = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const signs_count = 28
const group_length = 4

/** `7K2M-…`: seven groups of four. */
export const freshCode = (): string => {
  const drawn = [...randomBytes(signs_count)].map((byte) => signs[byte % signs.length]).join("")
  return drawn.match(new RegExp(`.{${group_length}}`, "g"))?.join("-") ?? drawn
}
/** As it is hashed, however somebody typed it; undefined where it cannot be a code. */
const plainCode = (typed: string): string | undefined => {
  if (typed.length > 200) return undefined
  const plain = typed.toUpperCase().replace(/[\s-]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1")
  return plain.length === signs_count && [...plain].every((sign) => signs.includes(sign)) ? plain : undefined
}
export const hashOfCode = (typed: string): string | undefined => {
  const plain = plainCode(typed)
  return plain === undefined ? undefined : hashOf(plain)
}

export interface Reason {
  readonly user_id: number
  readonly position: number
  readonly expires_at: string
}
/** Under the lock of the user's stream. Undefined where a code of a later event is there already. */
export const makeCode = Effect.fnUntraced(function* ({
  expires_at,
  position,
  user_id
}: Reason): Effect.fn.Return<string | undefined, Failure, Store> {
  const store = yield* Store
  const before = yield* store.get(login_codes, user_id)
  if (before !== undefined && before.position >= position) return undefined
  const code = freshCode()
  const hash = hashOfCode(code) ?? ""
  yield* store.apply([remove(login_codes, user_id), insert(login_codes, { user_id, position, hash, expires_at })])
  return code
})

/** The row of a code that holds at this instant. */
export const codeWith = Effect.fnUntraced(function* (
  hash: string,
  now: string
): Effect.fn.Return<LoginCodeRow | undefined, Failure, Store> {
  const row = yield* (yield* Store).first(login_codes, { hash })
  return row !== undefined && isSecretOf(row, hash) && row.expires_at > now ? row : undefined
})

/** Events that end the code of a person: in their transaction. */
export const endCodes = (events: ReadonlyArray<StoredEvent>): Effect.Effect<void, Failure, Store> => {
  const ended = events.flatMap(({ data, type }) =>
    type === userDeactivated.type || (type === `${users.entity}.updated` && data["email"] !== undefined)
      ? [Number(data["id"])]
      : type === memberAnonymised.type && typeof data["user_id"] === "number"
        ? [data["user_id"]]
        : []
  )
  return ended.length === 0
    ? Effect.void
    : Effect.flatMap(Store, (store) => store.apply(ended.map((user_id) => removeWhere(login_codes, { user_id }))))
}

export const dropExpired = Effect.fnUntraced(function* (now: string) {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  yield* store.run(`delete from login_codes where expires_at <= ${bind(now)}`, values)
})
