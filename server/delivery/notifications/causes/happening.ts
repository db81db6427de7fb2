/** Notification events, derived from events of the journal. */
import type { NotificationChannel } from "../../../../core/office/notifications/types.ts"
import { hasOnePermission, journal, Store } from "../../../../core/kernel/index.ts"
import type { JsonObject, StoredEvent, StoreRead, Viewer } from "../../../../core/kernel/index.ts"
import { Effect } from "effect"
import type { ActivityRow } from "../../../../core/office/activities/schema.ts"
import { activities, activity_participants, completed } from "../../../../core/office/activities/schema.ts"
import { isRequestJob, read, request_waits_millis } from "../../../../core/documents/lifecycle-api.ts"
import {
  documentFailed,
  documentGenerated,
  documentRequested,
  type DocumentRow,
  documents,
  documentsBatched,
  documentStream,
  names_costs
} from "../../../../core/documents/schema.ts"
import { roles, users, viewerOf } from "../../../../core/people/users/permissions.ts"
import { userDeactivated, userInvited, userReactivated } from "../../../../core/people/users/decide.ts"

/** Recipients by user id and member id, if they may see the subject. */
interface Addressees {
  readonly user_ids?: ReadonlyArray<number>
  /** Member ids; members without an account receive nothing. */
  readonly member_ids?: ReadonlyArray<number | null>
}

export interface Happening {
  readonly notification_type: string
  /** Unique id, so that each event notifies a user once. */
  readonly key: string
  readonly subject: { readonly type: string; readonly id: number } | null
  readonly details: JsonObject
  /** Space-separated permissions a recipient needs, both when notified and when reading. */
  readonly seen_with: string
  /** Recipients; null for all users who may see it. */
  readonly to: Addressees | null
  /** User id that is not notified, even if addressed. */
  readonly except?: number
  /** Restricts delivery to these channels. */
  readonly only?: ReadonlyArray<NotificationChannel>
  readonly actor_id: number | null
  /** Id of the causing command: many notifications of one type by one command share a row. */
  readonly command_id: string
}

/** A source of notifications of one type. */
export interface Cause {
  readonly notification_type: string
  /** Event types it reads. */
  readonly on: ReadonlyArray<string>
  /** Whether an event may notify, judged without reading rows; if none may, no job is queued. */
  readonly may: (event: StoredEvent) => boolean
  /** Notification events for journal events with upcast data, in order; a few queries for any number. */
  readonly happenings: (events: ReadonlyArray<StoredEvent>) => StoreRead<ReadonlyArray<Happening>>
}

/** Id of an event that stays unique if a restored journal reuses its position. */
export const keyOf = ({ command_id, position }: StoredEvent): string => `${command_id}:${position}`

// Activities assigned to owners or participants.

const assigned = "activity.assigned"
/** Permission of the activity list. */
export const activities_permission = "activities.view"
const cancelled = 2003
const created = "activity.created"
const updated = "activity.updated"
const joined = "activity_participant.created"

const activityOf = ({ data, type }: StoredEvent): number => Number(type === joined ? data["activity_id"] : data["id"])
const isToBeDone = (row: ActivityRow): boolean =>
  !row.completed && row.status_id !== completed && row.status_id !== cancelled && row.deleted_at === null

/** Owners of these activities before the first of the events, by activity id: they were notified before. */
const ownersBefore = Effect.fnUntraced(function* (events: ReadonlyArray<StoredEvent>) {
  const changed = events.filter(({ type }) => type === updated)
  const before = new Map<number, number>()
  const [first] = changed
  if (first === undefined) return before
  const streams = [...new Set(changed.map(({ stream }) => stream))]
  const rows = yield* Store.select(
    journal,
    (sql) => sql`where stream in ${sql.in(streams)} and type in (${created}, ${updated})
    and position < ${first.position} order by position`
  )
  for (const { data } of rows) {
    if (typeof data["owned_by"] === "number") before.set(Number(data["id"]), data["owned_by"])
  }
  return before
})

export const activityAssigned: Cause = {
  notification_type: assigned,
  on: [created, updated, joined],
  may: ({ data, type }) =>
    type === joined ? data["mute"] !== true : typeof data["owned_by"] === "number" || type === created,
  happenings: Effect.fnUntraced(function* (events) {
    const ids = [...new Set(events.map(activityOf))]
    const rows = new Map((yield* Store.getMany(activities, ids)).map((row) => [row.id, row]))
    const parts = yield* Store.find(activity_participants, { activity_id: ids, deleted_at: null })
    const member_ids = [...new Set(parts.map(({ member_id }) => member_id))]
    const accounts = yield* Store.find(users, { member_id: member_ids })
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

// Notifies the requesting user of rendered documents and finished batches that no request waited for.

const generated = "document.generated"
export const documents_with_costs = `${read.permission} costs.view`

const jobOf = ({ data: { job_id } }: StoredEvent): string => (typeof job_id === "string" ? job_id : "")

const happening = (row: DocumentRow, event: StoredEvent, key: string, details: Happening["details"]): Happening => ({
  notification_type: generated,
  key,
  subject: { type: documents.name, id: row.id },
  details,
  seen_with: names_costs.has(row.document_type) ? documents_with_costs : read.permission,
  to: { user_ids: row.created_by === null ? [] : [row.created_by] },
  // The requester does not yet know the result.
  actor_id: null,
  command_id: event.command_id
})

/** Request events of these documents, in journal order. */
const requestsFor = Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
  const streams = ids.map((id) => documentStream(id))
  return yield* Store.find(journal, { stream: streams, type: documentRequested.type }, { order: ["position"] })
})
/** Whether the requester waited for the document, so that the response reported the result. */
const wasWaitedFor = (event: StoredEvent, requests: ReadonlyArray<StoredEvent>): boolean => {
  if (!isRequestJob(jobOf(event))) return false
  const asked = requests.findLast(({ position, stream }) => stream === event.stream && position < event.position)
  return asked === undefined || Date.parse(event.recorded_at) - Date.parse(asked.recorded_at) < request_waits_millis
}

/** Documents of the batch that each document belongs to, by document id; none for single documents. */
const batchesOf = Effect.fnUntraced(function* (asked: ReadonlyArray<StoredEvent>) {
  const of_batches = asked.filter(({ data }) => data["drawn_by"] === "batch")
  const [first] = of_batches
  if (first === undefined) return new Map<number, ReadonlyArray<DocumentRow>>()
  const commands = [...new Set(of_batches.map(({ command_id }) => command_id))]
  // A batch is recorded after the requests of its documents.
  const batched = yield* Store.select(
    journal,
    (sql) => sql`where type = ${documentsBatched.type} and position > ${first.position}
    and command_id in ${sql.in(commands)} order by position`
  )
  const members = batched.map(({ data }) =>
    Array.isArray(data["document_ids"]) ? data["document_ids"].map(Number) : []
  )
  const all = new Map((yield* Store.getMany(documents, members.flat())).map((row) => [row.id, row]))
  return new Map(
    members.flatMap((batch) => {
      const of_batch = batch.flatMap((id) => all.get(id) ?? [])
      return batch.map((id) => [id, of_batch] as const)
    })
  )
})

export const documentGeneratedCause: Cause = {
  notification_type: generated,
  on: [documentGenerated.type, documentFailed.type],
  may: () => true,
  happenings: Effect.fnUntraced(function* (events) {
    const ids = events.map(({ data }) => Number(data["id"]))
    const rows = new Map((yield* Store.getMany(documents, ids)).map((row) => [row.id, row]))
    const requests = yield* requestsFor(ids)
    const batches = yield* batchesOf(requests)
    return events.flatMap((event): ReadonlyArray<Happening> => {
      const row = rows.get(Number(event.data["id"]))
      if (row === undefined) return []
      const batch = batches.get(row.id)
      if (batch === undefined)
        return event.type === documentGenerated.type && !wasWaitedFor(event, requests)
          ? [happening(row, event, keyOf(event), {})]
          : []
      const [first] = batch
      if (first === undefined || batch.some(({ status }) => status === "pending")) return []
      const failed = batch.filter(({ status }) => status === "failed").length
      return [happening(first, event, `batch:${first.id}:${first.created_at}`, { count: batch.length, failed })]
    })
  })
}

// Possible recipients: all active users with their roles' permissions. Two reads.

/** Whether a user has all permissions in `seen_with`; checked on notifying and on reading. */
export const maySee = (viewer: Viewer, seen_with: string): boolean =>
  seen_with.split(" ").every((permission) => permission === "" || hasOnePermission(viewer, permission))

export interface People {
  /** Recipients of an event: those it addresses who may see it. */
  readonly of: (happening: Happening) => ReadonlyArray<Viewer>
}

export const peopleFor = Effect.fnUntraced(function* () {
  const rows = yield* Store.find(users, { is_active: true, deleted_at: null }, { order: ["id"] })
  const all_roles = yield* Store.find(roles, { deleted_at: null })
  const viewers = rows.map((row) => viewerOf(row, all_roles, null))
  const by_user = new Map(viewers.map((one) => [one.user_id, one]))
  const by_member = new Map(viewers.map((one) => [one.person_id, one]))
  const of: People["of"] = ({ except, seen_with, to }) => {
    const reached =
      to === null
        ? viewers
        : [
            ...(to.user_ids ?? []).map((id) => by_user.get(id)),
            ...(to.member_ids ?? []).map((id) => (id === null ? undefined : by_member.get(id)))
          ]
    return [...new Set(reached)]
      .filter((one) => one !== undefined)
      .filter((one) => one.user_id !== except && maySee(one, seen_with))
  }
  return { of } satisfies People
})

// Accounts: for users who see accounts and, if reactivated, for their user. Account mail is queued with the event, as
// it may hold a code; these rows are for inboxes.

/** Permission to see how the server is: that of its checks. */
export const server_permission = "system.manage"
/** Permission to see accounts: that of the user list. */
export const users_permission = "users.view"

const account = (notification_type: string, on: string, is_told_themselves = false): Cause => ({
  notification_type,
  on: [on],
  // The owner of a new database has no inviter.
  may: (event) => event.actor_id !== null,
  happenings: (events) =>
    Effect.succeed(
      events.flatMap((event) => {
        const id = Number(event.data["id"])
        const happening = {
          notification_type,
          key: keyOf(event),
          subject: { type: users.name, id },
          details: {},
          only: ["database", "broadcast"],
          actor_id: event.actor_id,
          command_id: event.command_id
        } as const
        return [
          ...(is_told_themselves ? [{ ...happening, seen_with: "", to: { user_ids: [id] } }] : []),
          { ...happening, seen_with: users_permission, to: null, except: id }
        ]
      })
    )
})

export const userCauses: ReadonlyArray<Cause> = [
  account("user.invited", userInvited.type),
  account("user.deactivated", userDeactivated.type),
  account("user.reactivated", userReactivated.type, true)
]
