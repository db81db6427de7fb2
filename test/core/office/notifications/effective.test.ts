/** Channels per user, in every combination of type, setting and preference (rules/conventions 15). */
import { describe, expect, it } from "vitest"
import { shownPreferences, shownSettings } from "../../../../core/office/notifications/fields.ts"
import {
  effectiveChannels,
  type NotificationChannel,
  type NotificationRules,
  type NotificationType,
  notificationType,
  notificationTypes,
  type TypePreference,
  type TypeSetting
} from "../../../../core/office/notifications/types.ts"

type Channels = ReadonlyArray<NotificationChannel> | null
const every: ReadonlyArray<NotificationChannel> = ["database", "email", "broadcast"]
const subsets: ReadonlyArray<Channels> = [
  null,
  ...Array.from({ length: 8 }, (_, bits) => every.filter((_one, at) => (bits & (1 << at)) !== 0))
]
const settings: ReadonlyArray<TypeSetting | undefined> = [
  undefined,
  ...subsets.flatMap((channels) => [true, false].map((is_enabled) => ({ channels, is_enabled })))
]
const preferences: ReadonlyArray<TypePreference | undefined> = [
  undefined,
  ...subsets.flatMap((channels) => [true, false].map((is_muted) => ({ channels, is_muted })))
]
/** The rule written as a list of cases, of which the first that applies decides. */
const expected = (type: NotificationType, setting: TypeSetting | undefined, preference: TypePreference | undefined) => {
  const levels: ReadonlyArray<readonly [boolean, Channels]> = [
    [type.is_system, type.default_channels],
    [setting !== undefined && !setting.is_enabled, []],
    [preference !== undefined && preference.is_muted, []],
    [preference !== undefined && preference.channels !== null, preference?.channels ?? null],
    [setting !== undefined && setting.channels !== null, setting?.channels ?? null],
    [true, type.default_channels]
  ]
  const [, decided] = levels.find(([applies]) => applies)!
  return every.filter((one) => decided!.includes(one) && type.available_channels.includes(one))
}
const typeOf = (key: string): NotificationType => {
  const found = notificationType(key)
  if (found === undefined) throw new Error(`no type ${key}`)
  return found
}
/** Values of each level for one type and member. */
const rulesOf = (
  key: string,
  setting: TypeSetting | undefined,
  preference: TypePreference | undefined
): NotificationRules => ({
  setting: (type) => (type === key ? setting : undefined),
  preference: (member_id, type) => (member_id === 7 && type === key ? preference : undefined),
  channels: () => new Set()
})
const on = (switches: { readonly [channel: string]: boolean }): ReadonlyArray<string> =>
  every.filter((one) => switches[one] === true)

describe("the effective channels of a user", () => {
  // A type without broadcast, even if settings and preferences of another release allow it.
  const narrow: NotificationType = { ...typeOf("invoice.overdue"), available_channels: ["database", "email"] }
  for (const type of [...notificationTypes, narrow])
    it(`combine setting and preference for ${type.key} with ${type.available_channels.length} channels, in ${settings.length * preferences.length} combinations`, () => {
      for (const setting of settings)
        for (const preference of preferences)
          expect(
            every.filter((one) => effectiveChannels(type, setting, preference).has(one)),
            JSON.stringify({ setting, preference })
          ).toEqual(expected(type, setting, preference))
    })
})

describe("a member's list of notification preferences", () => {
  const shown = (key: string, setting: TypeSetting | undefined, preference: TypePreference | undefined) =>
    shownPreferences(7, rulesOf(key, setting, preference)).find((one) => one.notification_type === key)!
  it("shows the effective channels, and for a muted type the channels it would have if unmuted", () => {
    for (const type of notificationTypes)
      for (const setting of settings)
        for (const preference of preferences) {
          const row = shown(type.key, setting, preference)
          const unmuted = preference === undefined ? undefined : { ...preference, is_muted: false }
          const says = JSON.stringify({ type: type.key, setting, preference })
          expect(on(row.channels), says).toEqual(expected(type, setting, unmuted))
          expect(Object.keys(row.channels), says).toEqual(type.available_channels)
          expect(row.is_muted, says).toBe(!type.is_system && preference?.is_muted === true)
        }
  })
  it.each([
    ["no setting and no preference", undefined, undefined, "default"],
    ["a company setting", { channels: ["email"], is_enabled: true }, undefined, "setting"],
    ["a user's preference", undefined, { channels: ["email"], is_muted: false }, "preference"],
    ["a muted preference", undefined, { channels: null, is_muted: true }, "preference"],
    [
      "a setting and a preference",
      { channels: [], is_enabled: true },
      { channels: ["email"], is_muted: false },
      "preference"
    ],
    ["a disabled setting", { channels: null, is_enabled: false }, { channels: ["email"], is_muted: false }, "setting"]
  ] as const)(
    "names the deciding level with %s (setting %o, preference %o): %s",
    (_case, setting, preference, source) => {
      expect(shown("invoice.overdue", setting, preference).source).toBe(source)
      expect(shown("password.reset", setting, preference).source).toBe("default")
    }
  )
  it("lists every type once, in the order of the types", () => {
    const rows = shownPreferences(7, rulesOf("", undefined, undefined))
    expect(rows.map((one) => one.notification_type)).toEqual(notificationTypes.map(({ key }) => key))
    expect(rows.filter((one) => one.is_system).map((one) => one.notification_type)).toEqual([
      "password.reset",
      "system.test_email"
    ])
  })
})

describe("the company's notification settings", () => {
  it("show each type's channels before users' preferences apply, and none if the type is disabled", () => {
    for (const type of notificationTypes)
      for (const setting of settings) {
        const row = shownSettings(rulesOf(type.key, setting, undefined)).find(
          (one) => one.notification_type === type.key
        )!
        expect(on(row.channels)).toEqual(expected(type, setting, undefined))
        expect(row.is_enabled).toBe(type.is_system || setting?.is_enabled !== false)
        expect(row.default_channels).toEqual(type.default_channels)
        expect(row.available_channels).toEqual(type.available_channels)
      }
  })
})
