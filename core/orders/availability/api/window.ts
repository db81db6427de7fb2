/** The time span of a request: dates read in the store's time zone (rules/availability 4 and 6.3). */
import { Effect } from "effect"
import { hasAbility, hasOnePermission, integer, invalidField, Shown, Store, text } from "../../../kernel/index.ts"
import type { AnyRow, FieldErrors, Json, JsonObject, Rejection, ViewContext } from "../../../kernel/index.ts"
import { dayOfMoment, daysInclusive, inOrder, type LocalMoment, momentOf, type Period } from "../../../values/period.ts"
import { KitNestedTooDeep } from "../rules/kits.ts"
import { KitTooLarge } from "../rules/line-demands.ts"
import { type Buffers, noBuffers, TooManySlots } from "../rules/demand.ts"
import { type DemandRow, demands } from "../../demands/schema.ts"
import { type AvailableAsset, availableAssets, pointAvailability } from "../rules/days.ts"
import { loadSnapshot, loadSnapshots, type SnapshotContext } from "../facts/load.ts"
import { boundInstant, loadStockedProducts } from "../facts/load-products.ts"
import { millisOf } from "../../../values/time.ts"
import type { AvailabilitySnapshot } from "../rules/snapshot.ts"
import type { LineRequest } from "../rules/line.ts"
import { stores } from "../../../setup/stores.ts"

const isSent = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && (typeof value !== "string" || value.trim() !== "")
const isPlainDate = (value: Json | undefined): boolean =>
  typeof value === "string" && /^\s*\d{4}-\d{2}-\d{2}\s*$/.test(value)
const reversed_text = "The to field must be a date on or after from."

/** 422 on `to` before `from`, where that can be decided without the store's time zone. */
export const inOrderCheck = (values: JsonObject, body: JsonObject): FieldErrors =>
  isPlainDate(body["from"]) === isPlainDate(body["to"]) &&
  typeof values["from"] === "string" &&
  typeof values["to"] === "string" &&
  values["to"] < values["from"]
    ? { to: [reversed_text] }
    : {}

/** 422 unless either `date`, or both `from` and `to` are given. */
export const dateOrRangeCheck = (values: JsonObject, body: JsonObject): FieldErrors => {
  const [date, from, to] = [isSent(body["date"]), isSent(body["from"]), isSent(body["to"])]
  if (date) {
    const both = (name: string): ReadonlyArray<string> => [`The ${name} field cannot be given together with date.`]
    return { ...(from ? { from: both("from") } : {}), ...(to ? { to: both("to") } : {}) }
  }
  if (!from && !to) return { date: ["The date field is required unless from and to are given."] }
  return {
    ...(from ? {} : { from: ["The from field is required when to is given."] }),
    ...(to ? {} : { to: ["The to field is required when from is given."] }),
    ...inOrderCheck(values, body)
  }
}

/** The moment in a validated field; a plain date stays known as such. */
export const momentIn = (body: JsonObject, name: string, zone: string): LocalMoment => {
  const moment = momentOf(String(body[name]), zone)
  if (moment === undefined) throw new Error(`${name} was checked and is no date`)
  return moment
}

export interface Span {
  readonly from: LocalMoment
  readonly to: LocalMoment
}
/** The span from `from` to `to`; 422 on `to` if it is before `from` or more than `days_max` days after it. */
export const spanIn = (
  body: JsonObject,
  zone: string,
  days_max = Number.POSITIVE_INFINITY
): Effect.Effect<Span, Rejection> => {
  const span = { from: momentIn(body, "from", zone), to: momentIn(body, "to", zone) }
  if (span.to.at < span.from.at) return Effect.fail(invalidField("to", reversed_text))
  return daysInclusive(dayOfMoment(span.from, zone), dayOfMoment(span.to, zone)) - 1 > days_max
    ? Effect.fail(invalidField("to", tooLong(days_max)))
    : Effect.succeed(span)
}

/** Message for a window over the limit, with the limit and its setting. */
export const tooLong = (days_max: number): string =>
  `The window must not be longer than ${days_max} days (setting availability.span_max_days).`

const marginMillis = 2 * 86_400_000
/** The window with two days added on both sides, which includes every slot and local day that meets it. */
export const withMargin = ({ from, to }: Period): Period => ({ from: from - marginMillis, to: to + marginMillis })

/** Runs a calculation; fails with 422 on these fields for too many slots and for kits too deep or too large. */
export const rejectingLimits = <A>(
  count: () => A,
  fields: { readonly window: string; readonly product: string } = { window: "to", product: "product_id" }
): Effect.Effect<A, Rejection> => {
  try {
    return Effect.succeed(count())
  } catch (thrown) {
    if (thrown instanceof TooManySlots) return Effect.fail(invalidField(fields.window, thrown.message))
    if (thrown instanceof KitNestedTooDeep || thrown instanceof KitTooLarge)
      return Effect.fail(invalidField(fields.product, thrown.message))
    throw thrown
  }
}

// Queries for the free units of a product, and for demands that prevent an allocation.

/** Units of a product at a store without a demand in the window, widened by the product's buffers; by id. */
export const freeAssets = Effect.fnUntraced(function* (
  product_id: number,
  store_id: number,
  window: Period,
  context: SnapshotContext
): Store.Reads<ReadonlyArray<AvailableAsset>> {
  const product: Buffers = (yield* loadStockedProducts([product_id])).get(product_id) ?? noBuffers
  const snapshot = yield* loadSnapshot(
    store_id,
    {
      product_ids: [product_id],
      window: withMargin({
        from: window.from - product.before_minutes * 60_000,
        to: window.to + product.after_minutes * 60_000
      })
    },
    context
  )
  return availableAssets(snapshot, product_id, window)
})

/**
 * Active demands that prevent reserving these units in [from, to), overdue ones included; by unit, then start. Instants
 * are ISO 8601; the window includes the caller's own buffers. `except` leaves out one source, such as the line being
 * allocated.
 */
export const assetConflicts = Effect.fnUntraced(function* (
  asset_ids: ReadonlyArray<number>,
  window: { readonly from: string; readonly to: string },
  now: string,
  except?: { readonly source_type: string; readonly source_id: number }
): Store.Reads<ReadonlyArray<DemandRow>> {
  if (asset_ids.length === 0) return []
  const to = window.to > window.from ? window.to : boundInstant(Date.parse(window.from) + 1)
  const rows = yield* Store.select(
    demands,
    (sql) => sql`where asset_id in ${sql.in(asset_ids)} and is_active = true
    and reaches_to > ${window.from} and buffered_starts_at < ${to}
    and (buffered_ends_at > ${window.from} or ("out" = true and ends_at < ${now})) order by asset_id, starts_at, id`
  )
  return rows.filter(
    (demand) =>
      except === undefined || demand.source_type !== except.source_type || demand.source_id !== except.source_id
  )
})

// Loads the stock that opportunity lines take from (rules/availability 6.8).

/** A line with a product, and its window (`lineWindow`) and store (`storeOfLine`). */
export interface LineAtStore extends LineRequest {
  readonly store_id: number
}

/** The span of all lines, with `withMargin`. */
export const spanOf = (lines: ReadonlyArray<LineAtStore>): Period => {
  const windows = lines.map((line) => inOrder({ from: millisOf(line.starts_at), to: millisOf(line.ends_at) }))
  return withMargin({
    from: windows.reduce((first, { from }) => Math.min(first, from), Number.POSITIVE_INFINITY),
    to: windows.reduce((last, { to }) => Math.max(last, to), Number.NEGATIVE_INFINITY)
  })
}

/**
 * Snapshots of all stores that the lines take from, over the span of all lines, in a fixed number of queries. `read`:
 * all demands of one opportunity, which are not read again. `enough`: products to leave out, where it holds at all of
 * these stores; stores and span stay those of all lines, as a line may get the product, store or days of another.
 */
export const snapshotsForLines = Effect.fnUntraced(function* (
  lines: ReadonlyArray<LineAtStore>,
  context: SnapshotContext,
  read?: Parameters<typeof loadSnapshots>[0]["read"],
  enough: (line: LineAtStore) => boolean = () => false
): Store.Reads<ReadonlyMap<number, AvailabilitySnapshot>> {
  const store_ids = [...new Set(lines.map((line) => line.store_id))]
  const asking = lines.filter((line) => !store_ids.every((store_id) => enough({ ...line, store_id })))
  if (asking.length === 0) return new Map()
  return yield* loadSnapshots(
    { store_ids, product_ids: [...new Set(asking.map((line) => line.product_id))], window: spanOf(lines), read },
    context
  )
})

// An include of products: the quantity available now at each store with stock; for kits, by their parts.

export const free_shown = Shown.objects({ store_id: integer(), store_name: text(), available: integer() })

/** `pointAvailability`, but undefined for kits that are nested too deeply. */
const pointOrNothing = (snapshot: AvailabilitySnapshot, product_id: number, at: number) => {
  try {
    return pointAvailability(snapshot, product_id, at)
  } catch (thrown) {
    if (thrown instanceof KitNestedTooDeep) return undefined
    throw thrown
  }
}

const maySee = (viewer: ViewContext["viewer"]): boolean =>
  hasOnePermission(viewer, "availability.view") && hasAbility(viewer, "availability:read")

/**
 * Returns a function from a product row to its availability now, by store; stores without its stock and demands are
 * absent. Empty for services, and for viewers who may not see availability.
 */
export const freeNow = Effect.fnUntraced(function* (
  rows: ReadonlyArray<AnyRow>,
  context: SnapshotContext & Pick<ViewContext, "viewer">
): Store.Reads<(row: AnyRow) => typeof free_shown.Type> {
  const product_ids = rows.flatMap((row) => (row["product_type"] === "service" ? [] : [Number(row["id"])]))
  if (product_ids.length === 0 || !maySee(context.viewer)) return () => []
  const places = yield* Store.find(stores, { include_in_default_queries: true }, { order: ["id"] })
  const at = millisOf(context.now)
  const snapshots = yield* loadSnapshots(
    { store_ids: places.map(({ id }) => id), product_ids, window: withMargin({ from: at, to: at }) },
    context
  )
  const is_asked = new Set(product_ids)
  return (row) =>
    is_asked.has(Number(row["id"]))
      ? places.flatMap(({ id, name }) => {
          const snapshot = snapshots.get(id)
          if (snapshot === undefined) return []
          const found = pointOrNothing(snapshot, Number(row["id"]), at)
          return found === undefined || (found.total_stock === 0 && found.total_demanded === 0)
            ? []
            : [{ store_id: id, store_name: name, available: found.available }]
        })
      : []
})
