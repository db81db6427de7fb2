/**
 * From events to what people are told: a command whose events cause a type queues one job in its transaction; after the
 * commit the job finds who may see it and writes a row for each. Rows are known by person and happening, so that doing
 * it again tells nobody again.
 */
import { Effect, Schema } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { decodeData } from "../../core/kernel/event-type.ts"
import type { StoredEvent } from "../../core/kernel/event.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import { type JobKind, jobKind, jobOffer } from "../jobs/job-kind.ts"
import { serverContext } from "../server-context.ts"
import type { ServerEndpoint } from "../server-slice.ts"
import { eventsOfTypes, page_events } from "../webhooks/fan-out.ts"
import { causes, causesOf, telling_events } from "./causes/causes.ts"
import type { Happening } from "./happening.ts"
import { type Wrote, writeDown } from "./write.ts"

const range = Schema.Struct({ from: Schema.Int, to: Schema.Int })
type Range = typeof range.Type

const mayTell = (event: StoredEvent): boolean => causesOf(event.type).some((cause) => cause.may(event))

/** In the transaction that records the events. */
export const queueTelling =
  (job: JobKind<Range>) =>
  (events: ReadonlyArray<StoredEvent>): ServerEndpoint<void> => {
    const [first] = events
    if (first === undefined || !events.some(mayTell)) return Effect.void
    return Effect.gen(function* () {
      const { jobs } = yield* serverContext
      const { command_id, position } = first
      const data = { from: position, to: position + events.length - 1 }
      // By command, as a restored journal gives positions anew.
      yield* jobs.offer(jobOffer(job, data, { subject: `${command_id}:${position}` }))
    })
  }

/** What happened in a range of the journal, in a few queries for each type. */
const happeningsOf = Effect.fnUntraced(function* ({
  from,
  to
}: Range): Effect.fn.Return<ReadonlyArray<Happening>, Failure, Store | CommandRuntime> {
  const { catalogue } = yield* CommandRuntime
  const events: Array<StoredEvent> = []
  for (let next = from; next <= to;) {
    const page = yield* eventsOfTypes(telling_events, next, to)
    for (const event of page) {
      const kind = catalogue.events.get(event.type)
      events.push(kind === undefined ? event : { ...event, data: decodeData(kind, event.data) })
    }
    const last = page.at(-1)
    if (last === undefined || page.length < page_events) break
    next = last.position + 1
  }
  const found = yield* Effect.forEach(causes, (cause) => {
    const its = events.filter((event) => cause.on.includes(event.type) && cause.may(event))
    return its.length === 0 ? Effect.succeed([]) : cause.happenings(its)
  })
  return found.flat()
})

export const tellingJob = (wrote: Wrote): JobKind<Range> =>
  jobKind({
    kind: "notifications.tell",
    meaning: "tells people of what happened",
    data: range,
    attempts_max: 20,
    waits_seconds: [1, 5, 30, 120, 600],
    at_a_time: 2,
    counts_broken_off: false,
    run: (data) =>
      Effect.gen(function* () {
        return { told: yield* writeDown(yield* happeningsOf(data), wrote) }
      })
  })
