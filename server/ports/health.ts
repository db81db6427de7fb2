/** Health of the server: whether its database answers and accepts writes. */
import { randomBytes } from "node:crypto"
import { statfs } from "node:fs/promises"
import { dirname } from "node:path"
import { Effect } from "effect"
import { lastPosition, Store, type StoreShape } from "../../core/kernel/index.ts"
import { meta } from "../../core/kernel/runtime/schema.ts"
import { type StorageFailure, storageFailureOf } from "./storage-fault.ts"

export type Condition =
  | { readonly status: "ok"; readonly journal_position: number }
  /** The database answers reads but accepts no writes. */
  | { readonly status: "degraded"; readonly journal_position: number; readonly reason: StorageFailure }
  /** The database does not answer. */
  | { readonly status: "unavailable" }

export interface Health {
  readonly failed: (failure: StorageFailure) => void
  /** Reports that a write succeeded. */
  readonly recorded: () => void
  readonly look: Effect.Effect<Condition, never, Store>
}

/** Free bytes needed for SQLite, whose log grows before a transaction can be rolled back. */
const least_room_bytes = 1_048_576
/** Bytes written by a test write; more than most commands write. */
const trial_bytes = 256 * 1_024
const trial_patience = "2 seconds"
const trial_key = "storage_trial"

/**
 * `asking`: a store with a separate connection, which is not blocked by locks; `file`: the SQLite file, if any. After a
 * failed write, each health check tests a write.
 */
export const makeHealth = (asking: StoreShape, file: string | undefined): Health => {
  let failure: StorageFailure | undefined
  let trying = false

  const trial = Effect.gen(function* () {
    yield* Store.transaction(
      Store.apply([
        { op: "delete", table: meta, key: trial_key },
        { op: "insert", table: meta, row: { key: trial_key, value: randomBytes(trial_bytes / 2).toString("hex") } }
      ])
    )
    failure = undefined
    yield* Store.apply([{ op: "delete", table: meta, key: trial_key }])
  }).pipe(
    Effect.timeout(trial_patience),
    Effect.catch((error) =>
      Effect.sync(() => {
        if (error._tag === "SqlError") failure = storageFailureOf(error) ?? failure
      })
    ),
    Effect.ensuring(
      Effect.sync(() => {
        trying = false
      })
    )
  )
  const tryAgain = Effect.suspend(() => {
    if (failure === undefined || trying) return Effect.void
    trying = true
    return trial
  })

  return {
    failed: (found) => {
      failure = found
    },
    recorded: () => {
      failure = undefined
    },
    look: Effect.gen(function* () {
      const journal_position = yield* lastPosition(asking)
      yield* tryAgain
      const reason =
        failure ?? (file !== undefined && (yield* Effect.promise(() => isFull(dirname(file)))) ? "full" : undefined)
      return reason === undefined
        ? { status: "ok" as const, journal_position }
        : { status: "degraded" as const, journal_position, reason }
    }).pipe(Effect.catch(() => Effect.succeed({ status: "unavailable" as const })))
  }
}

/** Whether the disk has less free space than needed; false if the file system reports no blocks. */
const isFull = async (folder: string): Promise<boolean> => {
  const found = await statfs(folder).catch(() => undefined)
  if (found === undefined || found.blocks === 0) return false
  // Some blocks of a disk are reserved for root.
  const free = process.getuid?.() === 0 ? found.bfree : found.bavail
  return free * found.bsize < least_room_bytes
}
