/** Writes the rows of notification events, each once. */
import type { NotificationChannel } from "../../../core/office/notifications/types.ts"
import { notificationRules, notificationType } from "../../../core/office/notifications/types.ts"
import { insert, remove, Store, updateWhere } from "../../../core/kernel/index.ts"
import type { CommandRuntime, JsonObject, RowChange, Viewer } from "../../../core/kernel/index.ts"
import { type Happening, type People, peopleFor } from "./causes/happening.ts"
import { notification_burst_commands, notification_bursts, type NotificationRow, notifications } from "./schema.ts"
import { Clock, Effect } from "effect"
import { instantOf } from "../../../core/values/time.ts"
import { serverContext } from "../../ports/server-context.ts"
import { offerMails } from "./mail/job.ts"
import { itemAt } from "../../../core/values/text.ts"
import { allocateIds } from "../../../core/kernel/runtime/ids.ts"

// From events to one row per user, with channels, own actions, and bursts combined into one row.

type NewNotification = Omit<NotificationRow, "id">

/** Maximum rows per type and command; a sweep or bulk change beyond it becomes one row. */
const told_apart_max = 5
const ids_named_max = 20

/** Combines the events of one command and type into one if there are too many. */
const gathered = (happenings: ReadonlyArray<Happening>): ReadonlyArray<Happening> => {
  const [first] = happenings
  if (first === undefined || happenings.length <= told_apart_max) return happenings
  const ids = happenings.flatMap(({ subject }) => subject?.id ?? [])
  const type = first.subject?.type ?? null
  const details: JsonObject = { count: happenings.length, of: type, ids: ids.slice(0, ids_named_max) }
  return [{ ...first, key: `${first.key}+`, subject: null, details }]
}

const channelsFor = (
  { notification_type, only }: Happening,
  effective: ReadonlySet<NotificationChannel>
): ReadonlySet<NotificationChannel> => {
  const available = notificationType(notification_type)?.available_channels ?? []
  return new Set(available.filter((one) => effective.has(one) && only?.includes(one) !== false))
}

const rowOf = (
  happening: Happening,
  viewer: Viewer,
  channels: ReadonlySet<NotificationChannel>,
  now: string
): NewNotification => {
  const is_own = happening.actor_id !== null && happening.actor_id === viewer.user_id
  const is_system = notificationType(happening.notification_type)?.is_system === true
  // Own actions are not mailed, except codes and test messages, which were requested.
  const is_mailed = channels.has("email") && (!is_own || is_system)
  return {
    dedupe_key: `${happening.notification_type}:${happening.key}:${viewer.user_id}`,
    user_id: viewer.user_id,
    notification_type: happening.notification_type,
    subject_type: happening.subject?.type ?? null,
    subject_id: happening.subject?.id ?? null,
    details: happening.details,
    seen_with: happening.seen_with,
    actor_id: happening.actor_id,
    is_own,
    burst: null,
    in_inbox: channels.has("database"),
    is_broadcast: channels.has("broadcast"),
    mail_state: is_mailed ? "waiting" : "none",
    read_at: is_own ? now : null,
    created_at: now
  }
}
const reachesAnybody = ({ in_inbox, is_broadcast, mail_state }: NewNotification): boolean =>
  in_inbox || is_broadcast || mail_state !== "none"

/** Rows to write, user by user. `effective`: returns the channels of a user and type. */
const rowsOf = (
  happenings: ReadonlyArray<Happening>,
  people: People,
  effective: (viewer: Viewer, notification_type: string) => ReadonlySet<NotificationChannel>,
  now: string
): ReadonlyArray<NewNotification> => {
  const of_person = new Map<Viewer, Map<string, Array<Happening>>>()
  for (const happening of happenings)
    for (const viewer of people.of(happening)) {
      const told = of_person.get(viewer) ?? new Map<string, Array<Happening>>()
      of_person.set(viewer, told)
      const alike = `${happening.notification_type} ${happening.command_id}`
      const group = told.get(alike) ?? []
      told.set(alike, group)
      // Users addressed twice are notified by the first.
      if (!group.some(({ key }) => key === happening.key)) group.push(happening)
    }
  return [...of_person].flatMap(([viewer, told]) =>
    [...told.values()].flatMap((group) =>
      gathered(group)
        .map((one) => rowOf(one, viewer, channelsFor(one, effective(viewer, one.notification_type)), now))
        .filter(reachesAnybody)
    )
  )
}

// Bursts of one type by one user, from a program or a device sending a day's work: the first few get rows of their own,
// the others share one row per recipient, which counts them until read or mailed.

/** Commands per minute of one type above which they count as a burst. */
export const told_a_minute_max = 20
const window_millis = 60_000
const each_millis = window_millis / told_a_minute_max
/** Maximum age of a counting row; later notifications start a new one. */
const row_millis = 3_600_000

/** Fields that identify a burst. Events without an actor belong to none; they are grouped by command. */
type Kind = Pick<Happening, "actor_id" | "notification_type" | "seen_with">
const burstOf = ({ actor_id, notification_type, seen_with }: Kind): string | null =>
  actor_id === null ? null : `${notification_type}:${actor_id}:${seen_with}`

/** Key of the current command, by burst. */
const commandsOf = (happenings: ReadonlyArray<Happening>): ReadonlyMap<string, string> => {
  const commands = new Map<string, string>()
  for (const happening of happenings) {
    const burst = burstOf(happening)
    if (burst !== null && !commands.has(burst)) commands.set(burst, `${burst}:${happening.command_id}`)
  }
  return commands
}

interface Counted {
  /** Bursts whose command exceeds `told_a_minute_max`: its notifications share a row. */
  readonly gathered: ReadonlySet<string | null>
  /** Bursts whose command was already counted by an earlier run of its job. */
  readonly done: ReadonlySet<string | null>
}

/** Counts the commands towards the rates of their bursts, in the transaction that writes the rows. */
const counted = Effect.fnUntraced(function* (happenings: ReadonlyArray<Happening>, now: number): Store.Reads<Counted> {
  const commands = commandsOf(happenings)
  const told = yield* Store.getMany(notification_burst_commands, [...commands.values()])
  const told_commands = new Set(told.map(({ command }) => command))
  const paced = yield* Store.getMany(notification_bursts, [...commands.keys()])
  const before = new Map(paced.map(({ burst, paced_until }) => [burst, Date.parse(paced_until)]))
  const [gathered, done] = [new Set<string>(), new Set<string>()]
  const changes: Array<RowChange> = []
  for (const [burst, command] of commands)
    if (told_commands.has(command)) done.add(burst)
    else {
      // Time at which the rate would have allowed all commands so far. The stored time is at most a window ahead, even
      // if a clock was set back.
      const next = Math.min(Math.max(before.get(burst) ?? now, now), now + window_millis) + each_millis
      const is_gathered = next > now + window_millis
      if (before.has(burst)) changes.push(remove(notification_bursts, burst))
      changes.push(
        insert(notification_bursts, { burst, paced_until: instantOf(is_gathered ? next - each_millis : next) })
      )
      if (!is_gathered) continue
      gathered.add(burst)
      changes.push(insert(notification_burst_commands, { command, created_at: instantOf(now) }))
    }
  yield* Store.apply(changes)
  return { gathered, done }
})

/** The latest counting row of each burst and user, by `burst user`: recent, unread and not mailed. */
const openRows = Effect.fnUntraced(function* (
  bursts: ReadonlyArray<string>,
  now: number
): Store.Reads<Map<string, NotificationRow>> {
  const rows = yield* Store.select(
    notifications,
    (sql) => sql`where burst in ${sql.in(bursts)} and created_at > ${instantOf(now - row_millis)} order by id`
  )
  const open = rows.filter(({ is_own, mail_state, read_at }) => (read_at === null || is_own) && mail_state !== "sent")
  return new Map(open.map((row) => [`${row.burst} ${row.user_id}`, row]))
})

const reachesAlike = (one: NewNotification, other: NewNotification): boolean =>
  one.in_inbox === other.in_inbox && one.is_broadcast === other.is_broadcast && one.mail_state === other.mail_state

type Gathering = Pick<NotificationRow, "details" | "subject_id" | "subject_type">
const countIn = ({ details }: Gathering): number => Number(details["of"] === undefined ? 1 : (details["count"] ?? 1))
const idsIn = ({ details, subject_id }: Gathering): ReadonlyArray<number> =>
  Array.isArray(details["ids"]) ? details["ids"].map(Number) : subject_id === null ? [] : [subject_id]
const together = (one: Gathering, other: Gathering): Gathering => ({
  subject_type: null,
  subject_id: null,
  details: {
    count: countIn(one) + countIn(other),
    of: one.subject_type ?? one.details["of"] ?? null,
    ids: [...idsIn(one), ...idsIn(other)].slice(0, ids_named_max)
  }
})

interface Gathered {
  /** Rows to insert, in order. */
  readonly rows: ReadonlyArray<NewNotification>
  /** Changes to existing rows, whose counts grow. */
  readonly changes: ReadonlyArray<RowChange>
}

/** Splits new rows into those to insert and those counted in existing rows. `happenings`: the causes of the rows. */
const gatherBursts = Effect.fnUntraced(function* (
  happenings: ReadonlyArray<Happening>,
  fresh: ReadonlyArray<NewNotification>,
  now: number
): Store.Reads<Gathered> {
  if (fresh.every((row) => burstOf(row) === null)) return { rows: fresh, changes: [] }
  const { done, gathered } = yield* counted(happenings, now)
  const bursts = [...gathered].filter((burst) => burst !== null)
  const open = bursts.length === 0 ? new Map<string, NotificationRow>() : yield* openRows(bursts, now)
  const changed = new Map<number, Gathering>()
  const rows: Array<NewNotification> = []
  for (const row of fresh) {
    const burst = burstOf(row)
    if (done.has(burst)) continue
    if (!gathered.has(burst)) {
      rows.push(row)
      continue
    }
    const into = open.get(`${burst} ${row.user_id}`)
    if (into === undefined || !reachesAlike(into, row)) rows.push({ ...row, burst })
    else changed.set(into.id, together(changed.get(into.id) ?? into, row))
  }
  // Rows with equal changes are updated by one statement.
  const alike = Map.groupBy(changed, ([, set]) => JSON.stringify(set))
  const changes = [...alike.values()].flatMap((some) => {
    const set = some[0]?.[1]
    return set === undefined ? [] : [updateWhere(notifications, { id: some.map(([id]) => id) }, set)]
  })
  return { rows, changes }
})

// Consequences of writing notification rows, in the same transaction.

/** Call after writing rows: queues their mail, and wakes listeners on commit. */
export const rowsTold = Effect.fnUntraced(function* (rows: ReadonlyArray<NotificationRow>): CommandRuntime.Reads<void> {
  if (rows.length === 0) return
  const { rowsWritten } = yield* serverContext
  yield* offerMails(rows)
  yield* (yield* Store).sql.afterCommit(Effect.sync(rowsWritten))
})

/** Called after the rows are committed. */
export type Wrote = (rows: ReadonlyArray<NotificationRow>) => void

/**
 * Serialises writers, so that rows are committed in id order: listeners resume from their last id. Not needed on
 * SQLite.
 */
const in_order = "select pg_advisory_xact_lock(hashtextextended('ids of notifications', 0))"

const nobody: ReadonlySet<never> = new Set()
const channelsOf = Effect.fnUntraced(function* (viewers: ReadonlyArray<Viewer>, types: ReadonlyArray<string>) {
  const member_ids = viewers.flatMap(({ person_id }) => person_id ?? [])
  const rules = yield* notificationRules(member_ids, types)
  return ({ person_id }: Viewer, key: string) => {
    const type = notificationType(key)
    return type === undefined ? nobody : rules.channels(person_id ?? 0, type)
  }
})

/** Writes the rows of these events and returns their number. Safe to repeat. */
export const writeDown = Effect.fnUntraced(function* (
  happenings: ReadonlyArray<Happening>,
  wrote: Wrote
): CommandRuntime.Reads<number> {
  if (happenings.length === 0) return 0
  const store = yield* Store
  const people = yield* peopleFor()
  const reached = [...new Set(happenings.flatMap((one) => people.of(one)))]
  const types = [...new Set(happenings.map((one) => one.notification_type))]
  const effective = yield* channelsOf(reached, types)
  const now = yield* Clock.currentTimeMillis
  const fresh = rowsOf(happenings, people, effective, instantOf(now))
  if (fresh.length === 0) return 0
  return yield* store.transaction(
    Effect.gen(function* () {
      if (store.dialect === "pg") yield* store.run(in_order)
      const keys = fresh.map(({ dedupe_key }) => dedupe_key)
      const known = new Set((yield* store.find(notifications, { dedupe_key: keys })).map((row) => row.dedupe_key))
      const unknown = fresh.filter(({ dedupe_key }) => !known.has(dedupe_key))
      if (unknown.length === 0) return 0
      const written = yield* gatherBursts(happenings, unknown, now)
      const ids = yield* allocateIds(notifications.name, written.rows.length)
      const rows = written.rows.map((row, at): NotificationRow => ({ id: itemAt(ids, at), ...row }))
      yield* store.apply([...written.changes, ...rows.map((row) => insert(notifications, row))])
      yield* rowsTold(rows)
      yield* store.sql.afterCommit(Effect.sync(() => wrote(rows)))
      return rows.length
    })
  )
})
