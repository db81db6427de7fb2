/** Rules for activities (rules/members-activities 6). */
import { Result } from "effect"
import type { list_values } from "../kernel/custom-field.ts"
import type { DecideContext } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { createdEvent, deletedEvent, updatedEvent } from "../kernel/crud-resource.ts"
import { type FieldErrors, invalid, type Rejection } from "../kernel/rejection.ts"
import type { RowOf } from "../kernel/table.ts"
import { type ActivityRow, activity_participants, type ParticipantRow, task_code } from "./schema.ts"

type ListValueRow = RowOf<typeof list_values>
export interface ActivityFacts {
  /** The values of the list Activity Type. */
  readonly types: ReadonlyArray<ListValueRow>
  readonly participants: ReadonlyArray<ParticipantRow>
  /** Whether the row named by `regarding_type` and `regarding_id` exists; true when none is named. */
  readonly regarding_exists: boolean
}
/** The code of an activity type; null for types that users added. */
export const typeCode = (value: { readonly metadata: unknown } | undefined): number | null => {
  const code = (value?.metadata as { readonly code?: unknown } | null | undefined)?.code
  return typeof code === "number" ? code : null
}

/** One participant of a body. */
export interface Participation {
  readonly member_id: number
  readonly mute: boolean
}
export const saveActivity = (
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

/** Events that make the participants those given; participants who stay keep their row and its id. */
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
      const changed = updatedEvent(activity_participants, row, { mute: one.mute })
      return changed === undefined ? [] : [changed]
    })
  ]
}
