/**
 * The demands of opportunity lines and of packed units (rules/availability 2.4 to 2.6, 8.5, rules/opportunities 10).
 */
import { openEnd } from "../../../values/time.ts"
import { compositionOf, type StockedProduct } from "./snapshot.ts"
import type { NewDemand } from "../../demands/schema.ts"
import type { Buffers, Phase, ReleasePoint } from "./demand.ts"
import { bufferedWindow, demandPhaseOf, holdsStock, noBuffers } from "./demand.ts"
import { KitNestedTooDeep, poolParts } from "./kits.ts"
import { requestedUnits } from "./line.ts"

/** Setting `demand_date_source`: the dates the goods are away, or the charged dates. */
export type DemandDateSource = "operational" | "charge"

export interface OpportunityFacts {
  readonly id: number
  readonly state: number
  readonly status: number
  readonly store_id: number | null
  readonly starts_at: string | null
  readonly ends_at: string | null
  readonly charge_starts_at: string | null
  readonly charge_ends_at: string | null
}

/** A unit allocated to a line. Status: 0 allocated, 1 prepared, 2 dispatched, 3 on hire, 4 checked in, 5 finalised. */
interface AllocatedUnit {
  readonly stock_level_id: number
  readonly product_id: number
  readonly status: number
  readonly dispatched_at: string | null
  readonly returned_at: string | null
  readonly checked_at: string | null
}

interface LineFacts {
  readonly id: number
  readonly product_id: number | null
  readonly quantity: number
  readonly dispatched_quantity: number
  readonly returned_quantity: number
  readonly starts_at: string | null
  readonly ends_at: string | null
  readonly dispatch_store_id: number | null
  /** False for removed lines and lines of inactive versions: their demands are void. */
  readonly is_live: boolean
  readonly units: ReadonlyArray<AllocatedUnit>
}

export interface DemandSettings {
  readonly release_point: ReleasePoint
  readonly demand_date_source: DemandDateSource
  readonly kit_nesting_max_depth: number
  readonly now: string
}

/**
 * The line's window before buffers: its own dates, else the opportunity's, else from now on. With the source `charge`,
 * the opportunity's charge dates come first.
 */
export const lineWindow = (
  line: Pick<LineFacts, "starts_at" | "ends_at">,
  opportunity: OpportunityFacts,
  settings: Pick<DemandSettings, "demand_date_source" | "now">
): { readonly starts_at: string; readonly ends_at: string } => {
  const starts_at = line.starts_at ?? opportunity.starts_at ?? settings.now
  const ends_at = line.ends_at ?? opportunity.ends_at ?? openEnd
  return settings.demand_date_source === "charge"
    ? { starts_at: opportunity.charge_starts_at ?? starts_at, ends_at: opportunity.charge_ends_at ?? ends_at }
    : { starts_at, ends_at }
}

/** The store that the line takes stock from; null if neither names one. */
export const storeOfLine = (
  line: Pick<LineFacts, "dispatch_store_id">,
  opportunity: Pick<OpportunityFacts, "store_id">
): number | null => line.dispatch_store_id ?? opportunity.store_id

/**
 * All demands of a line; none without a product or a store. A kit demands its pool parts, a case kit the case. Each
 * allocated unit has its own demand, and one demand covers the rest of the quantity. Throws KitNestedTooDeep and
 * KitTooLarge.
 */
export const demandsOfLine = (
  line: LineFacts,
  opportunity: OpportunityFacts,
  products: ReadonlyMap<number, StockedProduct>,
  settings: DemandSettings
): ReadonlyArray<NewDemand> => {
  const store_id = storeOfLine(line, opportunity)
  const product = line.product_id === null ? undefined : products.get(line.product_id)
  if (store_id === null || product === undefined) return []
  const phase: Phase = line.is_live
    ? demandPhaseOf(opportunity.state, opportunity.status, settings.release_point)
    : "void"
  const base: DemandBase = {
    line,
    phase,
    store_id,
    opportunity_id: opportunity.id,
    releasesAtCheck: settings.release_point === "checked",
    ...lineWindow(line, opportunity, settings)
  }
  return needsOf(product, products, settings.kit_nesting_max_depth).flatMap(({ per_line, product: needed, is_part }) =>
    needed.is_serialised
      ? demandsOfUnits(base, needed, {
          all: unitsAsked(line, per_line, is_part, 0),
          // Returned units of the line's own product have their own demands; parts follow the line's returned quantity.
          left: unitsAsked(line, per_line, is_part, is_part ? line.returned_quantity : 0)
        })
      : demandOfQuantity(base, needed, unitsAsked(line, per_line, is_part, line.returned_quantity))
  )
}

interface DemandBase {
  readonly line: LineFacts
  readonly phase: Phase
  readonly store_id: number
  readonly opportunity_id: number
  readonly starts_at: string
  readonly ends_at: string
  readonly releasesAtCheck: boolean
}

interface Need {
  readonly product: StockedProduct
  /** Units of the product per unit of the line. */
  readonly per_line: number
  readonly is_part: boolean
}

/** Maximum of different products a kit may demand: above any real kit, and few enough for one event. */
const kit_products_max = 2_000
/** A kit demands more than `kit_products_max` different products. */
export class KitTooLarge extends Error {
  readonly _tag = "KitTooLarge"
  readonly product_id: number
  constructor(product_id: number) {
    super(`Kit ${product_id} is made of more than ${kit_products_max.toLocaleString("en")} different products.`)
    this.product_id = product_id
  }
}

/** Demand per unit of a product, by product, and its number of kit levels including itself. */
interface Exploded {
  readonly per_unit: ReadonlyMap<number, number>
  readonly levels: number
}

/**
 * Stock demand of one unit, by product, with kits resolved into their parts. Each kit is resolved once, so the cost
 * grows with the number of parts. Unknown products are skipped.
 */
const needsOf = (
  product: StockedProduct,
  products: ReadonlyMap<number, StockedProduct>,
  max_depth: number
): ReadonlyArray<Need> => {
  if (compositionOf(product) === "plain")
    return [{ product: products.get(product.id) ?? product, per_line: 1, is_part: false }]
  const known = new Map<number, Exploded>()
  const explode = (one: StockedProduct, depth: number): Exploded => {
    const before = known.get(one.id)
    const levels = before?.levels ?? 0
    if (before !== undefined && depth + levels <= max_depth) return before
    const composition = compositionOf(one)
    const per_unit = new Map<number, number>(composition === "catalogue" ? [] : [[one.id, 1]])
    const parts = composition === "plain" || composition === "kit" ? [] : poolParts(one)
    if (before !== undefined || (parts.length > 0 && depth >= max_depth)) throw new KitNestedTooDeep(one.id, max_depth)
    let below = 0
    for (const part of parts) {
      const component = products.get(part.component_product_id)
      if (component === undefined) continue
      const inside = explode(component, depth + 1)
      for (const [id, units] of inside.per_unit) per_unit.set(id, (per_unit.get(id) ?? 0) + units * part.quantity)
      below = Math.max(below, inside.levels)
    }
    if (per_unit.size > kit_products_max) throw new KitTooLarge(one.id)
    const found = { per_unit, levels: parts.length === 0 ? 0 : below + 1 }
    known.set(one.id, found)
    return found
  }
  return [...explode(product, 0).per_unit].map(([id, per_line]) => ({
    product: products.get(id) ?? product,
    per_line,
    is_part: id !== product.id
  }))
}

/**
 * Serialised units that one unit of this product takes from stock besides itself, by product: parts of a kit that are
 * tracked individually. Empty for kits nested too deeply, which have no demands either.
 */
export const serialisedParts = (
  product: StockedProduct,
  products: ReadonlyMap<number, StockedProduct>,
  max_depth: number
): ReadonlyMap<number, number> => partsTracked(product, products, max_depth, true)
/** `serialisedParts` for bulk parts. */
export const countedParts = (
  product: StockedProduct,
  products: ReadonlyMap<number, StockedProduct>,
  max_depth: number
): ReadonlyMap<number, number> => partsTracked(product, products, max_depth, false)
const partsTracked = (
  product: StockedProduct,
  products: ReadonlyMap<number, StockedProduct>,
  max_depth: number,
  is_serialised: boolean
): ReadonlyMap<number, number> => {
  try {
    return new Map(
      needsOf(product, products, max_depth).flatMap(({ is_part, per_line, product: part }) =>
        is_part && part.is_serialised === is_serialised ? [[part.id, per_line] as const] : []
      )
    )
  } catch (thrown) {
    if (thrown instanceof KitNestedTooDeep || thrown instanceof KitTooLarge) return new Map()
    throw thrown
  }
}

/**
 * Whole units demanded: rounded for a line's own product, rounded up for a kit's part; 0 once everything is returned.
 */
const unitsAsked = (line: LineFacts, per_line: number, is_part: boolean, returned: number): number => {
  if (returned > 0 && returned >= line.quantity) return 0
  if (!is_part) return Math.max(0, Math.ceil(exact(requestedUnits(line.quantity) - returned)))
  return Math.max(1, Math.ceil(exact((line.quantity - returned) * per_line)))
}

/** Rounds off the error of binary fractions: 10 × 1.1 is 11, not slightly more. */
const exact = (quantity: number): number => Math.round(quantity * 1e6) / 1e6

const demandOfQuantity = (base: DemandBase, product: StockedProduct, quantity: number): ReadonlyArray<NewDemand> =>
  quantity === 0
    ? []
    : [
        {
          ...demandOn(base, product, base.phase, base.starts_at, base.ends_at),
          quantity,
          out: isLineOut(base.line, product)
        }
      ]

/** Serialised units are dispatched by their allocation, so unallocated ones are not out. */
const isLineOut = (line: LineFacts, product: StockedProduct): boolean =>
  line.dispatched_quantity > line.returned_quantity && !(product.is_serialised && product.id === line.product_id)

/**
 * One demand for each allocated unit, and one for the unallocated rest. `asked.all`: units of the full line;
 * `asked.left`: units not counted as returned. A returned unit reduces the rest once, whether scanned or counted.
 */
const demandsOfUnits = (
  base: DemandBase,
  product: StockedProduct,
  asked: { readonly all: number; readonly left: number }
): ReadonlyArray<NewDemand> => {
  const units = base.line.units.filter((unit) => unit.product_id === product.id)
  const back = units.filter(isUnitBack).length
  const rest = Math.min(asked.left, asked.all - back) - (units.length - back)
  const demands = units.map((unit) => demandOfUnit(base, product, unit))
  return rest > 0 ? [...demands, ...demandOfQuantity(base, product, rest)] : demands
}

const dispatched = 2,
  onHire = 3,
  checkedIn = 4,
  finalised = 5

const isUnitBack = ({ status }: AllocatedUnit): boolean => status === checkedIn || status === finalised

/** The demand of an allocated unit: from its dispatch if that was early, until its return if it is back. */
const demandOfUnit = (base: DemandBase, product: StockedProduct, unit: AllocatedUnit): NewDemand => {
  const starts_at =
    unit.dispatched_at !== null && unit.dispatched_at < base.starts_at ? unit.dispatched_at : base.starts_at
  const isBack = isUnitBack(unit)
  const waits = unit.status === checkedIn && unit.returned_at !== null && unit.checked_at === null
  // With release point `checked`, a returned unit stays demanded until its check.
  const isHeldForCheck = waits && base.releasesAtCheck && holdsStock(base.phase)
  const facts = {
    asset_id: unit.stock_level_id,
    returned_at: unit.returned_at,
    checked_at: unit.checked_at,
    pending_checkin: waits
  }
  if (!isBack || isHeldForCheck) {
    const out = isHeldForCheck || unit.status === dispatched || unit.status === onHire
    return { ...demandOn(base, product, base.phase, starts_at, base.ends_at), ...facts, out }
  }
  const ends_at = unit.returned_at ?? base.ends_at
  const phase = base.phase === "void" ? "void" : "closed"
  return { ...demandOn(base, product, phase, ends_at < starts_at ? ends_at : starts_at, ends_at), ...facts }
}

const demandOn = (
  base: DemandBase,
  product: Buffers & { readonly id: number },
  phase: Phase,
  starts_at: string,
  ends_at: string
): NewDemand => ({
  product_id: product.id,
  store_id: base.store_id,
  asset_id: null,
  quantity: 1,
  starts_at,
  ends_at,
  ...bufferedWindow(starts_at, ends_at, phase, product),
  source_type: "opportunity_item",
  source_id: base.line.id,
  phase,
  is_active: holdsStock(phase),
  out: false,
  pending_checkin: false,
  returned_at: null,
  checked_at: null,
  opportunity_id: base.opportunity_id,
  container_id: null
})

/**
 * Whether packing takes a unit out of general stock: always in a kit, in a hybrid if its product is a fixed part of the
 * case's product, never in a transport box or a temporary container.
 */
export const isPackedUnitHeld = (
  container_product: Pick<StockedProduct, "container_mode" | "parts"> | undefined,
  packed_product_id: number
): boolean =>
  container_product?.container_mode === "kit" ||
  (container_product?.container_mode === "hybrid" &&
    container_product.parts.some((part) => part.component_product_id === packed_product_id && part.binding === "fixed"))

/** The demand of one packed unit that is held: from its packing on, without buffers, open-ended. */
export const demandOfPackedUnit = (
  packed: {
    readonly container_id: number
    readonly container_item_id: number
    readonly stock_level_id: number
    readonly product_id: number
    readonly packed_at: string
  },
  store_id: number
): NewDemand => ({
  product_id: packed.product_id,
  store_id,
  asset_id: packed.stock_level_id,
  quantity: 1,
  starts_at: packed.packed_at,
  ends_at: openEnd,
  ...bufferedWindow(packed.packed_at, openEnd, "reserved", noBuffers),
  source_type: "container",
  source_id: packed.container_item_id,
  phase: "reserved",
  is_active: true,
  out: false,
  pending_checkin: false,
  returned_at: null,
  checked_at: null,
  opportunity_id: null,
  container_id: packed.container_id
})
