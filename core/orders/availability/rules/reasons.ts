/** Reasons for an availability figure: the counted stock, the demands on it, and the parts that limit a kit. */
import { itemAt } from "../../../values/text.ts"
import { instantOf } from "../../../values/time.ts"
import { type AvailabilitySnapshot, compositionOf, type StockPeriod } from "./snapshot.ts"
import { type OpportunityName, type Phase, slotBounds, slotsTouched, sourceName } from "./demand.ts"
import { breakdownWithWaitingAt, demandsByAsset, freeUnits, kitsFrom, packedUnits } from "./kits.ts"
import { poolParts, timelineOf } from "./kits.ts"
import { type PointAvailability, pointAvailability } from "./days.ts"

interface DemandReason {
  readonly claim_id: number
  readonly source_type: string
  readonly source_id: number
  readonly source_name: string
  readonly opportunity_id: number | null
  readonly asset_id: number | null
  readonly quantity: number
  readonly phase: Phase
  /** Start of the demand's window, buffers included. */
  readonly from: string
  readonly to: string
  /** Due but not returned: counted as open-ended. */
  readonly is_overdue: boolean
}

/** Goods on their way from another store, counted in `total_stock` from their arrival. */
interface SupplyReason {
  readonly source_type: string
  readonly source_id: number
  readonly source_name: string
  readonly quantity: number
  readonly from: string
  readonly to: string
}

/** One case of a container product in one slot: whether it counts as available, and why not. */
interface CaseState {
  readonly stock_level_id: number
  readonly container_id: number | null
  readonly is_claimed: boolean
  /** Whether it holds the full number of every fixed part, without demands of others. */
  readonly is_filled: boolean
  readonly missing: ReadonlyArray<{
    readonly product_id: number
    readonly product_name: string | null
    readonly quantity: number
  }>
}

/** Cases at the store in the first slot, by id; none if the product is no case. */
const casesAt = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  bounds: ReadonlyArray<number>
): ReadonlyArray<CaseState> => {
  const product = snapshot.products.get(product_id)
  if (product === undefined || !["kit", "hybrid"].includes(compositionOf(product))) return []
  const fixed = product.parts.filter((part) => part.binding === "fixed" && part.quantity > 0)
  const demandsOnCases = demandsByAsset(snapshot.demandsOf(product_id))
  const demandsOnContents = demandsByAsset(fixed.flatMap((part) => snapshot.demandsOf(part.component_product_id)))
  const containerIn = new Map(snapshot.containersOf(product_id).map((container) => [container.housing_id, container]))
  const first_slot = bounds.slice(0, 2)
  const touches = ({ from, to }: { readonly from: number; readonly to: number }): boolean =>
    slotsTouched(first_slot, from, to).last === 0
  return snapshot
    .stockOf(product_id)
    .filter((unit) => unit.is_unit && touches(unit))
    .map(({ level }) => {
      const container = containerIn.get(level.id)
      const missing = fixed.flatMap((part) => {
        const quantity = Math.ceil(part.quantity) - (packedUnits(container, part, demandsOnContents, bounds)[0] ?? 0)
        return quantity <= 0
          ? []
          : [
              {
                product_id: part.component_product_id,
                product_name: snapshot.products.get(part.component_product_id)?.name ?? null,
                quantity
              }
            ]
      })
      return {
        stock_level_id: level.id,
        container_id: container?.id ?? null,
        is_claimed: (demandsOnCases.get(level.id) ?? []).some(touches),
        is_filled: missing.length === 0,
        missing
      }
    })
    .sort((one, other) => one.stock_level_id - other.stock_level_id)
}

interface PartReason {
  readonly product_id: number
  readonly product_name: string | null
  readonly quantity: number
  readonly available: number
  /** Number of kits these units allow; the minimum over all parts counts. */
  readonly kits: number
}

interface AvailabilityReasons extends PointAvailability {
  readonly slot_start: string
  readonly slot_end: string
  readonly stock_level_ids: ReadonlyArray<number>
  readonly supplies: ReadonlyArray<SupplyReason>
  readonly claims: ReadonlyArray<DemandReason>
  readonly parts: ReadonlyArray<PartReason>
  /** Cases of a container product: whether each has a demand, whether it is filled, and what is missing. */
  readonly cases: ReadonlyArray<CaseState>
}

/** The availability at `at` (ms) and all figures it is computed from; demands by start. Throws KitNestedTooDeep. */
export const availabilityReasons = (
  snapshot: AvailabilitySnapshot,
  product_id: number,
  at: number,
  opportunities: ReadonlyMap<number, OpportunityName>
): AvailabilityReasons => {
  const bounds = slotBounds(at, at, snapshot.resolution, snapshot.zone)
  const product = snapshot.products.get(product_id)
  const touches = ({ from, to }: { readonly from: number; readonly to: number }): boolean => {
    const { first, last } = slotsTouched(bounds, from, to)
    return first <= last
  }
  const stock = snapshot.stockOf(product_id).filter(touches)
  return {
    ...pointAvailability(snapshot, product_id, at),
    ...(compositionOf(product) === "plain"
      ? { demand_breakdown: breakdownWithWaitingAt(timelineOf(snapshot, product_id, bounds), 0) }
      : {}),
    slot_start: instantOf(itemAt(bounds, 0)),
    slot_end: instantOf(itemAt(bounds, 1)),
    stock_level_ids: stock.flatMap(({ level: { id } }) => (id < 0 ? [] : [id])).sort((a, b) => a - b),
    supplies: stock.flatMap(supplyReason),
    claims: snapshot
      .demandsOf(product_id)
      .filter((demand) => demand.demand.is_active && touches(demand))
      .sort((one, other) => one.from - other.from || one.demand.id - other.demand.id)
      .map((demand) => ({
        claim_id: demand.demand.id,
        source_type: demand.demand.source_type,
        source_id: demand.demand.source_id,
        source_name: sourceName(demand.demand, opportunities),
        opportunity_id: demand.demand.opportunity_id,
        asset_id: demand.demand.asset_id,
        quantity: demand.demand.quantity,
        phase: demand.demand.phase,
        from: instantOf(demand.from),
        to: instantOf(demand.to),
        is_overdue: demand.is_overdue
      })),
    parts:
      product === undefined || compositionOf(product) === "plain" || compositionOf(product) === "kit"
        ? []
        : poolParts(product).map((part) => {
            const available = freeUnits(snapshot, part.component_product_id, bounds)?.[0] ?? 0
            return {
              product_id: part.component_product_id,
              product_name: snapshot.products.get(part.component_product_id)?.name ?? null,
              quantity: part.quantity,
              available,
              kits: kitsFrom(available, part)
            }
          }),
    cases: casesAt(snapshot, product_id, bounds)
  }
}

const supplyReason = ({ from, level, to }: StockPeriod): ReadonlyArray<SupplyReason> =>
  level.supplied_by === undefined
    ? []
    : [
        {
          ...level.supplied_by,
          source_name: sourceName({ ...level.supplied_by, opportunity_id: null }, new Map()),
          quantity: Number(level.quantity_held),
          from: instantOf(from),
          to: instantOf(to)
        }
      ]
