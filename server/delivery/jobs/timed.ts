/**
 * Scheduled work: every server checks the clock and queues due work; the due time is part of the job's id, so that it
 * runs once. Work that fell due while no server ran is caught up once, for its last due time.
 */
import { Clock, Cron, Effect } from "effect"
import { insert, Store, type Failure, type StoredEvent } from "../../../core/kernel/index.ts"
import { jobOffer, type Jobs, type Process, type TimedWork } from "../../ports/server-context.ts"
import { instantOf } from "../../../core/values/time.ts"
import { timed_work } from "./queue-table.ts"

// Jobs that follow from events: queued in the transaction that records them.

/**
 * Queues jobs for newly recorded events. A server records events in one place; readers of the journal (rebuild,
 * restore, replicas) do not pass here.
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

export const cronOf = ({ cron, zone = "UTC" }: { readonly cron: string; readonly zone?: string }): Cron.Cron =>
  Cron.parseUnsafe(cron, zone)

/** Last due time after `after_millis` and up to `now_millis`; undefined if none. */
export const lastDue = (cron: Cron.Cron, after_millis: number, now_millis: number): number | undefined => {
  const last = Cron.prev(cron, new Date(now_millis + 1)).getTime()
  return last > after_millis && last <= now_millis ? last : undefined
}

/** Longest sleep between checks, as clocks are set and machines sleep. */
const wait_millis_max = 60_000
const failed_wait_millis = 5_000

export const queueTimedWork = (
  timed: ReadonlyArray<TimedWork>,
  jobs: Pick<Jobs, "offer">
): Effect.Effect<void, never, Store> => {
  const works = timed.map(({ cron, ...work }) => {
    const fixed = typeof cron === "string" ? Effect.succeed(cronOf({ cron })) : undefined
    const by_settings = typeof cron === "string" ? Effect.undefined : cron
    const now = Effect.map(by_settings, (given) => (given === undefined ? undefined : cronOf(given)))
    return { ...work, cron: fixed ?? now, is_by_settings: fixed === undefined, queued_millis: Number.NaN }
  })
  const offerAtStart = Effect.fnUntraced(function* (due_at: string) {
    for (const { at_start, kind } of works)
      if (at_start !== undefined && (yield* at_start(due_at)))
        yield* jobs.offer(jobOffer(kind, { due_at }, { subject: `start:${due_at}` }))
  })
  let is_started = false
  const tick = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (!is_started) yield* offerAtStart(instantOf(now))
    is_started = true
    if (works.some(({ queued_millis }) => Number.isNaN(queued_millis))) {
      const known = yield* lastQueued(works, now)
      for (const work of works) work.queued_millis = known.get(work.kind.kind) ?? Number.NaN
    }
    let next = Number.POSITIVE_INFINITY
    for (const work of works) {
      const cron = yield* work.cron
      if (cron === undefined) continue
      next = Math.min(next, Cron.next(cron, new Date(now)).getTime())
      if (work.queued_millis > now + skew_millis_max) work.queued_millis = yield* setBack(work, now)
      const due = lastDue(cron, work.queued_millis, now)
      if (due === undefined) continue
      yield* queueOnce(work, instantOf(due), jobs)
      work.queued_millis = due
    }
    return Math.min(wait_millis_max, Math.max(0, next - now) + 1)
  })
  return works.length === 0
    ? Effect.void
    : tick.pipe(
        Effect.catchCause((cause) =>
          Effect.as(Effect.logWarning("timed work could not be queued", cause), failed_wait_millis)
        ),
        Effect.flatMap(Effect.sleep),
        Effect.forever
      )
}

/** Assumed maximum difference between server clocks. */
const skew_millis_max = 3_600_000
/** Resets a due time far ahead, queued before a clock was set back: the task is then due from now on. */
const setBack = Effect.fnUntraced(function* ({ kind }: Pick<TimedWork, "kind">, now_millis: number) {
  const ahead = instantOf(now_millis + skew_millis_max)
  yield* (yield* Store).sql`
    update timed_work set due_at = ${instantOf(now_millis)} where kind = ${kind.kind} and due_at > ${ahead}`
  return now_millis
})

/** Last queued due time of each task; for a new one, now, or the epoch if settings will ask for it: it runs at once. */
const lastQueued = Effect.fnUntraced(function* (
  works: ReadonlyArray<Pick<TimedWork, "kind"> & { readonly is_by_settings: boolean }>,
  now_millis: number
) {
  const rows = yield* Store.find(timed_work, { kind: works.map(({ kind }) => kind.kind) })
  const known = new Map(rows.map(({ due_at, kind }) => [kind, Date.parse(due_at)]))
  const fresh = works.filter(({ kind }) => !known.has(kind.kind))
  for (const { is_by_settings, kind } of fresh) {
    const due_millis = is_by_settings ? 0 : now_millis
    yield* Store.apply([insert(timed_work, { kind: kind.kind, due_at: instantOf(due_millis) })])
    known.set(kind.kind, due_millis)
  }
  return known
})

/** Queues a due task unless another server did: only one of them advances the stored due time. */
const queueOnce = (
  work: Pick<TimedWork, "kind">,
  due_at: string,
  jobs: Pick<Jobs, "offer">
): Effect.Effect<void, Failure, Store> =>
  Store.transaction(
    Effect.gen(function* () {
      const store = yield* Store
      const moved = yield* store.sql`
          update timed_work set due_at = ${due_at} where kind = ${work.kind.kind} and due_at < ${due_at}
          returning kind`
      if (moved.length > 0) yield* jobs.offer(jobOffer(work.kind, { due_at }, { subject: due_at }))
    })
  )
