/**
 * Types of response bodies by key and of rows by path, from the resources' declarations. Nothing is checked at run
 * time.
 */
import type { Row, RowOfList, RowsByName, Singulars } from "../cli/base/answers.ts"
import type { AsJson, BodyShown, JsonObject, KeysShown, ValueShown } from "../core/kernel/fields/field.ts"
import type { AnswerRow, Resource } from "../core/kernel/lists/resource-types.ts"
import type * as answers from "../core/orders/availability/api/answers.ts"
import type { Table } from "../core/kernel/tables/table.ts"

type TableRow<T extends Table> = AnswerRow<Resource<T>>
/** Rows of a field declared as a list of objects. */
type Each<S> = ValueShown<S> extends ReadonlyArray<infer One> ? One : never
type Availability = ValueShown<(typeof answers.pointOrRangeShown)["availability"]>
/** Availability of an opportunity's line. */
type LineAvailability = { readonly [key in "from" | "to"]: string } & { readonly has_shortage: boolean } & {
  readonly [key in "available_for_item" | "opportunity_item_id" | "product_id" | "shortage_quantity"]: number
} & { readonly requested_quantity: number }
/** Rows of lists that no command reads, by the list's key. */
interface TestLists {
  readonly accessories: AnswerRow<typeof import("../core/products/kits/api.ts").accessoryResource>
  readonly actions: import("../core/people/activity-log.ts").AuditEntry
  readonly assets: AnswerRow<typeof import("../core/orders/opportunities/state/resources.ts").assignmentResource>
  readonly available_assets: Each<(typeof answers.availableAssetsShown)["available_assets"]>
  readonly available_actions: { readonly key: string; readonly code: string | null; readonly allowed: boolean }
  readonly calendar_feeds: { readonly scope: string; readonly name: string; readonly url: string } & {
    readonly user_id: number | null
    readonly with: ReadonlyArray<string>
  }
  readonly components: TableRow<typeof import("../core/products/kits/schema.ts").product_components>
  readonly custom_views: TableRow<typeof import("../core/kernel/lists/custom-view.ts").custom_views>
  readonly endpoints: { readonly [key in "method" | "name" | "operation" | "resource" | "uri"]: string } & {
    readonly price_weight: number
  }
  readonly exchange_rates: { readonly id: number; readonly rate: string; readonly target_currency_code: string }
  readonly explanation: KeysShown<typeof import("../core/pricing/explain/explain-step.ts").stepShown>
  readonly lease: import("../sync/protocol/wire.ts").LeaseRange
  readonly notification_preferences: Each<typeof import("../core/office/notifications/fields.ts").preferences_shown>
  readonly notification_settings: Each<typeof import("../core/office/notifications/fields.ts").settings_shown>
  readonly product_groups: TableRow<typeof import("../core/products/products/api.ts").product_groups> & {
    readonly parent: { readonly id: number; readonly name: string } | null
  }
  readonly rate_definitions: TableRow<typeof import("../core/products/rates/product-rates.ts").rate_definitions>
  readonly request_logs: TableRow<typeof import("../server/operations/metering/metered.ts").request_logs>
  readonly results: Each<(typeof import("../core/imports/fields.ts").verdictsShown)["results"]>
  readonly setup: { readonly what: string; readonly state: string }
  readonly shortages: RowOfList<"shortages"> & Each<(typeof answers.sweepShown)["shortages"]>
  readonly stock_transactions: TableRow<typeof import("../core/products/stock/schema.ts").stock_transactions> & {
    readonly transaction_type_name: string
  }
  readonly tax_rates: RowOfList<"tax_rates">
  /** With the secret in the response that issues one. */
  readonly tokens: AnswerRow<typeof import("../server/access/tokens/api.ts").tokenResource> & {
    readonly secret: string
  }
  readonly usage: { readonly key: string; readonly label: string | null } & {
    readonly [key in "request_count" | "weighted_units"]: number
  }
  readonly verdicts: import("../sync/protocol/wire.ts").Verdict
  readonly versions: AnswerRow<typeof import("../core/orders/opportunities/state/resources.ts").versionResource>
}
/** Objects by key that are not rows of resources. */
interface TestObjects extends BodyShown<typeof answers.calendarShown & typeof answers.ganttShown> {
  /** For a day, or for a range with its slots. */
  readonly availability: Extract<Availability, { readonly date: unknown }> &
    Extract<Availability, { readonly slots: unknown }>
  readonly today: Row<"today">
  readonly what_if: Row<"what_if">
}

/** Rows, of which tests may index the first ones. */
type Some<R> = readonly [R, R, R, R, R, R, ...ReadonlyArray<R>]
/** A row as in the response to a change: complete, with its lists. */
export type Complete<R> = {
  readonly [K in keyof R]-?: NonNullable<R[K]> extends ReadonlyArray<infer One>
    ? Some<One extends object ? Complete<One> : One>
    : R[K]
}
/** Other keys, and nested paths, have no type. */
type Untyped = any
type Declared<R> = JsonObject extends R ? Untyped : Complete<R>
/** A row of the list with this key. */
export type Listed<Plural extends string> = Plural extends keyof TestLists
  ? Complete<AsJson<TestLists[Plural]>>
  : Declared<RowOfList<Plural>>
/** Rows of the list with this key, else the object. */
type Named<Key extends string> = Key extends keyof TestLists
  ? Some<Listed<Key>>
  : Key extends keyof TestObjects
    ? Complete<AsJson<TestObjects[Key]>>
    : JsonObject extends RowOfList<Key>
      ? Declared<Row<Key>>
      : Some<Listed<Key>>
/** Type of a GET's result by path: the rows of a list, or a row. */
export type ShownAt<Path extends string> = Path extends `${infer Before}?${string}`
  ? ShownAt<Before>
  : Path extends `/${string}/${string}/${string}/${string}/${infer Key}`
    ? Named<Key>
    : Path extends `/opportunities/${string}/availability`
      ? Some<LineAvailability>
      : Path extends `/availability/${infer Key}`
        ? Named<Key>
        : Path extends `/${string}/${string}/${infer Key}`
          ? Named<Key>
          : Path extends `/${infer Plural}/${string}`
            ? Plural extends "settings"
              ? Untyped
              : Listed<Plural>
            : Path extends `/${infer Key}`
              ? Named<Key>
              : Untyped
/** Type of the row that a POST to a path creates. */
export type MadeAt<Path extends string> = Path extends `/${string}/${string}`
  ? Untyped
  : Path extends `/${infer Plural}`
    ? Listed<Plural>
    : Untyped

type Bodies = { readonly [Key in Exclude<keyof RowsByName, "activity">]: Complete<Row<Key>> } & {
  readonly [Key in keyof Singulars | keyof TestLists]: Some<Listed<Key>>
} & { readonly [Key in keyof TestObjects]: Named<Key> }
/** A response body: rows by key, and any other values. */
export interface Body extends Bodies {
  readonly [key: string]: Untyped
}
/** Types a body as its declarations say; nothing is checked. */
export const bodyRead = (body: Untyped): Body => body
