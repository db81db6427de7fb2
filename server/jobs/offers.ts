/** How durable work is queued, and what is known of it: what the server provides to its slices. */
import type { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Failure } from "../../core/kernel/failure.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import type { KindCount } from "./counters.ts"
import type { JobCount } from "./queue-table.ts"

/** A job to be queued. */
export interface JobOffer<Data = unknown> {
  /** Its kind, by name. */
  readonly kind: { readonly kind: string }
  readonly data: Data
  /** What it is about, unique within the kind: the same subject is queued once. Its id is `kind:subject`. */
  readonly subject: string
  /** The user who may ask for it, beside those who manage the system. */
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
  /** Forgets jobs that were done so many days ago. Failed ones stay until somebody drops them. */
  readonly forget: (days: number) => Effect.Effect<void, Failure>
}
