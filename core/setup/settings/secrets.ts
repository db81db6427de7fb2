/**
 * Secrets among the settings: stored encrypted in a server table outside the journal. The journal records only that one
 * was set or removed, by whom and when.
 */
import { Effect, Schema } from "effect"
import { CommandRuntime } from "../../kernel/endpoints/endpoint.ts"
import { eventType, streamOf } from "../../kernel/events/event-type.ts"
import type { Field, Fields, Json, JsonObject } from "../../kernel/fields/field.ts"
import { longText, text, timestamp } from "../../kernel/fields/field.ts"
import { at_server, Rejection } from "../../kernel/fields/rejection.ts"
import { Store, type StoreRead } from "../../kernel/store/store.ts"
import { insert, plainTable, remove, type RowChange } from "../../kernel/tables/table.ts"

export const secret_settings = plainTable(
  "secret_settings",
  "key",
  { key: text(), group: text(), sealed: longText({ secret: true }), updated_at: timestamp() },
  { entity: "secret_setting", indexes: [["group"]] }
)

export const settingSecretChanged = eventType("setting.secret_changed", {
  meaning: "A secret setting was changed or removed. Its value stays on the server.",
  data: () => Schema.Struct({ group: Schema.String, key: Schema.String, is_set: Schema.Boolean }),
  stream: ({ group }) => streamOf("settings", group),
  project: "changes_no_table"
})

/** Shown in place of a stored secret. Sending it back keeps the secret. */
export const secret_placeholder = "********"

/** New secrets by key; null removes one. */
export type SecretChanges = { readonly [key: string]: string | null }
/** The secrets of one group; undefined for one that this server's key cannot decrypt. */
export type KnownSecrets = ReadonlyMap<string, string | undefined>

/** A group's fields, split into secret and open ones. */
export const secretFields = (fields: Fields): { readonly secret: Fields; readonly open: Fields } => {
  const part = (secret: boolean): Fields =>
    Object.fromEntries(Object.entries(fields).filter(([, field]: readonly [string, Field]) => field.secret === secret))
  return { secret: part(true), open: part(false) }
}
/** Secrets in the body, except unchanged placeholders. */
export const secretsGiven = (secret: Fields, given: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.keys(secret).flatMap((key) => {
      const value: Json | undefined = Object.hasOwn(given, key) ? given[key] : undefined
      return value === undefined || value === secret_placeholder ? [] : [[key, value] as const]
    })
  )

/** The stored secrets of a group. Refused where there is no server to store them. */
export const knownSecrets = Effect.fnUntraced(function* (
  group: string,
  asked: ReadonlyArray<string>
): CommandRuntime.Reads<KnownSecrets> {
  if (asked.length === 0) return new Map()
  const { secrets } = yield* CommandRuntime
  if (secrets === undefined) {
    return yield* new Rejection({
      kind: "unavailable",
      message: `${asked.join(", ")}: secrets are kept on the server alone. Ask it (--remote), or leave them out.`,
      errors: { [at_server]: asked }
    })
  }
  const rows = yield* Store.find(secret_settings, { group })
  return new Map(rows.map(({ key, sealed }) => [key.slice(group.length + 1), secrets.open(sealed)]))
})

/** Events for those given secrets that differ from the stored ones. */
export const secretEvents = (group: string, given: SecretChanges, known: KnownSecrets) =>
  Object.entries(given).flatMap(([key, value]) => {
    const is_new = value === null ? known.has(key) : !known.has(key) || known.get(key) !== value
    return is_new ? [settingSecretChanged.make({ group, key, is_set: value !== null })] : []
  })

/** Stores new secrets, in the transaction of the event that records the change. */
export const keepSecrets = Effect.fnUntraced(function* (
  group: string,
  given: SecretChanges,
  now: string
): Store.Reads<void> {
  const secrets = (yield* CommandRuntime.ifAny)?.secrets
  if (secrets === undefined) return
  yield* Store.apply(
    Object.entries(given).flatMap(([name, value]): ReadonlyArray<RowChange> => {
      const key = `${group}.${name}`
      const before = remove(secret_settings, key)
      if (value === null) return [before]
      return [before, insert(secret_settings, { key, group, sealed: secrets.seal(value), updated_at: now })]
    })
  )
})

/** Secrets of these groups in answers: a placeholder, or null if not set; absent on a device. */
export const shownSecrets = Effect.fnUntraced(function* (groups: {
  readonly [group: string]: Fields
}): Store.Reads<{ readonly [group: string]: SecretChanges }> {
  const keys = Object.entries(groups).flatMap(([group, fields]) =>
    Object.keys(secretFields(fields).secret).map((key) => ({ group, key }))
  )
  const runtime = yield* CommandRuntime.ifAny
  if (keys.length === 0 || runtime?.secrets === undefined) return {}
  const found = yield* Store.getMany(
    secret_settings,
    keys.map(({ group, key }) => `${group}.${key}`)
  )
  const is_set = new Set(found.map((row) => row.key))
  const shown: { [group: string]: { [key: string]: string | null } } = {}
  for (const { group, key } of keys)
    (shown[group] ??= {})[key] = is_set.has(`${group}.${key}`) ? secret_placeholder : null
  return shown
})

/**
 * A secret, for server code that needs it; undefined if none is set. Refused if it was encrypted under another key:
 * after changing the key, set it again.
 */
export const secretSetting = Effect.fnUntraced(function* (
  group: string,
  key: string
): CommandRuntime.Reads<string | undefined> {
  const row = yield* Store.get(secret_settings, `${group}.${key}`)
  if (row === undefined) return undefined
  const secret = (yield* CommandRuntime).secrets?.open(row.sealed)
  return secret ?? (yield* new Rejection({ kind: "unavailable", message: unreadableSecrets([row.key]) }))
})

export const unreadableSecrets = (keys: ReadonlyArray<string>): string =>
  `${keys.join(", ")} cannot be read with this server's FLIGHTCASE_KEY. ` +
  "Set what it seals again, or start the server with the earlier key."

/** Secrets that this server's key cannot decrypt, by group and key. */
export const lostSecrets: StoreRead<ReadonlyArray<string>> = Effect.gen(function* () {
  const runtime = yield* CommandRuntime.ifAny
  const rows = yield* Store.find(secret_settings, {})
  return rows.filter(({ sealed }) => runtime?.secrets?.open(sealed) === undefined).map(({ key }) => key)
})
