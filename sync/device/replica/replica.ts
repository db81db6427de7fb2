/**
 * The replica: the same tables and rules as the server's, with this device's unsent commands decided provisionally on
 * top. Each step is one transaction of the replica's file; the outbox is written inside it, before it commits, so a
 * command is either in neither file, or in the outbox and run here now or on the next opening.
 */
import { isWithheldIn } from "../../../core/kernel/redacted-event.ts"
import { Clock, Effect, Layer } from "effect"
import { type Catalogue, foldStored } from "../../../core/kernel/catalogue.ts"
import { storedSettings } from "../../../core/kernel/server-runtime.ts"
import { answer as answerRead, match } from "../../../core/kernel/dispatch.ts"
import type { Answer, Failure, Request } from "../../../core/kernel/endpoint.ts"
import { type EndpointCall, decideInSavepoint, type Outcome } from "../../../core/kernel/engine.ts"
import { scrubsOf, type StoredEvent } from "../../../core/kernel/event.ts"
import { journal, scrubEarlierEvents } from "../../../core/kernel/journal.ts"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { bodyOf, Rejection, statusOf } from "../../../core/kernel/rejection.ts"
import { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import { tablesAreCurrent } from "../../../core/kernel/store/schema.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import { instantOf } from "../../../core/values/time.ts"
import { merge, type SettledCommand } from "../../protocol/merge.ts"
import { Durability } from "../../sqlite/client.ts"
import { redactionFor } from "../../protocol/redaction.ts"
import { replicaStream, type WireCommand, type WireError } from "../../protocol/wire.ts"
import { recordOutcomes, recordOutcomesOfRows, moveOutcomesToOutbox } from "../outcomes/record.ts"
import type { SnapshotPage, SnapshotPlan } from "../../protocol/snapshot.ts"
import { redactionOfOutbox, loadErasures } from "../outbox/redact-outbox.ts"
import { beginFill, dropFill, type FillState, currentFill, type StagedPage, stagePage, swapTables } from "./fill.ts"
import { requireHistory } from "./history.ts"
import { requireReferencedRows } from "./server-references.ts"
import { ensureLocalTables, purge, purgeLater, readMeta, writeMeta } from "./local-tables.ts"
import { saveLastRun, refuseWhileMissing } from "../recovery/missing-commands.ts"
import { referencesOfCommand, rowReference, rowsOfPath, rowPreconditions } from "./references.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand, ResolutionRecorded } from "../outbox/command.ts"
import { toPatch } from "./patch.ts"
import { requestLimitRejection } from "./request-limits.ts"
import { migrateTables } from "./migrate-replica.ts"
import { type ReplicaPosition, readReplicaPosition } from "./replica-position.ts"
import { recordProvisionally, projectProvisionally, hasProvisional, revertProvisional } from "./provisional.ts"
import { wordsOf } from "../../../core/kernel/words.ts"

export interface ReplicaOptions {
  readonly catalogue: Catalogue
  readonly outbox: Outbox
  readonly replica_id: number
  readonly commandId: () => string
  /** The person at this device, as the replica knows them now. */
  readonly viewer: Effect.Effect<Viewer, Failure, Store>
  /** The server's public address. */
  readonly public_url?: () => string
  /** Called between steps that a crash may separate; tests throw here. */
  readonly at?: (step: string) => void
}
export interface QueryResult extends Answer {
  readonly command?: { readonly n: number; readonly id: string }
  readonly events?: ReadonlyArray<{ readonly stream: string; readonly type: string; readonly data: JsonObject }>
}
/** A command recorded anew to settle an earlier one: it keeps the ids that one drew, so that what builds on them still holds. */
export interface Rerecording {
  readonly replaces: string
  readonly how: ResolutionRecorded
  readonly ids: WireCommand["ids"]
}
export interface PulledEvents {
  readonly events: ReadonlyArray<StoredEvent>
  readonly offset: string
  readonly handle: string
  readonly up_to_date: boolean
}

/** Raised when leased ids ran out: more come with the next sync. */
const outOfIds = (table: string): Rejection =>
  new Rejection({
    kind: "unavailable",
    message: `This device has no ids left for ${wordsOf(table)}; run flightcase sync to get more.`
  })

/**
 * A transaction the replica may lose in a power cut: the outbox has the command on disk before, and it is run again on
 * opening. What settles commands is not unhurried: the outbox forgets them by it.
 */
const relaxedDurability = Effect.provideService(Durability, "normal")

class Planned extends Error {
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    super("planned")
    this.outcome = outcome
  }
}

export type LocalEffect<A> = Effect.Effect<A, Failure, Store | CommandRuntime>
export interface Replica {
  readonly runtime: Layer.Layer<CommandRuntime>
  /** Makes or repairs what opening finds undone: schema, commands acknowledged and not run, verdicts not told. */
  readonly open: LocalEffect<void>
  readonly ask: (request: Request, plan: boolean, again?: Rerecording) => LocalEffect<QueryResult>
  /** Applies what was pulled, in one transaction. */
  readonly apply: (pulled: PulledEvents) => LocalEffect<{ readonly applied: number; readonly settled: number }>
  /** Takes verdicts that come with an answer and not by the journal: what was refused is taken back, what is pending decided again. */
  readonly settle: (settled: ReadonlyArray<SettledCommand>) => LocalEffect<void>
  /** The server began a new history: what it sends is kept aside and takes the old one's place when complete. */
  readonly restart: LocalEffect<void>
  /** Filling from rows, beside what there is; `lay` gives how far it has come, and undefined once the rows are in place. */
  readonly fill: {
    readonly now: LocalEffect<FillState | undefined>
    readonly begin: (plan: SnapshotPlan) => LocalEffect<void>
    readonly lay: (asked: StagedPage["requested"], page: SnapshotPage) => LocalEffect<FillState | undefined>
    readonly drop: LocalEffect<void>
  }
  readonly position: LocalEffect<ReplicaPosition>
  readonly stalled: LocalEffect<ReadonlyArray<{ readonly n: number; readonly error: WireError }>>
}

export const makeReplica = (options: ReplicaOptions): Replica => {
  const { catalogue, outbox, replica_id } = options
  const at = options.at ?? (() => {})
  /** Ids looked at by the command being decided; recording the command takes them from the lease. */
  const looked = new Map<string, number>()

  const runtime = Layer.succeed(
    CommandRuntime,
    CommandRuntime.of({
      role: "replica",
      catalogue,
      commandId: Effect.sync(options.commandId),
      allocateIds: (table, count) =>
        Effect.suspend(() => {
          const skip = looked.get(table) ?? 0
          const ids = outbox.peekIds(table, skip, count)
          if (ids.length === 0) return Effect.fail(outOfIds(table))
          looked.set(table, skip + ids.length)
          return Effect.succeed(ids)
        }),
      releaseIds: (table, ids) =>
        Effect.sync(() => {
          looked.set(table, (looked.get(table) ?? 0) - ids.length)
        }),
      nextNumber: () => Effect.succeed(null),
      project: (events, recording) => projectProvisionally(catalogue, events, recording),
      append: recordProvisionally,
      settings: storedSettings(catalogue),
      ...(options.public_url === undefined ? {} : { public_url: options.public_url })
    })
  )

  const decide = Effect.fnUntraced(function* (call: EndpointCall, id: string, ids: OutboxCommand["ids"]) {
    looked.clear()
    return yield* decideInSavepoint(call, { command_id: id, replica_id, ids })
  })

  /** Pending commands the journal has not settled, in order. */
  const unsettled = Effect.gen(function* () {
    const store = yield* Store
    const rows = yield* store.run<{ n: number }>("select n from verdicts")
    const settled = new Set(rows.map((row) => row.n))
    return outbox.pending().filter((command) => !settled.has(command.n))
  })

  /** Decides a kept command again, through the same rules; what no longer holds is set aside with its reason. */
  const redecideOne = Effect.fnUntraced(function* (command: OutboxCommand, viewer: Viewer) {
    const store = yield* Store
    const endpoint = catalogue.endpoint(command.name)
    const refused: WireError | undefined =
      endpoint === undefined
        ? { status: 422, message: `This release knows no command ${command.name}.` }
        : yield* Effect.gen(function* () {
            const request = { method: endpoint.method, path: endpoint.path, query: [], body: command.payload.body }
            const { ids } = yield* decide(
              { endpoint, viewer, params: command.payload.params, request },
              command.id,
              command.ids
            )
            if (Object.entries(ids).some(([table, used]) => used.length > (command.ids[table]?.length ?? 0)))
              outbox.extendIds(command.n, { ...command.ids, ...ids })
            return undefined
          }).pipe(
            Effect.catch((failure) =>
              failure instanceof Rejection
                ? Effect.succeed({ status: statusOf[failure.kind], ...bodyOf(failure) } satisfies WireError)
                : Effect.fail(failure)
            )
          )
    if (refused !== undefined)
      yield* store.run("insert or replace into stalled (n, error) values (?, ?)", [command.n, JSON.stringify(refused)])
  })
  const redecide = Effect.fnUntraced(function* (due: ReadonlyArray<OutboxCommand>) {
    if (due.length === 0) return
    // Before a replica is filled nobody is known here; what is due waits.
    const viewer = yield* options.viewer.pipe(
      Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(undefined) : Effect.fail(failure)))
    )
    if (viewer === undefined) return
    for (const command of due) yield* redecideOne(command, viewer)
    yield* saveLastRun(due.at(-1)!.n)
  })
  const hasDueCommands = Effect.gen(function* () {
    return outbox.lastPending() > Number((yield* readMeta(yield* Store, "run_n")) ?? 0)
  })
  /** Commands acknowledged by another process, or before a crash, that were not run here yet. */
  const runDue = Effect.gen(function* () {
    // With hundreds pending the next command must not read them all.
    if (!(yield* hasDueCommands)) return
    const run_n = Number((yield* readMeta(yield* Store, "run_n")) ?? 0)
    yield* redecide((yield* unsettled).filter((command) => command.n > run_n))
  })

  /** Tells the outbox what the journal said; safe to repeat. */
  const settleOutbox = Effect.gen(function* () {
    const store = yield* Store
    const rows = yield* store.run<{ n: number; status: "accepted" | "rejected"; error: string | null }>(
      "select n, status, error from verdicts"
    )
    yield* moveOutcomesToOutbox(outbox)
    if (rows.length === 0) return
    outbox.settle(
      rows.map(({ n, status, error }) => ({
        n,
        status,
        error: error === null ? undefined : (JSON.parse(error) as WireError)
      }))
    )
    at("outbox told")
    yield* store.transaction(store.run("delete from verdicts"))
  })

  /** The outbox shows its person no more than they may see by now; somebody the replica knows nothing of yet is shown nothing anyhow. */
  const redactOutbox = options.viewer.pipe(
    Effect.flatMap((viewer) =>
      Effect.map(loadErasures(catalogue), (erased) =>
        outbox.redact(redactionOfOutbox(catalogue, redactionFor(catalogue, viewer, replica_id), erased))
      )
    ),
    Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(true) : Effect.fail(failure)))
  )

  const open: LocalEffect<void> = Effect.gen(function* () {
    const store = yield* Store
    yield* ensureLocalTables
    if (!(yield* tablesAreCurrent(catalogue))) yield* migrateTables(catalogue)
    yield* settleOutbox
    yield* purge(redactOutbox)
    if (yield* hasDueCommands) yield* relaxedDurability(store.transaction(runDue))
  })
  const ask = Effect.fnUntraced(function* (
    request: Request,
    plan: boolean,
    again?: Rerecording
  ): Effect.fn.Return<QueryResult, Failure, Store | CommandRuntime> {
    const found = match(catalogue, request.method, request.path)
    if (found instanceof Rejection) return yield* found
    const viewer = yield* options.viewer
    if (found.endpoint.server_only)
      return yield* new Rejection({
        kind: "unavailable",
        message: `Only the server can do this (${found.endpoint.summary.toLowerCase()}).`
      })
    if (found.endpoint.kind === "query") {
      // After a pull that broke off half-way, one's own writes wait to be decided again: nobody may find them gone.
      if (yield* hasDueCommands) yield* relaxedDurability((yield* Store).transaction(runDue))
      yield* requireHistory(found.endpoint, request, found.params)
      yield* requireReferencedRows(catalogue, found.endpoint, request, viewer)
      return yield* answerRead(catalogue, request, viewer)
    }
    const tooMuch = requestLimitRejection(request.body)
    if (tooMuch !== undefined) return yield* tooMuch
    return yield* record({ ...found, request, viewer }, plan, again)
  })
  /** Decides a change as what its person changed; where that does not hold or changes nothing, as it was sent. */
  const decideOwn = Effect.fnUntraced(function* (call: EndpointCall, id: string, ids: OutboxCommand["ids"]) {
    const own = yield* toPatch(catalogue, call, instantOf(yield* Clock.currentTimeMillis))
    const tried =
      own === call
        ? undefined
        : yield* decide(own, id, ids).pipe(
            Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(undefined) : Effect.fail(failure)))
          )
    return tried !== undefined && tried.events.length > 0
      ? { decided: own, outcome: tried }
      : { decided: call, outcome: yield* decide(call, id, ids) }
  })
  const record = Effect.fnUntraced(function* (
    call: EndpointCall,
    plan: boolean,
    again?: Rerecording
  ): Effect.fn.Return<QueryResult, Failure, Store | CommandRuntime> {
    const store = yield* Store
    return yield* relaxedDurability(
      store.transaction(
        Effect.gen(function* (): Effect.fn.Return<QueryResult, Failure, Store | CommandRuntime> {
          yield* refuseWhileMissing(outbox)
          yield* runDue
          const id = options.commandId()
          const rows = yield* rowsOfPath(call.endpoint, call.params)
          const { decided, outcome } = yield* decideOwn(call, id, again?.ids ?? {})
          const payload = { params: call.params, body: isJsonObject(decided.request.body) ? decided.request.body : {} }
          if (plan) return yield* Effect.die(new Planned(outcome))
          // A write that changes nothing needs no verdict.
          if (outcome.events.length === 0) return outcome.answer
          at("decided")
          const named = referencesOfCommand(call.endpoint, payload)
          const about = {
            base: Number((yield* readMeta(store, "position")) ?? 0),
            named: named.map(rowReference),
            rows_seen: yield* rowPreconditions(catalogue, named),
            recorded: redactionOfOutbox(catalogue, redactionFor(catalogue, call.viewer, replica_id)).recorded({
              events: outcome.events.map(({ stream, type, data }) => ({ stream, type, data })),
              rows
            }),
            ...(again === undefined ? {} : { replaces: { id: again.replaces, how: again.how } })
          }
          const kept = yield* Effect.sync(() =>
            outbox.append(
              { id, name: call.endpoint.name, payload, ids: outcome.ids, issued_at: outcome.events[0]!.recorded_at },
              about
            )
          )
          at("in the outbox")
          yield* saveLastRun(kept.n)
          return { ...outcome.answer, command: { n: kept.n, id } }
        })
      )
    ).pipe(
      Effect.catchDefect((defect) =>
        defect instanceof Planned
          ? Effect.succeed<QueryResult>({
              ...defect.outcome.answer,
              events: defect.outcome.events.map(({ stream, type, data }) => ({ stream, type, data }))
            })
          : Effect.die(defect)
      )
    )
  })

  const projectEvents = Effect.fnUntraced(function* (events: ReadonlyArray<StoredEvent>) {
    const store = yield* Store
    yield* store.apply(events.flatMap((event) => foldStored(catalogue, event, event)))
    yield* store.apply(events.map((row) => ({ op: "insert" as const, table: journal, row: { ...row } })))
    // A person erased on the server is erased here.
    yield* scrubEarlierEvents(store, catalogue.scrubs, events, isWithheldIn(catalogue.tables))
    if (scrubsOf(catalogue.scrubs, events).length > 0) yield* purgeLater(store)
  })
  const saveVerdicts = Effect.fnUntraced(function* (settled: ReadonlyArray<SettledCommand>) {
    const store = yield* Store
    for (const { n, status, error } of settled) {
      yield* store.run("insert or replace into verdicts (n, status, error) values (?, ?, ?)", [
        n,
        status,
        error === undefined ? null : JSON.stringify(error)
      ])
    }
  })
  const saveCursor = Effect.fnUntraced(function* (
    pulled: Pick<PulledEvents, "offset" | "handle" | "up_to_date">,
    position: number
  ) {
    const store = yield* Store
    yield* writeMeta(store, "position", String(position))
    yield* writeMeta(store, "offset", pulled.offset)
    yield* writeMeta(store, "handle", pulled.handle)
    if (pulled.up_to_date) yield* writeMeta(store, "synced_at", instantOf(yield* Clock.currentTimeMillis))
  })

  const applyHere = Effect.fnUntraced(function* (
    pulled: PulledEvents
  ): Effect.fn.Return<{ applied: number; settled: number }, Failure, Store | CommandRuntime> {
    const store = yield* Store
    const pending = yield* unsettled
    const position = Number((yield* readMeta(store, "position")) ?? 0)
    const verdict = merge({ replica_id, position, provisional: yield* hasProvisional, pending }, pulled)
    if (verdict.kind === "reject")
      return yield* Effect.die(new Error(`The server's journal is out of order: ${verdict.reason}.`))
    const events = verdict.kind === "stay" ? [] : verdict.events
    yield* saveCursor(pulled, events.at(-1)?.position ?? position)
    if (verdict.kind === "stay") return { applied: 0, settled: 0 }
    yield* revertProvisional(catalogue)
    yield* writeMeta(store, "run_n", "0")
    yield* projectEvents(events)
    yield* saveVerdicts(verdict.settled)
    yield* recordOutcomes({ catalogue, outbox, replica_id }, events)
    yield* redecide(pending.filter((command) => verdict.redo.includes(command.n)))
    at("applied")
    return { applied: events.length, settled: verdict.settled.length }
  })

  /** A fresh start: events wait aside, page by page; complete, they take the place of all that was there, in one step. */
  const applyStaged = Effect.fnUntraced(function* (
    pulled: PulledEvents
  ): Effect.fn.Return<{ applied: number; settled: number }, Failure, Store | CommandRuntime> {
    const store = yield* Store
    for (const event of pulled.events)
      yield* store.run("insert or replace into incoming (position, event) values (?, ?)", [
        event.position,
        JSON.stringify(event)
      ])
    yield* writeMeta(store, "offset", pulled.offset)
    yield* writeMeta(store, "handle", pulled.handle)
    if (!pulled.up_to_date) return { applied: pulled.events.length, settled: 0 }
    yield* revertProvisional(catalogue)
    for (const table of [...catalogue.tables, journal]) yield* store.run(`delete from "${table.name}"`)
    const pending = yield* unsettled
    let position = 0
    const settled: Array<SettledCommand> = []
    for (;;) {
      const page = yield* store.run<{ event: string }>(
        "select event from incoming where position > ? order by position limit 2000",
        [position]
      )
      if (page.length === 0) break
      const events = page.map((row) => JSON.parse(row.event) as StoredEvent)
      const verdict = merge({ replica_id, position, provisional: false, pending }, { events, up_to_date: false })
      if (verdict.kind === "advance") settled.push(...verdict.settled)
      yield* projectEvents(events)
      position = events.at(-1)!.position
    }
    yield* saveVerdicts(settled)
    yield* recordOutcomes(
      { catalogue, outbox, replica_id },
      yield* store.find(journal, { stream: replicaStream(replica_id) }, { order: ["position"] })
    )
    yield* saveCursor(pulled, position)
    yield* store.run("delete from incoming")
    yield* writeMeta(store, "anew", "no")
    yield* writeMeta(store, "run_n", "0")
    yield* writeMeta(store, "journal_from", "0")
    yield* purgeLater(store)
    yield* redecide(yield* unsettled)
    at("applied")
    return { applied: pulled.events.length, settled: settled.length }
  })

  const apply = Effect.fnUntraced(function* (pulled: PulledEvents) {
    const store = yield* Store
    const result = yield* store.transaction(
      Effect.gen(function* () {
        return (yield* readMeta(store, "anew")) === "yes" ? yield* applyStaged(pulled) : yield* applyHere(pulled)
      })
    )
    at("committed")
    yield* settleOutbox
    yield* purge(redactOutbox)
    return result
  })

  const settle = Effect.fnUntraced(function* (settled: ReadonlyArray<SettledCommand>) {
    if (settled.length === 0) return
    const store = yield* Store
    yield* store.transaction(
      Effect.gen(function* () {
        yield* revertProvisional(catalogue)
        yield* saveVerdicts(settled)
        yield* writeMeta(store, "run_n", "0")
        yield* redecide(yield* unsettled)
      })
    )
    yield* settleOutbox
  })

  const stage = Effect.fnUntraced(function* (
    asked: StagedPage["requested"],
    page: SnapshotPage
  ): Effect.fn.Return<FillState | undefined, Failure, Store | CommandRuntime> {
    const store = yield* Store
    const filling = yield* store.transaction(
      Effect.gen(function* () {
        const laid = yield* stagePage(catalogue, { replica_id, pending: yield* unsettled, requested: asked, page })
        if (laid === undefined) return yield* currentFill(store)
        at("page laid down")
        if (page.next !== null) return laid
        yield* swapTables(catalogue, laid)
        yield* saveVerdicts(laid.settled.filter((one) => outbox.pending().some(({ n }) => n === one.n)))
        yield* recordOutcomesOfRows({ catalogue, outbox, replica_id }, laid.settled)
        yield* saveCursor({ offset: laid.offset, handle: laid.handle, up_to_date: false }, laid.position)
        yield* purgeLater(store)
        yield* redecide(yield* unsettled)
        at("rows taken over")
        return undefined
      })
    )
    at("committed")
    if (filling !== undefined) return filling
    yield* settleOutbox
    yield* purge(redactOutbox)
    return undefined
  })

  return {
    runtime,
    open,
    ask,
    apply,
    settle,
    fill: {
      now: Effect.flatMap(Store, currentFill),
      begin: (plan) => beginFill(catalogue, plan),
      lay: stage,
      drop: Effect.flatMap(Store, (store) => store.transaction(dropFill))
    },
    restart: Effect.gen(function* () {
      const store = yield* Store
      yield* store.transaction(
        Effect.gen(function* () {
          yield* dropFill
          yield* store.run("delete from incoming")
          yield* writeMeta(store, "anew", "yes")
          yield* writeMeta(store, "offset", "-1")
          yield* store.run("delete from replica_meta where key = 'handle'")
        })
      )
    }),
    position: readReplicaPosition,
    stalled: Effect.gen(function* () {
      const rows = yield* (yield* Store).run<{ n: number; error: string }>("select n, error from stalled order by n")
      return rows.map((row) => ({ n: row.n, error: JSON.parse(row.error) as WireError }))
    })
  }
}
