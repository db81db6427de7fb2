/** Streams end with what they were opened by: the token, its ability, the account. Two queries for all of them. */
import { Effect } from "effect"
import type { Failure } from "../../../core/kernel/failure.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { users } from "../../../core/users/schema.ts"
import { tokens } from "../../tokens/schema.ts"
import type { Listener } from "./listeners.ts"

export const stream_ability = "notifications:read"

const opens = (abilities: ReadonlyArray<string>): boolean =>
  abilities.includes("*") || abilities.includes(stream_ability)

export const endWhoMayNot = Effect.fnUntraced(function* (
  listeners: Iterable<Listener>,
  now: number
): Effect.fn.Return<void, Failure, Store> {
  const asked = [...listeners]
  if (asked.length === 0) return
  const store = yield* Store
  const token_ids = asked.flatMap(({ token_id }) => token_id ?? [])
  const holding = new Set(
    (yield* store.getMany(tokens, token_ids))
      .filter(
        ({ abilities, expires_at, revoked_at }) =>
          revoked_at === null && (expires_at === null || Date.parse(expires_at) > now) && opens(abilities)
      )
      .map(({ id }) => id)
  )
  const people = yield* store.getMany(
    users,
    asked.map(({ user_id }) => user_id)
  )
  const active = new Set(people.filter(({ is_active }) => is_active).map(({ id }) => id))
  for (const listener of asked) {
    const { ended, token_id, user_id } = listener
    if ((token_id === null || holding.has(token_id)) && active.has(user_id)) continue
    listener.is_over = true
    ended.openUnsafe()
  }
})
