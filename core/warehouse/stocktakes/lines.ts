/**
 * Lines of a stocktake: expected and counted goods, and what to do about differences (rules/stocktakes 3). Pure. Scans
 * are compared with the stock at their time.
 */
import type { RowOf } from "../../kernel/index.ts"
import type { KeysShown } from "../../kernel/lists/answer-schema.ts"
import { type ProductRow, serialised } from "../../products/products/schema.ts"
import { type StockLevelRow, stateWords, unit_category } from "../../products/stock/schema.ts"
import { labelOf } from "../containers/events.ts"
import { unitCode } from "../scanning/read-code.ts"
import type { line_fields, stocktake_moves, StocktakeRow, StocktakeScanRow, totals_shown } from "./schema.ts"
import { line_statuses } from "./schema.ts"

export type CountLine = KeysShown<typeof line_fields>

export const level_columns = [
  ...(["id", "product_id", "store_id", "item_name", "asset_number", "serial_number", "barcode", "location"] as const),
  ...(["stock_category", "quantity_held", "is_gone", "is_sub_hired", "service_state", "out_of_service"] as const),
  ...(["given_back_at", "starts_at", "ends_at", "created_at"] as const)
]
export type CountedLevel = Pick<StockLevelRow, (typeof level_columns)[number]>
export const product_columns = ["id", "name", "sku", "product_group_id", "stock_method"] as const
/** The relevant case around a unit: the outermost if it is out, else the outermost sealed one, else the outermost. */
export interface Packing {
  readonly container_id: number
  readonly name: string
  readonly code: string
  readonly is_sealed: boolean
  readonly is_out: boolean
  readonly opportunity_id: number | null
  readonly packed_at: string
}
export interface CountFacts {
  readonly take: StocktakeRow
  readonly now: string
  /** Levels of the store, and scanned ones of other stores. */
  readonly levels: ReadonlyArray<CountedLevel>
  readonly products: ReadonlyMap<number, Pick<ProductRow, (typeof product_columns)[number]>>
  /** Product groups to count; undefined for all. */
  readonly groups: ReadonlySet<number> | undefined
  readonly scans: ReadonlyArray<StocktakeScanRow>
  /** Units out on orders now. */
  readonly out: ReadonlyMap<number, { readonly opportunity_id: number; readonly dispatched_at: string | null }>
  /** Units on their way to another store, with their transfer. */
  readonly in_transit: ReadonlyMap<number, number>
  /** Units seen by something else since the start, with a description. */
  readonly seen: ReadonlyMap<number, string>
  readonly packed: ReadonlyMap<number, Packing>
  /** Bulk quantities out on orders now, by product. */
  readonly bulk_out: ReadonlyMap<number, number>
  /** Movements of bulk goods since the start, by product. */
  readonly moves: ReadonlyMap<number, ReadonlyArray<Pick<RowOf<typeof stocktake_moves>, "quantity" | "happened_at">>>
  /**
   * Ledger lines since the start, by stock level; without those of stocktakes, which are corrections, not movements.
   */
  readonly ledger: ReadonlyMap<
    number,
    ReadonlyArray<{ readonly quantity_move: string; readonly transaction_at: string | null }>
  >
  /** Records of lost bulk goods, by stock level. */
  readonly lost: ReadonlyMap<
    number,
    ReadonlyArray<{ readonly quantity: number; readonly starts_at: string; readonly ended_at: string | null }>
  >
  readonly stores: ReadonlyMap<number, string>
}

const codeOf = (level: CountedLevel): string =>
  level.asset_number ?? level.barcode ?? level.serial_number ?? unitCode(level.id)
/** Orders are named by id, as users who may only see stock do not see order numbers. */
const orderOf = (id: number | null): string => (id === null ? "an order" : `order ${id}`)

interface Judged {
  readonly status: keyof typeof line_statuses
  readonly way_out?: string
  readonly opportunity_id?: number | null
  readonly container_id?: number
  readonly on_close?: CountLine["on_close"]
  /** Expected quantity: 0 if the goods should not be at the store. */
  readonly expected?: 0
}
const out_of_scope = "It is not of the group that is counted: put it where it belongs; nothing is recorded of it."
const isInScope = ({ groups, products }: CountFacts, product_id: number): boolean =>
  groups === undefined || groups.has(products.get(product_id)?.product_group_id ?? 0)
const isPostedAfter = ({ ledger }: CountFacts, level_id: number, at: string): boolean =>
  ledger.get(level_id)?.some(({ transaction_at }) => (transaction_at ?? "") > at) === true

/** Line of a unit scanned at `at`; later events do not matter. */
const judgeCounted = (level: CountedLevel, at: string, through: number | null, facts: CountFacts): Judged => {
  const { packed, stores, take } = facts
  const code = codeOf(level)
  if (level.given_back_at !== null && level.given_back_at <= at)
    return { status: "unexpected", expected: 0, way_out: "It went back to its supplier: ask them what they have." }
  if (isPostedAfter(facts, level.id, at)) return { status: "found" }
  if (level.store_id !== take.store_id) {
    const name = stores.get(level.store_id) ?? `store ${level.store_id}`
    return {
      status: "elsewhere",
      expected: 0,
      way_out:
        `It belongs to ${name}: bring it there, or change its store: ` +
        `flightcase stock-levels update ${level.id} --store-id ${take.store_id}`
    }
  }
  if (!isInScope(facts, level.product_id)) return { status: "unexpected", expected: 0, way_out: out_of_scope }
  const out = facts.out.get(level.id),
    inside = packed.get(level.id)
  if (out !== undefined && (out.dispatched_at ?? "") <= at)
    return {
      status: "out",
      expected: 0,
      opportunity_id: out.opportunity_id,
      way_out: `It is out on ${orderOf(out.opportunity_id)}: check it in: flightcase scan in, then ${code}`
    }
  if (level.is_gone)
    return level.service_state === "sold"
      ? {
          status: "unexpected",
          expected: 0,
          way_out: "It is sold: ask the customer; if it came back for good, post a Buy to its stock transactions."
        }
      : { status: "found", expected: 0, on_close: "found", way_out: "It was written off: closing takes it back." }
  const [service] = level.out_of_service
  if (level.service_state === "lost")
    return service === undefined || service.starts_at > at
      ? { status: "found" }
      : { status: "found", expected: 0, on_close: "found", way_out: "It was lost: closing records it as found." }
  if (level.service_state === "quarantine" || level.service_state === "in_repair")
    return {
      status: "quarantined",
      way_out: `It is ${stateWords[level.service_state]}: once it is fit, flightcase units release ${code}`
    }
  return inside?.is_sealed === true && through === null && inside.packed_at <= at
    ? {
        status: "in_case",
        container_id: inside.container_id,
        way_out:
          `It should be in ${inside.name}, which is sealed: scan ${inside.code}, or unseal it and take the unit out: ` +
          `flightcase containers unseal ${inside.container_id}`
      }
    : { status: "found" }
}

/** Line of an unscanned unit; undefined if it is not expected at the store. */
const judgeUncounted = (level: CountedLevel, facts: CountFacts): Judged | undefined => {
  const { now, packed, take } = facts
  const is_of_store = level.store_id === take.store_id && isInScope(facts, level.product_id)
  if (!is_of_store || level.is_gone || level.given_back_at !== null || level.service_state === "lost") return undefined
  if (level.starts_at !== null && level.starts_at > now) return undefined
  if (level.ends_at !== null && level.ends_at <= now && !level.is_sub_hired) return undefined
  const code = codeOf(level)
  const inside = packed.get(level.id)
  const opportunity_id =
    facts.out.get(level.id)?.opportunity_id ?? (inside?.is_out === true ? inside.opportunity_id : undefined)
  if (opportunity_id !== undefined)
    return {
      status: "out",
      expected: 0,
      opportunity_id,
      way_out: `It is out on ${orderOf(opportunity_id)}: nothing is to be done until it comes back.`
    }
  const transfer_id = facts.in_transit.get(level.id)
  if (transfer_id !== undefined)
    return { status: "out", expected: 0, way_out: `It is on its way to another store, on transfer ${transfer_id}.` }
  const seen = facts.seen.get(level.id)
  if (seen !== undefined || level.created_at > take.started_at)
    return { status: "found", way_out: `It was not counted, but ${seen ?? "came into stock"} meanwhile.` }
  if (level.service_state === "quarantine" || level.service_state === "in_repair")
    return {
      status: "quarantined",
      way_out:
        `It is ${stateWords[level.service_state]} and was not counted: look in the workshop; ` +
        `if it is gone, flightcase units lost ${code}`
    }
  return inside?.is_sealed === true
    ? {
        status: "in_case",
        container_id: inside.container_id,
        way_out:
          `It is in ${inside.name}, which is sealed and was not counted: scan ${inside.code}; ` +
          `if the case is gone, flightcase containers dissolve ${inside.container_id}`
      }
    : { status: "missing", on_close: "missing", way_out: "Look for it and scan it; closing records it as missing." }
}

const unitLine = (
  level: CountedLevel,
  name: string | null,
  scan: StocktakeScanRow | undefined,
  judged: Judged
): CountLine => ({
  status: judged.status,
  kind: "unit",
  code: labelOf(level),
  name,
  product_id: level.product_id,
  stock_level_id: level.id,
  store_id: level.store_id,
  opportunity_id: judged.opportunity_id ?? null,
  container_id: judged.container_id ?? scan?.container_id ?? null,
  location: level.location,
  is_counted: scan !== undefined,
  expected: judged.expected ?? 1,
  counted: scan === undefined ? 0 : 1,
  counted_at: scan?.counted_at ?? null,
  counted_by_user_id: scan?.counted_by_user_id ?? null,
  way_out: judged.way_out ?? null,
  on_close: judged.on_close ?? "nothing"
})

export const foundLine = (level: CountedLevel, name: string | null, scan: StocktakeScanRow): CountLine =>
  unitLine(level, name, scan, { status: "found" })

const sumOf = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, one) => sum + one, 0)

/** Bulk quantity expected at the store at `at`: held now, less what is out and lost, with later movements reversed. */
const expectedAt = (product_id: number, levels: ReadonlyArray<CountedLevel>, at: string, facts: CountFacts): number => {
  const held = sumOf(levels.map(({ quantity_held }) => Number(quantity_held)))
  const posted_since = sumOf(
    levels
      .flatMap(({ id }) => facts.ledger.get(id) ?? [])
      .filter((one) => (one.transaction_at ?? "") > at)
      .map((one) => Number(one.quantity_move))
  )
  const out_since = sumOf(
    (facts.moves.get(product_id) ?? []).filter((one) => one.happened_at > at).map(({ quantity }) => quantity)
  )
  const out = (facts.bulk_out.get(product_id) ?? 0) - out_since
  const lost = sumOf(
    levels
      .flatMap(({ id }) => facts.lost.get(id) ?? [])
      .filter((one) => one.starts_at <= at && (one.ended_at ?? "9") > at)
      .map(({ quantity }) => quantity)
  )
  return Math.max(0, Math.floor(held - posted_since - out - lost + 1e-6))
}

/** Judges a counted quantity by its `difference` from the expected one. `own`: the store's level of the product. */
const judgeBulk = (own: CountedLevel | undefined, in_scope: boolean, difference: number): Judged => {
  if (!in_scope) return { status: "unexpected", way_out: out_of_scope }
  if (own === undefined)
    return {
      status: "elsewhere",
      way_out: "The store holds none of it: bring it to the store it belongs to, or give this store a stock level."
    }
  if (difference === 0) return { status: "found" }
  const status = difference < 0 ? "missing" : "found"
  if (own.is_sub_hired)
    return { status, way_out: "It is sub-hired: what is missing is given back with a note on its purchase order." }
  return {
    status,
    on_close: "difference",
    way_out:
      difference < 0
        ? `Look for ${-difference} more; closing posts a write-off.`
        : `There are ${difference} more than recorded: count again; closing posts a find.`
  }
}
const bulkLine = (
  product_id: number,
  levels: ReadonlyArray<CountedLevel>,
  scans: ReadonlyArray<StocktakeScanRow>,
  facts: CountFacts
): CountLine | undefined => {
  const last = scans.toSorted((one, other) => (one.counted_at < other.counted_at ? -1 : 1)).at(-1)
  const own = levels.find((level) => !level.is_sub_hired) ?? levels[0]
  const product = facts.products.get(product_id)
  const in_scope = isInScope(facts, product_id)
  const expected =
    own === undefined || !in_scope ? 0 : expectedAt(product_id, levels, last?.counted_at ?? facts.now, facts)
  const counted = sumOf(scans.map(({ quantity }) => quantity))
  if (counted === 0 && expected === 0) return undefined
  const judged = judgeBulk(own, in_scope, counted - expected)
  return {
    status: judged.status,
    kind: "bulk",
    code: last?.code ?? product?.sku ?? product?.name ?? `product ${product_id}`,
    name: product?.name ?? null,
    product_id,
    stock_level_id: own?.id ?? null,
    store_id: own?.store_id ?? null,
    opportunity_id: null,
    container_id: null,
    location: own?.location ?? null,
    is_counted: last !== undefined,
    expected,
    counted,
    counted_at: last?.counted_at ?? null,
    counted_by_user_id: last?.counted_by_user_id ?? null,
    way_out: judged.way_out ?? null,
    on_close: judged.on_close ?? "nothing"
  }
}

const codeLine = (scan: StocktakeScanRow): CountLine => ({
  status: "unexpected",
  kind: "code",
  code: scan.code,
  name: null,
  product_id: null,
  stock_level_id: null,
  store_id: null,
  opportunity_id: null,
  container_id: null,
  location: null,
  is_counted: true,
  expected: 0,
  counted: 1,
  counted_at: scan.counted_at,
  counted_by_user_id: scan.counted_by_user_id,
  way_out:
    `${scan.note ?? "Nothing has this code."} Label what it is on, or take it back: ` +
    `flightcase count scan --remove ${scan.code}`,
  on_close: "nothing"
})

const compared = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
const status_order = Object.keys(line_statuses)
const differencesFirst = (one: CountLine, other: CountLine): number =>
  Number(one.status === "found") - Number(other.status === "found") ||
  status_order.indexOf(one.status) - status_order.indexOf(other.status) ||
  compared(one.name ?? "", other.name ?? "") ||
  compared(one.code, other.code)

/** All lines: differences first, then by product and code. */
export const countLines = (facts: CountFacts): ReadonlyArray<CountLine> => {
  const scanOf = new Map(
    facts.scans.flatMap((scan) => (scan.stock_level_id === null ? [] : [[scan.stock_level_id, scan] as const]))
  )
  const [units, bulk] = [
    facts.levels.filter((level) => level.stock_category === unit_category),
    facts.levels.filter(
      (level) =>
        level.stock_category !== unit_category && level.store_id === facts.take.store_id && level.given_back_at === null
    )
  ]
  const unit_lines = units.flatMap((level) => {
    const scan = scanOf.get(level.id)
    const judged =
      scan === undefined ? judgeUncounted(level, facts) : judgeCounted(level, scan.counted_at, scan.container_id, facts)
    return judged === undefined
      ? []
      : [unitLine(level, facts.products.get(level.product_id)?.name ?? null, scan, judged)]
  })
  const levelsOf = Map.groupBy(bulk, (level) => level.product_id)
  const countsOf = Map.groupBy(
    facts.scans.filter((scan) => scan.stock_level_id === null && scan.product_id !== null),
    (scan) => scan.product_id ?? 0
  )
  const product_ids = new Set([
    ...[...levelsOf.keys()].filter((id) => isInScope(facts, id) && facts.products.get(id)?.stock_method !== serialised),
    ...countsOf.keys()
  ])
  const bulk_lines = [...product_ids].flatMap(
    (id) => bulkLine(id, levelsOf.get(id) ?? [], countsOf.get(id) ?? [], facts) ?? []
  )
  const code_lines = facts.scans
    .filter((scan) => scan.stock_level_id === null && scan.product_id === null)
    .map(codeLine)
  return [...unit_lines, ...bulk_lines, ...code_lines].toSorted(differencesFirst)
}

/** Number of pieces by outcome. */
export const totalsOf = (lines: ReadonlyArray<CountLine>): KeysShown<typeof totals_shown> => {
  const totals = {
    ...{ expected: 0, counted: 0, found: 0, missing: 0, surplus: 0 },
    ...{ unexpected: 0, elsewhere: 0, out: 0, in_case: 0, quarantined: 0 }
  }
  for (const { counted, expected, kind, status } of lines) {
    totals.expected += expected
    totals.counted += counted
    if (kind === "bulk" && (status === "found" || status === "missing")) {
      totals.found += Math.min(counted, expected)
      totals.missing += Math.max(0, expected - counted)
      totals.surplus += Math.max(0, counted - expected)
    } else totals[status] += kind === "bulk" ? counted : 1
  }
  return totals
}
