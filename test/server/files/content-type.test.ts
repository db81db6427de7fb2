/** File types detected from content, also of files that claim more than they hold. */
import { crc32, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { isShownInPlace, typeOfContent } from "../../../server/files/content-type.ts"

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data])
  const head = Buffer.alloc(4)
  head.writeUInt32BE(data.length)
  const tail = Buffer.alloc(4)
  tail.writeUInt32BE(crc32(body))
  return Buffer.concat([head, body, tail])
}
/** A PNG of 50 000 × 50 000 pixels in a few kilobytes. */
const vastPng = (): Buffer => {
  const size = Buffer.alloc(13)
  size.writeUInt32BE(50_000, 0)
  size.writeUInt32BE(50_000, 4)
  size.set([8, 6], 8)
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", size),
    chunk("IDAT", deflateSync(Buffer.alloc(4_000_000))),
    chunk("IEND", Buffer.alloc(0))
  ])
}
const vastGif = Buffer.concat([Buffer.from("GIF89a"), Buffer.from([0x50, 0xc3, 0x50, 0xc3, 0xf7, 0, 0])])
/** A zip whose first entry, used to detect office documents, would unpack to 60 MB. */
const zipBomb = (): Buffer => {
  const packed = deflateRawSync(Buffer.alloc(60_000_000))
  const name = Buffer.from("[Content_Types].xml")
  const head = Buffer.alloc(30)
  head.writeUInt32LE(0x04034b50)
  head.writeUInt16LE(20, 4)
  head.writeUInt16LE(8, 8)
  head.writeUInt32LE(packed.length, 18)
  head.writeUInt32LE(60_000_000, 22)
  head.writeUInt16LE(name.length, 26)
  return Buffer.concat([head, name, packed])
}

describe("the type of a file", () => {
  it.each([
    ["a PNG that claims 50 000 × 50 000 points", vastPng(), "image/png"],
    ["a GIF that claims far too many points", vastGif, "image/gif"],
    ["a zip that would unpack to 60 MB", zipBomb(), "application/zip"],
    ["packed data that would unpack to 100 MB", gzipSync(Buffer.alloc(100_000_000)), "application/gzip"],
    ["an HTML page", Buffer.from("<!doctype html><script>alert(1)</script>"), "application/octet-stream"],
    ["an HTML page that begins with text", Buffer.from("Hello <SCRIPT>alert(1)</script>"), "application/octet-stream"],
    ["an SVG drawing", Buffer.from('\n<svg xmlns="http://www.w3.org/2000/svg"/>'), "application/octet-stream"],
    ["a text", Buffer.from("Grüße aus Köln\r\n"), "text/plain"],
    ["a CSV table", Buffer.from("sku,rate\nPAR64,12.00\n"), "text/plain"],
    ["a JSON object", Buffer.from('{"rates":[{"sku":"PAR64"}]}'), "text/plain"],
    ["a long text whose sample ends within a character", Buffer.from(`a${"ü".repeat(6_000)}`), "text/plain"],
    ["a text in another encoding", Buffer.from("Gr\u00fc\u00dfe", "latin1"), "application/octet-stream"],
    ["a text with a NUL in it", Buffer.from("a\u0000b"), "application/octet-stream"],
    ["an empty file", Buffer.alloc(0), "application/octet-stream"],
    ["a file cut off in its head", Buffer.from("89504e470d0a1a0a00", "hex"), "application/octet-stream"]
  ])("is detected without unpacking: %s", async (_, content, type) => {
    const before = process.memoryUsage().rss
    expect(await typeOfContent(content)).toBe(type)
    expect(process.memoryUsage().rss - before).toBeLessThan(48 * 1_048_576)
  })
  it("keeps HTML, SVG, XML, JavaScript, ZIP archives and plain text from being shown inline", () => {
    const run = ["text/html", "image/svg+xml", "application/xml", "text/javascript", "application/zip", "text/plain"]
    expect(run.filter(isShownInPlace)).toEqual([])
  })
})
