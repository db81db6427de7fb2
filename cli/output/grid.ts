/** Availability on a terminal: a grid of days, and bars of demands. */
import { dateAfter } from "../../core/values/period.ts"
import { dayOf, startOfDay } from "../../core/values/time.ts"
import { daysThrough, monthOf as monthWithYear, weekdayOf } from "./days.ts"
import { oneLine, padded, styled, type Terminal, truncateToWidth, widthOf } from "./text.ts"

interface GridProduct {
  readonly product_id: number
  readonly product_name: string | null
  readonly days: ReadonlyArray<{ readonly date: string; readonly available: number; readonly has_shortage: boolean }>
}

/**
 * Grid with a row per product and a cell per day: red below zero, yellow at zero; wrapped at the terminal's width. In
 * pipes a line per product and day.
 */
export const gridText = (products: ReadonlyArray<GridProduct>, terminal: Terminal): string => {
  const named = (one: GridProduct): string => oneLine(one.product_name ?? `product ${one.product_id}`)
  if (!terminal.is_tty) {
    return products
      .flatMap((one) => one.days.map((day) => `${one.product_id}\t${named(one)}\t${day.date}\t${day.available}\n`))
      .join("")
  }
  const dates = [...new Set(products.flatMap(({ days }) => days.map(({ date }) => date)))].sort()
  if (dates.length === 0)
    return "Nothing is kept at this store in this window, or it lies outside the days that are counted.\n"
  const width = Math.min(
    32,
    Math.floor(terminal.columns / 2),
    Math.max(8, ...products.map((one) => widthOf(named(one))))
  )
  const cell = Math.max(4, ...products.flatMap(({ days }) => days.map(({ available }) => String(available).length + 1)))
  const per_band = Math.max(1, Math.floor((terminal.columns - width) / cell))
  const bands: Array<string> = []
  for (let at = 0; at < dates.length; at += per_band) {
    const band = dates.slice(at, at + per_band)
    const heading = [
      band.map((date, index) => (index === 0 || date.endsWith("-01") ? monthOf(date) : "")),
      band.map((date) => weekdayOf(date).slice(0, 2)),
      band.map((date) => String(Number(date.slice(8))))
    ]
      .map(
        (words, line) =>
          `${" ".repeat(width)}${styled(terminal.colour, line === 2 ? "bold" : "dim", words.map((word) => padded(word, cell, true)).join(""))}\n`
      )
      .join("")
    const rows = products.map((one) => {
      const byDate = new Map(one.days.map((day) => [day.date, day]))
      return `${padded(truncateToWidth(named(one), width), width, false)}${band
        .map((date) => {
          const day = byDate.get(date)
          return day === undefined
            ? padded("·", cell, true)
            : styled(
                terminal.colour && day.available <= 0,
                day.has_shortage ? "red" : "yellow",
                padded(String(day.available), cell, true)
              )
        })
        .join("")}\n`
    })
    bands.push(heading + rows.join(""))
  }
  return bands.join("\n")
}
const monthOf = (date: string): string => monthWithYear(date).slice(0, 3)

interface Chart {
  readonly from: string
  readonly to: string
  readonly total_stock: number
  readonly demands: ReadonlyArray<{
    readonly quantity: number
    readonly asset_serial: string | null
    readonly source_name: string | null
    readonly phase: string
    readonly period_start: string
    readonly period_end: string
    readonly starts_at: string
    readonly ends_at: string
  }>
  readonly shortages: ReadonlyArray<{ readonly from: string; readonly to: string; readonly severity: number }>
}
const inks: { readonly [phase: string]: Parameters<typeof styled>[1] } = {
  held: "yellow",
  reserved: "blue",
  on_hire: "green"
}

/**
 * Chart with a bar per demand and a column per day, or per several days if the terminal is too narrow: ░ for buffers, █
 * for the hire. In pipes a line per demand.
 */
export const chartText = (chart: Chart, zone: string, terminal: Terminal): string => {
  const label = (one: Chart["demands"][number]): string =>
    oneLine(`${one.quantity}× ${one.source_name ?? ""}${one.asset_serial === null ? "" : ` [${one.asset_serial}]`}`)
  if (!terminal.is_tty) {
    return chart.demands
      .map(
        (one) =>
          `${[one.period_start, one.period_end, one.starts_at, one.ends_at, one.phase, one.quantity, one.asset_serial ?? "", oneLine(one.source_name ?? "")].join("\t")}\n`
      )
      .join("")
  }
  const days = daysThrough(dayOf(Date.parse(chart.from), zone), dayOf(Date.parse(chart.to), zone), days_max)
  const stock = `stock ${chart.total_stock}`
  const width = Math.min(
    36,
    Math.max(10, Math.floor(terminal.columns / 3)),
    Math.max(10, stock.length, ...chart.demands.map((one) => widthOf(label(one))))
  )
  const room = Math.max(
    10,
    terminal.columns - width - 2 - Math.max(5, ...chart.demands.map(({ phase }) => phase.length))
  )
  const per_column = Math.ceil(days.length / room)
  const columns = stretchesOf(days, per_column, zone)
  const rows = chart.demands.map((one) => {
    const [starts, ends] = [Date.parse(one.starts_at), Date.parse(one.ends_at)]
    const [opens, closes] = [Date.parse(one.period_start), Date.parse(one.period_end)]
    const bar = columns
      .map(({ from, to }) => (starts < to && ends > from ? "█" : opens < to && closes > from ? "░" : "·"))
      .join("")
    const ink = inks[one.phase]
    return `${padded(truncateToWidth(label(one), width), width, false)} ${styled(terminal.colour && ink !== undefined, ink ?? "dim", bar)} ${one.phase.replaceAll("_", " ")}\n`
  })
  const short = columns
    .map((column) =>
      chart.shortages.some(({ from, to }) => column.days.some((day) => from <= day && day <= to)) ? "!" : " "
    )
    .join("")
  const scale = per_column === 1 ? "" : `, ${per_column} days a column`
  return (
    `${padded(stock, width, false)} ${days[0] ?? ""} to ${days.at(-1) ?? ""}${scale}\n` +
    rulers(columns)
      .map((line) => `${" ".repeat(width + 1)}${styled(terminal.colour, "dim", line)}\n`)
      .join("") +
    (rows.length === 0 ? "Nobody claims it in this window.\n" : rows.join("")) +
    (short.trim() === "" ? "" : `${padded("short", width, false)} ${styled(terminal.colour, "red", short)}\n`)
  )
}
const days_max = 400
/** Days of one column in the chart. */
interface Stretch {
  readonly days: ReadonlyArray<string>
  readonly first: string
  readonly from: number
  readonly to: number
}
const stretchesOf = (days: ReadonlyArray<string>, per_column: number, zone: string): ReadonlyArray<Stretch> => {
  const stretches: Array<Stretch> = []
  for (let at = 0; at < days.length; at += per_column) {
    const within = days.slice(at, at + per_column)
    const [first = "", last = ""] = [within[0], within.at(-1)]
    stretches.push({ days: within, first, from: startOfDay(first, zone), to: startOfDay(dateAfter(last), zone) })
  }
  return stretches
}

/** Lines with names of months and dates of Mondays above their columns, if there is room. */
const rulers = (columns: ReadonlyArray<Stretch>): ReadonlyArray<string> => {
  const line = (said: (stretch: Stretch, at: number) => string): string => {
    let text = ""
    for (const [at, stretch] of columns.entries()) {
      const word = said(stretch, at)
      // A label needs a space before it, and room for its text.
      if (word !== "" && (text === "" || text.length < at) && at + word.length <= columns.length)
        text = text.padEnd(at) + word
    }
    return text
  }
  return [
    line(({ days, first }, at) => {
      const begun = at === 0 ? first : days.find((day) => day.endsWith("-01"))
      return begun === undefined ? "" : monthOf(begun)
    }),
    ...(columns.every(({ days }) => days.length === 1)
      ? [line(({ first }) => (weekdayOf(first) === "Mon" ? String(Number(first.slice(8))) : ""))]
      : [])
  ].filter((text) => text !== "")
}
