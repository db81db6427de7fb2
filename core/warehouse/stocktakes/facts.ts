/** Reads facts of stocktakes, in a fixed number of queries for any number of units. */
import { Effect } from "effect"
import { bindings, chunked, columnsNamed, hasOnePermission, lockRows, lockStreams, quote } from "../../kernel/index.ts"
import { Store, type AnyRow, type Failure, type Table, type ViewContext, type Viewer } from "../../kernel/index.ts"
import { asset_assignments, checked_in, dispatched, finalised } from "../../orders/opportunities/tables/index.ts"
import { on_hire } from "../../orders/opportunities/tables/index.ts"
import { demands, transfer_source } from "../../orders/demands/schema.ts"
import { type ContainerRow, container_items, containers, live_statuses, nesting_max } from "../../products/packing.ts"
import { product_groups } from "../../products/products/api.ts"
import { products } from "../../products/products/schema.ts"
import { stock_levels, stock_transactions } from "../../products/stock/schema.ts"
import { stores } from "../../setup/stores.ts"
import { formatMoney } from "../../values/money.ts"
import { containerCode } from "../scanning/read-code.ts"
import { inspections } from "../inspections/schema.ts"
import { transfers } from "../transfers/schema.ts"
import { loadServiceFacts } from "../workshop/reactions.ts"
import { service_records } from "../workshop/schema.ts"
import type { CloseFacts } from "./decide.ts"
import type { CountedLevel, CountFacts, CountLine, Packing } from "./lines.ts"
import { countLines, foundLine, level_columns, product_columns, totalsOf } from "./lines.ts"
import { stocktakeStream } from "./events.ts"
import { loadBulkOut } from "./moves.ts"
import { type StocktakeRow, ledger_source, stocktake_moves, stocktake_scans, stocktakes } from "./schema.ts"

/** Rows of a table with a timestamp column after an instant; of these units only, if they are given. */
const since = Effect.fnUntraced(function* <T extends Table, C extends keyof T["columns"] & string>(
  table: T,
  columns: ReadonlyArray<C>,
  column: C,
  at: string,
  only?: Only
) {
  if (only?.level_ids.length === 0) return []
  const store = yield* Store
  const bound = bindings(store.dialect)
  const of_units = only === undefined ? "" : ` and stock_level_id in (${bound.list(only.level_ids)})`
  const rows = yield* store.run(
    `select ${columnsNamed(columns)} from ${quote(table.name)} where ${quote(column)} > ${bound.bind(at)}${of_units}`,
    bound.values
  )
  return rows.map((row) => store.decode(table, row))
})

/** Ids of a group and all groups below it; undefined without a group. */
const groupsWithin = Effect.fnUntraced(function* (
  id: number | null
): Effect.fn.Return<ReadonlySet<number> | undefined, Failure, Store> {
  if (id === null) return undefined
  const all = yield* Store.find(product_groups, {})
  const within = new Set([id])
  for (let size = 0; size < within.size;) {
    size = within.size
    for (const group of all) if (group.parent_id !== null && within.has(group.parent_id)) within.add(group.id)
  }
  return within
})

/** `Packing` of each packed unit but those back without a case that is out; `touched`: time each was last scanned. */
const loadPacked = Effect.fnUntraced(function* (
  level_ids: ReadonlyArray<number> | undefined
): Effect.fn.Return<
  { readonly packed: ReadonlyMap<number, Packing>; readonly touched: ReadonlyMap<number, string> },
  Failure,
  Store
> {
  const items = yield* Store.pick(
    container_items,
    ["container_id", "serialised_item_id", "packed_at", "repacked_at", "verified_at"],
    { unpacked_at: null, ...(level_ids === undefined ? {} : { serialised_item_id: level_ids }) }
  )
  const cases = new Map((yield* Store.find(containers, { status: live_statuses })).map((one) => [one.id, one]))
  const out_on = [...cases.values()].filter(({ status }) => status === "dispatched")
  const order_ids = [...new Set(out_on.flatMap(({ opportunity_id }) => opportunity_id ?? []))]
  const returned = Map.groupBy(
    order_ids.length === 0
      ? []
      : yield* Store.pick(asset_assignments, ["stock_level_id", "opportunity_id", "returned_at"], {
          opportunity_id: order_ids,
          status: [checked_in, finalised]
        }),
    (one) => one.stock_level_id
  )
  const isBackAlone = (level_id: number, around: ContainerRow): boolean =>
    returned
      .get(level_id)
      ?.some(
        (one) => one.opportunity_id === around.opportunity_id && (one.returned_at ?? "") >= (around.dispatched_at ?? "")
      ) === true
  const packed = new Map<number, Packing>()
  const pack = (level_id: number, container: ContainerRow | undefined, packed_at: string): void => {
    const chain = chainOf(container, cases)
    const outermost = chain.at(-1)
    if (outermost === undefined) return
    const is_out = outermost.status === "dispatched"
    if (is_out && isBackAlone(level_id, outermost)) return
    const shown = is_out ? outermost : (chain.findLast(({ status }) => status === "sealed") ?? outermost)
    packed.set(level_id, {
      container_id: shown.id,
      name: shown.name,
      code: shown.barcode ?? containerCode(shown.id),
      is_sealed: shown.status === "sealed",
      is_out,
      opportunity_id: outermost.opportunity_id,
      packed_at
    })
  }
  for (const one of out_on) if (one.serialised_item_id !== null) pack(one.serialised_item_id, one, "")
  for (const one of items) pack(one.serialised_item_id, cases.get(one.container_id), one.packed_at)
  const touched = new Map(
    items.map((one) => [one.serialised_item_id, latest(one.packed_at, one.repacked_at, one.verified_at)])
  )
  return { packed, touched }
})
const latest = (...instants: ReadonlyArray<string | null>): string =>
  instants.reduce<string>((last, one) => (one !== null && one > last ? one : last), "")
const chainOf = (
  container: ContainerRow | undefined,
  cases: ReadonlyMap<number, ContainerRow>
): ReadonlyArray<ContainerRow> => {
  const chain: Array<ContainerRow> = []
  for (let at = container; at !== undefined && chain.length < nesting_max; at = cases.get(at.parent_container_id ?? 0))
    chain.push(at)
  return chain
}

/** Units seen since the start other than by this stocktake's scans, each with a description. */
const loadSeen = Effect.fnUntraced(function* (
  { id, started_at }: StocktakeRow,
  touched: ReadonlyMap<number, string>,
  only: Only | undefined
) {
  const back = yield* since(asset_assignments, ["stock_level_id", "returned_at"], "returned_at", started_at, only)
  const inspected = yield* since(inspections, ["stock_level_id", "inspected_at"], "inspected_at", started_at, only)
  const scan_columns = ["stock_level_id", "stocktake_id", "counted_at"] as const
  const counted = yield* since(stocktake_scans, scan_columns, "counted_at", started_at, only)
  const seen = new Map<number, string>()
  for (const { stock_level_id, stocktake_id } of counted)
    if (stock_level_id !== null && stocktake_id !== id)
      seen.set(stock_level_id, `was scanned in stocktake ${stocktake_id}`)
  for (const { stock_level_id } of inspected) seen.set(stock_level_id, "was inspected")
  for (const [level_id, at] of touched) if (at > started_at) seen.set(level_id, "was packed")
  for (const { stock_level_id } of back) seen.set(stock_level_id, "came back")
  return seen
})

/** Goods to limit the facts to, for responses to scans. */
interface Only {
  readonly level_ids: ReadonlyArray<number>
  readonly product_ids: ReadonlyArray<number>
}
/** Scans, levels of the store, and scanned levels of other stores. */
const loadCounted = Effect.fnUntraced(function* ({ id: stocktake_id, store_id }: StocktakeRow, only: Only | undefined) {
  const scans =
    only === undefined
      ? yield* Store.find(stocktake_scans, { stocktake_id })
      : [
          ...(yield* Store.find(stocktake_scans, { stocktake_id, stock_level_id: only.level_ids })),
          ...(yield* Store.find(stocktake_scans, { stocktake_id, stock_level_id: null, product_id: only.product_ids }))
        ]
  const of_store: ReadonlyArray<CountedLevel> = yield* Store.pick(stock_levels, level_columns, {
    store_id,
    ...(only === undefined ? {} : { product_id: only.product_ids })
  })
  const known = new Set(of_store.map(({ id }) => id))
  const foreign = scans.flatMap(({ stock_level_id: id }) => (id === null || known.has(id) ? [] : [id]))
  return { scans, levels: [...of_store, ...(yield* Store.pickMany(stock_levels, level_columns, foreign))] }
})
/** Ledger lines since the start, but for corrections by stocktakes and sales on orders, whose goods were out before. */
const loadLedger = (started_at: string) =>
  Effect.map(
    since(
      stock_transactions,
      ["stock_level_id", "quantity_move", "transaction_at", "source_type"],
      "transaction_at",
      started_at
    ),
    (rows) => rows.filter(({ source_type }) => source_type !== ledger_source && source_type !== "Opportunity")
  )

/** Units that were sent to another store and have not arrived, with their transfer. */
const loadInTransit = Effect.gen(function* () {
  const sent = yield* Store.pick(transfers, ["id", "sent_at"], { status: "sent" })
  const source_id = sent.flatMap(({ id, sent_at }) => (sent_at === null ? [] : [id]))
  const claims = yield* Store.pick(demands, ["asset_id", "source_id"], { source_type: transfer_source, source_id })
  return new Map(claims.flatMap(({ asset_id, source_id: id }) => (asset_id === null ? [] : [[asset_id, id] as const])))
})

/** Facts of a stocktake. */
export const loadCount = Effect.fnUntraced(function* (
  take: StocktakeRow,
  now: string,
  only?: Only
): Effect.fn.Return<CountFacts, Failure, Store> {
  const { levels, scans } = yield* loadCounted(take, only)
  const out = yield* Store.pick(asset_assignments, ["stock_level_id", "opportunity_id", "dispatched_at"], {
    status: [dispatched, on_hire],
    ...(only === undefined ? {} : { stock_level_id: only.level_ids })
  })
  const { packed, touched } = yield* loadPacked(only?.level_ids)
  const ledger = yield* loadLedger(take.started_at)
  const seen = yield* loadSeen(take, touched, only)
  for (const one of ledger) if (Number(one.quantity_move) > 0) seen.set(one.stock_level_id, "came into stock")
  const product_ids = [...levels, ...scans].flatMap(({ product_id }) => product_id ?? [])
  const named = yield* Store.pickMany(products, product_columns, product_ids)
  const moves = yield* Store.find(stocktake_moves, { stocktake_id: take.id })
  const lost = yield* Store.find(service_records, { state: "lost", store_id: take.store_id })
  return {
    ...{ take, now, levels, scans, seen, packed },
    ledger: Map.groupBy(ledger, (one) => one.stock_level_id),
    groups: yield* groupsWithin(take.product_group_id),
    products: new Map(named.map((one) => [one.id, one])),
    out: new Map(out.map((one) => [one.stock_level_id, one])),
    bulk_out: yield* loadBulkOut(take.store_id),
    moves: Map.groupBy(moves, (one) => one.product_id),
    in_transit: yield* loadInTransit,
    lost: Map.groupBy(lost, (one) => one.stock_level_id),
    stores: new Map((yield* Store.find(stores, {})).map((one) => [one.id, one.name]))
  }
})
/** Purchase prices of the lines' products, for users who may see costs. */
const loadPrices = Effect.fnUntraced(function* (lines: ReadonlyArray<CountLine>, viewer: Viewer) {
  if (!hasOnePermission(viewer, "costs.view")) return undefined
  const ids = lines.flatMap(({ product_id }) => product_id ?? [])
  const found = yield* Store.pickMany(products, ["id", "purchase_price"], ids)
  return new Map(found.map(({ id, purchase_price }) => [id, purchase_price]))
})
type Showing = Pick<ViewContext, "base_currency" | "now" | "viewer">
const showTake = Effect.fnUntraced(function* (take: StocktakeRow, { base_currency, now, viewer }: Showing) {
  const lines = yield* loadLines(take, now)
  const totals = take.status === "open" ? totalsOf(lines) : take.totals
  const prices = yield* loadPrices(lines, viewer)
  if (prices === undefined || totals === null) return { totals, stocktake_lines: lines }
  const priceOf = (line: CountLine): number => prices.get(line.product_id ?? 0) ?? 0
  const worth = (pieces: (line: CountLine) => number): string =>
    formatMoney(
      lines.reduce((sum, line) => sum + priceOf(line) * pieces(line), 0),
      base_currency
    )
  return {
    totals: {
      ...totals,
      expected_value: worth(({ expected }) => expected),
      missing_value: worth(({ counted, expected, status }) => (status === "missing" ? expected - counted : 0))
    },
    stocktake_lines: lines.map((line) => ({ ...line, unit_cost: formatMoney(priceOf(line), base_currency) }))
  }
})
/** API representation of totals and lines of stocktakes, by row. */
export const showLines = Effect.fnUntraced(function* (rows: ReadonlyArray<AnyRow>, context: Showing) {
  const takes = yield* Store.getMany(stocktakes, rows.map(idOf))
  const shown = new Map(
    yield* Effect.forEach(takes, (take) => Effect.map(showTake(take, context), (keys) => [take.id, keys] as const))
  )
  return (row: AnyRow) => shown.get(idOf(row)) ?? {}
})
const idOf = (row: AnyRow): number => Number(row["id"])

/** Lines of a stocktake: current ones while it is open, else as recorded by closing. */
const loadLines = Effect.fnUntraced(function* (
  take: StocktakeRow,
  now: string
): Effect.fn.Return<ReadonlyArray<CountLine>, Failure, Store> {
  if (take.status === "open") return countLines(yield* loadCount(take, now))
  if (take.outcome === null) return []
  // Written by `stocktake.closed`, whose schema checks it only as JSON.
  const outcome = take.outcome as ReadonlyArray<CountLine>
  const told = new Set(outcome.flatMap(({ stock_level_id }) => stock_level_id ?? []))
  const scans = (yield* Store.find(stocktake_scans, { stocktake_id: take.id })).filter(
    ({ stock_level_id: id }) => id !== null && !told.has(id)
  )
  const levels = new Map(
    (yield* Store.pickMany(
      stock_levels,
      level_columns,
      scans.flatMap(({ stock_level_id }) => stock_level_id ?? [])
    )).map((level) => [level.id, level])
  )
  const names = new Map(
    (yield* Store.pickMany(
      products,
      ["id", "name"],
      [...levels.values()].map(({ product_id }) => product_id)
    )).map(({ id, name }) => [id, name])
  )
  return [
    ...outcome,
    ...scans.flatMap((scan) => {
      const level = levels.get(scan.stock_level_id ?? 0)
      return level === undefined ? [] : [foundLine(level, names.get(level.product_id) ?? null, scan)]
    })
  ]
})

const changing = (lines: ReadonlyArray<CountLine>): ReadonlyArray<number> =>
  lines.flatMap(({ on_close, stock_level_id }) => (on_close === "nothing" ? [] : (stock_level_id ?? [])))

/**
 * Facts of closing: lines, users who counted, and workshop facts of levels that change. On Postgres, counts to know and
 * lock those levels, then locks the stocktake and counts again, as goods may have moved meanwhile.
 */
export const loadClose = Effect.fnUntraced(function* (
  before: StocktakeRow,
  now: string
): Effect.fn.Return<CloseFacts, Failure, Store> {
  const is_pg = (yield* Store).dialect === "pg"
  const locked = new Set<number>()
  let waiting = is_pg && before.status === "open" ? changing(countLines(yield* loadCount(before, now))) : []
  for (;;) {
    yield* lockRows(stock_levels, waiting)
    for (const id of waiting) locked.add(id)
    yield* lockStreams([stocktakeStream(before.id)])
    const take = (yield* Store.get(stocktakes, before.id)) ?? before
    if (take.status !== "open") return { take, lines: [], counted_by: [], levels: new Map() }
    const count = yield* loadCount(take, now)
    const lines = countLines(count)
    const ids = changing(lines)
    waiting = is_pg ? ids.filter((id) => !locked.has(id)) : []
    if (waiting.length > 0) continue
    const levels = new Map((yield* Effect.forEach(chunked(ids, 5_000), loadServiceFacts)).flatMap((some) => [...some]))
    return { take, lines, counted_by: [...new Set(count.scans.map((one) => one.counted_by_user_id))], levels }
  }
})
