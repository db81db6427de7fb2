/** What a deal claims of stock, who else holds its units, and where it falls short (opportunities 10, availability 2 and 9). */
import { Result } from "effect"
import { type Book, compositionOf } from "../availability/book.ts"
import { type Claim, bufferedWindow, noBuffers, type StandingClaim, standing } from "../availability/claim.ts"
import { KitNestedTooDeep } from "../availability/kits.ts"
import { freeOver, type LineShortage, lineShortage, requestedUnits } from "../availability/line.ts"
import type { NewClaim } from "../claims/claim.ts"
import { type ClaimSettings, claimsOfLine, type DealFacts, KitTooLarge, lineWindow, storeOfLine } from "../availability/line-claims.ts"
import type { LineAtStore } from "../availability/lines-query.ts"
import { holdsStock, phaseOf } from "../availability/phase.ts"
import { kitDepthIn } from "../kits/settings.ts"
import { demandDateSourceIn, releasePointIn } from "../availability/settings.ts"
import { invalidField, type Rejection } from "../kernel/rejection.ts"
import type { Settings } from "../kernel/settings.ts"
import { inOrder, meets } from "../values/period.ts"
import { millisOf } from "../values/time.ts"
import { type Deal, type Holding, type Known, liveLines, stockedProductOf, unitsByLine } from "./deal.ts"
import { checked_in, type ItemRow } from "./parts.ts"
import type { OpportunityRow } from "./schema.ts"
import { order } from "./statuses.ts"

export const claimSettings = (settings: Settings, now: string): ClaimSettings => ({
  release_point: releasePointIn(settings), demand_date_source: demandDateSourceIn(settings), kit_nesting_max_depth: kitDepthIn(settings), now
})

const factsOf = (header: OpportunityRow): DealFacts => header

/** The most units of one product a claim may hold: more than any house has, and what both databases keep exactly. */
const claimed_quantity_max = 2_147_483_647

/** The claims of one line; a deleted deal claims nothing. 422 on `item_id` for kits nested too deeply or made of too much, on `quantity` for parts beyond count. */
export const claimsOf = (known: Known, deal: Deal, line: ItemRow, settings: ClaimSettings): Result.Result<ReadonlyArray<NewClaim>, Rejection> => {
  if (deal.header.deleted_at !== null) return Result.succeed([])
  try {
    const claims = claimsOfLine({
      id: line.id,
      product_id: stockedProductOf(line),
      quantity: Number(line.quantity),
      dispatched_quantity: Number(line.dispatched_quantity),
      returned_quantity: Number(line.returned_quantity),
      starts_at: line.starts_at,
      ends_at: line.ends_at,
      dispatch_store_id: line.dispatch_store_id,
      is_live: line.is_live,
      units: (unitsByLine(deal).get(line.id) ?? []).map((unit) => ({ ...unit, product_id: known.levels.get(unit.stock_level_id)?.product_id ?? line.item_id ?? 0 }))
    }, factsOf(deal.header), known.stocked, settings)
    return claims.some((claim) => claim.quantity > claimed_quantity_max)
      ? Result.fail(invalidField("quantity", `${line.name}: the line would take more units of one product than can be counted. Lower its quantity.`))
      : Result.succeed(claims)
  } catch (thrown) {
    if (thrown instanceof KitNestedTooDeep || thrown instanceof KitTooLarge) return Result.fail(invalidField("item_id", thrown.message))
    throw thrown
  }
}

/** Does the deal take stock away from others as it stands? */
export const holds = (header: OpportunityRow, settings: Settings): boolean =>
  header.deleted_at === null && holdsStock(phaseOf(header.state, header.status, releasePointIn(settings)))

/** Is it told whether its lines are short? Deals that may still come about are, those that are over ask for nothing (availability 6.8). */
export const isMeasured = (header: OpportunityRow, settings: Settings): boolean =>
  header.deleted_at === null && ["draft", "held", "reserved", "on_hire"].includes(phaseOf(header.state, header.status, releasePointIn(settings)))

/** The window a unit of the line would be held for, buffers included, whatever the deal's status. */
export const unitWindow = (known: Known, deal: Deal, line: ItemRow, settings: ClaimSettings) => {
  const { starts_at, ends_at } = lineWindow(line, factsOf(deal.header), settings)
  const product = line.item_id === null ? undefined : known.stocked.get(line.item_id)
  const buffered = bufferedWindow(starts_at, ends_at, "reserved", product ?? noBuffers)
  return { from: millisOf(buffered.buffered_starts_at), to: millisOf(buffered.buffered_ends_at), starts_at, ends_at }
}

/** Who stands in the way of holding a unit in a window; undefined when nobody does. */
export const holderOf = (
  holdings: ReadonlyArray<Holding>, stock_level_id: number, window: { readonly from: number; readonly to: number }, now: string
): Holding | undefined =>
  holdings
    .filter(({ claim }) => claim.asset_id === stock_level_id && claim.is_active && meets(standing(claim, millisOf(now)), window))
    .sort((one, other) => one.claim.starts_at < other.claim.starts_at ? -1 : 1)[0]

export const heldText = (unit: string, { claim, holder }: Holding): string =>
  `${unit} is held by ${holder} from ${claim.starts_at} to ${claim.ends_at}.`

/** A book with the deal's claims as they are to be in place of those that are stored. Each product is put together once. */
const withDeal = (book: Book, { deal: { header: { id: deal_id } }, touches }: Known, own: ReadonlyArray<Claim>): Book => {
  const stays = (claim: Claim): boolean =>
    claim.opportunity_id !== deal_id || (touches !== undefined && (claim.source_type !== "opportunity_item" || !touches.has(claim.source_id)))
  const ownOf = Map.groupBy(own.filter((claim) => claim.store_id === book.store_id), (claim) => claim.product_id)
  const known = new Map<number, ReadonlyArray<StandingClaim>>()
  return {
    ...book,
    claimsOf: (product_id) => {
      const found = known.get(product_id)
      if (found !== undefined) return found
      const claims = [
        ...book.claimsOf(product_id).filter(({ claim }) => stays(claim)),
        ...(ownOf.get(product_id) ?? []).map((claim) => standing(claim, book.now))
      ]
      known.set(product_id, claims)
      return claims
    }
  }
}

/** Lines that take stock from a store, with their window; what is back is asked for no longer. */
export const askedLines = (deal: Deal, settings: ClaimSettings): ReadonlyArray<LineAtStore> =>
  liveLines(deal).flatMap((line) => {
    const product_id = stockedProductOf(line)
    const store_id = storeOfLine(line, deal.header)
    return product_id === null || store_id === null ? []
      : [{ id: line.id, product_id, store_id, quantity: Number(line.quantity), ...lineWindow(line, factsOf(deal.header), settings) }]
  })

/**
 * The lines that are short, given the claims of the whole deal as they are to be; lines fully back ask for nothing.
 * Where a plain product has enough for everybody over all its lines' time, no line of it is looked at by itself. `only`
 * these lines and others of the same products, where no more is asked.
 */
export const shortagesOf = (
  known: Known, deal: Deal, claims: ReadonlyArray<Claim>, settings: Settings, now: string, only?: ReadonlySet<number>
): ReadonlyArray<LineShortage> => {
  const books = new Map([...known.books ?? []].map(([id, book]) => [id, withDeal(book, known, claims)]))
  const back = new Map(deal.lines.map((line) => [line.id, Number(line.returned_quantity)]))
  const unitsByLine = Map.groupBy(deal.units.filter((unit) => unit.status < checked_in), (unit) => unit.opportunity_item_id)
  const asked = askedLines(deal, claimSettings(settings, now))
    .map((line) => ({ ...line, quantity: line.quantity - (back.get(line.id) ?? 0) }))
    .filter((line) => line.quantity > 0)
  return [...Map.groupBy(asked, (line) => `${line.store_id}/${line.product_id}`).values()].flatMap((lines) => {
    const book = books.get(lines[0]!.store_id)
    if (book === undefined || (only !== undefined && !lines.some((line) => only.has(line.id))) || suffices(book, lines)) return []
    return lines.flatMap((line) => {
      const standing_units = unitsByLine.get(line.id)?.length ?? 0
      const short = lineShortage(book, line, { opportunity_id: deal.header.id, is_order: deal.header.state === order }, standing_units)
      return short === undefined ? [] : [short]
    })
  })
}
/** Every claim counted, the deal's own too, nothing is missing anywhere between the first start and the last end. */
const suffices = (book: Book, lines: ReadonlyArray<LineAtStore>): boolean => {
  const { product_id } = lines[0]!
  if (compositionOf(book.products.get(product_id)) !== "plain") return false
  const windows = lines.map((line) => inOrder({ from: millisOf(line.starts_at), to: millisOf(line.ends_at) }))
  const from = windows.reduce((first, window) => Math.min(first, window.from), Number.POSITIVE_INFINITY)
  const to = windows.reduce((last, window) => Math.max(last, window.to), Number.NEGATIVE_INFINITY)
  const own = book.claimsOf(product_id).filter(({ claim }) => claim.is_active && claim.source_type === "opportunity_item")
  // Only where each line's claim stands for all the line asks for is enough for everybody enough for each.
  const claimed = Map.groupBy(own, ({ claim }) => claim.source_id)
  // Where none of the lines claims anything yet, each asks by itself for what the others leave.
  if (lines.every((line) => !claimed.has(line.id))) {
    return freeOver(book, product_id, { from, to }) >= lines.reduce((most, line) => Math.max(most, requestedUnits(line.quantity)), 0)
  }
  return lines.every((line) => (claimed.get(line.id) ?? []).reduce((sum, { claim }) => sum + claim.quantity, 0) >= requestedUnits(line.quantity)) &&
    freeOver(book, product_id, { from, to }) >= 0
}
