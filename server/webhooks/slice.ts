/**
 * Webhooks out (rules/conventions 14): subscriptions, what they are told of, and its delivery. Everything is outside
 * the journal and on the server alone; a rebuild or a restored journal sends nothing again.
 */
import { Context, Effect } from "effect"
import { isJsonObject, type JsonObject } from "../../core/kernel/json.ts"
import { type RowChange, update } from "../../core/kernel/row-change.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { StoredEvent } from "../../core/kernel/event.ts"
import { roles, users } from "../../core/users/schema.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { hasAbility, hasOnePermission } from "../../core/kernel/viewer.ts"
import { ServerContext } from "../server-context.ts"
import type { ServerCall, ServerSlice } from "../server-slice.ts"
import { userById } from "../users.ts"
import { access, logResource, webhookEndpoints, webhookResource, type WebhookApi } from "./api.ts"
import { againEndpoints } from "./api-again.ts"
import { eventsEndpoint } from "./catalogue.ts"
import type { AttemptOptions, AttemptTold } from "./attempt.ts"
import { webhookEvents } from "./events.ts"
import type { Dispatcher } from "./dispatcher.ts"
import { makeFanOut } from "./fan-out.ts"
import type { Guard, Lookup } from "./guard.ts"
import { webhookKinds } from "./kinds/kinds.ts"
import { makeWebhookCounts } from "./measured.ts"
import { dropWaiting } from "./outcomes.ts"
import { dropOldDaily } from "./retention.ts"
import { webhook_deliveries, webhook_logs, webhooks } from "./schema.ts"
import { makeSubscriptions } from "./subscriptions.ts"
import { makeTeller, WebhookTeller } from "./telling.ts"

export interface WebhooksOptions {
  /** Told of each attempt; the first one at an event is what is metered (rules/conventions 16). */
  readonly attempted?: AttemptOptions["attempted"]
  readonly lookup?: Lookup
  readonly timeout_millis?: number
}

export const webhooksSlice = ({ attempted, lookup, timeout_millis }: WebhooksOptions = {}): ServerSlice => {
  const guards = new Map<boolean, Guard>()
  const guardOf = async (allows_private: boolean): Promise<Guard> => {
    const { makeGuard } = await import("./guard.ts")
    let guard = guards.get(allows_private)
    if (guard === undefined)
      guards.set(allows_private, (guard = makeGuard({ allows_private, ...(lookup === undefined ? {} : { lookup }) })))
    return guard
  }
  const subscriptions = makeSubscriptions()
  let dispatcher: Dispatcher | undefined
  const wake = (): void => dispatcher?.wake()
  const fan_out = makeFanOut(webhookKinds, subscriptions, wake)
  const counts = makeWebhookCounts()
  const refusals = new WeakMap<JsonObject, string>()
  const api: WebhookApi = { kinds: webhookKinds, subscriptions, fan_out, wake, refusalOf: (body) => refusals.get(body) }
  return {
    name: "webhooks",
    server_tables: [webhooks, webhook_deliveries, webhook_logs],
    resources: [webhookResource, logResource],
    events: webhookEvents,
    endpoints: [...webhookEndpoints(api), ...againEndpoints(api), eventsEndpoint(webhookKinds)],
    // Names are looked up before the transaction of the command begins: nobody waits for a name server meanwhile.
    around: (call, next) =>
      Effect.gen(function* () {
        const target = targetIn(call)
        if (target !== undefined) {
          const { outside } = yield* ServerContext
          const refusal = yield* Effect.promise(async () =>
            (await guardOf(outside.webhooks_private)).refusal(target.hostname)
          )
          if (refusal !== undefined) refusals.set(target.body, refusal)
        }
        return yield* next
      }),
    recorded: (events) => Effect.andThen(turnOffOfLeavers(events, subscriptions.forget), fan_out.recorded(events)),
    jobs: [fan_out.job, dropOldDaily.kind],
    timed: [dropOldDaily],
    services: () => Context.make(WebhookTeller, makeTeller(subscriptions, wake)),
    measured: counts.measured,
    background: Effect.gen(function* () {
      const { log, outside } = yield* ServerContext
      const guard = yield* Effect.promise(() => guardOf(outside.webhooks_private))
      const { mailOwner, makeDispatcher, sender } = yield* Effect.promise(() => import("./sending.ts"))
      dispatcher = makeDispatcher({
        kinds: webhookKinds,
        send: sender(guard, timeout_millis),
        attempted: (told) =>
          Effect.andThen(
            Effect.sync(() => {
              counts.attempted(told.outcome.error)
              logAttempt(log, told)
            }),
            attempted?.(told) ?? Effect.void
          ),
        disabled: (webhook, reason, at) =>
          Effect.gen(function* () {
            log.at("warn", "webhook turned off", { webhook_id: webhook.id, reason })
            yield* (yield* Store).sql.afterCommit(Effect.sync(subscriptions.forget))
            yield* mailOwner(webhook, reason, at)
          })
      })
      yield* dispatcher.run
    })
  }
}
const logAttempt = (
  log: ServerContext["Service"]["log"],
  { attempt, delivery, duration_ms, outcome, webhook_id }: AttemptTold
): void =>
  log.at("debug", "webhook", {
    webhook_id,
    event: delivery.event,
    event_id: delivery.event_id,
    attempt,
    status: outcome.status,
    error: outcome.error,
    duration_ms: Math.round(duration_ms)
  })

/** The host a webhook is to be posted to, where a call that may do so names one. */
const targetIn = ({ endpoint, request: { body }, viewer }: ServerCall) => {
  if (endpoint.name !== "webhooks.create" && endpoint.name !== "webhooks.update") return undefined
  if (!mayManage(viewer) || !isJsonObject(body) || typeof body["url"] !== "string") return undefined
  const url = URL.parse(body["url"].trim())
  return url === null ? undefined : { body, hostname: url.hostname }
}
const mayManage = (viewer: Viewer): boolean =>
  hasOnePermission(viewer, access.permission) && hasAbility(viewer, access.ability)

const may_change_rights = /^(user|role)\.(updated|deactivated)$/
/**
 * What somebody set up ends with their account, and with their right to it: a webhook is told everything. The owner can
 * turn it on again.
 */
const turnOffOfLeavers = Effect.fnUntraced(function* (events: ReadonlyArray<StoredEvent>, forget: () => void) {
  const changed = events.filter(({ type }) => may_change_rights.test(type))
  const [first] = changed
  if (first === undefined) return
  const store = yield* Store
  const active = yield* store.find(webhooks, { is_active: true })
  const about = (entity: string): ReadonlySet<number> =>
    new Set(changed.filter(({ type }) => type.startsWith(entity)).map(({ data }) => Number(data["id"])))
  const users_changed = about(`${users.entity}.`)
  const roles_changed = about(`${roles.entity}.`)
  const changes: Array<RowChange> = []
  for (const user_id of new Set(active.map((one) => one.user_id))) {
    const user = yield* userById(user_id)
    const is_theirs = users_changed.has(user_id) || user?.role_ids.some((id) => roles_changed.has(id)) === true
    const may = user?.is_active === true && (user.is_owner || user.permissions.has(access.permission))
    if (!is_theirs || may) continue
    for (const { id } of active.filter((one) => one.user_id === user_id))
      changes.push(
        update(webhooks, id, { is_active: false, disabled_reason: "owner left", updated_at: first.recorded_at }),
        dropWaiting(id)
      )
  }
  if (changes.length === 0) return
  yield* store.apply(changes)
  yield* store.sql.afterCommit(Effect.sync(forget))
})
