/** What a replica is made from, what it offers, and what its parts share. */
import { Effect, type Layer } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import type { Answer, Failure, Request } from "../../../core/kernel/endpoint.ts"
import type { CommandMetadata, EndpointCall, Outcome } from "../../../core/kernel/engine.ts"
import type { StoredEvent } from "../../../core/kernel/event.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import { Durability } from "../../sqlite/client.ts"
import type { SettledCommand } from "../../protocol/merge.ts"
import type { SnapshotPage, SnapshotPlan } from "../../protocol/snapshot.ts"
import type { UnlessChanged, WireCommand, WireError } from "../../protocol/wire.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { ResolutionRecorded } from "../outbox/command.ts"
import type { StagedPage } from "./fill.ts"
import type { FillState } from "./rows.ts"
import type { ReplicaPosition } from "./replica-position.ts"

export interface ReplicaOptions {
  readonly catalogue: Catalogue
  readonly outbox: Outbox
  readonly replica_id: number
  readonly commandId: () => string
  /** The person at this device, as the replica knows them now. */
  readonly viewer: Effect.Effect<Viewer, Failure, Store>
  /** The server's public address. */
  readonly public_url?: () => string
  /** Names the run of the program that records here: what it recorded is undone together. */
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
  /** Of a plan: what it would do, after "would". */
  readonly wish?: string
}
/** How a command is recorded that stands for others. */
export interface Rerecording {
  /** The ids it uses first: those of the command it replaces, so that what builds on them stays valid. */
  readonly ids: WireCommand["ids"]
  /** When the command it replaces was recorded: that is when it happened. */
  readonly issued_at?: string
  /** The conflict it resolves, and how. */
  readonly replaces?: { readonly id: string; readonly how: ResolutionRecorded }
  /** The commands it takes back. */
  readonly undoes?: ReadonlyArray<string>
  /** Earlier commands without which it is not decided. */
  readonly needs?: ReadonlyArray<string>
  /** What others must not have changed, once it arrives, since what is known here. */
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
   * All that is recorded and withdrawn within it is kept, here and in the outbox, or none of it: where it fails, and
   * where the machine stops before its end.
   */
  readonly together: <A>(work: LocalEffect<A>) => LocalEffect<A>
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
  /** The server began a new history: what it sends is kept apart and replaces the old one when it is complete. */
  readonly restart: LocalEffect<void>
  /** Takes back all that is provisional and decides again what is still pending: after commands were withdrawn. */
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
