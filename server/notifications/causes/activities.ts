/** Activities given to somebody: as their owner, or as one who takes part. */
import { Effect } from "effect"
import { type ActivityRow, activities, activity_participants, completed } from "../../../core/activities/schema.ts"
import type { StoredEvent } from "../../../core/kernel/event.ts"
import { journal } from "../../../core/kernel/journal.ts"
import { bindings, columnList } from "../../../core/kernel/store/statement.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { users } from "../../../core/users/schema.ts"
import { type Cause, keyOf } from "../happening.ts"

const assigned = "activity.assigned"
/** What the list of activities asks for. */
export const activities_permission = "activities.view"
const cancelled = 2003
const created = "activity.created"
const updated = "activity.updated"
const joined = "activity_participant.created"

const activityOf = ({ data, type }: StoredEvent): number => Number(type === joined ? data["activity_id"] : data["id"])
const isToBeDone = (row: ActivityRow): boolean =>
  !row.completed && row.status_id !== completed && row.status_id !== cancelled && row.deleted_at === null

/** Who owned these activities before the first of the events: they know it already. */
const ownersBefore = Effect.fnUntraced(function* (events: ReadonlyArray<StoredEvent>) {
  const changed = events.filter(({ type }) => type === updated)
  const before = new Map<number, number>()
  const [first] = changed
  if (first === undefined) return before
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const streams = [...new Set(changed.map(({ stream }) => stream))]
  const rows = yield* store.run(
    `select ${columnList(journal)} from journal where stream in (${streams.map(bind).join(", ")}) ` +
      `and type in (${bind(created)}, ${bind(updated)}) and position < ${bind(first.position)} order by position`,
    values
  )
  for (const row of rows) {
    const { data } = store.decode(journal, row)
    if (typeof data["owned_by"] === "number") before.set(Number(data["id"]), data["owned_by"])
  }
  return before
})

export const activityAssigned: Cause = {
  notification_type: assigned,
  on: [created, updated, joined],
  may: ({ data, type }) =>
    type === joined ? data["mute"] !== true : typeof data["owned_by"] === "number" || type === created,
  happenings: (events) =>
    Effect.gen(function* () {
      const store = yield* Store
      const ids = [...new Set(events.map(activityOf))]
      const rows = new Map((yield* store.getMany(activities, ids)).map((row) => [row.id, row]))
      const parts = yield* store.find(activity_participants, { activity_id: ids, deleted_at: null })
      const member_ids = [...new Set(parts.map(({ member_id }) => member_id))]
      const accounts = yield* store.find(users, { member_id: member_ids })
      const user_of = new Map(accounts.map((user) => [user.member_id, user.id]))
      const owners_before = yield* ownersBefore(events)
      return [...Map.groupBy(events, activityOf)].flatMap(([id, changes]) => {
        const row = rows.get(id)
        const [event] = changes
        if (row === undefined || event === undefined || !isToBeDone(row)) return []
        const owner_changed = changes.some(({ type }) => type !== joined)
        const new_parts = new Set(changes.filter(({ type }) => type === joined).map(({ data }) => data["id"]))
        const userOf = (part: (typeof parts)[number]) => user_of.get(part.member_id)
        const of_this = parts.filter((part) => part.activity_id === id)
        const already = new Set<number | null | undefined>([
          owner_changed ? owners_before.get(id) : row.owned_by,
          ...of_this.filter((part) => !new_parts.has(part.id)).map(userOf)
        ])
        const newcomers = [
          ...(owner_changed ? [row.owned_by] : []),
          ...of_this.filter((part) => new_parts.has(part.id) && !part.mute).map(userOf)
        ].filter((user_id) => typeof user_id === "number" && !already.has(user_id))
        if (newcomers.length === 0) return []
        return [
          {
            notification_type: assigned,
            key: keyOf(event),
            subject: { type: activities.name, id },
            details: {},
            seen_with: activities_permission,
            to: { user_ids: newcomers.filter((user_id) => typeof user_id === "number") },
            actor_id: event.actor_id,
            command_id: event.command_id
          }
        ]
      })
    })
}
