/**
 * Which events anybody is subscribed to, in memory: a command whose events nobody asks for pays no query. Several
 * servers on one database look again after less than a second; what they missed in that second is queued by `catchUp`.
 */
import { Clock, Effect } from "effect"
import type { Failure } from "../../core/kernel/failure.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { type WebhookRow, webhooks } from "./schema.ts"

export const every_event = "*"
export const wants = ({ events }: Pick<WebhookRow, "events">, name: string): boolean =>
  events.includes(name) || events.includes(every_event)

export interface Subscriptions {
  /** The names subscribed to by webhooks that are active; among them possibly `*`. */
  readonly names: Effect.Effect<ReadonlySet<string>, Failure, Store>
  readonly forget: () => void
}
const believed_millis = 900

export const makeSubscriptions = (): Subscriptions => {
  let kept: { readonly names: ReadonlySet<string>; readonly at: number } | undefined
  let generation = 0
  const read = (store: Store["Service"], now: number) => {
    const begun = generation
    return Effect.map(store.find(webhooks, { is_active: true }), (rows) => {
      const names = new Set(rows.flatMap(({ events }) => events))
      // Not kept when something changed during the read.
      if (begun === generation) kept = { names, at: now }
      return names
    })
  }
  return {
    names: Effect.gen(function* () {
      const store = yield* Store
      const now = yield* Clock.currentTimeMillis
      // An SQLite file has one server, which changes them itself.
      const is_fresh = kept !== undefined && (store.dialect === "sqlite" || Math.abs(now - kept.at) < believed_millis)
      return kept !== undefined && is_fresh ? kept.names : yield* read(store, now)
    }),
    forget: () => {
      generation++
      kept = undefined
    }
  }
}
