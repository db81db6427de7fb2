/**
 * What a reader may not see never leaves the server: columns with a permission of their own are cut from rows and events
 * alike, and tables nobody's rules need but their own readers' stay away whole.
 */
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import type { Table } from "../../core/kernel/table.ts"
import { can, type Viewer } from "../../core/kernel/viewer.ts"
import { decided_event } from "../wire.ts"

export interface Redaction {
  /** The permissions that decide what is visible, and whether this reader holds each: equal grants see equal events. */
  readonly fingerprint: string
  /** The event's data as this reader may see it; undefined when the event is not for this replica at all. */
  readonly see: (event: { readonly type: string; readonly data: JsonObject; readonly replica_id: number | null }) => JsonObject | undefined
  /** Columns of a table this reader may see, the key among them; undefined when the table is not for them at all. */
  readonly columns: (table: Table) => ReadonlyArray<string> | undefined
}

/** Tables that only their own endpoints read, with the permission these ask for: no rule a device runs misses their rows. */
const withheld_tables: { readonly [table: string]: string } = {
  activities: "activities.view", activity_participants: "activities.view",
  emails: "members.view", phones: "members.view", links: "members.view"
}

/** `opportunity.item_added` is about an opportunity. */
const subjectOf = (type: string): string => type.slice(0, type.indexOf("."))

export const redactionFor = (catalogue: Catalogue, viewer: Viewer, replica_id: number): Redaction => {
  const guarded = catalogue.tables.flatMap((table) => Object.entries(table.columns)
    .filter(([, field]) => field.visible_to !== undefined)
    .map(([column, field]) => ({ table, column, permission: field.visible_to! })))
  const withheld = catalogue.tables.filter((table) => withheld_tables[table.name] !== undefined)
  const permissions = [...new Set([...guarded.map((one) => one.permission), ...withheld.map((table) => withheld_tables[table.name]!)])].sort()
  // Events of a thing and of what it is made of may carry the rows of either: a guarded name is guarded in all of them.
  const hidden = new Map<string, Set<string>>()
  for (const { table, column } of guarded.filter((one) => !can(viewer, one.permission))) {
    for (const subject of [table.entity, table.stream?.entity ?? table.entity]) hidden.set(subject, (hidden.get(subject) ?? new Set()).add(column))
  }
  const away = withheld.filter((table) => !can(viewer, withheld_tables[table.name]!))
  const awaySubjects = new Set(away.map((table) => table.entity))
  return {
    fingerprint: permissions.map((one) => `${one}=${can(viewer, one)}`).join(","),
    see: (event) => {
      if (event.type === decided_event && event.replica_id !== replica_id) return undefined
      const subject = subjectOf(event.type)
      if (awaySubjects.has(subject)) return undefined
      const cut = hidden.get(subject)
      return cut === undefined ? event.data : without(event.data, cut) as JsonObject
    },
    columns: (table) => away.includes(table) ? undefined
      : Object.entries(table.columns).filter(([, field]) => field.visible_to === undefined || can(viewer, field.visible_to)).map(([name]) => name)
  }
}

/** The same data without these keys, at any depth. */
const without = (value: Json, cut: ReadonlySet<string>): Json =>
  Array.isArray(value) ? value.map((one) => without(one, cut))
    : isJsonObject(value) ? Object.fromEntries(Object.entries(value).filter(([key]) => !cut.has(key)).map(([key, one]) => [key, without(one, cut)]))
    : value
