/** Declares resources, and answers lists of their rows. */
import { itemAt } from "../../values/text.ts"
import { Effect } from "effect"
import { customFieldFacts, searchableCustomFields } from "../lists/custom-field.ts"
import { requestedView, selectColumns, viewConditions, viewOrder, viewSql } from "../lists/custom-view.ts"
import { ignoredMeta, ignoredOf } from "./ignored.ts"
import { otherScales } from "../lists/filter-target.ts"
import type { Condition, Listing, Query } from "../lists/query.ts"
import { conditionsOf, conditionSql, isKept, offersFilter } from "../lists/query.ts"
import { includesOf, pageOf, sortOf, valueOf } from "../lists/query.ts"
import { render, viewContext } from "../lists/render.ts"
import type { Includes, KeysOf, PeoplesNames, RelatedRow, RelatedRows } from "../lists/resource-types.ts"
import type { Resource, ViewContext } from "../lists/resource-types.ts"
import { bindings, chunked, columnList, countsTable, type Dialect } from "../store/statement.ts"
import { orderSql, quote, whereSql } from "../store/statement.ts"
import { Store, type StoreRead, type StoreShape } from "../store/store.ts"
import { caseFoldedName, isSearchable, type RowOf, type Table, type Where } from "../tables/table.ts"
import type { Answer } from "./endpoint-types.ts"
import type { Field, Json, JsonObject, Keys } from "../fields/field.ts"

// Lists: a page of the rows that match the request's filters, sorted.

interface ListOptions {
  /** A condition besides the request's filters: rows of one parent. */
  readonly where?: Where
  readonly order?: ReadonlyArray<string>
  /** All rows on one page; `meta` still has the count (rules/conventions 2). */
  readonly unpaged?: boolean
  /** Query parameters that the endpoint removed from the query and ignored. */
  readonly ignored?: ReadonlyArray<string>
}

/**
 * The response for a list query: `{[plural]: rows, meta: {total, per_page, page}}`. Rows and total are read together
 * where the total is kept, a later page is requested, or the list was last longer than its page; otherwise a full first
 * page is counted after it. Unpaged lists need no count. Lookups, includes and a view come besides.
 */
export const listBody = Effect.fnUntraced(function* <T extends Table>(
  declared: Resource<T>,
  query: Query,
  context: ViewContext,
  options: ListOptions = {}
): Store.Reads<JsonObject> {
  const store = yield* Store
  const resource = context.composed(declared)
  const conditions = conditionsOf(query)
  const view = yield* requestedView(query, resource.entity_type, context.viewer)
  const view_conditions = view === undefined ? [] : viewConditions(view, resource.columns, resource.aliases, conditions)
  const uses_custom_fields = [...conditions, ...view_conditions].some((one) => one.name.startsWith("cf."))
  const listing: Listing = {
    ...resource,
    base_currency: context.base_currency,
    is_one_scale: yield* isOneScale(resource, [...conditions, ...view_conditions], context.base_currency),
    now: context.now,
    custom_fields:
      resource.custom_module !== undefined && uses_custom_fields
        ? searchableCustomFields(yield* customFieldFacts(resource.custom_module))
        : new Map()
  }
  const bound = bindings(store.dialect)
  const archived = archivedSql(resource, query)
  const filters = [
    options.where === undefined ? undefined : whereSql(resource.table, options.where, store.dialect, bound),
    viewSql(view_conditions, listing, store.dialect, bound),
    ...conditions.map((one) => conditionSql(one, listing, store.dialect, bound))
  ]
  const from = fromSql(resource.table.name, [archived, ...filters])
  const asked_sort = requestedSort(query, listing)
  const sort = asked_sort ?? (view && viewOrder(view, resource.columns, listing, context.viewer))
  const order = orderSql(
    resource.table,
    sort === undefined ? (options.order ?? resource.order) : [sort],
    sortedAs(resource.table)
  )
  const paging = pageOf(query, view?.per_page)
  const is_unpaged = options.unpaged === true
  const part = is_unpaged ? undefined : paging
  const statement = pageSql(resource.table, from, order, store.dialect, part)
  const is_kept = !is_unpaged && isKept(options.where ?? {}, [...conditions, ...view_conditions], listing)
  const kept = keptCountSql(resource.table, archived, filters, store, is_kept)
  const count = `select count(*) as total${from}`
  const counting = kept ?? countedWith(count, part)
  const [found = [], [counted] = []] = yield* store.readAll(
    [statement].concat(counting).map((text) => ({ text, values: bound.values }))
  )
  const rows = found.map((row) => store.decode(resource.table, row))
  const is_complete = is_unpaged || (paging.page === 1 && rows.length < paging.per_page)
  noteLength(count, is_complete || kept !== undefined)
  const total = is_complete ? rows.length : Number((counted ?? (yield* store.run(count, bound.values))[0])?.total ?? 0)
  const answers = yield* render(resource, rows, view === undefined ? includesOf(query) : [], context)
  const ignored = ignoredOf(query, {
    filters: (name) => offersFilter(name, listing),
    is_sorted: asked_sort !== undefined,
    includes: resource.includes,
    has_view: view !== undefined
  })
  return {
    [resource.plural]: view === undefined ? answers : yield* selectColumns(view, resource.columns, rows, answers),
    meta: {
      ...(is_unpaged ? unpagedMeta(total) : { total, per_page: paging.per_page, page: paging.page }),
      ...(view === undefined ? {} : { view: { id: view.id, name: view.name } }),
      ...ignoredMeta([...ignored, ...(options.ignored ?? [])])
    }
  }
})

/**
 * Whether all rows' currencies are known to have as many decimals as the base currency: asks the currency index, if the
 * list is filtered by money. If false, such a filter checks each row's currency.
 */
const isOneScale = Effect.fnUntraced(function* (
  { aliases, table }: Resource,
  conditions: ReadonlyArray<Condition>,
  base_currency: string
) {
  const currency = conditions
    .map(({ name }) => table.columns[Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name]?.type)
    .flatMap((type) => (type?.kind === "money" ? [type.currency] : []))
    .find((column) => column !== undefined && table.indexes.some(([first]) => first === column))
  if (currency === undefined) return false
  // Literals, not parameters: for parameters Postgres cannot estimate that the codes are rare, and scans the table.
  const codes = [...otherScales(base_currency).values()].flat().map((code) => `'${code}'`)
  const [found] = yield* Store.run(
    `select 1 as one from ${quote(table.name)} where ${quote(currency)} in (${codes.join(", ")}) limit 1`,
    []
  )
  return found === undefined
})

/**
 * Excludes deleted rows, unless the list supports them and the query includes them: `archived=with`, `archived=only`.
 */
const archivedSql = (resource: Resource, query: Query): string | undefined => {
  const archived = resource.lists_archived ? valueOf(query, "archived") : undefined
  if (!resource.table.soft_delete || archived === "with") return undefined
  return archived === "only" ? `"deleted_at" is not null` : live_sql
}
const live_sql = `"deleted_at" is null`
type Conditions = ReadonlyArray<string | undefined>
const fromSql = (table: string, conditions: Conditions): string => {
  const parts = conditions.filter((sql) => sql !== undefined)
  return ` from ${quote(table)}${parts.length === 0 ? "" : ` where ${allOf(parts)}`}`
}
/** Adds up kept counts, which are of live rows; undefined if there are none. */
const keptCountSql = (
  table: Table,
  archived: string | undefined,
  filters: Conditions,
  { keeps_counts }: StoreShape,
  is_kept: boolean
) =>
  is_kept && keeps_counts && table.counted_by.length > 0 && table.soft_delete === (archived === live_sql)
    ? `select sum("rows") as total${fromSql(countsTable(table), filters)}`
    : undefined
/** The requested sort in the form `order` takes. */
const requestedSort = (query: Query, listing: Listing): string | undefined => {
  const sort = sortOf(query, listing)
  return sort === undefined ? undefined : sort.descending ? `-${sort.column}` : sort.column
}
/**
 * `paging` undefined: all rows. Beyond the first page only ids are sorted and skipped, not all columns; of the first
 * page, too, where SQLite may have to sort, as it would read all columns of all rows.
 */
const pageSql = (table: Table, from: string, order: string, dialect: Dialect, paging?: Paging): string => {
  const select = `select ${columnList(table)}`
  const key = quote(table.key)
  const ordered = `${from} order by ${order}`
  if (paging === undefined) return select + ordered
  const limited = `${ordered} limit ${paging.per_page} offset ${(paging.page - 1) * paging.per_page}`
  if (paging.page === 1 && (dialect === "pg" || order === key)) return select + limited
  return (
    `${select} from (select ${key} as "page_key"${limited}) as "page" ` +
    `join ${quote(table.name)} on ${key} = "page_key" order by ${order}`
  )
}

/** Statements that count lists which last filled their first page: sent with that page from then on. */
const long_lists = new Set<string>()
const countedWith = (count: string, part: Paging | undefined): string | ReadonlyArray<never> =>
  part !== undefined && (part.page > 1 || long_lists.has(count)) ? count : []
const noteLength = (count: string, is_uncounted: boolean): void => {
  if (is_uncounted) long_lists.delete(count)
  else if (count.length < 4_000 && long_lists.add(count).size > 500) long_lists.clear()
}
/**
 * The `meta` of an unpaged list: one page, as long as the list (rules/conventions 2). `query`: for a list without
 * filters, sorts and includes, which are then listed as ignored.
 */
export const unpagedMeta = (total: number, query: Query = []) => ({
  total,
  per_page: total,
  page: 1,
  ...ignoredMeta(ignoredOf(query, { filters: () => false, is_sorted: false, includes: {} }))
})
interface Paging {
  readonly page: number
  readonly per_page: number
}

/** Joined by "and", in brackets of a hundred each: a chain of conditions nests, and SQLite allows a depth of 1,000. */
const allOf = (parts: ReadonlyArray<string>): string =>
  parts.length <= 100
    ? parts.join(" and ")
    : chunked(parts, 100)
        .map((some) => `(${some.join(" and ")})`)
        .join(" and ")

/** Sorts text by its case-folded column. */
const sortedAs =
  (table: Table) =>
  (column: string): string => {
    const field = table.columns[column]
    return field !== undefined && isSearchable(field) ? caseFoldedName(column) : column
  }

export type { Include, RelatedRow, Resource, ViewContext } from "../lists/resource-types.ts"
export {
  baseView,
  fieldOut,
  includesOfOne,
  type One,
  render,
  renderById,
  renderOne,
  viewContext
} from "../lists/render.ts"

type Draft<
  T extends Table,
  L extends { readonly [name: string]: RelatedRow },
  X,
  N extends string,
  S extends Keys = Keys,
  I extends Includes = Includes
> = Pick<Resource<T, N>, "singular" | "table"> &
  Partial<Omit<Resource<T, N>, "singular" | "table" | keyof Typed<T, L, S, I> | "views" | "_keys">> &
  Partial<Typed<T, L, S, I>> & {
    readonly load?: (rows: ReadonlyArray<RowOf<T>>, context: ViewContext) => StoreRead<X>
    readonly view?: (
      base: { [key: string]: Json },
      row: RowOf<T>,
      found: RelatedRows<L>,
      context: ViewContext,
      loaded: X
    ) => JsonObject
  }
/** Properties of a declaration with their own types. */
interface Typed<T extends Table, L, S, I> {
  readonly filters: ReadonlyArray<keyof T["columns"] & string>
  readonly sorts: ReadonlyArray<keyof T["columns"] & string>
  readonly lookups: L
  readonly includes: I & Includes
  readonly shows: S
  readonly called: PeoplesNames<keyof T["columns"] & string>
}
const viewsOf =
  <T extends Table, L extends { readonly [name: string]: RelatedRow }, X, N extends string>({
    load,
    view
  }: Draft<T, L, X, N>): Resource<T>["views"] =>
  (rows, context) => {
    if (view === undefined) return Effect.succeed((base) => base)
    // Without `load`, X is undefined, its default. Lookups have the names in `lookups`.
    const loading: StoreRead<X> = load === undefined ? Effect.succeed(undefined as X) : load(rows, context)
    return Effect.mapEager(
      loading,
      (loaded) => (base, at, related) => view(base, itemAt(rows, at), related as RelatedRows<L>, context, loaded)
    )
  }

/**
 * Declares a resource. Throws if a filterable text of more than 10 characters is neither searchable nor folded: `cont`
 * could not ignore case alike on both engines.
 */
export const resource = <
  T extends Table,
  const L extends { readonly [name: string]: RelatedRow } = {},
  X = undefined,
  const N extends string = string,
  const S extends Keys = {},
  const I extends Includes = {}
>(
  draft: Draft<T, L, X, N, S, I>
): Resource<T, N, KeysOf<S, I>> => {
  for (const name of draft.filters ?? []) {
    const field: Field | undefined = draft.table.columns[name]
    if (field === undefined) throw new Error(`${draft.singular}: no column ${name} to filter`)
    if (field.type.kind === "text" && !field.type.search && field.type.folded !== true && field.type.max > 10)
      throw new Error(`${draft.singular}.${name} is filtered but not searchable`)
  }
  for (const name of draft.called?.by ?? [])
    if (draft.filters?.includes(name) !== true)
      throw new Error(`${draft.singular} is called by ${name}, which is no filter`)
  return {
    plural: draft.table.name,
    aliases: {},
    related: {},
    value_names: {},
    flags: {},
    lookups: {},
    includes: {},
    custom_module: undefined,
    order: ["id"],
    lists_archived: false,
    entity_type: draft.table.name,
    columns: {},
    shows: {},
    hides: [],
    title: undefined,
    called: undefined,
    heading: undefined,
    ...draft,
    filters: ["id", ...(draft.filters ?? [])],
    sorts: ["id", ...(draft.sorts ?? [])],
    views: viewsOf(draft)
  }
}

/** Answers a list with `listBody`. */
export const listOf = <T extends Table>(
  resource: Resource<T>,
  input: Parameters<typeof viewContext>[0] & { readonly query: Query },
  options?: ListOptions
) => Effect.map(listBody(resource, input.query, viewContext(input), options), ok)
export const ok = <const A>(body: A): Answer<A> => ({ status: 200, body })
export const created = <const A>(body: A): Answer<A> => ({ status: 201, body })
/** `ok` or `created`. */
export type Status = <const A>(body: A) => Answer<A>
/** Adds keys to a response's body. */
export const withMore = <A, const M>(answer: Answer<A>, more: M): Answer<A & M> =>
  answer.body === undefined ? (answer as Answer<never>) : { ...answer, body: { ...answer.body, ...more } }
/** `meta.warnings` of a body; no key without warnings. */
export const warningsMeta = (warnings: ReadonlyArray<string>) => (warnings.length === 0 ? {} : { meta: { warnings } })
export const noContent: Answer<never> = { status: 204 }
