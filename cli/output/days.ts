/** Formats days and times, and lists days. */
import { dateAfter } from "../../core/values/period.ts"
import { dayText, offsetAt } from "../../core/values/time.ts"
import { datedText } from "../base/parse-time.ts"

/** Days from first to last, both included, at most `max`. */
export const daysThrough = (first: string, last: string, max: number): ReadonlyArray<string> => {
  const days: Array<string> = []
  for (let day = first; day <= last && days.length < max; day = dateAfter(day)) days.push(day)
  return days
}
export const weekdayOf = (day: string): string => dayText(day).slice(0, 3)
export const isWeekend = (day: string): boolean => day !== "" && ["Sat", "Sun"].includes(weekdayOf(day))
/** Formats a month: `Jul 2026`. */
export const monthOf = (day: string): string => `${dayText(day).slice(-3)} ${day.slice(0, 4)}`
/** Formats an instant in a zone: `Wed 1 Jul 2026, 09:00`. */
export const momentText = (instant: number, zone: string): string => {
  const wall = new Date(instant + offsetAt(instant, zone)).toISOString()
  return `${datedText(wall.slice(0, 10))}, ${wall.slice(11, 16)}`
}
/** Formats an instant like `momentText`, without the year if it is `year`. */
export const momentIn = (year: string, instant: number, zone: string): string =>
  momentText(instant, zone).replace(` ${year},`, ",")
/** Formats a range of days, with shared parts once: `1 Jul 2026`, `1 to 4 Jul 2026`. */
export const dateRangeText = (first: string, last: string): string => {
  if (first === last) return `${Number(first.slice(8))} ${monthOf(first)}`
  if (first.slice(0, 7) === last.slice(0, 7))
    return `${Number(first.slice(8))} to ${Number(last.slice(8))} ${monthOf(last)}`
  const opening = first.slice(0, 4) === last.slice(0, 4) ? monthOf(first).slice(0, 3) : monthOf(first)
  return `${Number(first.slice(8))} ${opening} to ${Number(last.slice(8))} ${monthOf(last)}`
}

/** Neighbours in a list with an equal key. */
interface Run<A> {
  readonly first: A
  readonly last: A
  readonly members: ReadonlyArray<A>
}
export const runsOf = <A>(all: ReadonlyArray<A>, keyOf: (one: A) => string): ReadonlyArray<Run<A>> => {
  const runs: Array<{ readonly first: A; last: A; readonly members: Array<A> }> = []
  for (const one of all) {
    const run = runs.at(-1)
    if (run === undefined || keyOf(run.first) !== keyOf(one)) runs.push({ first: one, last: one, members: [one] })
    else {
      run.members.push(one)
      run.last = one
    }
  }
  return runs
}
