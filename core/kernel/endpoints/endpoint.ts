/**
 * Declares endpoints. Routes, OpenAPI, the endpoint catalogue, the nouns of the command line and the commands that a
 * replica keeps derive from these declarations.
 */
import { mapValues } from "../../values/text.ts"
import { Effect, Schema } from "effect"
import type { Reaction, Reactions } from "../events/react.ts"
import { answerSchema, inCatalogue, mayIgnore } from "../lists/answer-schema.ts"
import type { DecideContext } from "../events/settings.ts"
import {
  type Answer,
  type Catalogue,
  type CommandEndpoint,
  CommandRuntime,
  type Common,
  type Decided,
  type Endpoint,
  type ErrorAnswers,
  type Id,
  type Input,
  type Method,
  type Params,
  type Permission,
  type QueryEndpoint,
  type RefusalShown,
  type Slice,
  type Streams
} from "./endpoint-types.ts"
import { upload_bytes_max } from "../fields/input.ts"
import { type AnswerShown, type BodyShown, type Fields, type JsonObject, typed } from "../fields/field.ts"
import { wholeNumber } from "../tables/field-schema.ts"
import type { Failure, Store, StoreRead } from "../store/store.ts"
import type { Table } from "../tables/table.ts"
import { changesOf, decodeData } from "../events/event-type.ts"
import type { AnyEventType, NewEvent, Projection, ProjectionContext, Projector } from "../events/event-type.ts"
import { type EventMetadata, rowsToldEvent } from "../events/journal.ts"
import { clearableTables, referenceClearedEvent, referencesOf, withReferences } from "../events/references.ts"
import { as_declared, type Composed, type Includes, type Resource } from "../lists/resource-types.ts"

export type { DecideContext } from "../events/settings.ts"
export type * from "./endpoint-types.ts"
export type { Failure, StoreRead } from "../store/store.ts"

const idResult: Schema.Codec<Id> = Schema.suspend(() => Schema.Struct({ id: wholeNumber }))

type Draft<P extends Params, B extends Fields, A extends AnswerShown, X extends ErrorAnswers> = Pick<
  Common<P, B>,
  Always
> &
  Partial<Omit<Common<P, B>, Always | Derived>> & { readonly answer?: A; readonly error_answers?: X }
type Always = "name" | "summary" | "ability" | "permission"
type Derived = "method" | "path" | "answer" | "error_answers"
/**
 * Options shared by several declarations: `const open = { … } as const satisfies SharedDraft`, which catches misspelt
 * keys; spreading would not.
 */
export type SharedDraft = Partial<Draft<Params, Fields, AnswerShown, ErrorAnswers>>
const defaults: Omit<Common<Params, Fields>, Always | Derived | "params" | "fields" | "mode" | "destructive"> = {
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
  finds: [],
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
  destructive: method === "DELETE",
  ...draft,
  method,
  path,
  answer: answer === undefined ? undefined : mayIgnore(answerSchema(answer)),
  error_answers: mapValues(error_answers, (shown) => (shown === null ? null : answerSchema(shown)))
})

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

/** A read with a body (calculations): it writes nothing and needs no transaction. */
export const postQuery = <
  const P extends Params = {},
  const B extends Fields = {},
  const A extends AnswerShown = never,
  const X extends ErrorAnswers = {}
>(
  path: string,
  draft: Read<P, B, A, X>
): ReadEndpoint<P, B, A, X> => ({ ...common("POST", path, draft), kind: "query", run: draft.run })

type CommandDraft<
  P extends Params,
  B extends Fields,
  F,
  R,
  A extends AnswerShown,
  X extends ErrorAnswers,
  M extends Method
> = Draft<P, B, A, X> & {
  readonly streams?: Streams
  readonly creates?: ReadonlyArray<Table>
  readonly expects?: (facts: F, input: Input<P, B, NoInfer<M>>) => ReadonlyArray<readonly [Table, number]>
  /** Schema of the result that `decide` passes to `respond`; by default the id of a row. */
  readonly result?: Schema.Codec<R>
  readonly facts: (input: Input<P, B, NoInfer<M>>) => Effect.Effect<F, Failure, Store | CommandRuntime>
  readonly decide: (facts: F, input: Input<P, B, NoInfer<M>>, context: DecideContext) => Decided<NoInfer<R>>
  readonly respond: (result: NoInfer<R>, input: Input<P, B, NoInfer<M>>) => StoreRead<NoInfer<Answered<A, X>>>
}
/** A write: `command("POST", "/api/v1/products/{id}/merge", { …, facts, decide, respond })`. */
export const command = <
  const P extends Params = {},
  const B extends Fields = {},
  F = unknown,
  R = Id,
  const A extends AnswerShown = never,
  const X extends ErrorAnswers = {},
  M extends Exclude<Method, "GET"> = Exclude<Method, "GET">
>(
  method: M,
  path: string,
  draft: CommandDraft<P, B, F, R, A, X, M>
): CommandEndpoint<P, B, F, R, BodyShown<A> | RefusalShown<X>, M> => ({
  ...common(method, path, draft),
  kind: "command",
  streams: draft.streams,
  creates: draft.creates ?? [],
  expects: draft.expects,
  // R defaults to Id, so `idResult` has the right type.
  result: draft.result ?? typed<Schema.Codec<R>>(idResult),
  facts: draft.facts,
  decide: draft.decide,
  respond: draft.respond
})

/** The resource in a route name: `lamps` in `lamps.index`; the operation is the part after the dot. */
export const resourceOf = (endpoint: { readonly name: string }): string =>
  endpoint.name.slice(0, endpoint.name.lastIndexOf("."))
export const operationOf = (endpoint: { readonly name: string }): string =>
  endpoint.name.slice(endpoint.name.lastIndexOf(".") + 1)
/** Names of the path parameters, in order. */
export const paramNames = (path: string): ReadonlyArray<string> =>
  [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => name ?? [])

// Where commands are decided: `CommandRuntime` is declared in `endpoint-types.ts`, as it has the catalogue of
// endpoints.

export { CommandRuntime, type SecretBox } from "./endpoint-types.ts"

/** Projects events into the tables and appends them to the journal. */
export const appendEvents = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>, metadata: EventMetadata) {
  const runtime = yield* CommandRuntime
  yield* runtime.project(changesOf(runtime.catalogue.projection, events, metadata.recorded_at))
  return yield* runtime.append(events, metadata)
})

// The catalogue: the slices and everything they declare, which server, command line, sync and tests iterate.

export type { Catalogue, LaterSeed, Permission, Slice } from "./endpoint-types.ts"

/** The permissions of one area, from its actions separated by blanks: `vehicles`, `view create` → `vehicles.view`, … */
export const permissionsOfArea = (area: string, actions: string): ReadonlyArray<Permission> =>
  actions.split(" ").map((action) => ({ key: `${area}.${action}`, area, action }))

/**
 * One event may change tables of several slices: its own slice projects it first, then its followers in catalogue
 * order.
 */
const projectionOf = (events: ReadonlyMap<string, AnyEventType>, slices: ReadonlyArray<Slice>): Projection => {
  const folds: { [eventType: string]: Projector } = {}
  const add = (type: string, fold: Projector): void => {
    const before = folds[type]
    folds[type] = before === undefined ? fold : (data, meta) => [...before(data, meta), ...fold(data, meta)]
  }
  for (const { project, type } of events.values()) if (project !== undefined) add(type, project)
  for (const slice of slices) for (const { fold, type } of slice.follows ?? []) add(type, fold)
  return folds
}
const eventsOf = (declared: ReadonlyArray<AnyEventType>): ReadonlyMap<string, AnyEventType> => {
  const byType = new Map(declared.map((one) => [one.type, one]))
  if (byType.size !== declared.length) {
    const types = declared.map(({ type }) => type)
    throw new Error(`two events share a type: ${types.filter((type, at) => types.indexOf(type) !== at).join(", ")}`)
  }
  return byType
}
/** Row changes of a stored event, decoded first, so that events of earlier releases project as intended. */
export const foldStored = (
  { events, projection }: Pick<Catalogue, "events" | "projection">,
  { data, type }: { readonly type: string; readonly data: JsonObject },
  meta: ProjectionContext
): ReturnType<Projector> => {
  const kind = events.get(type)
  return kind === undefined ? [] : (projection[type]?.(decodeData(kind, data), meta) ?? [])
}

/**
 * Resources with the includes that other slices declare on them. Declarations stay unchanged: several catalogues may be
 * composed of the same slices. Throws if no resource has the name, or two slices declare different includes.
 */
const composedResources = (
  slices: ReadonlyArray<Slice>
): { readonly resources: ReadonlyArray<Resource>; readonly composed: Composed } => {
  const declared = slices.flatMap((slice) => slice.resources ?? [])
  const added = new Map<Resource, Includes>()
  for (const [plural, includes] of slices.flatMap((slice) => Object.entries(slice.includes ?? {}))) {
    const resource = declared.find((one) => one.plural === plural)
    if (resource === undefined)
      throw new Error(`no resource ${plural} in the catalogue to include ${Object.keys(includes).join(", ")}`)
    const present = added.get(resource) ?? resource.includes
    for (const [name, include] of Object.entries(includes)) {
      if (present[name] !== undefined && present[name] !== include)
        throw new Error(`two slices include ${name} in ${resource.plural}`)
    }
    added.set(resource, { ...present, ...includes })
  }
  if (added.size === 0) return { resources: declared, composed: as_declared }
  const byDeclared = new Map<unknown, unknown>(
    [...added].map(([resource, includes]) => [resource, { ...resource, includes }])
  )
  // Safe: a composed copy has the type of the resource it was copied from.
  const composed: Composed = <R>(resource: R): R => (byDeclared.get(resource) as R | undefined) ?? resource
  return { resources: declared.map(composed), composed }
}
/** The endpoint with its answer Schemas as this catalogue composes them. The Schemas are built on first use. */
const within = (composed: Composed, endpoint: Endpoint): Endpoint =>
  composed === as_declared
    ? endpoint
    : {
        ...endpoint,
        get answer() {
          return endpoint.answer === undefined ? undefined : inCatalogue(endpoint.answer, composed)
        },
        get error_answers() {
          return mapValues(endpoint.error_answers, (shown) => (shown === null ? null : inCatalogue(shown, composed)))
        }
      }

const reactionsOf = (all: ReadonlyArray<Reaction>): Reactions => ({
  all,
  types: new Set(all.flatMap(({ types }) => types))
})

const scrubsOf = (events: Catalogue["events"]): Catalogue["scrubs"] =>
  Object.fromEntries(
    [...events.values()].flatMap((kind) => {
      const { scrub } = kind
      return scrub === undefined ? [] : [[kind.type, (data: JsonObject) => scrub(decodeData(kind, data))]]
    })
  )

/**
 * Composes a catalogue. What only writes need (events, projection, reactions, references) is put together on first use,
 * and with it the check that no two events share a type.
 */
export const catalogueOf = (slices: ReadonlyArray<Slice>): Catalogue => {
  const tables = slices.flatMap((slice) => slice.tables ?? [])
  const server_tables = slices.flatMap((slice) => slice.server_tables ?? [])
  const path_aliases = slices.flatMap((slice) => Object.entries(slice.path_aliases ?? {}))
  const told = tables.find(({ columns }) => Object.values(columns).some(({ secret }) => secret))
  if (told !== undefined) throw new Error(`${told.name} holds a secret and is folded from the journal, which tells it`)
  const byName = new Map([...tables, ...server_tables].map((table) => [table.name, table]))
  const { composed, resources } = composedResources(slices)
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []).map((endpoint) => within(composed, endpoint))
  const endpointByName = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))
  if (endpointByName.size !== endpoints.length) {
    const names = endpoints.map((endpoint) => endpoint.name)
    throw new Error(`two endpoints share a name: ${names.filter((name, at) => names.indexOf(name) !== at).join(", ")}`)
  }
  let references: Catalogue["references"] | undefined
  const allReferences = () => (references ??= referencesOf(tables))
  let events: Catalogue["events"] | undefined
  const allEvents = () =>
    (events ??= eventsOf([
      ...slices.flatMap((slice) => slice.events ?? []),
      ...clearableTables(allReferences()).map(referenceClearedEvent),
      rowsToldEvent((name) => byName.get(name))
    ]))
  let projection: Projection | undefined
  let reactions: Catalogue["reactions"] | undefined
  let scrubs: Catalogue["scrubs"] | undefined
  return {
    get loaded() {
      return this
    },
    get whole() {
      return this
    },
    get references() {
      return allReferences()
    },
    slices,
    tables,
    server_tables,
    endpoints,
    get events() {
      return allEvents()
    },
    table: (name) => {
      const found = byName.get(name)
      if (found === undefined) throw new Error(`no table ${name} in the catalogue`)
      return found
    },
    get projection() {
      return (projection ??= withReferences(projectionOf(allEvents(), slices), tables, allReferences()))
    },
    endpoint: (name) => endpointByName.get(name),
    pathsOf: ({ path }) => [
      path,
      ...path_aliases.flatMap(([of, others]) =>
        path === of || path.startsWith(`${of}/`) ? others.map((other) => other + path.slice(of.length)) : []
      )
    ],
    resources,
    composed,
    get reactions() {
      return (reactions ??= reactionsOf(slices.flatMap((slice) => slice.react ?? [])))
    },
    settings: Object.assign({}, ...slices.map((slice) => slice.settings ?? {})),
    permissions: slices.flatMap((slice) => slice.permissions ?? []),
    get scrubs() {
      return (scrubs ??= scrubsOf(allEvents()))
    }
  }
}
