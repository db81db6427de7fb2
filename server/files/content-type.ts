/** Detects a file's type by its first bytes. Nothing is unpacked, and no size stated inside is trusted. */

/**
 * Number of first bytes read: all signatures that `file-type` finds by position. With more it would unpack archives.
 */
export const sample_bytes = 8_192
const unknown_type = "application/octet-stream"

export const typeOfContent = async (sample: Uint8Array): Promise<string> => {
  const { fileTypeFromBuffer } = await import("file-type")
  const head = sample.subarray(0, sample_bytes)
  try {
    return (await fileTypeFromBuffer(head))?.mime ?? (isPlainText(head) ? "text/plain" : unknown_type)
  } catch {
    // The file ends within its header.
    return unknown_type
  }
}

/** Control characters except tab and line ends. */
// eslint-disable-next-line no-control-regex
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/
/** HTML and SVG, whose scripts a browser would run. */
const markup = /^\s*<|<\s*(?:!doctype|html|head|body|svg|script|iframe)\b/i

/** Whether the bytes are plain text (also CSV, JSON): valid UTF-8 without control characters or markup. */
const isPlainText = (head: Uint8Array): boolean => {
  try {
    // A multi-byte character may be cut off at the sample's end.
    const is_cut = head.length === sample_bytes
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: is_cut })
    return text.trim() !== "" && !control.test(text) && !markup.test(text)
  } catch {
    return false
  }
}

/** Types that browsers may show inline, as they cannot run scripts. All others are downloaded. */
const shown_in_place: ReadonlySet<string> = new Set(
  "image/png image/jpeg image/webp image/gif application/pdf".split(" ")
)
export const isShownInPlace = (mime_type: string): boolean => shown_in_place.has(mime_type)
