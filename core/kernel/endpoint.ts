/**
 * The endpoint table: every way to ask for something, as rows. Routes, OpenAPI, the endpoint catalogue, the command
 * line's nouns and the commands a replica keeps all derive from these rows.
 */
import { type Effect, type Result, Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { NewEvent } from "./event.ts"
import type { Fields, ValuesOf } from "./field.ts"
import type { Json, JsonObject } from "./json.ts"
import type { Query } from "./query.ts"
import type { FieldErrors, Rejection } from "./rejection.ts"
import type { Settings } from "./settings.ts"
import { wholeNumber } from "./field-schema.ts"
import { answerSchema, type AnswerShown, type BodyShown, type Part } from "./answer-schema.ts"
import type { CommandRuntime } from "./command-runtime.ts"
import type { Store } from "./store/store.ts"
import type { RowOf, Table } from "./table.ts"
import type { Viewer } from "./viewer.ts"

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** A path parameter: the row it names, looked up before permissions are (rules/conventions 1); unknown ids are 404. */
export interface Param<T extends Table = Table> {
  readonly table: T
  /** Deleted rows are found too (restore). */
  readonly with_deleted?: boolean
  /** The row must belong to the row another parameter names: its `column` equals that row's id. */
  readonly of?: { readonly param: string; readonly column: string }
}
export type Params = { readonly [name: string]: Param }
export type RowsOf<P extends Params> = { readonly [K in keyof P]: RowOf<P[K]["table"]> }

/** A file sent with a form; its fields arrive as the body. */
export interface UploadedFile {
  readonly name: string
  readonly type: string
  readonly bytes: Uint8Array
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly query: Query
  /** Parsed JSON, or undefined when nothing was sent. */
  readonly body: Json | undefined
  /** The JSON text the body was read from, where it came as one: it tells `1.0` from `1`. */
  readonly raw_text?: string
  /**
   * What is wrong with the body as it came; told once path and permissions have had their say (rules/conventions 1).
   */
  readonly body_fault?: Rejection
  readonly files?: { readonly [field: string]: UploadedFile }
}
export interface Answer<out A = Json> {
  readonly status: number
  /** A JSON body; absent on 204. */
  readonly body?: A
  /** Anything but JSON. */
  readonly content?: { readonly type: string; readonly text: string | Uint8Array }
  readonly headers?: { readonly [name: string]: string }
  /** What a write came to, from which its endpoint can answer again; never part of what is sent. */
  readonly about?: JsonObject
}

export interface Input<P extends Params = Params, B extends Fields = Fields> {
  readonly rows: RowsOf<P>
  /** Path parameters as given, those that name no row included. */
  readonly params: { readonly [name: string]: string }
  readonly values: Partial<ValuesOf<B>>
  /** The body as sent, for the few who must tell absent from null. */
  readonly body: JsonObject
  readonly files?: { readonly [field: string]: UploadedFile }
  readonly query: Query
  readonly viewer: Viewer
  readonly settings: Settings
  /** The present instant. */
  readonly now: string
}

/** What deciding may use: no clock, no chance, no reads. */
export interface DecideContext {
  readonly now: string
  readonly viewer: Viewer
  readonly settings: Settings
  /** The next id of an entity's table: drawn before deciding, the same again when a command is decided anew. */
  readonly id: (table: Table) => number
  /** The next number of a document sequence; null offline, where only the server numbers. */
  readonly number: (sequence: string) => number | null
}
/** What most commands come to: the row they are about. */
export interface Id {
  readonly id: number
}
export interface Decision<out R = Id> {
  readonly events: ReadonlyArray<NewEvent>
  /** What the answer is about, e.g. `{id: 12}`. */
  readonly result: R
}
export type Decided<R = Id> = Result.Result<Decision<R>, Rejection>
/** The Schema of a result that is the id of a row. */
export const idResult: Schema.Codec<Id> = Schema.suspend(() => Schema.Struct({ id: wholeNumber }))

export type Failure = Rejection | SqlError.SqlError
export type StoreRead<A> = Effect.Effect<A, Failure, Store>

/** `body`: the values of declared fields that hold, not yet looked up. */
export type Streams = (params: { readonly [name: string]: string }, body: JsonObject) => ReadonlyArray<string>

/** Who asks, as far as it is known without the body. */
export type CallerContext<P extends Params = Params> = Pick<Input<P>, "rows" | "query" | "viewer">
export type ErrorAnswers = { readonly [status: number]: AnswerShown | null }
/** The body of a refusal as every endpoint gives it. */
export interface ErrorBody {
  readonly message: string
  readonly errors?: { readonly [field: string]: ReadonlyArray<string> }
}
type RefusalShown<X extends ErrorAnswers> = RefusalOf<X[keyof X]>
type RefusalOf<S> = S extends null ? ErrorBody : BodyShown<S>

interface Common<P extends Params, B extends Fields> {
  /** `products.index`, `opportunities.convert_to_order`: the route's name, the command's name, the verb in the CLI. */
  readonly name: string
  readonly method: Method
  readonly path: string
  readonly summary: string
  /** Token ability; of several, any one will do; null when every token may. */
  readonly ability: string | ReadonlyArray<string> | null
  readonly permission: string | ReadonlyArray<string> | null
  /** What one call counts in metering (rules/conventions 16). */
  readonly metering_weight: number
  readonly params: P
  /** Fields of the body (writes) or of the query string (reads). */
  readonly fields: B
  /** Writes only: is null in a body an absent value (create) or a kept one (update)? */
  readonly mode: "create" | "update"
  /** Answers only where the server is: numbers, mail, tokens. */
  readonly server_only: boolean
  /** Answers without a token: health, signed links. Its viewer is nobody (user 0). */
  readonly public: boolean
  /** Public ones only: answered however often an address asked in vain, and without a look at the settings: health. */
  readonly unlimited: boolean
  /** The longest body it takes, in bytes; without it what the server takes of JSON. */
  readonly body_max: number | undefined
  /** What else whoever asks must be, beside permission and ability; like these it is looked at before a long body is read. */
  readonly authorize: ((caller: CallerContext<P>) => Effect.Effect<void, Failure, Store | CommandRuntime>) | undefined
  /** Takes a form with files (multipart/form-data) as well as JSON. */
  readonly uploads: boolean
  /** The status of a good answer where its name says otherwise: 204 for a delete, 201 for a create, else 200. */
  readonly success_status: number | undefined
  /** What a good answer holds; undefined where it has no body. */
  readonly answer: Part | undefined
  /** Statuses it refuses with beside those its kind of endpoint does, and what such a refusal holds where that is no error as usual. */
  readonly error_answers: { readonly [status: number]: Part | null }
  /** Headers of its answers beside those of every answer, and what each says. */
  readonly answer_headers: { readonly [name: string]: string }
  /** What it answers in, where that is not JSON. */
  readonly produces: string | undefined
  /** Fields that mean something together only: where one of them is given, the absence of the others says something else. */
  readonly together: ReadonlyArray<ReadonlyArray<string>>
  /** Reads what happened, not what is: of everything, or of the one row that a parameter names. */
  readonly reads_history: History | undefined
  /** Commands only: the field by which a refused one is split, a list or a quantity: part of it holds, the rest is sent again. */
  readonly split_by: string | undefined
  /** Commands only: other rows that may take the place of one its body names and was refused for. */
  readonly alternatives: Alternatives | undefined
  /** What fields must be to each other (dates in order, one of two given): told together with what is wrong with each. */
  readonly check: ((values: JsonObject, body: JsonObject) => FieldErrors) | undefined
}
/** A row that may take the place of another. */
export interface Alternative {
  readonly id: number
  readonly name: string
  readonly location: string | null
}
/** A command that was refused for the row that `field` (dotted) of its body names. */
export interface RefusedReference {
  readonly id: number
  readonly field: string
  readonly params: { readonly [name: string]: string }
  readonly body: JsonObject
}
/** Asks another endpoint, with the permissions of whoever asks; undefined where it refuses. */
export type AskEndpoint = (
  path: string,
  query?: ReadonlyArray<readonly [string, string]>
) => Effect.Effect<JsonObject | undefined>
export interface Alternatives {
  /** The reference that can be replaced, wherever in the body it stands: `stock_level_id`. */
  readonly field: string
  /** The refusal where there is none. */
  readonly none: string
  readonly find: (refused: RefusedReference, ask: AskEndpoint) => Effect.Effect<ReadonlyArray<Alternative>>
}
/** Of everything that happened, or of the row one of the parameters names. */
export type History = "everything" | { readonly of: string }
/** `A`: the body of its answers. */
export interface QueryEndpoint<P extends Params = Params, B extends Fields = Fields, A = Json> extends Common<P, B> {
  readonly kind: "query"
  readonly run: (input: Input<P, B>) => Effect.Effect<Answer<A>, Failure, Store | CommandRuntime>
}
/** `F`: its facts; `R`: its result; `A`: the body of its answers. */
export interface CommandEndpoint<
  P extends Params = Params,
  B extends Fields = Fields,
  F = unknown,
  R = JsonObject,
  A = Json
> extends Common<P, B> {
  readonly kind: "command"
  /** What deciding gives its answer; results that were stored are read by it. */
  readonly result: Schema.Codec<R>
  /** The streams whose writers wait for each other; by default that of the first row in the path. */
  readonly streams: Streams | undefined
  /** Tables that one of these commands surely makes a row in: an id is drawn before deciding. */
  readonly creates: ReadonlyArray<Table>
  /** What the rules must know, read inside the transaction. */
  readonly facts: (input: Input<P, B>) => Effect.Effect<F, Failure, Store | CommandRuntime>
  readonly decide: (facts: F, input: Input<P, B>, context: DecideContext) => Decided<R>
  readonly respond: (result: R, input: Input<P, B>) => StoreRead<Answer<A>>
}
// Endpoints of any parameters and body live in one list; each was checked against its own types when it was declared.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Endpoint = QueryEndpoint<any, any, any> | CommandEndpoint<any, any, any, any, any>

type Draft<P extends Params, B extends Fields, A extends AnswerShown, X extends ErrorAnswers> = {
  readonly name: string
  readonly summary: string
  readonly ability: string | ReadonlyArray<string> | null
  readonly permission: string | ReadonlyArray<string> | null
  readonly metering_weight?: number
  readonly params?: P
  readonly fields?: B
  readonly mode?: "create" | "update"
  readonly server_only?: boolean
  readonly public?: boolean
  readonly unlimited?: boolean
  readonly body_max?: number
  readonly authorize?: (caller: CallerContext<P>) => Effect.Effect<void, Failure, Store | CommandRuntime>
  readonly uploads?: boolean
  readonly success_status?: number
  readonly answer?: A
  readonly error_answers?: X
  readonly answer_headers?: { readonly [name: string]: string }
  readonly produces?: string
  readonly together?: ReadonlyArray<ReadonlyArray<string>>
  readonly reads_history?: History
  readonly split_by?: string
  readonly alternatives?: Alternatives
  readonly check?: (values: JsonObject, body: JsonObject) => FieldErrors
}
const common = <P extends Params, B extends Fields>(
  method: Method,
  path: string,
  draft: Draft<P, B, AnswerShown, ErrorAnswers>
): Common<P, B> => ({
  name: draft.name,
  method,
  path,
  summary: draft.summary,
  ability: draft.ability,
  permission: draft.permission,
  metering_weight: draft.metering_weight ?? 1,
  params: draft.params ?? ({} as P),
  fields: draft.fields ?? ({} as B),
  mode: draft.mode ?? (method === "PUT" || method === "PATCH" ? "update" : "create"),
  server_only: draft.server_only ?? false,
  public: draft.public ?? false,
  unlimited: draft.unlimited ?? false,
  body_max: draft.body_max,
  authorize: draft.authorize,
  uploads: draft.uploads ?? false,
  success_status: draft.success_status,
  answer: draft.answer === undefined ? undefined : answerSchema(draft.answer),
  error_answers: refusalsOf(draft.error_answers ?? {}),
  answer_headers: draft.answer_headers ?? {},
  produces: draft.produces,
  check: draft.check,
  together: draft.together ?? [],
  reads_history: draft.reads_history,
  split_by: draft.split_by,
  alternatives: draft.alternatives
})
const refusalsOf = (refuses: ErrorAnswers): Common<Params, Fields>["error_answers"] =>
  Object.fromEntries(
    Object.entries(refuses).map(([status, shown]) => [status, shown === null ? null : answerSchema(shown)])
  )

/** What it answers with: its good answer, or one of the refusals it declares. */
type Answered<A extends AnswerShown, X extends ErrorAnswers> = Answer<BodyShown<A>> | Answer<RefusalShown<X>>
type Read<P extends Params, B extends Fields, A extends AnswerShown, X extends ErrorAnswers> = Draft<P, B, A, X> & {
  readonly run: (input: Input<P, B>) => Effect.Effect<NoInfer<Answered<A, X>>, Failure, Store | CommandRuntime>
}
type ReadEndpoint<P extends Params, B extends Fields, A extends AnswerShown, X extends ErrorAnswers> = QueryEndpoint<
  P,
  B,
  BodyShown<A> | RefusalShown<X>
>

/** A read: `get("/api/v1/availability", { name, summary, ability, permission, run })`. */
export const get = <
  const P extends Params = {},
  const B extends Fields = {},
  const A extends AnswerShown = never,
  const X extends ErrorAnswers = {}
>(
  path: string,
  draft: Read<P, B, A, X>
): ReadEndpoint<P, B, A, X> => ({ ...common("GET", path, draft), kind: "query", run: draft.run })

/** A read with a body (calculations): it writes nothing, needs no transaction and leaves no trace. */
export const postQuery = <
  const P extends Params = {},
  const B extends Fields = {},
  const A extends AnswerShown = never,
  const X extends ErrorAnswers = {}
>(
  path: string,
  draft: Read<P, B, A, X>
): ReadEndpoint<P, B, A, X> => ({ ...common("POST", path, draft), kind: "query", run: draft.run })

type CommandDraft<P extends Params, B extends Fields, F, R, A extends AnswerShown, X extends ErrorAnswers> = Draft<
  P,
  B,
  A,
  X
> & {
  readonly streams?: Streams
  readonly creates?: ReadonlyArray<Table>
  /** What deciding gives `respond`; without it the id of a row. */
  readonly result?: Schema.Codec<R>
  readonly facts: (input: Input<P, B>) => Effect.Effect<F, Failure, Store | CommandRuntime>
  readonly decide: (facts: F, input: Input<P, B>, context: DecideContext) => Decided<NoInfer<R>>
  readonly respond: (result: NoInfer<R>, input: Input<P, B>) => StoreRead<NoInfer<Answered<A, X>>>
}
/** A write: `command("POST", "/api/v1/products/{id}/merge", { …, facts, decide, respond })`. */
export const command = <
  const P extends Params = {},
  const B extends Fields = {},
  F = unknown,
  R = Id,
  const A extends AnswerShown = never,
  const X extends ErrorAnswers = {}
>(
  method: Exclude<Method, "GET">,
  path: string,
  draft: CommandDraft<P, B, F, R, A, X>
): CommandEndpoint<P, B, F, R, BodyShown<A> | RefusalShown<X>> => ({
  ...common(method, path, draft),
  kind: "command",
  streams: draft.streams,
  creates: draft.creates ?? [],
  // Without one R is Id, its default.
  result: draft.result ?? (idResult as unknown as Schema.Codec<R>),
  facts: draft.facts,
  decide: draft.decide,
  respond: draft.respond
})

/** The resource and the operation a route name stands for: `products.index` → products, index. */
export const resourceOf = (endpoint: { readonly name: string }): string =>
  endpoint.name.slice(0, endpoint.name.lastIndexOf("."))
export const operationOf = (endpoint: { readonly name: string }): string =>
  endpoint.name.slice(endpoint.name.lastIndexOf(".") + 1)
/** The status of a good answer: as declared, or as its name says. */
export const statusOfAnswer = (endpoint: Endpoint): number => {
  if (endpoint.success_status !== undefined) return endpoint.success_status
  if (endpoint.method === "DELETE") return 204
  return endpoint.method === "POST" && endpoint.kind === "command" && operationOf(endpoint) === "create" ? 201 : 200
}
/** The names of the parameters in a path, in order. */
export const paramNames = (path: string): ReadonlyArray<string> =>
  [...path.matchAll(/\{(\w+)\}/g)].map((found) => found[1]!)
