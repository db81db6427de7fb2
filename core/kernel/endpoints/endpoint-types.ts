/**
 * Types of endpoints, slices, the catalogue and the command runtime. They are in one file because they refer to each
 * other; `endpoint.ts` declares endpoints and composes catalogues.
 */
import { Context, Effect, Option, type Result, type Schema, type Stream } from "effect"
import type { SqlError } from "effect/sql"
import type { DecideContext, SettingGroups, Settings } from "../events/settings.ts"
import type { AnyEventType, Follower, NewEvent, Projection, Scrubs, StoredEvent } from "../events/event-type.ts"
import type { AnswerShown, BodyShown, Field, Fields, Json, JsonObject, Part } from "../fields/field.ts"
import type { ValueOf, ValuesOf } from "../fields/field.ts"
import type { EventMetadata } from "../events/journal.ts"
import type { Query } from "../lists/query.ts"
import type { Reaction, Reactions } from "../events/react.ts"
import type { References } from "../events/references.ts"
import type { FieldErrors, Rejection, Viewer } from "../fields/rejection.ts"
import type { Composed, Includes, Resource } from "../lists/resource-types.ts"
import type { Failure, Store, StoreRead } from "../store/store.ts"
import type { RowChange, RowOf, Table } from "../tables/table.ts"
import type { TableMigration } from "../store/table-migration.ts"

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/**
 * A path parameter and the row it names. Rows are read before permissions are checked (rules/conventions 1); unknown
 * ids are 404.
 */
export interface Param<T extends Table = Table> {
  readonly table: T
  /** Finds deleted rows too, for restoring them. */
  readonly with_deleted?: boolean
  /** The row must belong to the row another parameter names: its `column` equals that row's id. */
  readonly of?: { readonly param: string; readonly column: string }
  /** Reads only: `run` finds the row with what else it reads, and refuses if it is missing or deleted. */
  readonly found_by_run?: true
}
export type Params = { readonly [name: string]: Param }
type RowsOf<P extends Params> = {
  readonly [K in keyof P]: P[K] extends { readonly found_by_run: true } ? Id : RowOf<P[K]["table"]>
}

/** A file uploaded in a multipart form. Its content is stored separately, by its SHA-256. */
export interface UploadedFile {
  /** The client's file name: any text. */
  readonly name: string
  /** Detected from the content, not from the sender's claim; `application/octet-stream` if unrecognised. */
  readonly mime_type: string
  readonly size_bytes: number
  /** Lower-case hex. */
  readonly sha256: string
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly query: Query
  /** Parsed JSON; undefined if no body was sent. */
  readonly body: Json | undefined
  /** The JSON text of a body of at most 1 MiB: it distinguishes `1.0` from `1`. */
  readonly raw_text?: string
  /** The unparsed body, for endpoints with `raw_body`. */
  readonly raw_bytes?: Uint8Array
  /** Why the body cannot be read. Reported after path and permissions are checked (rules/conventions 1). */
  readonly body_fault?: Rejection
  readonly files?: { readonly [field: string]: UploadedFile }
  /** Unknown parts are refused (`Prefer: handling=strict`, RFC 7240). */
  readonly strict?: boolean
}
/** Content too long to hold in memory. It is opened once the requested range is known. */
interface StreamedContent {
  readonly type: string
  /** Undefined if unknown until the end is reached: it is then sent in full, never as a range. */
  readonly size_bytes: number | undefined
  /** Opens a byte range, or everything without one. Offsets count from 0; `last` is included. */
  readonly open: (range?: {
    readonly first: number
    readonly last: number
  }) => Effect.Effect<Stream.Stream<Uint8Array, unknown>, Rejection>
}
export interface Answer<out A = Json> {
  readonly status: number
  /** A JSON body; absent with 204, `content` or `streamed`. */
  readonly body?: A
  /** A body that is not JSON. */
  readonly content?: { readonly type: string; readonly text: string | Uint8Array }
  /** A streamed file; ranges of it are sent on request. */
  readonly streamed?: StreamedContent
  /** For a body that several callers get: its text, and that text compressed, each made once by the host. */
  readonly shared?: { text?: string | Uint8Array; readonly compressed: Map<string, Promise<Uint8Array | undefined>> }
  readonly headers?: { readonly [name: string]: string }
  /**
   * Marks a refusal that was no attempt to guess a secret, such as a visit without a PIN: it does not count against the
   * caller's address. Never sent.
   */
  readonly no_miss?: true
  /** The result of a write, from which its endpoint can render the response again; never sent. */
  readonly about?: JsonObject
}

/** Values of a body read in mode `create`. */
type CreateValues<F extends Fields> = Partial<ValuesOf<F>> & {
  readonly [K in keyof F as F[K] extends Field<unknown, unknown, true> ? K : never]: ValueOf<F[K]>
}
/** `M`: the HTTP method; with PUT and PATCH, values of fields that were not sent are absent. */
export interface Input<P extends Params = Params, B extends Fields = Fields, M extends Method = "POST"> {
  readonly rows: RowsOf<P>
  /** Path parameters as sent, including those that name no row. */
  readonly params: { readonly [name: string]: string }
  readonly values: M extends "PUT" | "PATCH" ? Partial<ValuesOf<B>> : CreateValues<B>
  /** The body as sent (the query string of a GET), for endpoints that distinguish absent from null. */
  readonly body: JsonObject
  readonly files?: { readonly [field: string]: UploadedFile }
  readonly query: Query
  /** Unknown parts are refused (`Prefer: handling=strict`). */
  readonly strict: boolean
  readonly viewer: Viewer
  readonly settings: Settings
  /** The current instant. */
  readonly now: string
  /** Time of the event, as rules receive it (`DecideContext`). */
  readonly happened_at: string
  /** Resources with the includes that other slices of the catalogue add. */
  readonly composed: Composed
}

/** The usual result of a command: the affected row. */
export interface Id {
  readonly id: number
}
export interface Decision<out R = Id> {
  readonly events: ReadonlyArray<NewEvent>
  /** The result of deciding, from which the response is made, e.g. `{id: 12}`. */
  readonly result: R
}
export type Decided<R = Id> = Result.Result<Decision<R>, Rejection>
/** Names the streams to lock. `body`: the valid values of declared fields, before references are resolved. */
export type Streams = (params: { readonly [name: string]: string }, body: JsonObject) => ReadonlyArray<string>

/** Facts about the caller that are available before the body is read. */
export interface CallerContext<P extends Params = Params> extends Pick<Input<P>, "rows" | "query" | "viewer"> {
  /** The body as sent, unchecked; absent for long bodies, which are only read once authorized. */
  readonly sent?: unknown
}
export type ErrorAnswers = { readonly [status: number]: AnswerShown | null }
/** The error body, unless `error_answers` declares another. */
export interface ErrorBody {
  readonly message: string
  readonly errors?: { readonly [field: string]: ReadonlyArray<string> }
}
export type RefusalShown<X extends ErrorAnswers> = RefusalOf<X[keyof X]>
type RefusalOf<S> = S extends null ? ErrorBody : BodyShown<S>

/** Options shared by reads and writes. */
export interface Common<P extends Params, B extends Fields> {
  /** `products.index`, `opportunities.convert_to_order`: the route's name, the command's name, the verb in the CLI. */
  readonly name: string
  readonly method: Method
  readonly path: string
  readonly summary: string
  /** Token ability; one of a list is enough; null if every token may call it. */
  readonly ability: string | ReadonlyArray<string> | null
  readonly permission: string | ReadonlyArray<string> | null
  /** Units that one call costs in metering (rules/conventions 16). */
  readonly metering_weight: number
  readonly params: P
  /** Fields of the body; with GET, of the query string. */
  readonly fields: B
  /** `create` requires fields and applies defaults; `update`, the default for PUT and PATCH, keeps absent ones. */
  readonly mode: "create" | "update"
  /** Never decided on a device: it needs the server's document numbers, mail or tokens. */
  readonly server_only: boolean
  /** Ends or erases something for good, so that the command line confirms it; by default every DELETE. */
  readonly destructive: boolean
  /** Callable without a token: health, signed links. The viewer is then user 0. */
  readonly public: boolean
  /** Query parameters read in addition to a body. */
  readonly query: Fields
  /** Public endpoints only, such as health: no limit on failed tries by address, and no settings are read. */
  readonly unlimited: boolean
  /** Maximum body length in bytes; by default the server's limit for JSON. */
  readonly body_max: number | undefined
  /** A check of the caller besides permission and ability; like these it runs before a long body is read. */
  readonly authorize: ((caller: CallerContext<P>) => Effect.Effect<void, Failure, Store | CommandRuntime>) | undefined
  /** Accepts multipart/form-data with files as well as JSON. */
  readonly uploads: boolean
  /** Receives the unparsed body, of any type, because its sender signed the bytes. */
  readonly raw_body: boolean
  /** Maximum length of an uploaded file, in bytes. */
  readonly upload_bytes_max: number
  /** Status of a successful response, if not the default: 204 for a delete, 201 for a create, else 200. */
  readonly success_status: number | undefined
  /** Body of a successful answer; undefined if there is none. */
  readonly answer: Part | undefined
  /** Further statuses of refusals, and their bodies if these differ from the usual error. */
  readonly error_answers: { readonly [status: number]: Part | null }
  /** Extra response headers, with descriptions. */
  readonly answer_headers: { readonly [name: string]: string }
  /** Content type of the answer, if not JSON; with `answer`, what callers may ask for instead. */
  readonly produces: string | undefined
  /** Fields that belong together: if one is sent, omitting the others has its own meaning. */
  readonly together: ReadonlyArray<ReadonlyArray<string>>
  /** Fields whose rows `run` looks up itself with what else it reads, and refuses as unknown references. */
  readonly finds: ReadonlyArray<string>
  /** Reads history instead of current rows: of everything, or of the row that a parameter names. */
  readonly reads_history: ("everything" | { readonly of: string }) | undefined
  /**
   * Commands only: fields that a device fills in when recording, each from a column of the path's last row. They record
   * what the user saw, as others may change the row before the server decides.
   */
  readonly seen: { readonly [field: string]: string }
  /** Commands only: the list or quantity by which a refused command is split: one part is accepted, the rest resent. */
  readonly split_by: string | undefined
  /** Commands only: finds rows to use instead of the one in the body that caused the refusal. */
  readonly alternatives: Alternatives | undefined
  /** Constraints between fields (dates in order, one of two given); reported together with the errors of each field. */
  readonly check: ((values: JsonObject, body: JsonObject) => FieldErrors) | undefined
}
/** A row that may replace another. */
export interface Alternative {
  readonly id: number
  readonly name: string
  readonly location: string | null
}
/** The row that caused a refusal. `field`: its dotted path in the body. */
export interface RefusedReference {
  readonly id: number
  readonly field: string
  readonly params: { readonly [name: string]: string }
  readonly body: JsonObject
}
/** Calls another endpoint with the caller's permissions; undefined if it is refused. */
export type AskEndpoint = (
  path: string,
  query?: ReadonlyArray<readonly [string, string]>
) => Effect.Effect<JsonObject | undefined>
export interface Alternatives {
  /** Name of the replaceable reference, anywhere in the body: `stock_level_id`. */
  readonly field: string
  /** The message if there is no alternative. */
  readonly none: string
  readonly find: (refused: RefusedReference, ask: AskEndpoint) => Effect.Effect<ReadonlyArray<Alternative>>
}
/** `A`: the response body. */
export interface QueryEndpoint<P extends Params = Params, B extends Fields = Fields, A = Json> extends Common<P, B> {
  readonly kind: "query"
  readonly run: (input: Input<P, B>) => Effect.Effect<Answer<A>, Failure, Store | CommandRuntime>
}
/** `F`: facts; `R`: the result of deciding; `A`: the response body. */
export interface CommandEndpoint<
  P extends Params = Params,
  B extends Fields = Fields,
  F = unknown,
  R = JsonObject,
  A = Json,
  M extends Method = Method
> extends Common<P, B> {
  readonly kind: "command"
  /** Schema of the result that `decide` passes to `respond`; stored results are decoded by it. */
  readonly result: Schema.Codec<R>
  /** Streams to lock; by default that of the path's first row. */
  readonly streams: Streams | undefined
  /** Tables in which the command always creates a row: one id of each is allocated before deciding. */
  readonly creates: ReadonlyArray<Table>
  /** How many ids it probably needs: the server allocates them first, so that a long rule runs once. */
  readonly expects: ((facts: F, input: Input<P, B, M>) => ReadonlyArray<readonly [Table, number]>) | undefined
  /** Facts for the rule, read inside the transaction. */
  readonly facts: (input: Input<P, B, M>) => Effect.Effect<F, Failure, Store | CommandRuntime>
  readonly decide: (facts: F, input: Input<P, B, M>, context: DecideContext) => Decided<R>
  readonly respond: (result: R, input: Input<P, B, M>) => StoreRead<Answer<A>>
}
// Any endpoint: lists hold endpoints of all types; each was type-checked where it was declared.
export type Endpoint = Held<QueryEndpoint<any, any, any>> | Held<CommandEndpoint<any, any, any, any, any, any>>
type Held<E> = Omit<E, "params" | "fields"> & { readonly params: Params; readonly fields: Fields }

/** A permission, `area.action`. Roles and users hold permissions by key. */
export interface Permission {
  readonly key: string
  readonly area: string
  readonly action: string
}
/**
 * Events that a later release adds to an existing database, built from its rows. They are recorded once; a seed that
 * yields no events is tried again at the next start.
 */
export type LaterSeed = (at: string) => StoreRead<ReadonlyArray<NewEvent>>

export interface Slice {
  readonly name: string
  /** Permissions that its endpoints require and roles can have. */
  readonly permissions?: ReadonlyArray<Permission>
  /** Tables projected from the journal; every replica has them. */
  readonly tables?: ReadonlyArray<Table>
  /** Tables outside the journal, on the server only. */
  readonly server_tables?: ReadonlyArray<Table>
  /** Migrations of its server tables from earlier releases. */
  readonly migrations?: ReadonlyArray<TableMigration>
  /** All event types that the slice records. */
  readonly events?: ReadonlyArray<AnyEventType>
  /** Projections of other slices' events into its own tables. */
  readonly follows?: ReadonlyArray<Follower>
  readonly endpoints?: ReadonlyArray<Endpoint>
  /** Path aliases, by the original path; they apply to all paths below it, too. */
  readonly path_aliases?: { readonly [path: string]: ReadonlyArray<string> }
  readonly resources?: ReadonlyArray<Resource>
  readonly settings?: SettingGroups
  /** Events for a database without this slice: reference data, no customer data. Rows have fixed, small ids. */
  readonly seed?: (at: string) => ReadonlyArray<NewEvent>
  /** Seeds added by releases after the first, in order; existing databases get them at the next start. */
  readonly later_seeds?: ReadonlyArray<LaterSeed>
  /** Reactions to events of other slices, in the same transaction. */
  readonly react?: ReadonlyArray<Reaction>
  /** Includes that this slice adds to other slices' resources, by plural: its rows that refer to theirs. */
  readonly includes?: { readonly [resource: string]: Includes }
  /** Streams of its rows with a user's text, such as names of tokens: scrubbed when that user is anonymised. */
  readonly streams_of_user?: (user_id: number) => StoreRead<ReadonlyArray<string>>
}

export interface Catalogue {
  /** The catalogue of the slices loaded so far: itself, if all are. */
  readonly loaded: Catalogue
  /** The catalogue of all slices, which are loaded for it. */
  readonly whole: Catalogue
  readonly slices: ReadonlyArray<Slice>
  readonly tables: ReadonlyArray<Table>
  readonly server_tables: ReadonlyArray<Table>
  readonly table: (name: string) => Table
  /** Every event type of this release, by name. */
  readonly events: ReadonlyMap<string, AnyEventType>
  readonly projection: Projection
  readonly endpoints: ReadonlyArray<Endpoint>
  readonly endpoint: (name: string) => Endpoint | undefined
  /** All paths of an endpoint, its declared one first. */
  readonly pathsOf: (endpoint: Endpoint) => ReadonlyArray<string>
  /** Resources with the includes of other slices. */
  readonly resources: ReadonlyArray<Resource>
  readonly composed: Composed
  readonly settings: SettingGroups
  /** All permissions that roles can have. */
  readonly permissions: ReadonlyArray<Permission>
  readonly scrubs: Scrubs
  readonly reactions: Reactions
  /** References, by the table they point to. */
  readonly references: References
}

/** Encryption of texts with a key that only the server has, so that the database alone does not reveal them. */
export interface SecretBox {
  /** Encrypts; equal texts give different results. */
  readonly seal: (text: string) => string
  /** Decrypts; undefined if the text was encrypted with another key or for another purpose, or was altered. */
  readonly open: (sealed: string) => string | undefined
}

/** Where commands are decided: finally on the server, provisionally on a replica. */
interface CommandRuntimeShape {
  readonly role: "server" | "replica"
  readonly catalogue: Catalogue
  /** A new command id (UUID v7). */
  readonly commandId: Effect.Effect<string>
  /** Fresh ids of a table, inside the transaction. A replica out of leased ids refuses. */
  readonly allocateIds: (
    table: string,
    count: number
  ) => Effect.Effect<ReadonlyArray<number>, Rejection | SqlError.SqlError, Store>
  /** The next id of a table, if it is known without asking a database, as on replicas. */
  readonly nextId?: (table: string) => number | undefined
  /** Gives back allocated ids that were not used; no effect on Postgres. */
  readonly releaseIds: (table: string, ids: ReadonlyArray<number>) => Effect.Effect<void, SqlError.SqlError, Store>
  /** The next number of a document sequence, without gaps; null on replicas, which assign no numbers. */
  readonly nextNumber: (sequence: string) => Effect.Effect<number | null, SqlError.SqlError, Store>
  /** Applies the row changes of events that {@link append} then records. */
  readonly project: (changes: ReadonlyArray<RowChange>) => Effect.Effect<void, SqlError.SqlError, Store>
  /** Appends projected events; call it last, as on Postgres others wait until the commit, which `is_last` may add. */
  readonly append: (
    events: ReadonlyArray<NewEvent>,
    metadata: EventMetadata,
    is_last?: boolean
  ) => Effect.Effect<ReadonlyArray<StoredEvent>, Rejection | SqlError.SqlError, Store>
  readonly settings: Effect.Effect<Settings, SqlError.SqlError, Store>
  /** The server's public address; on a replica, as it was at registration. */
  readonly public_url?: () => string
  /** Encryption of secret settings; on a server only. */
  readonly secrets?: SecretBox
  /**
   * Receives every row change before it is recorded, and refuses rows that name missing files. Without it files are not
   * checked: a replica uploads its files with its commands.
   */
  readonly filesNamed?: (changes: ReadonlyArray<RowChange>) => Effect.Effect<void, Failure, Store>
  /** The signed URL of a file, valid for 60 minutes from `now`; undefined without a server to open it. */
  readonly file_url?: (uuid: string, now: string) => string
}

export class CommandRuntime extends Context.Service<CommandRuntime, CommandRuntimeShape>()("flightcase/core/Site") {
  /** For reads that run with or without a runtime; undefined without one. */
  static readonly ifAny = Effect.map(Effect.serviceOption(CommandRuntime), Option.getOrUndefined)
}
export declare namespace CommandRuntime {
  type Reads<A> = Effect.fn.Return<A, Failure, Store | CommandRuntime>
}
