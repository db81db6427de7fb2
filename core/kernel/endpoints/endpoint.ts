/**
 * The endpoint table: every way to ask for something, as rows. Routes, OpenAPI, the endpoint catalogue, the command
 * line's nouns and the commands a replica keeps all derive from these rows.
 */
import { type Effect, Schema } from "effect"
import { answerSchema, mayIgnore } from "../lists/answer-schema.ts"
import type { DecideContext } from "../events/settings.ts"
import type {
  Answer,
  CommandEndpoint,
  CommandRuntime,
  Common,
  Decided,
  Endpoint,
  ErrorAnswers,
  Id,
  Input,
  Method,
  Params,
  QueryEndpoint,
  RefusalShown,
  Streams
} from "./endpoint-types.ts"
import { upload_bytes_max } from "../fields/body-limits.ts"
import type { Failure, StoreRead } from "../store/failure.ts"
import type { Fields } from "../fields/field.ts"
import { wholeNumber } from "../tables/field-schema.ts"
import { type AnswerShown, type BodyShown, typed } from "../fields/shown.ts"
import type { Store } from "../store/store.ts"
import type { Table } from "../tables/table.ts"

export type { DecideContext } from "../events/settings.ts"
export type * from "./endpoint-types.ts"
export type { Failure, StoreRead } from "../store/failure.ts"

const idResult: Schema.Codec<Id> = Schema.suspend(() => Schema.Struct({ id: wholeNumber }))

type Draft<P extends Params, B extends Fields, A extends AnswerShown, X extends ErrorAnswers> = Pick<
  Common<P, B>,
  Always
> &
  Partial<Omit<Common<P, B>, Always | Derived>> & { readonly answer?: A; readonly error_answers?: X }
type Always = "name" | "summary" | "ability" | "permission"
type Derived = "method" | "path" | "answer" | "error_answers"
/**
 * Options shared by several declarations: `const open = { … } as const satisfies SharedDraft`. It catches misspelt
 * keys, which spreading would not.
 */
export type SharedDraft = Partial<Draft<Params, Fields, AnswerShown, ErrorAnswers>>
const defaults: Omit<Common<Params, Fields>, Always | Derived | "params" | "fields" | "mode"> = {
  metering_weight: 1,
  server_only: false,
  public: false,
  query: {},
  unlimited: false,
  body_max: undefined,
  authorize: undefined,
  uploads: false,
  raw_body: false,
  upload_bytes_max,
  success_status: undefined,
  answer_headers: {},
  produces: undefined,
  check: undefined,
  together: [],
  reads_history: undefined,
  seen: {},
  split_by: undefined,
  alternatives: undefined
}
const common = <P extends Params, B extends Fields>(
  method: Method,
  path: string,
  { answer, error_answers = {}, ...draft }: Draft<P, B, AnswerShown, ErrorAnswers>
): Common<P, B> => ({
  ...defaults,
  params: {} as P,
  fields: {} as B,
  mode: method === "PUT" || method === "PATCH" ? "update" : "create",
  ...draft,
  method,
  path,
  answer: answer === undefined ? undefined : mayIgnore(answerSchema(answer)),
  error_answers: refusalsOf(error_answers)
})
const refusalsOf = (refuses: ErrorAnswers): Common<Params, Fields>["error_answers"] =>
  Object.fromEntries(
    Object.entries(refuses).map(([status, shown]) => [status, shown === null ? null : answerSchema(shown)])
  )

/** The response: the successful answer, or one of the declared refusals. */
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
  /** Result that deciding passes to `respond`; by default the id of a row. */
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
  result: draft.result ?? typed<Schema.Codec<R>>(idResult),
  facts: draft.facts,
  decide: draft.decide,
  respond: draft.respond
})

/** The resource and the operation that a route name consists of: `lamps.index` → lamps, index. */
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
  [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => name ?? [])
