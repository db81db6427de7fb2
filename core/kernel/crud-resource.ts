/**
 * Plain resources: from one declaration come the table, the events, the fold, the five endpoints and their answers.
 * A resource with rules of its own adds `rules`; what cannot be said here is a slice with endpoints of its own beside.
 */
import { Effect, Result } from "effect"
import type { Slice } from "./catalogue.ts"
import { type CustomFieldFacts, customFieldFacts, readCustomFields } from "./custom-field.ts"
import {
  type Answer,
  command,
  type DecideContext,
  type Endpoint,
  type Failure,
  get,
  type Id,
  type Input,
  type Params,
  type StoreRead,
  type Streams
} from "./endpoint.ts"
import type { NewEvent } from "./event.ts"
import type { Fields } from "./field.ts"
import type { JsonObject } from "./json.ts"
import { invalid, type Rejection } from "./rejection.ts"
import {
  created,
  listOf,
  noContent,
  ok,
  type One,
  type Resource,
  renderOne,
  renderById,
  type Status,
  viewContext
} from "./resource.ts"
import * as Shown from "./answer-schema.ts"
import type { CommandRuntime } from "./command-runtime.ts"
import type { Defaults } from "./stored-schema.ts"
import { createdEvent, deletedEvent, type OnDelete, rowEvents, updatedEvent } from "./row-events.ts"
import { articleOf, wordsOf } from "./words.ts"
import { Store } from "./store/store.ts"
import type { AnyRow, RowOf, Stamped, Table } from "./table.ts"

export {
  createdEvent,
  deletedEvent,
  rowCreated,
  rowDeleted,
  rowEvents,
  rowMade,
  rowUpdated,
  updatedEvent
} from "./row-events.ts"

export interface Access {
  readonly read: string | ReadonlyArray<string> | null
  readonly write: string | ReadonlyArray<string> | null
  readonly view: string | null
  readonly create: string | null
  readonly edit: string | null
  readonly delete: string | null
}
/** The usual five of an area: abilities `rates:read|write`, permissions `rates.view|create|edit|delete`. */
export const accessOf = (area: string, permission: string = area): Access => ({
  read: `${area}:read`,
  write: `${area}:write`,
  view: `${permission}.view`,
  create: `${permission}.create`,
  edit: `${permission}.edit`,
  delete: `${permission}.delete`
})
/** One permission to look, one to change. */
export const viewManageAccess = (area: string, view: string | null, manage: string | null): Access => ({
  read: `${area}:read`,
  write: `${area}:write`,
  view,
  create: manage,
  edit: manage,
  delete: manage
})

export type SaveResult<T extends Table> = Result.Result<
  { readonly set?: Partial<RowOf<T>>; readonly also?: ReadonlyArray<NewEvent> },
  Rejection
>
export interface SaveInput<T extends Table, F> {
  /** The row as it would be stored. */
  readonly next: RowOf<T>
  /** The row as it is; undefined on create. */
  readonly before: RowOf<T> | undefined
  readonly facts: F
  readonly input: Input<any, any>
  readonly context: DecideContext
}
export interface CrudRules<T extends Table, F> {
  /** What the rules must know. `before` is undefined on create. */
  readonly facts?: (
    input: Input<any, any>,
    before: RowOf<T> | undefined
  ) => Effect.Effect<F, Failure, Store | CommandRuntime>
  readonly save?: (given: SaveInput<T, F>) => SaveResult<T>
  readonly delete?: (given: {
    readonly row: RowOf<T>
    readonly facts: F
    readonly input: Input<any, any>
    readonly context: DecideContext
  }) => Result.Result<ReadonlyArray<NewEvent>, Rejection>
  /** `meta` of what create and update answer, and what it holds; without one where it is undefined. */
  readonly meta?: (row: RowOf<T>) => StoreRead<JsonObject | undefined>
  readonly meta_shows?: Shown.Shown
}
export interface Parent {
  readonly param: string
  readonly table: Table
  readonly column: string
}

export interface CrudResourceDraft<T extends Table, F> {
  readonly resource: Resource<T>
  /** What a body may hold: the table's declared fields unless said otherwise. */
  readonly fields: Fields
  readonly path: string
  readonly access: Access
  readonly parent?: Parent
  /** The name routes begin with; default the resource's plural. */
  readonly name?: string
  readonly update_method?: "PUT" | "PATCH"
  readonly only?: ReadonlyArray<"list" | "show" | "create" | "update" | "delete">
  readonly rules?: CrudRules<T, F>
  /** The streams whose writers wait for each other, where a rule looks beyond the row itself. */
  readonly streams?: Streams
  readonly unpaged?: boolean
  readonly list_where?: (input: Input) => { readonly [column: string]: string | number | boolean | null }
  /** Rows elsewhere that go or change with a deleted row. */
  readonly on_delete?: OnDelete
  readonly weight?: number
}

interface WithCustom<F> {
  readonly own: F
  readonly custom: CustomFieldFacts
}

/** The events, fold and endpoints of a resource. */
export const crudResource = <F extends Fields, X = undefined>(
  draft: CrudResourceDraft<Table<F & Stamped>, X>
): Slice => {
  type T = Table<F & Stamped>
  const { resource, path, access, parent, rules } = draft
  const table: T = resource.table
  const name = draft.name ?? resource.plural
  const words = wordsOf(resource.singular)
  const a = articleOf(words)
  const parents: Params = parent === undefined ? {} : { [parent.param]: { table: parent.table } }
  const key = "id"
  const own: Params = {
    ...parents,
    [key]: { table, ...(parent === undefined ? {} : { of: { param: parent.param, column: parent.column } }) }
  }
  const one = `${path}/{${key}}`
  const only = draft.only ?? ["list", "show", "create", "update", "delete"]
  const module = resource.custom_module
  const fields: Fields = draft.fields
  const theResource = () => resource
  type SavedBody = One<string> & { readonly meta?: JsonObject }
  const rowShown: Shown.Keys = { [resource.singular]: Shown.row(theResource) }
  // The key is known at run time only.
  const single = Shown.keys(rowShown) as Shown.Part<One<string>>
  const saved = (
    rules?.meta_shows === undefined ? single : Shown.keys({ ...rowShown, meta: rules.meta_shows })
  ) as Shown.Part<SavedBody>
  const locked = draft.streams === undefined ? {} : { streams: draft.streams }

  const facts = (before: boolean) =>
    Effect.fnUntraced(function* (input: Input): Effect.fn.Return<WithCustom<X>, Failure, Store | CommandRuntime> {
      const row = before ? rowOf(input) : undefined
      return {
        own: (rules?.facts === undefined ? undefined : yield* rules.facts(input, row)) as X,
        // A change that does not speak of them needs none of them.
        custom:
          module === undefined || (before && !("custom_fields" in input.body))
            ? { definitions: [], values: [] }
            : yield* customFieldFacts(module)
      }
    })
  const rowOf = (input: Input): RowOf<T> => (input.rows as { [name: string]: unknown })[key] as RowOf<T>
  const stored = (values: AnyRow): AnyRow =>
    Object.fromEntries(Object.entries(values).filter(([column]) => table.columns[column] !== undefined))

  const save = (
    before: RowOf<T> | undefined,
    facts: WithCustom<X>,
    input: Input,
    context: DecideContext
  ): Result.Result<{ row: AnyRow & { id: number }; also: ReadonlyArray<NewEvent> }, Rejection> => {
    const mode = before === undefined ? "create" : "update"
    const custom =
      module === undefined || (mode === "update" && !("custom_fields" in input.body))
        ? undefined
        : readCustomFields(
            facts.custom,
            input.body["custom_fields"],
            ((before as AnyRow | undefined)?.["custom_fields"] ?? {}) as JsonObject,
            mode
          )
    if (custom !== undefined && Object.keys(custom.errors).length > 0) return Result.fail(invalid(custom.errors))
    const next = {
      ...(before ?? initialRow(table, fields)),
      ...stored(input.values as AnyRow),
      ...(custom === undefined ? {} : { custom_fields: custom.stored }),
      ...(before === undefined && parent !== undefined
        ? { [parent.column]: (input.rows as { [name: string]: AnyRow })[parent.param]!["id"] }
        : {}),
      id: before === undefined ? context.id(table) : (before as { id: number }).id
    } as RowOf<T>
    const judged: SaveResult<T> =
      rules?.save?.({ next, before, facts: facts.own, input, context }) ?? Result.succeed({})
    return Result.map(judged, ({ set, also }) => ({
      row: { ...(next as AnyRow & { id: number }), ...set },
      also: also ?? []
    }))
  }

  const answerWith = (status: Status) =>
    Effect.fnUntraced(function* (result: Id, input: Input): Effect.fn.Return<Answer<SavedBody>, Failure, Store> {
      const body = yield* renderById(resource, result.id, input.query, viewContext(input))
      if (rules?.meta === undefined) return status(body)
      const row = yield* (yield* Store).get(table, result.id)
      const meta = yield* rules.meta(row!)
      return status(meta === undefined ? body : { ...body, meta })
    })

  const endpoints: { readonly [operation: string]: () => Endpoint } = {
    list: () =>
      get(path, {
        name: `${name}.list`,
        summary: `List ${wordsOf(resource.plural)}`,
        ability: access.read,
        permission: access.view,
        params: parents,
        answer: Shown.page(theResource),
        ...(draft.weight === undefined ? {} : { metering_weight: draft.weight }),
        run: (input: Input) =>
          Effect.map(
            listOf(resource, input.query, viewContext(input), {
              unpaged: draft.unpaged ?? false,
              where: {
                ...(parent === undefined
                  ? {}
                  : { [parent.column]: (input.rows as { [name: string]: AnyRow })[parent.param]!["id"] as number }),
                ...draft.list_where?.(input)
              }
            }),
            ok
          )
      }),
    show: () =>
      get(one, {
        name: `${name}.show`,
        summary: `Show one ${words}`,
        ability: access.read,
        permission: access.view,
        params: own,
        answer: single,
        run: (input: Input) => Effect.map(renderOne(resource, rowOf(input), input.query, viewContext(input)), ok)
      }),
    create: () =>
      command<Params, Fields, WithCustom<X>, Id, typeof saved>("POST", path, {
        name: `${name}.create`,
        summary: `Create ${a} ${words}`,
        ability: access.write,
        permission: access.create,
        params: parents,
        fields,
        answer: saved,
        ...locked,
        creates: [table],
        facts: facts(false),
        decide: (facts, input, context) =>
          Result.map(save(undefined, facts, input, context), ({ row, also }) => ({
            events: [createdEvent(table, row), ...also],
            result: { id: row.id }
          })),
        respond: answerWith(created)
      }),
    update: () =>
      command<Params, Fields, WithCustom<X>, Id, typeof saved>(draft.update_method ?? "PUT", one, {
        name: `${name}.update`,
        summary: `Change ${a} ${words}; what is left out stays`,
        ability: access.write,
        permission: access.edit,
        params: own,
        fields,
        answer: saved,
        ...locked,
        facts: facts(true),
        decide: (facts, input, context) => {
          const before = rowOf(input)
          return Result.map(save(before, facts, input, context), ({ row, also }) => {
            const changed = updatedEvent(table, before as AnyRow & { id: number }, row)
            return { events: [...(changed === undefined ? [] : [changed]), ...also], result: { id: row.id } }
          })
        },
        respond: answerWith(ok)
      }),
    delete: () =>
      command<Params, Fields, WithCustom<X>>("DELETE", one, {
        name: `${name}.delete`,
        summary: `Delete ${a} ${words}`,
        ability: access.write,
        permission: access.delete,
        params: own,
        ...locked,
        facts: facts(true),
        decide: (facts, input, context) => {
          const row = rowOf(input)
          const judged = rules?.delete?.({ row, facts: facts.own, input, context }) ?? Result.succeed([])
          return Result.map(judged, (also) => ({
            events: [...also, deletedEvent(table, (row as { id: number }).id, row as AnyRow)],
            result: { id: (row as { id: number }).id }
          }))
        },
        respond: () => Effect.succeed(noContent)
      })
  }
  return {
    name,
    tables: [table],
    resources: [resource as Resource],
    events: rowEvents(table, draft.on_delete),
    endpoints: only.map((operation) => endpoints[operation]!())
  }
}

const initials = new WeakMap<Table, WeakMap<Fields, AnyRow>>()
/** Every declared column at its default, null where it has none. Columns that must not be null are given by whoever makes the row. */
export const initialRow = <T extends Table>(table: T, fields: Fields): Defaults<T> => {
  let rows = initials.get(table)
  if (rows === undefined) initials.set(table, (rows = new WeakMap()))
  let row = rows.get(fields)
  if (row === undefined) {
    rows.set(
      fields,
      (row = Object.freeze(
        Object.fromEntries(
          Object.entries({ ...table.columns, ...fields })
            .filter(([name]) => table.columns[name] !== undefined && name !== "id")
            .map(([name, field]) => [name, field.default ?? null])
        )
      ))
    )
  }
  return row as object as Defaults<T>
}
