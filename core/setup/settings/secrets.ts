/**
 * Secrets among the settings: stored encrypted in a server table outside the journal. The journal records only that one
 * was set or removed, by whom and when.
 */
import { Effect, Schema } from "effect"
import { CommandRuntime, eventType, longText, plainTable, Rejection, Store, streamOf } from "../../kernel/index.ts"
import { text, timestamp, type Field, type Fields, type StoreRead } from "../../kernel/index.ts"

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

/** A group's fields, split into secret and open ones. */
export const secretFields = (fields: Fields): { readonly secret: Fields; readonly open: Fields } => {
  const part = (secret: boolean): Fields =>
    Object.fromEntries(Object.entries(fields).filter(([, field]: readonly [string, Field]) => field.secret === secret))
  return { secret: part(true), open: part(false) }
}
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
