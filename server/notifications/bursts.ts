/**
 * Much of one type that one person does in a short time, by a program or a device that sends a day's work: the first
 * few are told one by one, the others gathered in one row for each person told, which counts them until it is read or
 * mailed.
 */
import { Effect } from "effect"
import type { Failure } from "../../core/kernel/failure.ts"
import { insert, remove, type RowChange, updateWhere } from "../../core/kernel/row-change.ts"
import { bindings, columnList } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import type { Happening } from "./happening.ts"
import { type NewNotification, ids_named_max } from "./rows.ts"
import { notification_burst_commands, notification_bursts, type NotificationRow, notifications } from "./schema.ts"

/** More commands of one type than people give by hand in a minute. */
export const told_a_minute_max = 20
const window_millis = 60_000
const each_millis = window_millis / told_a_minute_max
/** A row counts for no longer: what comes later begins another one. */
const row_millis = 3_600_000

/** What is counted together; null: what the server finds by itself, and tells of by the command. */
type Kind = Pick<Happening, "actor_id" | "notification_type" | "seen_with">
const burstOf = ({ actor_id, notification_type, seen_with }: Kind): string | null =>
  actor_id === null ? null : `${notification_type}:${actor_id}:${seen_with}`

/** By burst, the command that is told of now. */
const commandsOf = (happenings: ReadonlyArray<Happening>): ReadonlyMap<string, string> => {
  const commands = new Map<string, string>()
  for (const happening of happenings) {
    const burst = burstOf(happening)
    if (burst !== null && !commands.has(burst)) commands.set(burst, `${burst}:${happening.command_id}`)
  }
  return commands
}

interface Counted {
  /** Bursts whose rows are gathered now. */
  readonly gathered: ReadonlySet<string | null>
  /** Bursts whose command was told of by an earlier run of its job. */
  readonly done: ReadonlySet<string | null>
}

/** Counts a command for each burst; in the transaction that writes its rows. */
const counted = Effect.fnUntraced(function* (
  happenings: ReadonlyArray<Happening>,
  now: number
): Effect.fn.Return<Counted, Failure, Store> {
  const commands = commandsOf(happenings)
  const store = yield* Store
  const told = yield* store.getMany(notification_burst_commands, [...commands.values()])
  const told_commands = new Set(told.map(({ command }) => command))
  const paced = yield* store.getMany(notification_bursts, [...commands.keys()])
  const before = new Map(paced.map(({ burst, paced_until }) => [burst, Date.parse(paced_until)]))
  const [gathered, done] = [new Set<string>(), new Set<string>()]
  const changes: Array<RowChange> = []
  for (const [burst, command] of commands)
    if (told_commands.has(command)) done.add(burst)
    else {
      // The time by which all of it would have been told at the pace; it never runs ahead by more than the window,
      // not even where a clock was set back.
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
  yield* store.apply(changes)
  return { gathered, done }
})

/** Rows of these bursts that count still, by burst and person; a later one instead of an earlier one. */
const openRows = Effect.fnUntraced(function* (
  bursts: ReadonlyArray<string>,
  now: number
): Effect.fn.Return<Map<string, NotificationRow>, Failure, Store> {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const rows = yield* store.run(
    `select ${columnList(notifications)} from ${notifications.name} where burst in (${bursts.map(bind).join(", ")}) ` +
      `and created_at > ${bind(instantOf(now - row_millis))} order by id`,
    values
  )
  const open = rows
    .map((row) => store.decode(notifications, row))
    .filter(({ is_own, mail_state, read_at }) => (read_at === null || is_own) && mail_state !== "sent")
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

export interface Gathered {
  /** To be written, in their order. */
  readonly rows: ReadonlyArray<NewNotification>
  /** What changes of rows that are there. */
  readonly changes: ReadonlyArray<RowChange>
}

/** Which of these new rows are written, and which are counted by others. `happenings`: what they are of. */
export const gatherBursts = Effect.fnUntraced(function* (
  happenings: ReadonlyArray<Happening>,
  fresh: ReadonlyArray<NewNotification>,
  now: number
): Effect.fn.Return<Gathered, Failure, Store> {
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
  // Most people's rows count the same: they are changed by one statement.
  const alike = Map.groupBy(changed, ([, set]) => JSON.stringify(set))
  const changes = [...alike.values()].flatMap((some) => {
    const set = some[0]?.[1]
    return set === undefined ? [] : [updateWhere(notifications, { id: some.map(([id]) => id) }, set)]
  })
  return { rows, changes }
})
