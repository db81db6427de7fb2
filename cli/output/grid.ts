/** Availability to look at: a grid of days, and bars of claims. */
import { dayOf, startOfDay } from "../../core/values/zone.ts"
import { inked, type Ink, type Terminal } from "./terminal.ts"
import { cutTo, oneLine, padded, widthOf } from "./text.ts"

export interface GridProduct {
  readonly product_id: number
  readonly product_name: string | null
  readonly days: ReadonlyArray<{ readonly date: string; readonly available: number; readonly has_shortage: boolean }>
}

/** A row per product, a cell per day: red below zero, yellow at zero. In a pipe a line per product and day. */
export const gridText = (products: ReadonlyArray<GridProduct>, terminal: Terminal): string => {
  const named = (one: GridProduct): string => oneLine(one.product_name ?? `product ${one.product_id}`)
  if (!terminal.seen) {
    return products.flatMap((one) => one.days.map((day) => `${one.product_id}\t${named(one)}\t${day.date}\t${day.available}\n`)).join("")
  }
  const dates = [...new Set(products.flatMap(({ days }) => days.map(({ date }) => date)))].sort()
  const width = Math.min(32, Math.max(8, ...products.map((one) => widthOf(named(one)))))
  const cell = Math.max(4, ...products.flatMap(({ days }) => days.map(({ available }) => String(available).length + 1)))
  const per_band = Math.max(1, Math.floor((terminal.columns - width) / cell))
  const bands: Array<string> = []
  for (let at = 0; at < dates.length; at += per_band) {
    const band = dates.slice(at, at + per_band)
    const months = band.map((date, index) => padded(index === 0 || date.endsWith("-01") ? monthOf(date) : "", cell, true)).join("")
    const heading = `${" ".repeat(width)}${months}\n${" ".repeat(width)}${band.map((date) => padded(date.slice(8), cell, true)).join("")}\n`
    const rows = products.map((one) => {
      const byDate = new Map(one.days.map((day) => [day.date, day]))
      return `${padded(cutTo(named(one), width), width, false)}${band.map((date) => {
        const day = byDate.get(date)
        return day === undefined ? padded("·", cell, true) : inked(terminal.colour && day.available <= 0, day.has_shortage ? "red" : "yellow", padded(String(day.available), cell, true))
      }).join("")}\n`
    })
    bands.push(heading + rows.join(""))
  }
  return bands.join("\n")
}
const monthOf = (date: string): string => ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][Number(date.slice(5, 7)) - 1]!

export interface Chart {
  readonly from: string
  readonly to: string
  readonly total_stock: number
  readonly demands: ReadonlyArray<{
    readonly quantity: number; readonly asset_serial: string | null; readonly source_name: string | null; readonly phase: string
    readonly period_start: string; readonly period_end: string; readonly starts_at: string; readonly ends_at: string
  }>
  readonly shortages: ReadonlyArray<{ readonly from: string; readonly to: string; readonly severity: number }>
}
const inks: { readonly [phase: string]: Ink } = { held: "yellow", reserved: "blue", on_hire: "green" }

/** A bar per claim, a column per day: ░ for buffers, █ for the hire. In a pipe a line per claim. */
export const barsText = (chart: Chart, zone: string, terminal: Terminal): string => {
  const label = (one: Chart["demands"][number]): string => oneLine(`${one.quantity}× ${one.source_name ?? ""}${one.asset_serial === null ? "" : ` [${one.asset_serial}]`}`)
  if (!terminal.seen) {
    return chart.demands.map((one) => `${[one.period_start, one.period_end, one.starts_at, one.ends_at, one.phase, one.quantity, one.asset_serial ?? "", oneLine(one.source_name ?? "")].join("\t")}\n`).join("")
  }
  const first = dayOf(Date.parse(chart.from), zone)
  const days = daysBetween(first, dayOf(Date.parse(chart.to), zone), 120)
  const width = Math.min(36, Math.max(10, ...chart.demands.map((one) => widthOf(label(one)))))
  const rows = chart.demands.map((one) => {
    const bar = days.map((day) => {
      const [begins, ends] = [startOfDay(day, zone), startOfDay(nextDay(day), zone)]
      const touches = (from: string, to: string): boolean => Date.parse(from) < ends && Date.parse(to) > begins
      return touches(one.starts_at, one.ends_at) ? "█" : touches(one.period_start, one.period_end) ? "░" : "·"
    }).join("")
    const ink = inks[one.phase]
    return `${padded(cutTo(label(one), width), width, false)} ${inked(terminal.colour && ink !== undefined, ink ?? "dim", bar)} ${one.phase}\n`
  })
  const short = days.map((day) => chart.shortages.some(({ from, to }) => from <= day && day <= to) ? "!" : " ").join("")
  return `${padded(`stock ${chart.total_stock}`, width, false)} ${days[0] ?? ""} to ${days.at(-1) ?? ""}\n${rows.join("")}` +
    (short.trim() === "" ? "" : `${padded("short", width, false)} ${inked(terminal.colour, "red", short)}\n`)
}
const nextDay = (day: string): string => new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10)
const daysBetween = (first: string, last: string, max: number): ReadonlyArray<string> => {
  const days = [first]
  while (days.at(-1)! < last && days.length < max) days.push(nextDay(days.at(-1)!))
  return days
}
