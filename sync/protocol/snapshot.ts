/**
 * Messages of a fill from rows, used instead of events if the journal is long. Pages follow the order of keys, each
 * read at the journal's current position, with the events since the previous page for the rows already sent. So after
 * each page all rows sent are at one position: the server stores nothing, and a fill may pause for any time.
 */
import { Schema } from "effect"
import { anyJson, anyObject, canonicalJson, isJsonObject, parseJson, TooDeep } from "../../core/kernel/index.ts"
import { wholeNumber, wire_body_depth_max } from "../../core/kernel/index.ts"
import type { FieldType, Json, JsonObject, StoredEvent, Table } from "../../core/kernel/index.ts"
import { createHash } from "node:crypto"
import { DecodeFailure, decoderOf, leaseRange, verdictStatus, wireError } from "./wire.ts"

// Events as sent: as JSON in pages of rows, and as text columns by Electric's shape protocol.

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
/** A journal row as sent by the shape protocol: every value is text or null. */
const shapeRow = Schema.suspend(() =>
  Schema.Struct({
    position: integerText,
    stream: Schema.String,
    version: integerText,
    type: Schema.String,
    /** Data of the event, as JSON. */
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

/** Decodes the event in a shape row. Throws a DecodeFailure, or TooDeep if its data nests beyond the limit. */
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

/** The outcome of one of the device's commands, with number and id. */
const decidedCommand = Schema.suspend(() =>
  Schema.Struct({ n: wholeNumber, id: Schema.String, status: verdictStatus, error: Schema.optionalKey(wireError) })
)
/** The outcome of a command with its number, as a device stores it. */
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

/** Starting point of a fill. */
export const snapshotPlan = Schema.suspend(() =>
  Schema.Struct({
    handle: Schema.String,
    position: wholeNumber,
    offset: Schema.String,
    /** Approximate number of rows to follow. */
    rows: wholeNumber,
    last_n: wholeNumber,
    /** Verdicts the device may still wait for: recorded up to `position`, they will not come as events. */
    decided: Schema.Array(decidedCommand),
    leases: Schema.Array(leaseRange),
    /** Personal data erased since the device's last position, which the device may still have; rows do not show it. */
    erased: Schema.optionalKey(Schema.Array(scrub))
  })
)
export type SnapshotPlan = typeof snapshotPlan.Type

const section = Schema.suspend(() =>
  Schema.Struct({
    table: Schema.String,
    columns: Schema.Array(Schema.String),
    /** Values in column order; rows ascend by key. */
    rows: Schema.Array(Schema.Array(anyJson)),
    /** Whether these are the table's last rows. */
    done: Schema.Boolean
  })
)
export type Section = typeof section.Type
export const snapshotPage = Schema.suspend(() =>
  Schema.Struct({
    /** Position of all rows once `events` are applied to earlier ones and `sections` are added. */
    position: wholeNumber,
    offset: Schema.String,
    events: Schema.Array(storedEvent),
    sections: Schema.Array(section),
    /** Cursor of the next page; null after the last. */
    next: Schema.NullOr(Schema.String)
  })
)
export type SnapshotPage = typeof snapshotPage.Type

/** Checksum of a range of rows in one table. */
const checksum = Schema.suspend(() =>
  Schema.Struct({
    table: Schema.String,
    /** Key before the first row; "" for the table's start. */
    after: Schema.String,
    /** Key of the last row; null at the table's end. */
    through: Schema.NullOr(Schema.String),
    rows: wholeNumber,
    /** SHA-256 in hex. */
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
 * Checks rows against their columns' types, as SQLite stores any value in any column. Unknown choices are accepted, and
 * tables and columns of later releases skipped. Throws a DecodeFailure.
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

/** Cursor after the row with a key: `products:120`; `products:` is before the first row. */
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
