/** What nearly every request asks for and few change: settings. Used again for less than a second, never past a change made here. */
import { Clock, Effect } from "effect"
import { storedSettings } from "../core/kernel/server-runtime.ts"
import type { Catalogue } from "../core/kernel/catalogue.ts"
import type { Failure } from "../core/kernel/endpoint.ts"
import type { Settings } from "../core/kernel/settings.ts"
import type { Store } from "../core/kernel/store/store.ts"

export interface SettingsCache {
  /** The settings as they are; may be kept for the next who asks. Outside transactions only. */
  readonly settings: Effect.Effect<Settings, Failure, Store>
  /** The settings for a decision: what is kept, else read, but not kept, as the transaction may yet be taken back. */
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
          // A change that came while this was being read would otherwise be missed.
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
