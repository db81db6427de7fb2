/** The notifications slice: types, the company's settings and members' preferences. */
import { Effect, Result, Schema } from "effect"
import { command, createdEvent, decided, deletedEvent, eventType, follow, forbidden, get } from "../../kernel/index.ts"
import { hasOnePermission, insert, keysOf, lockStreams, notFound, ok, remove, removeWhere } from "../../kernel/index.ts"
import { rowEvents, sameJson, Shown, Store, storedValue, streamOf, text, unpagedMeta } from "../../kernel/index.ts"
import { updatedEvents, type SharedDraft, type Slice, type Viewer } from "../../kernel/index.ts"
import type { AnyEventType, CallerContext, DecideContext, Decided, NewEvent, Rejection } from "../../kernel/index.ts"
import type { Change } from "./fields.ts"
import {
  changesIn,
  entryProblems,
  preferenceFields,
  preferences_shown,
  settingFields,
  settings_shown,
  shownPreferences,
  shownSettings
} from "./fields.ts"
import type { NotificationChannel, NotificationPreferenceRow, NotificationSettingRow } from "./types.ts"
import { notification_channels, notification_preferences, notification_settings, notificationRules } from "./types.ts"
import { members } from "../../people/members/schema.ts"

// Events of notification settings and preferences. They carry the new values.

const { channels } = notification_settings.columns

const notificationSettingChanged = eventType("notification_setting.changed", {
  meaning: "The company set the channels of a notification type, or disabled it; null restores the default.",
  data: () =>
    Schema.Struct({ notification_type: Schema.String, channels: storedValue(channels), is_enabled: Schema.Boolean }),
  stream: ({ notification_type }) => streamOf(notification_settings.entity, notification_type),
  project: (setting) => [
    remove(notification_settings, setting.notification_type),
    ...(setting.channels === null && setting.is_enabled ? [] : [insert(notification_settings, setting)])
  ]
})

export const notificationEvents: ReadonlyArray<AnyEventType> = [
  notificationSettingChanged,
  ...rowEvents(notification_preferences)
]

const preferencesErased = follow(
  "member.anonymised",
  () => Schema.Struct({ id: Schema.Int, merged_ids: Schema.Array(Schema.Int) }),
  ({ id, merged_ids }) => [removeWhere(notification_preferences, { member_id: [id, ...merged_ids] })]
)

// Rules for changing settings and preferences (rules/conventions 15).

type Channels = ReadonlyArray<NotificationChannel> | null
const every_channel = keysOf(notification_channels)
/** Sorts channels in their declared order, so that equal choices are equal lists. */
const inOrder = (channels: ReadonlyArray<NotificationChannel>): ReadonlyArray<NotificationChannel> =>
  every_channel.filter((one) => channels.includes(one))

/**
 * New channels of a setting or preference. Channels absent from the change keep their effective value, which is stored
 * even if inherited: later changes of the inherited value do not affect it.
 */
const changedChannels = (
  own: Channels,
  followed: ReadonlyArray<NotificationChannel>,
  changes: Change["channels"]
): Channels => {
  if (changes === undefined) return own
  if (changes === null) return null
  if (Object.keys(changes).length === 0) return own
  const before = own ?? followed
  return every_channel.filter((one) => changes[one] ?? before.includes(one))
}

interface PreferenceFacts {
  readonly member_id: number
  readonly settings: ReadonlyArray<NotificationSettingRow>
  readonly preferences: ReadonlyArray<NotificationPreferenceRow>
}
/**
 * Sets preferences for the named types. A preference left with null channels and unmuted is deleted; repeated values
 * change nothing.
 */
export const changePreferences = (
  changes: ReadonlyArray<Change>,
  { member_id, preferences, settings }: PreferenceFacts,
  context: DecideContext
): Decided => {
  const events = changes.flatMap(({ channels: given, flag, type }): ReadonlyArray<NewEvent> => {
    const before = preferences.find((one) => one.notification_type === type.key)
    const setting = settings.find((one) => one.notification_type === type.key)
    const channels = changedChannels(before?.channels ?? null, setting?.channels ?? type.default_channels, given)
    const is_muted = flag ?? before?.is_muted ?? false
    const says_nothing = channels === null && !is_muted
    if (before !== undefined && says_nothing) return [deletedEvent(notification_preferences, before.id, before)]
    if (before !== undefined) return updatedEvents(notification_preferences, before, { channels, is_muted })
    if (says_nothing) return []
    const id = context.id(notification_preferences)
    const made = { id, member_id, notification_type: type.key, channels, is_muted }
    return [createdEvent(notification_preferences, made)]
  })
  return decided(member_id, events)
}

export const changeSettings = (
  changes: ReadonlyArray<Change>,
  settings: ReadonlyArray<NotificationSettingRow>
): Decided<{ readonly changed: ReadonlyArray<string> }> => {
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

const own_path = "/api/v1/notification_preferences"
const members_path = "/api/v1/members/{id}/notification_preferences"
const settings_path = "/api/v1/notification_settings"

const oneList = { notification_preferences: preferences_shown, meta: Shown.meta }
const reads = { ability: "notification-preferences:read", permission: null } as const satisfies SharedDraft
// Writes require the list of settings or preferences in the body.
const writes = {
  ability: "notification-preferences:write",
  permission: null,
  mode: "create"
} as const satisfies SharedDraft
const check = entryProblems("preferences")

const editing = "members.edit"
/**
 * Checks for `members.edit`. Not declared as `permission`: with that, the ability alone would give a token's device the
 * members themselves (core/kernel/endpoints/token-permissions.ts).
 */
const authorize = ({ viewer }: Pick<CallerContext, "viewer">): Effect.Effect<void, Rejection> =>
  hasOnePermission(viewer, editing) ? Effect.void : Effect.fail(forbidden(`This needs the permission ${editing}.`))
const of_member = { params: { id: { table: members } }, authorize } as const

const listed = (member_id: number) =>
  Effect.map(notificationRules([member_id]), (rules) => {
    const rows = shownPreferences(member_id, rules)
    return ok({ notification_preferences: rows, meta: unpagedMeta(rows.length) })
  })
/** Id of the member record that the user's preferences belong to; 404 if the account has none. */
const ownMember = ({ person_id }: Viewer): Effect.Effect<number, Rejection> =>
  person_id === null
    ? Effect.fail(notFound("Your account has no member record, which preferences are kept with."))
    : Effect.succeed(person_id)
const preferenceFacts = Effect.fnUntraced(function* (member_id: number) {
  return {
    member_id,
    settings: yield* Store.find(notification_settings, {}),
    preferences: yield* Store.find(notification_preferences, { member_id })
  }
})

const preferences = [
  get(own_path, {
    answer: oneList,
    error_answers: { 404: null },
    name: "notification_preferences.list",
    summary: "Show your notification preferences by type and channel",
    ...reads,
    run: ({ viewer }) => Effect.flatMap(ownMember(viewer), listed)
  }),
  command("PUT", own_path, {
    answer: oneList,
    error_answers: { 404: null },
    name: "notification_preferences.update",
    summary: "Change your notification preferences by type and channel",
    ...writes,
    fields: preferenceFields,
    check,
    facts: ({ viewer }) =>
      Effect.gen(function* () {
        const member_id = yield* ownMember(viewer)
        // Locks the member, as no path parameter names a row to lock.
        yield* lockStreams([streamOf(members.entity, member_id)])
        return yield* preferenceFacts(member_id)
      }),
    decide: (facts, { body, values }, context) =>
      changePreferences(changesIn(values.preferences ?? [], body, "preferences"), facts, context),
    respond: ({ id }) => listed(id)
  }),
  get(members_path, {
    answer: oneList,
    name: "members.notification_preferences.list",
    summary: "Show a member's notification preferences by type and channel",
    ...reads,
    ...of_member,
    run: ({ rows }) => listed(rows.id.id)
  }),
  command("PUT", members_path, {
    answer: oneList,
    name: "members.notification_preferences.update",
    summary: "Change a member's notification preferences by type and channel",
    ...writes,
    ...of_member,
    fields: preferenceFields,
    check,
    facts: ({ rows }) => preferenceFacts(rows.id.id),
    decide: (facts, { body, values }, context) =>
      changePreferences(changesIn(values.preferences ?? [], body, "preferences"), facts, context),
    respond: ({ id }) => listed(id)
  })
]

const settingsListed = Effect.map(notificationRules([]), (rules) => {
  const rows = shownSettings(rules)
  return ok({ notification_settings: rows, meta: unpagedMeta(rows.length) })
})
const settingsList = { notification_settings: settings_shown, meta: Shown.meta }
const settings = [
  get(settings_path, {
    answer: settingsList,
    name: "notification_settings.list",
    summary: "Show the company's notification defaults",
    ability: "notification-settings:read",
    permission: "notifications.manage",
    run: () => settingsListed
  }),
  command("PUT", settings_path, {
    answer: settingsList,
    name: "notification_settings.update",
    summary: "Change the company's notification defaults",
    ability: "notification-settings:write",
    permission: "notifications.manage",
    mode: "create",
    fields: settingFields,
    check: entryProblems("settings"),
    streams: () => [notification_settings.name],
    facts: () => Store.find(notification_settings, {}),
    decide: (facts, { body, values }) => changeSettings(changesIn(values.settings ?? [], body, "settings"), facts),
    result: Shown.keys({ changed: Shown.list(text()) }),
    respond: () => settingsListed
  })
]

export const notificationsSlice: Slice = {
  name: "notifications",
  tables: [notification_settings, notification_preferences],
  events: notificationEvents,
  follows: [preferencesErased],
  endpoints: [...preferences, ...settings]
}
