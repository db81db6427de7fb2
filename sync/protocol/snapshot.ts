/**
 * A fill from rows, as it travels. With a long journal a replica is filled from the tables' rows instead of from
 * events: page after page in the order of keys, each read at the journal's position of that moment. Each page also
 * holds the events between the page before and this one, which are applied to the rows that have arrived. So after
 * every page all rows that have arrived stand at one position: the server keeps nothing, and a fill may pause for any
 * time.
 */
import { Schema } from "effect"
import { parseJson, TooDeep, wire_body_depth_max } from "../../core/kernel/fields/input.ts"
import type { StoredEvent } from "../../core/kernel/events/event-type.ts"
import { anyJson, anyObject, wholeNumber } from "../../core/kernel/tables/field-schema.ts"
import { createHash } from "node:crypto"
import type { FieldType, Json, JsonObject } from "../../core/kernel/fields/field.ts"
import { canonicalJson, isJsonObject } from "../../core/kernel/fields/field.ts"
import type { Table } from "../../core/kernel/tables/table.ts"
import { DecodeFailure, decoderOf, leaseRange, verdictStatus, wireError } from "./wire.ts"

// Events as they travel: as JSON in pages of rows, and as rows of texts by Electric's shape protocol.

/** An event of the journal. */
export const storedEvent = Schema.suspend(() =>
  Schema.Struct({
    position: wholeNumber,
    stream: Schema.String,
    version: wholeNumber,
    type: Schema.String,
    data: anyObject,
    command_id: Schema.String,
    actor_id: Schema.NullOr(wholeNumber),
    replica_id: Schema.NullOr(wholeNumber),
    recorded_at: Schema.String.annotate({ format: "date-time" })
  })
)

const integerText = Schema.String.check(Schema.isPattern(/^-?\d{1,16}$/, { expected: "a text of an integer" }))
/** A row of the journal as the shape protocol sends it: every value is text, or null. */
const shapeRow = Schema.suspend(() =>
  Schema.Struct({
    position: integerText,
    stream: Schema.String,
    version: integerText,
    type: Schema.String,
    /** JSON. */
    data: Schema.String,
    command_id: Schema.String,
    actor_id: Schema.NullOr(integerText),
    replica_id: Schema.NullOr(integerText),
    recorded_at: Schema.String
  })
)
const subject = "an event of the journal"
const decodeRow = decoderOf(subject, () => shapeRow)

const documentIn = (text: string): JsonObject => {
  try {
    const data = parseJson(text, wire_body_depth_max)
    if (isJsonObject(data)) return data
  } catch (cause) {
    if (cause instanceof TooDeep) throw cause
    throw new DecodeFailure(subject, "data", "Expected a text of JSON", cause)
  }
  throw new DecodeFailure(subject, "data", "Expected a text of a JSON object")
}
const integerOrNull = (text: string | null): number | null => (text === null ? null : Number(text))

/**
 * The event a row of the shape protocol holds. Throws DecodeFailure, and TooDeep where its data nests beyond the limit.
 */
export const eventOfShapeRow = (row: unknown): StoredEvent => {
  const { position, version, data, actor_id, replica_id, ...texts } = decodeRow(row)
  return {
    ...texts,
    position: Number(position),
    version: Number(version),
    data: documentIn(data),
    actor_id: integerOrNull(actor_id),
    replica_id: integerOrNull(replica_id)
  }
}

/** The outcome of one of the device's commands, by its number. */
const decidedCommand = Schema.suspend(() =>
  Schema.Struct({ n: wholeNumber, id: Schema.String, status: verdictStatus, error: Schema.optionalKey(wireError) })
)
/** The same without its id, as a device keeps it. */
export const settledCommand = Schema.suspend(() =>
  Schema.Struct({ n: wholeNumber, status: verdictStatus, error: Schema.optionalKey(wireError) })
)
/** Personal data to remove from earlier events (the kernel's `Scrub`). */
export const scrub = Schema.suspend(() =>
  Schema.Struct({
    streams: Schema.Array(Schema.String),
    placeholders: anyObject,
    kept: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String)))
  })
)

/** Where a fill begins. */
export const snapshotPlan = Schema.suspend(() =>
  Schema.Struct({
    handle: Schema.String,
    position: wholeNumber,
    offset: Schema.String,
    /** Rows there are to come, about. */
    rows: wholeNumber,
    /** The highest number of a command of this device the server has decided. */
    last_n: wholeNumber,
    /** Verdicts that may still be awaited; they were recorded before `position` and will not come as events. */
    decided: Schema.Array(decidedCommand),
    leases: Schema.Array(leaseRange),
    /**
     * Personal data erased since the device last said where it stood: rows do not say so, and the device may have kept
     * some.
     */
    erased: Schema.optionalKey(Schema.Array(scrub))
  })
)
export type SnapshotPlan = typeof snapshotPlan.Type

const section = Schema.suspend(() =>
  Schema.Struct({
    table: Schema.String,
    columns: Schema.Array(Schema.String),
    /** Values in the columns' order, ascending by key. */
    rows: Schema.Array(Schema.Array(anyJson)),
    /** Whether these are the last rows of the table. */
    done: Schema.Boolean
  })
)
export type Section = typeof section.Type
export const snapshotPage = Schema.suspend(() =>
  Schema.Struct({
    /** The position all rows stand at once `events` are applied to the earlier ones and `sections` are added. */
    position: wholeNumber,
    offset: Schema.String,
    events: Schema.Array(storedEvent),
    sections: Schema.Array(section),
    /** Where the next page begins; null when this was the last one. */
    next: Schema.NullOr(Schema.String)
  })
)
export type SnapshotPage = typeof snapshotPage.Type

/** Checksum of a run of rows of one table. */
const checksum = Schema.suspend(() =>
  Schema.Struct({
    table: Schema.String,
    /** The key before the first row; "" before all. */
    after: Schema.String,
    /** The key of the last row; null at the table's end. */
    through: Schema.NullOr(Schema.String),
    rows: wholeNumber,
    /** SHA-256, hexadecimal. */
    digest: Schema.String
  })
)
export type Checksum = typeof checksum.Type
export const checksumPage = Schema.suspend(() =>
  Schema.Struct({ position: wholeNumber, sums: Schema.Array(checksum), next: Schema.NullOr(Schema.String) })
)
export type ChecksumPage = typeof checksumPage.Type

const holdsType = (type: FieldType, value: Json): boolean => {
  switch (type.kind) {
    case "integer":
    case "money":
    case "code":
    case "ref":
      return Number.isSafeInteger(value)
    case "boolean":
      return typeof value === "boolean"
    case "json":
      return type.form === "object" ? isJsonObject(value) : type.form === "array" ? Array.isArray(value) : true
    case "list":
      return Array.isArray(value)
    case "object":
      return isJsonObject(value)
    default:
      return typeof value === "string"
  }
}
/**
 * Holds rows against the types of their columns, as a database of another engine would not: SQLite keeps any value in
 * any column. A choice may be one that only a newer release knows. Tables and columns of a later release are passed
 * over. Throws DecodeFailure.
 */
export const checkSection = (table: Table | undefined, { columns, rows, table: name }: Section): void => {
  const fields = columns.map((column) => table?.columns[column])
  rows.forEach((row, at) => {
    const path = `${name}, row ${at}`
    if (row.length !== columns.length)
      throw new DecodeFailure("a page of rows", path, `Expected ${columns.length} values`)
    fields.forEach((field, column) => {
      const value = row[column] ?? null
      if (field !== undefined && (value === null ? !field.nullable : !holdsType(field.type, value)))
        throw new DecodeFailure("a page of rows", `${path}, ${columns[column]}`, `Expected ${field.type.kind}`)
    })
  })
}

/** A journal of fewer events than this is pulled instead: that brings the whole history. */
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
