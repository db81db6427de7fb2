/** Rules that few requests need, loaded on first use to shorten every start. */
import { Effect } from "effect"

const declared = new Set<Effect.Effect<unknown>>()
/**
 * Loads all of them: a server does so once it has started. Its first requests are as fast as the others then, and a new
 * release may take the place of its files while it runs.
 */
export const loadAll: Effect.Effect<void> = Effect.suspend(() =>
  Effect.forEach([...declared], (one) => one, { discard: true })
)

/** `const rules = later(() => import("./decide.ts"))`; then `yield* rules`. Loaded once, at no cost from then on. */
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

/** The facts of a command beside the rules that read them and decide on them. */
export const withRules = <M, F, E, R>(
  rules: Effect.Effect<M>,
  read: (rules: M) => Effect.Effect<F, E, R>
): Effect.Effect<{ readonly rules: M; readonly known: F }, E, R> =>
  Effect.flatMap(rules, (loaded) => Effect.map(read(loaded), (known) => ({ rules: loaded, known })))
