/** Rules for changing settings and preferences (rules/conventions 15). */
import { Result } from "effect"
import { createdEvent, deletedEvent, updatedEvent } from "../kernel/crud-resource.ts"
import type { DecideContext, Decided } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { sameJson } from "../kernel/json.ts"
import { notificationSettingChanged } from "./events.ts"
import type { Change, ChannelChanges } from "./fields.ts"
import { notification_preferences, type NotificationPreferenceRow, type NotificationSettingRow } from "./schema.ts"
import { type NotificationChannel, notification_channels, type NotificationType } from "./types.ts"

type Channels = ReadonlyArray<NotificationChannel> | null
const every_channel = Object.keys(notification_channels) as ReadonlyArray<NotificationChannel>
/** Kept in the order of the channels, so that the same choice is the same list. */
const inOrder = (channels: ReadonlyArray<NotificationChannel>): ReadonlyArray<NotificationChannel> =>
  every_channel.filter((one) => channels.includes(one))

/**
 * The channels from now on. Those that a change leaves out keep the value that is shown: the row's own, or what it has
 * followed until now. A choice that says what holds anyway is a choice: it stays when what it followed changes.
 */
const changedChannels = (
  own: Channels,
  followed: ReadonlyArray<NotificationChannel>,
  changes: ChannelChanges | undefined
): Channels => {
  if (changes === undefined) return own
  if (changes === null) return null
  if (Object.keys(changes).length === 0) return own
  const before = own ?? followed
  return every_channel.filter((one) => changes[one] ?? before.includes(one))
}
/** What a type that nobody said anything of would use. */
const followedBy = (type: NotificationType, setting: NotificationSettingRow | undefined) =>
  setting?.channels ?? type.default_channels

export interface PreferenceFacts {
  readonly member_id: number
  readonly settings: ReadonlyArray<NotificationSettingRow>
  readonly preferences: ReadonlyArray<NotificationPreferenceRow>
}
/** Upserts the types it names. A preference that no longer says anything is taken away; what is said already stays. */
export const changePreferences = (
  changes: ReadonlyArray<Change>,
  { member_id, preferences, settings }: PreferenceFacts,
  context: DecideContext
): Decided => {
  const events = changes.flatMap(({ channels: given, flag, type }): ReadonlyArray<NewEvent> => {
    const before = preferences.find((one) => one.notification_type === type.key)
    const setting = settings.find((one) => one.notification_type === type.key)
    const channels = changedChannels(before?.channels ?? null, followedBy(type, setting), given)
    const is_muted = flag ?? before?.is_muted ?? false
    const says_nothing = channels === null && !is_muted
    if (before !== undefined && says_nothing) return [deletedEvent(notification_preferences, before.id, before)]
    if (before !== undefined)
      return [updatedEvent(notification_preferences, before, { channels, is_muted }) ?? []].flat()
    if (says_nothing) return []
    const id = context.id(notification_preferences)
    const made = { id, member_id, notification_type: type.key, channels, is_muted }
    return [createdEvent(notification_preferences, made)]
  })
  return Result.succeed({ events, result: { id: member_id } })
}

export interface ChangedSettings {
  readonly changed: ReadonlyArray<string>
}
export const changeSettings = (
  changes: ReadonlyArray<Change>,
  settings: ReadonlyArray<NotificationSettingRow>
): Decided<ChangedSettings> => {
  const events = changes.flatMap(({ channels: given, flag, type }) => {
    const before = settings.find((one) => one.notification_type === type.key)
    const now = {
      notification_type: type.key,
      channels: changedChannels(before?.channels ?? null, inOrder(type.default_channels), given),
      is_enabled: flag ?? before?.is_enabled ?? true
    }
    const was = { channels: before?.channels ?? null, is_enabled: before?.is_enabled ?? true }
    const is_same = now.is_enabled === was.is_enabled && sameJson(now.channels, was.channels)
    return is_same ? [] : [notificationSettingChanged.make(now)]
  })
  return Result.succeed({ events, result: { changed: events.map(({ data }) => String(data["notification_type"])) } })
}
