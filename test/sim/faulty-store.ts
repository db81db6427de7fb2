/** A process that may die between any two statements: a store whose fuse burns down statement by statement. */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { make as makeStore, Store } from "../../core/kernel/store/store.ts"

/** A process that died between two steps. */
export class Crash extends Error {
  constructor(step: string) {
    super(`crash at: ${step}`)
  }
}
export const isCrash = (error: unknown): boolean =>
  error instanceof Crash || (error instanceof Error && (error.message.startsWith("crash at:") || isCrash(error.cause)))

export interface FailureCountdown {
  /** Statements to go; undefined when it does not burn. */
  left: number | undefined
  /** Called when it has burnt down, before anything is taken back: what is on the disk then is what a dead process leaves. */
  readonly blown: () => void
}

/** Before each statement others may take their turn, as long as `pause` says. */
export const faultyStore = (
  fuse: FailureCountdown,
  pause: Effect.Effect<void> = Effect.void
): Layer.Layer<Store, never, SqlClient.SqlClient> =>
  Layer.effect(
    Store,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const unsafe = (text: string, values: ReadonlyArray<unknown>) =>
        Effect.flatMap(pause, () => {
          if (fuse.left !== undefined && --fuse.left <= 0) {
            fuse.left = undefined
            fuse.blown()
            throw new Crash(`statement ${text.slice(0, 40)}`)
          }
          return sql.unsafe(text, values)
        })
      return makeStore(new Proxy(sql, { get: (target, key) => (key === "unsafe" ? unsafe : Reflect.get(target, key)) }))
    })
  )
