/** The server's tables about devices, outside the journal. */
import { Context, Effect } from "effect"
import { CommandRuntime, type Failure, type UploadedFile } from "../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Seed } from "../protocol/bundle-format.ts"
import { boolean, integer, type Json, json, list, text, timestamp } from "../../core/kernel/fields/field.ts"
import { plainTable, type RowChange, table, update, updateWhere } from "../../core/kernel/tables/table.ts"
import type { TableMigration } from "../../core/kernel/store/table-migration.ts"
import { createHash } from "node:crypto"
import { type Scrubs, scrubsOf, type StoredEvent, streamOf } from "../../core/kernel/events/event-type.ts"
import { users } from "../../core/people/users/permissions.ts"
import { invalidField, Rejection, type Viewer } from "../../core/kernel/fields/rejection.ts"
import { instantOf } from "../../core/values/time.ts"
import type { WireCommand, WireError } from "../protocol/wire.ts"

// Services the host provides to sync: tokens of devices, their files, and the key that signs bundles.

export interface DeviceTokensShape {
  /** A token of the device's own, with no more abilities than the caller's; its secret is given this once. */
  readonly issue: (
    name: string,
    viewer: Viewer,
    now: string
  ) => Effect.Effect<{ readonly id: number; readonly secret: string }, Failure, Store | CommandRuntime>
  /** The token's abilities; undefined when it is not valid any more. */
  readonly abilitiesOf: (
    token_id: number,
    now: string
  ) => Effect.Effect<ReadonlyArray<string> | undefined, Failure, Store>
  /** Ends it, for good. */
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
/** Where contents of files are kept on the server. */
export interface DeviceFilesShape {
  /** Which of these contents are here. */
  readonly present: (sha256: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, Failure, Store>
  readonly keep: (content: Uint8Array) => Effect.Effect<FileContent, Failure, Store>
}
export const DeviceFiles = Context.Reference<DeviceFilesShape | undefined>("flightcase/sync/DeviceFiles", {
  defaultValue: () => undefined
})

/** Signs the server's bundles. */
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
 * Until the end of the transaction no other command is decided or leased for this replica. SQLite has one writer
 * anyway.
 */
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
 * Verdicts, stored so that a command sent twice is decided once. A device chooses its commands' ids, and carriers of
 * its bundles can read them: an id identifies a command only together with its device.
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

/** Ids of a table skipped because a replica presented blocks beyond them. */
export const id_claims = plainTable("id_claims", "key", {
  key: text(),
  replica_id: integer(),
  entity: text(),
  passed: integer({ max: Number.MAX_SAFE_INTEGER })
})

/** Until schema 2 verdicts were kept here, by the command's id alone. The table stays and is not read again. */
const verdicts_before_devices = "replica_commands"
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
 * Files uploaded ahead of their commands, by uploader: knowing a file's SHA-256 is not having the file. Deleted after a
 * while; a device then uploads the file again.
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

/** Last visibility of each user; the version only grows, so handles are never reused (sync.md 1.6). */
export const reader_grants = plainTable("reader_grants", "user_id", {
  user_id: integer(),
  fingerprint: text(),
  version: integer()
})

export const sync_tables = [replicas, id_leases, id_claims, replica_verdicts, received_files, reader_grants]

// Personal data that the server keeps for sync outside the journal: erased together with what the journal holds.

export const textDigest = (text: string): string => createHash("sha256").update(text).digest("hex")
const digest_length = textDigest("").length

const user_streams = streamOf(users.entity, "")
/** Devices are named by their users: those of an erased user get the placeholder of the user's name. */
const withoutNames = (scrubs: Scrubs, event: StoredEvent): ReadonlyArray<RowChange> =>
  scrubsOf(scrubs, [event]).flatMap(({ streams, placeholders: { name } }) =>
    typeof name !== "string"
      ? []
      : streams
          .filter((stream) => stream.startsWith(user_streams))
          .map((stream) => Number(stream.slice(user_streams.length)))
          .map((user_id) => updateWhere(replicas, { user_id }, { name, updated_at: event.recorded_at }))
  )

/** Runs in the transaction of the erasure. */
export const eraseFromDevices = (
  events: ReadonlyArray<StoredEvent>
): Effect.Effect<void, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const { scrubs } = (yield* CommandRuntime).catalogue
    if (scrubsOf(scrubs, events).length === 0) return
    const store = yield* Store
    // Earlier releases kept the text of a command where its digest is kept today.
    const texts = yield* store.run<{ key: string; fingerprint: string }>(
      `select "key", fingerprint from replica_verdicts where length(fingerprint) <> ${digest_length}`
    )
    yield* store.apply([
      ...events.flatMap((event) => withoutNames(scrubs, event)),
      ...texts.map(({ key, fingerprint }) => update(replica_verdicts, key, { fingerprint: textDigest(fingerprint) }))
    ])
    // The table those releases kept them in is read no more, but not dropped either.
    const [before] = yield* store.run<{ name: string | null }>(
      store.dialect === "pg" ? "select to_regclass($1)::text as name" : "select name from sqlite_master where name = ?",
      [verdicts_before_devices]
    )
    if (before?.name != null) yield* store.run(`update ${verdicts_before_devices} set fingerprint = ''`)
  })

// Files that devices send ahead of the commands that name them. A command may only name content that its own person has
// sent: knowing a SHA-256, from a list or from somebody else's device, opens no file.

const hour_millis = 3_600_000
/**
 * How long what was sent counts as sent. Content that nothing names is removed a day after it came, so that a command
 * decided within this time finds it.
 */
const counts_hours = 20
const forgotten_after_hours = 48
export const files_asked_max = 500

/** Contents that a device has recorded commands for and has itself no more: those commands are refused. */
export const lost_files_field = list(text({ max: 64 }), { default: [], max_items: files_asked_max })

const before = (now: string, hours: number): string => instantOf(Date.parse(now) - hours * hour_millis)
const keyOf = (user_id: number, sha256: string): string => `${user_id}:${sha256}`

/** Those of these contents that this person sent and that are still here. */
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

/** The files of a command as its request carries them: what they are is said by the content that came. */
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
/** No verdict: the command waits on its device until the file has arrived. */
const missingFile = (sha256: string): Rejection =>
  new Rejection({
    kind: "conflict",
    message: "The content of a file has not arrived; send it first.",
    errors: { files: [sha256] }
  })
/** The verdict on a command whose file is lost on its device. */
export const lostFile = (field: string, { name }: { readonly name: string }): WireError => {
  const message = `The file ${name} is not on the device any more, or not as it was; attach it again.`
  return { status: 422, message, errors: { [field]: [message] } }
}

/** Notes who sent it. */
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

/** Keeps a file that came in a bundle. */
export const keepBundledFile = Effect.fnUntraced(function* (
  user_id: number,
  sha256: string,
  content: string,
  now: string
) {
  const files = yield* DeviceFiles
  if (files === undefined) return yield* new Rejection({ kind: "unavailable", message: "This server keeps no files." })
  const kept = yield* files.keep(Buffer.from(content, "base64"))
  if (kept.sha256 !== sha256) return yield* otherContent
  yield* noteReceived(user_id, kept, now)
})
export const otherContent = invalidField("file", "The file arrived otherwise than it was sent; send it again.")
