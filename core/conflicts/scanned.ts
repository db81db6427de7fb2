/** What the code of a refused scan names here: the unit and its newest order, or the goods. */
import { Effect } from "effect"
import type { Failure } from "../kernel/failure.ts"
import { Store } from "../kernel/store/store.ts"
import { asset_assignments } from "../opportunities/units/schema.ts"
import { products } from "../products/schema.ts"
import { codeForms, readCode, unitIdIn } from "../scanning/read-code.ts"
import { stock_levels } from "../stock/schema.ts"
import type { Refused } from "./about.ts"

const scans: ReadonlySet<string> = new Set(["opportunities.scan", "scans.check_in"])

export interface ScannedCode {
  readonly stock_level_id?: number
  readonly product_id?: number
  /** Of the unit; undefined where it was on none. */
  readonly opportunity_id?: number
  readonly quantity?: number
}

/** Empty of a command that is no scan, and of a code that nothing here has. */
export const scannedBy = Effect.fnUntraced(function* ({
  body: { code },
  name
}: Refused): Effect.fn.Return<ScannedCode, Failure, Store> {
  if (!scans.has(name) || typeof code !== "string") return {}
  const store = yield* Store
  const { quantity, texts } = readCode(code)
  const forms = [...new Set(texts.flatMap(codeForms))]
  const id = unitIdIn(code)
  const found: Array<number> = id === undefined ? [] : [id]
  for (const column of quantity === undefined ? (["barcode", "asset_number", "serial_number"] as const) : [])
    found.push(...(yield* store.pick(stock_levels, ["id"], { [column]: forms })).map((level) => level.id))
  const [stock_level_id] = found
  if (stock_level_id !== undefined) {
    const newest = yield* store.first(asset_assignments, { stock_level_id }, { order: ["-id"] })
    return { stock_level_id, ...(newest === undefined ? {} : { opportunity_id: newest.opportunity_id }) }
  }
  for (const column of ["barcode", "sku"] as const) {
    const [product] = yield* store.pick(products, ["id"], { [column]: forms })
    if (product !== undefined) return { product_id: product.id, ...(quantity === undefined ? {} : { quantity }) }
  }
  return {}
})
