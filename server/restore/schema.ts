/** Tables of a journal that is being imported: kept apart, on the server alone, until it is complete. */
import { Schema } from "effect"
import { id, integer, json, text, timestamp } from "../../core/kernel/field.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { plainTable, type RowOf } from "../../core/kernel/table.ts"

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER })

export const restores = plainTable(
  "restores",
  "id",
  {
    id: id(),
    /** What the export says of itself: {@link Manifest}, read by {@link manifestOf}. */
    manifest: json<Manifest>(),
    started_by: integer(),
    started_at: timestamp(),
    finished_at: timestamp({ nullable: true })
  },
  { entity: "restore" }
)
export type RestoreRow = RowOf<typeof restores>

export const restored_events = plainTable(
  "restored_events",
  "position",
  {
    position: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    stream: text(),
    version: count,
    type: text(),
    data: json<JsonObject>(),
    command_id: text(),
    actor_id: integer({ nullable: true }),
    replica_id: integer({ nullable: true }),
    recorded_at: timestamp()
  },
  { entity: "restored_event" }
)

const makeManifestSchema = () => {
  const counters = Schema.Record(Schema.String, Schema.Int)
  return Schema.Struct({
    /** The last position the journal gave. */
    position: Schema.Int,
    /** How many events the journal holds; fewer than `position` where transactions were taken back. */
    events: Schema.Int,
    schema_version: Schema.Int,
    tables: Schema.Array(
      Schema.Struct({
        name: Schema.String,
        rows: Schema.Int,
        /** SHA-256 in hex over the rows in the order of their keys. */
        checksum: Schema.String,
        /** The columns in the checksum; a later release may have more. Exports of earlier releases do not say. */
        columns: Schema.optional(Schema.Array(Schema.String))
      })
    ),
    /** The next id of each table: none is ever given twice. */
    ids: counters,
    /** The next number of each document sequence. */
    numbers: counters
  })
}
/** What the journal and the tables projected from it must come to. */
export type Manifest = ReturnType<typeof makeManifestSchema>["Type"]
export type TableChecksum = Manifest["tables"][number]

let decodeManifest: ((stored: unknown) => Manifest) | undefined
/** The stored manifest of an import. Throws where the row is damaged. */
export const manifestOf = ({ manifest }: Pick<RestoreRow, "manifest">): Manifest =>
  (decodeManifest ??= Schema.decodeUnknownSync(makeManifestSchema()))(manifest)
