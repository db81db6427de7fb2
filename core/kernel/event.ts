/** Events and their projection: event → row changes. Tables, their rebuild and every replica come from it. */
import type { RowChange } from "./row-change.ts"
import type { JsonObject } from "./json.ts"
import type { AnyRow, Table } from "./table.ts"

export interface NewEvent {
  /** The aggregate it belongs to, e.g. `product:12`: order and versions are kept per stream. */
  readonly stream: string
  readonly type: string
  readonly data: JsonObject
}
export interface StoredEvent extends NewEvent {
  readonly position: number
  readonly version: number
  readonly command_id: string
  readonly actor_id: number | null
  readonly replica_id: number | null
  readonly recorded_at: string
}
/** What a projection may use beside the event's own data. */
export interface ProjectionContext {
  readonly recorded_at: string
  readonly actor_id: number | null
  readonly position: number
}
/** One event's effect on the tables, as data. Pure: no reads, no clock; events carry absolute results. */
export type Projector = (data: JsonObject, meta: ProjectionContext) => ReadonlyArray<RowChange>
export type Projection = { readonly [eventType: string]: Projector }

/**
 * Personal data to remove from what was recorded before: in events of these streams the values of these keys become the
 * placeholders (rules/rulings 22). That something happened stays on record.
 */
export interface Scrub {
  readonly streams: ReadonlyArray<string>
  readonly placeholders: JsonObject
  /** Documents, such as `custom_fields`, of which only the values under these keys stay. */
  readonly kept?: { readonly [document: string]: ReadonlyArray<string> } | undefined
}
/** Event types whose recording scrubs older events, on the server and on every replica that applies them. */
export type Scrubs = { readonly [eventType: string]: (data: JsonObject) => Scrub | undefined }

/** What these events remove from earlier ones. */
export const scrubsOf = (scrubs: Scrubs, events: ReadonlyArray<NewEvent>): ReadonlyArray<Scrub> =>
  events.flatMap(({ data, type }) => scrubs[type]?.(data) ?? [])

export const event = (stream: string, type: string, data: JsonObject): NewEvent => ({ stream, type, data })
export const streamOf = (entity: string, id: number | string): string => `${entity}:${id}`
/** The stream of a row's events: its own, or that of the row it belongs to. */
export const streamOfRow = (table: Table, row: AnyRow & { readonly id: number }): string =>
  table.stream === undefined
    ? streamOf(table.entity, row.id)
    : streamOf(table.stream.entity, row[table.stream.column] as number)

/**
 * The row changes of an event that was just made; none for a type this version does not know (it stays in the journal
 * for one that does).
 */
export const projectEvent = (
  projection: Projection,
  event: { readonly type: string; readonly data: JsonObject },
  meta: ProjectionContext
): ReadonlyArray<RowChange> => projection[event.type]?.(event.data, meta) ?? []
