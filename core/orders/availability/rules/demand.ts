/**
 * Interprets stored demands: windows with buffers, overdue returns, units waiting for their check (rules/availability
 * 2).
 */
import { dayOf, instantOfWall, millisOf, openEnd, plusMinutes, startOfDay } from "../../../values/time.ts"
import { dateAfter, openEndMillis, type Period } from "../../../values/period.ts"
import { type Demand, type Phase, phase_labels, transfer_source } from "../../demands/schema.ts"

// Effect of an opportunity's status on stock (rules/availability 2.3, rules/opportunities 1 and 10).

export { type Phase, phase_labels }

/** Setting `availability.release_point`: the step that frees stock. `off_hired` behaves like `returned`. */
export type ReleasePoint = "off_hired" | "returned" | "checked"

/** Phase by state × 100 + status, for the default release point. */
const phases: ReadonlyMap<number, Phase> = new Map<number, Phase>([
  [0, "draft"],
  [100, "draft"],
  [101, "reserved"],
  [102, "void"],
  [103, "void"],
  [104, "held"],
  [200, "reserved"],
  [201, "on_hire"],
  [202, "on_hire"],
  [203, "closed"],
  [204, "closed"],
  [205, "closed"],
  [206, "void"]
])

const orderReturned = 203
/** Lost, Dead, Complete, Cancelled. */
const closedOpportunities: ReadonlySet<number> = new Set([102, 103, 205, 206])

/** The opportunity's `availability_phase`. Throws RangeError if the state has no such status. */
export const phaseOf = (state: number, status: number, release_point: ReleasePoint = "returned"): Phase => {
  const phase = phases.get(state * 100 + status)
  if (phase === undefined) throw new RangeError(`State ${state} has no status ${status}.`)
  return state * 100 + status === orderReturned && release_point === "checked" ? "on_hire" : phase
}

/** The phase of the opportunity's demands: its own, but void once it is closed (rules/opportunities 10). */
export const demandPhaseOf = (state: number, status: number, release_point: ReleasePoint = "returned"): Phase =>
  closedOpportunities.has(state * 100 + status) ? "void" : phaseOf(state, status, release_point)

/** Whether demands in this phase reduce availability. */
export const holdsStock = (phase: Phase): boolean => phase === "held" || phase === "reserved" || phase === "on_hire"

/** Whether preparation and turnaround time are added around the hire; not for draft, held and void. */
export const takesBuffers = (phase: Phase): boolean => phase === "reserved" || phase === "on_hire" || phase === "closed"

export type { Demand }

/** Minutes of preparation and turnaround a product needs with every hire. */
export interface Buffers {
  readonly before_minutes: number
  readonly after_minutes: number
}

export const noBuffers: Buffers = { before_minutes: 0, after_minutes: 0 }

/** The window with buffers, which is stored with the demand. An open end stays open (rules/availability 2.6). */
export const bufferedWindow = (
  starts_at: string,
  ends_at: string,
  phase: Phase,
  buffers: Buffers
): { readonly buffered_starts_at: string; readonly buffered_ends_at: string } => {
  if (!takesBuffers(phase)) return { buffered_starts_at: starts_at, buffered_ends_at: ends_at }
  return {
    buffered_starts_at: plusMinutes(starts_at, -buffers.before_minutes),
    buffered_ends_at: ends_at >= openEnd ? ends_at : plusMinutes(ends_at, buffers.after_minutes)
  }
}

/** A demand evaluated at an instant: its windows in milliseconds, open-ended if the return is overdue. */
export interface ActiveDemand extends Period {
  readonly demand: Demand
  /** The window without the buffers that `from` and `to` include. */
  readonly hire: Period
  readonly is_overdue: boolean
  /** Time the returned unit waits for its check; undefined if it never did. */
  readonly waiting: Period | undefined
  /** For out-of-service stock: its stock level. Such demands are computed, never stored. */
  readonly out_of_service_level_id?: number
}

/**
 * Evaluates a demand at `now` (ms). An active demand past its end with a unit still out is overdue and open-ended
 * (rules/availability 2.7). Waiting lasts from the return to the check (2.8).
 */
export const activeDemand = (demand: Demand, now: number): ActiveDemand => {
  const starts = millisOf(demand.starts_at),
    ends = millisOf(demand.ends_at)
  const is_overdue = demand.is_active && demand.out && ends < now
  const { buffered_ends_at, buffered_starts_at } = demand
  // Most products have no buffers, and comparing two texts is faster than reading one.
  const from =
    buffered_starts_at === null || buffered_starts_at === demand.starts_at ? starts : millisOf(buffered_starts_at)
  const to = buffered_ends_at === null || buffered_ends_at === demand.ends_at ? ends : millisOf(buffered_ends_at)
  return {
    demand,
    from,
    to: is_overdue ? openEndMillis : to,
    hire: { from: starts, to: is_overdue ? openEndMillis : ends },
    is_overdue,
    waiting: waitingTime(demand)
  }
}

/** From a unit's return to its check; undefined for quantities, and if checked on return or never checked. */
const waitingTime = (demand: Demand): Period | undefined => {
  if (demand.asset_id === null || demand.returned_at === null) return undefined
  if (demand.pending_checkin) return { from: millisOf(demand.returned_at), to: openEndMillis }
  if (demand.checked_at === null) return undefined
  const waited = { from: millisOf(demand.returned_at), to: millisOf(demand.checked_at) }
  return waited.to > waited.from ? waited : undefined
}

/** The time of a reading, and the zone of the store. */
interface LocalNow {
  readonly now: number
  readonly zone: string
}
/**
 * Start (ms) of a supply: its date, or once that is past, the end of that day at the store, as it may still arrive.
 * Later than that `openEndMillis`: it counts once it has arrived (rules/transfers 3).
 */
export const arrival = (starts_at: string, { now, zone }: LocalNow): number => {
  const due = millisOf(starts_at)
  if (due > now) return due
  const end = startOfDay(dateAfter(dayOf(due, zone)), zone)
  return end > now ? end : openEndMillis
}

/** Names and colours of known sources; other sources are displayed by their key (rules/availability 2.2). */
const sources: ReadonlyMap<string, { readonly name: string; readonly colour: string }> = new Map([
  ["opportunity_item", { name: "Bookings", colour: "#3B82F6" }],
  ["container", { name: "Containers", colour: "#0EA5E9" }],
  [transfer_source, { name: "Transfer", colour: "#8B5CF6" }],
  ["in_repair", { name: "In repair", colour: "#D97706" }],
  ["lost", { name: "Lost", colour: "#DC2626" }]
])

export const sourceColour = (source_type: string): string | null => sources.get(source_type)?.colour ?? null

/** The columns of an opportunity that `sourceName` takes a name from. */
export interface OpportunityName {
  readonly subject: string | null
  readonly number: string | null
}

/** The opportunity's subject, else its number; else "Bookings #12" (rules/availability 6.6). */
export const sourceName = (
  demand: Pick<Demand, "opportunity_id" | "source_type" | "source_id">,
  opportunities: ReadonlyMap<number, OpportunityName>
): string => {
  const opportunity = demand.opportunity_id === null ? undefined : opportunities.get(demand.opportunity_id)
  return (
    opportunity?.subject ||
    opportunity?.number ||
    `${sources.get(demand.source_type)?.name ?? demand.source_type} #${demand.source_id}`
  )
}

// Slots: the periods for which availability is computed, in the store's time zone (rules/availability 4).

/** Setting `availability.resolution`. Half-daily slots last six hours, despite the name. */
export type Resolution = "daily" | "half_daily" | "hourly"

export const slotCeiling = 50_000

/** A window has more slots than one response may contain. */
export class TooManySlots extends Error {
  readonly _tag = "TooManySlots"
  constructor() {
    super(`The window needs more than ${slotCeiling} slots. Ask for a shorter one.`)
  }
}

const hourMillis = 3_600_000
const wallHours: { readonly [R in "daily" | "half_daily"]: ReadonlyArray<number> } = {
  daily: [0],
  half_daily: [0, 6, 12, 18]
}

/**
 * Bounds of the slots of [from, to): n + 1 ascending instants for n slots, the first at or before `from`, the last at
 * or after `to`; one slot for an empty window. Days have 23 to 25 hours; hourly slots start at full UTC hours in every
 * zone. Throws TooManySlots beyond 50,000.
 */
export const slotBounds = (from: number, to: number, resolution: Resolution, zone: string): ReadonlyArray<number> => {
  if (
    last_bounds === undefined ||
    last_bounds.from !== from ||
    last_bounds.to !== to ||
    last_bounds.resolution !== resolution ||
    last_bounds.zone !== zone
  ) {
    last_bounds = { from, to, resolution, zone, bounds: boundsOf(from, to, resolution, zone) }
  }
  return last_bounds.bounds
}
/** Cache of the last bounds: lines of an opportunity are computed in sequence, mostly over the same window. */
let last_bounds:
  | {
      readonly from: number
      readonly to: number
      readonly resolution: Resolution
      readonly zone: string
      readonly bounds: ReadonlyArray<number>
    }
  | undefined

const boundsOf = (from: number, to: number, resolution: Resolution, zone: string): ReadonlyArray<number> => {
  const bounds: Array<number> = []
  for (const bound of resolution === "hourly" ? hours(from) : wallBounds(from, wallHours[resolution], zone)) {
    if (bound <= from) {
      bounds[0] = bound
      continue
    }
    bounds.push(bound)
    if (bound >= to) return bounds
    if (bounds.length > slotCeiling) throw new TooManySlots()
  }
  return bounds
}

/** Inclusive indexes of the slots that a half-open period meets; `last` < `first` if it meets none. */
export const slotsTouched = (
  bounds: ReadonlyArray<number>,
  from: number,
  to: number
): { readonly first: number; readonly last: number } => ({
  first: Math.max(0, countUpTo(bounds, from) - 1),
  last: Math.min(bounds.length - 2, countBelow(bounds, to) - 1)
})

function* hours(from: number): Generator<number> {
  for (let bound = Math.floor(from / hourMillis) * hourMillis; ; bound += hourMillis) yield bound
}

/** Wall-clock bounds from the local day of `from` on; bounds made equal by a clock change are yielded once. */
function* wallBounds(from: number, hoursOfDay: ReadonlyArray<number>, zone: string): Generator<number> {
  let last = Number.NEGATIVE_INFINITY
  for (let date = dayOf(from, zone); ; date = dateAfter(date)) {
    const midnight = Date.parse(`${date}T00:00:00Z`)
    for (const hour of hoursOfDay) {
      const bound = instantOfWall(midnight + hour * hourMillis, zone)
      if (bound > last) yield bound
      last = Math.max(last, bound)
    }
  }
}

/** Number of bounds at or before an instant. */
const countUpTo = (bounds: ReadonlyArray<number>, instant: number): number => {
  let low = 0,
    high = bounds.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((bounds[middle] ?? instant) <= instant) low = middle + 1
    else high = middle
  }
  return low
}

/** Number of bounds before an instant. */
export const countBelow = (bounds: ReadonlyArray<number>, instant: number): number => {
  let low = 0,
    high = bounds.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((bounds[middle] ?? instant) < instant) low = middle + 1
    else high = middle
  }
  return low
}
