/** The server's tables about devices, outside the journal. */
import { Effect } from "effect"
import { boolean, integer, json, text, timestamp } from "../../core/kernel/field.ts"
import { type Json } from "../../core/kernel/json.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { plainTable, table } from "../../core/kernel/table.ts"
import type { TableMigration } from "../../core/kernel/table-migration.ts"

export const replicas = table(
  "replicas",
  {
    user_id: integer(),
    name: text({ required: true }),
    schema_version: integer(),
    last_n: integer({ default: 0 }),
    seen_at: timestamp({ nullable: true }),
    revoked_at: timestamp({ nullable: true })
  },
  { indexes: [["user_id"]] }
)

/** Until the end of the transaction nobody else decides or leases for this replica. SQLite has one writer anyway. */
export const lockReplica = Effect.fnUntraced(function* (replica_id: number) {
  const store = yield* Store
  if (store.dialect === "pg") yield* store.run("select id from replicas where id = $1 for update", [replica_id])
})

/** Blocks of ids a replica may use; a request repeated gets the same block again. */
export const id_leases = plainTable(
  "id_leases",
  "key",
  {
    key: text(),
    replica_id: integer(),
    entity: text(),
    request_no: integer(),
    from: integer({ max: Number.MAX_SAFE_INTEGER }),
    to: integer({ max: Number.MAX_SAFE_INTEGER })
  },
  { indexes: [["replica_id", "entity", "request_no"]] }
)

/**
 * Verdicts, kept so that a command sent twice is decided once. A device gives its commands their ids itself, and
 * whoever carries its bundles can read them: an id says which command it is only together with the device that sent it.
 */
export const replica_verdicts = plainTable(
  "replica_verdicts",
  "key",
  {
    key: text(),
    replica_id: integer(),
    id: text(),
    n: integer(),
    fingerprint: text(),
    accepted: boolean(),
    position: integer({ nullable: true, max: Number.MAX_SAFE_INTEGER }),
    error: json<Json>({ nullable: true, form: "any" }),
    decided_at: timestamp()
  },
  { uniques: [{ columns: ["replica_id", "n"], field: "n", message: "This number was used for another command." }] }
)
export const verdictKey = (replica_id: number, command_id: string): string => `${replica_id}:${command_id}`

/** Ids of a table that were drawn because a replica showed blocks beyond them. */
export const id_claims = plainTable("id_claims", "key", {
  key: text(),
  replica_id: integer(),
  entity: text(),
  passed: integer({ max: Number.MAX_SAFE_INTEGER })
})

/** Until schema 2 verdicts were kept here, by the command's id alone. The table stays and is not read again. */
export const verdicts_before_devices = "replica_commands"
export const verdicts_by_device: TableMigration = {
  id: 1,
  name: "verdicts_by_device",
  table: replica_verdicts,
  from: verdicts_before_devices,
  up: ({ run }) =>
    run(
      `insert into replica_verdicts (key, replica_id, id, n, fingerprint, accepted, "position", error, decided_at) ` +
        `select replica_id || ':' || id, replica_id, id, n, fingerprint, accepted, "position", error, decided_at ` +
        `from ${verdicts_before_devices}`
    )
}

/**
 * Files that devices have sent ahead of the commands that name them, by who sent them: whoever knows the SHA-256 of a
 * file has not thereby the file. Forgotten after a while; a device then sends the file again.
 */
export const received_files = plainTable(
  "received_files",
  "key",
  {
    key: text({ max: 90 }),
    user_id: integer(),
    sha256: text({ max: 64 }),
    mime_type: text(),
    size_bytes: integer({ max: Number.MAX_SAFE_INTEGER }),
    received_at: timestamp()
  },
  { indexes: [["received_at"]] }
)

/** What each user was last allowed to see; the version never goes back, so handles are never reused (sync.md 1.6). */
export const reader_grants = plainTable("reader_grants", "user_id", {
  user_id: integer(),
  fingerprint: text(),
  version: integer()
})

export const sync_tables = [replicas, id_leases, id_claims, replica_verdicts, received_files, reader_grants]
