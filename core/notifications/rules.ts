/** Settings and preferences as they hold for some people and types: two queries, however many there are. */
import { Effect } from "effect"
import { Store } from "../kernel/store/store.ts"
import { effectiveChannels, type TypePreference, type TypeSetting } from "./effective.ts"
import { notification_preferences, notification_settings } from "./schema.ts"
import type { NotificationChannel, NotificationType } from "./types.ts"

export interface NotificationRules {
  /** The house's; undefined where the type's defaults hold. */
  readonly setting: (type: string) => TypeSetting | undefined
  /** A member's; undefined where the setting holds. */
  readonly preference: (member_id: number, type: string) => TypePreference | undefined
  /** The channels that reach this member with this type. */
  readonly channels: (member_id: number, type: NotificationType) => ReadonlySet<NotificationChannel>
}

/** Of these members, for these types; without types for every one. Members beyond those asked for have none. */
export const notificationRules = Effect.fnUntraced(function* (
  member_ids: ReadonlyArray<number>,
  types?: ReadonlyArray<string>
) {
  const store = yield* Store
  const of_types = types === undefined ? {} : { notification_type: [...new Set(types)] }
  const settings = new Map(
    (yield* store.find(notification_settings, of_types)).map((one) => [one.notification_type, one])
  )
  const distinct = [...new Set(member_ids)]
  const rows =
    distinct.length === 0 ? [] : yield* store.find(notification_preferences, { member_id: distinct, ...of_types })
  const preferences = new Map(rows.map((one) => [`${one.member_id} ${one.notification_type}`, one]))
  const setting = (type: string): TypeSetting | undefined => settings.get(type)
  const preference = (member_id: number, type: string): TypePreference | undefined =>
    preferences.get(`${member_id} ${type}`)
  return {
    setting,
    preference,
    channels: (member_id, type) => effectiveChannels(type, setting(type.key), preference(member_id, type.key))
  } satisfies NotificationRules
})
