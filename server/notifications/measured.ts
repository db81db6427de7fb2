/** What this process told people, by type, and what waits to be mailed on all servers. */
import { Effect } from "effect"
import type { Failure } from "../../core/kernel/failure.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { notificationTypes } from "../../core/notifications/types.ts"
import type { Measurement } from "../system/measurements.ts"
import type { NotificationRow } from "./schema.ts"

export interface NotificationCounts {
  readonly told: (rows: ReadonlyArray<NotificationRow>) => void
  readonly measured: Effect.Effect<ReadonlyArray<Measurement>, Failure, Store>
}

export const makeNotificationCounts = (): NotificationCounts => {
  const counts = new Map(notificationTypes.map(({ key }) => [key, 0]))
  return {
    told: (rows) => {
      for (const { notification_type } of rows) counts.set(notification_type, (counts.get(notification_type) ?? 0) + 1)
    },
    measured: Effect.gen(function* () {
      const [row] = yield* (yield* Store).run<{ waiting: number }>(
        "select count(*) as waiting from notifications where mail_state = 'waiting'"
      )
      return [
        ...[...counts].map(([type, value]): Measurement => ({
          name: "flightcase_notifications_total",
          description: "Notifications of people that this process wrote down",
          kind: "counter",
          labels: { type },
          value
        })),
        {
          name: "flightcase_notifications_to_be_mailed",
          description: "Notifications that wait to be mailed",
          kind: "gauge",
          labels: {},
          value: Number(row?.waiting ?? 0)
        }
      ]
    })
  }
}
