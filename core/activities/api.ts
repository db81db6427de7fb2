/** Endpoints of activities (rules/members-activities 6). */
import { Effect, Result } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { activity_type_list } from "../custom-fields/seed.ts"
import { list_values } from "../kernel/custom-field.ts"
import { command, type Input } from "../kernel/endpoint.ts"
import type { Json } from "../kernel/json.ts"
import { activityCompleted, activityEvents } from "./events.ts"
import { accessOf, crudResource } from "../kernel/crud-resource.ts"
import { ok, resource, renderById, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { members } from "../members/schema.ts"
import { users } from "../users/schema.ts"
import { type ActivityFacts, type Participation, saveActivity, typeCode } from "./decide.ts"
import { type Regarding, regardingKey, subjectsOf } from "./regarding.ts"
import {
  activities,
  activity_participants,
  activity_statuses,
  activityFields,
  type ActivityRow,
  completed,
  priorities,
  time_statuses
} from "./schema.ts"
import { boolean, integer, text } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"

const regardingOf = (row: Pick<ActivityRow, "regarding_id" | "regarding_type">): ReadonlyArray<Regarding> =>
  row.regarding_type === null || row.regarding_id === null ? [] : [{ type: row.regarding_type, id: row.regarding_id }]

/** For a page of activities: participants, what they are about, and the members of participants and owners. */
const surroundings = Effect.fnUntraced(function* (rows: ReadonlyArray<ActivityRow>) {
  const store = yield* Store
  const participants = yield* store.find(activity_participants, { activity_id: rows.map((row) => row.id) })
  const owners = yield* store.getMany(
    users,
    rows.flatMap((row) => row.owned_by ?? [])
  )
  const people = yield* store.getMany(members, [
    ...participants.map((one) => one.member_id),
    ...owners.map((one) => one.member_id)
  ])
  return {
    participants: Map.groupBy(participants, (one) => one.activity_id),
    subjects: yield* subjectsOf(rows.flatMap(regardingOf)),
    members: new Map(people.map((one) => [one.id, one]))
  }
})

export const activityResource = resource({
  singular: "activity",
  shows: {
    type_code: integer({ nullable: true }),
    activity_type_name: text({ nullable: true }),
    activity_status_name: text(),
    priority_name: text(),
    time_status_name: text(),
    regarding: Shown.brief(),
    owner: Shown.brief(),
    owner_thumb_url: text({ nullable: true }),
    participants: Shown.objects({
      id: integer(),
      member_id: integer(),
      member_name: text({ nullable: true }),
      mute: boolean(),
      member: Shown.brief()
    })
  },
  table: activities,
  filters: [
    "subject",
    "type_id",
    "status_id",
    "priority",
    "regarding_type",
    "regarding_id",
    "owned_by",
    "completed",
    "starts_at",
    "ends_at",
    "created_at",
    "updated_at"
  ],
  sorts: ["subject", "type_id", "status_id", "priority", "starts_at", "ends_at", "created_at", "updated_at"],
  custom_module: "Activity",
  lookups: { kind: { via: "type_id", table: list_values }, user: { via: "owned_by", table: users } },
  includes: {
    type: { kind: "brief", via: "type_id", table: list_values },
    owner: { kind: "always", key: "owner" },
    regarding: { kind: "always", key: "regarding" },
    participants: { kind: "always", key: "participants" }
  },
  load: surroundings,
  view: (base, row, { kind, user }, _context, around) => {
    const [regarding] = regardingOf(row).map((one) => around.subjects.get(regardingKey(one)))
    return {
      ...base,
      type_code: typeCode(kind as { readonly metadata: unknown } | undefined),
      activity_type_name: (kind?.["name"] as string | undefined) ?? null,
      activity_status_name: activity_statuses[row.status_id as keyof typeof activity_statuses],
      priority_name: priorities[row.priority as keyof typeof priorities],
      time_status_name: time_statuses[row.time_status as keyof typeof time_statuses],
      regarding: regarding === undefined ? null : { id: regarding.id, name: regarding.name },
      owner: user === undefined ? null : { id: user["id"] as number, name: user["name"] as string },
      owner_thumb_url: around.members.get(user?.["member_id"] as number)?.icon_thumb_url ?? null,
      participants: (around.participants.get(row.id) ?? []).map((one): Json => {
        const member = around.members.get(one.member_id)
        const member_name = member?.name ?? null
        return {
          id: one.id,
          member_id: one.member_id,
          member_name,
          mute: one.mute,
          member: member === undefined ? null : { id: member.id, name: member_name }
        }
      })
    }
  }
})

const access = accessOf("activities")
const crud = crudResource({
  resource: activityResource,
  fields: activityFields,
  path: "/api/v1/activities",
  access,
  rules: {
    facts: (input: Input, before) =>
      Effect.gen(function* () {
        const store = yield* Store
        const values = input.values as Partial<ActivityRow>
        const { regarding_id = before?.regarding_id ?? null, regarding_type = before?.regarding_type ?? null } = values
        const about = regardingOf({ regarding_id, regarding_type })
        const changed = values.regarding_id !== undefined || values.regarding_type !== undefined
        const subjects = changed ? yield* subjectsOf(about) : new Map<string, { readonly is_deleted: boolean }>()
        return {
          types: yield* store.find(list_values, { list_name_id: activity_type_list }),
          participants:
            before === undefined ? [] : yield* store.find(activity_participants, { activity_id: before.id }),
          regarding_exists: !changed || about.every((one) => subjects.get(regardingKey(one))?.is_deleted === false)
        } satisfies ActivityFacts
      }),
    save: ({ next, before, facts, input, context }) =>
      saveActivity(
        next,
        before,
        input.values["participants"] as ReadonlyArray<Participation> | undefined,
        facts,
        context
      )
  }
})

const complete = command("POST", "/api/v1/activities/{id}/complete", {
  answer: { activity: Shown.row(() => activityResource) },
  name: "activities.complete",
  summary: "Complete an activity",
  ability: access.write,
  permission: "activities.complete",
  params: { id: { table: activities } },
  facts: () => Effect.succeed(undefined),
  decide: (_facts, { rows: { id: row } }) =>
    Result.succeed({
      events: row.completed && row.status_id === completed ? [] : [activityCompleted.make({ id: row.id })],
      result: { id: row.id }
    }),
  respond: (_result, input) =>
    Effect.map(renderById(activityResource, input.rows.id.id, input.query, viewContext(input)), ok)
})

export const activitiesSlice: Slice = {
  ...crud,
  tables: [activities, activity_participants],
  events: [...(crud.events ?? []), ...activityEvents],
  endpoints: [...(crud.endpoints ?? []), complete]
}
