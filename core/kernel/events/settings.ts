/** Settings: groups of keys with defaults, recorded as events; a table holds the keys that were changed. */
import { Schema } from "effect"
import { type EventType, eventType, streamOf } from "./event-type.ts"
import { type Field, type Json, json, type JsonObject, text, timestamp } from "../fields/field.ts"
import { jsonObject } from "../tables/field-schema.ts"
import { plainTable, type RowChange, type Table } from "../tables/table.ts"
import type { Viewer } from "../fields/rejection.ts"

export const settings_table = plainTable(
  "settings",
  "key",
  { key: text(), group: text(), value: json<Json>({ form: "any", nullable: true }), updated_at: timestamp() },
  {
    indexes: [["group"]],
    entity: "setting",
    // Rules need all settings; settings of the server are visible only to users who manage them.
    visibility: {
      all_columns: ["settings.*"],
      granted_columns: [{ to: "everyone", columns: ["group", "value", "updated_at"] }],
      by_key: (key) => (/^(api|action_log|backups)\./.test(String(key)) ? "none" : undefined)
    }
  }
)

/** Setting groups: each key is declared as a field, whose `default` applies until it is changed. */
export type SettingGroups = { readonly [group: string]: { readonly [key: string]: Field } }
export type Settings = { readonly [group: string]: { readonly [key: string]: Json } }

/** All settings from the stored rows, with defaults; never secrets. */
export const settingsFrom = (
  groups: SettingGroups,
  rows: ReadonlyArray<{ readonly key: string; readonly value: Json | null }>
): Settings => {
  const all: { [group: string]: { [key: string]: Json } } = { ...defaultsOf(groups) }
  for (const row of rows) {
    const [group = "", ...rest] = row.key.split(".")
    const key = rest.join(".")
    const field = groups[group]?.[key]
    if (field !== undefined && !field.secret) all[group] = { ...all[group], [key]: row.value }
  }
  return all
}
/** Defaults of these groups, computed once. */
const defaultsOf = (groups: SettingGroups): Settings => {
  const known = all_defaults.get(groups)
  if (known !== undefined) return known
  const made = Object.fromEntries(
    Object.entries(groups).map(([group, keys]) => [
      group,
      Object.fromEntries(
        Object.entries(keys).flatMap(([key, field]): ReadonlyArray<readonly [string, Json]> =>
          field.secret ? [] : [[key, field.default ?? null]]
        )
      )
    ])
  )
  all_defaults.set(groups, made)
  return made
}
const all_defaults = new WeakMap<SettingGroups, Settings>()
export const settingText = (settings: Settings, group: string, key: string): string =>
  String(settings[group]?.[key] ?? "")
export const settingNumber = (settings: Settings, group: string, key: string): number =>
  Number(settings[group]?.[key] ?? 0)
export const baseCurrency = (settings: Settings): string => settingText(settings, "company", "base_currency") || "GBP"

export const settingsUpdated: EventType<{ readonly group: string; readonly values: JsonObject }> = eventType(
  "settings.updated",
  {
    meaning: "Settings of a group changed: their new values.",
    data: () => Schema.Struct({ group: Schema.String, values: jsonObject }),
    stream: ({ group }) => streamOf("settings", group),
    project: ({ group, values }, { recorded_at }) =>
      Object.entries(values).flatMap(([key, value]): ReadonlyArray<RowChange> => [
        { op: "delete", table: settings_table, key: `${group}.${key}` },
        { op: "insert", table: settings_table, row: { key: `${group}.${key}`, group, value, updated_at: recorded_at } }
      ])
  }
)

// Context of rules besides facts and input. Rules and reactions are pure functions.

/** Context of a decision: no clock, no randomness, no reads. */
export interface DecideContext {
  readonly now: string
  /**
   * Default time of the event: when a device recorded the command, by its clock, even if it was sent much later. Never
   * after `now`, and `now` for direct requests.
   */
  readonly happened_at: string
  readonly viewer: Viewer
  readonly settings: Settings
  /** The next id for a table; a command that is decided again gets the same ids. */
  readonly id: (table: Table) => number
  /** The next number of a document sequence; null offline, as only the server assigns numbers. */
  readonly number: (sequence: string) => number | null
}
/** The time and settings, on which reads and rules depend. */
export type Now = Pick<DecideContext, "now" | "settings">
