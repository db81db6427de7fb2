/** Detects a file's type by its first bytes alone: nothing is unpacked, and no size stated in it is trusted. */

/** Enough for every signature `file-type` knows by position; more would only be unpacked to look further inside. */
export const sample_bytes = 8_192
const unknown_type = "application/octet-stream"

export const typeOfContent = async (sample: Uint8Array): Promise<string> => {
  const { fileTypeFromBuffer } = await import("file-type")
  const head = sample.subarray(0, sample_bytes)
  try {
    return (await fileTypeFromBuffer(head))?.mime ?? (isPlainText(head) ? "text/plain" : unknown_type)
  } catch {
    // A file cut off in its head.
    return unknown_type
  }
}

/** Everything up to the blank, but for tabs and ends of lines; and DEL. */
// eslint-disable-next-line no-control-regex
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/
/** Pages and drawings, which a browser would execute given their type. */
const markup = /^\s*<|<\s*(?:!doctype|html|head|body|svg|script|iframe)\b/i

/** Text, CSV, JSON: valid UTF-8 without control characters at the start, and no markup. */
const isPlainText = (head: Uint8Array): boolean => {
  try {
    // The last character of a longer file may be cut in two.
    const is_cut = head.length === sample_bytes
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: is_cut })
    return text.trim() !== "" && !control.test(text) && !markup.test(text)
  } catch {
    return false
  }
}

/** Types that browsers may show inline, as they cannot run scripts. All others are downloaded. */
const shown_in_place: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "application/pdf"
])
export const isShownInPlace = (mime_type: string): boolean => shown_in_place.has(mime_type)
