/** Events of activities and of their participants (rules/members-activities 3). */
import { Schema } from "effect"
import { update } from "../kernel/row-change.ts"
import { type AnyEventType, eventType } from "../kernel/event-type.ts"
import { rowEvents } from "../kernel/crud-resource.ts"
import { activities, activity_participants, completed } from "./schema.ts"

export const activityCompleted = eventType("activity.completed", {
  meaning: "An activity was done.",
  data: () => Schema.Struct({ id: Schema.Int }),
  project: ({ id }, { recorded_at }) => [
    update(activities, id, { status_id: completed, completed: true, updated_at: recorded_at })
  ]
})

export const activityEvents: ReadonlyArray<AnyEventType> = [...rowEvents(activity_participants), activityCompleted]
