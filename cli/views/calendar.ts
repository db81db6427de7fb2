/** The calendar as a page: a row per product, a column per day, with number and color in each cell. */
import { dayOf } from "../../core/values/time.ts"
import { datedText } from "../base/parse-time.ts"
import { usageError } from "../base/exit-codes.ts"
import { isWeekend, monthOf, runsOf, dateRangeText, weekdayOf } from "../output/days.ts"
import { html, isolated, type Markup, nothing, pageText, words } from "../../server/print/markup.ts"
import { heading, palette, type Scene } from "./frame.ts"

export interface CalendarDay {
  readonly date: string
  readonly available: number
  readonly has_shortage: boolean
  readonly pending_checkin: number
}
export interface CalendarProduct {
  readonly product_id: number
  readonly product_name: string | null
  readonly days: ReadonlyArray<CalendarDay>
}

/** Maximum cells of a page, as browsers scroll slowly through more. */
const cells_max = 60_000
/** Maximum days in one band; longer windows continue below, by whole months. The second is for wide numbers. */
const band_days_max = 62,
  wide_band_days_max = 31
const shortages_shown = 30
/** Width of a scrollbar and table borders, in pixels. */
const scrollbar = 24

/** Renders the page. Exit 2 if it would have more than `cells_max` cells. */
export const calendarPage = (products: ReadonlyArray<CalendarProduct>, scene: Scene): string => {
  const dates = [...new Set(products.flatMap(({ days }) => days.map(({ date }) => date)))].sort()
  const cells = dates.length * products.length
  if (cells > cells_max) {
    throw usageError(
      `--html: ${products.length} products over ${dates.length} days are ${cells} cells; a page holds ${cells_max}.`,
      `Choose at most ${Math.max(1, Math.floor(cells_max / dates.length))} products with --products, or at most ${Math.max(1, Math.floor(cells_max / products.length))} days.`
    )
  }
  const rows = products.map((product) => ({
    product,
    most: Math.max(0, ...product.days.map((day) => day.available)),
    byDate: new Map(product.days.map((day) => [day.date, day]))
  }))
  const today = dayOf(scene.now, scene.zone)
  const bands = bandsOf(
    dates,
    products.some(({ days }) => days.some(({ available }) => available >= 100 || available <= -10))
      ? wide_band_days_max
      : band_days_max
  )
  const widest = Math.max(0, ...bands.map((band) => band.length * cellsIn(rows, band).width))
  const window = rangeOf(dates)
  return pageText({
    title: `Availability, ${scene.store}, ${window}`,
    style: `${palette + style}@media screen { tbody th { max-width: max(232px, 100vw - ${widest + scrollbar}px); } }\n`,
    body: html`<body class="fixed">
${heading(html`Availability`, window, scene, html`${legend}${shortagesInWords(products)}`)}
<main class="region" tabindex="0" aria-label="Calendar">
${rows.length === 0 || dates.length === 0 ? html`<p class="said">Nothing is kept at this store in this window, or the window lies outside the days that are counted.</p>` : bands.map((band) => bandTable(rows, band, today, bands.length > 1, scene))}
</main>
</body>`
  })
}
type Row = {
  readonly product: CalendarProduct
  readonly most: number
  readonly byDate: ReadonlyMap<string, CalendarDay>
}

const bandsOf = (dates: ReadonlyArray<string>, days_max: number): ReadonlyArray<ReadonlyArray<string>> => {
  if (dates.length <= band_days_max) return [dates]
  const bands: Array<Array<string>> = []
  for (const { members } of runsOf(dates, monthOf)) {
    const last = bands.at(-1)
    if (last !== undefined && last.length + members.length <= days_max) last.push(...members)
    else bands.push([...members])
  }
  return bands
}

const rangeOf = (dates: ReadonlyArray<string>): string => {
  const [first, last] = [dates[0], dates.at(-1)]
  return first === undefined || last === undefined ? "No days" : dateRangeText(first, last)
}
const nameOf = (product: CalendarProduct): string => product.product_name ?? `Product ${product.product_id} (deleted)`
const minus = (value: number): string => (value < 0 ? `\u2212${-value}` : String(value))

/** Classes of a table by its number of days and the length of its figures, and the width of a day on a screen. */
const cellsIn = (
  rows: ReadonlyArray<Row>,
  dates: ReadonlyArray<string>
): { readonly classes: string; readonly width: number } => {
  const longest = Math.max(
    1,
    ...rows.flatMap(({ byDate }) => dates.map((date) => minus(byDate.get(date)?.available ?? 0).length))
  )
  const days = dates.length > 35 ? "dense" : dates.length > 20 ? "close" : "wide"
  const figures = longest < 3 ? "" : longest < 5 ? " hundreds" : " more"
  const width = figures === " more" ? 58 : figures === " hundreds" ? 40 : { wide: 40, close: 33, dense: 29 }[days]
  return { classes: days + figures, width }
}

const bandTable = (
  rows: ReadonlyArray<Row>,
  dates: ReadonlyArray<string>,
  today: string,
  one_of_many: boolean,
  scene: Scene
): Markup => {
  const window = rangeOf(dates)
  const months = runsOf(dates, monthOf)
  const firsts = new Set(months.map(({ first }) => first))
  const classes = new Map(
    dates.map((date) => [
      date,
      [isWeekend(date) ? "we" : "", date === today ? "today" : "", firsts.has(date) ? "first" : ""]
        .filter((one) => one !== "")
        .join(" ")
    ])
  )
  return html`<table class="${cellsIn(rows, dates).classes}">
<caption${one_of_many ? html`` : html` class="unseen"`}>${one_of_many ? window : `Lowest availability of each product at ${scene.store}, day by day, ${window}`}</caption>
<colgroup><col class="name"></colgroup>${months.map(({ members }) => html`<colgroup span="${members.length}"></colgroup>`)}
<thead>
<tr class="months"><td class="corner"></td>${months.map(({ first, members }) => html`<th scope="colgroup" colspan="${members.length}"><span>${members.length < 3 ? monthOf(first).slice(0, 3) : monthOf(first)}</span></th>`)}</tr>
<tr class="days"><th scope="col" class="corner">Product</th>${dates.map((date) => html`<th scope="col" class="${classes.get(date)}" title="${datedText(date)}${date === today ? ", today" : ""}"><abbr>${weekdayOf(date).slice(0, 2)}</abbr>${Number(date.slice(8))}</th>`)}</tr>
</thead>
<tbody>
${rows.map(
  (
    row
  ) => html`<tr><th scope="row">${words(nameOf(row.product))}</th>${dates.map((date) => cell(row, date, classes.get(date) ?? ""))}</tr>
`
)}</tbody>
</table>`
}

const levelOf = (day: CalendarDay, most: number): string =>
  day.has_shortage || day.available < 0
    ? "short"
    : day.available === 0
      ? "none"
      : day.available * 4 <= most
        ? "few"
        : "free"
const cell = ({ byDate, most, product }: Row, date: string, day_class: string): Markup => {
  const day = byDate.get(date)
  if (day === undefined) return html`<td class="unknown ${day_class}" title="${datedText(date)}: not counted">·</td>`
  const level = levelOf(day, most)
  const said =
    level === "short" ? `short of ${-day.available}` : level === "none" ? "none free" : `${day.available} free`
  const waiting = day.pending_checkin > 0 ? `, ${day.pending_checkin} back and waiting to be checked` : ""
  return html`<td class="${day_class === "" ? level : `${level} ${day_class}`}" title="${isolated(nameOf(product))}, ${datedText(date)}: ${said}${waiting}">${minus(day.available)}${waiting === "" ? nothing : html`<sup>•</sup>`}</td>`
}

const legend = html`<ul class="legend" aria-label="Legend">
<li><span class="key free">8</span> free</li><li><span class="key few">2</span> a quarter or less of what is free at best</li><li><span class="key none">0</span> none left</li>
<li><span class="key short">−2</span> short: more promised than there is</li><li><span class="key">3<sup>•</sup></span> some are back and wait to be checked</li>
<li><span class="key we">&nbsp;</span> weekend</li><li><span class="key todays">&nbsp;</span> today</li>
</ul>`

/** Shortages as a list above the calendar. */
const shortagesInWords = (products: ReadonlyArray<CalendarProduct>): Markup => {
  const short = products.flatMap((product) =>
    runsOf(product.days, (day) => (day.has_shortage ? "short" : "not"))
      .filter(({ first }) => first.has_shortage)
      .map((run) => ({ product, run, worst: Math.min(...run.members.map((day) => day.available)) }))
  )
  if (short.length === 0) return html`<p class="verdict">No shortages.</p>`
  const count = new Set(short.map(({ product }) => product.product_id)).size
  return html`<details class="verdict"${short.length <= 4 ? html` open` : nothing}><summary><strong>${count === 1 ? "1 product is" : `${count} products are`} short</strong></summary><ul>
${short.slice(0, shortages_shown).map(
  ({
    product,
    run,
    worst
  }) => html`<li>${words(nameOf(product))}: <b>${minus(worst)}</b>, ${dateRangeText(run.first.date, run.last.date)}</li>
`
)}${short.length > shortages_shown ? html`<li>and ${short.length - shortages_shown} more, in the calendar below</li>` : nothing}</ul></details>`
}

const style = `.verdict { margin: 10px 0 0; }
.verdict ul { margin: 4px 0 0; padding: 0; list-style: none; columns: 26em; max-height: 22vh; overflow: auto; }
.verdict li { break-inside: avoid; }
.verdict summary { cursor: pointer; width: max-content; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; margin: 0 0 18px; }
caption { text-align: left; font-weight: 600; padding: 12px 20px 4px; position: sticky; left: 0; width: max-content; }
caption.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); padding: 0; }
th, td { padding: 0; text-align: center; height: 27px; border-right: 1px solid var(--paper); border-bottom: 1px solid var(--paper); }
table.wide :is(td, .days th) { min-width: 40px; } table.close :is(td, .days th) { min-width: 33px; } table.dense :is(td, .days th) { min-width: 29px; font-size: 13px; }
table.hundreds :is(td, .days th) { min-width: 40px; } table.more :is(td, .days th) { min-width: 58px; }
thead th, thead td { background: var(--band); font-weight: 500; color: var(--quiet); position: sticky; z-index: 2; }
.months th, .months td { top: 0; height: 24px; text-align: left; border-bottom: 0; color: var(--ink); font-weight: 600; }
.months th { border-left: 2px solid var(--edge); }
.months th span { position: sticky; left: 232px; padding: 0 8px; }
.days th { top: 24px; height: 38px; line-height: 1.2; border-bottom: 1px solid var(--edge); color: var(--ink); }
.days abbr { display: block; font-size: 11px; color: var(--quiet); text-decoration: none; }
thead .corner, tbody th { position: sticky; left: 0; }
thead .corner { z-index: 3; text-align: left; padding-left: 20px; border-right: 1px solid var(--edge); vertical-align: bottom; }
.days .corner { padding-bottom: 4px; }
tbody th { z-index: 1; background: var(--paper); text-align: left; font-weight: 500; padding: 2px 10px 2px 20px; border-right: 1px solid var(--edge); border-bottom: 1px solid var(--line); min-width: 232px; max-width: 232px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
tbody th:hover { overflow: visible; white-space: normal; }
tbody tr:hover th { background: var(--rest); }
.free { background: var(--free); color: var(--free-ink); }
.few { background: var(--few); color: var(--few-ink); }
.none { background: var(--none); color: var(--none-ink); font-weight: 600; }
.short { background: var(--short); color: var(--short-ink); font-weight: 700; box-shadow: inset 0 0 0 2px var(--short-line); }
.unknown { color: var(--quiet); }
td.we { background-image: linear-gradient(rgb(90 110 130 / .1), rgb(90 110 130 / .1)); }
.days th.we { background: var(--rest); }
td.first, .days th.first { border-left: 2px solid var(--edge); }
td.today { border-left: 2px solid var(--today); border-right: 2px solid var(--today); }
.days th.today { background: var(--today); color: var(--paper); } .days th.today abbr { color: var(--paper); }
td:hover { outline: 2px solid var(--ink); outline-offset: -2px; }
sup { font-size: 9px; line-height: 0; margin-left: 1px; }
.key { display: inline-block; min-width: 26px; line-height: 20px; text-align: center; font-size: 12px; color: var(--ink); border: 1px solid var(--line); }
.key.free { color: var(--free-ink); } .key.few { color: var(--few-ink); } .key.none { color: var(--none-ink); } .key.short { color: var(--short-ink); border-color: var(--short-line); }
.key.we { background: var(--rest); } .key.todays { border: 0 solid var(--today); border-width: 0 2px; background: var(--band); }
@media print {
  table { width: 100%; table-layout: fixed; margin-bottom: 4mm; page-break-inside: auto; }
  .verdict ul { max-height: none; overflow: visible; }
  caption { padding: 0 0 1mm; position: static; }
  col.name { width: 44mm; }
  tr { break-inside: avoid; }
  table :is(td, .days th) { min-width: 0 !important; font-size: 8pt; }
  table.dense :is(td, .days th) { font-size: 6.3pt; } table.dense .days abbr { font-size: 5pt; } table.dense.hundreds td { font-size: 5pt; } table.dense.more td { font-size: 4pt; }
  th, td { height: 5.4mm; }
  thead th, thead td, tbody th, thead .corner { position: static !important; }
  tbody th { min-width: 0; max-width: none; padding: 0 1mm; font-size: 8pt; }
  thead .corner { padding-left: 1mm; }
  .months th span { padding: 0 1mm; position: static; }
  td { border-color: var(--line); }
}
`
