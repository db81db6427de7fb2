/** The inbox over the API (rules/conventions 15): each user's own only. */
import { read as invoices_read } from "../../../core/billing/state/fields.ts"
import { read as documents_read } from "../../../core/documents/lifecycle-api.ts"
import { bindings, command, CommandRuntime, get, integer, isJsonObject, listBody } from "../../../core/kernel/index.ts"
import { notFound, ok, render, renderById, renderOne, resource, Shown, Store } from "../../../core/kernel/index.ts"
import { text, update, viewContext, whereSql } from "../../../core/kernel/index.ts"
import type { Endpoint, Input, JsonObject, Viewer, Where } from "../../../core/kernel/index.ts"
import { read as opportunities_read } from "../../../core/orders/opportunities/tables/index.ts"
import { read as purchase_orders_read } from "../../../core/purchasing/schema.ts"
import {
  activities_permission,
  documents_with_costs,
  maySee,
  server_permission,
  users_permission
} from "./causes/happening.ts"
import { Clock, Effect, Result } from "effect"
import { notificationRules, notificationType } from "../../../core/office/notifications/types.ts"
import { users } from "../../../core/people/users/permissions.ts"
import { stock_permission } from "./causes/causes.ts"
import { type NotificationRow, notifications } from "./schema.ts"
import { instantOf } from "../../../core/values/time.ts"
import type { User } from "../../ports/server-context.ts"

// Which of a user's rows are visible: those whose subject they may still see.

/** All values of `seen_with` among the rows; the first is empty. */
const all_seen_with: ReadonlyArray<string> = [
  "",
  opportunities_read.permission,
  invoices_read.permission,
  purchase_orders_read.permission,
  documents_read.permission,
  documents_with_costs,
  activities_permission,
  users_permission,
  stock_permission,
  server_permission
]

/** Condition for a user's inbox rows whose subjects they may still see. */
export const inboxOf = (viewer: Viewer): Where => ({
  user_id: viewer.user_id,
  in_inbox: true,
  seen_with: all_seen_with.filter((seen_with) => maySee(viewer, seen_with))
})

// Texts of notifications; the code that writes them is loaded on first use.

const wordsFor: typeof import("./texts.ts").wordsFor = (rows, settings) =>
  Effect.flatMap(
    Effect.promise(() => import("./texts.ts")),
    (texts) => texts.wordsFor(rows, settings)
  )

const path = "/api/v1/notifications"

/** URL of the subject; null if it has none. Tables are named as their paths are. */
const urlOf = ({ subject_id, subject_type }: NotificationRow, public_url: (() => string) | undefined) =>
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
    url: text({ nullable: true, max: 2_000, describe: "API URL of the subject; null if not available" })
  },
  load: (rows, { settings }) =>
    Effect.gen(function* () {
      const runtime = yield* CommandRuntime.ifAny
      return { wordsOf: yield* wordsFor(rows, settings), public_url: runtime?.public_url }
    }),
  view: (base, row, { actor }, _context, { public_url, wordsOf }) => {
    const { body, is_there, title } = wordsOf(row)
    return {
      ...base,
      category: notificationType(row.notification_type)?.category ?? "system",
      title,
      body,
      actor_name: actor?.name ?? null,
      url: is_there ? urlOf(row, public_url) : null
    }
  }
})

const access = { permission: null, server_only: true } as const
const reads = { ...access, ability: "notifications:read" } as const
const writes = { ...access, ability: "notifications:write", metering_weight: 1 } as const

/** Fails with 404 for others' rows, rows outside the inbox, and subjects no longer visible. */
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
  answer: Shown.page(() => notificationResource, {
    unread_count: integer({ describe: "Number of unread notifications" })
  }),
  name: "notifications.list",
  summary: "List your notifications, newest first",
  ...reads,
  run: Effect.fnUntraced(function* (input: Input) {
    const { meta, ...page } = yield* listBody(notificationResource, input.query, viewContext(input), {
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
    respond: Effect.fnUntraced(function* ({ id }, input) {
      // Marking a read notification as read keeps the first time.
      const read_at = action === "unread" ? null : (input.rows.id.read_at ?? input.now)
      yield* Store.apply([update(notifications, id, { read_at })])
      return ok(yield* renderById(notificationResource, id, input.query, viewContext(input)))
    })
  })

const readAll = command("POST", `${path}/read_all`, {
  answer: {
    count: integer({ describe: "Number of notifications marked as read" }),
    unread_count: integer({ describe: "Number of unread notifications" })
  },
  name: "notifications.read_all",
  summary: "Mark all notifications as read",
  ...writes,
  success_status: 200,
  fields: {
    up_to_id: integer({
      nullable: true,
      min: 1,
      max: Number.MAX_SAFE_INTEGER,
      describe: "Newest notification to mark, by id; older ones are marked, too"
    }),
    notification_type: text({ nullable: true, max: 60, describe: "Only notifications of this type" })
  },
  facts: () => Effect.succeed(undefined),
  decide: () => Result.succeed({ events: [], result: { id: 0 } }),
  respond: Effect.fnUntraced(function* (_result, { now, values: { notification_type, up_to_id }, viewer }) {
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

// Rows of `notifications` as visible to their reader, with texts.

/** A user as viewer of their own notifications, with all abilities: mails have no token. */
export const readerOf = (user: User): Viewer => ({ ...user, abilities: new Set(["*"]), token_id: null })

export interface NotificationText {
  readonly title: string
  readonly body: string | null
}
/** Texts of these rows, in order; undefined for a row the viewer may no longer see. */
export const textsOf = Effect.fnUntraced(function* (
  rows: ReadonlyArray<NotificationRow>,
  viewer: Viewer
): CommandRuntime.Reads<ReadonlyArray<NotificationText | undefined>> {
  const seen = rows.filter(({ seen_with }) => maySee(viewer, seen_with))
  const wordsOf = yield* wordsFor(seen, yield* (yield* CommandRuntime).settings)
  return rows.map((row) => (maySee(viewer, row.seen_with) ? wordsOf(row) : undefined))
})

/** Rows with texts for lists, without those the viewer may no longer see. */
export const shownRows = Effect.fnUntraced(function* (
  rows: ReadonlyArray<NotificationRow>,
  viewer: Viewer
): CommandRuntime.Reads<ReadonlyArray<{ readonly id: number; readonly shown: JsonObject }>> {
  const seen = rows.filter(({ seen_with }) => maySee(viewer, seen_with))
  const { catalogue, settings } = yield* CommandRuntime
  const now = instantOf(yield* Clock.currentTimeMillis)
  const context = viewContext({ viewer, settings: yield* settings, now, composed: catalogue.composed })
  const shown = yield* render(notificationResource, seen, [], context)
  return seen.map(({ id }, at) => ({ id, shown: shown[at] ?? {} }))
})

/** Returns whether a user currently receives a row by mail. */
export const isMailedTo = Effect.fnUntraced(function* (
  { person_id }: Pick<Viewer, "person_id">,
  rows: ReadonlyArray<NotificationRow>
): Store.Reads<(row: NotificationRow) => boolean> {
  const rules = yield* notificationRules(
    person_id === null ? [] : [person_id],
    rows.map(({ notification_type }) => notification_type)
  )
  return ({ notification_type }) => {
    const type = notificationType(notification_type)
    return type !== undefined && rules.channels(person_id ?? 0, type).has("email")
  }
})
