/**
 * Text that others wrote, on its way to somebody's screen. Control characters steer a terminal (ESC and the C1 controls
 * begin its sequences), and overrides of the direction of text show names in another order than they have. Each is
 * shown as U+FFFD, so that a reader sees that something stood there.
 */

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
