/** Facts for the rule of a scan: the code's target, the order, and the containers involved. */
import { Effect } from "effect"
import { assetConflicts } from "../../orders/availability/api/window.ts"
import type { DispatchFacts } from "../containers/dispatch-return.ts"
import { backAloneAt, type ContainerFacts, loadTarget, loadUnits, type Unit } from "../containers/facts.ts"
import { lockStreams, Store, type Decided, type NewEvent, type Now } from "../../kernel/index.ts"
import { loadDecisionState, withHolders } from "../../orders/opportunities/state/index.ts"
import type { DecisionState, HeldBack, HeldDemand } from "../../orders/opportunities/state/index.ts"
import { asset_assignments, checked_in, finalised } from "../../orders/opportunities/tables/index.ts"
import type { AssignmentRow, OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { type ContainerRow, containers } from "../../products/packing.ts"
import { stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import { openEnd } from "../../values/time.ts"
import type { Found, Named } from "./codes.ts"
import { numberText } from "../../values/text.ts"
import type { Scanned, scanResult } from "./result.ts"

/** A container named by the code, or with the scanned unit as its case. */
export interface CaseFacts {
  readonly target: ContainerFacts
  /** Units packed in it, by stock level. */
  readonly units: ReadonlyMap<number, Unit>
  readonly housing: DispatchFacts["housing"]
  readonly housing_demands: ReadonlyArray<HeldDemand>
  readonly nested: ReadonlyArray<ContainerRow>
}
export interface ScanFacts {
  readonly found: Found
  /** State of the order; undefined if it is unknown or deleted. */
  readonly known: DecisionState | undefined
  /** The scanned unit. `around`: the container it is packed in. */
  readonly unit: Unit | undefined
  readonly around: ContainerFacts | undefined
  /** Whether the unit was returned while the case it is packed in is away; it is then treated as not in the case. */
  readonly is_back_alone: boolean
  /** Demands on the case of that container, which may be allocated to an order. */
  readonly around_demands: ReadonlyArray<HeldDemand>
  readonly as_case: CaseFacts | undefined
  /** Last return of the unit, or of the case and each of its units, by stock level. */
  readonly returned: ReadonlyMap<number, string>
  /** Pieces of a bulk product in service, by store; read where some come back unfit. */
  readonly in_service?: ReadonlyMap<number, number>
}

export const containerOf = (named: Named | undefined): ContainerRow | undefined =>
  named === undefined || named.kind === "product" ? undefined : named.container

const demandsOnCase = (container: ContainerRow, until: string | null, now: string) =>
  container.serialised_item_id === null
    ? Effect.succeed([])
    : Effect.flatMap(
        assetConflicts(
          [container.serialised_item_id],
          { from: now, to: until === null || until < now ? openEnd : until },
          now
        ),
        withHolders
      )

const loadCase = Effect.fnUntraced(function* (
  container: ContainerRow,
  header: OpportunityRow | undefined,
  { now }: Now
): Store.Reads<CaseFacts> {
  const current = (yield* Store.get(containers, container.id)) ?? container
  const target = yield* loadTarget(current)
  const inside = target.items.map((item) => item.serialised_item_id)
  yield* lockStreams(inside.map((id) => `stock_level:${id}`))
  return {
    target,
    units: yield* loadUnits(inside, now),
    housing:
      current.serialised_item_id === null ? undefined : yield* Store.get(stock_levels, current.serialised_item_id),
    housing_demands: yield* demandsOnCase(current, header?.ends_at ?? null, now),
    nested: (yield* Store.find(containers, { parent_container_id: current.id })).filter(
      ({ status }) => status !== "dissolved"
    )
  }
})

/** Last return of each stock level, from any order. One query. */
const lastReturns = Effect.fnUntraced(function* (
  level_ids: ReadonlyArray<number>
): Store.Reads<ReadonlyMap<number, string>> {
  if (level_ids.length === 0) return new Map()
  const store = yield* Store
  const rows = yield* store.sql`
    select stock_level_id, max(returned_at) as returned_at from asset_assignments
    where stock_level_id in ${store.sql.in(level_ids)} and status in (${checked_in}, ${finalised})
    group by stock_level_id`
  return new Map(
    rows.flatMap((row) => {
      const { returned_at, stock_level_id } = store.decode(asset_assignments, row)
      return returned_at === null ? [] : [[stock_level_id, returned_at] as const]
    })
  )
})

const isBackAlone = Effect.fnUntraced(function* (stock_level_id: number, root: ContainerRow) {
  if (root.status !== "dispatched" || root.opportunity_id === null) return false
  const where = { stock_level_id, opportunity_id: root.opportunity_id }
  return backAloneAt(yield* Store.find(asset_assignments, where), root) !== undefined
})

/** Facts for a scan on an order; without `header` on none. */
export const loadScan = Effect.fnUntraced(function* (
  found: Found,
  header: OpportunityRow | undefined,
  at: Now
): Store.Reads<ScanFacts> {
  const { named } = found
  const container = containerOf(named)
  const as_case = container === undefined ? undefined : yield* loadCase(container, header, at)
  const level_id = named?.kind === "unit" ? named.level.id : undefined
  const unit = level_id === undefined ? undefined : (yield* loadUnits([level_id], at.now)).get(level_id)
  const within = unit?.membership === undefined ? undefined : yield* Store.get(containers, unit.membership.container_id)
  if (within !== undefined) yield* lockStreams([`container:${within.id}`])
  const around = within === undefined ? undefined : yield* loadTarget(within)
  const root = around?.chain.at(-1)
  const level_ids = [
    ...new Set([
      ...(level_id === undefined ? [] : [level_id]),
      ...(as_case === undefined
        ? []
        : [...as_case.units.keys(), ...(as_case.housing === undefined ? [] : [as_case.housing.id])])
    ])
  ]
  return {
    found,
    known:
      header === undefined
        ? undefined
        : yield* loadDecisionState(header, at, { live_only: true, stock: true, level_ids }),
    unit,
    around,
    is_back_alone: level_id !== undefined && root !== undefined && (yield* isBackAlone(level_id, root)),
    around_demands: within === undefined ? [] : yield* demandsOnCase(within, null, at.now),
    as_case,
    returned: yield* lastReturns(level_ids)
  }
})

// Request of a scan, and texts and results shared by its rules.

export interface Wanted {
  /** Body field that named the goods, for errors. */
  readonly field: "code" | "stock_level_id"
  readonly quantity: number | null
  readonly at: string
  /** Whether the request gives the time; otherwise the current time is used. */
  readonly is_time_told: boolean
  readonly break_seal: boolean
  readonly vehicle_id: number | null
  readonly finalise: boolean
  readonly condition: number | null
  readonly damage_notes: string | null
  readonly return_store_id: number | null
}
export type ScanDecided = Decided<typeof scanResult.Type>
export const orderWords = ({ opportunity: { header } }: DecisionState): string => numberText(header.number, header.id)

export const scannedOf = (
  facts: ScanFacts,
  set: Partial<Scanned> & Pick<Scanned, "direction" | "kind" | "name">
): Scanned => ({
  code: facts.found.read.code,
  opportunity_id: facts.known?.opportunity.header.id ?? null,
  opportunity_item_id: null,
  stock_level_id: null,
  container_id: null,
  product_id: null,
  quantity: 1,
  part_of: null,
  in_place_of: null,
  is_out_again: false,
  taken_out_of: [],
  ...set
})
export const decidedAs = (
  known: DecisionState | undefined,
  events: ReadonlyArray<NewEvent>,
  scanned: Scanned,
  _meta: HeldBack | null = null
) => ({ events, result: { id: known?.opportunity.header.id ?? 0, scanned, warnings: [], _meta } })

export const partOf = (known: DecisionState, unit: AssignmentRow, level: StockLevelRow): string | null => {
  const line = known.opportunity.lines.find(({ id }) => id === unit.opportunity_item_id)
  return line === undefined || line.item_id === level.product_id ? null : line.name
}
