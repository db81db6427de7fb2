/** Rules of inspections: when a unit's next one is due, and the list of those due (rules/inspections). */
import { Effect, Result } from "effect"
import { bindings, picked, referredRows, reject, settingText, Store, updatedEvents } from "../../kernel/index.ts"
import type { DecideContext, Input, NewEvent, SaveInput, SaveResult } from "../../kernel/index.ts"
import { products, serialised } from "../../products/products/schema.ts"
import { type StockLevelRow, stock_levels, unit_category } from "../../products/stock/schema.ts"
import { stores } from "../../setup/stores.ts"
import { instantOf, instantOfWall, isInFuture, millisOf, wallOf, zoneOf } from "../../values/time.ts"
import type { DuesAsked, DueShown, InspectionRow, IntervalRow } from "./schema.ts"
import { inspection_intervals, inspection_kinds, inspections } from "./schema.ts"

/** The same day and time some months later, by the clock of the zone; the last day of a shorter month. */
const monthsAfter = (at: string, months: number, zone: string): string => {
  const wall = wallOf(millisOf(at), zone)
  const from = new Date(wall)
  const [year, month] = [from.getUTCFullYear(), from.getUTCMonth() + months]
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const day = Math.min(from.getUTCDate(), last)
  const of_day = wall - Date.UTC(year, from.getUTCMonth(), from.getUTCDate())
  return instantOf(instantOfWall(Date.UTC(year, month, day) + of_day, zone))
}

type Level = Pick<StockLevelRow, "stock_category" | "is_sub_hired" | "created_at">
type Latest = Pick<InspectionRow, "inspection_kind_id" | "result" | "due_at">
/**
 * Time from which the unit lacks an inspection that its product needs, or failed one; null if there is none. `latest`:
 * its newest inspection of each kind.
 */
export const inspectionDueAt = (
  level: Level,
  intervals: ReadonlyArray<Pick<IntervalRow, "inspection_kind_id" | "first_due_at">>,
  latest: ReadonlyArray<Latest>
): string | null => {
  if (level.stock_category !== unit_category || level.is_sub_hired) return null
  const needed = intervals.map(({ first_due_at, inspection_kind_id }) => {
    const last = latest.find((one) => one.inspection_kind_id === inspection_kind_id)
    if (last !== undefined) return last.due_at
    return first_due_at === null || first_due_at < level.created_at ? level.created_at : first_due_at
  })
  const failed = latest.filter(({ result }) => result === "fail").map(({ due_at }) => due_at)
  return [...needed, ...failed].reduce(
    (first, one) => (first === null || (one !== null && one < first) ? one : first),
    null
  )
}
const dueChanged = (level: StockLevelRow, ...of: [ReadonlyArray<IntervalRow>, ReadonlyArray<Latest>]) => {
  return updatedEvents(stock_levels, level, { inspection_due_at: inspectionDueAt(level, ...of) })
}

// Recording and deleting an inspection.

/** Facts about a unit and its inspections. */
interface UnitFacts {
  readonly level: StockLevelRow | undefined
  /** Time zone of its store; null: the company's. */
  readonly timezone: string | null
  readonly intervals: ReadonlyArray<IntervalRow>
  readonly latest: ReadonlyArray<InspectionRow>
  /** Usual months between inspections of the kind. */
  readonly kind_months: number
  /** Newest inspection of the kind besides the row to delete. */
  readonly other: InspectionRow | undefined
}
export const loadUnit = Effect.fnUntraced(function* (
  stock_level_id: number,
  inspection_kind_id: number,
  without: number | undefined
): Store.Reads<UnitFacts> {
  const level = yield* Store.get(stock_levels, stock_level_id)
  const kind = yield* Store.get(inspection_kinds, inspection_kind_id)
  const newest = yield* Store.find(
    inspections,
    { stock_level_id, inspection_kind_id },
    { order: ["-inspected_at", "-id"], limit: 2 }
  )
  const place = level === undefined ? undefined : yield* Store.get(stores, level.store_id)
  return {
    level,
    timezone: place?.timezone ?? null,
    intervals: level === undefined ? [] : yield* Store.find(inspection_intervals, { product_id: level.product_id }),
    latest: yield* Store.find(inspections, { stock_level_id, is_latest: true }),
    kind_months: kind?.interval_months ?? 12,
    other: newest.find(({ id }) => id !== without)
  }
})

/**
 * Completes a new inspection: newest of its kind unless a later one is known, and due after the interval. 422:
 * `stock_level_id` for bulk stock and units that are gone, `inspected_at`, `due_at`.
 */
export const saveInspection = (
  next: InspectionRow,
  { intervals, kind_months, latest, level, other, timezone }: UnitFacts,
  context: DecideContext
): SaveResult<typeof inspections> => {
  if (level === undefined || level.stock_category !== unit_category)
    return reject("stock_level_id", "Only single units are inspected; these goods are counted.")
  if (level.is_gone) return reject("stock_level_id", "The unit is no longer in stock.")
  const inspected_at = next.inspected_at ?? context.happened_at
  if (isInFuture(inspected_at, context.now))
    return reject("inspected_at", "The inspected at field must not be in the future; record it when it happens.")
  if (next.due_at !== null && next.due_at <= inspected_at)
    return reject("due_at", "The due at field must be a date after the inspection.")
  if (next.due_at !== null && next.result === "fail")
    return reject("due_at", "A failed unit is due at once; leave out the due at field.")
  const interval = intervals.find((one) => one.inspection_kind_id === next.inspection_kind_id)
  const is_latest = other === undefined || (other.inspected_at ?? "") <= inspected_at
  const months = interval?.interval_months ?? kind_months
  const zone = zoneOf(timezone || settingText(context.settings, "company", "timezone"))
  const set = {
    inspected_at,
    due_at: next.result === "fail" ? inspected_at : (next.due_at ?? monthsAfter(inspected_at, months, zone)),
    is_latest,
    created_by_user_id: context.viewer.user_id || null
  }
  if (!is_latest) return Result.succeed({ set })
  const before = other === undefined ? [] : updatedEvents(inspections, other, { is_latest: false })
  const now_latest = [
    ...latest.filter(({ inspection_kind_id }) => inspection_kind_id !== next.inspection_kind_id),
    { ...next, ...set }
  ]
  return Result.succeed({ set, also: [...before, ...dueChanged(level, intervals, now_latest)] })
}

/** Events after deleting an inspection: the one before it is the newest again. */
export const afterDeleting = (
  row: InspectionRow,
  { intervals, latest, level, other }: UnitFacts
): ReadonlyArray<NewEvent> => {
  // By what was read under the unit's lock: another deletion may have made it the newest meanwhile.
  if (!latest.some(({ id }) => id === row.id)) return []
  const others = latest.filter(({ id }) => id !== row.id)
  return [
    ...(other === undefined ? [] : updatedEvents(inspections, other, { is_latest: true })),
    ...(level === undefined ? [] : dueChanged(level, intervals, other === undefined ? others : [...others, other]))
  ]
}

// Intervals of a product.

/** Facts about the units of a product that are in stock. */
interface ProductFacts {
  readonly is_serialised: boolean
  readonly levels: ReadonlyArray<StockLevelRow>
  readonly intervals: ReadonlyArray<IntervalRow>
  readonly latest: ReadonlyMap<number, ReadonlyArray<InspectionRow>>
}
export const loadProduct = Effect.fnUntraced(function* (product_id: number): Store.Reads<ProductFacts> {
  const product = yield* Store.get(products, product_id)
  const levels = yield* Store.find(stock_levels, { product_id, stock_category: unit_category, is_gone: false })
  const latest = yield* Store.find(inspections, { stock_level_id: levels.map(({ id }) => id), is_latest: true })
  return {
    is_serialised: product?.stock_method === serialised,
    levels,
    intervals: yield* Store.find(inspection_intervals, { product_id }),
    latest: Map.groupBy(latest, ({ stock_level_id }) => stock_level_id)
  }
})
const duesOf = ({ latest, levels }: ProductFacts, intervals: ReadonlyArray<IntervalRow>): ReadonlyArray<NewEvent> =>
  levels.flatMap((level) => dueChanged(level, intervals, latest.get(level.id) ?? []))

export const saveInterval = ({
  context,
  facts,
  next
}: Pick<SaveInput<typeof inspection_intervals, ProductFacts>, "context" | "facts" | "next">): SaveResult<
  typeof inspection_intervals
> => {
  if (!facts.is_serialised) return reject("product_id", "Only products tracked by unit are inspected.")
  const first_due_at = next.first_due_at ?? context.now
  const others = facts.intervals.filter(({ id }) => id !== next.id)
  return Result.succeed({ set: { first_due_at }, also: duesOf(facts, [...others, { ...next, first_due_at }]) })
}
export const afterDeletingInterval = (row: IntervalRow, facts: ProductFacts): ReadonlyArray<NewEvent> =>
  duesOf(
    facts,
    facts.intervals.filter(({ id }) => id !== row.id)
  )

// The list of units that are due.

/** Inspections that units need and failed ones without an interval, by due date; `is_latest` ones with their result. */
export const loadDues = Effect.fnUntraced(function* ({
  now,
  values
}: Pick<Input<{}, DuesAsked>, "now" | "values">): Store.Reads<{
  readonly dues: ReadonlyArray<DueShown>
  readonly total: number
}> {
  const { due_before = null, page = 1, per_page = 100 } = values
  const store = yield* Store
  const { bind, values: bound } = bindings(store.dialect)
  // Bound again for each use, as placeholders are positional.
  const here = (): string =>
    [
      "l.stock_category = 50 and not l.is_gone and not l.is_sub_hired",
      ...(["store_id", "product_id"] as const).flatMap((column) =>
        values[column] == null ? [] : [`l.${column} = ${bind(values[column])}`]
      )
    ].join(" and ")
  const columns = "i.id as inspection_id, i.result, i.value, i.inspected_at"
  const first_due =
    "case when i.id is not null then i.due_at " +
    "when v.first_due_at > l.created_at then v.first_due_at else l.created_at end"
  const from =
    ` from (select l.id as stock_level_id, v.inspection_kind_id, ${columns}, ${first_due} as due_at ` +
    "from inspection_intervals v join stock_levels l on l.product_id = v.product_id left join inspections i " +
    `on i.stock_level_id = l.id and i.inspection_kind_id = v.inspection_kind_id and i.is_latest where ${here()} ` +
    `union all select l.id, i.inspection_kind_id, ${columns}, i.due_at ` +
    "from inspections i join stock_levels l on l.id = i.stock_level_id where i.is_latest and i.result = 'fail' " +
    "and not exists (select 1 from inspection_intervals v where v.product_id = l.product_id " +
    `and v.inspection_kind_id = i.inspection_kind_id) and ${here()}) due where due_at is not null` +
    [
      values.stock_level_id == null ? "" : ` and stock_level_id = ${bind(values.stock_level_id)}`,
      values.inspection_kind_id == null ? "" : ` and inspection_kind_id = ${bind(values.inspection_kind_id)}`,
      due_before === null ? "" : ` and due_at <= ${bind(due_before)}`
    ].join("")
  const [counted] = yield* store.run<{ total: number | string }>(`select count(*) as total${from}`, bound)
  const rows = yield* store.run<DueRow>(
    `select *${from} order by due_at, stock_level_id, inspection_kind_id ` +
      `limit ${per_page} offset ${(page - 1) * per_page}`,
    bound
  )
  return { dues: yield* withNames(rows, now), total: Number(counted?.total ?? 0) }
})
type DueRow = Pick<
  DueShown,
  "stock_level_id" | "inspection_kind_id" | "inspection_id" | "result" | "value" | "inspected_at" | "due_at"
>
const withNames = Effect.fnUntraced(function* (
  rows: ReadonlyArray<DueRow>,
  now: string
): Store.Reads<ReadonlyArray<DueShown>> {
  const levels = yield* referredRows(stock_levels, rows, "stock_level_id")
  const product_ids = [...new Set([...levels.values()].map((one) => one.product_id))]
  const names = new Map((yield* Store.pickMany(products, ["id", "name"], product_ids)).map((one) => [one.id, one.name]))
  const kinds = new Map((yield* Store.find(inspection_kinds, {})).map((one) => [one.id, one.name]))
  return rows.flatMap((row): ReadonlyArray<DueShown> => {
    const level = levels.get(row.stock_level_id)
    return level === undefined
      ? []
      : [
          {
            ...row,
            kind_name: kinds.get(row.inspection_kind_id) ?? "",
            status: row.result === "fail" ? "failed" : row.due_at <= now ? "overdue" : "due",
            product_id: level.product_id,
            product_name: names.get(level.product_id) ?? null,
            ...picked(level, ["store_id", "location", "asset_number", "serial_number", "barcode"])
          }
        ]
  })
})
