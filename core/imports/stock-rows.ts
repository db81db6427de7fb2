/** The `stock` column of a product import: the quantity, or the units, that each store holds. */
import { createdEvent, initialRow, isJsonObject, readFields, updatedEvents, wholeNumberOf } from "../kernel/index.ts"
import type { DecideContext, FieldErrors, Fields, Json, JsonObject, NewEvent, ValuesOf } from "../kernel/index.ts"
import { draftRow } from "./rows.ts"
import { bulk, type ProductRow } from "../products/products/schema.ts"
import { firstStockLevel, openingEvents } from "../products/stock/decide.ts"
import { type StockLevelRow, stock_levels, stock_transactions, stockLevelFields } from "../products/stock/schema.ts"
import type { StoreRow } from "../setup/stores.ts"
import { compareDecimals, exact, formatDecimal } from "../values/decimal.ts"
import { storeNamed } from "./rate-rows.ts"

const { asset_number, serial_number, barcode, item_name, location } = stockLevelFields
const unitFields = { asset_number, serial_number, barcode, item_name, location } satisfies Fields
type Unit = ValuesOf<typeof unitFields>
const new_units_max = 1_000
const quantity_max = 1_000_000_000
const increase = 2,
  decrease = 3

/** Units of all stores by their numbers; rows that are carried out add theirs. */
export interface UnitNumbers {
  readonly assets: Map<string, StockLevelRow>
  readonly serials: Map<string, StockLevelRow>
}
export const unitNumbers = (levels: ReadonlyArray<StockLevelRow>): UnitNumbers => ({
  assets: new Map(levels.flatMap((one) => (one.asset_number === null ? [] : [[one.asset_number, one]]))),
  serials: new Map(levels.flatMap((one) => (one.serial_number === null ? [] : [[one.serial_number, one]])))
})

type Holding =
  | {
      readonly kind: "quantity"
      readonly store: StoreRow
      readonly level: StockLevelRow | undefined
      readonly quantity: string
    }
  | { readonly kind: "units"; readonly store: StoreRow; readonly count: number }
  | {
      readonly kind: "unit"
      readonly store: StoreRow
      readonly level: StockLevelRow | undefined
      readonly unit: Partial<Unit>
    }
interface StockPlan {
  readonly errors: FieldErrors
  readonly warnings: ReadonlyArray<string>
  readonly holdings: ReadonlyArray<Holding>
}
export interface StockFacts {
  readonly stores: ReadonlyArray<StoreRow>
  readonly numbers: UnitNumbers
  /** The product's stock levels, without sub-hired ones. */
  readonly levels: ReadonlyArray<StockLevelRow>
}

/** Compares a row with the current stock. `product` is undefined for a new one. */
export const planStock = (
  cell: Json,
  stock_method: number,
  product: ProductRow | undefined,
  around: StockFacts
): StockPlan => {
  const standard = around.stores.find((one) => one.is_default) ?? around.stores[0]
  // A plain number or list applies to the default store.
  const byStore = isJsonObject(cell)
    ? Object.entries(cell)
    : standard === undefined
      ? []
      : [[standard.name, cell] as const]
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const warnings: Array<string> = []
  const holdings: Array<Holding> = []
  const seen = new Set<string>()
  for (const [name, value] of byStore) {
    const path = `stock.${name}`
    const store = storeNamed(name, around.stores)
    const planned =
      store === undefined
        ? failed(path, `There is no store ${name}.`)
        : holdings.some((one) => one.store.id === store.id)
          ? failed(path, "The row names this store twice.")
          : Array.isArray(value) && stock_method !== bulk
            ? planUnits(value, path, store, product, around, seen)
            : planQuantity(value, path, store, stock_method, around)
    Object.assign(errors, planned.errors)
    warnings.push(...planned.warnings)
    holdings.push(...planned.holdings)
  }
  return { errors, warnings, holdings }
}
const failed = (path: string, text: string): StockPlan => ({ errors: { [path]: [text] }, warnings: [], holdings: [] })

const planQuantity = (
  value: Json,
  path: string,
  store: StoreRow,
  stock_method: number,
  around: StockFacts
): StockPlan => {
  const quantity = wholeNumberOf(value)
  const levels = around.levels.filter((one) => one.store_id === store.id)
  if (quantity === undefined || quantity < 0 || quantity > quantity_max)
    return failed(
      path,
      stock_method === bulk
        ? "The quantity must be a whole number of at least 0."
        : "Give the units, or how many there are."
    )
  if (stock_method === bulk) {
    const level = levels[0]
    return levels.length > 1
      ? failed(path, "The store has several stock levels of this product; put them together first.")
      : {
          errors: {},
          warnings: [],
          holdings: [{ kind: "quantity", store, level, quantity: formatDecimal(quantity, 2) }]
        }
  }
  const present = levels.filter((one) => !one.is_gone).length
  return {
    errors: quantity - present > new_units_max ? { [path]: [`At most ${new_units_max} new units fit one row.`] } : {},
    warnings: surplusOf(store, present, quantity),
    holdings: [{ kind: "units", store, count: Math.max(0, quantity - present) }]
  }
}

/** A cell of the list of units as the fields of a stock level. */
const readUnit = (given: Json, at: string): { readonly unit: Partial<Unit> } | { readonly errors: FieldErrors } => {
  const body: JsonObject | undefined = isJsonObject(given)
    ? given
    : typeof given === "string" || typeof given === "number"
      ? { asset_number: String(given) }
      : undefined
  if (body === undefined) return { errors: { [at]: ["A unit is an object, or its asset number."] } }
  const texts = Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, typeof value === "number" ? String(value) : value])
  )
  const read = readFields(unitFields, texts, { mode: "update", base_currency: "GBP", path: `${at}.` })
  if (Object.keys(read.errors).length > 0) return { errors: read.errors }
  return { unit: Object.fromEntries(Object.entries(read.values).filter(([, value]) => value !== null)) }
}

const planUnits = (
  units: ReadonlyArray<Json>,
  path: string,
  store: StoreRow,
  product: ProductRow | undefined,
  around: StockFacts,
  seen: Set<string>
): StockPlan => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const warnings: Array<string> = []
  const present = around.levels.filter((one) => one.store_id === store.id && !one.is_gone)
  const unnamed = present.filter(isUnnamed)
  const holdings = units.flatMap((given, index): ReadonlyArray<Holding> => {
    const at = `${path}.${index}`
    const read = readUnit(given, at)
    if ("errors" in read) {
      Object.assign(errors, read.errors)
      return []
    }
    const { unit } = read
    const repeated = (["asset_number", "serial_number"] as const).find(
      (name) => unit[name] !== undefined && seen.has(`${name} ${unit[name]}`)
    )
    for (const name of ["asset_number", "serial_number"] as const)
      if (unit[name] !== undefined) seen.add(`${name} ${unit[name]}`)
    if (repeated !== undefined) {
      errors[`${at}.${repeated}`] = ["The row names this unit twice."]
      return []
    }
    const found = findUnit(unit, at, product, around)
    if ("errors" in found) {
      Object.assign(errors, found.errors)
      return []
    }
    const level = found.level ?? unnamed.shift()
    const shown = unit.asset_number ?? unit.serial_number ?? unit.barcode ?? ""
    if (level?.is_gone === true) {
      warnings.push(`Unit ${shown} was written off or sold and stays so.`)
      return []
    }
    if (level !== undefined && level.store_id !== store.id) {
      const where = around.stores.find((one) => one.id === level.store_id)?.name ?? "another store"
      warnings.push(`Unit ${shown} is at ${where}; an import does not move it.`)
    }
    return [{ kind: "unit", store, level, unit }]
  })
  const here = holdings.filter((one) => one.kind === "unit" && (one.level?.store_id ?? store.id) === store.id)
  const made = here.filter((one) => one.kind === "unit" && one.level === undefined)
  return { errors, warnings: [...warnings, ...surplusOf(store, present.length + made.length, here.length)], holdings }
}
/** A unit that was imported by number: the first new names of a list become those of such units. */
const isUnnamed = (level: StockLevelRow): boolean =>
  level.stock_category === 50 && level.asset_number === null && level.serial_number === null && level.barcode === null
const surplusOf = (store: StoreRow, held: number, given: number): ReadonlyArray<string> =>
  given < held
    ? [`${store.name} holds ${held} units, more than the ${given} of the row; write off what is no longer there.`]
    : []

/** The unit of a row: by asset number or serial number, else by barcode among the units of the product. */
const findUnit = (
  unit: Partial<Unit>,
  path: string,
  product: ProductRow | undefined,
  { numbers, levels }: StockFacts
): { readonly level: StockLevelRow | undefined } | { readonly errors: FieldErrors } => {
  const byAsset = typeof unit.asset_number === "string" ? numbers.assets.get(unit.asset_number) : undefined
  const bySerial = typeof unit.serial_number === "string" ? numbers.serials.get(unit.serial_number) : undefined
  const numbered = unit.asset_number !== undefined || unit.serial_number !== undefined
  if (!numbered && unit.barcode === undefined)
    return {
      errors: { [path]: ["Give the unit an asset number, a serial number or a barcode; or give how many there are."] }
    }
  const taken = (name: "asset_number" | "serial_number") => ({
    errors: { [`${path}.${name}`]: [`The ${name.replace("_", " ")} has already been taken.`] }
  })
  const isForeign = (level: StockLevelRow | undefined): boolean =>
    level !== undefined && (level.product_id !== product?.id || level.is_sub_hired)
  if (isForeign(byAsset)) return taken("asset_number")
  if (isForeign(bySerial)) return taken("serial_number")
  if (byAsset !== undefined && bySerial !== undefined && byAsset.id !== bySerial.id) return taken("serial_number")
  return { level: byAsset ?? bySerial ?? (numbered ? undefined : levels.find((one) => one.barcode === unit.barcode)) }
}

/** Events that change stock to the row's values, each change of quantity with its ledger entry. */
export const stockEvents = (
  product: ProductRow,
  is_new: boolean,
  holdings: ReadonlyArray<Holding>,
  around: StockFacts,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const events = holdings.flatMap((holding): ReadonlyArray<NewEvent> => {
    if (holding.kind === "quantity") return quantityEvents(product, holding, context)
    if (holding.kind === "units")
      return Array.from({ length: holding.count }, () =>
        newUnit(product, holding.store, {}, around.numbers, context)
      ).flat()
    if (holding.level === undefined) return newUnit(product, holding.store, holding.unit, around.numbers, context)
    const updated = updatedEvents(stock_levels, holding.level, holding.unit)
    if (updated.length > 0) remember({ ...holding.level, ...holding.unit }, around.numbers)
    return updated
  })
  const standard = around.stores.find((one) => one.is_default) ?? around.stores[0]
  const first =
    is_new && !holdings.some((one) => one.store.id === standard?.id)
      ? firstStockLevel(product, around.stores, context)
      : []
  return [...first, ...events]
}

const newLevel = (product: ProductRow, store: StoreRow, over: Partial<StockLevelRow>, context: DecideContext) => {
  const level = draftRow(stock_levels, stock_levels.columns, {
    ...over,
    id: context.id(stock_levels),
    product_id: product.id,
    store_id: store.id
  })
  return { level, events: [createdEvent(stock_levels, level), ...openingEvents(level, context)] }
}
const newUnit = (
  product: ProductRow,
  store: StoreRow,
  unit: Partial<Unit>,
  numbers: UnitNumbers,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const { level, events } = newLevel(product, store, { ...unit, stock_category: 50, quantity_held: "1.00" }, context)
  remember(level, numbers)
  return events
}
const remember = (level: StockLevelRow, { assets, serials }: UnitNumbers): void => {
  if (level.asset_number !== null) assets.set(level.asset_number, level)
  if (level.serial_number !== null) serials.set(level.serial_number, level)
}

const quantityEvents = (
  product: ProductRow,
  { level, quantity, store }: Holding & { kind: "quantity" },
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  if (level === undefined)
    return newLevel(product, store, { stock_category: 10, quantity_held: quantity }, context).events
  const difference = exact(quantity).minus(level.quantity_held)
  const updated = updatedEvents(stock_levels, level, { quantity_held: quantity })
  if (updated.length === 0) return []
  return [
    createdEvent(stock_transactions, {
      ...initialRow(stock_transactions, stock_transactions.columns),
      id: context.id(stock_transactions),
      stock_level_id: level.id,
      product_id: product.id,
      store_id: store.id,
      transaction_type: compareDecimals(difference, 0) > 0 ? increase : decrease,
      transaction_at: context.now,
      quantity: formatDecimal(difference.abs(), 2),
      quantity_move: formatDecimal(difference, 2),
      description: "Import",
      manual: false
    }),
    ...updated
  ]
}
