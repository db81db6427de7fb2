/** Devices on the server: enrolled, listed, renamed, revoked. */
import { Clock, Effect } from "effect"
import { CommandRuntime, forbidden, get, hasOnePermission, insert, integer } from "../../core/kernel/index.ts"
import { invalidField, list, listOf, noContent, notFound, object, ok, plainTable } from "../../core/kernel/index.ts"
import { postQuery, renderById, renderOne, resource, Shown, Store, text, update } from "../../core/kernel/index.ts"
import { valueOf, viewContext, wholeNumberOf } from "../../core/kernel/index.ts"
import type { Answer, CallerContext, ErrorBody, Failure, Input, One, RowOf } from "../../core/kernel/index.ts"
import type { SharedDraft, Viewer } from "../../core/kernel/index.ts"
import { schema_version } from "../../core/kernel/runtime/schema.ts"
import { missingRight, rightsOfUser, roles, users } from "../../core/people/users/permissions.ts"
import { instantOf } from "../../core/values/time.ts"
import { isPublicKey, publicKeyOf } from "../protocol/bundle-format.ts"
import { countLeases } from "./reclaim-leases.ts"
import { BundleKey, DeviceTokens, replica_verdicts, replicas, verdictKey } from "./tables.ts"
import { commands_per_push_max } from "../protocol/wire.ts"
import { requireOwnReplica, verdictOf } from "./push.ts"
import { JournalTail } from "./shape.ts"
import { redactionFor } from "../protocol/redaction.ts"
import { greeting, verdicts as verdictsAnswer } from "../protocol/answers.ts"

/**
 * Minimum schema of commands. Older devices may pull, but their commands are refused with a message, and they keep
 * them.
 */
export const client_schema_min = 1
/** Minimum schema that understands redacted events; older devices are refused unless their user sees everything. */
const parts_schema_min = 2

/** Data of a device in addition to its row: its public key, its own token, and its progress. */
export const replica_devices = plainTable(
  "replica_devices",
  "replica_id",
  {
    replica_id: integer(),
    /** Ed25519 public key, base64url. */
    public_key: text({ nullable: true, max: 64 }),
    token_id: integer({ nullable: true, max: Number.MAX_SAFE_INTEGER }),
    /** Id of the token it enrolled with, whose revocation also revokes the device's own. */
    issued_by: integer({ nullable: true, max: Number.MAX_SAFE_INTEGER }),
    position: integer({ default: 0, max: Number.MAX_SAFE_INTEGER })
  },
  { indexes: [["token_id"], ["issued_by"]] }
)

export const deviceResource = resource({
  singular: "replica",
  table: replicas,
  filters: ["user_id"],
  sorts: ["created_at", "seen_at"],
  shows: { user_name: text({ nullable: true }), position: integer() },
  lookups: { user: { via: "user_id", table: users } },
  load: (rows) =>
    Effect.gen(function* () {
      const found = yield* Store.getMany(
        replica_devices,
        rows.map((row) => row.id)
      )
      return new Map(found.map((row) => [row.replica_id, row.position]))
    }),
  view: (base, row, { user }, _context, positions) => ({
    ...base,
    user_name: user === undefined ? null : String(user["name"]),
    position: positions.get(row.id) ?? 0
  })
})
const reads = {
  ability: "sync:read",
  permission: null,
  metering_weight: 0,
  server_only: true
} as const satisfies SharedDraft
const writes = {
  ability: "sync:write",
  permission: null,
  metering_weight: 0,
  server_only: true
} as const satisfies SharedDraft

const managesDevices = (viewer: Viewer): boolean => hasOnePermission(viewer, "users.edit")
type OneReplica = { readonly id: { readonly table: typeof replicas } }
const one = { id: { table: replicas } } as const

const noSuchReplica = notFound("No such replica.")
/** Allows the device's user, and managers of users who hold all rights of that user; others get 404 or 403. */
const mineOrManaged = Effect.fnUntraced(function* ({
  rows: { id: replica },
  viewer
}: CallerContext<OneReplica>): Store.Reads<void> {
  if (replica.user_id === viewer.user_id) return
  if (!managesDevices(viewer)) return yield* noSuchReplica
  const user = yield* Store.get(users, replica.user_id)
  const lacked =
    user === undefined
      ? undefined
      : missingRight(viewer, rightsOfUser(user, yield* Store.getMany(roles, user.role_ids)))
  if (lacked !== undefined) return yield* forbidden(`This device's user holds ${lacked}, which you do not have.`)
})

const keyOf = Effect.map(BundleKey, (key) => (key === undefined ? null : publicKeyOf(key.seed)))
/** Server information for devices. */
const serverView = Effect.gen(function* () {
  return { schema_version, client_schema_min, public_key: yield* keyOf }
})

/** Stores an enrolling device, in the enrolment's transaction; issues a token of its own if it has a key. */
export const registerDevice = Effect.fnUntraced(function* (
  replica_id: number,
  name: string,
  public_key: string | undefined,
  viewer: Viewer,
  now: string
) {
  if (public_key !== undefined && !isPublicKey(public_key))
    return yield* invalidField("public_key", "The public key must be an Ed25519 key: 32 bytes in base64url.")
  const tokens = yield* DeviceTokens
  // A device without a key could not keep a token secret either, so it continues with the one it enrolled with.
  const token =
    tokens !== undefined && public_key !== undefined
      ? yield* tokens.issue(`Device ${name}`.slice(0, 255), viewer, now)
      : undefined
  yield* Store.apply([
    insert(replica_devices, {
      replica_id,
      public_key: public_key ?? null,
      token_id: token?.id ?? null,
      issued_by: token === undefined ? null : viewer.token_id,
      position: 0
    })
  ])
  return {
    ...(token === undefined ? {} : { token: { id: token.id, secret: token.secret } }),
    server: yield* serverView
  }
})

/** The refusal of a device that would ignore redacted events. */
const tooOldToRead = (schema_version: number): Answer<ErrorBody> => ({
  status: 426,
  body: {
    message: `This device runs a release with schema ${schema_version}; people who do not see everything are told the news from schema ${parts_schema_min} on. What is recorded here stays: update Flightcase, then sync.`,
    errors: { schema_version: [`at least ${parts_schema_min}`] }
  }
})
const known = object({ n: integer({ required: true, min: 1 }), id: text({ required: true, max: 64 }) })
const hello = postQuery("/api/v1/sync/replicas/{id}/hello", {
  answer: greeting,
  error_answers: { 426: null },
  name: "replicas.hello",
  summary: "Report a device's state, and check whether it may continue",
  ...writes,
  params: one,
  fields: {
    schema_version: integer({ required: true, min: 0 }),
    position: integer({ default: 0, min: 0, max: Number.MAX_SAFE_INTEGER }),
    last_n: integer({ required: true, min: 0, describe: "Highest command number used" }),
    pending: list(known, {
      default: [],
      max_items: commands_per_push_max,
      describe: "Oldest commands without a verdict"
    }),
    public_key: text({ max: 64, describe: "Public key for bundles (Ed25519, base64url); set once" })
  },
  run: Effect.fnUntraced(function* (input) {
    const { values, viewer, now } = input
    const replica = yield* requireOwnReplica(input.rows.id.id, viewer, false)
    if (
      values.schema_version < parts_schema_min &&
      !redactionFor((yield* CommandRuntime).catalogue, viewer, replica.id).whole
    )
      return tooOldToRead(values.schema_version)
    const before = yield* Store.get(replica_devices, replica.id)
    if (values.public_key !== undefined && !isPublicKey(values.public_key))
      return yield* invalidField("public_key", "The public key must be an Ed25519 key: 32 bytes in base64url.")
    const key = before?.public_key ?? values.public_key ?? null
    yield* Store.transaction(
      Effect.gen(function* () {
        yield* Store.apply([update(replicas, replica.id, { seen_at: now, schema_version: values.schema_version })])
        yield* saveDevice(replica.id, { public_key: key, position: values.position ?? 0 })
      })
    )
    const copied = yield* isCopy(replica, values.last_n, values.pending ?? [])
    return ok({
      replica: { id: replica.id, name: replica.name, last_n: replica.last_n },
      server: yield* serverView,
      now,
      copied,
      leases: yield* countLeases(replica.id),
      push: values.schema_version >= client_schema_min,
      signs: key !== null && (values.public_key === undefined || key === values.public_key)
    })
  })
})
/** Inserts or updates the data of a device. */
export const saveDevice = Effect.fnUntraced(function* (
  replica_id: number,
  set: { readonly public_key?: string | null; readonly position?: number }
) {
  const before = yield* Store.get(replica_devices, replica_id)
  yield* Store.apply([
    before === undefined
      ? insert(replica_devices, { replica_id, public_key: null, token_id: null, issued_by: null, position: 0, ...set })
      : update(replica_devices, replica_id, set)
  ])
})

/**
 * Whether a folder is a copy, or was restored from a backup: the server has decided a command number that this folder
 * has not assigned, or has assigned to another command.
 */
const isCopy = Effect.fnUntraced(function* (
  replica: RowOf<typeof replicas>,
  last_n: number,
  pending: ReadonlyArray<{ readonly n: number; readonly id: string }>
) {
  if (replica.last_n > last_n) return true
  const decided = pending.filter(({ n }) => n <= replica.last_n)
  if (decided.length === 0) return false
  const rows = yield* Store.getMany(
    replica_verdicts,
    decided.map(({ id }) => verdictKey(replica.id, id))
  )
  const known = new Set(rows.map((row) => row.id))
  return decided.some(({ id }) => !known.has(id))
})

const named = { name: text({ required: true }) }
const rename = (input: Input<OneReplica, typeof named>): Effect.Effect<Answer<One<"replica">>, Failure, Store> =>
  Effect.gen(function* () {
    const name = input.values.name
    if (name !== undefined)
      yield* Store.transaction(Store.apply([update(replicas, input.rows.id.id, { name, updated_at: input.now })]))
    return ok(yield* renderById(deviceResource, input.rows.id.id, input.query, viewContext(input)))
  })

const revoke = (input: Input<OneReplica, {}>): Effect.Effect<Answer<never>, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const replica = input.rows.id
    if (replica.revoked_at !== null) return noContent
    const now = instantOf(yield* Clock.currentTimeMillis)
    const tokens = yield* DeviceTokens
    const tail = yield* JournalTail
    yield* Store.transaction(
      Effect.gen(function* () {
        yield* Store.apply([update(replicas, replica.id, { revoked_at: now, updated_at: now })])
        if (tail !== undefined) yield* (yield* Store).sql.afterCommit(Effect.sync(tail.ended))
        const device = yield* Store.get(replica_devices, replica.id)
        if (tokens !== undefined && device !== undefined && device.token_id !== null)
          yield* tokens.end(device.token_id, input.viewer, now)
      })
    )
    return noContent
  })

const shownHere = (input: Input<OneReplica, {}>): Effect.Effect<Answer<One<"replica">>, Failure, Store> =>
  input.rows.id.user_id === input.viewer.user_id || managesDevices(input.viewer)
    ? Effect.map(renderOne(deviceResource, input.rows.id, input.query, viewContext(input)), ok)
    : Effect.fail(noSuchReplica)

/**
 * Verdicts on a device's commands, for its user and the owner, also after its revocation, so that another device does
 * not send decided commands again.
 */
const verdicts = postQuery("/api/v1/sync/replicas/{id}/verdicts", {
  answer: { verdicts: verdictsAnswer },
  name: "replicas.verdicts",
  summary: "List verdicts on a device's commands",
  ...writes,
  params: one,
  fields: { ids: list(text({ max: 64 }), { required: true, max_items: 10_000 }) },
  run: Effect.fnUntraced(function* (input) {
    if (input.rows.id.user_id !== input.viewer.user_id && !input.viewer.is_owner) return yield* noSuchReplica
    const found = yield* Store.getMany(
      replica_verdicts,
      input.values.ids.map((id) => verdictKey(input.rows.id.id, id))
    )
    return ok({ verdicts: found.map(verdictOf) })
  })
})

const oneDevice = { replica: Shown.row(() => deviceResource) }
export const deviceEndpoints = [
  get("/api/v1/sync/replicas", {
    answer: Shown.page(() => deviceResource),
    name: "replicas.list",
    summary: "List your devices, or everyone's if you manage users",
    ...reads,
    run: (input) =>
      listOf(deviceResource, input, managesDevices(input.viewer) ? {} : { where: { user_id: input.viewer.user_id } })
  }),
  get("/api/v1/sync/replicas/{id}", {
    answer: oneDevice,
    name: "replicas.show",
    summary: "Show one device",
    ...reads,
    params: one,
    run: shownHere
  }),
  {
    ...postQuery("/api/v1/sync/replicas/{id}", {
      answer: oneDevice,
      name: "replicas.update",
      summary: "Rename a device",
      ...writes,
      mode: "update",
      params: one,
      fields: named,
      authorize: mineOrManaged,
      run: rename
    }),
    method: "PUT" as const
  },
  {
    ...postQuery("/api/v1/sync/replicas/{id}", {
      name: "replicas.revoke",
      summary: "Revoke a device; its token stops working",
      ...writes,
      params: one,
      authorize: mineOrManaged,
      run: revoke
    }),
    method: "DELETE" as const
  },
  hello,
  verdicts
]

/** Fails unless the device of the query or the token, else one of the user's, may sync. The owner needs none. */
export const findCallingDevice = Effect.fnUntraced(function* ({ viewer, query }: CallerContext) {
  const own = viewer.token_id === null ? undefined : yield* Store.first(replica_devices, { token_id: viewer.token_id })
  const named = wholeNumberOf(valueOf(query, "replica_id")) ?? own?.replica_id
  if (named !== undefined) return void (yield* requireOwnReplica(named, viewer, false))
  const devices = viewer.is_owner ? [] : yield* Store.find(replicas, { user_id: viewer.user_id })
  const device = devices.find(({ revoked_at }) => revoked_at === null) ?? devices[0]
  if (!viewer.is_owner) yield* requireOwnReplica(device?.id ?? 0, viewer, false)
})

/** The revoked device that had this token; undefined if there is none. */
export const revokedDevice = Effect.fnUntraced(function* (token_id: number) {
  const device = yield* Store.first(replica_devices, { token_id })
  const replica = device === undefined ? undefined : yield* Store.get(replicas, device.replica_id)
  return replica === undefined || replica.revoked_at === null ? undefined : replica
})
/** Ids of tokens that devices got by enrolling with this one. */
export const tokensIssuedBy = Effect.fnUntraced(function* (token_id: number) {
  return (yield* Store.find(replica_devices, { issued_by: token_id })).flatMap((device) => device.token_id ?? [])
})
