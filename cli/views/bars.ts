/** Draws the bar of a demand: preparation, hire, turnaround and overdue time, with a label if there is room. */
import { openEnd } from "../../core/values/time.ts"
import { widthOf } from "../output/text.ts"
import { momentText } from "../output/days.ts"
import { html, isolated, type Markup, nothing } from "../../server/print/markup.ts"

// Lanes of the chart: one per unit; overlapping quantities are in rows below each other.

export interface Demand {
  readonly demand_id: number
  readonly asset_id: number | null
  readonly asset_serial: string | null
  readonly quantity: number
  readonly source_type: string
  readonly source_name: string | null
  readonly phase: string
  /** Period with preparation and turnaround. */
  readonly period_start: string
  readonly period_end: string
  /** Period of the hire. */
  readonly starts_at: string
  readonly ends_at: string
}
export interface Unit {
  readonly id: number
  readonly name: string
  readonly more: string | undefined
}

export interface Group {
  readonly name: string
  /** Second line of the label, less prominent. */
  readonly more: string | undefined
  /** Rows of bars that do not overlap; empty for a unit without demands. */
  readonly rows: ReadonlyArray<ReadonlyArray<Demand>>
}

/** Puts each bar into the first row that is free at its start. */
export const packed = (demands: ReadonlyArray<Demand>): ReadonlyArray<ReadonlyArray<Demand>> => {
  const rows: Array<Array<Demand>> = [],
    ends: Array<number> = []
  const timed = demands.map((demand) => ({
    demand,
    from: Date.parse(demand.period_start),
    to: Date.parse(demand.period_end)
  }))
  for (const { demand, from, to } of timed.sort((a, b) => a.from - b.from || a.demand.demand_id - b.demand.demand_id)) {
    const free = ends.findIndex((end) => end <= from)
    const at = free < 0 ? rows.length : free
    rows[at] = [...(rows[at] ?? []), demand]
    ends[at] = to
  }
  return rows
}

/** The order of a demand, as far as the user may see it. */
export interface BarLabel {
  readonly number: string | null
  readonly subject: string | null
  readonly customer: string | null
  readonly due_at: string | null
}
export interface DemandOfBar {
  readonly deal: BarLabel | undefined
  readonly is_overdue: boolean
}

/** Time axis, from instants to pixels from the left edge. */
export interface Axis {
  readonly from: number
  readonly to: number
  readonly width: number
  readonly zone: string
  readonly now: number
}
export const xOf = (axis: Axis, instant: number): number =>
  Math.round(
    ((Math.min(Math.max(instant, axis.from), axis.to) - axis.from) / (axis.to - axis.from)) * axis.width * 10
  ) / 10

export const isOpen = (instant: string): boolean => instant >= openEnd
const character_px = 6.5

/**
 * Label with subject, number and customer, as far as known and different; each is isolated in its direction of writing.
 */
export const opportunityLabel = (demand: Demand, behind: DemandOfBar | undefined): string => {
  const { customer, number, subject } = behind?.deal ?? { customer: null, number: null, subject: null }
  const parts = [subject ?? demand.source_name, number, customer].filter(
    (one): one is string => one !== null && one !== ""
  )
  return [...new Set(parts)].map(isolated).join(" · ")
}
export const phaseText = (demand: Demand, behind: DemandOfBar | undefined): string =>
  behind?.is_overdue === true ? "overdue" : (phases[demand.phase]?.said ?? demand.phase.replaceAll("_", " "))
export const phaseClass = (demand: Demand, behind: DemandOfBar | undefined): string =>
  behind?.is_overdue === true ? "late" : (phases[demand.phase]?.class ?? "other")
const phases: { readonly [phase: string]: { readonly said: string; readonly mark: string; readonly class: string } } = {
  held: { said: "held by a quotation", mark: "? ", class: "held" },
  reserved: { said: "reserved", mark: "", class: "reserved" },
  on_hire: { said: "on hire", mark: "→ ", class: "out" }
}

const momentOrOpen = (instant: string, zone: string): string =>
  isOpen(instant) ? "no known end" : momentText(Date.parse(instant), zone)
/** Tooltip with all data of a bar, one per line. */
const tooltip = (demand: Demand, behind: DemandOfBar | undefined, zone: string): string => {
  const buffered = demand.period_start !== demand.starts_at || demand.period_end !== demand.ends_at
  return [
    `${demand.quantity} × ${opportunityLabel(demand, behind)}`,
    `${phaseText(demand, behind)}${demand.asset_serial === null ? "" : `, unit ${demand.asset_serial}`}`,
    `Hire: ${momentText(Date.parse(demand.starts_at), zone)} to ${momentOrOpen(demand.ends_at, zone)}`,
    ...(behind?.is_overdue === true && behind.deal?.due_at != null
      ? [`Was due ${momentText(Date.parse(behind.deal.due_at), zone)}`]
      : []),
    ...(buffered
      ? [
          `With preparation and turnaround: ${momentText(Date.parse(demand.period_start), zone)} to ${momentOrOpen(demand.period_end, zone)}`
        ]
      : [])
  ].join("\n")
}

const dueOf = ({ deal }: DemandOfBar, { now }: Axis): number => (deal?.due_at == null ? now : Date.parse(deal.due_at))
const barText = (demand: Demand, behind: DemandOfBar | undefined): string => {
  const quantity = demand.asset_id === null || demand.quantity > 1 ? `${demand.quantity} × ` : ""
  const late = behind?.is_overdue === true ? "overdue! " : ""
  return `${phases[demand.phase]?.mark ?? ""}${late}${quantity}${opportunityLabel(demand, behind)}`
}

/** Draws a bar with its top at `y`; `room_to`: start of the next bar in its row. */
export const bar = (
  demand: Demand,
  behind: DemandOfBar | undefined,
  axis: Axis,
  { height, room_to, y }: { readonly y: number; readonly height: number; readonly room_to: number }
): Markup => {
  const late = behind?.is_overdue === true
  const [starts, ends] = [Date.parse(demand.starts_at), Date.parse(demand.ends_at)]
  const late_from = late ? Math.max(starts, Math.min(dueOf(behind, axis), axis.now)) : ends
  const prep = xOf(axis, Date.parse(demand.period_start))
  const hire = xOf(axis, starts)
  const late_at = xOf(axis, late_from)
  const back = xOf(axis, ends)
  const end = xOf(axis, Date.parse(demand.period_end))
  const kind = phases[demand.phase]?.class ?? "other"
  const text = barText(demand, behind)
  const needed = widthOf(text) * character_px + 12
  const outside = needed > back - hire && needed <= room_to - end
  const [from, room] = outside ? [end, room_to - end] : [hire, back - hire]
  const is_on_late = late && late_at - hire < room / 2
  const label = outside ? "beside" : is_on_late ? "on-late" : `on-${kind}`
  const piece = (x: number, to: number, name: string): Markup =>
    to - x < 0.1
      ? nothing
      : html`<rect class="${name}" x="${x}" y="${y}" width="${Math.round((to - x) * 10) / 10}" height="${height}"/>`
  // A hire is drawn at least three pixels wide.
  const least = Math.max(late_at, Math.min(hire + 3, axis.width))
  const past_left = Date.parse(demand.period_start) < axis.from,
    past_right = Date.parse(demand.period_end) > axis.to
  const arrow = (is_past: boolean, x: number, tip: number): Markup =>
    is_past ? html`<path class="goes" d="M${x} ${y + height / 2 - 4}l${tip} 4l${-tip} 4z"/>` : nothing
  const label_x = past_left && !outside && hire === 0 ? 10 : 6
  return html`<g class="bar"><title>${tooltip(demand, behind, axis.zone)}</title>
${piece(prep, hire, "prep")}${hire === back && (starts >= axis.to || ends <= axis.from) ? nothing : piece(hire, late ? late_at : Math.max(back, least), kind)}${late ? piece(late_at, back, "late") : nothing}${piece(back, end, "back")}
${arrow(past_left, 6, -5)}${arrow(past_right, axis.width - 6, 5)}
${room < 14 ? nothing : html`<svg x="${from}" y="${y}" width="${Math.round(room * 10) / 10}" height="${height}"><text class="${label}" x="${label_x}" y="${height / 2 + 4}">${text}</text></svg>`}</g>
`
}
