/** The replica's dependencies and operations, and types shared by its parts. */
import { Effect, Layer } from "effect"
import { appendProvisional, bodyOf, CommandRuntime, decideInSavepoint, Rejection } from "../../../core/kernel/index.ts"
import { settings_table, statusOf, Store } from "../../../core/kernel/index.ts"
import type { Answer, Catalogue, CommandMetadata, EndpointCall, Failure, Sql } from "../../../core/kernel/index.ts"
import type { JsonObject, Outcome, Request, StoredEvent, StoreShape, Table } from "../../../core/kernel/index.ts"
import type { Viewer } from "../../../core/kernel/index.ts"
import type { FillState, Image } from "../outbox/replica-tables.ts"
import { projectProvisionally, provisional_base, readMeta, saveLastRun } from "../outbox/replica-tables.ts"
import { Durability } from "../../sqlite/client.ts"
import type { SettledCommand } from "../../protocol/merge.ts"
import type { SnapshotPage, SnapshotPlan } from "../../protocol/snapshot.ts"
import { filesOfPayload, type UnlessChanged, type WireCommand, type WireError } from "../../protocol/wire.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand, ResolutionRecorded } from "../outbox/rows.ts"
import type { StagedPage } from "./fill.ts"
import { storedSettings } from "../../../core/kernel/runtime/server-runtime.ts"

// A replica's position in the server's journal.

interface ReplicaPosition {
  readonly position: number
  readonly offset: string
  readonly handle: string | undefined
  readonly synced_at: string | null
  /** Position of the fill, after which the local journal begins; 0 if the journal is complete. */
  readonly journal_from: number
  /** Whether a new history from the server is being staged. */
  readonly anew: boolean
}
export const readReplicaPosition = Effect.gen(function* () {
  const rows = yield* Store.run<{ key: string; value: string }>(
    "select key, value from replica_meta " +
      "where key in ('position', 'offset', 'handle', 'synced_at', 'journal_from', 'anew')"
  )
  const known = new Map(rows.map(({ key, value }) => [key, value]))
  return {
    position: Number(known.get("position") ?? 0),
    offset: known.get("offset") ?? "-1",
    handle: known.get("handle"),
    synced_at: known.get("synced_at") ?? null,
    journal_from: Number(known.get("journal_from") ?? 0),
    anew: known.get("anew") === "yes"
  } satisfies ReplicaPosition
})

export interface ReplicaOptions {
  readonly catalogue: Catalogue
  /** Digest of its tables (`tablesOfDevices`), if the build has worked it out. */
  readonly tables?: string | undefined
  readonly outbox: Outbox
  readonly replica_id: number
  readonly commandId: () => string
  /** The device's user, as stored in the replica. */
  readonly viewer: Effect.Effect<Viewer, Failure, Store>
  /** Returns the server's public URL. */
  readonly public_url?: () => string
  /** Returns the name of the program run that records: its commands are undone together. */
  readonly run?: () => string
  /** Called between steps that a crash may separate; for tests, which throw here. */
  readonly at?: (step: string) => void
}
interface DecidingHow {
  /** Whether it follows an unrecorded command, whose ids must not be used again. */
  readonly continues?: boolean
  /** Whether a refusal ends the transaction, so that the decision needs no savepoint. */
  readonly refusal_ends?: boolean
}
export interface ReplicaParts extends ReplicaOptions {
  readonly at: (step: string) => void
  /**
   * Decides a command, with these ids first and as of its recording; if accepted, its events are projected; if refused,
   * nothing is changed.
   */
  readonly decide: (
    call: EndpointCall,
    id: string,
    recorded: Pick<CommandMetadata, "ids" | "issued_at">,
    how?: DecidingHow
  ) => Effect.Effect<Outcome, Failure, Store | CommandRuntime>
  /** Images of the rows that the last accepted command changed. */
  readonly images: () => ReadonlyArray<Image>
}
export interface QueryResult extends Answer {
  readonly command?: { readonly n: number; readonly id: string }
  readonly events?: ReadonlyArray<{ readonly stream: string; readonly type: string; readonly data: JsonObject }>
  /** Description of a planned effect, to follow "would". */
  readonly wish?: string
}
/** How to record a command that replaces others. */
export interface Rerecording {
  /** Ids to use first: those of the replaced command, so that dependent commands stay valid. */
  readonly ids: WireCommand["ids"]
  /** Recording time of the replaced command, which stays the time of the event. */
  readonly issued_at?: string
  /** Conflict it resolves, and how. */
  readonly replaces?: { readonly id: string; readonly how: ResolutionRecorded }
  /** Ids of the commands it undoes. */
  readonly undoes?: ReadonlyArray<string>
  /** Ids of earlier commands it depends on. */
  readonly needs?: ReadonlyArray<string>
  /** State that must be unchanged when it reaches the server. */
  readonly unless_changed?: Omit<UnlessChanged, "since">
}
/** A request, or a function that builds it from the ids created by earlier requests of the plan. */
export type PlannedRequest = Request | ((made: ReadonlyArray<WireCommand["ids"]>) => Request)
export interface PulledEvents {
  readonly events: ReadonlyArray<StoredEvent>
  readonly offset: string
  readonly handle: string
  readonly up_to_date: boolean
}

export type LocalEffect<A> = Effect.Effect<A, Failure, Store | CommandRuntime>
export interface Replica {
  readonly runtime: Layer.Layer<CommandRuntime>
  /**
   * Completes what a crash or update left undone: schema migration, commands acknowledged but not run, verdicts not yet
   * in the outbox.
   */
  readonly open: LocalEffect<void>
  readonly ask: (request: Request, plan: boolean, again?: Rerecording) => LocalEffect<QueryResult>
  /**
   * Runs work whose records and withdrawals, here and in the outbox, are kept together or not at all: not if it fails,
   * is not `ok`, or the machine stops.
   */
  readonly together: <A extends { readonly ok: boolean }>(work: LocalEffect<A>) => LocalEffect<A>
  /**
   * Results of these commands, each decided after the earlier ones; nothing is recorded. `ids`: those each uses first.
   */
  readonly plan: (
    requests: ReadonlyArray<PlannedRequest>,
    ids?: ReadonlyArray<WireCommand["ids"]>
  ) => LocalEffect<ReadonlyArray<QueryResult>>
  /** Applies events in one transaction; a power cut may undo it if the same can be pulled again (`is_repeatable`). */
  readonly apply: (
    pulled: PulledEvents,
    is_repeatable?: boolean
  ) => LocalEffect<{ readonly applied: number; readonly settled: number }>
  /**
   * Applies verdicts that came with an answer instead of the journal: refused commands are reverted, pending ones
   * decided again.
   */
  readonly settle: (settled: ReadonlyArray<SettledCommand>) => LocalEffect<void>
  /** Starts a new history from the server, staged separately until complete. */
  readonly restart: LocalEffect<void>
  /** Reverts all provisional changes and decides pending commands again, after a withdrawal. */
  readonly rebase: LocalEffect<void>
  /** Numbers of pending commands that the rules would refuse without these; nothing is changed. */
  readonly stalledWithout: (ids: ReadonlyArray<string>) => LocalEffect<ReadonlyArray<number>>
  /** Fills from rows in separate tables. `lay` returns the progress; undefined once the rows are in use. */
  readonly fill: {
    readonly now: LocalEffect<FillState | undefined>
    readonly begin: (plan: SnapshotPlan) => LocalEffect<void>
    readonly lay: (requested: StagedPage["requested"], page: SnapshotPage) => LocalEffect<FillState | undefined>
    readonly drop: LocalEffect<void>
  }
  readonly position: LocalEffect<ReplicaPosition>
  /** Pending commands that the rules now refuse here, with their errors. */
  readonly stalled: LocalEffect<ReadonlyArray<{ readonly n: number; readonly error: WireError }>>
}

/**
 * For transactions that may be lost in a power cut, as the command is durable in the outbox and runs again on opening.
 * Not for transactions that settle commands, which the outbox then forgets.
 */
export const relaxedDurability = Effect.provideService(Durability, "normal")

// Reads that every command repeats: of its user, of the settings, definitions and reference tables. They are kept until
// a write here, or another process's commit, may have changed them.

const isKept = (table: Table): boolean => table.reference || table.changes_reader || table === settings_table
const reads_kept_max = 500

interface KeptReads {
  /** The store with such reads kept. Only within a transaction, once `begin` was called in it. */
  readonly store: StoreShape
  /** `data_version`: SQLite's number of the file's state, which changes with commits of others. */
  readonly begin: (data_version: number) => void
}
const makeKeptReads = (store: StoreShape): KeptReads => {
  const { writes } = store
  let version: number | undefined
  let begun = 0
  const kept = new Map<string, { readonly at: number; readonly result: unknown }>()
  const once = <A>(table: Table, asked: ReadonlyArray<unknown>, read: () => Sql<A>): Sql<A> => {
    if (!isKept(table)) return read()
    return Effect.suspend(() => {
      const name = `${table.name} ${JSON.stringify(asked)}`
      const known = kept.get(name)
      if (known !== undefined && writes.last(table) <= known.at) return Effect.succeed(known.result as A)
      return Effect.map(read(), (result) => {
        // Not what this transaction wrote, as it may be rolled back.
        if (writes.last(table) <= begun && kept.size < reads_kept_max) kept.set(name, { at: begun, result })
        return result
      })
    })
  }
  return {
    store: {
      ...store,
      get: (table, key) => once(table, ["row", key], () => store.get(table, key)),
      getMany: (table, keys, how) => once(table, ["rows", keys], () => store.getMany(table, keys, how)),
      find: (table, where, options) => once(table, ["where", where, options], () => store.find(table, where, options))
    },
    begin: (data_version) => {
      if (data_version !== version || kept.size >= reads_kept_max) kept.clear()
      version = data_version
      begun = writes.count()
    }
  }
}
const kept_reads = new WeakMap<StoreShape, KeptReads>()
export const keptReads = (store: StoreShape): KeptReads => {
  const known = kept_reads.get(store) ?? makeKeptReads(store)
  kept_reads.set(store, known)
  return known
}

// How commands are decided on a replica: with ids from the outbox's leases, without document numbers, provisionally.

/** Rejection if a table's leased ids are used up. */
const outOfIds = (table: string): Rejection =>
  new Rejection({
    kind: "unavailable",
    message: `This device has no ids left for ${table.replaceAll("_", " ")}; run flightcase sync to get more.`
  })

/** Ids of the outbox's leases for the command being decided; recording it takes them from the lease. */
const leasedIds = (outbox: Outbox) => {
  /** Number of ids used by the command, by table. */
  const used = new Map<string, number>()
  /** Ids read ahead, by table: those after `skip` used ones. */
  const ahead = new Map<string, { readonly skip: number; readonly ids: ReadonlyArray<number> }>()
  return {
    begin: (continues: boolean): void => {
      if (!continues) used.clear()
      ahead.clear()
    },
    /** Returns a function that gives back what is used from now on. */
    mark: () => {
      const before = [...used]
      return () => {
        used.clear()
        for (const [table, count] of before) used.set(table, count)
      }
    },
    next: (table: string): number | undefined => {
      const skip = used.get(table) ?? 0
      let known = ahead.get(table)
      // Twice as many each time, so that few statements read any number of them.
      if (known?.ids[skip - known.skip] === undefined)
        ahead.set(table, (known = { skip, ids: outbox.peekIds(table, skip, skip + 1) }))
      const id = known.ids[skip - known.skip]
      if (id !== undefined) used.set(table, skip + 1)
      return id
    },
    take: (table: string, count: number): ReadonlyArray<number> => {
      const skip = used.get(table) ?? 0
      const ids = outbox.peekIds(table, skip, count)
      used.set(table, skip + ids.length)
      return ids
    },
    giveBack: (table: string, count: number): void => void used.set(table, (used.get(table) ?? 0) - count)
  }
}

export const localRuntime = ({
  catalogue,
  commandId,
  outbox,
  public_url,
  replica_id
}: ReplicaOptions): { readonly runtime: Layer.Layer<CommandRuntime> } & Pick<ReplicaParts, "decide" | "images"> => {
  const leased = leasedIds(outbox)
  let images: ReadonlyArray<Image> = []
  const runtime = Layer.succeed(
    CommandRuntime,
    CommandRuntime.of({
      role: "replica",
      catalogue,
      commandId: Effect.sync(commandId),
      allocateIds: (table, count) =>
        Effect.suspend(() => {
          const ids = leased.take(table, count)
          return ids.length === 0 ? Effect.fail(outOfIds(table)) : Effect.succeed(ids)
        }),
      nextId: leased.next,
      releaseIds: (table, ids) => Effect.sync(() => leased.giveBack(table, ids.length)),
      nextNumber: () => Effect.succeed(null),
      project: (changes) =>
        Effect.map(projectProvisionally(changes), (changed) => {
          images = changed
        }),
      append: (events, recording) => appendProvisional(events, recording, provisional_base),
      settings: storedSettings(catalogue),
      ...(public_url === undefined ? {} : { public_url })
    })
  )
  return {
    runtime,
    images: () => images,
    decide: Effect.fnUntraced(function* (
      call: EndpointCall,
      command_id: string,
      { ids = {}, issued_at }: Pick<CommandMetadata, "ids" | "issued_at">,
      { continues = false, refusal_ends }: DecidingHow = {}
    ) {
      leased.begin(continues)
      const giveBack = leased.mark()
      const decided = decideInSavepoint(call, { command_id, replica_id, ids, issued_at }, refusal_ends)
      return yield* Effect.tapError(decided, () => Effect.sync(giveBack))
    })
  }
}

// Pending commands on a replica: decided again after a pull, after a crash, or when another process recorded them.

/** Commands without a verdict in the local journal, in order. */
export const unsettled = Effect.fnUntraced(function* (outbox: Outbox) {
  const rows = yield* Store.run<{ n: number }>("select n from verdicts")
  const settled = new Set(rows.map((row) => row.n))
  return outbox.pending().filter((command) => !settled.has(command.n))
})

/** Decides a recorded command by the current rules; if refused, it is listed as stalled with the error. */
const redecideOne = Effect.fnUntraced(function* (parts: ReplicaParts, command: OutboxCommand, viewer: Viewer) {
  const endpoint = parts.catalogue.endpoint(command.name)
  const { body, params } = command.payload
  const files = filesOfPayload(command.payload)
  const refused: WireError | undefined =
    endpoint === undefined
      ? { status: 422, message: `This release knows no command ${command.name}.` }
      : yield* runAgain(
          parts,
          {
            endpoint,
            viewer,
            params,
            request: { method: endpoint.method, path: endpoint.path, query: [], body, ...files }
          },
          command
        )
  if (refused !== undefined)
    yield* Store.run("insert or replace into stalled (n, error) values (?, ?)", [command.n, JSON.stringify(refused)])
})
/** Decides a recorded command; returns its rejection, or undefined if accepted. */
const runAgain = ({ decide, outbox }: ReplicaParts, call: EndpointCall, command: OutboxCommand) =>
  Effect.gen(function* () {
    const { ids } = yield* decide(call, command.id, command)
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

export const redecide = Effect.fnUntraced(function* (parts: ReplicaParts, due: ReadonlyArray<OutboxCommand>) {
  const last = due.at(-1)
  if (last === undefined) return
  // An unfilled replica has no users: due commands wait until it is filled.
  const viewer = yield* parts.viewer.pipe(
    Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(undefined) : Effect.fail(failure)))
  )
  if (viewer === undefined) return
  for (const command of due) yield* redecideOne(parts, command, viewer)
  yield* saveLastRun(last.n)
})

const lastRun = Effect.gen(function* () {
  return Number((yield* readMeta(yield* Store, "run_n")) ?? 0)
})
/** Whether outbox commands are yet to run here: another process's, or all after a fill or upgrade. Cheap. */
export const hasDueCommands = Effect.fnUntraced(function* (outbox: Outbox) {
  return outbox.lastPending() > (yield* lastRun)
})
/** `read`: numbers of the last command run here and of the outbox's last one, if they were read. */
export const runDue = Effect.fnUntraced(function* (
  parts: ReplicaParts,
  read?: { readonly run_n: number; readonly last_n: number }
) {
  const last = read?.run_n ?? (yield* lastRun)
  if ((read !== undefined && read.last_n <= last) || parts.outbox.lastPending() <= last) return
  yield* redecide(
    parts,
    (yield* unsettled(parts.outbox)).filter((command) => command.n > last)
  )
})
