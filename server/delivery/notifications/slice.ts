/** Notifications on the server: finding recipients of events, the inbox, mail and streams. */
import { Clock, Effect, Schema } from "effect"
import { CommandRuntime, decodeData, removeWhere, settingNumber, Store } from "../../../core/kernel/index.ts"
import type { Failure, StoredEvent } from "../../../core/kernel/index.ts"
import { notificationTypes } from "../../../core/office/notifications/types.ts"
import type { Measurement, ServerEndpoint, ServerSlice } from "../../ports/server-slice.ts"
import type { NotificationRow } from "./schema.ts"
import { notification_burst_commands, notification_bursts, notification_mailings, notifications } from "./schema.ts"
import { instantOf } from "../../../core/values/time.ts"
import { deleteInParts, type JobKind, jobKind, jobOffer, serverContext, timedWork } from "../../ports/server-context.ts"
import { eventsOfTypes, page_events } from "../webhooks/fan-out.ts"
import { causes, causesOf, telling_events } from "./causes/causes.ts"
import type { Happening } from "./causes/happening.ts"
import { writeDown, type Wrote } from "./write.ts"
import { notificationEndpoints, notificationResource } from "./api.ts"
import { mailNotifications, offerLeftHourly } from "./mail/job.ts"
import { makeHub, streamEndpoint, withLastEventId } from "./stream/hub.ts"

// Counts of notifications created by this process, by type, and of those waiting for mail on all servers.

interface NotificationCounts {
  readonly told: (rows: ReadonlyArray<NotificationRow>) => void
  readonly measured: Effect.Effect<ReadonlyArray<Measurement>, Failure, Store>
}

const makeNotificationCounts = (): NotificationCounts => {
  const counts = new Map(notificationTypes.map(({ key }) => [key, 0]))
  return {
    told: (rows) => {
      for (const { notification_type } of rows) counts.set(notification_type, (counts.get(notification_type) ?? 0) + 1)
    },
    measured: Effect.gen(function* () {
      const [row] = yield* Store.run<{ waiting: number }>(
        "select count(*) as waiting from notifications where mail_state = 'waiting'"
      )
      return [
        ...[...counts].map(([type, value]): Measurement => ({
          name: "flightcase_notifications_total",
          description: "Notifications created by this process",
          kind: "counter",
          labels: { type },
          value
        })),
        {
          name: "flightcase_notifications_to_be_mailed",
          description: "Notifications waiting to be mailed",
          kind: "gauge",
          labels: {},
          value: Number(row?.waiting ?? 0)
        }
      ]
    })
  }
}

// Notifications are kept for the configured time.

const day_millis = 86_400_000

/** Deletes rows older than the configured retention, read or not. */
export const dropOld = Effect.gen(function* () {
  const { sql } = yield* Store
  const { settings } = yield* CommandRuntime
  const days = settingNumber(yield* settings, "notifications", "retention_days")
  const cutoff = instantOf((yield* Clock.currentTimeMillis) - days * day_millis)
  yield* deleteInParts("notifications", "created_at", cutoff)
  yield* sql`delete from notification_burst_commands where created_at < ${cutoff}`
  yield* sql`delete from notification_bursts where paced_until < ${cutoff}`
})

const dropOldDaily = timedWork({
  cron: "27 3 * * *",
  kind: "notifications.retention",
  meaning: "removes notifications older than the configured retention",
  run: () => dropOld
})

// From events to notifications: a command with notifiable events queues one job in its transaction; after the commit
// the job finds the recipients and writes their rows. Rows are unique by user and event, so repeating adds none.

const range = Schema.Struct({ from: Schema.Int, to: Schema.Int })
type Range = typeof range.Type

const mayTell = (event: StoredEvent): boolean => causesOf(event.type).some((cause) => cause.may(event))

/** Queues the job for notifiable events, in the transaction that records them. */
const queueTelling =
  (job: JobKind<Range>) =>
  (events: ReadonlyArray<StoredEvent>): ServerEndpoint<void> => {
    const [first] = events
    if (first === undefined || !events.some(mayTell)) return Effect.void
    return Effect.gen(function* () {
      const { jobs } = yield* serverContext
      const { command_id, position } = first
      const data = { from: position, to: position + events.length - 1 }
      // Identified by command, as a restored journal reuses positions.
      yield* jobs.offer(jobOffer(job, data, { subject: `${command_id}:${position}` }))
    })
  }

/** Notification events for a range of the journal, in a few queries per type. */
const happeningsOf = Effect.fnUntraced(function* ({ from, to }: Range): CommandRuntime.Reads<ReadonlyArray<Happening>> {
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
    meaning: "creates notifications from events",
    data: range,
    attempts_max: 20,
    waits_seconds: [1, 5, 30, 120, 600],
    at_a_time: 2,
    counts_broken_off: false,
    run: Effect.fnUntraced(function* (data) {
      return { told: yield* writeDown(yield* happeningsOf(data), wrote) }
    })
  })

export const notificationsServerSlice = (): ServerSlice => {
  const hub = makeHub()
  const counts = makeNotificationCounts()
  const wrote: Wrote = (rows) => counts.told(rows)
  const telling = tellingJob(wrote)
  const queue = queueTelling(telling)
  return {
    name: "notifications_server",
    server_tables: [notifications, notification_mailings, notification_bursts, notification_burst_commands],
    resources: [notificationResource],
    // The stream's path comes before `/notifications/{id}`, which would match it.
    endpoints: [streamEndpoint(hub), ...notificationEndpoints],
    around: withLastEventId,
    concerns: (events) =>
      Effect.succeed(events.some(({ type }) => causesOf(type).length > 0 || type === "member.anonymised")),
    recorded: Effect.fnUntraced(function* (events) {
      yield* queue(events)
      // Notifications are erased with their user.
      for (const { data, type } of events)
        if (type === "member.anonymised" && typeof data["user_id"] === "number")
          yield* Store.apply([
            removeWhere(notifications, { user_id: data["user_id"] }),
            removeWhere(notification_mailings, { user_id: data["user_id"] })
          ])
    }),
    jobs: [telling, mailNotifications],
    timed: [offerLeftHourly, dropOldDaily],
    measured: counts.measured,
    background: hub.work
  }
}
