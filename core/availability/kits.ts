/** Availability of composed products: what is free is what its parts allow, slot by slot (availability 7.3). */
import { millisOf } from "../values/time.ts"
import { openEndMillis } from "../values/period.ts"
import { type Book, type PackedContainer, type PackedItem, type StockedProduct, compositionOf } from "./book.ts"
import type { KitPart } from "../kits/case.ts"
import type { StandingClaim } from "./claim.ts"
import { slotsTouched } from "./slots.ts"
import { SlotTally, stockTotals, timelineOf } from "./timeline.ts"

/** Kits are nested more deeply than the setting `kit_nesting_max_depth` allows, or contain themselves. */
export class KitNestedTooDeep extends Error {
  readonly _tag = "KitNestedTooDeep"
  readonly product_id: number
  constructor(product_id: number, depth: number) {
    super(`Kit ${product_id} is nested more than ${depth} levels deep.`)
    this.product_id = product_id
  }
}

/**
 * Free units of any product per slot: stock minus claims for a plain one, what its parts allow for a composed one.
 * Undefined when a catalogue kit has no pool part, so nothing can be said. Throws KitNestedTooDeep.
 */
export const freeUnits = (
  book: Book, product_id: number, bounds: ReadonlyArray<number>, known: KnownFree = new Map()
): ReadonlyArray<number> | undefined => freeAt(book, product_id, bounds, 0, known)

/** What was counted already, by product, of ONE book over ONE list of bounds: kits share their parts. */
export type KnownFree = Map<number, ReadonlyArray<number> | undefined>

const freeAt = (
  book: Book, product_id: number, bounds: ReadonlyArray<number>, depth: number, known: KnownFree
): ReadonlyArray<number> | undefined => {
  if (known.has(product_id)) return known.get(product_id)
  const product = book.products.get(product_id)
  const composition = compositionOf(product)
  const free = product === undefined || composition === "plain"
    ? timelineOf(book, product_id, bounds).available
    : composition === "catalogue" ? fromPool(book, product, bounds, depth, known)
    : composition === "kit" ? freeHousings(book, product, bounds)
    : lowest(freeHousings(book, product, bounds), fromPool(book, product, bounds, depth, known))
  known.set(product_id, free)
  return free
}

/** Parts a kit draws from general stock; a part of quantity 0 asks for nothing. */
export const poolParts = (product: StockedProduct): ReadonlyArray<KitPart> =>
  product.parts.filter((part) => part.binding === "pool" && part.quantity > 0)

/** How many kits `units` of one part make: whole ones, never fewer than none. Exact to the part's four decimals. */
export const kitsFrom = (units: number, part: KitPart): number =>
  Math.max(0, Math.floor((units * 10_000) / Math.round(part.quantity * 10_000)))

const fromPool = (
  book: Book, kit: StockedProduct, bounds: ReadonlyArray<number>, depth: number, known: KnownFree
): ReadonlyArray<number> | undefined => {
  const parts = poolParts(kit)
  if (parts.length > 0 && depth >= book.kit_depth) throw new KitNestedTooDeep(kit.id, book.kit_depth)
  return parts
    .map((part) => {
      const units = freeAt(book, part.component_product_id, bounds, depth + 1, known)
      return bounds.slice(1).map((_, slot) => kitsFrom(units?.[slot] ?? 0, part))
    })
    .reduce<ReadonlyArray<number> | undefined>((kits, more) => lowest(more, kits), undefined)
}

const lowest = (one: ReadonlyArray<number>, other: ReadonlyArray<number> | undefined): ReadonlyArray<number> =>
  other === undefined ? one : one.map((units, slot) => Math.min(units, other[slot]!))

/**
 * Free cases of a container product: its own free stock, less every free case whose fixed slots are not filled. Each
 * case is judged by its own contents and slot by slot; a booking of some other unit of a fixed part changes nothing.
 */
const freeHousings = (book: Book, product: StockedProduct, bounds: ReadonlyArray<number>): ReadonlyArray<number> => {
  const own = timelineOf(book, product.id, bounds).available
  const fixed = product.parts.filter((part) => part.binding === "fixed" && part.quantity > 0)
  if (fixed.length === 0) return own
  const stock = book.stockOf(product.id)
  const claimsOnCases = claimsByAsset(book.claimsOf(product.id))
  const claimsOnContents = claimsByAsset(fixed.flatMap((part) => book.claimsOf(part.component_product_id)))
  const containerIn = new Map(book.containersOf(product.id).map((container) => [container.housing_id, container]))
  // Cases counted in bulk cannot be told apart, so none of them can have contents.
  const unfit = stockTotals(bounds, stock.filter((row) => !row.is_unit))
  for (const unit of stock.filter((row) => row.is_unit)) {
    const here = new SlotTally(bounds), claimed = new SlotTally(bounds)
    here.add(unit.from, unit.to, 1)
    for (const claim of claimsOnCases.get(unit.level.id) ?? []) claimed.add(claim.from, claim.to, 1)
    const isFilled = filledSlots(containerIn.get(unit.level.id), fixed, claimsOnContents, bounds)
    const claims = claimed.sums()
    here.sums().forEach((present, slot) => {
      if (present > 0 && claims[slot] === 0 && !isFilled[slot]) unfit[slot]! += 1
    })
  }
  return own.map((units, slot) => units - unfit[slot]!)
}

/** Per slot, whether every fixed part of one container is packed in full number and free of other claims. */
const filledSlots = (
  container: PackedContainer | undefined, fixed: ReadonlyArray<KitPart>,
  claims: ReadonlyMap<number, ReadonlyArray<StandingClaim>>, bounds: ReadonlyArray<number>
): ReadonlyArray<boolean> => {
  const filled = bounds.slice(1).map(() => container !== undefined)
  for (const part of container === undefined ? [] : fixed) {
    packedUnits(container, part, claims, bounds).forEach((units, slot) => {
      if (units < Math.ceil(part.quantity)) filled[slot] = false
    })
  }
  return filled
}

/** Per slot, how many units of a part are packed in one container with no claim on them but their packing. */
const packedUnits = (
  container: PackedContainer | undefined, part: KitPart, claims: ReadonlyMap<number, ReadonlyArray<StandingClaim>>, bounds: ReadonlyArray<number>
): ReadonlyArray<number> => {
  const packed = new SlotTally(bounds)
  for (const item of container?.items ?? []) {
    if (item.product_id === part.component_product_id) addFreeSlots(packed, item, claims, bounds)
  }
  return packed.sums()
}

/** One case of a container product in one slot: why it counts, or does not. */
export interface CaseState {
  readonly stock_level_id: number
  readonly container_id: number | null
  readonly is_claimed: boolean
  /** Every fixed part is in it, in full number and claimed by nothing else. */
  readonly is_filled: boolean
  readonly missing: ReadonlyArray<{ readonly product_id: number; readonly product_name: string | null; readonly quantity: number }>
}

/** The cases here in the first slot of the bounds, by id; none for a product that is no case. */
export const casesAt = (book: Book, product_id: number, bounds: ReadonlyArray<number>): ReadonlyArray<CaseState> => {
  const product = book.products.get(product_id)
  if (product === undefined || !["kit", "hybrid"].includes(compositionOf(product))) return []
  const fixed = product.parts.filter((part) => part.binding === "fixed" && part.quantity > 0)
  const claimsOnCases = claimsByAsset(book.claimsOf(product_id))
  const claimsOnContents = claimsByAsset(fixed.flatMap((part) => book.claimsOf(part.component_product_id)))
  const containerIn = new Map(book.containersOf(product_id).map((container) => [container.housing_id, container]))
  const touches = ({ from, to }: { readonly from: number; readonly to: number }): boolean => slotsTouched([bounds[0]!, bounds[1]!], from, to).last === 0
  return book.stockOf(product_id).filter((unit) => unit.is_unit && touches(unit)).map(({ level }) => {
    const container = containerIn.get(level.id)
    const missing = fixed.flatMap((part) => {
      const quantity = Math.ceil(part.quantity) - (packedUnits(container, part, claimsOnContents, bounds)[0] ?? 0)
      return quantity <= 0 ? [] : [{ product_id: part.component_product_id, product_name: book.products.get(part.component_product_id)?.name ?? null, quantity }]
    })
    return {
      stock_level_id: level.id, container_id: container?.id ?? null, is_claimed: (claimsOnCases.get(level.id) ?? []).some(touches),
      is_filled: missing.length === 0, missing
    }
  }).sort((one, other) => one.stock_level_id - other.stock_level_id)
}

/** Counts one packed unit in the slots where nothing but its own packing claims it. */
const addFreeSlots = (
  packed: SlotTally, item: PackedItem, claims: ReadonlyMap<number, ReadonlyArray<StandingClaim>>,
  bounds: ReadonlyArray<number>
): void => {
  const until = item.unpacked_at === null ? openEndMillis : millisOf(item.unpacked_at)
  const inside = slotsTouched(bounds, millisOf(item.packed_at), until)
  const taken = (claims.get(item.stock_level_id) ?? [])
    .filter(({ claim }) => claim.source_type !== "container" || claim.source_id !== item.container_item_id)
    .map((claim) => slotsTouched(bounds, claim.from, claim.to))
    .sort((one, other) => one.first - other.first)
  let next = inside.first
  for (const { first, last } of taken) {
    packed.addSlots(next, Math.min(first - 1, inside.last), 1)
    next = Math.max(next, last + 1)
  }
  packed.addSlots(next, inside.last, 1)
}

const claimsByAsset = (claims: ReadonlyArray<StandingClaim>): ReadonlyMap<number, ReadonlyArray<StandingClaim>> => {
  const byAsset = new Map<number, Array<StandingClaim>>()
  for (const claim of claims) {
    if (!claim.claim.is_active || claim.claim.asset_id === null) continue
    const group = byAsset.get(claim.claim.asset_id)
    if (group === undefined) byAsset.set(claim.claim.asset_id, [claim])
    else group.push(claim)
  }
  return byAsset
}
