/** Waiting for the journal to grow: whoever appends wakes whoever follows. */
import { Context, Effect } from "effect"

export interface TailShape {
  /** Resolves when the journal may have grown past a position, or when the time is over. */
  readonly grown: (position: number, timeout_millis: number) => Effect.Effect<void>
}
export class Tail extends Context.Service<Tail, TailShape>()("flightcase/sync/Tail") {}

/** A tail within one process; `wake` is called after each commit (and by LISTEN on Postgres). */
export const makeTail = (): { readonly tail: TailShape; readonly wake: () => void } => {
  const waiting = new Set<() => void>()
  return {
    wake: () => { for (const resume of [...waiting]) resume() },
    tail: {
      grown: (_position, timeout_millis) => Effect.callback<void>((resume) => {
        const done = (): void => { clearTimeout(timer); waiting.delete(done); resume(Effect.void) }
        const timer = setTimeout(done, timeout_millis)
        waiting.add(done)
        return Effect.sync(() => { clearTimeout(timer); waiting.delete(done) })
      })
    }
  }
}
