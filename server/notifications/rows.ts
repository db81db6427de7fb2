/** From what happened to a row for each person: by which channels, whether their own doing, much at once as one. */
import type { NotificationChannel } from "../../core/notifications/types.ts"
import { notificationType } from "../../core/notifications/types.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import type { Happening } from "./happening.ts"
import type { People } from "./people.ts"
import type { NotificationRow } from "./schema.ts"

export type NewNotification = Omit<NotificationRow, "id">

/** More of one type than this, by one command, is one row: a sweep or a bulk change fills nobody's inbox. */
export const told_apart_max = 5
export const ids_named_max = 20

/** Of one person, by one command and of one type. */
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
  // Nobody is written to of what they did; what they must have, a code or a test, they asked for.
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

/** Rows in the order of what happened. `effective`: the channels of a person and type. */
export const rowsOf = (
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
      // Reached in two ways, they are told in the first.
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
