/** Service of the server for its slices: queues durable jobs and reads their state. */
import type { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Failure, Store } from "../../core/kernel/store/store.ts"

/** Numbers of attempts begun and failed by this process since it started, by kind. */
export interface KindCount {
  readonly kind: string
  readonly attempts: number
  readonly failures: number
  /** Final failures, without a further attempt. */
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
  /** The job's kind. */
  readonly kind: { readonly kind: string }
  readonly data: Data
  /** Subject of the job, unique within its kind: each is queued once, with the id `kind:subject`. */
  readonly subject?: string
  /** Id of the job, instead of a subject, for jobs named in responses. */
  readonly uuid?: string
  /** User who may see the job, in addition to those who manage the system. */
  readonly owner_id?: number | null
  readonly delay_seconds?: number
}

export interface Jobs {
  /** Queues a job in the caller's transaction and returns its id. A subject queued before is not queued again. */
  readonly offer: (offer: JobOffer) => Effect.Effect<string, Failure, Store>
  /** Counts of this process since it started, by kind. */
  readonly counts: () => ReadonlyArray<KindCount>
  /** Numbers of unfinished jobs, by kind and status. */
  readonly unfinished: Effect.Effect<ReadonlyArray<JobCount>, SqlError.SqlError>
  /** Deletes jobs completed more than `days` ago. Failed ones stay until a user drops them. */
  readonly forget: (days: number) => Effect.Effect<void, Failure>
}
