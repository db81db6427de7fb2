/**
 * What a fill from rows looks like on the wire. A replica of a long journal is filled from the rows that came of it:
 * page after page of keys, each page at the position the journal had when it was read. What happened between two pages
 * comes along as events, for the rows that are there already. A fold changes each row by itself, so at every page all
 * rows that have arrived stand at one position: nothing is kept on the server, and a fill may pause for as long as it likes.
 */
import { createHash } from "node:crypto"
import type { Scrub, StoredEvent } from "../../core/kernel/event.ts"
import { canonicalJson, type Json } from "../../core/kernel/json.ts"
import type { Table } from "../../core/kernel/table.ts"
import type { WireError } from "./wire.ts"

/** What became of one of the device's commands, by its number. */
export interface DecidedCommand {
  readonly n: number
  readonly id: string
  readonly status: "accepted" | "rejected"
  readonly error?: WireError
}

/** Where a fill begins. */
export interface SnapshotPlan {
  readonly handle: string
  readonly position: number
  readonly offset: string
  /** Rows there are to come, about. */
  readonly rows: number
  /** The highest number of a command of this device the server has decided. */
  readonly last_n: number
  /** Verdicts that may still be awaited; they were recorded before `position` and will not come as events. */
  readonly decided: ReadonlyArray<DecidedCommand>
  readonly leases: ReadonlyArray<{ readonly entity: string; readonly from: number; readonly to: number }>
  /** Personal data taken out since the device last told where it stood: rows do not say so, and the device may have kept some. */
  readonly erased?: ReadonlyArray<Scrub>
}
export interface Section {
  readonly table: string
  readonly columns: ReadonlyArray<string>
  /** Values in the columns' order, ascending by key. */
  readonly rows: ReadonlyArray<ReadonlyArray<Json>>
  /** Whether these are the last rows of the table. */
  readonly done: boolean
}
export interface SnapshotPage {
  /** The position all rows stand at once `events` are applied to the earlier ones and `sections` are added. */
  readonly position: number
  readonly offset: string
  readonly events: ReadonlyArray<StoredEvent>
  readonly sections: ReadonlyArray<Section>
  /** Where the next page begins; null when this was the last one. */
  readonly next: string | null
}
/** A run of rows of one table, told apart by what they hold. */
export interface Checksum {
  readonly table: string
  readonly after: string
  readonly through: string | null
  readonly rows: number
  readonly digest: string
}
export interface ChecksumPage {
  readonly position: number
  readonly sums: ReadonlyArray<Checksum>
  readonly next: string | null
}

/** Fewer events than this are fetched as they are: they bring the whole history along. */
export const snapshot_beyond_events = 5_000

/** `products:120`: after the row of products with the key 120; `products:` is before their first. */
export const cursorOf = (table: string, key: number | string | undefined): string => `${table}:${key ?? ""}`
export const splitCursor = (cursor: string): { readonly table: string; readonly key: string } => {
  const at = cursor.indexOf(":")
  return { table: cursor.slice(0, at), key: cursor.slice(at + 1) }
}

/** Checksum of rows, equal on server and device: a column that is not visible counts as its default. */
export const rowsDigest = (
  table: Table,
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<Json>>
): string => {
  const hash = createHash("sha256")
  const places = Object.entries(table.columns).map(([name, field]) => ({
    at: columns.indexOf(name),
    otherwise: field.default ?? null
  }))
  for (const row of rows)
    hash.update(canonicalJson(places.map(({ at, otherwise }) => (at < 0 ? otherwise : (row[at] ?? null)))) + "\n")
  return hash.digest("hex")
}
