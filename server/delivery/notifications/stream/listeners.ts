/** Listening clients of this process, limited in number, each with its queue. */
import { Duration, Effect, Latch } from "effect"
import { Sse } from "effect/encoding"
import { Store, type JsonObject } from "../../../../core/kernel/index.ts"
import { users } from "../../../../core/people/users/permissions.ts"
import { tokens } from "../../../access/tokens/issue.ts"

// Encoding of server-sent events (text/event-stream).

/** Reconnection delay of clients. */
const reconnect_millis = 3_000

const encode = new TextEncoder()
/** First bytes of a stream: sent at once, so that proxies pass the response on. */
export const opening = encode.encode(
  Sse.encoder.write(new Sse.Retry({ duration: Duration.millis(reconnect_millis), lastEventId: undefined })) +
    ": connected\n\n"
)
/** Comment that keeps a silent connection alive; clients ignore it. */
export const keep_alive = encode.encode(": \n\n")

export interface Frame {
  readonly id: number
  readonly bytes: Uint8Array
}
export const frameOf = (id: number, shown: JsonObject): Frame => ({
  id,
  bytes: encode.encode(
    Sse.encoder.write({ _tag: "Event", event: "notification", id: String(id), data: JSON.stringify(shown) })
  )
})

/** Maximum queue length; a listener further behind reads the rest from the table. */
const waiting_max = 500

export interface Who {
  readonly user_id: number
  /** Null for callers without a token, such as programs in this process. */
  readonly token_id: number | null
  /** Last id the client received; undefined for new rows only. */
  readonly after: number | undefined
}
export interface Listener extends Who {
  readonly waiting: Array<Frame>
  /** Whether the queue overflowed: nothing is queued until the rest is read from the table. */
  is_behind: boolean
  /** Whether its token or account is no longer valid: it receives nothing more. */
  is_over: boolean
  /** Open while rows wait to be sent. */
  readonly news: Latch.Latch
  /** Opened once, when the stream must end. */
  readonly ended: Latch.Latch
}

export interface Listeners {
  readonly count: () => number
  readonly ofToken: (token_id: number | null) => number
  readonly all: () => Iterable<Listener>
  readonly ofUser: (user_id: number) => ReadonlySet<Listener>
  readonly join: (who: Who) => Listener
  readonly leave: (listener: Listener) => void
  readonly give: (user_id: number, frames: ReadonlyArray<Frame>) => void
}

const nobody: ReadonlySet<Listener> = new Set()

export const makeListeners = (): Listeners => {
  const all = new Set<Listener>()
  const by_user = new Map<number, Set<Listener>>()
  const by_token = new Map<number | null, number>()
  const ofUser = (user_id: number): ReadonlySet<Listener> => by_user.get(user_id) ?? nobody
  const count = (token_id: number | null, change: 1 | -1): void => {
    const left = (by_token.get(token_id) ?? 0) + change
    if (left === 0) by_token.delete(token_id)
    else by_token.set(token_id, left)
  }
  return {
    count: () => all.size,
    ofToken: (token_id) => by_token.get(token_id) ?? 0,
    all: () => all,
    ofUser,
    join: (who) => {
      const listener: Listener = {
        ...who,
        waiting: [],
        is_behind: false,
        is_over: false,
        news: Latch.makeUnsafe(false),
        ended: Latch.makeUnsafe(false)
      }
      all.add(listener)
      const of_user = by_user.get(who.user_id) ?? new Set()
      by_user.set(who.user_id, of_user.add(listener))
      count(who.token_id, 1)
      return listener
    },
    leave: (listener) => {
      if (!all.delete(listener)) return
      const of_user = by_user.get(listener.user_id)
      of_user?.delete(listener)
      if (of_user?.size === 0) by_user.delete(listener.user_id)
      count(listener.token_id, -1)
    },
    give: (user_id, frames) => {
      for (const listener of ofUser(user_id)) {
        if (listener.is_over) continue
        if (listener.waiting.length + frames.length > waiting_max) {
          listener.is_behind = true
          listener.waiting.length = 0
        }
        if (!listener.is_behind) listener.waiting.push(...frames)
        listener.news.openUnsafe()
      }
    }
  }
}

// Checks which streams must end because their token, its ability, or their account ended. Two queries for all.

export const stream_ability = "notifications:read"

const opens = (abilities: ReadonlyArray<string>): boolean =>
  abilities.includes("*") || abilities.includes(stream_ability)

export const endWhoMayNot = Effect.fnUntraced(function* (
  listeners: Iterable<Listener>,
  now: number
): Store.Reads<void> {
  const asked = [...listeners]
  if (asked.length === 0) return
  const token_ids = asked.flatMap(({ token_id }) => token_id ?? [])
  const holding = new Set(
    (yield* Store.getMany(tokens, token_ids))
      .filter(
        ({ abilities, expires_at, revoked_at }) =>
          revoked_at === null && (expires_at === null || Date.parse(expires_at) > now) && opens(abilities)
      )
      .map(({ id }) => id)
  )
  const people = yield* Store.getMany(
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
