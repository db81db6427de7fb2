/**
 * Webhooks over the API (rules/conventions 14): users with the permission manage their own, the account's owner all. A
 * secret is returned once, on creation or rotation.
 */
import { Effect, Result, Schema } from "effect"
import { boolean, command, created, eventType, forbidden, get, invalid } from "../../../core/kernel/index.ts"
import { lastPosition, listOf, noContent, ok, remove, removeWhere, renderById } from "../../../core/kernel/index.ts"
import { resource, Shown, Store, update, viewContext } from "../../../core/kernel/index.ts"
import type { AnyEventType, Endpoint, JsonObject, Rejection, Viewer } from "../../../core/kernel/index.ts"
import {
  lockWebhook,
  newSecret,
  webhook_deliveries,
  webhook_fields,
  webhook_logs,
  type WebhookRow,
  webhooks,
  webhookSecrets
} from "./schema.ts"
import { madeWithSecret, shownWithSecret, withSecret } from "../../ports/secret-box.ts"
import { serverContext } from "../../ports/server-context.ts"
import { every_event, type FanOut, type Subscriptions } from "./fan-out.ts"
import type { WebhookKinds } from "./payloads.ts"
import { dropWaiting } from "./outcomes.ts"

// Events of webhooks, for the journal. They hold neither secrets nor full URLs, as paths and queries often contain the
// receiver's secrets.

const what = () =>
  Schema.Struct({
    id: Schema.Int,
    user_id: Schema.Int,
    /** Origin of the target, such as `https://example.com`. */
    target: Schema.String,
    events: Schema.Array(Schema.String),
    is_active: Schema.Boolean
  })
const webhookCreated = eventType("webhook.created", {
  meaning: "An address was subscribed to events.",
  data: what,
  project: "changes_no_table"
})
const webhookUpdated = eventType("webhook.updated", {
  meaning: "A webhook's URL, events or state was changed by a user.",
  data: what,
  project: "changes_no_table"
})
const which = () => Schema.Struct({ id: Schema.Int })
const webhookSecretRotated = eventType("webhook.secret_rotated", {
  meaning: "A webhook's deliveries are signed with a new secret.",
  data: which,
  project: "changes_no_table"
})
const webhookDeleted = eventType("webhook.deleted", {
  meaning: "A webhook was removed, with its log.",
  data: which,
  project: "changes_no_table"
})
export const webhookEvents: ReadonlyArray<AnyEventType> = [
  webhookCreated,
  webhookUpdated,
  webhookSecretRotated,
  webhookDeleted
]

type Described = Pick<WebhookRow, "id" | "user_id" | "url" | "events" | "is_active">
const describedWebhook = ({ id, user_id, url, events, is_active }: Described) => ({
  id,
  user_id,
  target: URL.parse(url)?.origin ?? "",
  events,
  is_active
})

export const webhookResource = resource({
  singular: "webhook",
  heading: "Set-up",
  table: webhooks,
  filters: ["is_active", "created_at", "updated_at"],
  sorts: ["created_at", "updated_at"],
  order: ["-id"]
})
export const logResource = resource({
  singular: "log",
  plural: "logs",
  entity_type: "webhook_logs",
  title: "WebhookLog",
  table: webhook_logs,
  filters: ["event", "event_id", "response_code", "error", "delivered_at", "created_at"],
  sorts: ["created_at"],
  order: ["-id"]
})
/** The resource of the two responses that include the secret. */
const secretResource = withSecret(
  webhookResource,
  "WebhookWithSecret",
  "Signing secret of deliveries; only in this response"
)

export const access = { ability: "webhooks:manage", permission: "webhooks.manage", server_only: true } as const
/** Fails with 403 for others' webhooks, except for the account's owner. */
export const ownOnly = ({ rows, viewer }: { readonly rows: { readonly id: WebhookRow }; readonly viewer: Viewer }) =>
  rows.id.user_id === viewer.user_id || viewer.is_owner
    ? Effect.void
    : Effect.fail(forbidden("This webhook is somebody else's; only they and the account's owner may use it."))
export const one = { params: { id: { table: webhooks } }, authorize: ownOnly } as const

export interface WebhookApi {
  readonly kinds: WebhookKinds
  readonly subscriptions: Subscriptions
  readonly fan_out: FanOut
  /** Why the target is not allowed; undefined if it is. Resolved before the command. */
  readonly refusalOf: (body: JsonObject) => string | undefined
  readonly wake: () => void
}

/** Returns 422 for unknown event names, internal targets, and passwords in URLs. */
const refusalTo = (
  { kinds, refusalOf }: WebhookApi,
  events: ReadonlyArray<string> | undefined,
  body: JsonObject
): Rejection | undefined => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  for (const [at, name] of (events ?? []).entries())
    if (name !== every_event && !kinds.has(name)) errors[`events.${at}`] = [unknownEvent(kinds, name)]
  const refused = refusalOf(body)
  const url = typeof body["url"] === "string" ? URL.parse(body["url"].trim()) : null
  if (url !== null && (url.username !== "" || url.password !== ""))
    errors["url"] = ["The address holds a user or password; deliveries are signed with the webhook's secret instead."]
  else if (refused !== undefined)
    errors["url"] = [`${refused} a private or reserved address; webhooks go to public ones.`]
  return Object.keys(errors).length > 0 ? invalid(errors) : undefined
}
const unknownEvent = ({ all }: WebhookKinds, name: string): string => {
  const area = name.split(".", 1)[0] ?? ""
  const near = all.map((kind) => kind.name).filter((known) => known.startsWith(`${area}.`))
  const known = near.length === 0 ? "" : ` There is ${near.join(", ")}.`
  return `There is no event ${JSON.stringify(name)}.${known} GET /api/v1/webhook_events lists all.`
}

const nextPosition = Effect.flatMap(Store, (store) => Effect.map(lastPosition(store), (last) => last + 1))
/** In the transaction of a subscription's change: queues a scan for missed events; forgets the cache at commit. */
const changed = Effect.fnUntraced(function* (api: WebhookApi, id: number, from: number) {
  yield* api.fan_out.catchUp(id, from)
  yield* (yield* Store).sql.afterCommit(Effect.sync(api.subscriptions.forget))
})

const list = get("/api/v1/webhooks", {
  answer: Shown.page(() => webhookResource),
  name: "webhooks.list",
  summary: "List your webhooks, or all for the account's owner",
  ...access,
  run: (input) =>
    listOf(webhookResource, input, { where: input.viewer.is_owner ? {} : { user_id: input.viewer.user_id } })
})
const show = get("/api/v1/webhooks/{id}", {
  answer: { webhook: Shown.row(() => webhookResource) },
  name: "webhooks.show",
  summary: "Show one webhook",
  ...access,
  ...one,
  run: (input) => Effect.map(renderById(webhookResource, input.rows.id.id, input.query, viewContext(input)), ok)
})

const create = (api: WebhookApi) =>
  command("POST", "/api/v1/webhooks", {
    answer: { webhook: Shown.row(() => secretResource) },
    name: "webhooks.create",
    summary: "Subscribe a URL to events; the signing secret is only in this response",
    ...access,
    fields: webhook_fields,
    creates: [webhooks],
    streams: () => [],
    facts: () => Effect.succeed(undefined),
    decide: (_facts, { body, values: { events = [], url = "" }, viewer: { user_id } }, context) => {
      const refusal = refusalTo(api, events, body)
      if (refusal !== undefined) return Result.fail(refusal)
      const id = context.id(webhooks)
      const made = webhookCreated.make(describedWebhook({ id, user_id, url, events, is_active: true }))
      return Result.succeed({ events: [made], result: { id } })
    },
    respond: Effect.fnUntraced(function* ({ id }, input) {
      const secret = newSecret()
      const { key } = yield* serverContext
      const told_from = yield* nextPosition
      const row = {
        id,
        told_from,
        url: input.values.url ?? "",
        events: input.values.events ?? [],
        is_active: true,
        consecutive_failures: 0,
        disabled_at: null,
        user_id: input.viewer.user_id,
        disabled_reason: null,
        last_success_at: null,
        failing_since: null,
        secret_sealed: webhookSecrets(key).seal(secret),
        previous_secret_sealed: null,
        previous_secret_until: null
      }
      const shown = yield* madeWithSecret(webhookResource, row, secret, input)
      yield* changed(api, id, told_from)
      return created(shown)
    })
  })

const change = (api: WebhookApi) =>
  command("PUT", "/api/v1/webhooks/{id}", {
    answer: { webhook: Shown.row(() => webhookResource) },
    name: "webhooks.update",
    summary: "Update a webhook; reactivating it resets its count of failures",
    ...access,
    ...one,
    fields: { ...webhook_fields, is_active: boolean() },
    facts: () => Effect.succeed(undefined),
    decide: (_facts, { body, rows, values }) => {
      const refusal = refusalTo(api, values.events, body)
      if (refusal !== undefined) return Result.fail(refusal)
      const before = rows.id
      const { events = before.events, is_active = before.is_active, url = before.url } = values
      const after = { ...before, events, is_active, url }
      const is_other = JSON.stringify(after) !== JSON.stringify(before)
      return Result.succeed({
        events: is_other ? [webhookUpdated.make(describedWebhook(after))] : [],
        result: { id: after.id }
      })
    },
    respond: Effect.fnUntraced(function* ({ id }, input) {
      const before = (yield* lockWebhook(id)) ?? input.rows.id
      const { events, is_active, url } = input.values
      const from = yield* nextPosition
      yield* Store.apply([
        update(webhooks, id, {
          ...(url === undefined ? {} : { url }),
          ...(events === undefined ? {} : { events }),
          ...(is_active === undefined ? {} : { is_active }),
          ...(is_active === true && !before.is_active ? { ...healthy, told_from: from } : {}),
          updated_at: input.now
        }),
        // Also on reactivation: events recorded during the deactivation may have been queued.
        ...(is_active === false || (is_active === true && !before.is_active) ? [dropWaiting(id)] : [])
      ])
      yield* changed(api, id, from)
      return ok(yield* renderById(webhookResource, id, [], viewContext(input)))
    })
  })
const healthy = {
  consecutive_failures: 0,
  disabled_at: null,
  disabled_reason: null,
  failing_since: null,
  last_success_at: null
}

const removeOne = (api: WebhookApi) =>
  command("DELETE", "/api/v1/webhooks/{id}", {
    name: "webhooks.delete",
    summary: "Delete a webhook with its log; queued deliveries are not sent",
    ...access,
    ...one,
    facts: () => Effect.succeed(undefined),
    decide: (_facts, { rows: { id: row } }) =>
      Result.succeed({ events: [webhookDeleted.make({ id: row.id })], result: { id: row.id } }),
    respond: Effect.fnUntraced(function* ({ id }) {
      const store = yield* Store
      yield* lockWebhook(id)
      yield* store.apply([
        remove(webhooks, id),
        removeWhere(webhook_deliveries, { webhook_id: id }),
        removeWhere(webhook_logs, { webhook_id: id })
      ])
      yield* store.sql.afterCommit(Effect.sync(api.subscriptions.forget))
      return noContent
    })
  })

/** How long the previous secret also signs after a rotation. */
const rotation_millis = 24 * 3_600_000

const rotate = command("POST", "/api/v1/webhooks/{id}/rotate_secret", {
  answer: { webhook: Shown.row(() => secretResource) },
  name: "webhooks.rotate_secret",
  summary: "Create a new signing secret for a webhook; the previous one also signs for 24 hours",
  destructive: true,
  ...access,
  ...one,
  facts: () => Effect.succeed(undefined),
  decide: (_facts, { rows: { id: row } }) =>
    Result.succeed({ events: [webhookSecretRotated.make({ id: row.id })], result: { id: row.id } }),
  respond: Effect.fnUntraced(function* ({ id }, input) {
    const secret = newSecret()
    const { key } = yield* serverContext
    const before = (yield* lockWebhook(id)) ?? input.rows.id
    yield* Store.apply([
      update(webhooks, id, {
        secret_sealed: webhookSecrets(key).seal(secret),
        previous_secret_sealed: before.secret_sealed,
        previous_secret_until: new Date(Date.parse(input.now) + rotation_millis).toISOString(),
        updated_at: input.now
      })
    ])
    return ok(yield* shownWithSecret(webhookResource, id, secret, input))
  })
})

const logs = get("/api/v1/webhooks/{id}/logs", {
  answer: Shown.page(() => logResource),
  name: "webhooks.logs",
  summary: "List a webhook's delivery attempts, newest first",
  ...access,
  ...one,
  run: (input) => listOf(logResource, input, { where: { webhook_id: input.rows.id.id } })
})

export const webhookEndpoints = (api: WebhookApi): ReadonlyArray<Endpoint> => [
  list,
  create(api),
  show,
  change(api),
  removeOne(api),
  logs,
  rotate
]
