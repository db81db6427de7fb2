/** The chart of one product's demands as a page: a lane per unit, a bar per demand, and a table of the same. */
import { html, isolated, type Markup, nothing, pageText, words } from "../../server/print/markup.ts"
import { heading, palette, type Scene } from "./frame.ts"
import { datedText } from "../base/parse-time.ts"
import { dateAfter } from "../../core/values/period.ts"
import { dayOf, startOfDay } from "../../core/values/time.ts"
import { usageError } from "../base/exit-codes.ts"
import type { Axis, Demand, DemandOfBar, Group, Unit } from "./bars.ts"
import { bar, isOpen, opportunityLabel, packed, phaseClass, phaseText, xOf } from "./bars.ts"
import type { CalendarDay } from "./calendar.ts"
import {
  dateRangeText,
  daysThrough,
  isWeekend,
  momentIn,
  momentText,
  monthOf,
  runsOf,
  weekdayOf
} from "../output/days.ts"

// Style of the chart: fills, hatches and legend.

const hatch = (id: string, turn: number, ground: string): Markup =>
  html`<pattern id="${id}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(${turn})"><rect width="6" height="6" class="${ground}"/><rect width="2" height="6" class="${ground}-line"/></pattern>`
/** Fills that can be distinguished without color. */
const patterns = html`<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>${hatch("prep", 45, "g-buffer")}${hatch("back", -45, "g-buffer")}${hatch("late", 45, "g-late")}${hatch("missing", 45, "g-missing")}</defs></svg>
`
const swatch = (kind: string, mark = ""): Markup =>
  html`<svg width="30" height="18" aria-hidden="true"><rect class="${kind}" x="1" y="1" width="28" height="16"/><text class="on-${kind}" x="8" y="13">${mark}</text></svg>`
const legend = html`<ul class="legend" aria-label="Legend">
<li>${swatch("held", "?")} held by a quotation</li><li>${swatch("reserved")} reserved</li><li>${swatch("out", "→")} on hire</li><li>${swatch("late", "!")} overdue</li>
<li>${swatch("prep")} preparation</li><li>${swatch("back")} turnaround</li><li>${swatch("missing")} short</li><li>${swatch("we")} weekend</li><li><span class="now-key"></span> now</li>
</ul>`

const bar_kinds = ["held", "reserved", "out", "other"]
/** Style with both columns shrinking alike on paper, so that their drawings keep one scale. */
const ganttStyle = (label_px: number, width_px: number): string => `.patterns { position: absolute; }
.verdict { margin: 8px 0 0; max-width: 110ch; }
.region { flex: 0 1 auto; max-height: 72vh; min-height: 180px; }
.chart { display: grid; grid-template-columns: ${label_px}px ${width_px}px; width: ${label_px + width_px}px; }
.chart svg { display: block; }
.corner, .axis { position: sticky; top: 0; z-index: 2; background: var(--band); border-bottom: 1px solid var(--edge); }
.corner { left: 0; z-index: 3; display: flex; align-items: end; padding: 0 10px 4px 20px; font-size: 12px; color: var(--quiet); border-right: 1px solid var(--edge); }
.labels { position: sticky; left: 0; z-index: 1; background: var(--paper); border-right: 1px solid var(--edge); }
text { font: 12px system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif; fill: var(--ink); font-variant-numeric: tabular-nums; }
.unit { font-weight: 600; } .more { font-weight: 400; fill: var(--quiet); }
.of-month { font-weight: 600; } .weekday, .date, .count { text-anchor: middle; } .weekday { font-size: 10px; fill: var(--quiet); } .count { font-weight: 600; }
.is-today { fill: var(--today); } .weekday.today, .date.today { fill: var(--paper); font-weight: 700; }
.cell { stroke: var(--paper); stroke-width: 1; } .cell.narrow { stroke: none; } .cell.free { fill: var(--free); } .cell.none { fill: var(--none); } .cell.short { fill: var(--short); }
.free-ink { fill: var(--free-ink); } .none-ink { fill: var(--none-ink); } .short-ink { fill: var(--short-ink); }
.we { fill: var(--rest); }
line { stroke: var(--line); stroke-width: 1; } line.month { stroke: var(--edge); stroke-width: 1.5; } line.now { stroke: var(--today); stroke-width: 2; }
.g-buffer { fill: var(--paper); } .g-buffer-line { fill: var(--edge); }
.g-late { fill: var(--late); } .g-late-line { fill: var(--late-line); }
.g-missing { fill: none; } .g-missing-line { fill: var(--short); opacity: .6; }
.prep, .back, .late { stroke: var(--edge); stroke-width: 1; } .prep { fill: url(#prep); } .back { fill: url(#back); } .late { fill: url(#late); stroke: var(--late-line); } .missing { fill: url(#missing); }
${bar_kinds.map((kind) => `.bar .${kind}, .legend .${kind} { fill: var(--${kind}); stroke: var(--${kind}-line); stroke-width: 1; } .on-${kind} { fill: var(--${kind}-ink); }`).join("\n")}
.bar .held, .legend .held { stroke-dasharray: 4 3; stroke-width: 1.5; }
.on-late { fill: var(--late-ink); font-weight: 600; }
.bar:hover rect { stroke: var(--ink); stroke-width: 2; }
.goes { fill: var(--paper); stroke: var(--ink); stroke-width: 1; }
.now-key { display: inline-block; width: 0; height: 16px; border-left: 2px solid var(--today); }
main { padding: 16px 20px 28px; overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; font-size: 15px; padding-bottom: 6px; }
th, td { text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; font-weight: 400; }
tbody th { font-weight: 600; max-width: 36ch; } td { max-width: 30ch; } th, td { overflow-wrap: break-word; } td.whole { white-space: nowrap; }
thead th { color: var(--quiet); border-bottom: 1px solid var(--edge); white-space: nowrap; } .right { text-align: right; }
.phase { border-left: 4px solid var(--other); padding-left: 6px; white-space: nowrap; }
.is-held { border-left-style: dashed; border-color: var(--held-line); } .is-reserved { border-color: var(--reserved); } .is-out { border-color: var(--out); } .is-late { border-color: var(--late); font-weight: 700; }
@media print {
  .region { max-height: none; }
  .chart { grid-template-columns: ${label_px}fr ${width_px}fr; width: 100%; max-width: ${label_px + width_px}px; }
  .chart svg { max-width: 100%; height: auto; }
  .chart svg svg { max-width: none; }
  .corner, .axis, .labels { position: static; }
  main { padding: 4mm 0 0; overflow: visible; }
  table { font-size: 7.5pt; width: 100%; } th, td { padding: 1mm 2mm 1mm 0; overflow-wrap: anywhere; } td.whole { overflow-wrap: break-word; } tr { break-inside: avoid; }
  .corner { font-size: 7pt; line-height: 1.1; padding: 0 1mm 1mm 3mm; }
}
`

export interface Gantt {
  readonly from: string
  readonly to: string
  readonly total_stock: number
  readonly demands: ReadonlyArray<Demand>
  readonly shortages: ReadonlyArray<{
    readonly from: string
    readonly to: string
    readonly severity: number
    readonly in_buffer_zone: boolean
  }>
}
/** Data of the page. */
interface GanttFacts {
  readonly product: string
  readonly is_bulk: boolean
  readonly chart: Gantt
  /** Lowest availability of each day; empty if it is not counted, as for kits without --kits. */
  readonly days: ReadonlyArray<CalendarDay>
  readonly behind: ReadonlyMap<number, DemandOfBar>
  readonly units: ReadonlyArray<Unit>
  /** Number of units without demands that are left out. */
  readonly more_idle: number
  /** Demands on the parts of a kit. */
  readonly parts: ReadonlyArray<Part>
}
export interface Part {
  readonly name: string
  readonly quantity: number
  readonly total_stock: number
  readonly demands: ReadonlyArray<Demand>
  readonly shortages: Gantt["shortages"]
}

const bars_max = 4_000
const label_px = 216,
  bar_px = 22,
  row_gap = 8,
  axis_px = 56,
  free_px = 26

/** Width of a day in pixels: room for hours in short windows, less in long ones. */
const dayWidth = (days: number): number => {
  const least = days <= 10 ? 96 : days <= 21 ? 52 : days <= 45 ? 30 : days <= 93 ? 20 : days <= 190 ? 10 : 6
  return Math.min(150, Math.max(least, Math.floor(screen_px / days)))
}
/** Width of a usual screen next to the labels, in pixels. */
const screen_px = 1180

/** Lanes: units by name, then demands without a unit. */
const groupsOf = (
  demands: ReadonlyArray<Demand>,
  units: ReadonlyArray<Unit>,
  is_bulk: boolean
): ReadonlyArray<Group> => {
  const known = new Set(units.map(({ id }) => id))
  const elsewhere = new Map(
    demands.flatMap(({ asset_id, asset_serial }) =>
      asset_id === null || known.has(asset_id) ? [] : [[asset_id, asset_serial] as const]
    )
  )
  const all = [
    ...units,
    ...[...elsewhere].map(([id, serial]): Unit => ({ id, name: serial ?? `Unit ${id}`, more: "not here now" }))
  ]
  const lanes = all
    .sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }) || one.id - other.id)
    .map((unit): Group => ({
      name: unit.name,
      more: unit.more,
      rows: packed(demands.filter((one) => one.asset_id === unit.id))
    }))
  const loose = demands.filter((one) => one.asset_id === null)
  return loose.length === 0
    ? lanes
    : [...lanes, { name: is_bulk ? "Quantities" : "No unit chosen yet", more: undefined, rows: packed(loose) }]
}

/** Renders the page. Exit 2 if there are more than `bars_max` demands. */
export const ganttPage = (facts: GanttFacts, scene: Scene): string => {
  const { chart } = facts
  const claims = chart.demands.length + facts.parts.reduce((sum, { demands }) => sum + demands.length, 0)
  if (claims > bars_max)
    throw usageError(
      `--html: ${claims} claims; a page holds ${bars_max}.`,
      "Choose a shorter window with --from and --to."
    )
  const [first, last] = [dayOf(Date.parse(chart.from), scene.zone), dayOf(Date.parse(chart.to), scene.zone)]
  const dates = daysThrough(first, last, 400)
  const axis: Axis = {
    from: startOfDay(first, scene.zone),
    to: startOfDay(dateAfter(last), scene.zone),
    width: dates.length * dayWidth(dates.length),
    zone: scene.zone,
    now: scene.now
  }
  const rows = laidOut(
    [...groupsOf(chart.demands, facts.units, facts.is_bulk), ...facts.parts.map(partGroup)],
    facts.is_bulk || facts.parts.length > 0
  )
  const height = Math.max(40, rows.at(-1)?.bottom ?? 0)
  const window = dateRangeText(first, last)
  const short = chart.shortages.length,
    short_parts = facts.parts.filter(({ shortages }) => shortages.length > 0)
  return pageText({
    title: `${facts.product}, ${window}`,
    style: palette + ganttStyle(label_px, axis.width),
    body: html`<body>
${patterns}${heading(html`${words(facts.product)}`, window, scene, html`<p class="verdict">${facts.parts.length > 0 ? "" : `${chart.total_stock} in stock. `}${short > 0 || short_parts.length > 0 ? nothing : "No shortages."}${short === 0 ? nothing : html`<strong>Short on ${short === 1 ? "1 day" : `${short} days`}</strong>: ${shortText(chart.shortages)}.`}${short_parts.map((part) => html` <strong>${words(part.name)} is short</strong>: ${shortText(part.shortages)}.`)}${facts.more_idle > 0 ? ` ${facts.more_idle} more units have no claim.` : ""}</p>${legend}`)}
<div class="region" tabindex="0" role="region" aria-label="Chart"><div class="chart">
<div class="corner">${facts.days.length > 0 ? html`<span>Free, at the day's lowest</span>` : nothing}</div>
<div class="axis">${axisDrawing(dates, axis, facts, scene)}</div>
<div class="labels"><svg viewBox="0 0 ${label_px} ${height}" width="${label_px}" height="${height}" aria-hidden="true">${rows.map(rowLabel)}</svg></div>
<div class="body"><svg viewBox="0 0 ${axis.width} ${height}" width="${axis.width}" height="${height}" role="img" aria-label="Bars of ${claims} claims; the table below says the same">
${backdrop(dates, axis, height, facts)}${rows.map((row) => html`<line class="lane" x1="0" x2="${axis.width}" y1="${row.bottom}" y2="${row.bottom}"/>`)}
${rows.map((row) => rowBars(row, axis, facts))}
${scene.now >= axis.from && scene.now < axis.to ? html`<line class="now" x1="${xOf(axis, scene.now)}" x2="${xOf(axis, scene.now)}" y1="0" y2="${height}"><title>Now</title></line>` : nothing}</svg></div>
</div></div>
<main>${demandsTable(facts, scene)}</main>
</body>`
  })
}

/** Describes short days: consecutive ones as a range, each with its worst day. */
const shortText = (shortages: Gantt["shortages"]): string => {
  const stretches: Array<{ readonly from: string; to: string; worst: number }> = []
  for (const { from, severity } of shortages) {
    const open = stretches.at(-1)
    if (open !== undefined && dateAfter(open.to) === from) {
      open.to = from
      open.worst = Math.max(open.worst, severity)
    } else stretches.push({ from, to: from, worst: severity })
  }
  return (
    stretches
      .slice(0, 12)
      .map(({ from, to, worst }) => `${worst} missing ${dateRangeText(from, to)}`)
      .join("; ") + (stretches.length > 12 ? "; and more" : "")
  )
}

const partGroup = ({ demands, name, quantity, total_stock }: Part): Group => ({
  name: `${quantity} × ${name}`,
  more: `of ${total_stock}`,
  rows: packed(demands)
})
interface Row {
  readonly label: string
  readonly more: string | undefined
  readonly bars: ReadonlyArray<Demand>
  readonly heights: ReadonlyArray<number>
  readonly top: number
  readonly bottom: number
}
/** Rows with positions from top to bottom; bars of quantities are as tall as they are large. */
const laidOut = (groups: ReadonlyArray<Group>, is_bulk: boolean): ReadonlyArray<Row> => {
  const most = Math.max(1, ...groups.flatMap(({ rows }) => rows.flat().map(({ quantity }) => quantity)))
  let top = 0
  return groups.flatMap(({ more, name, rows }) =>
    (rows.length === 0 ? [[]] : rows).map((bars: ReadonlyArray<Demand>, at): Row => {
      const heights = bars.map(({ asset_id, quantity }) =>
        asset_id === null && (is_bulk || most > 1) ? 18 + Math.round((26 * quantity) / most) : bar_px
      )
      const row = {
        label: at === 0 ? name : "",
        more:
          at === 0
            ? rows.length === 0
              ? [more, "no claim"].filter((one) => one !== undefined).join(", ")
              : more
            : undefined,
        bars,
        heights,
        top,
        bottom: top + Math.max(bar_px, ...heights) + row_gap
      }
      top = row.bottom
      return row
    })
  )
}
const rowLabel = (row: Row): Markup =>
  row.label === ""
    ? nothing
    : html`<svg x="0" y="${row.top}" width="${label_px - 6}" height="${row.bottom - row.top}"><title>${isolated(row.label)}${row.more === undefined ? "" : `, ${row.more}`}</title><text x="20" y="19" class="unit">${isolated(row.label)}${row.more === undefined ? nothing : html`<tspan class="more" dx="8">${row.more}</tspan>`}</text></svg>
`
const rowBars = (row: Row, axis: Axis, facts: GanttFacts): Markup =>
  html`${row.bars.map((one, at) => {
    const next = row.bars[at + 1]
    return bar(one, facts.behind.get(one.demand_id), axis, {
      y: row.top + row_gap / 2,
      height: row.heights[at] ?? bar_px,
      room_to: next === undefined ? axis.width : xOf(axis, Date.parse(next.period_start))
    })
  })}`

const backdrop = (dates: ReadonlyArray<string>, axis: Axis, height: number, { chart }: GanttFacts): Markup => {
  const short = new Map(chart.shortages.map((one) => [one.from, one]))
  return html`${dates.map((date) => {
    const [x, to] = [xOf(axis, startOfDay(date, axis.zone)), xOf(axis, startOfDay(dateAfter(date), axis.zone))]
    const missing = short.get(date)
    return html`${isWeekend(date) ? html`<rect class="we" x="${x}" y="0" width="${to - x}" height="${height}"/>` : nothing}${missing === undefined ? nothing : html`<rect class="missing" x="${x}" y="0" width="${to - x}" height="${height}"><title>${datedText(date)}: ${missing.severity} missing${missing.in_buffer_zone ? ", in preparation or turnaround only" : ""}</title></rect>`}${date.endsWith("-01") || to - x >= 15 || weekdayOf(date) === "Mon" ? html`<line class="${date.endsWith("-01") ? "month" : "day"}" x1="${x}" x2="${x}" y1="0" y2="${height}"/>` : nothing}`
  })}`
}

const freeCell = (
  day: CalendarDay | undefined,
  { middle, wide, x }: { readonly [place in "x" | "wide" | "middle"]: number },
  width: number
): Markup => {
  if (day === undefined) return nothing
  const { available, date } = day
  const level = available < 0 ? "short" : available === 0 ? "none" : "free"
  return html`<g><title>${datedText(date)}: ${available < 0 ? `short of ${-available}` : `${available} free`}</title><rect class="cell ${level}${width < 15 ? " narrow" : ""}" x="${x}" y="${axis_px}" width="${wide}" height="${free_px}"/>${width < 20 ? nothing : html`<text class="count ${level}-ink" x="${middle}" y="${axis_px + 17}">${available < 0 ? `−${-available}` : available}</text>`}</g>`
}

const axisDrawing = (dates: ReadonlyArray<string>, axis: Axis, facts: GanttFacts, scene: Scene): Markup => {
  const width = dayWidth(dates.length),
    today = dayOf(scene.now, scene.zone),
    height = axis_px + (facts.days.length > 0 ? free_px : 0)
  const at = (date: string): number => xOf(axis, startOfDay(date, axis.zone))
  const free = new Map(facts.days.map((day) => [day.date, day]))
  return html`<svg viewBox="0 0 ${axis.width} ${height}" width="${axis.width}" height="${height}" aria-hidden="true">
${runsOf(dates, monthOf).map(({ first, last, members }) => html`<line class="month" x1="${at(first)}" x2="${at(first)}" y1="0" y2="${height}"/><svg x="${at(first)}" y="0" width="${at(dateAfter(last)) - at(first)}" height="22"><text class="of-month" x="6" y="16">${members.length * width < 60 ? monthOf(first).slice(0, 3) : monthOf(first)}</text></svg>`)}
${dates.map((date) => {
  const x = at(date),
    wide = at(dateAfter(date)) - x,
    middle = Math.round((x + wide / 2) * 10) / 10
  const named = width >= 20 || weekdayOf(date) === "Mon"
  return html`${date === today ? html`<rect class="is-today" x="${x}" y="22" width="${wide}" height="${axis_px - 22}"/>` : isWeekend(date) ? html`<rect class="we" x="${x}" y="22" width="${wide}" height="${axis_px - 22}"/>` : nothing}${named ? html`<text class="weekday${date === today ? " today" : ""}" x="${middle}" y="35">${width >= 52 ? weekdayOf(date) : weekdayOf(date).slice(0, 2)}</text><text class="date${date === today ? " today" : ""}" x="${middle}" y="50">${Number(date.slice(8))}</text>` : nothing}${freeCell(free.get(date), { x, wide, middle }, width)}
`
})}</svg>`
}

/** Table of the demands, for screen readers and paper. */
const demandsTable = ({ behind, chart, parts, units }: GanttFacts, { now, zone }: Scene): Markup => {
  const all = [
    ...chart.demands.map((one) => ({ one, part: "" })),
    ...parts.flatMap(({ demands, name }) => demands.map((one) => ({ one, part: name })))
  ]
  if (all.length === 0) return html`<p class="said">Nobody claims it in this window.</p>`
  // Dates of the current year omit it.
  const year = momentText(now, zone).slice(0, -7).slice(-4)
  const shown = (instant: string): string =>
    isOpen(instant) ? "no known end" : momentIn(year, Date.parse(instant), zone)
  const names = new Map(
    units.map((unit) => [unit.id, unit.more === undefined ? unit.name : `${unit.name} (${unit.more})`])
  )
  const has_units = all.some(({ one: { asset_id } }) => asset_id !== null)
  const has_buffers = all.some(({ one }) => one.period_start !== one.starts_at || one.period_end !== one.ends_at)
  return html`<table><caption>Claims</caption>
<thead><tr><th scope="col" class="right">Quantity</th>${parts.length > 0 ? html`<th scope="col">Part</th>` : nothing}<th scope="col">For</th><th scope="col">Order</th><th scope="col">Customer</th>${has_units ? html`<th scope="col">Unit</th>` : nothing}<th scope="col">Phase</th><th scope="col">Hire from</th><th scope="col">to</th>${has_buffers ? html`<th scope="col">Preparation from</th><th scope="col">Turnaround to</th>` : nothing}</tr></thead>
<tbody>
${all.map(({ one, part }) => {
  const known = behind.get(one.demand_id)
  const unit = (one.asset_id === null ? undefined : names.get(one.asset_id)) ?? one.asset_serial ?? ""
  return html`<tr><td class="right">${one.quantity}</td>${parts.length > 0 ? html`<td>${words(part)}</td>` : nothing}<th scope="row">${words(known?.deal?.subject || one.source_name || opportunityLabel(one, known))}</th><td class="whole">${words(known?.deal?.number ?? "")}</td><td>${words(known?.deal?.customer ?? "")}</td>${has_units ? html`<td class="whole">${words(unit)}</td>` : nothing}<td><span class="phase is-${phaseClass(one, known)}">${phaseText(one, known)}</span></td><td class="whole">${shown(one.starts_at)}</td><td class="whole">${known?.is_overdue === true && known.deal?.due_at != null ? `due ${shown(known.deal.due_at)}` : shown(one.ends_at)}</td>${has_buffers ? html`<td class="whole">${one.period_start === one.starts_at ? "" : shown(one.period_start)}</td><td class="whole">${one.period_end === one.ends_at ? "" : shown(one.period_end)}</td>` : nothing}</tr>
`
})}</tbody></table>`
}
