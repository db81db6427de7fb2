/** Attempts of this process by what came of them, and what waits on all servers. */
import { Effect } from "effect"
import type { Failure } from "../../core/kernel/failure.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Measurement } from "../system/measurements.ts"
import { type AttemptError, attempt_errors } from "./schema.ts"

export interface WebhookCounts {
  readonly attempted: (error: AttemptError | null) => void
  readonly measured: Effect.Effect<ReadonlyArray<Measurement>, Failure, Store>
}

export const makeWebhookCounts = (): WebhookCounts => {
  const outcomes = ["delivered", ...Object.keys(attempt_errors)]
  const counts = new Map(outcomes.map((outcome) => [outcome, 0]))
  return {
    attempted: (error) => {
      const outcome = error ?? "delivered"
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    },
    measured: Effect.gen(function* () {
      const [row] = yield* (yield* Store).run<{ waiting: number; off: number }>(
        "select (select count(*) from webhook_deliveries where state = 'waiting') as waiting, " +
          "(select count(*) from webhooks where disabled_at is not null and not is_active) as off"
      )
      const gauge = (name: string, description: string, value: unknown): Measurement => ({
        name,
        description,
        kind: "gauge",
        labels: {},
        value: Number(value ?? 0)
      })
      return [
        ...[...counts].map(([outcome, value]): Measurement => ({
          name: "flightcase_webhook_attempts_total",
          description: "Attempts at deliveries to webhooks made by this process",
          kind: "counter",
          labels: { outcome },
          value
        })),
        gauge("flightcase_webhook_deliveries_waiting", "Deliveries that wait for an attempt", row?.waiting),
        gauge("flightcase_webhooks_turned_off", "Webhooks turned off for their failures", row?.off)
      ]
    })
  }
}
