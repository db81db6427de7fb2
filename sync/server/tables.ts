/** The server's tables for devices, outside the journal. */
import { Context, Effect } from "effect"
import { epochOf } from "../../core/kernel/runtime/schema.ts"
import { firstOf } from "../../core/values/text.ts"
import {
  boolean,
  CommandRuntime,
  integer,
  invalidField,
  journal,
  json,
  list,
  plainTable
} from "../../core/kernel/index.ts"
import { Rejection, scrubsOf, Store, streamOf, table, text, timestamp, update } from "../../core/kernel/index.ts"
import { updateWhere, type UploadedFile, type Viewer } from "../../core/kernel/index.ts"
import type { Failure, Json, RowChange, Scrubs, StoredEvent, StoreShape } from "../../core/kernel/index.ts"
import type { Seed } from "../protocol/bundle-format.ts"
import type { TableMigration } from "../../core/kernel/store/table-migration.ts"
import { createHash } from "node:crypto"
import { users } from "../../core/people/users/permissions.ts"
import { instantOf } from "../../core/values/time.ts"
import type { WireCommand } from "../protocol/wire.ts"

// Services that the host provides for sync: device tokens, device files, and the key that signs bundles.

export interface DeviceTokensShape {
  /** Issues a token of the device's own, with at most the caller's abilities. The secret is returned only here. */
  readonly issue: (
    name: string,
    viewer: Viewer,
    now: string
  ) => Effect.Effect<{ readonly id: number; readonly secret: string }, Failure, Store | CommandRuntime>
  /** Abilities of a token; undefined if it is no longer valid. */
  readonly abilitiesOf: (
    token_id: number,
    now: string
  ) => Effect.Effect<ReadonlyArray<string> | undefined, Failure, Store>
  /** Revokes the token for good. */
  readonly end: (token_id: number, viewer: Viewer, now: string) => Effect.Effect<void, Failure, Store | CommandRuntime>
}
export const DeviceTokens = Context.Reference<DeviceTokensShape | undefined>("flightcase/sync/DeviceTokens", {
  defaultValue: () => undefined
})

interface FileContent {
  readonly sha256: string
  readonly size_bytes: number
  readonly mime_type: string
}
/** Storage of file content on the server. */
export interface DeviceFilesShape {
  /** Hashes among these whose content is stored. */
  readonly present: (sha256: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, Failure, Store>
  readonly keep: (content: Uint8Array) => Effect.Effect<FileContent, Failure, Store>
}
export const DeviceFiles = Context.Reference<DeviceFilesShape | undefined>("flightcase/sync/DeviceFiles", {
  defaultValue: () => undefined
})

/** Key that signs the server's bundles. */
export const BundleKey = Context.Reference<{ readonly seed: Seed } | undefined>("flightcase/sync/BundleKey", {
  defaultValue: () => undefined
})

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

/**
 * Locks a replica until the transaction ends, so that its commands and leases are processed one at a time. Not needed
 * on SQLite.
 */
export const lockReplica = Effect.fnUntraced(function* (replica_id: number) {
  const store = yield* Store
  if (store.dialect === "pg") yield* store.run("select id from replicas where id = $1 for update", [replica_id])
})

/** Id blocks leased to replicas; a repeated request gets the same block. */
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
 * Verdicts, stored so that a repeated command is decided once. Devices choose command ids, which carriers of bundles
 * can read: an id identifies a command only together with its device.
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

/** Number of a table's ids allocated so far to reach blocks that a replica claimed after a restore. */
export const id_claims = plainTable("id_claims", "key", {
  key: text(),
  replica_id: integer(),
  entity: text(),
  passed: integer({ max: Number.MAX_SAFE_INTEGER })
})

/** Table of verdicts of earlier releases, by command id alone; kept but no longer read. */
const verdicts_before_devices = "replica_commands"
const verdicts_by_device: TableMigration = {
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
/** Earlier releases had every event in this index. */
const commands_looked_for: TableMigration = {
  id: 4,
  name: "commands_looked_for",
  table: journal,
  up: ({ run }) =>
    Effect.andThen(
      run('drop index if exists "journal_command_id_index"'),
      run(
        'create index if not exists "journal_command_id_replica_id_index" on "journal" ("command_id") ' +
          "where replica_id is not null or command_id like 'seed%'"
      )
    )
}
export const migrations = [verdicts_by_device, commands_looked_for]

/**
 * Files uploaded before their commands, by uploader, as knowing a file's SHA-256 must not give access to it. Rows count
 * for `counts_hours` only; after that a device uploads the file again.
 */
const received_files = plainTable(
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

/** Last permissions of each user; the version only grows, so that handles are never reused. */
export const reader_grants = plainTable("reader_grants", "user_id", {
  user_id: integer(),
  fingerprint: text(),
  version: integer()
})

export const sync_tables = [replicas, id_leases, id_claims, replica_verdicts, received_files, reader_grants]

// Cursors of readers: a handle identifies the journal and what the reader may see of it, an offset the last event read.

/** Version of a user's permissions, which only grows: A, B, A gives 1, 2, 3. */
const grantVersion = Effect.fnUntraced(function* (store: StoreShape, user_id: number, fingerprint: string) {
  const known = yield* store.get(reader_grants, user_id)
  if (known?.fingerprint === fingerprint) return known.version
  // Devices of a user may do this concurrently; one insert wins.
  const rows = yield* store.sql<{ version: number }>`
    insert into reader_grants (user_id, fingerprint, version) values (${user_id}, ${fingerprint}, 1)
    on conflict (user_id) do update set version = reader_grants.version + case
    when reader_grants.fingerprint = excluded.fingerprint then 0 else 1 end, fingerprint = excluded.fingerprint
    returning version`
  return Number(firstOf(rows).version)
})

/**
 * Handle of a reader. `token`: fingerprint of data hidden by the token, not part of the user's version, as tokens
 * do not change.
 */
export const handleOf = Effect.fnUntraced(function* (
  store: StoreShape,
  viewer: Viewer,
  replica_id: number,
  fingerprint: string,
  token = ""
) {
  const version = yield* grantVersion(store, viewer.user_id, fingerprint)
  return `${yield* epochOf(store)}-${viewer.user_id}-${replica_id}-${version}${token === "" ? "" : `-${token}`}`
})
/** A handle the reader has not had, as data read under the old one belongs to another history. */
export const newHandle = (...reader: Parameters<typeof handleOf>) => {
  const [store, { user_id }] = reader
  const next = store.sql`update reader_grants set version = version + 1 where user_id = ${user_id}`
  return Effect.andThen(next, handleOf(...reader))
}

/** Checksum of an event's immutable columns, from 1 to 999,999,999 (FNV-1a). */
const checkOf = (event: Pick<StoredEvent, "stream" | "version" | "type" | "command_id" | "recorded_at">): number => {
  let hash = 0x811c9dc5
  for (const char of `${event.stream} ${event.version} ${event.type} ${event.command_id} ${event.recorded_at}`) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0
  }
  return 1 + (hash % 999_999_999)
}

/**
 * Offset after an event, with its checksum: `12_483920118`. In a journal restored from a backup the checksum differs.
 */
export const offsetOf = Effect.fnUntraced(function* (store: StoreShape, position: number, known?: StoredEvent) {
  const is_known = known?.position === position
  const event = is_known ? known : position === 0 ? undefined : yield* store.get(journal, position)
  return `${position}_${event === undefined ? 0 : checkOf(event)}`
})
export const positionOf = (offset: string): number => Number(offset.split("_")[0])
export const offset_pattern = /^\d{1,15}_\d{1,9}$/
/** Whether the journal still has the event that the offset was issued for. */
export const isOffsetValid = Effect.fnUntraced(function* (store: StoreShape, offset: string) {
  const [position, check] = offset.split("_").map(Number) as [number, number]
  if (position === 0) return true
  const event = yield* store.get(journal, position)
  // Offsets of earlier releases end in 0 instead of a checksum.
  return event !== undefined && (check === 0 || check === checkOf(event))
})

// Erases personal data that sync stores outside the journal, together with the journal's.

export const textDigest = (text: string): string => createHash("sha256").update(text).digest("hex")
const digest_length = textDigest("").length

const user_streams = streamOf(users.entity, "")
/** Replaces names of an erased user's devices, which the user chose, by the placeholder for the user's name. */
const withoutNames = (scrubs: Scrubs, event: StoredEvent): ReadonlyArray<RowChange> =>
  scrubsOf(scrubs, [event]).flatMap(({ streams, placeholders: { name } }) =>
    typeof name !== "string"
      ? []
      : streams
          .filter((stream) => stream.startsWith(user_streams))
          .map((stream) => Number(stream.slice(user_streams.length)))
          .map((user_id) => updateWhere(replicas, { user_id }, { name, updated_at: event.recorded_at }))
  )

/** Erases data of devices, in the transaction of the erasure. */
export const eraseFromDevices = (
  events: ReadonlyArray<StoredEvent>
): Effect.Effect<void, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const { scrubs } = (yield* CommandRuntime).catalogue
    if (scrubsOf(scrubs, events).length === 0) return
    const store = yield* Store
    // Earlier releases stored the payload where its hash is now.
    const texts = yield* store.run<{ key: string; fingerprint: string }>(
      `select "key", fingerprint from replica_verdicts where length(fingerprint) <> ${digest_length}`
    )
    yield* store.apply([
      ...events.flatMap((event) => withoutNames(scrubs, event)),
      ...texts.map(({ key, fingerprint }) => update(replica_verdicts, key, { fingerprint: textDigest(fingerprint) }))
    ])
    // The table of verdicts of those releases is no longer read, but still exists.
    const [before] = yield* store.run<{ name: string | null }>(
      store.dialect === "pg" ? "select to_regclass($1)::text as name" : "select name from sqlite_master where name = ?",
      [verdicts_before_devices]
    )
    if (before?.name != null) yield* store.run(`update ${verdicts_before_devices} set fingerprint = ''`)
  })

// Files sent before the commands that reference them. A command may reference only content sent by its user: knowing a
// SHA-256, from a list or another device, gives no access.

const hour_millis = 3_600_000
/**
 * Hours for which received content may be referenced. Shorter than the day after which unreferenced content is deleted.
 */
const counts_hours = 20
const forgotten_after_hours = 48
export const files_asked_max = 500

/** Hashes of content that a device has lost although commands reference it; those commands are refused. */
export const lost_files_field = list(text({ max: 64 }), { default: [], max_items: files_asked_max })

const before = (now: string, hours: number): string => instantOf(Date.parse(now) - hours * hour_millis)
const keyOf = (user_id: number, sha256: string): string => `${user_id}:${sha256}`

/** Content that this user sent within `counts_hours` and that is still stored, by hash. */
export const receivedFrom = Effect.fnUntraced(function* (user_id: number, sha256: ReadonlyArray<string>, now: string) {
  const files = yield* DeviceFiles
  if (files === undefined || sha256.length === 0) return new Map<string, FileContent>()
  const rows = yield* Store.getMany(
    received_files,
    sha256.map((one) => keyOf(user_id, one))
  )
  const counting = rows.filter(({ received_at }) => received_at > before(now, counts_hours))
  const present = yield* files.present(counting.map((row) => row.sha256))
  return new Map<string, FileContent>(counting.filter((row) => present.has(row.sha256)).map((row) => [row.sha256, row]))
})

/** Files of a command as in a request, with types detected from the received content. */
export const receivedFiles = Effect.fnUntraced(function* (
  user_id: number,
  { files }: WireCommand["payload"],
  now: string
) {
  if (files === undefined) return {}
  const entries = Object.entries(files)
  const here = yield* receivedFrom(
    user_id,
    entries.map(([, { sha256 }]) => sha256),
    now
  )
  const received: { [field: string]: UploadedFile } = {}
  for (const [field, { name, sha256 }] of entries) {
    const content = here.get(sha256)
    if (content === undefined) return yield* missingFile(sha256)
    received[field] = { name, sha256, mime_type: content.mime_type, size_bytes: content.size_bytes }
  }
  return { files: received }
})
/** Fails without a verdict: the command waits on its device until the file has arrived. */
const missingFile = (sha256: string): Rejection =>
  new Rejection({
    kind: "conflict",
    message: "The content of a file has not arrived; send it first.",
    errors: { files: [sha256] }
  })
/** Records that a user sent a file now; deletes records older than `forgotten_after_hours`. */
export const noteReceived = Effect.fnUntraced(function* (
  user_id: number,
  { mime_type, sha256, size_bytes }: FileContent,
  now: string
) {
  const { sql } = yield* Store
  yield* sql`delete from received_files where received_at < ${before(now, forgotten_after_hours)}`
  yield* sql`
    insert into received_files (key, user_id, sha256, mime_type, size_bytes, received_at)
    values (${keyOf(user_id, sha256)}, ${user_id}, ${sha256}, ${mime_type}, ${size_bytes}, ${now})
    on conflict (key) do update set received_at = excluded.received_at`
})

export const otherContent = invalidField("file", "The file arrived otherwise than it was sent; send it again.")
