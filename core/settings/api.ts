/** How settings are read and changed (conventions 12): `{settings: {key: value}}` by group. */
import { Effect, Result } from "effect"
import { claims } from "../claims/schema.ts"
import type { Slice } from "../kernel/catalogue.ts"
import { command, get, type Input } from "../kernel/endpoint.ts"
import { event } from "../kernel/event.ts"
import { json } from "../kernel/field.ts"
import { readFields } from "../kernel/input.ts"
import { isJsonObject, type Json, type JsonObject, sameJson } from "../kernel/json.ts"
import { type FieldErrors, invalidField, notFound, Rejection } from "../kernel/rejection.ts"
import { ok } from "../kernel/resource.ts"
import { baseCurrency, type SettingGroups, settings_projection, settings_table } from "../kernel/settings.ts"
import { Store } from "../kernel/store/store.ts"
import { settingGroups } from "./groups.ts"

const groupOf = (input: Input): string => input.params["group"]!
const unknownGroup = notFound("No such group of settings.")

/** The slice of settings: groups of its own and those the other slices declare. */
export const settingsSlice = (others: ReadonlyArray<Slice>): Slice => {
  const groups: SettingGroups = Object.assign({}, settingGroups, ...others.map((slice) => slice.settings ?? {}))

  const list = get("/api/v1/settings", {
    name: "settings.list", summary: "List the groups of settings", ability: "settings:read", permission: "settings.view",
    run: ({ settings }) => {
      const rows = Object.keys(groups).map((group): JsonObject => ({ group, settings: settings[group] ?? {} }))
      return Effect.succeed(ok({ settings: rows, meta: { total: rows.length, per_page: rows.length, page: 1 } }))
    }
  })
  const show = get("/api/v1/settings/{group}", {
    name: "settings.show", summary: "Show one group of settings", ability: "settings:read", permission: "settings.view",
    run: (input: Input) => Effect.gen(function*() {
      const values = Object.hasOwn(groups, groupOf(input)) ? input.settings[groupOf(input)] : undefined
      return values === undefined ? yield* unknownGroup : ok({ settings: values })
    })
  })
  const change = command("PUT", "/api/v1/settings/{group}", {
    name: "settings.update", summary: "Change settings of a group; what is left out stays", ability: "settings:write", permission: "settings.manage",
    fields: { settings: json<JsonObject>({ required: true }) },
    streams: (params) => [`settings:${params["group"]}`],
    facts: (input: Input) => Effect.gen(function*() {
      if (!Object.hasOwn(groups, groupOf(input))) return yield* unknownGroup
      return { claimed: groupOf(input) === "availability" && (yield* (yield* Store).exists(claims, {})) }
    }),
    decide: ({ claimed }: { readonly claimed: boolean }, input) => {
      const group = groupOf(input)
      const given = input.body["settings"]
      if (!isJsonObject(given)) return Result.fail(invalidField("settings", "The settings field is required."))
      const stored = input.settings[group] ?? {}
      const read = readFields(groups[group]!, given, { mode: "update", base_currency: baseCurrency(input.settings) })
      const errors: { [key: string]: ReadonlyArray<string> } = { ...read.errors }
      if (claimed && read.values["resolution"] !== undefined && read.values["resolution"] !== stored["resolution"]) {
        errors["resolution"] = ["The resolution cannot change once stock has been booked."]
      }
      if (Object.keys(errors).length > 0) return Result.fail(invalidSettings(errors))
      const values = Object.fromEntries(Object.entries(read.values).filter(([key, value]) => !sameJson(value, stored[key] ?? null)))
      return Result.succeed({
        events: Object.keys(values).length === 0 ? [] : [event(`settings:${group}`, "settings.updated", { group, values })],
        result: { ...stored, ...values }
      })
    },
    respond: (result: JsonObject) => Effect.succeed(ok({ settings: result as Json }))
  })
  return {
    name: "settings", tables: [settings_table], projection: settings_projection, settings: settingGroups,
    endpoints: [list, show, change]
  }
}

/** The one place with a fixed message (conventions 1); each error stands under the key alone and under `settings.<key>`. */
const invalidSettings = (errors: FieldErrors): Rejection => new Rejection({
  kind: "invalid", message: "The settings are invalid.",
  errors: { ...errors, ...Object.fromEntries(Object.entries(errors).map(([key, texts]) => [`settings.${key}`, texts])) }
})
