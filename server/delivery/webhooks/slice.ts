/**
 * Outbound webhooks (rules/conventions 14): subscriptions, their events, and delivery. Their rows are outside the
 * journal and on the server alone; a rebuild or a restored journal sends nothing again.
 */
import { Clock, Context, Effect } from "effect"
import { capitalised, CommandRuntime, get, hasAbility, hasOnePermission } from "../../../core/kernel/index.ts"
import { isJsonObject, ok, settingNumber, Shown, Store, text, unpagedMeta, update } from "../../../core/kernel/index.ts"
import type { Catalogue, Endpoint, Failure, Json, JsonObject, RowChange } from "../../../core/kernel/index.ts"
import type { StoredEvent, Viewer } from "../../../core/kernel/index.ts"
import { jsonSchemas } from "../../http/json-schema.ts"
import { access, logResource, type WebhookApi, webhookEndpoints, webhookEvents, webhookResource } from "./api.ts"
import { payloadShown, test_event, type WebhookKind, type WebhookKinds } from "./payloads.ts"
import type { Measurement, ServerCall, ServerSlice } from "../../ports/server-slice.ts"
import { attempt_errors, type AttemptError, webhook_deliveries, webhook_logs, webhooks } from "./schema.ts"
import { instantOf } from "../../../core/values/time.ts"
import { roles, users } from "../../../core/people/users/permissions.ts"
import { ServerContext, timedWork, userById } from "../../ports/server-context.ts"
import { againEndpoints } from "./api-again.ts"
import type { AttemptOptions, AttemptTold, Dispatcher } from "./sending.ts"
import { makeFanOut, makeSubscriptions, makeTeller, WebhookTeller } from "./fan-out.ts"
import type { Guard, Lookup } from "./guard.ts"
import { webhookKinds } from "./kinds.ts"
import { dropWaiting } from "./outcomes.ts"

// Webhook events described for machines: names, meanings and the JSON Schema of `data`.

interface DescribedKind {
  readonly name: string
  readonly description: string
  /** Keys of `data`. */
  readonly shown: Shown.Keys
}

/** All kinds, by name; the test event last. */
export const describedKinds = (catalogue: Catalogue, { all }: WebhookKinds): ReadonlyArray<DescribedKind> => [
  ...all
    .map((kind) => ({ name: kind.name, description: meaningOf(catalogue, kind), shown: payloadShown(catalogue, kind) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  {
    name: test_event,
    description: "A test delivery, sent on request only, whatever the subscription.",
    shown: { webhook: Shown.row(() => webhookResource) }
  }
]
const meaningOf = ({ events }: Catalogue, { name, on }: WebhookKind): string => {
  const meaning = events.get(on)?.meaning
  if (meaning === undefined) throw new Error(`the webhook event ${name} follows ${on}, which nobody records`)
  // The event's description mentions changes; subscribers get the full row.
  return meaning
    .replace(": all of its columns.", ".")
    .replace(/^Columns of (.+) changed: .*$/, (_all, one: string) => `${capitalised(one)} changed.`)
}

/** A self-contained JSON Schema. */
const payloadSchema = (shown: Shown.Keys): JsonObject => {
  const schemas = jsonSchemas()
  const payload = schemas.of(Shown.keys(shown))
  return { ...referringWithin(payload), $defs: referringWithin(schemas.components) }
}
/** Rewrites references to API components as references to local definitions. */
const referringWithin = (schema: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, referring(value)]))
const referring = (value: Json): Json =>
  typeof value === "string"
    ? value.replace(/^#\/components\/schemas\//, "#/$defs/")
    : Array.isArray(value)
      ? value.map(referring)
      : isJsonObject(value)
        ? referringWithin(value)
        : value

const descriptions = new WeakMap<Catalogue, ReadonlyArray<{ name: string; description: string; payload: JsonObject }>>()
const descriptionsOf = (catalogue: Catalogue, kinds: WebhookKinds) => {
  let described = descriptions.get(catalogue)
  if (described === undefined) {
    described = describedKinds(catalogue, kinds).map(({ description, name, shown }) => ({
      name,
      description,
      payload: payloadSchema(shown)
    }))
    descriptions.set(catalogue, described)
  }
  return described
}

const eventsEndpoint = (kinds: WebhookKinds): Endpoint =>
  get("/api/v1/webhook_events", {
    answer: {
      webhook_events: Shown.objects({
        name: text(),
        description: text(),
        payload: Shown.map(Shown.anything(), { describe: "JSON Schema of the delivery's data" })
      }),
      meta: Shown.meta
    },
    name: "webhook_events.list",
    summary: "List the events webhooks may subscribe to, with their data",
    ...access,
    run: ({ query }) =>
      Effect.map(CommandRuntime, ({ catalogue }) => {
        const rows = descriptionsOf(catalogue, kinds)
        return ok({ webhook_events: rows, meta: unpagedMeta(rows.length, query) })
      })
  })

// Attempts of this process by outcome, and deliveries waiting on all servers.

interface WebhookCounts {
  readonly attempted: (error: AttemptError | null) => void
  readonly measured: Effect.Effect<ReadonlyArray<Measurement>, Failure, Store>
}

const makeWebhookCounts = (): WebhookCounts => {
  const outcomes = ["delivered", ...Object.keys(attempt_errors)]
  const counts = new Map(outcomes.map((outcome) => [outcome, 0]))
  return {
    attempted: (error) => {
      const outcome = error ?? "delivered"
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    },
    measured: Effect.gen(function* () {
      const [row] = yield* Store.run<{ waiting: number; off: number }>(
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
          description: "Webhook delivery attempts by this process",
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

// Deliveries and their log are kept for the configured time.

const day_millis = 86_400_000

/** Deletes rows older than the configured retention, except waiting deliveries of existing webhooks. */
const dropOld = Effect.gen(function* () {
  const { sql } = yield* Store
  const { settings } = yield* CommandRuntime
  const days = settingNumber(yield* settings, "webhooks", "retention_days")
  const cutoff = instantOf((yield* Clock.currentTimeMillis) - days * day_millis)
  yield* sql`delete from webhook_logs where created_at < ${cutoff}`
  yield* sql`
    delete from webhook_deliveries where created_at < ${cutoff} and (state <> 'waiting'
    or webhook_id not in (select id from webhooks))`
})

const dropOldDaily = timedWork({
  cron: "17 3 * * *",
  kind: "webhooks.retention",
  meaning: "removes webhook deliveries and log entries older than the configured retention",
  run: () => dropOld
})

interface WebhooksOptions {
  /** Called for each attempt; the first attempt at an event is metered (rules/conventions 16). */
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
    // Names are resolved before the command's transaction, so that it does not wait for name servers.
    around: (call, next) => {
      const target = targetIn(call)
      if (target === undefined) return next
      return Effect.gen(function* () {
        const { outside } = yield* ServerContext
        const refusal = yield* Effect.promise(async () =>
          (await guardOf(outside.webhooks_private)).refusal(target.hostname)
        )
        if (refusal !== undefined) refusals.set(target.body, refusal)
        return yield* next
      })
    },
    // Changes of webhooks read the subscriptions once they are stored: what they read would stay cached if they failed.
    concerns: (events) =>
      events.some(({ type }) => may_change_rights.test(type) || type.startsWith("webhook."))
        ? Effect.succeed(true)
        : fan_out.concerns(events),
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
        disabled: Effect.fnUntraced(function* (webhook, reason, at) {
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

/** Target host of a webhook in an authorised call. */
const targetIn = ({ endpoint, request: { body }, viewer }: ServerCall) => {
  if (endpoint.name !== "webhooks.create" && endpoint.name !== "webhooks.update") return undefined
  if (!mayManage(viewer) || !isJsonObject(body) || typeof body["url"] !== "string") return undefined
  const url = URL.parse(body["url"].trim())
  return url === null ? undefined : { body, hostname: url.hostname }
}
const mayManage = (viewer: Viewer): boolean =>
  hasOnePermission(viewer, access.permission) && hasAbility(viewer, access.ability)

const may_change_rights = /^(user|role)\.(updated|deactivated)$/
/** Turns off webhooks whose user lost the account or permission. The account's owner can reactivate them. */
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
