/** Endpoints of activities (rules/members-activities 6). */
import { Effect, Result, Schema } from "effect"
import { accessOf, boolean, command, createdEvent, crudResource, decided, deletedEvent } from "../../kernel/index.ts"
import { eventType, integer, invalid, keysOf, list_values, ok, referredRows, renderById } from "../../kernel/index.ts"
import { resource, rowEvents, Shown, Store, text, update, updatedEvents, viewContext } from "../../kernel/index.ts"
import type { AnyEventType, DecideContext, FieldErrors, Json, JsonObject, NewEvent } from "../../kernel/index.ts"
import type { Rejection, RowOf, Slice, Table } from "../../kernel/index.ts"
import type { ActivityRow, RegardingType } from "./schema.ts"
import {
  activities,
  activity_participants,
  activity_statuses,
  activityFields,
  completed,
  priorities,
  time_statuses
} from "./schema.ts"
import { members } from "../../people/members/schema.ts"
import { opportunities } from "../../orders/opportunities/tables/index.ts"
import { products } from "../../products/products/schema.ts"
import { stock_levels } from "../../products/stock/schema.ts"
import { activity_type_list } from "../../setup/custom-fields/schema.ts"
import { users } from "../../people/users/permissions.ts"

// Rules for activities (rules/members-activities 6).

type ParticipantRow = RowOf<typeof activity_participants>

interface ActivityFacts {
  /** Values of the list "Activity Type". */
  readonly types: ReadonlyArray<RowOf<typeof list_values>>
  readonly participants: ReadonlyArray<ParticipantRow>
  /** Whether the subject named by `regarding_type` and `regarding_id` exists; true if none is named or it stays. */
  readonly regarding_exists: boolean
}
/** The code of an activity type; null for types that users added. */
const typeCode = (value: { readonly metadata: JsonObject | null } | undefined): number | null => {
  const code = value?.metadata?.["code"]
  return typeof code === "number" ? code : null
}

/** A participant in a request body. */
interface Participation {
  readonly member_id: number
  readonly mute: boolean
}
/** Code of the default activity type, a task. */
const task_code = 1001

const saveActivity = (
  next: ActivityRow,
  before: ActivityRow | undefined,
  given: ReadonlyArray<Participation> | undefined,
  facts: ActivityFacts,
  context: DecideContext
): Result.Result<{ readonly set: Partial<ActivityRow>; readonly also: ReadonlyArray<NewEvent> }, Rejection> => {
  const type_id = next.type_id ?? facts.types.find((value) => typeCode(value) === task_code)?.id ?? null
  const errors = problems({ ...next, type_id }, before, given ?? [], facts)
  if (Object.keys(errors).length > 0) return Result.fail(invalid(errors))
  return Result.succeed({
    set: { type_id, owned_by: next.owned_by ?? (before === undefined ? context.viewer.user_id || null : null) },
    also: given === undefined ? [] : replaceParticipants(next.id, given, facts.participants, context)
  })
}

const problems = (
  next: ActivityRow,
  before: ActivityRow | undefined,
  given: ReadonlyArray<Participation>,
  facts: ActivityFacts
): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  if (next.starts_at !== null && next.ends_at !== null && next.ends_at < next.starts_at) {
    errors["ends_at"] = ["The end must not come before the start."]
  }
  if (next.regarding_id !== null && next.regarding_type === null)
    errors["regarding_type"] = ["Say what kind of thing it is regarding."]
  else if (next.regarding_id === null && next.regarding_type !== null)
    errors["regarding_id"] = ["Say which one it is regarding."]
  else if (!facts.regarding_exists) errors["regarding_id"] = ["What it is regarding does not exist."]
  if (next.type_id !== before?.type_id && !facts.types.some((value) => value.id === next.type_id)) {
    errors["type_id"] = ["The selected type is not on the list of activity types."]
  }
  given.forEach(({ member_id }, at) => {
    if (given.findIndex((one) => one.member_id === member_id) < at)
      errors[`participants.${at}.member_id`] = ["This member takes part already."]
  })
  return errors
}

/** Events that replace the participants with the given ones; participants who stay keep their row and its id. */
const replaceParticipants = (
  activity_id: number,
  given: ReadonlyArray<Participation>,
  before: ReadonlyArray<ParticipantRow>,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const staying = new Map<number, ParticipantRow>()
  for (const row of before)
    if (!staying.has(row.member_id) && given.some((one) => one.member_id === row.member_id))
      staying.set(row.member_id, row)
  return [
    ...before
      .filter((row) => staying.get(row.member_id) !== row)
      .map((row) => deletedEvent(activity_participants, row.id, row)),
    ...given.flatMap((one): ReadonlyArray<NewEvent> => {
      const row = staying.get(one.member_id)
      if (row === undefined)
        return [createdEvent(activity_participants, { id: context.id(activity_participants), activity_id, ...one })]
      return updatedEvents(activity_participants, row, { mute: one.mute })
    })
  ]
}

// Events of activities and of their participants (rules/members-activities 3).

const activityCompleted = eventType("activity.completed", {
  meaning: "An activity was completed.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }, { recorded_at }) => [
    update(activities, id, { status_id: completed, completed: true, updated_at: recorded_at })
  ]
})

const activityEvents: ReadonlyArray<AnyEventType> = [...rowEvents(activity_participants), activityCompleted]

// Loads the subjects of activities (members, products, stock levels, opportunities): one query per table.

const kinds: { readonly [T in RegardingType]: { readonly table: Table; readonly names: ReadonlyArray<string> } } = {
  Member: { table: members, names: ["name"] },
  Product: { table: products, names: ["name"] },
  StockLevel: { table: stock_levels, names: ["item_name", "asset_number", "serial_number", "barcode"] },
  Opportunity: { table: opportunities, names: ["subject"] }
}
interface Regarding {
  readonly type: RegardingType
  readonly id: number
}
interface Subject {
  readonly id: number
  readonly name: string | null
  readonly is_deleted: boolean
}
const regardingKey = ({ type, id }: Regarding): string => `${type}:${id}`

/** Subjects of activities, archived ones included, by {@link regardingKey}. */
const subjectsOf = Effect.fnUntraced(function* (wanted: ReadonlyArray<Regarding>) {
  const found = new Map<string, Subject>()
  for (const type of keysOf(kinds)) {
    const { table, names } = kinds[type]
    const ids = wanted.filter((one) => one.type === type).map((one) => one.id)
    for (const row of yield* Store.getMany(table, ids)) {
      const id = Number(row["id"])
      const name = names
        .map((column) => row[column])
        .find((value): value is string => typeof value === "string" && value !== "")
      found.set(regardingKey({ type, id }), { id, name: name ?? null, is_deleted: row["deleted_at"] !== null })
    }
  }
  return found
})

const regardingOf = (row: Pick<ActivityRow, "regarding_id" | "regarding_type">): ReadonlyArray<Regarding> =>
  row.regarding_type === null || row.regarding_id === null ? [] : [{ type: row.regarding_type, id: row.regarding_id }]

/** Related rows of a page of activities: participants, subjects, and the members of participants and owners. */
const surroundings = Effect.fnUntraced(function* (rows: ReadonlyArray<ActivityRow>) {
  const participants = yield* Store.find(activity_participants, { activity_id: rows.map((row) => row.id) })
  const owners = [...(yield* referredRows(users, rows, "owned_by")).values()]
  return {
    participants: Map.groupBy(participants, (one) => one.activity_id),
    subjects: yield* subjectsOf(rows.flatMap(regardingOf)),
    members: yield* referredRows(members, [...participants, ...owners], "member_id")
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
      type_code: typeCode(kind),
      activity_type_name: kind?.name ?? null,
      activity_status_name: activity_statuses[row.status_id as keyof typeof activity_statuses],
      priority_name: priorities[row.priority as keyof typeof priorities],
      time_status_name: time_statuses[row.time_status as keyof typeof time_statuses],
      regarding: regarding === undefined ? null : { id: regarding.id, name: regarding.name },
      owner: user === undefined ? null : { id: user.id, name: user.name },
      owner_thumb_url: around.members.get(user?.member_id ?? 0)?.icon_thumb_url ?? null,
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
    facts: (input, before) =>
      Effect.gen(function* () {
        const { values } = input
        const { regarding_id = before?.regarding_id ?? null, regarding_type = before?.regarding_type ?? null } = values
        const about = regardingOf({ regarding_id, regarding_type })
        const changed = values.regarding_id !== undefined || values.regarding_type !== undefined
        const subjects = changed ? yield* subjectsOf(about) : new Map<string, { readonly is_deleted: boolean }>()
        return {
          types: yield* Store.find(list_values, { list_name_id: activity_type_list }),
          participants:
            before === undefined ? [] : yield* Store.find(activity_participants, { activity_id: before.id }),
          regarding_exists: !changed || about.every((one) => subjects.get(regardingKey(one))?.is_deleted === false)
        } satisfies ActivityFacts
      }),
    save: ({ next, before, facts, input, context }) =>
      saveActivity(next, before, input.values.participants, facts, context)
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
    decided(row.id, row.completed && row.status_id === completed ? [] : [activityCompleted.make({ id: row.id })]),
  respond: (_result, input) =>
    Effect.map(renderById(activityResource, input.rows.id.id, input.query, viewContext(input)), ok)
})

export const activitiesSlice: Slice = {
  ...crud,
  tables: [activities, activity_participants],
  events: [...(crud.events ?? []), ...activityEvents],
  endpoints: [...(crud.endpoints ?? []), complete]
}
