/**
 * The replica: the server's tables and rules, with this device's unsent commands decided provisionally on top. Each
 * step is one transaction, in which the outbox is written before the commit: a command is in neither file, or in the
 * outbox and run here now or on the next opening.
 */
import { Effect } from "effect"
import { answer as answerRead, at_server, body_depth_max, bodyOf, checkPermission } from "../../../core/kernel/index.ts"
import { findUnstorableText, includesOf, invalidField, isJsonObject, isLongerThan } from "../../../core/kernel/index.ts"
import { json_body_bytes_max, later, match, Rejection, resourceOf, statusOf } from "../../../core/kernel/index.ts"
import { Store, streamOf, visibleColumnsOf, wordsOf } from "../../../core/kernel/index.ts"
import type { Catalogue, CommandRuntime, Endpoint, Failure, Request, Viewer } from "../../../core/kernel/index.ts"
import {
  decodeError,
  decodeOutcome,
  ensureLocalTables,
  type FillState,
  purge,
  readMeta,
  revertProvisional,
  writeMeta
} from "../outbox/replica-tables.ts"
import { restrictToToken } from "../../../core/kernel/endpoints/token-permissions.ts"
import { tablesAreCurrent } from "../../../core/kernel/runtime/schema.ts"
import type { SettledCommand } from "../../protocol/merge.ts"
import { redactionFor } from "../../protocol/redaction.ts"
import type { SnapshotPage } from "../../protocol/snapshot.ts"
import { loadErasures, redactionOfOutbox } from "../outbox/redact-outbox.ts"
import type { OutboxCommand } from "../outbox/rows.ts"
import type { StagedPage } from "./fill.ts"
import { hasDueCommands, localRuntime, readReplicaPosition, redecide, relaxedDurability } from "./replica-parts.ts"
import { runDue, unsettled } from "./replica-parts.ts"
import type { LocalEffect, PlannedRequest, PulledEvents, QueryResult, Replica } from "./replica-parts.ts"
import type { ReplicaOptions, ReplicaParts, Rerecording } from "./replica-parts.ts"
import type { CallAfter } from "./record-command.ts"

// Refuses reads that need events from before a fill.

/** Refuses a read that needs the complete journal if the replica has only a part of it. */
const requireHistory = Effect.fnUntraced(function* (
  endpoint: Endpoint,
  request: Request,
  params: { readonly [name: string]: string }
) {
  const in_the_past =
    request.query.some(([name]) => name === "as_of") ||
    (isJsonObject(request.body) && (request.body["as_of"] ?? null) !== null)
  if (!in_the_past && endpoint.reads_history === undefined) return
  const store = yield* Store
  const journal_from = Number((yield* readMeta(store, "journal_from")) ?? 0)
  if (journal_from === 0) return
  const about = in_the_past ? undefined : endpoint.reads_history
  if (about !== undefined && about !== "everything") {
    const { table } = endpoint.params[about.of]!
    const stream = streamOf(table.entity, params[about.of] ?? "")
    const [first] = yield* store.run<{ version: number | null }>(
      "select min(version) as version from journal where stream = ?",
      [stream]
    )
    // The stream begins after the fill, so that all its events are here.
    if (first?.version === 1) return
  }
  return yield* new Rejection({
    kind: "unavailable",
    message: `What happened before event ${journal_from} is on the server: this device was filled with how things stood then. Ask the server (--remote).`,
    errors: { [at_server]: ["history"] }
  })
})

// Refuses bodies that the server would never accept: too long, too deep, or with text that cannot be stored.

const requestLimitRejection = (body: Request["body"]): Rejection | undefined => {
  if (body === undefined) return undefined
  const wrong = findUnstorableText(body, body_depth_max)
  if (wrong !== undefined)
    return wrong.at.length === 0
      ? invalidField("body", `The body ${wrong.says}`)
      : invalidField(wrong.at.join("."), `The ${wrong.at.join(".")} field ${wrong.says}`)
  return isLongerThan(body, json_body_bytes_max)
    ? new Rejection({ kind: "too_large", message: `The body must not be longer than ${json_body_bytes_max} bytes.` })
    : undefined
}

// Refuses reads that include rows visible only by reference (`shown_by_reference`), as devices do not receive those.

const requireReferencedRows = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  endpoint: Endpoint,
  { query }: Pick<Request, "query">,
  viewer: Viewer
): Effect.fn.Return<void, Rejection> {
  // A missing permission is reported first, by the read itself.
  if ((yield* Effect.result(checkPermission(endpoint, viewer)))._tag === "Failure") return
  const named = includesOf(query)
  const includesIn = ({ resources }: Catalogue) =>
    resources.find(({ plural }) => plural === resourceOf(endpoint))?.includes ?? {}
  const loaded = includesIn(catalogue.loaded)
  // Slices that are not loaded yet may add the others.
  const includes = named.every((name) => name in loaded) ? loaded : includesIn(catalogue.whole)
  const missing = named.find((name) => {
    const include = includes[name]
    const table = include?.kind === "one" ? include.resource().table : undefined
    return (
      table?.visibility?.shown_by_reference === true &&
      visibleColumnsOf(table, restrictToToken(catalogue, viewer)) !== "whole"
    )
  })
  if (missing === undefined) return
  return yield* new Rejection({
    kind: "unavailable",
    message: `The ${wordsOf(missing)} is not kept on this device: leave the include ${missing} out, or ask the server (--remote).`,
    errors: { [at_server]: [missing] }
  })
})

export type { LocalEffect, PlannedRequest, PulledEvents, QueryResult, Replica, Rerecording } from "./replica-parts.ts"

/**
 * Runs work in one transaction of both files. The outbox commits first; a crash in between is repaired on the next
 * opening.
 */
const together = <A extends { readonly ok: boolean }>({ outbox }: ReplicaParts, work: LocalEffect<A>): LocalEffect<A> =>
  Effect.flatMap(Store, (store) =>
    relaxedDurability(
      store.rolledBack(
        Effect.acquireUseRelease(
          Effect.sync(outbox.begin),
          ({ commit }) => Effect.tap(work, ({ ok }) => (ok ? Effect.sync(commit) : Effect.void)),
          ({ rollback }) => Effect.sync(rollback)
        ),
        ({ ok }) => ok
      )
    )
  )

/** Loaded only when a device pulls, is filled, or changes something: reads need none of it. */
const pulling = later(() => import("./pull.ts"))
const staging = later(() => import("./fill.ts"))
const recording = later(() => import("./record-command.ts"))

/** Moves outcomes from the replica to the outbox; safe to repeat after a crash. */
const moveOutcomesToOutbox = Effect.fnUntraced(function* (outbox: ReplicaParts["outbox"]) {
  const rows = yield* Store.run<{ n: number; account: string }>("select n, account from accounts order by n")
  if (rows.length === 0) return
  outbox.saveOutcomes(rows.map(({ n, account }) => ({ n, account: decodeOutcome(account) })))
  yield* Store.transaction(Store.run("delete from accounts"))
})

/** Moves verdicts and outcomes to the outbox; safe to repeat. */
const settleOutbox = Effect.fnUntraced(function* ({ at, outbox }: ReplicaParts) {
  const rows = yield* Store.run<{ n: number; status: "accepted" | "rejected"; error: string | null }>(
    "select n, status, error from verdicts"
  )
  yield* moveOutcomesToOutbox(outbox)
  if (rows.length === 0) return
  outbox.settle(
    rows.map(({ n, status, error }) => ({ n, status, error: error === null ? undefined : decodeError(error) }))
  )
  at("outbox told")
  yield* Store.transaction(Store.run("delete from verdicts"))
})

/**
 * Removes data from the outbox that its user may no longer see. Without a user (in an unfilled replica) nothing is
 * displayed anyway.
 */
const redactOutbox = ({ catalogue, outbox, replica_id, viewer }: ReplicaParts) =>
  viewer.pipe(
    Effect.flatMap((person) =>
      Effect.map(loadErasures(catalogue), (erased) =>
        outbox.redact(redactionOfOutbox(catalogue, redactionFor(catalogue, person, replica_id), erased))
      )
    ),
    Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(true) : Effect.fail(failure)))
  )

/** Mark of tables compared with this release's, with SQLite's version of the schema; undefined without their digest. */
const tablesMark = Effect.fnUntraced(function* ({ tables }: ReplicaParts) {
  if (tables === undefined) return undefined
  const [schema] = yield* Store.run<{ schema_version: number }>("pragma schema_version")
  return `${tables} ${schema?.schema_version}`
})
/** Returns the mark of its tables, if it is not stored yet. */
const open = Effect.fnUntraced(function* (parts: ReplicaParts) {
  const { catalogue, outbox } = parts
  yield* ensureLocalTables
  const mark = yield* tablesMark(parts)
  const is_marked = mark !== undefined && (yield* readMeta(yield* Store, "tables")) === mark
  const current = is_marked || (yield* tablesAreCurrent(catalogue, parts.tables))
  if (current === false) yield* (yield* pulling).migrateTables(catalogue)
  yield* settleOutbox(parts)
  yield* purge(redactOutbox(parts))
  yield* rebase(parts)
  if (yield* hasDueCommands(outbox)) yield* relaxedDurability(Store.transaction(runDue(parts)))
  // The build's file may be of a later release, which would then not compare them.
  return current === "built" ? mark : undefined
})

const ask = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  request: Request,
  plan: boolean,
  again?: Rerecording
): CommandRuntime.Reads<QueryResult> {
  const { catalogue, outbox } = parts
  const found = match(catalogue, request.method, request.path)
  if (found instanceof Rejection) return yield* found
  const { endpoint, params } = found
  const is_read = endpoint.kind === "query"
  const refusal = endpoint.server_only
    ? onlyTheServer(endpoint)
    : is_read
      ? undefined
      : requestLimitRejection(request.body)
  if (!is_read && refusal === undefined) {
    const { recordCommand } = yield* recording
    return yield* recordCommand(parts, { ...found, request }, plan, again)
  }
  const viewer = yield* parts.viewer
  if (refusal !== undefined) return yield* refusal
  // After an interrupted pull, own writes wait to be decided again; reads must include them.
  if (yield* hasDueCommands(outbox)) yield* relaxedDurability(Store.transaction(runDue(parts)))
  yield* requireHistory(endpoint, request, params)
  yield* requireReferencedRows(catalogue, endpoint, request, viewer)
  return yield* answerRead(catalogue, request, viewer)
})

const onlyTheServer = ({ summary }: Endpoint): Rejection =>
  new Rejection({ kind: "unavailable", message: `Only the server can do this (${summary.toLowerCase()}).` })

const plan = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  requests: ReadonlyArray<PlannedRequest>,
  ids: ReadonlyArray<OutboxCommand["ids"]>
): CommandRuntime.Reads<ReadonlyArray<QueryResult>> {
  const viewer = yield* parts.viewer
  const calls = requests.map((one): CallAfter => (made) => {
    const request = typeof one === "function" ? one(made) : one
    const found = match(parts.catalogue, request.method, request.path)
    if (found instanceof Rejection) return found
    return found.endpoint.server_only || found.endpoint.kind === "query"
      ? onlyTheServer(found.endpoint)
      : { ...found, request, viewer }
  })
  const { planSeries } = yield* recording
  return yield* planSeries(parts, calls, ids)
})

const apply = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  pulled: PulledEvents,
  is_repeatable: boolean,
  mark: string | undefined
) {
  const store = yield* Store
  const { applyHere, applyStaged } = yield* pulling
  const applied = store.transaction(
    Effect.gen(function* () {
      if (mark !== undefined) yield* writeMeta(store, "tables", mark)
      const is_staged = (yield* readMeta(store, "anew")) === "yes"
      return is_staged ? yield* applyStaged(parts, pulled) : yield* applyHere(parts, pulled)
    })
  )
  // Where no command waits for its verdict, events that a power cut loses are just pulled again.
  const result = yield* is_repeatable && parts.outbox.lastPending() === 0 ? relaxedDurability(applied) : applied
  parts.at("committed")
  yield* settleOutbox(parts)
  yield* purge(redactOutbox(parts))
  return result
})

const settle = Effect.fnUntraced(function* (parts: ReplicaParts, settled: ReadonlyArray<SettledCommand>) {
  if (settled.length === 0) return
  const store = yield* Store
  const { saveVerdicts } = yield* pulling
  yield* store.transaction(
    Effect.gen(function* () {
      yield* revertProvisional(parts.catalogue)
      yield* saveVerdicts(settled)
      yield* writeMeta(store, "run_n", "0")
      yield* redecide(parts, yield* unsettled(parts.outbox))
    })
  )
  yield* settleOutbox(parts)
})

/** Reverts and decides again, then clears the outbox flag: a crash in between repeats it. */
const rebase = Effect.fnUntraced(function* (parts: ReplicaParts) {
  if (!parts.outbox.isRebaseDue()) return
  const store = yield* Store
  yield* store.transaction(
    Effect.gen(function* () {
      yield* revertProvisional(parts.catalogue)
      yield* writeMeta(store, "run_n", "0")
      yield* redecide(parts, yield* unsettled(parts.outbox))
    })
  )
  parts.outbox.rebased()
})

const stalledNumbers = Effect.gen(function* () {
  const rows = yield* Store.run<{ n: number }>("select n from stalled order by n")
  return rows.map(({ n }) => n)
})
const stalledWithout = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  ids: ReadonlyArray<string>
): CommandRuntime.Reads<ReadonlyArray<number>> {
  const store = yield* Store
  const before = new Set(yield* stalledNumbers)
  const after = yield* store.rolledBack(
    Effect.gen(function* () {
      const left = (yield* unsettled(parts.outbox)).filter(({ id }) => !ids.includes(id))
      yield* revertProvisional(parts.catalogue)
      yield* redecide(parts, left)
      return yield* stalledNumbers
    })
  )
  return after.filter((n) => !before.has(n))
})

const fillPage = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  requested: StagedPage["requested"],
  page: SnapshotPage
): CommandRuntime.Reads<FillState | undefined> {
  const { applyPage } = yield* pulling
  const applied = Store.transaction(applyPage(parts, requested, page))
  // Staged rows that a power cut loses are pulled again: their cursor is lost with them.
  const filling = yield* page.next === null ? applied : relaxedDurability(applied)
  parts.at("committed")
  if (filling !== undefined) return filling
  yield* settleOutbox(parts)
  yield* purge(redactOutbox(parts))
  return undefined
})

const restart = Effect.gen(function* () {
  const store = yield* Store
  const { dropFill } = yield* staging
  yield* store.transaction(
    Effect.gen(function* () {
      yield* dropFill
      yield* store.run("delete from incoming")
      yield* writeMeta(store, "anew", "yes")
      yield* writeMeta(store, "offset", "-1")
      yield* store.run("delete from replica_meta where key = 'handle'")
    })
  )
})

export const makeReplica = (options: ReplicaOptions): Replica => {
  const { runtime, decide, images } = localRuntime(options)
  const parts: ReplicaParts = { ...options, at: options.at ?? (() => {}), decide, images }
  let unmarked: string | undefined
  return {
    runtime,
    open: Effect.map(open(parts), (mark) => {
      unmarked = mark
    }),
    ask: (request, plan, again) => ask(parts, request, plan, again),
    together: (work) => together(parts, work),
    plan: (requests, ids = []) => plan(parts, requests, ids),
    // Stored here, as a read that opens waits for no lock.
    apply: (pulled, is_repeatable = false) =>
      Effect.suspend(() =>
        Effect.map(apply(parts, pulled, is_repeatable, unmarked), (applied) => {
          unmarked = undefined
          return applied
        })
      ),
    settle: (settled) => settle(parts, settled),
    fill: {
      now: Effect.flatMap(staging, ({ currentFill }) => Effect.flatMap(Store, currentFill)),
      begin: (plan) => Effect.flatMap(staging, ({ beginFill }) => beginFill(plan)),
      lay: (requested, page) => fillPage(parts, requested, page),
      drop: Effect.flatMap(staging, ({ dropFill }) => Effect.flatMap(Store, (store) => store.transaction(dropFill)))
    },
    restart,
    rebase: rebase(parts),
    stalledWithout: (ids) => stalledWithout(parts, ids),
    position: readReplicaPosition,
    stalled: Effect.gen(function* () {
      const rows = yield* Store.run<{ n: number; error: string }>("select n, error from stalled order by n")
      return rows.map((row) => ({ n: row.n, error: decodeError(row.error) }))
    })
  }
}

// Converts refusals to the answers the server would give.

/** Converts a rejection to an answer; other failures stay failures. */
export const asAnswer = <R>(effect: Effect.Effect<QueryResult, Failure, R>): Effect.Effect<QueryResult, Failure, R> =>
  Effect.catch(effect, (failure): Effect.Effect<QueryResult, Failure, R> =>
    failure instanceof Rejection ? Effect.succeed(refusalAnswer(failure)) : Effect.fail(failure)
  )
export const refusalAnswer = (failure: Rejection): QueryResult => ({
  status: statusOf[failure.kind],
  body: { ...bodyOf(failure) },
  ...(failure.headers === undefined ? {} : { headers: failure.headers })
})
