/** Services of the server for its slices, and the durable jobs they queue. */
import { Clock, Context, Data, Effect, Option, Schema, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { appendEvents, chunked, CommandRuntime, Store } from "../../core/kernel/index.ts"
import type { AnyEventType, DataOf, EventOf, Failure, JsonObject, NewEvent } from "../../core/kernel/index.ts"
import type { SharedDraft, StoredEvent, StoreRead, Viewer } from "../../core/kernel/index.ts"
import type { BlobStore } from "./blob-store.ts"
import type { Condition } from "./health.ts"
import type { Log } from "./log.ts"
import type { Outside } from "./outside.ts"
import type { Renderer } from "../print/renderer.ts"
import { ownerEvents as ownerOf } from "../../core/people/users/decide.ts"
import { roles, users, viewerOf } from "../../core/people/users/permissions.ts"

/** Numbers of attempts begun and failed by this process since it started, by kind. */
export interface KindCount {
  readonly kind: string
  readonly attempts: number
  readonly failures: number
  /** Final failures, without a further attempt. */
  readonly dead: number
}
export interface JobCounters {
  readonly begun: (kind: string) => void
  readonly failed: (kind: string, for_good: boolean) => void
  readonly all: () => ReadonlyArray<KindCount>
}

export const makeJobCounters = (kinds: Iterable<string>): JobCounters => {
  const counts = new Map<string, { -readonly [K in keyof KindCount]: KindCount[K] }>()
  for (const kind of kinds) counts.set(kind, { kind, attempts: 0, failures: 0, dead: 0 })
  return {
    begun: (kind) => {
      const count = counts.get(kind)
      if (count !== undefined) count.attempts++
    },
    failed: (kind, for_good) => {
      const count = counts.get(kind)
      if (count === undefined) return
      count.failures++
      if (for_good) count.dead++
    },
    all: () => [...counts.values()]
  }
}

export interface JobCount {
  readonly kind: string
  readonly status: string
  readonly jobs: number
}
/** A job to be queued. */
export interface JobOffer<Data = unknown> {
  /** The job's kind. */
  readonly kind: { readonly kind: string }
  readonly data: Data
  /** Subject of the job, unique within its kind: each is queued once, with the id `kind:subject`. */
  readonly subject?: string
  /** Id of the job, instead of a subject, for jobs named in responses. */
  readonly uuid?: string
  /** User who may see the job, in addition to those who manage the system. */
  readonly owner_id?: number | null
  readonly delay_seconds?: number
}

export interface Jobs {
  /** Queues a job in the caller's transaction and returns its id. A subject queued before is not queued again. */
  readonly offer: (offer: JobOffer) => Effect.Effect<string, Failure, Store>
  /** Counts of this process since it started, by kind. */
  readonly counts: () => ReadonlyArray<KindCount>
  /** Numbers of unfinished jobs, by kind and status. */
  readonly unfinished: Effect.Effect<ReadonlyArray<JobCount>, SqlError.SqlError>
  /** Deletes jobs completed more than `days` ago. Failed ones stay until a user drops them. */
  readonly forget: (days: number) => Effect.Effect<void, Failure>
}

export interface ServerContextShape {
  /** Secret behind the keys that sign addresses and encrypt stored secrets. */
  readonly key: string
  /** Public URL without a trailing slash. */
  readonly public_url: () => string
  readonly data_folder: string | undefined
  readonly log: Log
  readonly outside: Outside
  /** File store; add content by `keepContent` (files/downloads.ts). */
  readonly blobs: BlobStore
  /** Queues durable work. */
  readonly jobs: Jobs
  /** Draws documents and fills in texts, in separate threads. */
  readonly renderer: Renderer
  /** Health of the server; does not wait for locks held by requests. */
  readonly health: Effect.Effect<Condition, never, Store>
  /**
   * Whether nothing changed since this viewer was authenticated that may change their rights or data, nor has their
   * token expired at `now`, if given (milliseconds since 1970).
   */
  readonly isCurrent: (viewer: Viewer, now?: number) => boolean
  /** Clears all caches. Call after a commit that changed the journal other than by appending, or ended a device. */
  readonly journalReplaced: () => void
  /**
   * Registers a listener called after each commit to the journal, on any server; returns the function that removes it.
   */
  readonly onCommit: (listener: () => void) => () => void
  /** Calls the `onCommit` listeners. Call after a commit that added nothing to the journal but that others wait for. */
  readonly rowsWritten: () => void
  /** Whether the server is stopping, so that endless work must end. `onCommit` listeners are called then. */
  readonly isStopping: () => boolean
}
export class ServerContext extends Context.Service<ServerContext, ServerContextShape>()("flightcase/server/Hosting") {}

/**
 * `ServerContext` for endpoints, whose types list only services that devices have too; on a server it always exists.
 */
export const serverContext: Effect.Effect<ServerContextShape> = Effect.map(
  Effect.serviceOption(ServerContext),
  Option.getOrThrow
)

// Kinds of durable work: for effects outside the machine, or longer than a request. A job is queued in the transaction
// of its event, so that it exists exactly when the event does, and runs after the commit, at least once: `run` must be
// safe to repeat for the same job.

/** Failure of a job that must not be retried, such as for an address or file that does not exist. */
export class GivenUp extends Data.TaggedError("GivenUp")<{ readonly message: string }> {}

export interface Attempt {
  readonly job_id: string
  /** Number of the attempt, from 1. */
  readonly number: number
  /** Whether no further attempt follows if this one fails. */
  readonly is_last: boolean
  /** Reports the job's progress, from 0 to 1. */
  readonly progress: (done: number) => Effect.Effect<void, never, Store>
}

/** Abilities by which users may request jobs of some kinds, and then follow them: see `asked_with`. */
export const asking_abilities = ["api-usage:read", "documents:write"] as const

export interface JobKind<Data = unknown> {
  /** Name of the kind, with letters, digits, dots and underscores: `mail.send`. */
  readonly kind: string
  /** Description of its task, for users. */
  readonly meaning: string
  readonly data: Schema.Codec<Data, unknown>
  readonly attempts_max: number
  /** Seconds between attempts, plus 0 to 10 %; the last value repeats. */
  readonly waits_seconds: ReadonlyArray<number>
  /** Maximum concurrent attempts in one server process. */
  readonly at_a_time: number
  /** Time limit of an attempt, after which it is interrupted and has failed; default: an hour. */
  readonly limit_seconds?: number
  /**
   * Set to false if attempts interrupted by a server's end do not count. Only for work that cannot crash a server,
   * which would otherwise restart and crash forever.
   */
  readonly counts_broken_off?: false
  /** Whether data, result or errors may contain personal data: they are cleared from ended jobs after an erasure. */
  readonly names_people?: boolean
  /** Ability by which users may request the job and follow their own. */
  readonly asked_with?: (typeof asking_abilities)[number]
  /**
   * Runs an attempt. The result is stored with the job, with an optional `download_url`. Failures are retried, except
   * {@link GivenUp}.
   */
  readonly run: (
    data: Data,
    attempt: Attempt
  ) => Effect.Effect<JsonObject | void, unknown, Store | CommandRuntime | ServerContext | Scope.Scope>
  /**
   * Runs after the final failure, in the transaction that records it, at least once; also for attempts that were
   * interrupted by a time limit or their server's end.
   */
  readonly ended?: (data: Data, error: string) => Effect.Effect<void, unknown, Store | CommandRuntime | ServerContext>
}
// Any job kind: a server lists kinds with different data, each checked where it is declared.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyJobKind = JobKind<any>

export const jobKind = <Data>(kind: JobKind<Data>): JobKind<Data> => kind

/** Builds a job to queue: `jobOffer(sendMail, { message_id }, { subject: `${event.position}` })`. */
export const jobOffer = <Data>(
  kind: JobKind<Data>,
  data: Data,
  about: ({ readonly subject: string } | { readonly uuid: string }) & Pick<JobOffer, "owner_id" | "delay_seconds">
): JobOffer<Data> => ({ kind, data, ...about })

/** Jobs that follow from recorded events, queued in the same transaction. */
export interface Process {
  readonly on: ReadonlyArray<string>
  /** The jobs for an event. Pure: the same events give the same jobs with the same subjects. */
  readonly jobs: (event: StoredEvent) => ReadonlyArray<JobOffer>
}
/** Declares a process: `processOf({ on: [invoiceIssued], jobs: (event) => [jobOffer(sendMail, …)] })`. */
export const processOf = <const On extends ReadonlyArray<AnyEventType>>(draft: {
  readonly on: On
  readonly jobs: (event: Omit<StoredEvent, "data"> & EventOf<DataOf<On[number]>>) => ReadonlyArray<JobOffer>
}): Process => ({
  on: draft.on.map(({ type }) => type),
  // Safe cast: a recorded event has the data of its kind.
  jobs: (event) => draft.jobs(event as Omit<StoredEvent, "data"> & EventOf<DataOf<On[number]>>)
})

/** Scheduled work, run once per due time even with several servers. */
export interface TimedWork {
  /** UTC schedule: minute, hour, day, month, weekday; or one that settings give, which may be none. */
  readonly cron: string | StoreRead<{ readonly cron: string; readonly zone: string } | undefined>
  /** Whether a server that starts now must run the work, whenever it ran last. */
  readonly at_start?: (now: string) => StoreRead<boolean>
  /** Kind of the job, whose data is the due time. */
  readonly kind: JobKind<{ readonly due_at: string }>
}
type Due = JobKind<{ readonly due_at: string }>
/** Declares scheduled work; default: five attempts, one at a time. */
export const timedWork = ({
  at_start,
  cron,
  ...kind
}: Omit<TimedWork, "kind"> & Pick<Due, "kind" | "meaning" | "run"> & Partial<Due>): TimedWork => ({
  cron,
  ...(at_start === undefined ? {} : { at_start }),
  kind: {
    data: Schema.Struct({ due_at: Schema.String }),
    attempts_max: 5,
    waits_seconds: [60, 600],
    at_a_time: 1,
    ...kind
  }
})

/** Records events that no user and no device caused. */
export const recordByServer = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>, recorded_at: string) {
  const command_id = yield* (yield* CommandRuntime).commandId
  yield* appendEvents(events, { command_id, actor_id: null, replica_id: null, recorded_at })
})

type Sweeping<A> = Effect.Effect<A, Failure, Store | CommandRuntime>
const swept_at_once = 100
/**
 * Scheduled work that finds ids of rows that may be due, and records those that are, a hundred in a transaction.
 * `record` returns how many it recorded; `counted` names their sum in the job's result.
 */
export const sweep = ({
  candidates,
  counted,
  record,
  ...work
}: Pick<TimedWork, "cron" | "at_start"> &
  Pick<Due, "kind" | "meaning"> & {
    readonly candidates: (now_millis: number) => Sweeping<ReadonlyArray<number>>
    readonly record: (ids: ReadonlyArray<number>, now_millis: number) => Sweeping<number>
    readonly counted: string
  }): TimedWork =>
  timedWork({
    ...work,
    waits_seconds: [10, 60, 600],
    run: Effect.fnUntraced(function* () {
      const now_millis = yield* Clock.currentTimeMillis
      let count = 0
      for (const some of chunked(yield* candidates(now_millis), swept_at_once))
        count += yield* Store.transaction(record(some, now_millis))
      return { [counted]: count }
    })
  })

const rows_at_a_time = 2_000
/** Deletes rows whose `column` is below a value, lowest first, in small batches, so that others do not wait long. */
export const deleteInParts = (
  table: string,
  column: string,
  below: string | number
): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const { sql } = yield* Store
    for (;;) {
      const deleted = yield* sql`
        delete from ${sql(table)} where id in (select id from ${sql(table)}
        where ${sql(column)} < ${below} order by ${sql(column)}, id limit ${rows_at_a_time}) returning id`
      if (deleted.length < rows_at_a_time) return
      yield* Effect.yieldNow
    }
  })

// The raw request, for endpoints with `raw_body`, whose senders sign the exact bytes.

export type Headers = { readonly [lower_case_name: string]: string | ReadonlyArray<string> | undefined }

export interface RawRequestShape {
  readonly headers: Headers
  readonly bytes: Uint8Array
}
/** Provided by the server to endpoints with `raw_body`; devices answer none of them. */
export const RawRequest = Context.Reference<RawRequestShape>("flightcase/server/RawRequest", {
  defaultValue: () => {
    throw new Error("this endpoint has no raw_body")
  }
})

// Users of tokens.

export const owner_user_id = 1

/** Access to an endpoint that opens without a token. */
export const open_access = {
  ability: null,
  permission: null,
  metering_weight: 0,
  public: true,
  server_only: true
} as const satisfies SharedDraft

/** A viewer who is no user, such as a program or a customer. */
export const viewerNamed = (name: string, more: Partial<Viewer> = {}): Viewer => ({
  user_id: 0,
  name,
  person_id: null,
  is_owner: false,
  is_active: true,
  role_ids: [],
  permissions: new Set(),
  abilities: new Set(["*"]),
  token_id: null,
  ...more
})
export type User = Omit<Viewer, "abilities" | "token_id">

/** Events that create the owner of an empty database. */
export const ownerEvents = (at: string): ReadonlyArray<NewEvent> =>
  ownerOf({ name: "Owner", email: "owner@localhost" }, { user_id: owner_user_id, member_id: 1 }, at)

/** The user with the permissions of their roles; undefined if there is no such user. Two reads by key. */
export const userById = Effect.fnUntraced(function* (user_id: number): Store.Reads<User | undefined> {
  const user = yield* Store.get(users, user_id)
  return user === undefined ? undefined : viewerOf(user, yield* Store.getMany(roles, user.role_ids), null)
})
