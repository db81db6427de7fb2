/** A kind of job for tests, with ways to queue and inspect it. */
import { Effect, Schema } from "effect"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import type { ServerApp } from "../../../../server/host/app.ts"
import {
  type Attempt,
  type JobKind,
  jobKind,
  type JobOffer,
  jobOffer,
  ServerContext
} from "../../../../server/ports/server-context.ts"
import type { Engine } from "../../../app.ts"

export type WordKind = JobKind<{ readonly word: string }>
/** A kind of job that passes its word to the test's function. */
export const wordKind = (
  run: (word: string, attempt: Attempt) => Effect.Effect<JsonObject | void, unknown, Store>,
  more: Partial<WordKind> = {}
): WordKind =>
  jobKind({
    kind: "test.word",
    meaning: "does something with a word",
    data: Schema.Struct({ word: Schema.String }),
    attempts_max: 3,
    waits_seconds: [1],
    at_a_time: 2,
    run: ({ word }, attempt) => run(word, attempt),
    ...more
  })

/** Runs a job once, without the queue. */
export const ranOnce = <Data>(kind: JobKind<Data>, data: Data) =>
  Effect.scoped(kind.run(data, { job_id: "test", number: 1, is_last: false, progress: () => Effect.void }))

type Asked = Pick<ServerApp, "run">
/** Queues a job about a word, in its own transaction. */
export const queueWord = (
  { run }: Asked,
  kind: WordKind,
  word: string,
  about: Pick<JobOffer, "owner_id" | "delay_seconds"> = {}
): Promise<string> => run(Effect.flatMap(Store, (store) => store.transaction(offered(kind, word, about))))
export const offered = (kind: WordKind, word: string, about: Pick<JobOffer, "owner_id" | "delay_seconds"> = {}) =>
  Effect.flatMap(ServerContext, ({ jobs }) => jobs.offer(jobOffer(kind, { word }, { subject: word, ...about })))

export const rowsOf = ({ run }: Asked, text: string): Promise<ReadonlyArray<{ readonly [column: string]: unknown }>> =>
  run(Effect.flatMap(Store, (store) => store.run(text)))

/** Statement that inserts a failed job of an unknown kind, as the queue would store it. */
export const jobRow = (engine: Engine, id: string): string => {
  const now = engine === "pg" ? "now()" : "current_timestamp"
  return (
    "insert into effect_queue (id, queue_name, element, state, attempts, visible_at, created_at, updated_at) " +
    `values ('${id}', 'test.unknown', 'null', 'failed', 1, ${now}, ${now}, ${now})`
  )
}
