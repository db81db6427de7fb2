/** What can happen to settings and preferences of notifications. Events carry what holds from then on. */
import { Schema } from "effect"
import { rowEvents } from "../kernel/crud-resource.ts"
import { streamOf } from "../kernel/event.ts"
import { type AnyEventType, eventType, follow } from "../kernel/event-type.ts"
import { insert, remove, removeWhere } from "../kernel/row-change.ts"
import { storedValue } from "../kernel/stored-schema.ts"
import { notification_preferences, notification_settings } from "./schema.ts"

const { channels } = notification_settings.columns

export const notificationSettingChanged = eventType("notification_setting.changed", {
  meaning:
    "The house said by which channels people are told of a type, or that they are not; null leaves it to the type.",
  data: () =>
    Schema.Struct({ notification_type: Schema.String, channels: storedValue(channels), is_enabled: Schema.Boolean }),
  stream: ({ notification_type }) => streamOf(notification_settings.entity, notification_type),
  project: (setting) => [
    remove(notification_settings, setting.notification_type),
    ...(saysNothing(setting) ? [] : [insert(notification_settings, setting)])
  ]
})
/** The house goes by the type's defaults again. */
const saysNothing = (setting: { readonly channels: unknown; readonly is_enabled: boolean }): boolean =>
  setting.channels === null && setting.is_enabled

export const notificationEvents: ReadonlyArray<AnyEventType> = [
  notificationSettingChanged,
  ...rowEvents(notification_preferences)
]

/** An erased person's preferences go with the person. */
export const preferencesErased = follow(
  "member.anonymised",
  () => Schema.Struct({ id: Schema.Int, merged_ids: Schema.Array(Schema.Int) }),
  ({ id, merged_ids }) => [removeWhere(notification_preferences, { member_id: [id, ...merged_ids] })]
)
