/** Queues durable work and reads its state: a service of the server for its slices. */
import type { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Failure, Store } from "../../core/kernel/store/store.ts"

/** How many attempts at jobs this process began and how they failed, since it started. */
export interface KindCount {
  readonly kind: string
  readonly attempts: number
  readonly failures: number
  /** Failures after which no further attempt follows. */
  readonly dead: number
}
export interface JobCounters {
  readonly begun: (kind: string) => void
  readonly failed: (kind: string, for_good: boolean) => void
  readonly all: () => ReadonlyArray<KindCount>
}

export const makeJobCounters = (kinds: Iterable<string>): JobCounters => {
  const counts = new Map<string, { -readonly [K in keyof KindCount]: KindCount[K] }>()
  for (const kind of kinds) counts.set(kind, { kind, attempts: 0, failures: 0, dead: 0 })
  return {
    begun: (kind) => {
      const count = counts.get(kind)
      if (count !== undefined) count.attempts++
    },
    failed: (kind, for_good) => {
      const count = counts.get(kind)
      if (count === undefined) return
      count.failures++
      if (for_good) count.dead++
    },
    all: () => [...counts.values()]
  }
}

export interface JobCount {
  readonly kind: string
  readonly status: string
  readonly jobs: number
}
/** A job to be queued. */
export interface JobOffer<Data = unknown> {
  /** Its kind, by name. */
  readonly kind: { readonly kind: string }
  readonly data: Data
  /** Its subject, unique within the kind: a subject is queued once. Its id is `kind:subject`. */
  readonly subject?: string
  /** Its id instead, where answers name the job. */
  readonly uuid?: string
  /** The user who may see it, besides those who manage the system. */
  readonly owner_id?: number | null
  readonly delay_seconds?: number
}

export interface Jobs {
  /**
   * Queues a job in the caller's transaction and answers its id. A subject that was queued before is not queued again.
   */
  readonly offer: (offer: JobOffer) => Effect.Effect<string, Failure, Store>
  /** Attempts of this process since it started, by kind. */
  readonly counts: () => ReadonlyArray<KindCount>
  /** Jobs that are not done, by kind and status. */
  readonly unfinished: Effect.Effect<ReadonlyArray<JobCount>, SqlError.SqlError>
  /** Deletes jobs completed more than `days` ago. Failed ones stay until a user drops them. */
  readonly forget: (days: number) => Effect.Effect<void, Failure>
}
