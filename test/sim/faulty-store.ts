/** A store that crashes its process after a number of statements. */
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
  /** Statements left before the crash; undefined: no crash. */
  left: number | undefined
  /** Called at the crash, before any rollback, while the disk holds what a killed process leaves. */
  readonly blown: () => void
}

/** `pause` lets other requests run before each statement. */
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
