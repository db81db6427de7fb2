/** Who listens in this process: each with what waits to be sent, and a limit to how many there are. */
import { Latch } from "effect"
import type { Frame } from "./frames.ts"

export const per_token_max = 10
export const per_process_max = 1_000
/** Whoever is this far behind gets the rest from the table, once it has read what it was sent. */
const waiting_max = 500

export interface Who {
  readonly user_id: number
  /** null: a caller without a token, as programs in this process are. */
  readonly token_id: number | null
  /** The last row known to the client; undefined: it wants new ones only. */
  readonly after: number | undefined
}
export interface Listener extends Who {
  readonly waiting: Array<Frame>
  /** More came than may wait: nothing does until it was read from the table. */
  is_behind: boolean
  /** What it was opened by holds no more: it is given nothing. */
  is_over: boolean
  /** Open while something waits to be sent. */
  readonly news: Latch.Latch
  /** Opened for good when the stream is to end. */
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
