/** A replica's dependencies, its operations, and types its parts share. */
import { Effect, Layer } from "effect"
import { Store } from "../../../core/kernel/store/store.ts"
import type { FillState } from "../outbox/replica-tables.ts"
import { projectProvisionally, readMeta, recordProvisionally, saveLastRun } from "../outbox/replica-tables.ts"
import type { Answer, Catalogue, Failure, Request } from "../../../core/kernel/endpoints/endpoint.ts"
import { CommandRuntime } from "../../../core/kernel/endpoints/endpoint.ts"
import type { CommandMetadata, EndpointCall, Outcome } from "../../../core/kernel/runtime/engine.ts"
import { decideInSavepoint } from "../../../core/kernel/runtime/engine.ts"
import type { StoredEvent } from "../../../core/kernel/events/event-type.ts"
import type { JsonObject } from "../../../core/kernel/fields/field.ts"
import { Durability } from "../../sqlite/client.ts"
import type { SettledCommand } from "../../protocol/merge.ts"
import type { SnapshotPage, SnapshotPlan } from "../../protocol/snapshot.ts"
import { filesOfPayload, type UnlessChanged, type WireCommand, type WireError } from "../../protocol/wire.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand, ResolutionRecorded } from "../outbox/rows.ts"
import type { StagedPage } from "./fill.ts"
import { bodyOf, Rejection, statusOf, type Viewer } from "../../../core/kernel/fields/rejection.ts"
import { storedSettings } from "../../../core/kernel/runtime/server-runtime.ts"

// A replica's position in the server's journal.

interface ReplicaPosition {
  readonly position: number
  readonly offset: string
  readonly handle: string | undefined
  readonly synced_at: string | null
  /** The journal here begins after this position: the replica was filled from rows there. 0 where all of it is here. */
  readonly journal_from: number
  /** Whether a new history of the server's is being staged here. */
  readonly anew: boolean
}
export const readReplicaPosition = Effect.gen(function* () {
  const store = yield* Store
  return {
    position: Number((yield* readMeta(store, "position")) ?? 0),
    offset: (yield* readMeta(store, "offset")) ?? "-1",
    handle: yield* readMeta(store, "handle"),
    synced_at: (yield* readMeta(store, "synced_at")) ?? null,
    journal_from: Number((yield* readMeta(store, "journal_from")) ?? 0),
    anew: (yield* readMeta(store, "anew")) === "yes"
  } satisfies ReplicaPosition
})

export interface ReplicaOptions {
  readonly catalogue: Catalogue
  readonly outbox: Outbox
  readonly replica_id: number
  readonly commandId: () => string
  /** The person at this device, as the replica knows them now. */
  readonly viewer: Effect.Effect<Viewer, Failure, Store>
  /** The server's public address. */
  readonly public_url?: () => string
  /** Name of the recording program run: its commands are undone together. */
  readonly run?: string
  /** Called between steps that a crash may separate; tests throw here. */
  readonly at?: (step: string) => void
}
export interface ReplicaParts extends ReplicaOptions {
  readonly at: (step: string) => void
  /**
   * Decides a command with these ids first, as of when it was recorded, in a savepoint; its events are in the tables
   * when it holds.
   */
  readonly decide: (
    call: EndpointCall,
    id: string,
    recorded: Pick<CommandMetadata, "ids" | "issued_at">,
    /** It follows another one that is not recorded: the ids that one used are not used again. */
    continues?: boolean
  ) => Effect.Effect<Outcome, Failure, Store | CommandRuntime>
}
export interface QueryResult extends Answer {
  readonly command?: { readonly n: number; readonly id: string }
  readonly events?: ReadonlyArray<{ readonly stream: string; readonly type: string; readonly data: JsonObject }>
  /** For a plan: its effect, to follow "would". */
  readonly wish?: string
}
/** How to record a command that replaces others. */
export interface Rerecording {
  /** Ids it uses first: those of the replaced command, so that dependent commands stay valid. */
  readonly ids: WireCommand["ids"]
  /** When the command it replaces was recorded: that is when it happened. */
  readonly issued_at?: string
  /** The conflict it resolves, and how. */
  readonly replaces?: { readonly id: string; readonly how: ResolutionRecorded }
  /** The commands it takes back. */
  readonly undoes?: ReadonlyArray<string>
  /** Earlier commands without which it is not decided. */
  readonly needs?: ReadonlyArray<string>
  /** State that others must not have changed when it arrives. */
  readonly unless_changed?: Omit<UnlessChanged, "since">
}
/** It may name rows that requests before it in the same plan make: their ids, by the place of the request. */
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
   * Completes what a crash or an update left undone: schema, commands acknowledged and not run, verdicts not in the
   * outbox.
   */
  readonly open: LocalEffect<void>
  readonly ask: (request: Request, plan: boolean, again?: Rerecording) => LocalEffect<QueryResult>
  /**
   * All that is recorded and withdrawn within it is kept, here and in the outbox, or none of it: where it fails or is
   * not `ok`, and where the machine stops before its end.
   */
  readonly together: <A extends { readonly ok: boolean }>(work: LocalEffect<A>) => LocalEffect<A>
  /** What these commands would come to one after the other; nothing is recorded. `ids`: those each uses first. */
  readonly plan: (
    requests: ReadonlyArray<PlannedRequest>,
    ids?: ReadonlyArray<WireCommand["ids"]>
  ) => LocalEffect<ReadonlyArray<QueryResult>>
  /** Applies what was pulled, in one transaction. */
  readonly apply: (pulled: PulledEvents) => LocalEffect<{ readonly applied: number; readonly settled: number }>
  /**
   * Takes verdicts that come with an answer and not by the journal: refused commands are reverted, pending ones decided
   * again.
   */
  readonly settle: (settled: ReadonlyArray<SettledCommand>) => LocalEffect<void>
  /** The server began a new history: its data is stored separately and replaces the old one when complete. */
  readonly restart: LocalEffect<void>
  /** Reverts all provisional changes and decides pending commands again, after commands were withdrawn. */
  readonly rebase: LocalEffect<void>
  /** The pending commands, by number, that would no longer hold here without these; nothing is changed. */
  readonly stalledWithout: (ids: ReadonlyArray<string>) => LocalEffect<ReadonlyArray<number>>
  /**
   * Filling from rows, beside what there is; `lay` gives how far it has come, and undefined once the rows are in place.
   */
  readonly fill: {
    readonly now: LocalEffect<FillState | undefined>
    readonly begin: (plan: SnapshotPlan) => LocalEffect<void>
    readonly lay: (requested: StagedPage["requested"], page: SnapshotPage) => LocalEffect<FillState | undefined>
    readonly drop: LocalEffect<void>
  }
  readonly position: LocalEffect<ReplicaPosition>
  /** Pending commands that no longer hold here, and why. */
  readonly stalled: LocalEffect<ReadonlyArray<{ readonly n: number; readonly error: WireError }>>
}

/**
 * For a transaction the replica may lose in a power cut: the outbox has the command on disk before, and it is run again
 * on opening. Not for transactions that settle commands, which the outbox forgets afterwards.
 */
export const relaxedDurability = Effect.provideService(Durability, "normal")

// How commands are decided on a replica: with ids from the outbox's leases, without document numbers, provisionally.

/** Raised when the leased ids of a table are used up. */
const outOfIds = (table: string): Rejection =>
  new Rejection({
    kind: "unavailable",
    message: `This device has no ids left for ${table.replaceAll("_", " ")}; run flightcase sync to get more.`
  })

export const localRuntime = ({
  catalogue,
  commandId,
  outbox,
  public_url,
  replica_id
}: ReplicaOptions): { readonly runtime: Layer.Layer<CommandRuntime>; readonly decide: ReplicaParts["decide"] } => {
  /** Ids used by the command being decided, by table; recording the command takes them from the lease. */
  const used = new Map<string, number>()
  const runtime = Layer.succeed(
    CommandRuntime,
    CommandRuntime.of({
      role: "replica",
      catalogue,
      commandId: Effect.sync(commandId),
      allocateIds: (table, count) =>
        Effect.suspend(() => {
          const skip = used.get(table) ?? 0
          const ids = outbox.peekIds(table, skip, count)
          if (ids.length === 0) return Effect.fail(outOfIds(table))
          used.set(table, skip + ids.length)
          return Effect.succeed(ids)
        }),
      releaseIds: (table, ids) =>
        Effect.sync(() => {
          used.set(table, (used.get(table) ?? 0) - ids.length)
        }),
      nextNumber: () => Effect.succeed(null),
      project: (events, recording) => projectProvisionally(catalogue, events, recording),
      append: recordProvisionally,
      settings: storedSettings(catalogue),
      ...(public_url === undefined ? {} : { public_url })
    })
  )
  return {
    runtime,
    decide: Effect.fnUntraced(function* (
      call: EndpointCall,
      command_id: string,
      { ids = {}, issued_at }: Pick<CommandMetadata, "ids" | "issued_at">,
      continues = false
    ) {
      if (!continues) used.clear()
      return yield* decideInSavepoint(call, { command_id, replica_id, ids, issued_at })
    })
  }
}

// Pending commands on a replica: decided again after a pull, after a crash, or when another process recorded them.

/** Pending commands without a verdict in the journal, in order. */
export const unsettled = Effect.fnUntraced(function* (outbox: Outbox) {
  const rows = yield* Store.run<{ n: number }>("select n from verdicts")
  const settled = new Set(rows.map((row) => row.n))
  return outbox.pending().filter((command) => !settled.has(command.n))
})

/**
 * Decides a recorded command by the rules of today; where it no longer holds it is listed as stalled, with the reason.
 */
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
/** The refusal, where it is refused. */
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
  // An unfilled replica has no users: due commands wait.
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
/**
 * Whether another process recorded commands, or a crash came before they were run here. Cheap, however many are
 * pending.
 */
export const hasDueCommands = Effect.fnUntraced(function* (outbox: Outbox) {
  return outbox.lastPending() > (yield* lastRun)
})
export const runDue = Effect.fnUntraced(function* (parts: ReplicaParts) {
  if (!(yield* hasDueCommands(parts.outbox))) return
  const run_n = yield* lastRun
  yield* redecide(
    parts,
    (yield* unsettled(parts.outbox)).filter((command) => command.n > run_n)
  )
})
