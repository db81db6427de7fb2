/** Cached settings: used for less than a second, and never after a change made by this server. */
import { Clock, Effect } from "effect"
import { storedSettings } from "../core/kernel/server-runtime.ts"
import type { Catalogue } from "../core/kernel/catalogue.ts"
import type { Failure } from "../core/kernel/endpoint.ts"
import type { Settings } from "../core/kernel/settings.ts"
import type { Store } from "../core/kernel/store/store.ts"

export interface SettingsCache {
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
