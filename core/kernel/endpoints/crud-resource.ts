/**
 * Plain resources: of a table and its resource one declaration makes the events, the projection and the five endpoints.
 * A resource with rules of its own adds `rules`; anything else needs a slice with endpoints of its own.
 */
import { Effect, Result } from "effect"
import { type CustomFieldFacts, customFieldFacts, readCustomFields } from "../lists/custom-field.ts"
import type { Answer, CommandRuntime, DecideContext, Endpoint, Failure, Input, Params, Slice } from "./endpoint.ts"
import type { StoreRead, Streams } from "./endpoint.ts"
import { command, get } from "./endpoint.ts"
import type { NewEvent } from "../events/event-type.ts"
import { type Fields, integer, type JsonObject, list, text } from "../fields/field.ts"
import { invalid, type Rejection } from "../fields/rejection.ts"
import type { One, Resource, Status } from "./resource.ts"
import { created, listOf, noContent, ok, renderById, renderOne, viewContext } from "./resource.ts"
import * as Shown from "../lists/answer-schema.ts"
import { initialRow } from "../tables/field-schema.ts"
import { createdEvent, deletedEvent, type WhenDeleted, rowEvents, updatedEvents } from "../events/record-events.ts"
import { Store } from "../store/store.ts"
import { type AnyRow, articleOf, oneOf, present, type RowOf, type Stamped } from "../tables/table.ts"
import { type Table, withId, wordsOf } from "../tables/table.ts"

export * from "../events/record-events.ts"

export interface Access {
  readonly read: string | ReadonlyArray<string> | null
  readonly write: string | ReadonlyArray<string> | null
  readonly view: string | null
  readonly create: string | null
  readonly edit: string | null
  readonly delete: string | null
}
/**
 * Access of an area's five usual endpoints: abilities `rates:read|write`, permissions `rates.view|create|edit|delete`.
 */
export const accessOf = (area: string): Access => ({
  read: `${area}:read`,
  write: `${area}:write`,
  view: `${area}.view`,
  create: `${area}.create`,
  edit: `${area}.edit`,
  delete: `${area}.delete`
})
/** Access by two permissions: one to read, one for all writes. */
export const viewManageAccess = (area: string, view: string | null, manage: string | null): Access => ({
  read: `${area}:read`,
  write: `${area}:write`,
  view,
  create: manage,
  edit: manage,
  delete: manage
})

export type SaveResult<T extends Table> = Result.Result<
  {
    readonly set?: Partial<RowOf<T>>
    readonly also?: ReadonlyArray<NewEvent>
    /** Warnings for `meta.warnings`, which `meta_shows` declares. */
    readonly warnings?: ReadonlyArray<string>
  },
  Rejection
>
/** Input as rules see it: of create and update alike, so that values that were not sent are absent. */
type RuleInput<B extends Fields, P extends string, PT extends Table> = Input<
  { readonly [K in P]: { readonly table: PT } },
  B,
  "PUT"
>
export interface SaveInput<
  T extends Table,
  F,
  B extends Fields = Fields,
  P extends string = never,
  PT extends Table = Table
> {
  /** The row as the request would leave it. */
  readonly next: RowOf<T>
  /** The current row; undefined on create. */
  readonly before: RowOf<T> | undefined
  readonly facts: F
  readonly input: RuleInput<B, P, PT>
  readonly context: DecideContext
}
/** Methods, so that what is shared by all resources accepts the rules of each. */
interface CrudRules<T extends Table, F, B extends Fields, P extends string, PT extends Table> {
  /** Facts for the rules. `before` is undefined on create. */
  facts?(input: RuleInput<B, P, PT>, before: RowOf<T> | undefined): Effect.Effect<F, Failure, Store | CommandRuntime>
  save?(given: SaveInput<T, F, B, P, PT>): SaveResult<T>
  delete?(given: {
    readonly row: RowOf<T>
    readonly facts: F
    readonly input: RuleInput<B, P, PT>
    readonly context: DecideContext
  }): Result.Result<ReadonlyArray<NewEvent>, Rejection>
  /** `meta` of the responses to create and update, and its Schema; no `meta` where it is undefined. */
  readonly meta?: (row: RowOf<T>) => StoreRead<JsonObject | undefined>
  readonly meta_shows?: Shown.Shown
}
interface Parent<P extends string = string, PT extends Table = Table> {
  readonly param: P
  readonly table: PT
  readonly column: string
}

interface CrudResourceDraft<T extends Table, F, B extends Fields, P extends string, PT extends Table> {
  readonly resource: Resource<T>
  /** Fields of the body; values of those without a column are not stored. */
  readonly fields: B
  readonly path: string
  readonly access: Access
  readonly parent?: Parent<P, PT>
  /** Prefix of route names; the resource's plural by default. */
  readonly name?: string
  readonly update_method?: "PUT" | "PATCH"
  readonly only?: ReadonlyArray<"list" | "show" | "create" | "update" | "delete">
  readonly rules?: CrudRules<T, F, B, P, PT>
  /** Streams to lock, if a rule depends on more than the row itself. */
  readonly streams?: Streams
  readonly unpaged?: boolean
  /** Changes of other tables' rows when a row is deleted. */
  readonly on_delete?: WhenDeleted
  readonly weight?: number
}

interface CrudFacts<F> {
  readonly own: F
  readonly custom: CustomFieldFacts
}

type Draft<
  F extends Fields,
  X,
  B extends Fields = Fields,
  P extends string = string,
  PT extends Table = Table
> = CrudResourceDraft<Table<F & Stamped>, X, B, P, PT>
type Made<F extends Fields> = Table<F & Stamped>
type SavedBody = One<string> & { readonly meta?: JsonObject }
type Operations = { readonly [operation: string]: () => Endpoint }

/** The row named by the path parameter `id`. */
const rowOf = <T extends Table>(input: Input): RowOf<T> => input.rows["id"] as RowOf<T>
const parentId = ({ param }: Parent, input: Input): number => Number(input.rows[param]?.["id"])

/** Facts for the rules, and custom field definitions where the body sets any or a row is created. */
const factsOf = <F extends Fields, X>({ resource, rules }: Draft<F, X>, mode: "create" | "update") =>
  Effect.fnUntraced(function* (input: Input): CommandRuntime.Reads<CrudFacts<X>> {
    const before = mode === "create" ? undefined : rowOf<Made<F>>(input)
    const needs_custom = mode === "create" || "custom_fields" in input.body
    return {
      own: (rules?.facts === undefined ? undefined : yield* rules.facts(input, before)) as X,
      custom:
        resource.custom_module === undefined || !needs_custom
          ? { definitions: [], values: [] }
          : yield* customFieldFacts(resource.custom_module)
    }
  })

/** The row after the body is applied, checked by the rules, with further events. `before`: undefined on create. */
const saveRow = <F extends Fields, X>(
  { fields, parent, resource: { custom_module, table }, rules }: Draft<F, X>,
  before: RowOf<Made<F>> | undefined,
  facts: CrudFacts<X>,
  input: Input,
  context: DecideContext
): Result.Result<
  Omit<Saved, "id"> & { readonly row: AnyRow & { readonly id: number }; readonly also: ReadonlyArray<NewEvent> },
  Rejection
> => {
  const current: AnyRow | undefined = before
  const custom =
    custom_module === undefined || (current !== undefined && !("custom_fields" in input.body))
      ? undefined
      : readCustomFields(
          facts.custom,
          input.body["custom_fields"],
          current && ((current["custom_fields"] ?? {}) as JsonObject)
        )
  if (custom !== undefined && Object.keys(custom.errors).length > 0) return Result.fail(invalid(custom.errors))
  const values: Partial<AnyRow> = input.values
  const next = {
    ...(before ?? initialRow(table, fields)),
    ...Object.fromEntries(Object.entries(values).filter(([column]) => table.columns[column] !== undefined)),
    ...(custom === undefined ? {} : { custom_fields: custom.stored }),
    ...(before === undefined && parent !== undefined ? { [parent.column]: parentId(parent, input) } : {}),
    id: current === undefined ? context.id(table) : Number(current["id"])
  } as RowOf<Made<F>>
  const result: SaveResult<Made<F>> =
    rules?.save?.({ next, before, facts: facts.own, input, context }) ?? Result.succeed({})
  return Result.map(result, ({ set, also = [], ...warned }) => ({
    row: withId({ ...next, ...present(set ?? {}) }),
    also,
    ...warned
  }))
}

const savedResult = Shown.keys({ id: integer(), warnings: Shown.optional(list(text())) })
type Saved = typeof savedResult.Type
/** The saved row as it is now, with the `meta` and warnings of the rules. */
const answerWith = <F extends Fields, X>({ resource, rules }: Draft<F, X>, status: Status) =>
  Effect.fnUntraced(function* (result: Saved, input: Input): Store.Reads<Answer<SavedBody>> {
    const body = yield* renderById(resource, result.id, input.query, viewContext(input))
    const row = rules?.meta === undefined ? undefined : yield* Store.get(resource.table, result.id)
    const more = row === undefined ? undefined : yield* rules?.meta?.(row) ?? Effect.succeed(undefined)
    const { warnings = [] } = result
    const meta: JsonObject = { ...more, ...(warnings.length === 0 ? {} : { warnings }) }
    return status(Object.keys(meta).length === 0 ? body : { ...body, meta })
  })

/** Parts shared by the endpoints of a resource. */
interface CrudParts {
  /** Prefix of the route names. */
  readonly name: string
  /** Words for one row, and their article. */
  readonly words: string
  readonly article: string
  /** "of a member", for rows below one, unless the words say it. */
  readonly whose: string
  /** Path parameters of the list, and of one row. */
  readonly parents: Params
  readonly own: Params
  readonly row_path: string
  readonly single: Shown.Part<One<string>>
  readonly saved: Shown.Part<SavedBody>
}
const partsOf = <F extends Fields, X>({ name, parent, path, resource, rules }: Draft<F, X>): CrudParts => {
  const words = wordsOf(resource.singular)
  const parents: Params = parent === undefined ? {} : { [parent.param]: { table: parent.table } }
  const of = parent === undefined ? {} : { of: { param: parent.param, column: parent.column } }
  const row_shown: { readonly [key: string]: Shown.Part<JsonObject> } = {
    [resource.singular]: Shown.row(() => resource)
  }
  // The key is known at run time only.
  const single = Shown.keys(row_shown)
  const with_meta = rules?.meta_shows === undefined ? single : Shown.keys({ ...row_shown, meta: rules.meta_shows })
  return {
    name: name ?? resource.plural,
    words,
    article: articleOf(words),
    whose:
      parent === undefined || words.startsWith(wordsOf(parent.param).replace(/ .*/, ""))
        ? ""
        : ` of ${oneOf(parent.table)}`,
    parents,
    own: { ...parents, id: { table: resource.table, ...of } },
    row_path: `${path}/{id}`,
    single,
    saved: with_meta as Shown.Part<SavedBody>
  }
}

const readEndpoints = <F extends Fields, X>(draft: Draft<F, X>, parts: CrudParts): Operations => {
  type T = Made<F>
  const { access, parent, path, resource } = draft
  const { name, own, parents, row_path: one, single, whose, words } = parts
  return {
    list: () =>
      get(path, {
        name: `${name}.list`,
        summary: `${resource.plural.startsWith("list") ? "Show" : "List"} ${wordsOf(resource.plural)}${whose}`,
        ability: access.read,
        permission: access.view,
        params: parents,
        answer: Shown.page(() => resource),
        ...(draft.weight === undefined ? {} : { metering_weight: draft.weight }),
        run: (input: Input) =>
          listOf(resource, input, {
            unpaged: draft.unpaged ?? false,
            where: parent === undefined ? {} : { [parent.column]: parentId(parent, input) }
          })
      }),
    show: () =>
      get(one, {
        name: `${name}.show`,
        summary: `Show one ${words}${whose}`,
        ability: access.read,
        permission: access.view,
        params: own,
        answer: single,
        run: (input: Input) => Effect.map(renderOne(resource, rowOf<T>(input), input.query, viewContext(input)), ok)
      })
  }
}
const writeEndpoints = <F extends Fields, X>(draft: Draft<F, X>, parts: CrudParts): Operations => {
  type T = Made<F>
  const { access, path, resource, rules } = draft
  const { article: a, name, own, parents, row_path: one, saved, whose, words } = parts
  const { table } = resource
  const locked = draft.streams === undefined ? {} : { streams: draft.streams }
  return {
    create: () =>
      command<Params, Fields, CrudFacts<X>, Saved, Shown.Part<SavedBody>>("POST", path, {
        name: `${name}.create`,
        summary: `Create ${a} ${words}${whose}`,
        ability: access.write,
        permission: access.create,
        params: parents,
        fields: draft.fields,
        answer: saved,
        ...locked,
        creates: [table],
        facts: factsOf(draft, "create"),
        decide: (facts, input, context) =>
          Result.map(saveRow(draft, undefined, facts, input, context), ({ also, row, ...warned }) => ({
            events: [createdEvent(table, row), ...also],
            result: { id: row.id, ...warned }
          })),
        result: savedResult,
        respond: answerWith(draft, created)
      }),
    update: () =>
      command<Params, Fields, CrudFacts<X>, Saved, Shown.Part<SavedBody>>(draft.update_method ?? "PUT", one, {
        name: `${name}.update`,
        summary: `Update ${a} ${words}${whose}; omitted fields keep their values`,
        ability: access.write,
        permission: access.edit,
        params: own,
        fields: draft.fields,
        answer: saved,
        ...locked,
        facts: factsOf(draft, "update"),
        decide: (facts, input, context) => {
          const before = rowOf<T>(input)
          return Result.map(saveRow(draft, before, facts, input, context), ({ also, row, ...warned }) => {
            return {
              events: [...updatedEvents(table, withId(before), row), ...also],
              result: { id: row.id, ...warned }
            }
          })
        },
        result: savedResult,
        respond: answerWith(draft, ok)
      }),
    delete: () =>
      command<Params, Fields, CrudFacts<X>>("DELETE", one, {
        name: `${name}.delete`,
        summary: `Delete ${a} ${words}${whose}`,
        ability: access.write,
        permission: access.delete,
        params: own,
        ...locked,
        facts: factsOf(draft, "update"),
        decide: (facts, input, context) => {
          const row = rowOf<T>(input)
          const { id } = withId(row)
          const judged = rules?.delete?.({ row, facts: facts.own, input, context }) ?? Result.succeed([])
          return Result.map(judged, (also) => ({ events: [...also, deletedEvent(table, id, row)], result: { id } }))
        },
        respond: () => Effect.succeed(noContent)
      })
  }
}

/** The table, events, projection and endpoints of a resource. */
export const crudResource = <
  F extends Fields,
  X = undefined,
  const B extends Fields = Fields,
  const P extends string = never,
  PT extends Table = Table
>(
  draft: Draft<F, X, B, P, PT>
): Slice => {
  const { on_delete, resource } = draft
  const parts = partsOf(draft)
  const endpoints = { ...readEndpoints(draft, parts), ...writeEndpoints(draft, parts) }
  const only: ReadonlyArray<string> = draft.only ?? Object.keys(endpoints)
  return {
    name: parts.name,
    tables: [resource.table],
    resources: [resource],
    events: rowEvents(resource.table, on_delete),
    endpoints: only.flatMap((operation) => endpoints[operation]?.() ?? [])
  }
}
