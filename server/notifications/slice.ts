/** Notifications on the server: who is told of what happens, the inbox, mail and what programs listen to. */
import { Effect } from "effect"
import { removeWhere } from "../../core/kernel/row-change.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { ServerSlice } from "../server-slice.ts"
import { notificationEndpoints, notificationResource } from "./api.ts"
import { mailNotifications, offerLeftHourly } from "./mail/job.ts"
import { makeNotificationCounts } from "./measured.ts"
import { dropOldDaily } from "./retention.ts"
import { notification_burst_commands, notification_bursts, notification_mailings, notifications } from "./schema.ts"
import { streamEndpoint, withLastEventId } from "./stream/endpoint.ts"
import { makeHub } from "./stream/hub.ts"
import { queueTelling, tellingJob } from "./telling.ts"
import type { Wrote } from "./write.ts"

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
    // The stream's path comes before that of one notification, which would take its last part for an id.
    endpoints: [streamEndpoint(hub), ...notificationEndpoints],
    around: withLastEventId,
    recorded: (events) =>
      Effect.gen(function* () {
        yield* queue(events)
        // What somebody was told goes with the person.
        for (const { data, type } of events)
          if (type === "member.anonymised" && typeof data["user_id"] === "number")
            yield* (yield* Store).apply([
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
