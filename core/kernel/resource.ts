/** Resources: how rows are listed, shown and put into words. One mechanism for all of them; no query per row. */
import { Effect } from "effect"
import { formatMoney } from "../values/money.ts"
import type { Where } from "./row-change.ts"
import { selectColumns, requestedView, type ViewColumns, viewConditions, viewOrder, viewSql } from "./custom-view.ts"
import { customFieldFacts, customFieldsFor, customValuesOut, searchableCustomFields } from "./custom-field.ts"
import type { Answer, Failure, StoreRead } from "./endpoint.ts"
import type { Field } from "./field.ts"
import type { Json, JsonObject } from "./json.ts"
import {
  conditionsOf,
  conditionSql,
  includesOf,
  type Listing,
  type NamedFilterValue,
  pageOf,
  type Query,
  type RelatedFilter,
  sortOf,
  valueOf
} from "./query.ts"
import { baseCurrency, type Settings } from "./settings.ts"
import type { Keys } from "./answer-schema.ts"
import { bindings, chunked, columnList, orderSql, quote, whereSql } from "./store/statement.ts"
import { Store } from "./store/store.ts"
import { type AnyRow, caseFoldedName, isSearchable, type RowOf, type Table } from "./table.ts"
import { hasOnePermission, type Viewer } from "./viewer.ts"

export interface ViewContext {
  readonly viewer: Viewer
  readonly settings: Settings
  readonly now: string
  readonly base_currency: string
}
export const viewContext = (from: {
  readonly viewer: Viewer
  readonly settings: Settings
  readonly now: string
}): ViewContext => ({
  viewer: from.viewer,
  settings: from.settings,
  now: from.now,
  base_currency: baseCurrency(from.settings)
})

/** A row elsewhere that every answer needs (a group's name): loaded for the whole page at once. */
export interface RelatedRow {
  readonly via: string
  readonly table: Table
}
export type RelatedRows<L> = { readonly [K in keyof L]: AnyRow | undefined }

/** A related thing embedded on request. */
export type Include =
  /** `{id, name}` of the row an own column points at. */
  | { readonly kind: "brief"; readonly via: string; readonly table: Table; readonly name?: string }
  /** `is_known`: whether more is known here of the row than that it is there. */
  | {
      readonly kind: "one"
      readonly via: string
      readonly resource: () => Resource
      readonly is_known?: (row: AnyRow) => boolean
    }
  /** Rows elsewhere whose `via` column points here. `empty`: what stands there unrequested (null unless said). */
  | {
      readonly kind: "many"
      readonly via: string
      readonly resource: () => Resource
      readonly where?: Where
      readonly order?: ReadonlyArray<string>
      readonly empty?: Json
    }
  /** What answers hold in any case, under `key`: clients may ask for it, and nothing changes. */
  | { readonly kind: "always"; readonly key: string }

/** `N`: the key one row of it stands under. */
export interface Resource<T extends Table = Table, out N extends string = string> {
  readonly singular: N
  readonly plural: string
  readonly table: T
  readonly filters: ReadonlyArray<string>
  readonly sorts: ReadonlyArray<string>
  readonly aliases: { readonly [name: string]: string }
  readonly related: { readonly [name: string]: RelatedFilter }
  readonly value_names: { readonly [column: string]: ReadonlyArray<NamedFilterValue> }
  readonly lookups: { readonly [name: string]: RelatedRow }
  readonly includes: { readonly [name: string]: Include }
  /** The module whose custom fields its rows carry. */
  readonly custom_module: string | undefined
  readonly order: ReadonlyArray<string>
  /** Lists give deleted rows too when asked with `archived=with` or `archived=only`. */
  readonly lists_archived: boolean
  /** What saved views call these rows. */
  readonly entity_type: string
  /** Columns of saved views that are no keys of its answers by that name. */
  readonly columns: ViewColumns
  /** What its view adds to its columns and includes, or shows otherwise. */
  readonly shows: Keys
  /** Columns and includes its view leaves out. */
  readonly hides: ReadonlyArray<string>
  /** What the description calls a row of it; default after its singular. */
  readonly title: string | undefined
  /** Anything else its answers need, loaded for the whole page at once. */
  readonly load: ((rows: ReadonlyArray<RowOf<T>>, context: ViewContext) => StoreRead<unknown>) | undefined
  readonly view: (
    base: JsonObject,
    row: RowOf<T>,
    found: RelatedRows<{ [name: string]: RelatedRow }>,
    context: ViewContext,
    loaded: never
  ) => JsonObject
}

type Draft<T extends Table, L extends { readonly [name: string]: RelatedRow }, X, N extends string> = {
  readonly singular: N
  readonly plural?: string
  readonly table: T
  readonly filters?: ReadonlyArray<keyof T["columns"] & string>
  readonly sorts?: ReadonlyArray<keyof T["columns"] & string>
  readonly aliases?: { readonly [name: string]: string }
  readonly related?: { readonly [name: string]: RelatedFilter }
  readonly value_names?: { readonly [column: string]: ReadonlyArray<NamedFilterValue> }
  readonly lookups?: L
  readonly includes?: { readonly [name: string]: Include }
  readonly custom_module?: string
  readonly order?: ReadonlyArray<string>
  readonly lists_archived?: boolean
  readonly entity_type?: string
  readonly columns?: ViewColumns
  readonly shows?: Keys
  readonly hides?: ReadonlyArray<string>
  readonly title?: string
  readonly load?: (rows: ReadonlyArray<RowOf<T>>, context: ViewContext) => StoreRead<X>
  readonly view?: (
    base: JsonObject,
    row: RowOf<T>,
    found: RelatedRows<L>,
    context: ViewContext,
    loaded: X
  ) => JsonObject
}
/** Declares a resource. Every filterable text must be searchable, or `cont` could not ignore case alike on both engines. */
export const resource = <
  T extends Table,
  const L extends { readonly [name: string]: RelatedRow } = {},
  X = undefined,
  const N extends string = string
>(
  draft: Draft<T, L, X, N>
): Resource<T, N> => {
  for (const name of draft.filters ?? []) {
    const field: Field | undefined = draft.table.columns[name]
    if (field === undefined) throw new Error(`${draft.singular}: no column ${name} to filter`)
    if (field.type.kind === "text" && !field.type.search && field.type.max > 10)
      throw new Error(`${draft.singular}.${name} is filtered but not searchable`)
  }
  return {
    singular: draft.singular,
    plural: draft.plural ?? draft.table.name,
    table: draft.table,
    filters: ["id", ...(draft.filters ?? [])],
    sorts: ["id", ...(draft.sorts ?? [])],
    aliases: draft.aliases ?? {},
    related: draft.related ?? {},
    value_names: draft.value_names ?? {},
    lookups: draft.lookups ?? {},
    includes: { ...draft.includes },
    custom_module: draft.custom_module,
    order: draft.order ?? ["id"],
    lists_archived: draft.lists_archived ?? false,
    entity_type: draft.entity_type ?? draft.table.name,
    columns: draft.columns ?? {},
    shows: draft.shows ?? {},
    hides: draft.hides ?? [],
    title: draft.title,
    load: draft.load,
    view: (draft.view ?? ((base: JsonObject) => base)) as Resource<T>["view"]
  }
}

/**
 * Includes that another slice declares on this resource, as its rows point here. The catalogue puts them in place when it is
 * composed, before anything is answered; what is there by that name already must be the same.
 */
export const includeAlso = (resource: Resource, includes: { readonly [name: string]: Include }): void => {
  const declared = resource.includes as { [name: string]: Include }
  for (const [name, include] of Object.entries(includes)) {
    if (declared[name] !== undefined && declared[name] !== include)
      throw new Error(`two slices include ${name} in ${resource.plural}`)
    declared[name] = include
  }
}

/** A column's value as answers give it: money and decimals as strings at their scale. */
export const fieldOut = (field: Field, value: unknown, row: AnyRow, base_currency: string): Json => {
  if (value === null || value === undefined) return null
  const type = field.type
  if (type.kind === "money")
    return formatMoney(
      value as number,
      type.currency === undefined ? base_currency : String(row[type.currency] ?? base_currency)
    )
  if (type.kind === "decimal" && type.shown_scale !== undefined) return atLeastScale(String(value), type.shown_scale)
  return value as Json
}
/** "2.00" → "2.0", "0.25" stays: as many decimals as needed, at least `scale`. */
const atLeastScale = (value: string, scale: number): string => {
  const [whole = "0", fraction = ""] = value.split(".")
  const kept = fraction.replace(/0+$/, "").padEnd(scale, "0")
  return kept === "" ? whole : `${whole}.${kept}`
}

const columnsShown = new WeakMap<Table, ReadonlyArray<readonly [name: string, field: Field]>>()
const columnsShownOf = (table: Table): ReadonlyArray<readonly [name: string, field: Field]> => {
  let columns = columnsShown.get(table)
  if (columns === undefined)
    columnsShown.set(
      table,
      (columns = Object.entries(table.columns).filter(([name, field]) => !field.hidden && name !== "deleted_at"))
    )
  return columns
}
/** All of a row's visible columns, formatted. */
export const baseView = (table: Table, row: AnyRow, context: ViewContext): { [key: string]: Json } => {
  const out: { [key: string]: Json } = {}
  for (const [name, field] of columnsShownOf(table)) {
    if (field.visible_to === undefined || hasOnePermission(context.viewer, field.visible_to))
      out[name] = fieldOut(field, row[name], row, context.base_currency)
  }
  return out
}

/** Rows → answers, with what was asked to be included. Queries: one per lookup and include, whatever the number of rows. */
export const render = Effect.fnUntraced(function* <T extends Table>(
  resource: Resource<T>,
  rows: ReadonlyArray<RowOf<T>>,
  includes: ReadonlyArray<string>,
  context: ViewContext
): Effect.fn.Return<ReadonlyArray<JsonObject>, Failure, Store> {
  if (rows.length === 0) return []
  const store = yield* Store
  const cells = rows as ReadonlyArray<AnyRow>
  const lookups: Array<{ readonly name: string; readonly via: string; readonly found: ReadonlyMap<unknown, AnyRow> }> =
    []
  for (const [name, { table, via }] of Object.entries(resource.lookups))
    lookups.push({
      name,
      via,
      found: yield* rowsById(
        table,
        cells.map((row) => row[via])
      )
    })
  const definitions = resource.custom_module === undefined ? [] : yield* customFieldsFor(resource.custom_module)
  const list_values = yield* customValuesOut(
    definitions,
    cells.map((row) => row["custom_fields"] as JsonObject | null)
  )
  const loaded = resource.load === undefined ? undefined : yield* resource.load(rows, context)
  const embedded: Array<{ readonly name: string; readonly of: (row: AnyRow) => Json }> = []
  for (const [name, include] of Object.entries(resource.includes)) {
    if (include.kind === "always") continue
    const wanted = includes.includes(name) || includes.some((one) => one.startsWith(`${name}.`))
    const inner = includes.filter((one) => one.startsWith(`${name}.`)).map((one) => one.slice(name.length + 1))
    const absent = include.kind === "many" ? (include.empty ?? null) : null
    embedded.push({ name, of: wanted ? yield* embed(store, include, cells, inner, context) : () => absent })
  }
  return rows.map((row, at) => {
    const cell = row as AnyRow
    const base = baseView(resource.table, cell, context)
    if (resource.custom_module !== undefined) base["custom_fields"] = list_values[at]!
    for (const { name, of } of embedded) base[name] = of(cell)
    const around: { [name: string]: AnyRow | undefined } = {}
    for (const { name, via, found } of lookups) around[name] = found.get(cell[via])
    return resource.view(base, row, around, context, loaded as never)
  })
})

const rowsById = Effect.fnUntraced(function* (table: Table, ids: ReadonlyArray<unknown>) {
  const store = yield* Store
  const wanted = [...new Set(ids)].filter((id): id is number => typeof id === "number")
  return new Map((yield* store.getMany(table, wanted)).map((row) => [row["id"], row as AnyRow]))
})

const embed = Effect.fnUntraced(function* (
  store: Store["Service"],
  include: Exclude<Include, { readonly kind: "always" }>,
  rows: ReadonlyArray<AnyRow>,
  inner: ReadonlyArray<string>,
  context: ViewContext
): Effect.fn.Return<(row: AnyRow) => Json, Failure, Store> {
  if (include.kind === "brief") {
    const found = yield* rowsById(
      include.table,
      rows.map((row) => row[include.via])
    )
    return (row) => {
      const other = found.get(row[include.via])
      return other === undefined ? null : { id: other["id"] as number, name: other[include.name ?? "name"] as Json }
    }
  }
  const target = include.resource()
  if (include.kind === "one") {
    const wanted = rows.map((row) => row[include.via]).filter((id): id is number => typeof id === "number")
    const found = (yield* store.getMany(target.table, wanted)).filter((row) => include.is_known?.(row) !== false)
    const views = yield* render(target, found, inner, context)
    const byId = new Map(found.map((row, at) => [(row as AnyRow)["id"], views[at]!]))
    return (row) => byId.get(row[include.via]) ?? null
  }
  const live: Where = target.table.soft_delete ? { deleted_at: null } : {}
  const found = yield* store.find(
    target.table,
    { [include.via]: rows.map((row) => row["id"] as number), ...live, ...include.where },
    { order: include.order ?? target.order }
  )
  const views = yield* render(target, found, inner, context)
  const byParent = new Map<unknown, Array<JsonObject>>()
  found.forEach((row, at) => {
    const parent = (row as AnyRow)[include.via]
    const siblings = byParent.get(parent)
    if (siblings === undefined) byParent.set(parent, [views[at]!])
    else siblings.push(views[at]!)
  })
  return (row) => byParent.get(row["id"]) ?? []
})

export interface ListOptions {
  /** Beside what was asked: rows of one parent. */
  readonly where?: Where
  readonly order?: ReadonlyArray<string>
  readonly page_default?: number
  readonly page_max?: number
  /** Everything at once; meta still counts (rules/conventions 2). */
  readonly unpaged?: boolean
}

/** A list as asked: `{[plural]: rows, meta: {total, per_page, page}}`. Two queries beside lookups and includes. */
export const listOf = Effect.fnUntraced(function* <T extends Table>(
  resource: Resource<T>,
  query: Query,
  context: ViewContext,
  options: ListOptions = {}
): Effect.fn.Return<JsonObject, Failure, Store> {
  const store = yield* Store
  const conditions = conditionsOf(query)
  const view = yield* requestedView(query, resource.entity_type, context.viewer)
  const viewed = view === undefined ? [] : viewConditions(view, resource.columns, resource.aliases, conditions)
  const listing: Listing = {
    ...resource,
    base_currency: context.base_currency,
    custom_fields:
      resource.custom_module !== undefined && [...conditions, ...viewed].some((one) => one.name.startsWith("cf."))
        ? searchableCustomFields(yield* customFieldFacts(resource.custom_module))
        : new Map()
  }
  const bound = bindings(store.dialect)
  const archived = resource.lists_archived ? valueOf(query, "archived") : undefined
  const parts = [
    ...(resource.table.soft_delete && archived !== "with"
      ? [archived === "only" ? `"deleted_at" is not null` : `"deleted_at" is null`]
      : []),
    ...(options.where === undefined ? [] : [whereSql(resource.table, options.where, store.dialect, bound)]),
    ...[
      viewSql(viewed, listing, store.dialect, bound),
      ...conditions.map((one) => conditionSql(one, listing, store.dialect, bound))
    ].filter((sql) => sql !== undefined)
  ]
  const where = parts.length === 0 ? "" : ` where ${allOf(parts)}`
  const sort = sortOf(query, listing)
  const by =
    sort !== undefined
      ? sort.descending
        ? `-${sort.column}`
        : sort.column
      : view === undefined
        ? undefined
        : viewOrder(view, resource.columns, listing, context.viewer)
  const order = orderSql(
    resource.table,
    by === undefined ? (options.order ?? resource.order) : [by],
    sortedAs(resource.table)
  )
  const from = ` from ${quote(resource.table.name)}${where}`
  const page_default = view?.per_page ?? options.page_default
  const paging = pageOf(query, {
    ...(page_default === undefined ? {} : { default: page_default }),
    ...(options.page_max === undefined ? {} : { max: options.page_max })
  })
  const limit =
    options.unpaged === true ? "" : ` limit ${paging.per_page} offset ${(paging.page - 1) * paging.per_page}`
  // Beyond the first page ids are sorted and passed over, not whole rows.
  const key = quote(resource.table.key)
  const page =
    options.unpaged === true || paging.page === 1
      ? `select ${columnList(resource.table)}${from} order by ${order}${limit}`
      : `select ${columnList(resource.table)} from (select ${key} as "key_of_page"${from} order by ${order}${limit}) as "page" ` +
        `join ${quote(resource.table.name)} on ${key} = "key_of_page" order by ${order}`
  const rows = (yield* store.run(page, bound.values)).map((row) => store.decode(resource.table, row))
  // A first page that is not full has counted itself.
  const total =
    options.unpaged === true || (paging.page === 1 && rows.length < paging.per_page)
      ? rows.length
      : Number((yield* store.run<{ total: number }>(`select count(*) as total${from}`, bound.values))[0]!.total)
  const whole = yield* render(resource, rows, view === undefined ? includesOf(query) : [], context)
  return {
    [resource.plural]: view === undefined ? whole : yield* selectColumns(view, resource.columns, rows, whole),
    meta: {
      ...(options.unpaged === true ? unpagedMeta(total) : { total, ...orderedMeta(paging) }),
      ...(view === undefined ? {} : { view: { id: view.id, name: view.name } })
    }
  }
})
/** The meta of a list that always comes whole: one page, as long as the list (rules/conventions 2). */
export const unpagedMeta = (total: number) => ({ total, per_page: total, page: 1 })
const orderedMeta = ({ page, per_page }: { readonly page: number; readonly per_page: number }): JsonObject => ({
  per_page,
  page
})

/** In brackets by the hundred: SQLite lets no expression nest a thousand deep, which a long row of "and" does. */
const allOf = (parts: ReadonlyArray<string>): string =>
  parts.length <= 100
    ? parts.join(" and ")
    : chunked(parts, 100)
        .map((some) => `(${some.join(" and ")})`)
        .join(" and ")

/** Text sorts without regard to case. */
const sortedAs =
  (table: Table) =>
  (column: string): string => {
    const field = table.columns[column]
    return field !== undefined && isSearchable(field) ? caseFoldedName(column) : column
  }

/** One thing under its singular key. */
export type One<N extends string> = { readonly [K in N]: JsonObject }
export const renderOne = <T extends Table, N extends string>(
  resource: Resource<T, N>,
  row: RowOf<T>,
  query: Query,
  context: ViewContext
): StoreRead<One<N>> =>
  // TypeScript widens a computed key to any text.
  Effect.map(
    render(resource, [row], includesOf(query), context),
    (views) => ({ [resource.singular]: views[0]! }) as One<N>
  )

/** The row of an id as it stands now, shown; what writes answer with. */
export const renderById = Effect.fnUntraced(function* <T extends Table, N extends string>(
  resource: Resource<T, N>,
  id: number,
  query: Query,
  context: ViewContext
) {
  const store = yield* Store
  const row = yield* store.get(resource.table, id)
  if (row === undefined)
    return yield* Effect.die(new Error(`${resource.singular} ${id} vanished while it was being shown`))
  return yield* renderOne(resource, row, query, context)
})

export const ok = <const A>(body: A): Answer<A> => ({ status: 200, body })
export const created = <const A>(body: A): Answer<A> => ({ status: 201, body })
/** `ok` or `created`. */
export type Status = <const A>(body: A) => Answer<A>
/** A good answer with more in its body. */
export const withMore = <A, const M>(answer: Answer<A>, more: M): Answer<A & M> =>
  answer.body === undefined ? (answer as Answer<never>) : { ...answer, body: { ...answer.body, ...more } }
export const noContent: Answer<never> = { status: 204 }
