/** Resolves scanned codes of a stocktake: many codes in few queries, and sealed cases with their contents. */
import { Effect } from "effect"
import { Store, type Failure } from "../../kernel/index.ts"
import { type ContainerRow, container_items, containers, live_statuses, nesting_max } from "../../products/packing.ts"
import { serialised } from "../../products/products/schema.ts"
import { stock_levels } from "../../products/stock/schema.ts"
import { labelOf } from "../containers/events.ts"
import { toBeOpen } from "../containers/pack.ts"
import { type Found, lookUpAll } from "../scanning/codes.ts"
import { codeKey, type CodeFound, type ScanFacts, unitKey, type Verdict } from "./decide.ts"
import { loadCount } from "./facts.ts"
import { countLines } from "./lines.ts"
import { stocktake_scans, type StocktakeRow, stocktakes } from "./schema.ts"

/** Units in a sealed case and in cases inside, with the case's own unit. */
const contentOf = Effect.fnUntraced(function* (container: ContainerRow) {
  let inside: ReadonlyArray<ContainerRow> = [container]
  const all = [...inside]
  for (let depth = 0; inside.length > 0 && depth < nesting_max; depth++) {
    inside = yield* Store.find(containers, { parent_container_id: inside.map(({ id }) => id), status: live_statuses })
    all.push(...inside)
  }
  const items = yield* Store.find(container_items, { container_id: all.map(({ id }) => id), unpacked_at: null })
  const ids = [
    ...all.flatMap(({ serialised_item_id }) => serialised_item_id ?? []),
    ...items.map(({ serialised_item_id }) => serialised_item_id)
  ]
  return yield* Store.pickMany(stock_levels, ["id", "product_id"], ids)
})

const countedCase = Effect.fnUntraced(function* (
  code: string,
  container: ContainerRow,
  own: Extract<Found["named"], { readonly kind: "unit" }>["level"] | undefined
): Effect.fn.Return<CodeFound, Failure, Store> {
  if (container.status === "sealed") {
    const levels = yield* contentOf(container)
    return { code, kind: "case", name: container.name, container_id: container.id, levels }
  }
  const housing = own ?? (yield* Store.get(stock_levels, container.serialised_item_id ?? 0))
  return housing === undefined
    ? {
        code,
        kind: "unknown",
        note:
          `${container.name} is not sealed: scan what is in it piece by piece, or seal it` +
          (container.status === "open" ? ` (flightcase containers seal ${container.id}).` : `. ${toBeOpen(container)}`)
      }
    : { code, kind: "unit", name: labelOf(housing), container_id: null, levels: [housing] }
})

const countedAs = Effect.fnUntraced(function* ({
  named,
  problem,
  read
}: Found): Effect.fn.Return<CodeFound, Failure, Store> {
  const { code } = read
  if (named === undefined) return { code, kind: "unknown", note: problem ?? "Nothing has this code." }
  if (named.kind === "product") {
    const { id: product_id, name, stock_method } = named.product
    if (stock_method === serialised)
      return { code, kind: "unknown", note: `${name} is tracked unit by unit: scan the code on the unit.` }
    const quantity = read.quantity ?? 1
    return quantity < 1
      ? { code, kind: "unknown", note: `0 × ${name} counts nothing.` }
      : { code, kind: "bulk", name, product_id, quantity }
  }
  if (named.kind === "container") return yield* countedCase(code, named.container, undefined)
  return named.container === undefined
    ? { code, kind: "unit", name: labelOf(named.level), container_id: null, levels: [named.level] }
    : yield* countedCase(code, named.container, named.level)
})

/** Facts of a scan: what the codes name, and earlier scans of it. */
export const loadScan = Effect.fnUntraced(function* (
  take: StocktakeRow,
  scanned: ReadonlyArray<string>
): Effect.fn.Return<ScanFacts, Failure, Store> {
  const texts = scanned.map((code) => code.trim()).filter((code) => code !== "")
  const codes = yield* Effect.forEach(yield* lookUpAll(texts), countedAs)
  const keys = codes.flatMap((one) =>
    one.kind === "unknown"
      ? [codeKey(take.id, one.code)]
      : one.kind === "bulk"
        ? []
        : one.levels.map(({ id }) => unitKey(take.id, id))
  )
  const product_ids = codes.flatMap((one) => (one.kind === "bulk" ? [one.product_id] : []))
  return {
    take,
    codes,
    scans: [
      ...(yield* Store.getMany(stocktake_scans, keys)),
      ...(yield* Store.find(stocktake_scans, {
        stocktake_id: take.id,
        stock_level_id: null,
        product_id: [...new Set(product_ids)]
      }))
    ]
  }
})

/** Results of codes with the status of their lines, for responses to scans. */
export const showScans = Effect.fnUntraced(function* (id: number, verdicts: ReadonlyArray<Verdict>, now: string) {
  const take = yield* Store.get(stocktakes, id)
  const level_ids = verdicts.flatMap((verdict) => verdict.level_ids)
  const product_ids = verdicts.flatMap(({ product_id }) => product_id ?? [])
  const lines = take === undefined ? [] : countLines(yield* loadCount(take, now, { level_ids, product_ids }))
  return verdicts.map(({ level_ids: ids, product_id, ...verdict }) => {
    const line = lines.find(
      ({ kind, product_id: of, stock_level_id }) =>
        (kind === "unit" && stock_level_id !== null && ids.includes(stock_level_id)) ||
        (kind === "bulk" && product_id !== null && of === product_id)
    )
    const status = verdict.kind === "unknown" ? "unexpected" : (line?.status ?? null)
    return { ...verdict, status: verdict.outcome === "taken_back" ? null : status, way_out: line?.way_out ?? null }
  })
})
