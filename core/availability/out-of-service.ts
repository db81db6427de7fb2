/**
 * Stock that is out of service, as demands: every answer counts and names it like any other (rules/availability 13.2).
 */
import { outOfServicePeriod, type OutOfService } from "../service/service.ts"
import type { Period } from "../values/period.ts"
import { instantOf } from "../values/time.ts"
import type { ActiveDemand } from "./demand.ts"
import type { StockPeriod } from "./stock.ts"

/** The demands of what is out of service of these stock rows. `booked`: the other demands on the same product. */
export const demandsOutOfService = (
  stock: ReadonlyArray<StockPeriod>,
  booked: ReadonlyArray<ActiveDemand>,
  now: number
): ReadonlyArray<ActiveDemand> =>
  stock.flatMap((row) => {
    const entries = row.level.out_of_service ?? []
    if (entries.length === 0) return []
    const held = row.is_unit ? heldBy(row.level.id, booked) : []
    let left = row.is_unit ? 1 : Math.round(row.ten_thousandths / 10_000)
    return entries.flatMap((entry) => {
      // Never more than there is: stock may have been written off meanwhile.
      const quantity = Math.min(entry.quantity, Math.max(0, left))
      left -= quantity
      const { is_overdue, ...whole } = outOfServicePeriod(entry, now)
      const window = { from: Math.max(whole.from, row.from), to: Math.min(whole.to, row.to) }
      return pieces(window, held).map(({ is_held, period }) =>
        demandOf(row, entry, period, is_held ? 0 : quantity, is_overdue)
      )
    })
  })

/** When a case or a hire that it went out on has the unit anyway: it is not to be counted twice. */
const heldBy = (level_id: number, booked: ReadonlyArray<ActiveDemand>): ReadonlyArray<Period> =>
  booked.filter(
    ({ demand }) =>
      demand.is_active && demand.asset_id === level_id && (demand.source_type === "container" || demand.out)
  )

interface Piece {
  readonly period: Period
  readonly is_held: boolean
}
/** The window cut where the unit begins or ends to be held. */
const pieces = (window: Period, held: ReadonlyArray<Period>): ReadonlyArray<Piece> => {
  const found: Array<Piece> = []
  let from = window.from
  for (const one of [...held].sort((left, right) => left.from - right.from)) {
    const begins = Math.max(one.from, from),
      ends = Math.min(one.to, window.to)
    if (ends <= begins) continue
    if (begins > from) found.push({ period: { from, to: begins }, is_held: false })
    found.push({ period: { from: begins, to: ends }, is_held: true })
    from = ends
  }
  if (from < window.to) found.push({ period: { from, to: window.to }, is_held: false })
  return found
}

/** Its id is the negative of its service record's: no stored demand has one. */
const demandOf = (
  { is_unit, level }: StockPeriod,
  entry: OutOfService,
  period: Period,
  quantity: number,
  is_overdue: boolean
): ActiveDemand => {
  const starts_at = instantOf(period.from),
    ends_at = instantOf(period.to)
  return {
    ...period,
    hire: period,
    is_overdue,
    waiting: undefined,
    out_of_service_level_id: level.id,
    demand: {
      id: -entry.service_record_id,
      product_id: level.product_id,
      store_id: level.store_id,
      asset_id: is_unit ? level.id : null,
      quantity,
      starts_at,
      ends_at,
      buffered_starts_at: starts_at,
      buffered_ends_at: ends_at,
      source_type: entry.state,
      source_id: entry.service_record_id,
      phase: "reserved",
      is_active: true,
      out: false,
      pending_checkin: false,
      returned_at: null,
      checked_at: null,
      opportunity_id: null,
      container_id: null
    }
  }
}
