/** Rules that few requests need, loaded on first use to shorten every start. */
import { Effect } from "effect"

const declared = new Set<Effect.Effect<unknown>>()
/**
 * Loads all lazy modules. A server does so after starting, so that its first requests are not slow and a new release
 * may replace its files while it runs.
 */
export const loadAll: Effect.Effect<void> = Effect.suspend(() =>
  Effect.forEach([...declared], (one) => one, { discard: true })
)

/** Lazily imports a module, once: `const rules = later(() => import("./decide.ts"))`, then `yield* rules`. */
export const later = <M>(load: () => Promise<M>): Effect.Effect<M> => {
  let loaded: { readonly module: M } | undefined
  const module = Effect.suspend(() =>
    loaded === undefined
      ? Effect.tap(Effect.promise(load), (found) => Effect.sync(() => (loaded = { module: found })))
      : Effect.succeed(loaded.module)
  )
  declared.add(module)
  return module
}

/** Reads a command's facts by a lazily loaded module, and passes the module on with them. */
export const withRules = <M, F, E, R>(
  rules: Effect.Effect<M>,
  read: (rules: M) => Effect.Effect<F, E, R>
): Effect.Effect<{ readonly rules: M; readonly known: F }, E, R> =>
  Effect.flatMap(rules, (loaded) => Effect.map(read(loaded), (known) => ({ rules: loaded, known })))
