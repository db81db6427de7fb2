/** What the server keeps about replicas, outside the journal. */
import { boolean, integer, json, text, timestamp } from "../../core/kernel/field.ts"
import { type Json } from "../../core/kernel/json.ts"
import { plainTable, table } from "../../core/kernel/table.ts"

export const replicas = table("replicas", {
  user_id: integer(),
  name: text({ required: true }),
  schema_version: integer(),
  last_n: integer({ default: 0 }),
  seen_at: timestamp({ nullable: true }),
  revoked_at: timestamp({ nullable: true })
}, { indexes: [["user_id"]] })

/** Blocks of ids a replica may use; a request repeated gets the same block again. */
export const id_leases = plainTable("id_leases", "key", {
  key: text(), replica_id: integer(), entity: text(), request_no: integer(), from: integer({ max: Number.MAX_SAFE_INTEGER }), to: integer({ max: Number.MAX_SAFE_INTEGER })
}, { indexes: [["replica_id", "entity", "request_no"]] })

/** Verdicts, kept so that a command sent twice is decided once. */
export const replica_commands = plainTable("replica_commands", "id", {
  id: text(), replica_id: integer(), n: integer(), fingerprint: text(), accepted: boolean(),
  position: integer({ nullable: true, max: Number.MAX_SAFE_INTEGER }), error: json<Json>({ nullable: true, form: "any" }), decided_at: timestamp()
}, { uniques: [{ columns: ["replica_id", "n"], field: "n", message: "This number was used for another command." }] })

/** What each user was last allowed to see; the version never goes back, so handles are never reused (sync.md 1.6). */
export const reader_grants = plainTable("reader_grants", "user_id", { user_id: integer(), fingerprint: text(), version: integer() })

export const sync_tables = [replicas, id_leases, replica_commands, reader_grants]
