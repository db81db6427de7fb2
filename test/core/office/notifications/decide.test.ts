/** Changing settings and preferences of notifications (rules/conventions 15). */
import { describe, expect, it } from "vitest"
import { changePreferences, changeSettings, notificationEvents } from "../../../../core/office/notifications/api.ts"
import { type Change, changesIn, entryProblems } from "../../../../core/office/notifications/fields.ts"
import {
  notification_preferences,
  notification_settings,
  type NotificationPreferenceRow,
  type NotificationSettingRow,
  notificationType
} from "../../../../core/office/notifications/types.ts"
import { decider, type Facts, given_at, row } from "../../decider.ts"

const { given } = decider(notificationEvents)
const overdue = "invoice.overdue"
const change = (said: Omit<Change, "type">, key = overdue): Change => {
  const type = notificationType(key)
  if (type === undefined) throw new Error(`no type ${key}`)
  return { type, ...said }
}
const preference = (values: Partial<NotificationPreferenceRow> = {}) =>
  row(notification_preferences, {
    id: 3,
    member_id: 7,
    notification_type: overdue,
    channels: ["email"],
    is_muted: false,
    created_at: given_at,
    updated_at: given_at,
    deleted_at: null,
    ...values
  })
const setting = (values: Partial<NotificationSettingRow> = {}) =>
  row(notification_settings, { notification_type: overdue, channels: ["broadcast"], is_enabled: true, ...values })
const prefer =
  (...changes: ReadonlyArray<Change>) =>
  (facts: Facts) =>
    changePreferences(
      changes,
      {
        member_id: 7,
        settings: facts.find(notification_settings, {}),
        preferences: facts.find(notification_preferences, { member_id: 7 })
      },
      facts.context
    )
const set =
  (...changes: ReadonlyArray<Change>) =>
  (facts: Facts) =>
    changeSettings(changes, facts.find(notification_settings, {}))
const stream = "member:7"
const made = (channels: ReadonlyArray<string> | null, is_muted = false, notification_type = overdue, id = 1001) => ({
  stream,
  type: "notification_preference.created",
  data: { id, member_id: 7, notification_type, channels, is_muted }
})
const updated = (channels: ReadonlyArray<string> | null, is_muted = false) => ({
  stream,
  type: "notification_preference.updated",
  data: { id: 3, member_id: 7, notification_type: overdue, channels, is_muted, created_at: given_at }
})
const no_flag = { flag: undefined }
const no_channels = { channels: undefined }

describe("a notification preference", () => {
  it("starts from the type's default channels", () =>
    given()
      .when(prefer(change({ channels: { broadcast: true }, ...no_flag })))
      .thenEvents(made(["database", "email", "broadcast"])))
  it("starts from the company's channels if the company set some", () =>
    given(setting())
      .when(prefer(change({ channels: { email: true }, ...no_flag })))
      .thenEvents(made(["email", "broadcast"])))
  it("starts from the company's channels even if the company disabled the type", () =>
    given(setting({ is_enabled: false }))
      .when(prefer(change({ channels: { email: true }, ...no_flag })))
      .thenEvents(made(["email", "broadcast"])))
  it("is stored even if it equals the type's default channels", () =>
    given()
      .when(prefer(change({ channels: { database: true }, ...no_flag })))
      .thenEvents(made(["database", "email"])))
  it("keeps channels omitted from the request", () =>
    given(setting(), preference())
      .when(prefer(change({ channels: { database: true }, ...no_flag })))
      .thenEvents(updated(["database", "email"])))
  it("may have no channel at all", () =>
    given(preference())
      .when(prefer(change({ channels: { email: false }, ...no_flag })))
      .thenEvents(updated([])))
  it("keeps its channels while muted; without own channels it follows the company's once unmuted", () => {
    given(preference())
      .when(prefer(change({ ...no_channels, flag: true })))
      .thenEvents(updated(["email"], true))
    given()
      .when(prefer(change({ ...no_channels, flag: true })))
      .thenEvents(made(null, true))
    given(preference({ channels: null, is_muted: true }))
      .when(prefer(change({ ...no_channels, flag: false })))
      .thenEvents({ stream, type: "notification_preference.deleted", data: { id: 3 } })
  })
  it("is removed by null channels, but kept if muted", () => {
    given(preference())
      .when(prefer(change({ channels: null, ...no_flag })))
      .thenEvents({ stream, type: "notification_preference.deleted", data: { id: 3 } })
    given(preference({ is_muted: true }))
      .when(prefer(change({ channels: null, ...no_flag })))
      .thenEvents(updated(null, true))
  })
  it.each([
    ["the same channels", { channels: { email: true, database: false }, ...no_flag }],
    ["no channels", { channels: {}, ...no_flag }],
    ["not muted", { ...no_channels, flag: false }],
    ["nothing", { ...no_channels, ...no_flag }]
  ])("is unchanged by a request with nothing new: %s", (_case, said) =>
    given(preference())
      .when(prefer(change(said)))
      .thenNothing()
  )
  it.each([
    ["null", { channels: null, ...no_flag }],
    ["no channels", { channels: {}, ...no_flag }],
    ["not muted", { ...no_channels, flag: false }]
  ])("is not created from an empty request: %s", (_case, said) =>
    given()
      .when(prefer(change(said)))
      .thenNothing()
  )
  it("is created for each named type that has none yet", () =>
    given(preference())
      .when(
        prefer(
          change({ channels: { email: true }, ...no_flag }, "payment.recorded"),
          change({ channels: { email: true }, ...no_flag }),
          change({ ...no_channels, flag: true }, "document.accepted")
        )
      )
      .thenEvents(
        made(["database", "email"], false, "payment.recorded", 1001),
        made(null, true, "document.accepted", 1002)
      ))
})

describe("a company notification setting", () => {
  const changed = (channels: ReadonlyArray<string> | null, is_enabled = true) => ({
    stream: `notification_setting:${overdue}`,
    type: "notification_setting.changed",
    data: { notification_type: overdue, channels, is_enabled }
  })
  it("starts from the type's default channels", () =>
    given()
      .when(set(change({ channels: { email: false }, ...no_flag })))
      .thenEvents(changed(["database"])))
  it("may disable every channel", () =>
    given()
      .when(set(change({ channels: { email: false, database: false }, ...no_flag })))
      .thenEvents(changed([])))
  it("keeps its channels when disabled and enabled", () => {
    given(setting())
      .when(set(change({ ...no_channels, flag: false })))
      .thenEvents(changed(["broadcast"], false))
    given(setting({ channels: null, is_enabled: false }))
      .when(set(change({ ...no_channels, flag: true })))
      .thenEvents(changed(null))
  })
  it("follows the type's channels again once its own are null", () =>
    given(setting())
      .when(set(change({ channels: null, ...no_flag })))
      .thenEvents(changed(null)))
  it("is unchanged by a request with nothing new", () => {
    given(setting())
      .when(set(change({ channels: { broadcast: true, email: false }, flag: true })))
      .thenNothing()
    given()
      .when(set(change({ channels: null, flag: true })))
      .thenNothing()
  })
})

describe("entries of a request", () => {
  const problems = entryProblems("preferences")
  const errorsOf = (...preferences: ReadonlyArray<any>): object => problems({}, { preferences })
  const of = (notification_type: string, more: object = {}): object => ({ notification_type, ...more })
  const always_sent = (type: string) => [
    `${type} is a system type: it is always sent, and nothing of it can be changed.`
  ]
  it.each<[string, ReadonlyArray<object>, object]>([
    ["a preference", [of(overdue, { channels: { email: true } })], {}],
    ["null channels", [of(overdue, { channels: null })], {}],
    ["muted alone", [of(overdue, { is_muted: true })], {}],
    [
      "neither channels nor is_muted",
      [of(overdue)],
      { "preferences.0.channels": ["The channels field is required where is_muted is left out."] }
    ],
    [
      "a system type",
      [of(" password.reset ", { is_muted: true })],
      { "preferences.0.notification_type": always_sent("password.reset") }
    ],
    [
      "an unknown channel",
      [of(overdue, { channels: { email: true, sms: true } })],
      { "preferences.0.channels.sms": ["invoice.overdue has no such channel: it has database, email, broadcast."] }
    ],
    [
      "a channel that the type lacks",
      [of("system.test_email", { channels: { database: false } })],
      {
        "preferences.0.notification_type": always_sent("system.test_email"),
        "preferences.0.channels.database": ["system.test_email has no such channel: it has email."]
      }
    ],
    [
      "a type twice",
      [of(overdue, { is_muted: true }), of("payment.recorded", { is_muted: true }), of(overdue, { is_muted: false })],
      { "preferences.2.notification_type": ["invoice.overdue stands at preferences.0 already: name each type once."] }
    ]
  ])("are checked against the notification types: %s", (_case, entries, errors) =>
    expect(errorsOf(...entries)).toEqual(errors)
  )
  it("distinguish null channels from absent ones", () => {
    const entries = [{ notification_type: overdue }, { notification_type: "payment.recorded" }]
    const body = { preferences: [{ ...entries[0], channels: null }, { ...entries[1] }] }
    expect(changesIn(entries, body, "preferences").map(({ channels }) => channels)).toEqual([null, undefined])
  })
})
