/** Decides a device's commands, each in its own transaction together with the row that prevents a second decision. */
import { firstOf } from "../../core/values/text.ts"
import { Clock, Effect } from "effect"
import { appendEvents, bodyOf, canonicalJson, chunked, CommandRuntime } from "../../core/kernel/index.ts"
import { decideInSavepoint, invalidField, isLongerThan, journal, json_body_bytes_max } from "../../core/kernel/index.ts"
import { later, notFound, Rejection, retryOnConflict, statusOf, Store, streamOf } from "../../core/kernel/index.ts"
import { streamsOfCommand, traced, update, wordsOf } from "../../core/kernel/index.ts"
import type { AnyRow, Failure, Json, RowChange, RowOf, StoredEvent } from "../../core/kernel/index.ts"
import type { Viewer } from "../../core/kernel/index.ts"
import { hasOwnIds } from "../../core/kernel/runtime/ids.ts"
import { instantOf } from "../../core/values/time.ts"
import { commandDecided, rowKey, type RowTouch, touchesOf } from "../protocol/events.ts"
import { columnOf, type WatchedChange, watching } from "../protocol/merge.ts"
import type { UnlessChanged, Verdict, WireCommand, WireError } from "../protocol/wire.ts"
import { blocked_status, decoderOf, idReusedError, replicaStream, wireError } from "../protocol/wire.ts"
import { lockReplica, receivedFiles, replica_verdicts, replicas, textDigest, verdictKey } from "./tables.ts"
import { lockFirst } from "../../core/kernel/runtime/locks.ts"
import { users } from "../../core/people/users/permissions.ts"
import { type Redaction, redactionFor } from "../protocol/redaction.ts"

// Guards of undos (rules/undo 4): a command is refused if others changed the same rows after the device's last known
// position, so that their changes are not undone. The error names the author if the sender may see that.

const naming = later(() => import("../../core/offline/undo/called.ts"))

const changedSince = Effect.fnUntraced(function* (
  replica_id: number,
  { name, payload, unless_changed }: WireCommand,
  viewer: Viewer
): CommandRuntime.Reads<WireError | undefined> {
  if (unless_changed === undefined || unless_changed.streams.length === 0) return undefined
  const { catalogue } = yield* CommandRuntime
  const endpoint = catalogue.endpoint(name)
  const own = endpoint?.kind === "command" ? streamsOfCommand(endpoint, payload.params, payload.body) : []
  // Lock first: concurrent writers commit either before this check or after this command.
  yield* lockFirst([...own, ...unless_changed.streams])
  const look = watching(catalogue, unless_changed.rows)
  for (const event of yield* eventsOfOthers(replica_id, unless_changed)) {
    const change = look(event, event.recorded_at)
    if (change === undefined || event.position <= unless_changed.since || event.replica_id === replica_id) continue
    const redaction = redactionFor(catalogue, viewer, replica_id)
    const told = redaction.see(event)
    const seen =
      told === undefined ? [] : touchesOf({ catalogue }, { stream: event.stream, ...told }, event.recorded_at)
    const is_seen = seen.some((touch) => isTouchOf(touch, change))
    return refusal(
      (is_seen ? yield* described(redaction, event, change) : undefined) ?? "what it changed was changed since"
    )
  }
  return undefined
})
/** Whether the change is visible in the reader's version of the event. */
const isTouchOf = (touch: RowTouch, { by, watched }: WatchedChange): boolean =>
  rowKey(touch) === rowKey(by) && (watched === undefined || columnOf(watched) in touch.columns)

/**
 * Others' events after `since`; if values within documents are watched, all events, on which those values depend.
 */
const eventsOfOthers = Effect.fnUntraced(function* (replica_id: number, { rows, since, streams }: UnlessChanged) {
  const store = yield* Store
  const all = Object.values(rows).some((values) => values.some((one) => one !== columnOf(one)))
  const { sql } = store
  const later = all
    ? sql.literal("")
    : sql`and position > ${since} and (replica_id is null or replica_id <> ${replica_id})`
  const found: Array<number> = []
  for (const some of chunked([...new Set(streams)], 5_000)) {
    const rows = yield* sql<{ position: number }>`
      select position from journal where stream in ${sql.in(some)} and type <> ${commandDecided.type} ${later}`
    for (const { position } of rows) found.push(Number(position))
  }
  const events = yield* store.getMany(journal, found)
  return [...events].sort((one, other) => one.position - other.position)
})

/** Description of a change with author and time; undefined if the reader may not see the row. */
const described = Effect.fnUntraced(function* (
  redaction: Redaction,
  { actor_id, recorded_at }: StoredEvent,
  { key: id, table, watched }: WatchedChange
) {
  const key = table.key === "id" ? Number(id) : String(id)
  const row = yield* Store.get(table, key)
  const shown = row === undefined ? undefined : redaction.row(table, row)
  if (row !== undefined && shown === undefined) return undefined
  const actor = actor_id === null ? undefined : yield* Store.get(users, actor_id)
  const name = actor === undefined ? undefined : redaction.row(users, actor)?.["name"]
  const who = typeof name === "string" && name !== "" ? name : "somebody else"
  const { calledRow } = yield* naming
  const called = calledRow(table, key, shown === undefined ? undefined : { ...shown })
  const what = `${called}${watched === undefined ? "" : `: ${columnOf(watched).replaceAll("_", " ")}`}`
  return `${what} was changed since by ${who} (${recorded_at})`
})
const refusal = (what: string): WireError => {
  const message = `Not taken back: ${what}.`
  return { status: statusOf.conflict, message, errors: { unless_changed: [message] } }
}

export const revoked_message = "This device has been revoked; its unsent commands stay with it for review."

/** The replica. Fails with 404 unless it is the viewer's or the viewer is the owner, with 403 if it is revoked. */
export const requireOwnReplica = Effect.fnUntraced(function* (replica_id: number, viewer: Viewer, lock: boolean) {
  if (lock) yield* lockReplica(replica_id)
  const replica = yield* Store.get(replicas, replica_id)
  if (replica === undefined || (replica.user_id !== viewer.user_id && !viewer.is_owner))
    return yield* notFound("No such replica.")
  if (replica.revoked_at !== null)
    return yield* new Rejection({ kind: "forbidden", message: revoked_message, errors: { replica: ["revoked"] } })
  return replica
})

/** Decides a command, or returns its earlier verdict. `lost`: hashes of content the device has lost. */
export const decidePushed = (
  replica_id: number,
  command: WireCommand,
  viewer: Viewer,
  lost: ReadonlySet<string>
): Effect.Effect<Verdict, Failure, Store | CommandRuntime> =>
  traced(Store.transaction(decideOnce(replica_id, command, viewer, lost)).pipe(retryOnConflict), () => ({
    name: `sync.push ${command.name}`,
    attributes: { "flightcase.replica_id": replica_id, "flightcase.command_number": command.n },
    after: ({ status }) => ({ "flightcase.verdict": status })
  }))

const decideOnce = Effect.fnUntraced(function* (
  replica_id: number,
  command: WireCommand,
  viewer: Viewer,
  lost: ReadonlySet<string>
): CommandRuntime.Reads<Verdict> {
  const replica = yield* requireOwnReplica(replica_id, viewer, true)
  // A hash instead of the payload, as personal data must not outlive an erasure here.
  const fingerprint = textDigest(isTooLong(command) ? "too long" : canonicalJson([command.name, command.payload]))
  const known = yield* Store.get(replica_verdicts, verdictKey(replica_id, command.id))
  const other =
    known !== undefined && known.fingerprint !== fingerprint && textDigest(known.fingerprint) !== fingerprint
  if (known !== undefined && (!other || command.n <= replica.last_n))
    return other ? { id: command.id, status: "rejected", error: idReusedError(known) } : verdictOf(known)
  if (command.n <= replica.last_n)
    return yield* invalidField(
      "n",
      `Number ${command.n} was used for another command; this data folder is a copy and must log in anew.`
    )
  if (command.n > replica.last_n + 1) {
    return yield* new Rejection({
      kind: "conflict",
      message: `Command ${replica.last_n + 1} is missing; send it first.`,
      errors: { n: [`expected ${replica.last_n + 1}`] }
    })
  }
  return known === undefined
    ? yield* decideNew(replica, command, fingerprint, viewer, lost)
    : yield* passOver(replica, command, idReusedError(known), viewer)
})

/** Refuses a command whose id was used before; its number counts as decided. */
const passOver = Effect.fnUntraced(function* (
  replica: RowOf<typeof replicas>,
  command: WireCommand,
  error: WireError,
  viewer: Viewer
) {
  const now = instantOf(yield* Clock.currentTimeMillis)
  const recorded = yield* recordVerdict(replica.id, command, error, viewer, now)
  yield* Store.apply([movedOn(replica.id, command.n, now)])
  return {
    id: command.id,
    status: "rejected",
    error,
    ...(recorded === null ? {} : { position: recorded })
  } satisfies Verdict
})
const movedOn = (replica_id: number, n: number, now: string): RowChange =>
  update(replicas, replica_id, { last_n: n, seen_at: now })

/** Records the verdict in the journal, where the device finds it even if the answer is lost; returns its position. */
const recordVerdict = Effect.fnUntraced(function* (
  replica_id: number,
  { n, id, name }: WireCommand,
  error: WireError | undefined,
  viewer: Viewer,
  now: string
) {
  const status = error === undefined ? ("accepted" as const) : ("rejected" as const)
  const recorded = yield* appendEvents(
    [
      commandDecided.make(
        { n, command_id: id, name, status, ...(error === undefined ? {} : { error }) },
        replicaStream(replica_id)
      )
    ],
    { command_id: id, actor_id: viewer.user_id, replica_id, recorded_at: now }
  )
  return recorded.at(-1)?.position ?? null
})

const decideNew = Effect.fnUntraced(function* (
  replica: RowOf<typeof replicas>,
  command: WireCommand,
  fingerprint: string,
  viewer: Viewer,
  lost: ReadonlySet<string>
): CommandRuntime.Reads<Verdict> {
  const now = instantOf(yield* Clock.currentTimeMillis)
  const error = (yield* refusedNeed(replica.id, command)) ?? (yield* attempt(replica, command, viewer, lost))
  const position = yield* recordVerdict(replica.id, command, error, viewer, now)
  const row = {
    key: verdictKey(replica.id, command.id),
    id: command.id,
    replica_id: replica.id,
    n: command.n,
    fingerprint,
    accepted: error === undefined,
    position,
    error: error === undefined ? null : { ...error },
    decided_at: now
  }
  yield* Store.apply([{ op: "insert", table: replica_verdicts, row }, movedOn(replica.id, command.n, now)])
  return verdictOf(row)
})

/**
 * Rejection of a command that depends on a refused one, as deciding it would give a confusing error ("no such
 * opportunity"). Its number counts as decided; `cause` is the first refused command of the chain. Undefined if none was
 * refused.
 */
const refusedNeed = Effect.fnUntraced(function* (replica_id: number, { needs = [] }: WireCommand) {
  if (needs.length === 0) return undefined
  const refused = (yield* Store.getMany(
    replica_verdicts,
    needs.map((id) => verdictKey(replica_id, id))
  ))
    .filter((one) => !one.accepted)
    .sort((one, other) => one.n - other.n)[0]
  if (refused === undefined) return undefined
  const cause = (refused.error === null ? undefined : decodeStoredError(refused.error).cause) ?? refused.id
  return {
    status: blocked_status,
    message: `Not decided: it builds on command ${refused.n}, which was refused.`,
    cause
  } satisfies WireError
})

/** Error of a command whose file is lost on its device. */
const lostFile = (field: string, { name }: { readonly name: string }): WireError => {
  const message = `The file ${name} is not on the device any more, or not as it was; attach it again.`
  return { status: 422, message, errors: { [field]: [message] } }
}

/** Decides the command in a savepoint, so that a refused one leaves only its verdict. */
const attempt = Effect.fnUntraced(function* (
  { id: replica_id, user_id }: RowOf<typeof replicas>,
  command: WireCommand,
  viewer: Viewer,
  lost: ReadonlySet<string>
): CommandRuntime.Reads<WireError | undefined> {
  const { catalogue } = yield* CommandRuntime
  if (isTooLong(command))
    return {
      status: statusOf.too_large,
      message: `What was recorded is longer than ${json_body_bytes_max} bytes, which is more than one request may say. Record it in parts.`
    }
  const endpoint = catalogue.endpoint(command.name)
  if (endpoint === undefined || endpoint.kind !== "command" || endpoint.server_only) {
    return {
      status: 422,
      message: `This server knows no command ${command.name} that can be sent later.`,
      errors: { name: [command.name] }
    }
  }
  const foreign = yield* foreignId(replica_id, command)
  if (foreign !== undefined)
    return {
      status: 422,
      message: `Id ${foreign.id} of ${foreign.table} is not leased to this device.`,
      errors: { ids: [`${foreign.table} ${foreign.id}`] }
    }
  const other = (yield* otherRow(command)) ?? (yield* changedSince(replica_id, command, viewer))
  if (other !== undefined) return other
  const gone = Object.entries(command.payload.files ?? {}).find(([, { sha256 }]) => lost.has(sha256))
  if (gone !== undefined) return lostFile(...gone)
  const files = yield* receivedFiles(user_id, command.payload, instantOf(yield* Clock.currentTimeMillis))
  const call = {
    endpoint,
    params: command.payload.params,
    viewer,
    request: { method: endpoint.method, path: endpoint.path, query: [], body: command.payload.body, ...files }
  }
  return yield* decideInSavepoint(call, {
    command_id: command.id,
    replica_id,
    ids: command.ids,
    issued_at: command.issued_at
  }).pipe(
    Effect.as(undefined),
    Effect.catch((failure) =>
      failure instanceof Rejection
        ? Effect.succeed({ status: statusOf[failure.kind], ...bodyOf(failure) } satisfies WireError)
        : Effect.fail(failure)
    )
  )
})

/**
 * Rejection of a command that references another row than its user saw: after a restore the id was given to another
 * row. Undefined if there is none.
 */
const otherRow = Effect.fnUntraced(function* ({
  rows_seen = {}
}: WireCommand): CommandRuntime.Reads<WireError | undefined> {
  const { catalogue } = yield* CommandRuntime
  const named = Object.entries(rows_seen)
    .map(([row, made]) => ({
      row,
      made,
      name: row.slice(0, row.indexOf("/")),
      id: Number(row.slice(row.indexOf("/") + 1))
    }))
    .filter(({ id }) => Number.isSafeInteger(id))
  const rows = new Map<string, AnyRow>()
  for (const table of catalogue.tables.filter((one) => hasOwnIds(one) && named.some(({ name }) => name === one.name))) {
    for (const row of yield* Store.getMany(
      table,
      named.filter(({ name }) => name === table.name).map(({ id }) => id)
    ))
      rows.set(`${table.name}/${String(row["id"])}`, row)
  }
  for (const { id, made, name, row } of named) {
    const [made_at, made_by] = made.split(" ")
    const table = catalogue.tables.find((one) => one.name === name)
    const found = rows.get(row)
    if (table === undefined || found === undefined || found["created_at"] === made_at) continue
    // A row whose creation was pushed again after a restore is the same row.
    const [first] =
      made_by === undefined
        ? []
        : yield* Store.find(journal, { stream: streamOf(table.entity, Number(id)), version: 1 })
    if (first !== undefined && first.command_id === made_by) continue
    const called = wordsOf(table)
    return {
      status: 422,
      message: `The ${called} ${id} may be another one by now: the server was put back from a backup since it was seen, and its ${called} ${id} was made at another time. Record it again if that is the one meant.`,
      errors: { rows_seen: [row] }
    }
  }
  return undefined
})

/** An id in the command that was not leased to the replica; undefined if there is none. */
const foreignId = Effect.fnUntraced(function* (replica_id: number, command: WireCommand) {
  const { sql } = yield* Store
  for (const [table, ids] of Object.entries(command.ids)) {
    if (ids.length === 0) continue
    const [first, last] = ids.reduce(
      ([low, high], one) => [Math.min(low, one), Math.max(high, one)],
      [firstOf(ids), firstOf(ids)]
    )
    const leases = yield* sql<{ from: number; to: number }>`
      select "from", "to" from id_leases where replica_id = ${replica_id} and entity = ${table}
      and "to" >= ${first} and "from" <= ${last}`
    const id = ids.find((one) => !leases.some((lease) => one >= lease.from && one <= lease.to))
    if (id !== undefined) return { table, id }
  }
  return undefined
})

/**
 * Whether a payload exceeds twice a request's limit, in characters. Generous, as a command accepted by a device must
 * not be refused because length is measured differently.
 */
const isTooLong = ({ payload }: WireCommand): boolean => isLongerThan(payload, 2 * json_body_bytes_max)

/** Decodes the stored error of a verdict. */
export const decodeStoredError: (stored: Json) => WireError = decoderOf("the error of a verdict", () => wireError)
/** A verdict as sent, from its row. */
export const verdictOf = (row: {
  readonly id: string
  readonly accepted: boolean
  readonly position: number | null
  readonly error: Json | null
}): Verdict => ({
  id: row.id,
  status: row.accepted ? "accepted" : "rejected",
  ...(row.position === null ? {} : { position: row.position }),
  ...(row.error === null ? {} : { error: decodeStoredError(row.error) })
})
