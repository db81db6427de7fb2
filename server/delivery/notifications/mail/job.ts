/**
 * The durable job that mails a user their notifications. The transaction that queues the message also marks the rows as
 * sent, so they are mailed exactly once.
 */
import { Clock, Effect, Result, Schema } from "effect"
import { CommandRuntime, remove, settingNumber, settingText, Store } from "../../../../core/kernel/index.ts"
import { updateWhere, type RowChange } from "../../../../core/kernel/index.ts"
import { notificationType, notificationTypes } from "../../../../core/office/notifications/types.ts"
import { jobKind, serverContext, timedWork, type User, userById } from "../../../ports/server-context.ts"
import { notification_mailings, type NotificationRow, notifications } from "../schema.ts"
import { users } from "../../../../core/people/users/permissions.ts"
import { parseMailAddress } from "../../../../core/values/mail-address.ts"
import { instantOf, zoneOf } from "../../../../core/values/time.ts"
import { queueMail } from "../../mail/jobs.ts"
import { isMailedTo, readerOf, textsOf } from "../api.ts"
import type { Told } from "./compose.ts"

// Schedule of notification mail: at once if the last one is `gather_minutes` ago, else gathered until then
// (rules/conventions 15). A job is identified by user and first waiting row, so that there is one for all that arrives
// meanwhile.

const of_accounts: ReadonlySet<string> = new Set(["user.invited", "user.deactivated", "user.reactivated"])
const isMailedAtOnce = (key: string): boolean => notificationType(key)?.is_system === true || of_accounts.has(key)
const gathered_types = notificationTypes.map(({ key }) => key).filter((key) => !isMailedAtOnce(key))

/** Seconds a mail waits after its first row, for more rows to join. */
const first_wait_seconds = 10
/** Assumed maximum difference between the clocks of database and server. */
const skew_millis = 5_000

const mailingData = Schema.Struct({ user_id: Schema.Int, at_once: Schema.Boolean })
type Mailing = typeof mailingData.Type
const mailing_kind = { kind: "notifications.mail" }

const gatherMillis = Effect.flatMap(CommandRuntime, ({ settings }) =>
  Effect.map(settings, (known) => settingNumber(known, "notifications", "gather_minutes") * 60_000)
)

/** Number of advisory locks for all users; users sharing one wait for each other. */
const locks_count = 64
/**
 * Locks these users on all servers until the transaction ends: a writer sees whether the mail for earlier rows was
 * composed without its own. Not needed on SQLite, which has one writer.
 */
const lockPeople = Effect.fnUntraced(function* (user_ids: ReadonlyArray<number>): Store.Reads<void> {
  const store = yield* Store
  if (store.dialect !== "pg") return
  const locks = [...new Set(user_ids.map((id) => id % locks_count))].sort((a, b) => a - b)
  yield* store.run(
    "select count(pg_advisory_xact_lock(hashtextextended('notifications.mail ' || lock, 0))) " +
      "from json_array_elements_text($1::json) as given (lock)",
    [JSON.stringify(locks)]
  )
})

/** Id of each user's first row that waits to be gathered. */
const firstWaiting = Effect.fnUntraced(function* (
  user_ids: ReadonlyArray<number>
): Store.Reads<ReadonlyMap<number, number>> {
  const { sql } = yield* Store
  const rows = yield* sql<{ user_id: number; first: number }>`
    select user_id, min(id) as first from notifications where mail_state = 'waiting'
    and user_id in ${sql.in(user_ids)} and notification_type in ${sql.in(gathered_types)} group by user_id`
  return new Map(rows.map(({ first, user_id }) => [Number(user_id), Number(first)]))
})

/** Milliseconds until this user may be mailed again; 0 or less for now. */
const waitMillis = (last_at: string | undefined, gather_millis: number, now: number): number =>
  last_at === undefined || gather_millis === 0 ? 0 : Date.parse(last_at) + gather_millis - skew_millis - now

const offer = (data: Mailing, about: string, delay_millis: number) =>
  Effect.flatMap(serverContext, ({ jobs }) =>
    jobs.offer({
      kind: mailing_kind,
      data,
      subject: `${data.user_id}.${about}`,
      delay_seconds: Math.max(0, Math.ceil(delay_millis / 1_000))
    })
  )

/** Queues the mail for waiting rows, in the transaction that writes them. */
export const offerMails = Effect.fnUntraced(function* (
  rows: ReadonlyArray<NotificationRow>
): CommandRuntime.Reads<void> {
  const waiting = rows.filter(({ mail_state }) => mail_state === "waiting")
  for (const [user_id, [first]] of Map.groupBy(
    waiting.filter((row) => isMailedAtOnce(row.notification_type)),
    (row) => row.user_id
  ))
    if (first !== undefined) yield* offer({ user_id, at_once: true }, `now.${first.id}`, 0)
  yield* offerGathered([
    ...new Set(waiting.filter((row) => !isMailedAtOnce(row.notification_type)).map(({ user_id }) => user_id))
  ])
})

/** Queues mails of gathered rows. `again`: a suffix that makes the job's id differ from earlier ones. */
const offerGathered = Effect.fnUntraced(function* (
  user_ids: ReadonlyArray<number>,
  again = ""
): CommandRuntime.Reads<void> {
  if (user_ids.length === 0) return
  yield* lockPeople(user_ids)
  const now = yield* Clock.currentTimeMillis
  const gather_millis = yield* gatherMillis
  const last = new Map(
    (yield* Store.getMany(notification_mailings, user_ids)).map(({ sent_at, user_id }) => [user_id, sent_at])
  )
  for (const [user_id, first] of yield* firstWaiting(user_ids)) {
    const wait = waitMillis(last.get(user_id), gather_millis, now)
    yield* offer(
      { user_id, at_once: false },
      // If mail is no longer gathered, an offer scheduled for later finds nothing to send.
      `${first}${again}${gather_millis === 0 ? ".0" : ""}`,
      gather_millis === 0 ? 0 : Math.max(wait, first_wait_seconds * 1_000)
    )
  }
})

/** Maximum rows per message; further ones go into the next. */
const rows_max = 1_000

/** Whether a row may be mailed to the user: closed accounts get mail about the account only. */
const reaches = (user: User, { notification_type, subject_id, subject_type }: NotificationRow): boolean =>
  user.is_active ||
  (isMailedAtOnce(notification_type) &&
    (subject_type === null || (subject_type === users.name && subject_id === user.user_id)))

/** Rows the mail mentions: still visible to this user, enabled for mail, and unread. */
const toldOf = Effect.fnUntraced(function* (user: User, rows: ReadonlyArray<NotificationRow>) {
  const wanted = yield* isMailedTo(user, rows)
  const left = rows.filter(
    // Own actions count as read; those waiting for mail anyway, such as a test, were requested.
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
  const [first] = rows
  if (first === undefined) return {}
  const settings = yield* (yield* CommandRuntime).settings
  const now = yield* Clock.currentTimeMillis
  const user = yield* userById(user_id)
  const address = Result.getOrUndefined(parseMailAddress((yield* Store.get(users, user_id))?.email ?? ""))
  const told = user === undefined || address === undefined ? [] : yield* toldOf(user, rows)
  yield* Store.apply([settled(user_id, rows, told.length === 0 ? "none" : "sent")])
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
  if (!at_once) yield* Store.apply(sentAt(user_id, now))
  return { told: told.length, mail_job_id: queued.job_id }
})

const mailPerson = Effect.fnUntraced(function* (mailing: Mailing) {
  const { at_once, user_id } = mailing
  yield* lockPeople([user_id])
  const now = yield* Clock.currentTimeMillis
  const last = yield* Store.get(notification_mailings, user_id)
  const wait = at_once ? 0 : waitMillis(last?.sent_at, yield* gatherMillis, now)
  if (wait > 0) {
    // Another job has mailed this user meanwhile: the rest is gathered.
    yield* offerGathered([user_id], `.${instantOf(now)}`)
    return {}
  }
  const waiting = yield* Store.find(
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
  meaning: "mails a user their notifications",
  data: mailingData,
  attempts_max: 6,
  waits_seconds: [10, 60, 600, 3_600],
  at_a_time: 2,
  counts_broken_off: false,
  run: (mailing) => Store.transaction(mailPerson(mailing))
})

/** Age at which unmailed notifications are no longer mailed; they stay in the inbox. */
const kept_millis = 3 * 86_400_000

/** Queues mail again for rows left waiting by failed or dropped jobs. */
const offerLeft = Effect.fnUntraced(function* (due_at: string) {
  const { sql } = yield* Store
  const now = yield* Clock.currentTimeMillis
  yield* sql`
    update notifications set mail_state = 'none' where mail_state = 'waiting'
    and created_at < ${instantOf(now - kept_millis)}`
  const rows = yield* sql<{ user_id: number }>`
    select distinct user_id from notifications where mail_state = 'waiting'
    and created_at < ${instantOf(now - 2 * 3_600_000)}`
  yield* offerGathered(
    rows.map(({ user_id }) => Number(user_id)),
    `.${due_at}`
  )
})
export const offerLeftHourly = timedWork({
  cron: "37 * * * *",
  kind: "notifications.mail_left",
  meaning: "requeues notification mail that is overdue",
  attempts_max: 3,
  run: ({ due_at }) => Store.transaction(offerLeft(due_at))
})
