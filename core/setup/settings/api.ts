/** Endpoints of settings (rules/conventions 12): `{settings: {key: value}}` by group. */
import { Effect, Result } from "effect"
import { at_server, baseCurrency, command, CommandRuntime, get, insert, isJsonObject } from "../../kernel/index.ts"
import { json, mapValues, notFound, ok, readFields, reject, Rejection, remove, sameJson } from "../../kernel/index.ts"
import { settings_table, settingsUpdated, Shown, Store, text, unpagedMeta } from "../../kernel/index.ts"
import type { FieldErrors, Fields, Input, Json, JsonObject, RowChange, SettingGroups } from "../../kernel/index.ts"
import type { Settings, Slice, Table } from "../../kernel/index.ts"
import { nearest } from "../../values/nearest.ts"
import { settingGroups } from "./groups.ts"
import { secret_placeholder, secret_settings, secretFields, settingSecretChanged } from "./secrets.ts"

/** New secrets by key; null removes one. */
type SecretChanges = { readonly [key: string]: string | null }
/** The secrets of one group; undefined for one that this server's key cannot decrypt. */
type KnownSecrets = ReadonlyMap<string, string | undefined>

const groupOf = (input: Input): string => input.params["group"] ?? ""
const unknownGroup = notFound("No such group of settings.")

const values = Shown.map(Shown.anything(), {
  describe: "Values by key. A secret that is set reads ********; sending that back keeps it"
})
const declaredGroups = Effect.map(CommandRuntime, ({ catalogue }) => catalogue.settings)
const fieldsOf = (groups: SettingGroups, group: string): Fields | undefined =>
  Object.hasOwn(groups, group) ? groups[group] : undefined
/** Settings with these groups: a request is prepared with those of the slices that are loaded by then. */
const settingsWith = (groups: ReadonlyArray<string>, prepared: Settings) =>
  groups.every((group) => group in prepared)
    ? Effect.succeed(prepared)
    : Effect.flatMap(CommandRuntime, ({ settings }) => settings)
/** Secrets of these groups in answers: a placeholder, or null if not set; absent on a device. */
const shownSecrets = Effect.fnUntraced(function* (groups: {
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

const list = get("/api/v1/settings", {
  answer: { settings: Shown.objects({ group: text(), settings: values }), meta: Shown.meta },
  name: "settings.list",
  summary: "List the setting groups",
  ability: "settings:read",
  permission: "settings.view",
  run: Effect.fnUntraced(function* ({ query, settings }) {
    const groups = yield* declaredGroups
    const secrets = yield* shownSecrets(groups)
    const rows = Object.entries(yield* settingsWith(Object.keys(groups), settings)).map(([group, values]) => ({
      group,
      settings: { ...values, ...secrets[group] }
    }))
    return ok({ settings: rows, meta: unpagedMeta(rows.length, query) })
  })
})
const show = get("/api/v1/settings/{group}", {
  answer: { settings: values },
  name: "settings.show",
  summary: "Show one setting group",
  ability: "settings:read",
  permission: "settings.view",
  run: Effect.fnUntraced(function* (input: Input) {
    const group = groupOf(input)
    const { catalogue } = yield* CommandRuntime
    // Settings of slices that are not loaded yet are looked for last.
    const fields = fieldsOf(catalogue.loaded.settings, group) ?? fieldsOf(catalogue.settings, group)
    if (fields === undefined) return yield* unknownGroup
    const settings = yield* settingsWith([group], input.settings)
    return ok({ settings: { ...settings[group], ...(yield* shownSecrets({ [group]: fields }))[group] } })
  })
})

interface ChangeFacts {
  readonly fields: Fields
  readonly booked: boolean
  readonly secrets: KnownSecrets
}
/** Secrets in the body, except unchanged placeholders. */
const secretsGiven = (secret: Fields, given: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.keys(secret).flatMap((key) => {
      const value: Json | undefined = Object.hasOwn(given, key) ? given[key] : undefined
      return value === undefined || value === secret_placeholder ? [] : [[key, value] as const]
    })
  )

/** The secrets in a body for a group, with the errors of invalid ones. */
const readSecrets = (fields: Fields, given: JsonObject) => {
  const { secret } = secretFields(fields)
  const { errors, values } = readFields(secret, secretsGiven(secret, given), { mode: "update", base_currency: "GBP" })
  const texts: SecretChanges = mapValues(values, (value) => (typeof value === "string" ? value : null))
  return { errors, values: texts }
}
const settingsIn = ({ body }: Input): JsonObject => (isJsonObject(body["settings"]) ? body["settings"] : {})
/** Keys that the group does not have: ignored and listed, or refused if the request is strict (rules/conventions 8). */
const unknownKeys = (fields: Fields, given: JsonObject): ReadonlyArray<string> =>
  Object.keys(given).filter((key) => !Object.hasOwn(fields, key))
const unknownErrors = (fields: Fields, given: JsonObject): FieldErrors =>
  Object.fromEntries(
    unknownKeys(fields, given).map((key) => {
      const near = nearest(key, Object.keys(fields))
      return [key, [`There is no setting ${key} here.${near === undefined ? "" : ` Did you mean ${near}?`}`]]
    })
  )

const owners_backups = "Only the owner may change where backups go: a backup holds everything."
const decideChange = ({ fields, booked, secrets }: ChangeFacts, input: Input) => {
  const group = groupOf(input)
  if (group === "backups" && !input.viewer.is_owner)
    return Result.fail(new Rejection({ kind: "forbidden", message: owners_backups }))
  const given = input.body["settings"]
  if (!isJsonObject(given)) return reject("settings", "The settings field is required.")
  const stored = input.settings[group] ?? {}
  const secret = readSecrets(fields, given)
  const read = readFields(secretFields(fields).open, given, {
    mode: "update",
    base_currency: baseCurrency(input.settings)
  })
  const errors: { [key: string]: ReadonlyArray<string> } = {
    ...(input.strict ? unknownErrors(fields, given) : {}),
    ...read.errors,
    ...secret.errors
  }
  const { resolution } = read.values
  if (booked && resolution !== undefined && resolution !== stored["resolution"]) {
    errors["resolution"] = ["The resolution cannot change once stock has been booked."]
  }
  if (Object.keys(errors).length > 0) return Result.fail(invalidSettings(errors))
  const values = Object.fromEntries(
    Object.entries(read.values).filter(([key, value]) => !sameJson(value, stored[key] ?? null))
  )
  return Result.succeed({
    events: [
      ...(Object.keys(values).length === 0 ? [] : [settingsUpdated.make({ group, values })]),
      ...Object.entries(secret.values).flatMap(([key, value]) => {
        const is_new = value === null ? secrets.has(key) : !secrets.has(key) || secrets.get(key) !== value
        return is_new ? [settingSecretChanged.make({ group, key, is_set: value !== null })] : []
      })
    ],
    result: { ...stored, ...values }
  })
}
/** The stored secrets of a group; none if the body sets none. Refused where there is no server to store them. */
const knownSecrets = Effect.fnUntraced(function* (
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

/** Stores new secrets, in the transaction of the event that records the change. */
const keepSecrets = Effect.fnUntraced(function* (group: string, given: SecretChanges, now: string): Store.Reads<void> {
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

/** Warning about amounts that a change of the base currency does not convert; none before there are products. */
const currencyWarnings = Effect.fnUntraced(function* (changed: JsonObject, input: Input) {
  const [before, now] = [baseCurrency(input.settings), changed["base_currency"]]
  const runtime = yield* CommandRuntime.ifAny
  if (runtime === undefined || typeof now !== "string" || now === before) return []
  if (!(yield* Store.exists(runtime.catalogue.table("products"), {}))) return []
  return [
    "Amounts stored without a currency (replacement charges, credit limits) are not converted: " +
      `their digits now mean ${now}, no longer ${before}.`
  ]
})

/** `booked_rows`: the table whose rows prevent a change of the availability resolution. */
const change = (booked_rows: Table) =>
  command("PUT", "/api/v1/settings/{group}", {
    answer: { settings: values, meta: Shown.optional(Shown.warnings()) },
    name: "settings.update",
    summary: "Update settings of a group; omitted keys keep their values",
    ability: "settings:write",
    permission: "settings.manage",
    fields: {
      settings: json<JsonObject>({
        required: true,
        describe: 'New values by key: {"smtp_url": "smtp://…"}; settings show lists the keys'
      })
    },
    streams: (params) => [`settings:${params["group"]}`],
    facts: Effect.fnUntraced(function* (input: Input) {
      const group = groupOf(input)
      const fields = fieldsOf(yield* declaredGroups, group)
      if (fields === undefined) return yield* unknownGroup
      return {
        fields,
        secrets: yield* knownSecrets(group, Object.keys(secretsGiven(secretFields(fields).secret, settingsIn(input)))),
        booked: group === "availability" && (yield* Store.exists(booked_rows, {}))
      } satisfies ChangeFacts
    }),
    decide: decideChange,
    result: values,
    respond: Effect.fnUntraced(function* (settings, input) {
      const group = groupOf(input)
      const runtime = yield* CommandRuntime.ifAny
      const fields = fieldsOf(runtime?.catalogue.settings ?? {}, group) ?? {}
      const given = settingsIn(input)
      yield* keepSecrets(group, readSecrets(fields, given).values, input.now)
      const shown = { ...settings, ...(yield* shownSecrets({ [group]: fields }))[group] }
      const ignored = unknownKeys(fields, given).map((key) => `settings.${key}`)
      const warnings = yield* currencyWarnings(settings, input)
      if (ignored.length + warnings.length === 0) return ok({ settings: shown })
      const meta = { ...(ignored.length === 0 ? {} : { ignored }), ...(warnings.length === 0 ? {} : { warnings }) }
      return ok({ settings: shown, meta })
    })
  })

/** 422 with a fixed message (rules/conventions 1); each error is given under `<key>` and under `settings.<key>`. */
export const invalidSettings = (errors: FieldErrors): Rejection =>
  new Rejection({
    kind: "invalid",
    message: "The settings are invalid.",
    errors: {
      ...errors,
      ...Object.fromEntries(Object.entries(errors).map(([key, texts]) => [`settings.${key}`, texts]))
    }
  })

export const settingsSlice = (demands: Table): Slice => ({
  name: "settings",
  tables: [settings_table],
  server_tables: [secret_settings],
  events: [settingsUpdated, settingSecretChanged],
  settings: settingGroups,
  endpoints: [list, show, change(demands)]
})
