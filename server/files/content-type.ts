/** What kind of file it is, by its first bytes alone: nothing is unpacked, no size that it claims is believed. */

/** Enough for every signature `file-type` knows by position; more would only be unpacked to look further inside. */
export const sample_bytes = 8_192
export const unknown_type = "application/octet-stream"

export const typeOfContent = async (sample: Uint8Array): Promise<string> => {
  const { fileTypeFromBuffer } = await import("file-type")
  try {
    return (await fileTypeFromBuffer(sample.subarray(0, sample_bytes)))?.mime ?? unknown_type
  } catch {
    // A file cut off in its head.
    return unknown_type
  }
}

/** What browsers may show in place: types that run nothing. All else is saved. */
const shown_in_place: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "application/pdf"
])
export const isShownInPlace = (mime_type: string): boolean => shown_in_place.has(mime_type)
