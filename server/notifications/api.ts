/** The inbox over the API (rules/conventions 15): everybody's own, and nobody else's. */
import { Effect, Option, Result } from "effect"
import * as Shown from "../../core/kernel/answer-schema.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { command, type Endpoint, get, type Input } from "../../core/kernel/endpoint.ts"
import { integer, text } from "../../core/kernel/field.ts"
import { type JsonObject, isJsonObject } from "../../core/kernel/json.ts"
import { notFound } from "../../core/kernel/rejection.ts"
import { listOf, ok, renderById, renderOne, resource, viewContext } from "../../core/kernel/resource.ts"
import { update } from "../../core/kernel/row-change.ts"
import { bindings, whereSql } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { notificationType } from "../../core/notifications/types.ts"
import { users } from "../../core/users/schema.ts"
import { maySee } from "./people.ts"
import { type NotificationRow, notifications } from "./schema.ts"
import { inboxOf } from "./seen.ts"
import { wordsFor } from "./words.ts"

const path = "/api/v1/notifications"

/** Where what it is about is read: tables are named as their paths are. */
export const urlOf = ({ subject_id, subject_type }: NotificationRow, public_url: (() => string) | undefined) =>
  subject_id === null || subject_type === null || public_url === undefined
    ? null
    : `${public_url()}/api/v1/${subject_type}/${subject_id}`

export const notificationResource = resource({
  singular: "notification",
  table: notifications,
  filters: ["notification_type", "subject_type", "subject_id", "is_own", "read_at", "created_at"],
  sorts: ["created_at"],
  order: ["-id"],
  lookups: { actor: { table: users, via: "actor_id" } },
  shows: {
    category: text({ max: 30 }),
    title: text({ max: 2_000 }),
    body: text({ max: 2_000, nullable: true }),
    actor_name: text({ nullable: true }),
    url: text({ nullable: true, max: 2_000, describe: "Where the API shows what it is about" })
  },
  load: (rows, { settings }) =>
    Effect.gen(function* () {
      const runtime = Option.getOrUndefined(yield* Effect.serviceOption(CommandRuntime))
      return { wordsOf: yield* wordsFor(rows, settings), public_url: runtime?.public_url }
    }),
  view: (base, row, { actor }, _context, { public_url, wordsOf }) => {
    const { body, is_there, title } = wordsOf(row)
    return {
      ...base,
      category: notificationType(row.notification_type)?.category ?? "system",
      title,
      body,
      actor_name: (actor?.["name"] as string | undefined) ?? null,
      url: is_there ? urlOf(row, public_url) : null
    }
  }
})

const access = { permission: null, server_only: true } as const
const reads = { ...access, ability: "notifications:read" } as const
const writes = { ...access, ability: "notifications:write", metering_weight: 1 } as const

/** Somebody else's, one that is not in the inbox, and one whose subject they may not see any more: there is none. */
const ownOnly = ({ rows: { id: row }, viewer }: { rows: { id: NotificationRow }; viewer: Viewer }) =>
  row.user_id === viewer.user_id && row.in_inbox && maySee(viewer, row.seen_with)
    ? Effect.void
    : Effect.fail(notFound())
const one = { params: { id: { table: notifications } }, authorize: ownOnly } as const
const shown = { notification: Shown.row(() => notificationResource) }

const unread = Effect.fnUntraced(function* (viewer: Viewer) {
  const store = yield* Store
  const bound = bindings(store.dialect)
  const where = whereSql(notifications, { ...inboxOf(viewer), read_at: null }, store.dialect, bound)
  const [row] = yield* store.run<{ unread: number }>(
    `select count(*) as unread from notifications where ${where}`,
    bound.values
  )
  return Number(row?.unread ?? 0)
})

const list = get(path, {
  answer: Shown.page(() => notificationResource, { unread_count: integer({ describe: "Not read yet, in all" }) }),
  name: "notifications.list",
  summary: "List what one was told, the newest first",
  ...reads,
  run: (input: Input) =>
    Effect.gen(function* () {
      const { meta, ...page } = yield* listOf(notificationResource, input.query, viewContext(input), {
        where: inboxOf(input.viewer)
      })
      const unread_count = yield* unread(input.viewer)
      return ok({ ...page, meta: { ...(isJsonObject(meta) ? meta : {}), unread_count } } satisfies JsonObject)
    })
})
const show = get(`${path}/{id}`, {
  answer: shown,
  name: "notifications.show",
  summary: "Show one notification",
  ...reads,
  ...one,
  run: (input) => Effect.map(renderOne(notificationResource, input.rows.id, input.query, viewContext(input)), ok)
})

const mark = (action: "read" | "unread", summary: string) =>
  command("POST", `${path}/{id}/${action}`, {
    answer: shown,
    name: `notifications.${action}`,
    summary,
    ...writes,
    ...one,
    success_status: 200,
    facts: () => Effect.succeed(undefined),
    decide: (_facts, { rows }) => Result.succeed({ events: [], result: { id: rows.id.id } }),
    respond: ({ id }, input) =>
      Effect.gen(function* () {
        // Read once, it keeps the instant it was read at.
        const read_at = action === "unread" ? null : (input.rows.id.read_at ?? input.now)
        yield* (yield* Store).apply([update(notifications, id, { read_at })])
        return ok(yield* renderById(notificationResource, id, input.query, viewContext(input)))
      })
  })

const readAll = command("POST", `${path}/read_all`, {
  answer: {
    count: integer({ describe: "How many were unread until now" }),
    unread_count: integer({ describe: "Not read yet, in all" })
  },
  name: "notifications.read_all",
  summary: "Mark everything in the inbox as read",
  ...writes,
  success_status: 200,
  fields: {
    up_to_id: integer({
      nullable: true,
      min: 1,
      max: Number.MAX_SAFE_INTEGER,
      describe: "Only this one and older ones: the newest that was shown"
    }),
    notification_type: text({ nullable: true, max: 60, describe: "Only this type" })
  },
  facts: () => Effect.succeed(undefined),
  decide: () => Result.succeed({ events: [], result: { id: 0 } }),
  respond: (_result, { now, values: { notification_type, up_to_id }, viewer }) =>
    Effect.gen(function* () {
      const store = yield* Store
      const bound = bindings(store.dialect)
      const read_at = bound.bind(now)
      const only = typeof notification_type === "string" ? { notification_type } : {}
      const where = whereSql(notifications, { ...inboxOf(viewer), ...only, read_at: null }, store.dialect, bound)
      const up_to = typeof up_to_id === "number" ? ` and id <= ${bound.bind(up_to_id)}` : ""
      const marked = yield* store.run(
        `update notifications set read_at = ${read_at} where ${where}${up_to} returning id`,
        bound.values
      )
      return ok({ count: marked.length, unread_count: yield* unread(viewer) })
    })
})

export const notificationEndpoints: ReadonlyArray<Endpoint> = [
  list,
  readAll,
  show,
  mark("read", "Mark a notification as read"),
  mark("unread", "Mark a notification as unread again")
]
