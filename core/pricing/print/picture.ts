/** Checks pictures for documents: type by content, size, and no references to other content. */
import { Result } from "effect"

export interface PictureData {
  readonly mime_type: "image/png" | "image/jpeg" | "image/svg+xml"
  readonly bytes: Uint8Array
}
/** Content of pictures by its SHA-256, for {@link picturesOf}. */
export type Pictures = ReadonlyMap<string, Uint8Array>

const picture_bytes_max = 10_000_000
const svg_bytes_max = 500_000
/** Maximum pixels: rendering takes at least four bytes for each, however small the file. */
const pixels_max = 25_000_000

/** Type and content of a picture; fails with a reason if it could not be rendered safely. */
export const readPicture = (bytes: Uint8Array): Result.Result<PictureData, string> => {
  if (bytes.length > picture_bytes_max) return Result.fail(`The picture is larger than ${picture_bytes_max / 1e6} MB.`)
  const size = pngSize(bytes) ?? jpegSize(bytes)
  if (size !== undefined) {
    if (size.width === 0 || size.height === 0) return Result.fail("The picture is damaged.")
    if (size.width * size.height > pixels_max)
      return Result.fail(
        `The picture has more than ${pixels_max / 1e6} million pixels: ${size.width} × ${size.height}.`
      )
    return Result.succeed({ mime_type: size.mime_type, bytes })
  }
  const text = bytes.length > svg_bytes_max ? "" : new TextDecoder().decode(bytes)
  if (!/<svg[\s>]/i.test(text.slice(0, 4_000)))
    return Result.fail("The picture is neither PNG nor JPEG nor SVG (up to 0.5 MB).")
  const refused = refusedInSvg(text)
  return refused === undefined
    ? Result.succeed({ mime_type: "image/svg+xml", bytes })
    : Result.fail(`The SVG picture has ${refused}, which is not drawn: export it as plain shapes.`)
}

interface Size {
  readonly mime_type: "image/png" | "image/jpeg"
  readonly width: number
  readonly height: number
}
const pngSize = (bytes: Uint8Array): Size | undefined => {
  const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
  if (bytes.length < 24 || signature.some((sign, at) => bytes[at] !== sign)) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { mime_type: "image/png", width: view.getUint32(16), height: view.getUint32(20) }
}
/** Size from the first frame segment of a JPEG; undefined if it is none. */
const jpegSize = (bytes: Uint8Array): Size | undefined => {
  if (bytes.length < 4 || bytes[0] !== 0xff || bytes[1] !== 0xd8) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 2; at + 9 < bytes.length;) {
    if (view.getUint8(at) !== 0xff) return { mime_type: "image/jpeg", width: 0, height: 0 }
    const marker = view.getUint8(at + 1)
    const is_frame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (is_frame) return { mime_type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
    at += 2 + view.getUint16(at + 2)
  }
  return { mime_type: "image/jpeg", width: 0, height: 0 }
}

/** First part of an SVG that refers to other content or multiplies shapes; undefined if none. */
const refusedInSvg = (text: string): string | undefined => {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) return "a document type"
  const tag = /<(?:[\w-]+:)?(script|image|foreignObject|iframe|embed|object|use|animate\w*|set|feImage|a)[\s/>]/i.exec(
    text
  )
  if (tag !== null) return `a <${tag[1]}>`
  if (/\son\w+\s*=/i.test(text)) return "a script"
  if (/@import/i.test(text)) return "an @import"
  if (/\bhref\s*=\s*["']?\s*[^#"'\s]/i.test(text) || /url\(\s*["']?\s*[^#"'\s)]/i.test(text)) return "an address"
  return undefined
}
