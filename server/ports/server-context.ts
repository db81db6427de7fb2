/** Services of the server for its slices. */
import { Context, Data, Effect, Option, Schema, type Scope } from "effect"
import { type Failure, Store, type StoreRead } from "../../core/kernel/store/store.ts"
import type { BlobStore } from "./blob-store.ts"
import type { Condition } from "./health.ts"
import type { JobOffer, Jobs } from "./offers.ts"
import type { Log } from "./log.ts"
import type { Outside } from "./outside.ts"
import type { Renderer } from "../print/renderer.ts"
import type { CommandRuntime } from "../../core/kernel/endpoints/endpoint.ts"
import type { AnyEventType, DataOf, EventOf, NewEvent, StoredEvent } from "../../core/kernel/events/event-type.ts"
import type { JsonObject } from "../../core/kernel/fields/field.ts"
import type { Viewer } from "../../core/kernel/fields/rejection.ts"
import { ownerEvents as ownerOf } from "../../core/people/users/decide.ts"
import { roles, users, viewerOf } from "../../core/people/users/permissions.ts"

export interface ServerContextShape {
  /** Signs feeds, links and attachment addresses. */
  readonly key: string
  /** Without a slash at its end. */
  readonly public_url: () => string
  readonly data_folder: string | undefined
  readonly log: Log
  readonly outside: Outside
  /** Where files are kept; content goes in by `keepContent` (files/keep.ts). */
  readonly blobs: BlobStore
  /** Queues durable work. */
  readonly jobs: Jobs
  /** Draws documents and fills texts, in threads of their own. */
  readonly renderer: Renderer
  /** Whether the server can work; does not wait for locks that other requests wait for. */
  readonly health: Effect.Effect<Condition, never, Store>
  /** To be called after a commit that changed the journal other than by appending: clears all caches. */
  readonly journalReplaced: () => void
  /**
   * Calls the listener after each commit that added to the journal, on any server; returns the function that stops it.
   */
  readonly onCommit: (listener: () => void) => () => void
  /** To be called after a commit that others wait for and that added nothing to the journal: calls those listeners. */
  readonly rowsWritten: () => void
  /** Whether the server is about to stop, which ends endless work. Listeners are called then. */
  readonly isStopping: () => boolean
}
export class ServerContext extends Context.Service<ServerContext, ServerContextShape>()("flightcase/server/Hosting") {}

/**
 * For endpoints, whose effect types list only services that devices have as well: on a server it is always available.
 */
export const serverContext: Effect.Effect<ServerContextShape> = Effect.map(
  Effect.serviceOption(ServerContext),
  Option.getOrThrow
)

// Kinds of durable work: for effects outside the machine, or longer than a request. A job is queued in the transaction
// of its event, so that it exists exactly when the event does, and runs after the commit, at least once: `run` must be
// safe to repeat for the same job.

export type { JobOffer } from "./offers.ts"

/** The failure of a job that trying again cannot mend: an address that does not exist, a file that is gone. */
export class GivenUp extends Data.TaggedError("GivenUp")<{ readonly message: string }> {}

export interface Attempt {
  readonly job_id: string
  /** Counted from 1. */
  readonly number: number
  /** No further attempt follows if this one fails. */
  readonly is_last: boolean
  /** Reports the job's progress, from 0 to 1. */
  readonly progress: (done: number) => Effect.Effect<void, never, Store>
}

/** Abilities for requesting jobs that a request waits for. */
export const asking_abilities = ["api-usage:read", "documents:write"] as const
type AskingAbility = (typeof asking_abilities)[number]

export interface JobKind<Data = unknown> {
  /** `mail.send`: letters, digits, dots and underscores. */
  readonly kind: string
  /** Description of its task, for users. */
  readonly meaning: string
  readonly data: Schema.Codec<Data, unknown>
  readonly attempts_max: number
  /** Waits between attempts; the last one repeats. 0 to 10 % is added. */
  readonly waits_seconds: ReadonlyArray<number>
  /** Attempts at the same time in one server process. */
  readonly at_a_time: number
  /** An attempt that takes longer is broken off and has failed; an hour unless said. */
  readonly limit_seconds?: number
  /**
   * False: attempts interrupted by the end of their server are not counted. Only for work that cannot crash a server;
   * other work would restart, and crash servers, for ever.
   */
  readonly counts_broken_off?: false
  /** Its data, result or errors may name people: those of ended jobs are cleared when somebody is erased. */
  readonly names_people?: boolean
  /** The ability for requesting it; with that, too, its owner sees its progress. */
  readonly asked_with?: AskingAbility
  /** The result is stored with the job, `download_url` included. Any failure but {@link GivenUp} is retried. */
  readonly run: (
    data: Data,
    attempt: Attempt
  ) => Effect.Effect<JsonObject | void, unknown, Store | CommandRuntime | ServerContext | Scope.Scope>
  /**
   * Consequence of a final failure, for any cause: runs in the transaction that records it, at least once. Attempts
   * interrupted by their server's end or their time limit run no code of their own.
   */
  readonly ended?: (data: Data, error: string) => Effect.Effect<void, unknown, Store | CommandRuntime | ServerContext>
}
// A server lists kinds of all kinds of data; each was checked against its own.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyJobKind = JobKind<any>

export const jobKind = <Data>(kind: JobKind<Data>): JobKind<Data> => kind

/** A job of this kind: `jobOffer(sendMail, { message_id }, { subject: `${event.position}` })`. */
export const jobOffer = <Data>(
  kind: JobKind<Data>,
  data: Data,
  about: ({ readonly subject: string } | { readonly uuid: string }) & Pick<JobOffer, "owner_id" | "delay_seconds">
): JobOffer<Data> => ({ kind, data, ...about })

/** Consequences of recorded events: jobs, queued in their transaction. */
export interface Process {
  readonly on: ReadonlyArray<string>
  /** Pure: the same events give the same jobs with the same subjects. */
  readonly jobs: (event: StoredEvent) => ReadonlyArray<JobOffer>
}
/** Declares a process: `processOf({ on: [invoiceIssued], jobs: (event) => [jobOffer(sendMail, …)] })`. */
export const processOf = <const On extends ReadonlyArray<AnyEventType>>(draft: {
  readonly on: On
  readonly jobs: (event: Omit<StoredEvent, "data"> & EventOf<DataOf<On[number]>>) => ReadonlyArray<JobOffer>
}): Process => ({
  on: draft.on.map(({ type }) => type),
  // Safe: an event just recorded has the data made by its kind.
  jobs: (event) => draft.jobs(event as Omit<StoredEvent, "data"> & EventOf<DataOf<On[number]>>)
})

/** Work that is due at certain times, done once for each of them however many servers there are. */
export interface TimedWork {
  /** Minute, hour, day, month, weekday; UTC. */
  readonly cron: string
  /** Whether a server that starts at this instant has it to do, whenever it was done last. */
  readonly at_start?: (now: string) => StoreRead<boolean>
  /** Its data is the instant it was due. */
  readonly kind: JobKind<{ readonly due_at: string }>
}
type Due = JobKind<{ readonly due_at: string }>
/** Declares timed work: five attempts, one at a time, where nothing else is said. */
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

const rows_at_a_time = 2_000
/** Deletes the rows whose `column` is below a value, the lowest first; a few at a time, so that none waits long. */
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

// The raw request, for endpoints with `raw_body`: its sender signed exactly these bytes.

export type Headers = { readonly [lower_case_name: string]: string | ReadonlyArray<string> | undefined }

interface RawRequestShape {
  readonly headers: Headers
  readonly bytes: Uint8Array
}
/** The server provides it to every endpoint with `raw_body`, none of which a device answers. */
export const RawRequest = Context.Reference<RawRequestShape>("flightcase/server/RawRequest", {
  defaultValue: () => {
    throw new Error("this endpoint has no raw_body")
  }
})

// Users of tokens.

export const owner_user_id = 1
export type User = Omit<Viewer, "abilities" | "token_id">

/** Events that make the owner of an empty database. */
export const ownerEvents = (at: string): ReadonlyArray<NewEvent> =>
  ownerOf({ name: "Owner", email: "owner@localhost" }, { user_id: owner_user_id, member_id: 1 }, at)

/** The user with the permissions of their roles; undefined where there is none. Two reads by key. */
export const userById = Effect.fnUntraced(function* (user_id: number): Store.Reads<User | undefined> {
  const user = yield* Store.get(users, user_id)
  return user === undefined ? undefined : viewerOf(user, yield* Store.getMany(roles, user.role_ids), null)
})
