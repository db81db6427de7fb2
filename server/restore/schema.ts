/** A journal on its way in: kept apart until it is whole, on the server alone. */
import { id, integer, json, text, timestamp } from "../../core/kernel/field.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { plainTable, type RowOf } from "../../core/kernel/table.ts"

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER })

export const restores = plainTable(
  "restores",
  "id",
  {
    id: id(),
    /** What the export said of itself: {@link Manifest}. */
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

/** What the journal must come to. */
export interface Manifest {
  /** The last position the journal gave. */
  readonly position: number
  readonly events: number
  readonly schema_version: number
  readonly tables: ReadonlyArray<TableChecksum>
  /** The next id of each table and the next number of each document sequence: neither is ever given twice. */
  readonly ids: { readonly [table: string]: number }
  readonly numbers: { readonly [sequence: string]: number }
}
export interface TableChecksum {
  readonly name: string
  readonly rows: number
  readonly checksum: string
  /** What was summed up of each row; a later release may have more. Exports of earlier releases do not say. */
  readonly columns?: ReadonlyArray<string> | undefined
}
