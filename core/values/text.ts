/** List items, untrusted text, phrases, and short display text for document numbers. */

// List items that must exist: a missing one is a bug and throws a RangeError.

/** The item at an index; negative ones count from the end. */
export const itemAt = <A>(list: ReadonlyArray<A>, index: number): A => {
  const item = index < 0 ? list[list.length + index] : list[index]
  if (item === undefined) throw new RangeError(`There is no item ${index} in a list of ${list.length}.`)
  return item
}
export const firstOf = <A>(list: ReadonlyArray<A>): A => itemAt(list, 0)
export const lastOf = <A>(list: ReadonlyArray<A>): A => itemAt(list, -1)

// Declared records, such as word lists: nothing adds keys at run time, so that their type has all of them.

export const keysOf = <R extends { readonly [key: string]: unknown }>(record: R): ReadonlyArray<keyof R & string> =>
  Object.keys(record) as ReadonlyArray<keyof R & string>
/** Some keys of a row, in the order given. Effect's `Struct.pick` keeps the row's order, and walks all of its keys. */
export const picked = <R extends object, const K extends keyof R>(row: R, keys: ReadonlyArray<K>): Pick<R, K> =>
  Object.fromEntries(keys.map((key): ReadonlyArray<unknown> => [key, row[key]]))
/** The same keys, each with another value. */
export const mapValues = <R extends { readonly [key: string]: unknown }, V>(
  record: R,
  change: (value: R[keyof R], key: keyof R & string) => V
) => Object.fromEntries(keysOf(record).map((key) => [key, change(record[key], key)])) as { readonly [K in keyof R]: V }

/** The first names of a list and how many more there are: `A-1, A-2 and 3 more`. */
export const namesText = (names: ReadonlyArray<string>, names_max = 10): string =>
  names.slice(0, names_max).join(", ") + (names.length > names_max ? ` and ${names.length - names_max} more` : "")

// Untrusted text for display. Characters that control a terminal or override the direction of text are replaced by
// U+FFFD, so that the reader sees that something was removed.

/** C0 and C1 controls, embeddings and overrides (U+202A to U+202E), isolates (U+2066 to U+2069). */
const steering = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Multi-line text: keeps tabs and `\n`. */
export const printable = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n/g, "\n")
    .replace(/[\v\f\u0085\u2028\u2029]/g, " ")
    .replace(steering, (sign) => (sign === "\n" || sign === "\t" ? sign : "\ufffd"))
/** Single-line text: tabs and line breaks become spaces. */
export const printableLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\t\r\n\v\f\u0085\u2028\u2029]+/g, " ")
    .replace(steering, "\ufffd")
/** JSON text with the same characters escaped: parsing it gives exactly the same data, as only texts contain them. */
export const printableJson = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

/** Replaces `{name}` in a phrase by its value; names without a value stay. */
export const withValues = (phrase: string, values: { readonly [name: string]: string }): string =>
  phrase.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
/** The text for a language such as `de-AT`; English if there is none. */
export const inLanguage = <A>(spoken: { readonly [language: string]: A; readonly en: A }, language: string): A =>
  spoken[language.split("-")[0] ?? ""] ?? spoken.en

/** A document number without leading zeros: `0000000009` is 9. Numbers with letters are unchanged. */
export const spokenNumber = (number: string): string => number.replace(/^0+(?=\d+$)/, "")
/**
 * All stored forms of a typed document number (`7`, `#7`, `Q-7`): with each of these prefixes and any number of leading
 * zeros. Empty if the text is no number.
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
/** Forms of a code to search for: as typed, in capitals and in small letters. */
export const codeForms = (text: string): ReadonlyArray<string> => [
  ...new Set([text, text.toUpperCase(), text.toLowerCase()])
]
/** A document's number for display; its id if it has no number yet. */
export const numberText = (number: string | null, id: number): string =>
  number === null ? `id ${id}` : spokenNumber(number)
/** A number as typed in a shell; the id if there is none. Plain digits would be read as an id: `'#12'`, `Q-0001`. */
export const typedNumber = (number: string | null, id: number): string => {
  const text = number === null ? `${id}` : spokenNumber(number)
  return number !== null && /^\d+$/.test(text) ? `'#${text}'` : shellWord(text)
}
/** Quotes text for a shell where needed. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** A number with its noun: `1 line`, `2 lines`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
