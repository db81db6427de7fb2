/** Days of a hire in words: `3–5 Dec`, `30 Nov – 2 Dec 2027`. */
import { wallOf } from "../values/zone.ts"

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** The year is told where it is not that of `now`; instants, on the clock of the zone. `to` null: no known end. */
export const daysInWords = (from: string, to: string | null, zone: string, now: string): string => {
  const [first, last, this_year] = [from, to ?? from, now].map((instant) => dayIn(instant, zone))
  if (first === undefined || last === undefined) return `${from} to ${to ?? "an open end"}`
  const year = last.year === this_year?.year ? "" : ` ${last.year}`
  if (to === null || to.startsWith("2199")) return `from ${first.day} ${first.month}${year} on`
  if (first.year !== last.year)
    return `${first.day} ${first.month} ${first.year} – ${last.day} ${last.month} ${last.year}`
  if (first.month !== last.month) return `${first.day} ${first.month} – ${last.day} ${last.month}${year}`
  return first.day === last.day ? `${last.day} ${last.month}${year}` : `${first.day}–${last.day} ${last.month}${year}`
}
const dayIn = (instant: string, zone: string) => {
  const millis = Date.parse(instant)
  if (Number.isNaN(millis)) return undefined
  const wall = new Date(wallOf(millis, zone))
  return { day: wall.getUTCDate(), month: months[wall.getUTCMonth()] ?? "", year: wall.getUTCFullYear() }
}
