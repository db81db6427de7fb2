/** Settings and preferences as answers show them: every type, whether anything was said of it or not. */
import { boolean, text } from "../../kernel/fields/field.ts"
import * as Shown from "../../kernel/lists/answer-schema.ts"
import {
  notification_categories,
  notification_channels,
  type NotificationCategory,
  type NotificationChannel,
  type NotificationRules,
  type NotificationType,
  notificationTypes,
  type TypePreference,
  type TypeSetting
} from "./types.ts"

const channel = Shown.oneOf(Object.keys(notification_channels) as ReadonlyArray<NotificationChannel>)
const channels = Shown.map(boolean(), {
  describe:
    "By the name of each channel the type has: whether it is used. All are off where the house disabled the type"
})
const of_type = {
  notification_type: text(),
  name: text(),
  category: Shown.oneOf(Object.keys(notification_categories) as ReadonlyArray<NotificationCategory>),
  description: text()
}
const sources = ["default", "setting", "preference"] as const

export const preferences_shown = Shown.objects({
  ...of_type,
  channels,
  is_muted: boolean(),
  is_system: boolean(),
  source: Shown.oneOf(sources, { describe: "What decides: the type, the house's setting or the person's preference" })
})
export const settings_shown = Shown.objects({
  ...of_type,
  available_channels: Shown.list(channel),
  default_channels: Shown.list(channel),
  channels,
  is_enabled: boolean(),
  is_system: boolean()
})

const described = ({ category, description, key, name }: NotificationType) => ({
  notification_type: key,
  name,
  category,
  description
})
/** Each channel the type has, and whether it is among these. */
const switches = (type: NotificationType, on: ReadonlyArray<NotificationChannel>) =>
  Object.fromEntries(type.available_channels.map((one) => [one, on.includes(one)]))

/**
 * Effective values of a type; none for a system type. A muted type shows its unmuted channels; a disabled one shows all
 * as off.
 */
const shownChannels = (type: NotificationType, setting: TypeSetting | undefined, preference?: TypePreference) =>
  switches(
    type,
    type.is_system
      ? type.default_channels
      : setting?.is_enabled === false
        ? []
        : (preference?.channels ?? setting?.channels ?? type.default_channels)
  )
const sourceOf = (
  type: NotificationType,
  setting: TypeSetting | undefined,
  preference: TypePreference | undefined
): (typeof sources)[number] => {
  if (type.is_system) return "default"
  if (setting?.is_enabled === false) return "setting"
  if (preference !== undefined) return "preference"
  return setting === undefined ? "default" : "setting"
}

export const shownPreferences = (member_id: number, rules: NotificationRules) =>
  notificationTypes.map((type) => {
    const setting = rules.setting(type.key)
    const preference = rules.preference(member_id, type.key)
    return {
      ...described(type),
      channels: shownChannels(type, setting, preference),
      is_muted: !type.is_system && preference?.is_muted === true,
      is_system: type.is_system,
      source: sourceOf(type, setting, preference)
    }
  })
export const shownSettings = (rules: NotificationRules) =>
  notificationTypes.map((type) => {
    const setting = type.is_system ? undefined : rules.setting(type.key)
    return {
      ...described(type),
      available_channels: type.available_channels,
      default_channels: type.default_channels,
      channels: shownChannels(type, setting),
      is_enabled: setting?.is_enabled ?? true,
      is_system: type.is_system
    }
  })
