/**
 * When what somebody was told of is mailed: with the first mail after a quiet hour, or gathered until an hour after the
 * last one (rules/conventions 15). A job is known by the person and the first row that waits, so that there is one
 * however much comes meanwhile.
 */
import { Clock, Effect, Schema } from "effect"
import { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import type { Failure } from "../../../core/kernel/failure.ts"
import { settingNumber } from "../../../core/kernel/settings.ts"
import { bindings } from "../../../core/kernel/store/statement.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { notificationType, notificationTypes } from "../../../core/notifications/types.ts"
import { serverContext } from "../../server-context.ts"
import { notification_mailings, type NotificationRow, notifications } from "../schema.ts"

/** What a person must learn of now: how to come in, and that their account was opened or closed. */
const of_accounts: ReadonlySet<string> = new Set(["user.invited", "user.deactivated", "user.reactivated"])
export const isMailedAtOnce = (key: string): boolean =>
  notificationType(key)?.is_system === true || of_accounts.has(key)
const gathered_types = notificationTypes.map(({ key }) => key).filter((key) => !isMailedAtOnce(key))

/** What comes within this of a first row goes out with it. */
const first_wait_seconds = 10
/** Clocks of database and server differ by less. */
const skew_millis = 5_000

export const mailingData = Schema.Struct({ user_id: Schema.Int, at_once: Schema.Boolean })
export type Mailing = typeof mailingData.Type
export const mailing_kind = { kind: "notifications.mail" }

export const gatherMillis = Effect.flatMap(CommandRuntime, ({ settings }) =>
  Effect.map(settings, (known) => settingNumber(known, "notifications", "gather_minutes") * 60_000)
)

/** Locks are few however many people are told at once; those who share one wait for each other's mail to be queued. */
const locks_count = 64
/**
 * One at a time for each person, on all servers, until the transaction ends: whoever writes a row sees whether the mail
 * that the rows before it wait for was written without it. SQLite has one writer anyway.
 */
export const lockPeople = Effect.fnUntraced(function* (
  user_ids: ReadonlyArray<number>
): Effect.fn.Return<void, Failure, Store> {
  const store = yield* Store
  if (store.dialect !== "pg") return
  const locks = [...new Set(user_ids.map((id) => id % locks_count))].sort((a, b) => a - b)
  yield* store.run(
    "select count(pg_advisory_xact_lock(hashtextextended('notifications.mail ' || lock, 0))) " +
      "from json_array_elements_text($1::json) as given (lock)",
    [JSON.stringify(locks)]
  )
})

/** The first row of each that waits to be gathered. */
const firstWaiting = Effect.fnUntraced(function* (
  user_ids: ReadonlyArray<number>
): Effect.fn.Return<ReadonlyMap<number, number>, Failure, Store> {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const rows = yield* store.run<{ user_id: number; first: number }>(
    `select user_id, min(id) as first from ${notifications.name} where mail_state = 'waiting' ` +
      `and user_id in (${user_ids.map(bind).join(", ")}) ` +
      `and notification_type in (${gathered_types.map(bind).join(", ")}) group by user_id`,
    values
  )
  return new Map(rows.map(({ first, user_id }) => [Number(user_id), Number(first)]))
})

/** How long until this person may be mailed again; 0 or less: now. */
export const waitMillis = (last_at: string | undefined, gather_millis: number, now: number): number =>
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

/** In the transaction that writes these rows: offers the mail of those that wait for one. */
export const offerMails = Effect.fnUntraced(function* (
  rows: ReadonlyArray<NotificationRow>
): Effect.fn.Return<void, Failure, Store | CommandRuntime> {
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

/** `again` makes the offer another one than those before: whatever became of them, it is done. */
export const offerGathered = Effect.fnUntraced(function* (
  user_ids: ReadonlyArray<number>,
  again = ""
): Effect.fn.Return<void, Failure, Store | CommandRuntime> {
  if (user_ids.length === 0) return
  yield* lockPeople(user_ids)
  const store = yield* Store
  const now = yield* Clock.currentTimeMillis
  const gather_millis = yield* gatherMillis
  const last = new Map(
    (yield* store.getMany(notification_mailings, user_ids)).map(({ sent_at, user_id }) => [user_id, sent_at])
  )
  for (const [user_id, first] of yield* firstWaiting(user_ids)) {
    const wait = waitMillis(last.get(user_id), gather_millis, now)
    yield* offer(
      { user_id, at_once: false },
      // Where mail is not gathered any more, what was offered for later is overtaken: it finds nothing left to send.
      `${first}${again}${gather_millis === 0 ? ".0" : ""}`,
      gather_millis === 0 ? 0 : Math.max(wait, first_wait_seconds * 1_000)
    )
  }
})
