/** Cached settings: used for less than a second, and never after a change made by this server. */
import { Clock, Effect, Option, Schema } from "effect"
import { storedSettings } from "../../core/kernel/runtime/server-runtime.ts"
import type { Catalogue, Failure } from "../../core/kernel/endpoints/endpoint.ts"
import type { Settings } from "../../core/kernel/events/settings.ts"
import type { Store } from "../../core/kernel/store/store.ts"

// Notices to the other servers on a Postgres about commits of this one. They are sent after the commit, so that no
// writer waits for them, and one notice covers all commits made while the last one was being sent. A lost notice delays
// the others briefly: they use cached data for less than a second.

export interface PeerNotifier {
  readonly notify: (settingsChanged: boolean) => void
  /** Resolves when every notice is sent. */
  readonly sent: () => Promise<void>
}

/** Payloads on the wire, which servers of other releases on the same database send and read too. */
const wire = { journal: "", settings: "standing" } as const
const decodePayload = Schema.decodeUnknownOption(Schema.Literals([wire.journal, wire.settings]))

/**
 * Whether users, roles, tokens or settings changed, by a notice's payload; one of another release may mean that, too.
 */
export const mayChangeSettings = (payload: string): boolean =>
  Option.getOrElse(decodePayload(payload), () => wire.settings) === wire.settings

/** `send` must not reject. */
export const makePeerNotifier = (send: (payload: string) => Promise<void>): PeerNotifier => {
  let waiting: string | undefined
  let sending: Promise<void> | undefined
  const sendAll = async (): Promise<void> => {
    while (waiting !== undefined) {
      const payload = waiting
      waiting = undefined
      await send(payload)
    }
    sending = undefined
  }
  return {
    notify: (settingsChanged) => {
      waiting = settingsChanged || waiting === wire.settings ? wire.settings : wire.journal
      sending ??= sendAll()
    },
    sent: () => sending ?? Promise.resolve()
  }
}

interface SettingsCache {
  /** The present settings, which are cached. Outside transactions only. */
  readonly settings: Effect.Effect<Settings, Failure, Store>
  /** The settings for a decision: cached, or read without caching, as the transaction may be rolled back. */
  readonly settingsWithin: ReturnType<typeof storedSettings>
  readonly forget: () => void
}

const believed_millis = 900

export const makeSettingsCache = (catalogue: Catalogue): SettingsCache => {
  let kept: { readonly settings: Settings; readonly until: number } | undefined
  let generation = 0
  const fresh = (now: number): Settings | undefined =>
    kept !== undefined && now < kept.until && now > kept.until - 2 * believed_millis ? kept.settings : undefined
  const read = storedSettings(catalogue)
  return {
    settings: Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const known = fresh(now)
      if (known !== undefined) return Effect.succeed(known)
      const begun = generation
      return Effect.tap(read, (settings) =>
        Effect.sync(() => {
          // Not cached when something changed during the read.
          if (begun === generation) kept = { settings, until: now + believed_millis }
        })
      )
    }),
    settingsWithin: Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const known = fresh(now)
      return known === undefined ? read : Effect.succeed(known)
    }),
    forget: () => {
      generation++
      kept = undefined
    }
  }
}
