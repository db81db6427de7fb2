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
    // Rules need settings of every kind; those that guard the API are seen by people who manage them only.
    visibility: {
      all_columns: ["settings.*"],
      granted_columns: [{ to: "everyone", columns: ["group", "value", "updated_at"] }],
      by_key: (key) => (/^(api|action_log)\./.test(String(key)) ? "none" : undefined)
    }
  }
)

/** One key of a group: how it is read from a body; its `default` holds until it is changed. */
export type SettingGroups = { readonly [group: string]: { readonly [key: string]: Field } }
export type Settings = { readonly [group: string]: { readonly [key: string]: Json } }

/** All settings, defaults included, from the stored rows; never secrets. */
export const settingsFrom = (
  groups: SettingGroups,
  rows: ReadonlyArray<{ readonly key: string; readonly value: Json | null }>
): Settings => {
  const changed = new Map(rows.map((row) => [row.key, row.value]))
  const all: { [group: string]: { [key: string]: Json } } = {}
  for (const [group, keys] of Object.entries(groups)) {
    const values: { [key: string]: Json } = (all[group] = {})
    for (const [key, field] of Object.entries(keys)) {
      if (field.secret) continue
      const stored = changed.get(`${group}.${key}`)
      values[key] = stored === undefined ? (field.default ?? null) : stored
    }
  }
  return all
}
export const settingText = (settings: Settings, group: string, key: string): string =>
  String(settings[group]?.[key] ?? "")
export const settingNumber = (settings: Settings, group: string, key: string): number =>
  Number(settings[group]?.[key] ?? 0)
export const baseCurrency = (settings: Settings): string => settingText(settings, "company", "base_currency") || "GBP"

export const settingsUpdated: EventType<{ readonly group: string; readonly values: JsonObject }> = eventType(
  "settings.updated",
  {
    meaning: "Settings of a group changed: those that did, as they are now.",
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
   * Time of the event unless stated otherwise: when the device recorded it, by its clock, however late it is sent.
   * Never after `now`, and `now` for direct requests.
   */
  readonly happened_at: string
  readonly viewer: Viewer
  readonly settings: Settings
  /** The next id of an entity's table: drawn before deciding, and the same one when a command is decided again. */
  readonly id: (table: Table) => number
  /** The next number of a document sequence; null offline, where only the server numbers. */
  readonly number: (sequence: string) => number | null
}
