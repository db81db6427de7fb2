/** The reasons behind one number: the stock counted, the claims that take it, the parts that limit a kit. */
import { instantOf } from "../values/time.ts"
import { type Book, compositionOf } from "./book.ts"
import { type DealName, type StandingClaim, sourceName } from "./claim.ts"
import { type CaseState, casesAt, freeUnits, kitsFrom, poolParts } from "./kits.ts"
import type { Phase } from "./phase.ts"
import { type PointAvailability, pointAvailability } from "./point.ts"
import { slotBounds, slotsTouched } from "./slots.ts"

export interface ClaimBehind {
  readonly claim_id: number
  readonly source_type: string
  readonly source_id: number
  readonly source_name: string
  readonly opportunity_id: number | null
  readonly asset_id: number | null
  readonly quantity: number
  readonly phase: Phase
  /** Buffers included. */
  readonly from: string
  readonly to: string
  /** Due back and not returned: counted with no known end. */
  readonly is_overdue: boolean
}

export interface PartBehind {
  readonly product_id: number
  readonly product_name: string | null
  readonly quantity: number
  readonly available: number
  /** How many kits these units allow; the smallest decides. */
  readonly kits: number
}

export interface AvailabilityReasons extends PointAvailability {
  readonly slot_start: string
  readonly slot_end: string
  readonly stock_level_ids: ReadonlyArray<number>
  readonly claims: ReadonlyArray<ClaimBehind>
  readonly parts: ReadonlyArray<PartBehind>
  /** Of a container product, each case: claimed, filled, or what it lacks. */
  readonly cases: ReadonlyArray<CaseState>
}

/** The point answer at `at` and all it rests on; claims in order of their start. */
export const availabilityReasons = (
  book: Book, product_id: number, at: number, deals: ReadonlyMap<number, DealName>
): AvailabilityReasons => {
  const bounds = slotBounds(at, at, book.resolution, book.zone)
  const product = book.products.get(product_id)
  const touches = ({ from, to }: { readonly from: number; readonly to: number }): boolean => {
    const { first, last } = slotsTouched(bounds, from, to)
    return first <= last
  }
  return {
    ...pointAvailability(book, product_id, at),
    slot_start: instantOf(bounds[0]!),
    slot_end: instantOf(bounds[1]!),
    stock_level_ids: book.stockOf(product_id).filter(touches).map(({ level }) => level.id).sort((a, b) => a - b),
    claims: book.claimsOf(product_id)
      .filter((claim) => claim.claim.is_active && touches(claim))
      .sort((one, other) => one.from - other.from || one.claim.id - other.claim.id)
      .map((claim) => claimBehind(claim, deals)),
    parts: product === undefined || compositionOf(product) === "plain" || compositionOf(product) === "kit" ? []
      : poolParts(product).map((part) => {
        const available = freeUnits(book, part.component_product_id, bounds)?.[0] ?? 0
        return {
          product_id: part.component_product_id,
          product_name: book.products.get(part.component_product_id)?.name ?? null,
          quantity: part.quantity,
          available,
          kits: kitsFrom(available, part)
        }
      }),
    cases: casesAt(book, product_id, bounds)
  }
}

const claimBehind = (
  { claim, from, is_overdue, to }: StandingClaim, deals: ReadonlyMap<number, DealName>
): ClaimBehind => ({
  claim_id: claim.id,
  source_type: claim.source_type,
  source_id: claim.source_id,
  source_name: sourceName(claim, deals),
  opportunity_id: claim.opportunity_id,
  asset_id: claim.asset_id,
  quantity: claim.quantity,
  phase: claim.phase,
  from: instantOf(from),
  to: instantOf(to),
  is_overdue
})
