/** Lists: rows that meet the conditions asked for, in an order, a page of them. Two queries beside lookups and includes. */
import { Effect } from "effect"
import { customFieldFacts, searchableCustomFields } from "./custom-field.ts"
import { requestedView, selectColumns, viewConditions, viewOrder, viewSql } from "./custom-view.ts"
import type { Failure } from "./failure.ts"
import type { JsonObject } from "./json.ts"
import { conditionsOf, conditionSql, includesOf, type Listing, pageOf, type Query, sortOf, valueOf } from "./query.ts"
import { render } from "./render.ts"
import type { Resource, ViewContext } from "./resource-types.ts"
import type { Where } from "./row-change.ts"
import { bindings, chunked, columnList, orderSql, quote, whereSql } from "./store/statement.ts"
import { Store } from "./store/store.ts"
import { caseFoldedName, isSearchable, type Table } from "./table.ts"

export interface ListOptions {
  /** A condition beside those of the request: rows of one parent. */
  readonly where?: Where
  readonly order?: ReadonlyArray<string>
  readonly page_default?: number
  readonly page_max?: number
  /** Everything at once; meta still counts (rules/conventions 2). */
  readonly unpaged?: boolean
}

/** The list for a query: `{[plural]: rows, meta: {total, per_page, page}}`. Two queries beside lookups and includes. */
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
  // Beyond the first page only ids are sorted and skipped, not all columns.
  const key = quote(resource.table.key)
  const page =
    options.unpaged === true || paging.page === 1
      ? `select ${columnList(resource.table)}${from} order by ${order}${limit}`
      : `select ${columnList(resource.table)} from (select ${key} as "key_of_page"${from} order by ${order}${limit}) as "page" ` +
        `join ${quote(resource.table.name)} on ${key} = "key_of_page" order by ${order}`
  const rows = (yield* store.run(page, bound.values)).map((row) => store.decode(resource.table, row))
  // A first page that is not full needs no count.
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
