/** The sync endpoints: queries rather than commands, as they use tables outside the journal. */
import { commandDecided } from "../protocol/events.ts"
import { Effect } from "effect"
import { CommandRuntime, created, get, integer, invalidField, list, ok, postQuery } from "../../core/kernel/index.ts"
import { retryOnConflict, Shown, Store, text, type SharedDraft, type Slice } from "../../core/kernel/index.ts"
import { allocateId } from "../../core/kernel/runtime/ids.ts"
import { schema_version } from "../../core/kernel/runtime/schema.ts"
import { commands_per_push_max, leasedTables } from "../protocol/wire.ts"
import { bundleEndpoints, fileEndpoints } from "./bundles.ts"
import { lease, lease_reclaim_fields, reclaimLeases } from "./reclaim-leases.ts"
import { command_fields, decideInOrder, upgradeRequired, wireCommands } from "./commands.ts"
import { client_schema_min, deviceEndpoints, replica_devices, findCallingDevice, registerDevice } from "./devices.ts"
import { fillEndpoints } from "./snapshot-api.ts"
import { lost_files_field, migrations, replicas, sync_tables } from "./tables.ts"
import { requireOwnReplica } from "./push.ts"
import { messagesShown, mustRefetchShown, shape_says } from "./messages.ts"
import { JournalTail, shapeAnswer } from "./shape.ts"
import { lease as leaseAnswer, serverInfo, verdicts as verdictsAnswer } from "../protocol/answers.ts"

const reads = { ability: "sync:read", permission: null, metering_weight: 0 } as const satisfies SharedDraft
const writes = { ability: "sync:write", permission: null, metering_weight: 0 } as const satisfies SharedDraft

/** Columns of the enrolled device in the response. */
const { deleted_at: _deleted, ...enrolled } = replicas.columns
const enrol = postQuery("/api/v1/sync/replicas", {
  answer: {
    replica: Shown.keys({ ...enrolled, abilities: list(text()), public_url: text({ nullable: true }) }),
    lease: leaseAnswer,
    token: Shown.optional(Shown.keys({ id: integer(), secret: text() })),
    server: serverInfo
  },
  name: "replicas.create",
  summary: "Enrol a device and lease ids to it",
  ...writes,
  server_only: true,
  success_status: 201,
  fields: {
    name: text({ required: true }),
    public_key: text({
      max: 64,
      describe: "Public key for bundles (Ed25519, base64url); with it the device gets its own token"
    })
  },
  run: (input) =>
    Store.transaction(
      Effect.gen(function* () {
        const { catalogue, public_url } = yield* CommandRuntime
        const id = yield* allocateId("replicas")
        const row = {
          id,
          user_id: input.viewer.user_id,
          name: input.values.name,
          schema_version,
          last_n: 0,
          seen_at: input.now,
          revoked_at: null,
          created_at: input.now,
          updated_at: input.now,
          deleted_at: null
        }
        yield* Store.apply([{ op: "insert", table: replicas, row }])
        const { deleted_at: _deleted, ...stored } = row
        const ranges = yield* Effect.forEach(leasedTables(catalogue), (entity) => lease(row, entity, 1))
        const welcomed = yield* registerDevice(id, row.name, input.values.public_key, input.viewer, input.now)
        return created({
          replica: { ...stored, abilities: [...input.viewer.abilities], public_url: public_url?.() ?? null },
          lease: ranges.flat().map((range) => ({ ...range })),
          ...welcomed
        })
      })
    ).pipe(retryOnConflict)
})

const leases = postQuery("/api/v1/sync/leases", {
  answer: { lease: leaseAnswer },
  error_answers: { 404: null },
  name: "replicas.lease",
  summary: "Lease the next block of ids of an entity",
  ...writes,
  server_only: true,
  success_status: 201,
  fields: {
    replica_id: integer({ required: true, min: 1 }),
    entity: text({ required: true }),
    request_no: integer({ required: true, min: 1 })
  },
  run: (input) =>
    Store.transaction(
      Effect.gen(function* () {
        const { catalogue } = yield* CommandRuntime
        const { replica_id, entity, request_no } = input.values
        const replica = yield* requireOwnReplica(replica_id, input.viewer, false)
        if (!leasedTables(catalogue).includes(entity))
          return yield* invalidField("entity", "Ids of this entity are not leased.")
        return created({ lease: (yield* lease(replica, entity, request_no)).map((range) => ({ ...range })) })
      })
    ).pipe(retryOnConflict)
})

const claims = postQuery("/api/v1/sync/leases/claim", {
  answer: { lease: leaseAnswer },
  error_answers: { 404: null },
  name: "replicas.claim",
  summary: "Claim blocks of ids leased before a backup was restored; returns those still valid",
  ...writes,
  server_only: true,
  fields: {
    replica_id: integer({ required: true, min: 1 }),
    blocks: list(lease_reclaim_fields, { required: true, max_items: 500 })
  },
  run: (input) =>
    Store.transaction(
      Effect.gen(function* () {
        const { replica_id, blocks } = input.values
        yield* requireOwnReplica(replica_id, input.viewer, true)
        return ok({ lease: (yield* reclaimLeases(replica_id, blocks)).map((range) => ({ ...range })) })
      })
    ).pipe(retryOnConflict)
})

/** Maximum size of a push in bytes. Each command has a limit of its own (`isTooLong` in `push.ts`). */
const push_bytes_max = 64 * 1_048_576
const push = postQuery("/api/v1/sync/commands", {
  answer: { verdicts: verdictsAnswer },
  error_answers: { 404: null, 409: null, 426: null },
  name: "replicas.push",
  summary: "Send commands recorded offline; each is decided against the current state",
  ...writes,
  server_only: true,
  body_max: push_bytes_max,
  authorize: findCallingDevice,
  fields: {
    replica_id: integer({ required: true, min: 1 }),
    commands: list(command_fields, { required: true, min_items: 1, max_items: commands_per_push_max }),
    lost_files: lost_files_field
  },
  run: Effect.fnUntraced(function* (input) {
    const commands = yield* wireCommands(input.values.commands)
    const replica = yield* requireOwnReplica(input.values.replica_id, input.viewer, false)
    if (replica.schema_version < client_schema_min) return upgradeRequired(replica.schema_version, client_schema_min)
    return ok({ verdicts: yield* decideInOrder(replica.id, commands, input.viewer, input.values.lost_files) })
  })
})

export const syncSlice: Slice = {
  name: "sync",
  server_tables: [...sync_tables, replica_devices],
  migrations,
  events: [commandDecided],
  endpoints: [
    enrol,
    leases,
    claims,
    push,
    ...deviceEndpoints,
    ...bundleEndpoints,
    ...fileEndpoints,
    ...fillEndpoints,
    get("/api/v1/sync/shape", {
      answer: messagesShown,
      error_answers: { 404: null, 409: mustRefetchShown },
      answer_headers: shape_says,
      produces: "text/event-stream",
      name: "replicas.follow",
      summary:
        "Follow the journal through Electric's shape protocol, live with live=true, as a stream with live_sse=true",
      ...reads,
      server_only: true,
      fields: {
        replica_id: integer({
          default: 0,
          min: 0,
          describe: "Id of the device; verdicts on its commands go to it alone"
        })
      },
      run: Effect.fnUntraced(function* (input) {
        const { catalogue } = yield* CommandRuntime
        const replica_id = input.values.replica_id ?? 0
        const reader = { viewer: input.viewer, replica_id, query: input.query }
        if (replica_id > 0 && (yield* JournalTail)?.known(reader) === undefined)
          yield* requireOwnReplica(replica_id, input.viewer, false)
        return yield* shapeAnswer(catalogue, reader)
      })
    })
  ]
}
