/** Jobs that follow from events: queued in the transaction that records them, so that there are both or neither. */
import { Effect } from "effect"
import type { StoredEvent } from "../../core/kernel/event.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import type { Process } from "./job-kind.ts"
import type { Jobs } from "./offers.ts"

/**
 * Queues what follows from events that were just recorded. Events enter the journal of a server in one place; what
 * reads it again (rebuild, restore, a replica that follows) does not pass here.
 */
export const whatFollows = (
  processes: ReadonlyArray<Process>,
  jobs: Pick<Jobs, "offer">
): ((events: ReadonlyArray<StoredEvent>) => Effect.Effect<void, Failure, Store>) => {
  const by_type = new Map<string, Array<Process>>()
  for (const one of processes)
    for (const type of new Set(one.on)) by_type.set(type, [...(by_type.get(type) ?? []), one])
  if (by_type.size === 0) return () => Effect.void
  return (events) => {
    const offers = events.flatMap((event) => by_type.get(event.type)?.flatMap((one) => one.jobs(event)) ?? [])
    return offers.length === 0 ? Effect.void : Effect.forEach(offers, jobs.offer, { discard: true })
  }
}
