/** Waiting for new events in the journal: each append wakes those who wait. */
import { Context, Effect } from "effect"

export interface TailShape {
  /** Taken before looking at the journal: whatever is appended afterwards ends the wait, even before it began. */
  readonly mark: Effect.Effect<number>
  /** Resolves when the journal may have grown since the mark, or when the time is over. */
  readonly grown: (mark: number, timeout_millis: number) => Effect.Effect<void>
}
export class JournalTail extends Context.Service<JournalTail, TailShape>()("flightcase/sync/Tail") {}

/** A tail within one process; `wake` is called after each commit (and by LISTEN on Postgres). */
export const makeJournalTail = (): { readonly tail: TailShape; readonly wake: () => void } => {
  const waiting = new Set<() => void>()
  let wakes = 0
  return {
    wake: () => {
      wakes++
      for (const resume of [...waiting]) resume()
    },
    tail: {
      mark: Effect.sync(() => wakes),
      grown: (mark, timeout_millis) =>
        Effect.callback<void>((resume) => {
          if (wakes !== mark) return resume(Effect.void)
          const done = (): void => {
            clearTimeout(timer)
            waiting.delete(done)
            resume(Effect.void)
          }
          const timer = setTimeout(done, timeout_millis)
          waiting.add(done)
          return Effect.sync(() => {
            clearTimeout(timer)
            waiting.delete(done)
          })
        })
    }
  }
}
