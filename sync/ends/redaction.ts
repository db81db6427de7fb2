/** What a reader may not see never leaves the server: columns with a permission of their own are cut from events. */
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { can, type Viewer } from "../../core/kernel/viewer.ts"
import { decided_event } from "../wire.ts"

export interface Redaction {
  /** The permissions that decide what is visible, and whether this reader holds each: equal grants see equal events. */
  readonly fingerprint: string
  /** The event's data as this reader may see it; undefined when the event is not for this replica at all. */
  readonly see: (event: { readonly type: string; readonly data: JsonObject; readonly replica_id: number | null }) => JsonObject | undefined
}

export const redactionFor = (catalogue: Catalogue, viewer: Viewer, replica_id: number): Redaction => {
  const guarded = catalogue.tables.flatMap((table) => Object.entries(table.columns)
    .filter(([, field]) => field.visible_to !== undefined)
    .map(([column, field]) => ({ table, column, permission: field.visible_to! })))
  const permissions = [...new Set(guarded.map((one) => one.permission))].sort()
  const hidden = new Map<string, Set<string>>()
  for (const { table, column } of guarded.filter((one) => !can(viewer, one.permission))) {
    for (const type of [`${table.entity}.created`, `${table.entity}.updated`]) hidden.set(type, (hidden.get(type) ?? new Set()).add(column))
  }
  return {
    fingerprint: permissions.map((one) => `${one}=${can(viewer, one)}`).join(","),
    see: (event) => {
      if (event.type === decided_event && event.replica_id !== replica_id) return undefined
      const cut = hidden.get(event.type)
      return cut === undefined ? event.data : Object.fromEntries(Object.entries(event.data).filter(([key]) => !cut.has(key)))
    }
  }
}
