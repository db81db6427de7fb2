/** Range requests (RFC 9110, 14): one part of a file, as players and interrupted downloads ask for. */
import type { ByteRange } from "./files/blob-store.ts"
import type { Headers } from "./server-slice.ts"

/**
 * The part a request asks for. Undefined, which means all, where it asks for none, for several, in no form there is, or
 * for the rest of another version (`If-Range`).
 */
export const rangeIn = (
  headers: Headers,
  size_bytes: number,
  etag: string | undefined
): ByteRange | "unsatisfiable" | undefined => {
  const { range, "if-range": version } = headers
  if (typeof range !== "string" || (version !== undefined && version !== etag)) return undefined
  const [, from = "", to = ""] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(range) ?? []
  if (from === "" && to === "") return undefined
  if (from === "") {
    const length = Math.min(Number(to), size_bytes)
    return length === 0 ? "unsatisfiable" : { first: size_bytes - length, last: size_bytes - 1 }
  }
  const first = Number(from)
  const last = to === "" ? size_bytes - 1 : Math.min(Number(to), size_bytes - 1)
  if (to !== "" && Number(to) < first) return undefined
  return first >= size_bytes ? "unsatisfiable" : { first, last }
}
