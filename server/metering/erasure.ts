/** When a person is erased, their logs name neither their address nor their device any more. */
import { Effect, Schema } from "effect"
import type { StoredEvent } from "../../core/kernel/event.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { memberAnonymised } from "../../core/personal-data/events.ts"
import { jobKind, jobOffer } from "../jobs/job-kind.ts"
import { serverContext } from "../server-context.ts"

const emptyLogs = (user_ids: ReadonlyArray<number>): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const store = yield* Store
    const { bind, values } = bindings(store.dialect)
    yield* store.run(
      `update request_logs set ip_address = null, user_agent = null ` +
        `where user_id in (${user_ids.map(bind).join(", ")}) and (ip_address is not null or user_agent is not null)`,
      values
    )
  })

/** What other servers, and calls under way, still had to write when the person was erased. */
export const emptyLateLogs = jobKind({
  kind: "metering.erasure",
  meaning: "takes the addresses of a person who was erased out of calls that were written down since",
  data: Schema.Struct({ user_ids: Schema.Array(Schema.Int) }),
  attempts_max: 20,
  waits_seconds: [5, 60, 600],
  at_a_time: 1,
  run: ({ user_ids }) => emptyLogs(user_ids)
})
const late_seconds = 15

/** In the transaction of these events. `forget`: takes the addresses of users out of what is not written yet. */
export const eraseAddresses = (
  events: ReadonlyArray<StoredEvent>,
  forget: (user_ids: ReadonlySet<number>) => void
): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const erased = events.filter(({ type }) => type === memberAnonymised.type)
    const user_ids = erased.flatMap(({ data }) => (typeof data["user_id"] === "number" ? [data["user_id"]] : []))
    const [first] = erased
    if (first === undefined || user_ids.length === 0) return
    forget(new Set(user_ids))
    yield* emptyLogs(user_ids)
    const { jobs } = yield* serverContext
    yield* jobs.offer(
      jobOffer(emptyLateLogs, { user_ids }, { subject: String(first.position), delay_seconds: late_seconds })
    )
  })
