/** Notifications as a whole: what people may be told of, the house's settings and members' preferences. */
import { Effect } from "effect"
import * as Shown from "../kernel/answer-schema.ts"
import type { Slice } from "../kernel/catalogue.ts"
import { type CallerContext, command, get, type SharedDraft } from "../kernel/endpoint.ts"
import { lockStreams } from "../kernel/engine.ts"
import { streamOf } from "../kernel/event.ts"
import { text } from "../kernel/field.ts"
import { forbidden, notFound, type Rejection } from "../kernel/rejection.ts"
import { ok, unpagedMeta } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { hasOnePermission, type Viewer } from "../kernel/viewer.ts"
import { members } from "../members/schema.ts"
import { changePreferences, changeSettings } from "./decide.ts"
import { notificationEvents, preferencesErased } from "./events.ts"
import { changesIn, entryProblems, preferenceFields, settingFields } from "./fields.ts"
import { notificationRules } from "./rules.ts"
import { notification_preferences, notification_settings } from "./schema.ts"
import { preferences_shown, settings_shown, shownPreferences, shownSettings } from "./shown.ts"

const own_path = "/api/v1/notification_preferences"
const members_path = "/api/v1/members/{id}/notification_preferences"
const settings_path = "/api/v1/notification_settings"

const oneList = { notification_preferences: preferences_shown, meta: Shown.meta }
const reads = { ability: "notification-preferences:read", permission: null } as const satisfies SharedDraft
// A body without the list says nothing: it is refused.
const writes = {
  ability: "notification-preferences:write",
  permission: null,
  mode: "create"
} as const satisfies SharedDraft
const check = entryProblems("preferences")

const editing = "members.edit"
/**
 * Needs `members.edit`. Asked for here and not by `permission`: this ability alone must not open to a token's device
 * what the permission opens elsewhere, the members themselves (kernel/token-permissions.ts).
 */
const authorize = ({ viewer }: Pick<CallerContext, "viewer">): Effect.Effect<void, Rejection> =>
  hasOnePermission(viewer, editing) ? Effect.void : Effect.fail(forbidden(`This needs the permission ${editing}.`))
const of_member = { params: { id: { table: members } }, authorize } as const

const listed = (member_id: number) =>
  Effect.map(notificationRules([member_id]), (rules) => {
    const rows = shownPreferences(member_id, rules)
    return ok({ notification_preferences: rows, meta: unpagedMeta(rows.length) })
  })
/** Whose preferences a user's own are: every account has a member record. */
const ownMember = ({ person_id }: Viewer): Effect.Effect<number, Rejection> =>
  person_id === null
    ? Effect.fail(notFound("Your account has no member record, which preferences are kept with."))
    : Effect.succeed(person_id)
const preferenceFacts = Effect.fnUntraced(function* (member_id: number) {
  const store = yield* Store
  return {
    member_id,
    settings: yield* store.find(notification_settings, {}),
    preferences: yield* store.find(notification_preferences, { member_id })
  }
})

const preferences = [
  get(own_path, {
    answer: oneList,
    error_answers: { 404: null },
    name: "notification_preferences.list",
    summary: "Show what you are told of, and by which channels",
    ...reads,
    run: ({ viewer }) => Effect.flatMap(ownMember(viewer), listed)
  }),
  command("PUT", own_path, {
    answer: oneList,
    error_answers: { 404: null },
    name: "notification_preferences.update",
    summary: "Change what you are told of, and by which channels",
    ...writes,
    fields: preferenceFields,
    check,
    facts: ({ viewer }) =>
      Effect.gen(function* () {
        const member_id = yield* ownMember(viewer)
        // The path names no row, so that the member's other writers are waited for here.
        yield* lockStreams([streamOf(members.entity, member_id)])
        return yield* preferenceFacts(member_id)
      }),
    decide: (facts, { body, values }, context) =>
      changePreferences(
        changesIn(values.preferences ?? [], body, "preferences", (one) => one.is_muted),
        facts,
        context
      ),
    respond: ({ id }) => listed(id)
  }),
  get(members_path, {
    answer: oneList,
    name: "members.notification_preferences.list",
    summary: "Show what a member is told of, and by which channels",
    ...reads,
    ...of_member,
    run: ({ rows }) => listed(rows.id.id)
  }),
  command("PUT", members_path, {
    answer: oneList,
    name: "members.notification_preferences.update",
    summary: "Change what a member is told of, and by which channels",
    ...writes,
    ...of_member,
    fields: preferenceFields,
    check,
    facts: ({ rows }) => preferenceFacts(rows.id.id),
    decide: (facts, { body, values }, context) =>
      changePreferences(
        changesIn(values.preferences ?? [], body, "preferences", (one) => one.is_muted),
        facts,
        context
      ),
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
    summary: "Show what people are told of where they say nothing themselves",
    ability: "notification-settings:read",
    permission: "notifications.manage",
    run: () => settingsListed
  }),
  command("PUT", settings_path, {
    answer: settingsList,
    name: "notification_settings.update",
    summary: "Change what people are told of where they say nothing themselves",
    ability: "notification-settings:write",
    permission: "notifications.manage",
    mode: "create",
    fields: settingFields,
    check: entryProblems("settings"),
    streams: () => [notification_settings.name],
    facts: () => Effect.flatMap(Store, (store) => store.find(notification_settings, {})),
    decide: (facts, { body, values }) =>
      changeSettings(
        changesIn(values.settings ?? [], body, "settings", (one) => one.is_enabled),
        facts
      ),
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
