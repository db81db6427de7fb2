/** Resources: how rows are listed, shown and put into words. One mechanism for all of them. */
import { Effect } from "effect"
import type { ViewColumns } from "./custom-view.ts"
import type { Answer } from "./endpoint-types.ts"
import type { StoreRead } from "./failure.ts"
import type { Field } from "./field.ts"
import type { JsonObject } from "./json.ts"
import type { FlagFilter } from "./declared-filters.ts"
import type { NamedFilterValue, RelatedFilter } from "./query.ts"
import type { Includes, PeoplesNames, RelatedRow, RelatedRows, Resource, ViewContext } from "./resource-types.ts"
import type { Keys } from "./shown.ts"
import type { RowOf, Table } from "./table.ts"

export type { Include, RelatedRow, RelatedRows, Resource, ViewContext } from "./resource-types.ts"
export { listOf, type ListOptions, unpagedMeta } from "./listing.ts"
export { baseView, fieldOut, type One, render, renderById, renderOne, viewContext } from "./render.ts"

type Draft<T extends Table, L extends { readonly [name: string]: RelatedRow }, X, N extends string> = {
  readonly singular: N
  readonly plural?: string
  readonly table: T
  readonly filters?: ReadonlyArray<keyof T["columns"] & string>
  readonly sorts?: ReadonlyArray<keyof T["columns"] & string>
  readonly aliases?: { readonly [name: string]: string }
  readonly related?: { readonly [name: string]: RelatedFilter }
  readonly value_names?: { readonly [column: string]: ReadonlyArray<NamedFilterValue> }
  readonly flags?: { readonly [name: string]: FlagFilter }
  readonly lookups?: L
  readonly includes?: Includes
  readonly custom_module?: string
  readonly order?: ReadonlyArray<string>
  readonly lists_archived?: boolean
  readonly entity_type?: string
  readonly columns?: ViewColumns
  readonly shows?: Keys
  readonly hides?: ReadonlyArray<string>
  readonly title?: string
  readonly called?: PeoplesNames<keyof T["columns"] & string>
  readonly heading?: string
  readonly load?: (rows: ReadonlyArray<RowOf<T>>, context: ViewContext) => StoreRead<X>
  readonly view?: (
    base: JsonObject,
    row: RowOf<T>,
    found: RelatedRows<L>,
    context: ViewContext,
    loaded: X
  ) => JsonObject
}
const viewsOf =
  <T extends Table, L extends { readonly [name: string]: RelatedRow }, X, N extends string>({
    load,
    view
  }: Draft<T, L, X, N>): Resource<T>["views"] =>
  (rows, context) => {
    if (view === undefined) return Effect.succeed((base) => base)
    // Without `load` nothing is loaded: X is undefined, its default. Lookups are found under the names in `lookups`.
    const loading: StoreRead<X> = load === undefined ? Effect.succeed(undefined as X) : load(rows, context)
    return Effect.map(
      loading,
      (loaded) => (base, row, related) => view(base, row, related as RelatedRows<L>, context, loaded)
    )
  }

/**
 * Declares a resource. Every filterable text must be searchable, or `cont` could not ignore case alike on both engines.
 */
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
    if (field.type.kind === "text" && !field.type.search && field.type.folded !== true && field.type.max > 10)
      throw new Error(`${draft.singular}.${name} is filtered but not searchable`)
  }
  for (const name of draft.called?.by ?? [])
    if (draft.filters?.includes(name) !== true)
      throw new Error(`${draft.singular} is called by ${name}, which is no filter`)
  return {
    singular: draft.singular,
    plural: draft.plural ?? draft.table.name,
    table: draft.table,
    filters: ["id", ...(draft.filters ?? [])],
    sorts: ["id", ...(draft.sorts ?? [])],
    aliases: draft.aliases ?? {},
    related: draft.related ?? {},
    value_names: draft.value_names ?? {},
    flags: draft.flags ?? {},
    lookups: draft.lookups ?? {},
    includes: draft.includes ?? {},
    custom_module: draft.custom_module,
    order: draft.order ?? ["id"],
    lists_archived: draft.lists_archived ?? false,
    entity_type: draft.entity_type ?? draft.table.name,
    columns: draft.columns ?? {},
    shows: draft.shows ?? {},
    hides: draft.hides ?? [],
    title: draft.title,
    called: draft.called,
    heading: draft.heading,
    views: viewsOf(draft)
  }
}

export const ok = <const A>(body: A): Answer<A> => ({ status: 200, body })
export const created = <const A>(body: A): Answer<A> => ({ status: 201, body })
/** `ok` or `created`. */
export type Status = <const A>(body: A) => Answer<A>
/** A good answer with more in its body. */
export const withMore = <A, const M>(answer: Answer<A>, more: M): Answer<A & M> =>
  answer.body === undefined ? (answer as Answer<never>) : { ...answer, body: { ...answer.body, ...more } }
export const noContent: Answer<never> = { status: 204 }
