/** File names as sent by clients: display text, never a path. */

/** Maximum length of a name on most file systems. */
const file_name_bytes_max = 255

/** Control characters and direction overrides, which can disguise a file's extension. */
const steering = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** The name without folders and control characters, cut between two characters at 255 bytes; `file` if none is left. */
export const shownFileName = (given: string): string => {
  const last = given.toWellFormed().split(/[/\\]/).at(-1) ?? ""
  const plain = last.replace(steering, "").trim()
  if (plain === "" || plain === "." || plain === "..") return "file"
  return cutToBytes(plain, file_name_bytes_max)
}

/** Truncates the name to `bytes_max`, keeping a short extension such as `.jpeg`. */
const cutToBytes = (name: string, bytes_max: number): string => {
  if (utf8Length(name) <= bytes_max) return name
  const ending = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? ""
  let kept = ""
  let bytes = ending.length
  for (const { segment } of new Intl.Segmenter().segment(name.slice(0, name.length - ending.length))) {
    bytes += utf8Length(segment)
    if (bytes > bytes_max) break
    kept += segment
  }
  return `${kept}${ending}`
}
const utf8Length = (text: string): number => {
  let bytes = 0
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes
}

/**
 * Content-Disposition header (RFC 6266): an ASCII name for old clients and the full name in UTF-8 (RFC 8187), escaped
 * so that no name can end the header or its quotes.
 */
export const contentDisposition = (name: string, how: "inline" | "attachment"): string => {
  const shown = shownFileName(name)
  // Some clients decode percent signs.
  const ascii = shown.replace(/[^\x20-\x7e]/g, "_").replace(/["\\%]/g, "_")
  const encoded = encodeURIComponent(shown).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`
  )
  return `${how}; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
