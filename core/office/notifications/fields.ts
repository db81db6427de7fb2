/** Types and channels in bodies, and the errors that can be found without reading rows. */
import { boolean, choice, isJsonObject, keysOf, list, object, Shown, text } from "../../kernel/index.ts"
import type { FieldErrors, Fields, Json, JsonObject } from "../../kernel/index.ts"
import type { NotificationChannel, NotificationRules, NotificationType, TypePreference, TypeSetting } from "./types.ts"
import { notification_categories, notification_channels, notificationType, notificationTypes } from "./types.ts"

const entries_max = 100
const notification_type = choice(Object.fromEntries(notificationTypes.map(({ key, name }) => [key, name])), {
  required: true,
  describe: "Notification type; system types cannot be changed"
})
const channel_switches = object(
  { database: boolean(), email: boolean(), broadcast: boolean() },
  { describe: "Channels to switch; null inherits the next level's value" }
)
export const preferenceFields = {
  preferences: list(
    object({
      notification_type,
      channels: channel_switches,
      is_muted: boolean({ describe: "True mutes the type on all channels" })
    }),
    { required: true, max_items: entries_max, describe: "Types to change; others keep their values" }
  )
} satisfies Fields
export const settingFields = {
  settings: list(
    object({
      notification_type,
      channels: channel_switches,
      is_enabled: boolean({ describe: "False turns the type off for everyone" })
    }),
    { required: true, max_items: entries_max, describe: "Types to change; others keep their values" }
  )
} satisfies Fields

/** Requested channels of an entry: on or off by channel; null resets them to the inherited ones. */
type ChannelChanges = { readonly [channel in NotificationChannel]?: boolean } | null
/** A validated entry, as rules use it. */
export interface Change {
  readonly type: NotificationType
  readonly channels: ChannelChanges | undefined
  /** Value of `is_muted` or `is_enabled`; undefined if absent. */
  readonly flag: boolean | undefined
}
interface Entry {
  readonly notification_type: string
  readonly channels?: { readonly [channel in NotificationChannel]?: boolean } | undefined
  readonly is_muted?: boolean | undefined
  readonly is_enabled?: boolean | undefined
}
type Body = "preferences" | "settings"

const listIn = (body: JsonObject, key: Body): ReadonlyArray<Json> => {
  const entries = body[key]
  return Array.isArray(entries) && entries.length <= entries_max ? entries : []
}
/** Changes requested by the valid entries. `body` distinguishes null channels from absent ones. */
export const changesIn = (entries: ReadonlyArray<Entry>, body: JsonObject, key: Body): ReadonlyArray<Change> =>
  listIn(body, key).flatMap((given, at) => {
    const entry = entries[at]
    const type = entry === undefined ? undefined : notificationType(entry.notification_type)
    if (entry === undefined || type === undefined) return []
    const channels = isJsonObject(given) && given["channels"] === null ? null : entry.channels
    return [{ type, channels, flag: key === "preferences" ? entry.is_muted : entry.is_enabled }]
  })

/** Errors (422): system types, unknown or unavailable channels, a type named twice, or an entry without a change. */
export const entryProblems =
  (key: Body) =>
  (_values: JsonObject, body: JsonObject): FieldErrors => {
    const errors: { [path: string]: ReadonlyArray<string> } = {}
    const first = new Map<string, string>()
    for (const [at, entry] of listIn(body, key).entries()) {
      if (!isJsonObject(entry)) continue
      const path = `${key}.${at}`
      const named = entry["notification_type"]
      const type = typeof named === "string" ? notificationType(named.trim()) : undefined
      const problem = type === undefined ? undefined : typeProblem(type, first.get(type.key))
      if (type !== undefined && !first.has(type.key)) first.set(type.key, path)
      if (problem !== undefined) errors[`${path}.notification_type`] = [problem]
      Object.assign(errors, channelProblems(entry, `${path}.channels`, key, type))
    }
    return errors
  }
const channelProblems = (
  { channels, is_muted }: JsonObject,
  path: string,
  key: Body,
  type: NotificationType | undefined
): FieldErrors => {
  const errors: { [path: string]: ReadonlyArray<string> } = {}
  if (key === "preferences" && channels === undefined && is_muted === undefined)
    errors[path] = ["The channels field is required where is_muted is left out."]
  for (const channel of isJsonObject(channels) ? Object.keys(channels) : []) {
    const problem = channelProblem(channel, type)
    if (problem !== undefined) errors[`${path}.${channel}`] = [problem]
  }
  return errors
}
const typeProblem = (type: NotificationType, before: string | undefined): string | undefined =>
  type.is_system
    ? `${type.key} is a system type: it is always sent, and nothing of it can be changed.`
    : before !== undefined
      ? `${type.key} stands at ${before} already: name each type once.`
      : undefined
const channelProblem = (channel: string, type: NotificationType | undefined): string | undefined => {
  const available: ReadonlyArray<string> = type?.available_channels ?? Object.keys(notification_channels)
  return available.includes(channel)
    ? undefined
    : `${type?.key ?? "A type"} has no such channel: it has ${available.join(", ")}.`
}

// API representation of settings and preferences: every type is listed, even without a stored row.

const channel = Shown.oneOf(keysOf(notification_channels))
const channels = Shown.map(boolean(), { describe: "Whether each channel is on; all are off for a disabled type" })
const of_type = {
  notification_type: text(),
  name: text(),
  category: Shown.oneOf(keysOf(notification_categories)),
  description: text()
}
const sources = ["default", "setting", "preference"] as const

export const preferences_shown = Shown.objects({
  ...of_type,
  channels,
  is_muted: boolean(),
  is_system: boolean(),
  source: Shown.oneOf(sources, { describe: "Level that sets the channels: type, company or person" })
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
/** The type's available channels, each true if it is in `on`. */
const switches = (type: NotificationType, on: ReadonlyArray<NotificationChannel>) =>
  Object.fromEntries(type.available_channels.map((one) => [one, on.includes(one)]))

/** Channels of a type before muting, as on or off. System types have their defaults; a disabled type has all off. */
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
