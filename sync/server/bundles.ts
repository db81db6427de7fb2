/**
 * Offline sync: receives a bundle with a device's push and returns one with its pull. The bundle's signature
 * authenticates the device; the caller only needs a token that may sync.
 */
import { Clock, Effect } from "effect"
import { boolean, CommandRuntime, created, forbidden, hasAbility, integer, invalid } from "../../core/kernel/index.ts"
import { invalidField, isJsonObject, json, list, notFound, object, ok, postQuery } from "../../core/kernel/index.ts"
import { readFields, Rejection, retryOnConflict, Shown, Store, text, timestamp } from "../../core/kernel/index.ts"
import { upload_bytes_max, wire_body_depth_max } from "../../core/kernel/index.ts"
import type { JsonObject, Query, ValueOf, Viewer } from "../../core/kernel/index.ts"
import { receivedFile, wantedFiles } from "../protocol/answers.ts"
import { client_schema_min, findCallingDevice, replica_devices, saveDevice } from "./devices.ts"
import {
  BundleKey,
  DeviceFiles,
  DeviceTokens,
  files_asked_max,
  id_leases,
  lost_files_field,
  noteReceived,
  otherContent,
  receivedFrom,
  replicas
} from "./tables.ts"
import { requireOwnReplica, revoked_message } from "./push.ts"
import { schema_version } from "../../core/kernel/runtime/schema.ts"
import { roles, users, viewerOf } from "../../core/people/users/permissions.ts"
import { instantOf } from "../../core/values/time.ts"
import type { EventsBody, Page } from "../protocol/bundle-format.ts"
import {
  bundle_bytes_max,
  BundleError,
  bundleFrom,
  commands_per_bundle_max,
  isSignedByInPieces,
  signBundleInPieces
} from "../protocol/bundle-format.ts"
import { commands_per_push_max, leasedTables, type LeaseRange, type Verdict } from "../protocol/wire.ts"
import { command_fields, decideInOrder, upgradeRequired, wireCommands } from "./commands.ts"
import { countLeases, lease, lease_reclaim_fields, type LeaseReclaim, reclaimLeases } from "./reclaim-leases.ts"
import { shapeAnswer } from "./shape.ts"

// Endpoints for devices' files: which are missing on the server, and uploading one.

const writes = { ability: "sync:write", permission: null, metering_weight: 0 } as const

const send = postQuery("/api/v1/sync/files", {
  answer: { file: receivedFile },
  error_answers: { 404: null },
  name: "replicas.send_file",
  summary: "Send a file ahead of the command that names it; it may be sent again",
  ...writes,
  server_only: true,
  uploads: true,
  success_status: 201,
  authorize: findCallingDevice,
  fields: { replica_id: integer({ required: true, min: 1 }), sha256: text({ required: true, max: 64 }) },
  run: (input) =>
    Effect.gen(function* () {
      const { replica_id, sha256 } = input.values
      const replica = yield* requireOwnReplica(replica_id ?? 0, input.viewer, false)
      const file = input.files?.["file"]
      if (file === undefined) return yield* invalidField("file", "The file field is required.")
      if (file.sha256 !== sha256) return yield* otherContent
      yield* noteReceived(replica.user_id, file, input.now)
      return created({ file: { sha256, size_bytes: file.size_bytes, mime_type: file.mime_type } })
    })
})

const wanted = postQuery("/api/v1/sync/files/wanted", {
  answer: { wanted: wantedFiles },
  error_answers: { 404: null },
  name: "replicas.wanted_files",
  summary: "List which of these files the device still has to send",
  ...writes,
  server_only: true,
  fields: {
    replica_id: integer({ required: true, min: 1 }),
    sha256: list(text({ max: 64 }), { required: true, max_items: files_asked_max })
  },
  run: (input) =>
    Effect.gen(function* () {
      const { replica_id, sha256 = [] } = input.values
      const replica = yield* requireOwnReplica(replica_id ?? 0, input.viewer, false)
      const here = yield* receivedFrom(replica.user_id, sha256, input.now)
      return ok({ wanted: sha256.filter((one) => !here.has(one)) })
    })
})

export const fileEndpoints = [send, wanted]

/** Maximum length of a file's text: base64 has four characters for three bytes. */
const file_text_max = Math.ceil(upload_bytes_max / 3) * 4
/** Stores a file from a bundle. */
const keepBundledFile = Effect.fnUntraced(function* (user_id: number, sha256: string, content: string, now: string) {
  const files = yield* DeviceFiles
  if (files === undefined) return yield* new Rejection({ kind: "unavailable", message: "This server keeps no files." })
  const kept = yield* files.keep(Buffer.from(content, "base64"))
  if (kept.sha256 !== sha256) return yield* otherContent
  yield* noteReceived(user_id, kept, now)
})

/** Stores files from a bundle as if the device had uploaded them. */
const keepFilesOf = Effect.fnUntraced(function* (user_id: number | undefined, files: Given["files"], now: string) {
  if (user_id === undefined) return
  for (const { content, sha256 } of files) yield* keepBundledFile(user_id, sha256, content, now)
})
/** Characters of events after which an answer ends with the current page; the next bundles bring more. */
const event_bytes_max = 40 * 1_048_576

const body_fields = {
  replica_id: integer({ required: true, min: 1 }),
  device: text({ default: "" }),
  server: text({ default: "", max: 2_000 }),
  schema_version: integer({ required: true, min: 0 }),
  position: integer({ required: true, min: 0, max: Number.MAX_SAFE_INTEGER }),
  offset: text({ required: true, max: 40 }),
  handle: text({ nullable: true, max: 255 }),
  commands: list(command_fields, { required: true, max_items: commands_per_bundle_max }),
  leases: list(object({ entity: text({ required: true }), request_no: integer({ required: true, min: 1 }) }), {
    default: [],
    max_items: 500
  }),
  blocks: list(lease_reclaim_fields, { default: [], max_items: 20_000 }),
  blocks_asked: integer({ default: 0, min: 0 }),
  files: list(
    object({ sha256: text({ required: true, max: 64 }), content: text({ required: true, max: file_text_max }) }),
    { default: [], max_items: commands_per_bundle_max }
  ),
  lost_files: lost_files_field
}
type Given = { readonly [K in keyof typeof body_fields]: ValueOf<(typeof body_fields)[K]> }

/** A signed bundle, whose recipient decodes the body by its kind. */
const bundleShown = Shown.keys({
  flightcase_bundle: integer(),
  kind: text(),
  made_at: timestamp(),
  key: text(),
  body: json(),
  signature: text()
})

const deliver = postQuery("/api/v1/sync/bundles", {
  answer: {
    bundle: bundleShown,
    delivered: Shown.keys({
      replica_id: integer(),
      device: text(),
      commands: integer(),
      accepted: integer(),
      rejected: integer(),
      events: integer(),
      position: integer(),
      complete: boolean()
    })
  },
  error_answers: { 404: null, 409: null, 426: null },
  name: "replicas.deliver",
  summary: "Deliver a device's bundle; the response is the bundle to return",
  ability: "sync:write",
  permission: null,
  metering_weight: 0,
  server_only: true,
  body_max: bundle_bytes_max,
  fields: { bundle: json<JsonObject>({ required: true, levels: wire_body_depth_max }) },
  run: (input) =>
    Effect.gen(function* () {
      const key = yield* BundleKey
      if (key === undefined)
        return yield* new Rejection({ kind: "unavailable", message: "This server signs no bundles." })
      const { given, viewer } = yield* opened(input.values.bundle!, input.now)
      if (given.schema_version < client_schema_min) return upgradeRequired(given.schema_version, client_schema_min)
      const shown = yield* claimsOf(given)
      const recorded = yield* wireCommands(given.commands)
      const before = yield* Store.get(replicas, given.replica_id)
      // The server has lost commands before these: the answer says so, and the device sends them again.
      const commands = (recorded[0]?.n ?? 1) > (before?.last_n ?? 0) + 1 ? [] : recorded
      yield* keepFilesOf(before?.user_id, given.files, input.now)
      const verdicts: Array<Verdict> = []
      for (let at = 0; at < commands.length;) {
        const some = commands.slice(at, at + commands_per_push_max)
        const decided = yield* decideInOrder(given.replica_id, some, viewer, given.lost_files)
        verdicts.push(...decided)
        if (decided.length < some.length) break
        at += decided.length
      }
      const leases = yield* leasesFor(given)
      const { pages, complete } = yield* pagesFor(given, viewer)
      const position = Number(pages.at(-1)?.offset.split("_")[0] ?? given.position)
      yield* saveDevice(given.replica_id, { position: given.position })
      const body: EventsBody = {
        replica_id: given.replica_id,
        schema_version,
        verdicts,
        pages,
        complete,
        leases,
        remembered: yield* rememberedOf(given.replica_id, shown)
      }
      const rejected = verdicts.filter((one) => one.status === "rejected").length
      const made_at = instantOf(yield* Clock.currentTimeMillis)
      return ok({
        bundle: { ...(yield* Effect.promise(() => signBundleInPieces("events", body, key.seed, made_at))) },
        delivered: {
          replica_id: given.replica_id,
          device: given.device,
          commands: commands.length,
          accepted: verdicts.length - rejected,
          rejected,
          events: pages.reduce((sum, page) => sum + page.rows.length, 0),
          position,
          complete
        }
      })
    })
})

/** Content of a bundle after verifying its signature, with the current permissions of the device's user. */
const opened = Effect.fnUntraced(function* (
  bundle: JsonObject,
  now: string
): Store.Reads<{ readonly given: Given; readonly viewer: Viewer }> {
  const refused = (text: string) => invalidField("bundle", text)
  const sealed = yield* Effect.try({
    try: () => bundleFrom(bundle),
    catch: (error) =>
      error instanceof BundleError ? refused(`${error.message} ${error.way_out}`) : refused("This is no bundle.")
  })
  if (sealed.kind !== "commands")
    return yield* refused("This bundle comes from a server: it is for the device it was made for.")
  const replica_id = sealed.body["replica_id"]
  const replica = Number.isSafeInteger(replica_id) ? yield* Store.get(replicas, Number(replica_id)) : undefined
  if (replica === undefined)
    return yield* notFound("This server knows no such device: the bundle is for another server.")
  if (replica.revoked_at !== null)
    return yield* new Rejection({ kind: "forbidden", message: revoked_message, errors: { replica: ["revoked"] } })
  const device = yield* Store.get(replica_devices, replica.id)
  if (device?.public_key === null || device?.public_key === undefined)
    return yield* refused("The device has told this server no key yet; it must sync over the network once.")
  if (sealed.key !== device.public_key)
    return yield* refused("The bundle was signed by another device than the one it names, or is for another server.")
  const public_key = device.public_key
  if (!(yield* Effect.promise(() => isSignedByInPieces(sealed, public_key))))
    return yield* refused("The bundle was changed after it was made: its signature does not fit.")
  const read = readFields(body_fields, sealed.body, { mode: "create", base_currency: "GBP" })
  if (Object.keys(read.errors).length > 0)
    return yield* invalid(
      Object.fromEntries(Object.entries(read.errors).map(([path, texts]) => [`bundle.body.${path}`, texts]))
    )
  return { given: { handle: null, ...read.values } as Given, viewer: yield* userOf(replica.user_id, device, now) }
})

/** The device's user, limited to the abilities of the device's token. Fails if either may no longer sync. */
const userOf = Effect.fnUntraced(function* (
  user_id: number,
  device: { readonly token_id: number | null },
  now: string
): Store.Reads<Viewer> {
  const user = yield* Store.get(users, user_id)
  if (user === undefined || !user.is_active)
    return yield* forbidden("The account of the device's user has been deactivated.")
  const tokens = yield* DeviceTokens
  const abilities =
    tokens !== undefined && device.token_id !== null ? yield* tokens.abilitiesOf(device.token_id, now) : undefined
  if (abilities === undefined)
    return yield* forbidden("The device's token opens nothing any more; the device must log in anew.")
  const viewer = viewerOf(user, yield* Store.find(roles, {}), { id: device.token_id!, abilities })
  if (!hasAbility(viewer, "sync:read") || !hasAbility(viewer, "sync:write"))
    return yield* forbidden("The device's token lacks the ability to sync.")
  return viewer
})

const leasesFor = Effect.fnUntraced(function* (given: Given) {
  const known = leasedTables((yield* CommandRuntime).catalogue)
  return yield* Store.transaction(
    Effect.gen(function* () {
      const replica = { id: given.replica_id, last_n: (yield* Store.get(replicas, given.replica_id))?.last_n ?? 0 }
      return yield* Effect.forEach(
        given.leases.filter(({ entity }) => known.includes(entity)),
        ({ entity, request_no }) =>
          Effect.map(lease(replica, entity, request_no), (ranges) => ({ entity, request_no, ranges }))
      )
    })
  ).pipe(retryOnConflict)
})

/** Reclaims the device's blocks if the server knows fewer than it requested; returns those it presented, else none. */
const claimsOf = (given: Given) =>
  Store.transaction(
    Effect.gen(function* () {
      return (yield* countLeases(given.replica_id)) < (given.blocks_asked ?? 0)
        ? yield* forgotten(given.replica_id, given.blocks ?? [])
        : []
    })
  ).pipe(retryOnConflict)
const forgotten = Effect.fnUntraced(function* (replica_id: number, blocks: ReadonlyArray<LeaseReclaim>) {
  yield* reclaimLeases(replica_id, blocks)
  return blocks.map(({ entity, from, to }): LeaseRange => ({ entity, from, to }))
})
const rememberedOf = Effect.fnUntraced(function* (replica_id: number, shown: ReadonlyArray<LeaseRange>) {
  const leases = (yield* Store.find(id_leases, { replica_id })).map(({ entity, from, to }): LeaseRange => ({
    entity,
    from,
    to
  }))
  return { last_n: (yield* Store.get(replicas, replica_id))?.last_n ?? 0, leases, shown }
})

/** The shape endpoint's pages, as the device would have fetched them. */
const pagesFor = Effect.fnUntraced(function* (given: Given, viewer: Viewer) {
  const { catalogue } = yield* CommandRuntime
  const pages: Array<Page> = []
  let at = given.handle === null ? { offset: "-1", handle: undefined } : { offset: given.offset, handle: given.handle }
  let anew = given.handle === null
  for (let bytes = 0; ;) {
    const query: Query = [
      ["table", "journal"],
      ["replica_id", String(given.replica_id)],
      ["offset", at.offset],
      ...(at.handle === undefined ? [] : [["handle", at.handle] as const])
    ]
    const answer = yield* shapeAnswer(catalogue, { viewer, replica_id: given.replica_id, query })
    const headers = answer.headers ?? {}
    if (answer.status === 409) {
      // Happens once at most, as reading from the beginning is never refused.
      at = { offset: "-1", handle: undefined }
      anew = true
      continue
    }
    const rows = (Array.isArray(answer.body) ? answer.body : [])
      .filter(isJsonObject)
      .flatMap((message) => (isJsonObject(message["value"]) ? [message["value"]] : []))
    const page: Page = {
      anew,
      from: at.offset,
      offset: headers["electric-offset"]!,
      handle: headers["electric-handle"]!,
      up_to_date: headers["electric-up-to-date"] !== undefined,
      rows
    }
    pages.push(page)
    anew = false
    if (page.up_to_date) return { pages, complete: true }
    bytes += JSON.stringify(rows).length
    if (bytes > event_bytes_max) return { pages, complete: false }
    at = { offset: page.offset, handle: page.handle }
  }
})

export const bundleEndpoints = [deliver]
