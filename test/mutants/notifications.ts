/** Faults in notifications: precedence of levels, and access to others' preferences. */
import type { Mutant } from "./mutant.ts"

const effective = "core/office/notifications/types.ts"
const decide = "core/office/notifications/api.ts"
const effective_test = "test/core/office/notifications/effective.test.ts"
const decide_test = "test/core/office/notifications/decide.test.ts"
const api_test = "test/api/notification-preferences.test.ts"
const device_test = "test/sync/notification-preferences.test.ts"

export const notification_mutants: ReadonlyArray<Mutant> = [
  {
    name: "a muted type is notified",
    file: effective,
    within: "effectiveChannels",
    find: "preference?.is_muted === true",
    replace: "preference?.is_muted === undefined",
    killed_by: [{ file: effective_test, test: "the effective channels of a user" }]
  },
  {
    name: "the company's setting overrides the user's preference",
    file: effective,
    within: "effectiveChannels",
    find: "preference?.channels ?? setting?.channels",
    replace: "setting?.channels ?? preference?.channels",
    killed_by: [{ file: effective_test, test: "the effective channels of a user" }]
  },
  {
    name: "a system type can be muted",
    file: effective,
    within: "effectiveChannels",
    find: "type.is_system",
    replace: 'type.key === ""',
    killed_by: [{ file: effective_test, test: "the effective channels of a user" }]
  },
  {
    name: "a channel that is left out is turned off",
    file: decide,
    within: "changedChannels",
    find: "changes[one] ?? before.includes(one)",
    replace: "changes[one] ?? false",
    killed_by: [
      { file: decide_test, test: "keeps channels omitted from the request" },
      { file: api_test, test: "let a user override the company's setting", engine: "sqlite" }
    ]
  },
  {
    name: "a preference equal to the default is stored",
    file: decide,
    within: "changePreferences",
    find: "before !== undefined && says_nothing",
    replace: "before === undefined && says_nothing",
    killed_by: [{ file: decide_test, test: "is removed by null channels, but kept if muted" }]
  },
  {
    name: "an unchanged setting is recorded",
    file: decide,
    within: "changeSettings",
    find: "now.is_enabled === was.is_enabled && sameJson(now.channels, was.channels)",
    replace: "now.is_enabled === was.is_enabled && now.channels === was.channels",
    killed_by: [
      { file: decide_test, test: "is unchanged by a request with nothing new" },
      { file: api_test, test: "are not recorded without a change", engine: "sqlite" }
    ]
  },
  {
    name: "a body may name a type twice",
    file: "core/office/notifications/fields.ts",
    within: "typeProblem",
    find: "before !== undefined",
    replace: 'before === ""',
    killed_by: [{ file: decide_test, test: "a type twice" }]
  },
  {
    name: "any user may change a member's preferences",
    file: "core/office/notifications/api.ts",
    within: "authorize",
    find: "hasOnePermission(viewer, editing)",
    replace: "hasOnePermission(viewer, editing) || viewer.is_active",
    killed_by: [
      { file: api_test, test: "need the abilities of notifications, and members.edit for a member's", engine: "sqlite" }
    ]
  },
  {
    name: "devices receive every user's preferences",
    file: "core/office/notifications/types.ts",
    within: "notification_preferences",
    find: 'row["member_id"] === viewer.person_id',
    replace: 'row["member_id"] !== 0',
    killed_by: [
      { file: device_test, test: "set by somebody else for a user reach that user's device", engine: "sqlite" }
    ]
  },
  {
    name: "an anonymised person's preferences stay",
    file: "core/office/notifications/api.ts",
    within: "preferencesErased",
    find: "member_id: [id, ...merged_ids]",
    replace: "member_id: merged_ids",
    killed_by: [{ file: api_test, test: "are erased with their person", engine: "sqlite" }]
  },
  {
    name: "one of two concurrent changes of preferences is lost",
    file: "core/office/notifications/api.ts",
    within: "preferences",
    find: "yield* lockStreams([streamOf(members.entity, member_id)])",
    replace: "",
    killed_by: [{ file: api_test, test: "keep all changes of sixteen concurrent requests", engine: "pg" }]
  }
]
