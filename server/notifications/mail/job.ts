/**
 * The durable job that mails somebody what they were told of. What is said and that it was said are recorded by the
 * transaction that queues the message: it is queued once, and nothing is lost with a server.
 */
import { Clock, Effect, Result, Schema } from "effect"
import { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import { remove, type RowChange, updateWhere } from "../../../core/kernel/row-change.ts"
import { settingText } from "../../../core/kernel/settings.ts"
import { bindings } from "../../../core/kernel/store/statement.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { users } from "../../../core/users/schema.ts"
import { parseMailAddress } from "../../../core/values/mail-address.ts"
import { instantOf } from "../../../core/values/time.ts"
import { zoneOf } from "../../../core/values/zone.ts"
import { jobKind, type TimedWork } from "../../jobs/job-kind.ts"
import { queueMail } from "../../mail/jobs.ts"
import { serverContext } from "../../server-context.ts"
import { type User, userById } from "../../users.ts"
import { isMailedTo, readerOf, textsOf } from "../readable.ts"
import { notification_mailings, type NotificationRow, notifications } from "../schema.ts"
import type { Told } from "./compose.ts"
import {
  gatherMillis,
  isMailedAtOnce,
  lockPeople,
  type Mailing,
  mailing_kind,
  mailingData,
  offerGathered,
  waitMillis
} from "./offers.ts"

/** Rows of one message: beyond a few dozen only their number is said. */
const rows_max = 1_000

/** Whether mail may go there: somebody whose account is closed is told of that account alone. */
const reaches = (user: User, { notification_type, subject_id, subject_type }: NotificationRow): boolean =>
  user.is_active ||
  (isMailedAtOnce(notification_type) &&
    (subject_type === null || (subject_type === users.name && subject_id === user.user_id)))

/** What is to be said of these rows: seen by this person still, wanted by e-mail, and not read meanwhile. */
const toldOf = Effect.fnUntraced(function* (user: User, rows: ReadonlyArray<NotificationRow>) {
  const wanted = yield* isMailedTo(user, rows)
  const left = rows.filter(
    // One's own are in the inbox as read; those that wait for a mail all the same, such as a test, were asked for.
    (row) => (row.read_at === null || row.is_own) && reaches(user, row) && wanted(row)
  )
  const texts = yield* textsOf(left, readerOf(user))
  return left.flatMap(({ created_at, notification_type }, at): ReadonlyArray<Told> => {
    const text = texts[at]
    return text === undefined ? [] : [{ ...text, notification_type, created_at }]
  })
})

const settled = (user_id: number, rows: ReadonlyArray<NotificationRow>, mail_state: string): RowChange =>
  updateWhere(notifications, { user_id, id: rows.map(({ id }) => id) }, { mail_state })

const sentAt = (user_id: number, now: number): ReadonlyArray<RowChange> => [
  remove(notification_mailings, user_id),
  { op: "insert", table: notification_mailings, row: { user_id, sent_at: instantOf(now) } }
]

const said = Effect.fnUntraced(function* ({ at_once, user_id }: Mailing, rows: ReadonlyArray<NotificationRow>) {
  const store = yield* Store
  const [first] = rows
  if (first === undefined) return {}
  const settings = yield* (yield* CommandRuntime).settings
  const now = yield* Clock.currentTimeMillis
  const user = yield* userById(user_id)
  const address = Result.getOrUndefined(parseMailAddress((yield* store.get(users, user_id))?.email ?? ""))
  const told = user === undefined || address === undefined ? [] : yield* toldOf(user, rows)
  yield* store.apply([settled(user_id, rows, told.length === 0 ? "none" : "sent")])
  if (user === undefined || address === undefined || told.length === 0) return { told: 0 }
  const { public_url } = yield* serverContext
  const { composeNotice } = yield* Effect.promise(() => import("./compose.ts"))
  const message = composeNotice(told, {
    public_url: public_url(),
    zone: zoneOf(settingText(settings, "company", "timezone")),
    now_millis: now,
    is_gathered: !at_once
  })
  const queued = yield* queueMail(
    {
      ...message,
      id: `notifications.${user_id}.${first.id}`,
      sender_user_id: null,
      to: [{ name: user.name, address }],
      is_notice: true
    },
    settings
  )
  if (!at_once) yield* store.apply(sentAt(user_id, now))
  return { told: told.length, mail_job_id: queued.job_id }
})

const mailPerson = Effect.fnUntraced(function* (mailing: Mailing) {
  const { at_once, user_id } = mailing
  const store = yield* Store
  yield* lockPeople([user_id])
  const now = yield* Clock.currentTimeMillis
  const last = yield* store.get(notification_mailings, user_id)
  const wait = at_once ? 0 : waitMillis(last?.sent_at, yield* gatherMillis, now)
  if (wait > 0) {
    // Another job was earlier: what waits is gathered.
    yield* offerGathered([user_id], `.${instantOf(now)}`)
    return {}
  }
  const waiting = yield* store.find(
    notifications,
    { user_id, mail_state: "waiting" },
    { order: ["id"], limit: rows_max }
  )
  const result = yield* said(
    mailing,
    waiting.filter(({ notification_type }) => isMailedAtOnce(notification_type) === at_once)
  )
  if (waiting.length === rows_max) yield* offerGathered([user_id])
  return result
})

export const mailNotifications = jobKind<Mailing>({
  ...mailing_kind,
  meaning: "mails somebody what they were told of",
  data: mailingData,
  attempts_max: 6,
  waits_seconds: [10, 60, 600, 3_600],
  at_a_time: 2,
  counts_broken_off: false,
  run: (mailing) => Effect.flatMap(Store, (store) => store.transaction(mailPerson(mailing)))
})

/** What could not be mailed for so long is in the inbox, and nobody wants to read of it in a mail. */
const kept_millis = 3 * 86_400_000

/** A job that failed for good or was dropped leaves rows that wait: they are offered again, for a while. */
const offerLeft = Effect.fnUntraced(function* (due_at: string) {
  const store = yield* Store
  const now = yield* Clock.currentTimeMillis
  const old = bindings(store.dialect)
  yield* store.run(
    `update ${notifications.name} set mail_state = 'none' where mail_state = 'waiting' ` +
      `and created_at < ${old.bind(instantOf(now - kept_millis))}`,
    old.values
  )
  const left = bindings(store.dialect)
  const rows = yield* store.run<{ user_id: number }>(
    `select distinct user_id from ${notifications.name} where mail_state = 'waiting' ` +
      `and created_at < ${left.bind(instantOf(now - 2 * 3_600_000))}`,
    left.values
  )
  yield* offerGathered(
    rows.map(({ user_id }) => Number(user_id)),
    `.${due_at}`
  )
})
export const offerLeftHourly: TimedWork = {
  cron: "37 * * * *",
  kind: jobKind({
    kind: "notifications.mail_left",
    meaning: "offers mail again that should have gone out",
    data: Schema.Struct({ due_at: Schema.String }),
    attempts_max: 3,
    waits_seconds: [60, 600],
    at_a_time: 1,
    run: ({ due_at }) => Effect.flatMap(Store, (store) => store.transaction(offerLeft(due_at)))
  })
}
