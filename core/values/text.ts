/** Instants and numbers as people say them across a counter, in few words. */
import { dayOf, instantOf, millisOf, wallOf } from "./time.ts"

// Items of lists that the caller knows to be there. A missing one is a defect of the program: a RangeError.

/** The item at an index; negative ones count from the end. */
export const itemAt = <A>(list: ReadonlyArray<A>, index: number): A => {
  const item = index < 0 ? list[list.length + index] : list[index]
  if (item === undefined) throw new RangeError(`There is no item ${index} in a list of ${list.length}.`)
  return item
}
export const firstOf = <A>(list: ReadonlyArray<A>): A => itemAt(list, 0)
export const lastOf = <A>(list: ReadonlyArray<A>): A => itemAt(list, -1)

// Text that others wrote, on its way to somebody's screen. Control characters steer a terminal (ESC and the C1 controls
// begin its sequences), and overrides of the direction of text show names in another order than they have. Each is
// shown as U+FFFD, so that a reader sees that something stood there.

/** C0 and C1 controls, embeddings and overrides (U+202A to U+202E), isolates (U+2066 to U+2069). */
const steering = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Any number of lines: tabs and `\n` stay what they are. */
export const printable = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n/g, "\n")
    .replace(/[\v\f\u0085\u2028\u2029]/g, " ")
    .replace(steering, (sign) => (sign === "\n" || sign === "\t" ? sign : "\ufffd"))
/** One line: what parts lines and columns is a space. */
export const printableLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\t\r\n\v\f\u0085\u2028\u2029]+/g, " ")
    .replace(steering, "\ufffd")
/** Is there anything to see: more than spaces, signs without width and what stands for signs that steer? */
export const hasSign = (text: string): boolean => /[^\s\p{C}\p{Default_Ignorable_Code_Point}\ufffd]/u.test(text)
/** JSON text with the same characters escaped: parsing it gives exactly the same data, as only texts contain them. */
export const printableJson = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

/** `{name}` in a phrase, replaced; a name without a value stays. */
export const withValues = (phrase: string, values: { readonly [name: string]: string }): string =>
  phrase.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
/** The words of a language such as `de-AT`; English where there are none. */
export const inLanguage = <A>(spoken: { readonly [language: string]: A; readonly en: A }, language: string): A =>
  spoken[language.split("-")[0] ?? ""] ?? spoken.en

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
 * A document's number as people type it, `7`, `#7` or `Q-7`, in every form it may be kept in: after each of these
 * prefixes, and with as many zeros before its digits as may be. Empty of any other text.
 */
export const numberForms = (text: string, prefixes: ReadonlyArray<string> = []): ReadonlyArray<string> => {
  const typed = text.trim().replace(/^#/, "")
  const named = prefixes.filter((prefix) => typed.toLowerCase().startsWith(prefix.toLowerCase()))
  const forms = named.flatMap((prefix) => zeroForms(typed.slice(prefix.length)).map((form) => prefix + form))
  const bare = zeroForms(typed)
  return [...bare, ...forms, ...prefixes.flatMap((prefix) => bare.map((form) => prefix + form))]
}
const zeroForms = (text: string): ReadonlyArray<string> => {
  const digits = /^0*(\d+)$/.exec(text)?.[1]
  if (digits === undefined || digits.length > number_digits_max) return []
  return Array.from({ length: number_digits_max - digits.length + 1 }, (_, zeros) => "0".repeat(zeros) + digits)
}
const number_digits_max = 12
/** Where it has no number yet, its id. */
export const numberText = (number: string | null, id: number): string =>
  number === null ? `id ${id}` : spokenNumber(number)
/** A number as it is typed at a shell; without one the id. Digits alone would be read as an id: `'#12'`, `Q-0001`. */
export const typedNumber = (number: string | null, id: number): string => {
  const text = number === null ? `${id}` : spokenNumber(number)
  return number !== null && /^\d+$/.test(text) ? `'#${text}'` : shellWord(text)
}
/** Text as one word of a shell. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
