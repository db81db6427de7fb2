/**
 * Types of resources: how rows of a table are listed, rendered and embedded in each other. `resource.ts` declares,
 * `render.ts` renders, `query.ts` lists.
 */
import type { ViewColumns } from "./custom-view.ts"
import type { StoreRead } from "../store/store.ts"
import type { AsJson, Json, JsonObject, Keys, KeysShown, Part, ValueShown } from "../fields/field.ts"
import type { FlagFilter } from "./filter-target.ts"
import type { NamedFilterValue, Query, RelatedFilter } from "./query.ts"
import type { Settings } from "../events/settings.ts"
import type { AnyRow, RowOf, Table, Where } from "../tables/table.ts"
import type { Viewer } from "../fields/rejection.ts"

/** Viewer and settings for rendering an answer. */
export interface ViewContext {
  readonly viewer: Viewer
  readonly settings: Settings
  readonly now: string
  readonly base_currency: string
  readonly composed: Composed
}

/** A related row that every response needs (a group's name), loaded for all rows of a page at once. */
export interface RelatedRow {
  readonly via: string
  readonly table: Table
  /** Columns that views read, besides the id; all by default. */
  readonly columns?: ReadonlyArray<string>
}
export type RelatedRows<L> = {
  readonly [K in keyof L]: (L[K] extends { readonly table: infer T extends Table } ? RowOf<T> : AnyRow) | undefined
}

/** A related object, embedded on request. */
export type Include =
  /** `{id, name}` of the row whose id is in the column `via`. */
  | { readonly kind: "brief"; readonly via: string; readonly table: Table; readonly name?: string }
  /** `is_known`: whether the viewer has more than the existence of the row. */
  | {
      readonly kind: "one"
      readonly via: string
      readonly resource: () => Resource
      readonly is_known?: (row: AnyRow) => boolean
    }
  /** Rows whose `via` column refers to this one. `empty`: the value without the include (null by default). */
  | {
      readonly kind: "many"
      readonly via: string
      readonly resource: () => Resource
      readonly where?: Where
      readonly order?: ReadonlyArray<string>
      readonly empty?: Json
    }
  /** Computed for all rows of a page at once; the key is absent unless included. */
  | {
      readonly kind: "worked_out"
      readonly shown: Part
      readonly of: (rows: ReadonlyArray<AnyRow>, context: ViewContext) => StoreRead<(row: AnyRow) => Json>
    }
  /** Keys of the row itself, computed for a page at once: always present on single resources, in lists on request. */
  | {
      readonly kind: "keys"
      readonly shows: Keys
      readonly of: (rows: ReadonlyArray<AnyRow>, context: ViewContext) => StoreRead<(row: AnyRow) => JsonObject>
    }
  /** Always present under `key`; requesting it changes nothing. */
  | { readonly kind: "always"; readonly key: string }

/** Names that users may enter in place of a row's id. */
export interface PeoplesNames<Column extends string = string> {
  /** List filters that identify a row, in the order they are tried. */
  readonly by: ReadonlyArray<Column>
  /** Query that prefers rows in use if several have the name. */
  readonly in_use?: Query
}

/** `N`: the key of a single row. `K`: response keys that differ from the columns. */
export interface Resource<T extends Table = Table, out N extends string = string, out K = {}> {
  readonly _keys?: K
  readonly singular: N
  readonly plural: string
  readonly table: T
  readonly filters: ReadonlyArray<string>
  readonly sorts: ReadonlyArray<string>
  readonly aliases: { readonly [name: string]: string }
  readonly related: { readonly [name: string]: RelatedFilter }
  readonly value_names: { readonly [column: string]: ReadonlyArray<NamedFilterValue> }
  readonly flags: { readonly [name: string]: FlagFilter }
  readonly lookups: { readonly [name: string]: RelatedRow }
  readonly includes: Includes
  readonly custom_module: string | undefined
  readonly order: ReadonlyArray<string>
  /** Lists return deleted rows, too, with `archived=with`, and those alone with `archived=only`. */
  readonly lists_archived: boolean
  /** Name of the resource in saved views. */
  readonly entity_type: string
  /** Columns of saved views that responses do not have under that name. */
  readonly columns: ViewColumns
  /** Response keys that rendering adds or replaces. */
  readonly shows: Keys
  /** Columns and includes that responses omit. */
  readonly hides: ReadonlyArray<string>
  /** Title of a row in the API description; derived from the singular by default. */
  readonly title: string | undefined
  /** Undefined if rows can only be named by id. */
  readonly called: PeoplesNames | undefined
  /** Heading in lists of all nouns; undefined if it has none of its own. */
  readonly heading: string | undefined
  /**
   * Loads whatever else the rows of one page need, and returns the function that renders a row. A method, so that lists
   * may hold resources of any table.
   */
  views(rows: ReadonlyArray<RowOf<T>>, context: ViewContext): StoreRead<RowView>
}
/**
 * Renders row `at` of the page. `base`: its columns and includes, to which keys may be added; `related`: the rows of
 * the resource's lookups.
 */
type RowView = (
  base: { [key: string]: Json },
  at: number,
  related: RelatedRows<{ readonly [name: string]: RelatedRow }>
) => JsonObject

export type Includes = { readonly [name: string]: Include }
type IncludeShown<I> = I extends { readonly kind: "brief" }
  ? { readonly id: number; readonly name: string | null } | null
  : I extends { readonly kind: "one"; readonly resource: () => infer R }
    ? AnswerRow<R> | null
    : I extends { readonly kind: "many"; readonly resource: () => infer R }
      ? ReadonlyArray<AnswerRow<R>> | null
      : I extends { readonly kind: "worked_out"; readonly shown: infer S }
        ? ValueShown<S>
        : never
/** Absent unless included. */
type IncludedKeys<I> = {
  readonly [N in keyof I as I[N] extends { readonly kind: "always" | "keys" } ? never : N]?: IncludeShown<I[N]>
}
/** The keys a resource adds to its columns: what its view shows and what can be included. */
export type KeysOf<S extends Keys, I> = Omit<IncludedKeys<I>, keyof S> & KeysShown<S>
/** A row of a resource in answers, without includes of other slices; keys that permissions hide count as present. */
export type AnswerRow<R> =
  R extends Resource<infer T, string, infer K> ? AsJson<Omit<ColumnsShown<T["columns"]>, keyof K> & K> : never
type ColumnsShown<F> = { readonly [N in keyof F as string extends N ? never : N]: ValueShown<F[N]> }
/**
 * A resource as a catalogue composes it, with the includes that other slices declare on it. Resources without additions
 * are returned unchanged.
 */
export type Composed = <R extends ShownResource>(declared: R) => R
/** For use without a catalogue, or if no slice adds includes to other slices' resources. */
export const as_declared: Composed = (declared) => declared

/** Parts of a resource that the API description needs, for any row type. */
export type ShownResource = Pick<
  Resource,
  | "singular"
  | "plural"
  | "title"
  | "table"
  | "filters"
  | "sorts"
  | "value_names"
  | "aliases"
  | "related"
  | "includes"
  | "custom_module"
  | "entity_type"
  | "lists_archived"
  | "columns"
  | "shows"
  | "hides"
>
