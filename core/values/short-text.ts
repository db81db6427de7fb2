/** Instants and numbers as people say them across a counter, in few words. */
import { instantOf, millisOf } from "./time.ts"
import { dayOf, wallOf } from "./zone.ts"

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** `Fri 4 Dec`. */
export const dayText = (date: string): string => {
  const at = new Date(`${date}T00:00:00Z`)
  return `${weekdays[at.getUTCDay()]} ${at.getUTCDate()} ${months[at.getUTCMonth()]}`
}
/** `09:00` on the day itself, `Fri 4 Dec 09:00` on another, by a zone's clock. */
export const clockText = (instant: string | null, zone: string, date: string): string => {
  if (instant === null) return ""
  const millis = millisOf(instant)
  const time = instantOf(wallOf(millis, zone)).slice(11, 16)
  const day = dayOf(millis, zone)
  return day === date ? time : `${dayText(day)} ${time}`
}

/** The same without the date: `Sun 13:57` says enough on a wall. */
export const wallText = (instant: string | null, zone: string, date: string): string =>
  clockText(instant, zone, date).replace(/^([A-Z][a-z]{2}) \d+ [A-Z][a-z]{2} /, "$1 ")
/** A document's number as people say it: `0000000009` is 9. One with letters stays. */
export const spokenNumber = (number: string): string => number.replace(/^0+(?=\d+$)/, "")
/**
 * The digits of a document's number, `7` or `#7`, in every form it may be kept in: with as many zeros before them as
 * may be. Empty of any other text: prefixes stand as they are.
 */
export const numberForms = (text: string): ReadonlyArray<string> => {
  const digits = /^#?0*(\d+)$/.exec(text.trim())?.[1]
  if (digits === undefined || digits.length > number_digits_max) return []
  return Array.from({ length: number_digits_max - digits.length + 1 }, (_, zeros) => "0".repeat(zeros) + digits)
}
const number_digits_max = 12
/** Where it has no number yet, its id. */
export const numberText = (number: string | null, id: number): string =>
  number === null ? `id ${id}` : spokenNumber(number)
