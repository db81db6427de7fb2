/** Generated pictures: a gradient with transparency, and small files that unpack to gigabytes. */
import { constants, crc32, deflateRawSync, deflateSync } from "node:zlib"
import { PNG } from "pngjs"

export const fadingPng = (width: number, height: number): Buffer => {
  const png = new PNG({ width, height })
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4
      png.data.set([20 + (x * 200) / width, 90, 200 - (y * 150) / height, 255 - Math.floor((x * 200) / width)], at)
    }
  return PNG.sync.write(png)
}

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data])
  const [head, tail] = [Buffer.alloc(4), Buffer.alloc(4)]
  head.writeUInt32BE(data.length)
  tail.writeUInt32BE(crc32(body))
  return Buffer.concat([head, body, tail])
}
/** A thousandth of what it unpacks to: zeros, in megabytes. */
export const packedZeros = (megabytes: number): Buffer => {
  const block = deflateRawSync(Buffer.alloc(1_000_000), { finishFlush: constants.Z_FULL_FLUSH })
  const last = Buffer.from([3, 0])
  return Buffer.concat([Buffer.from([0x78, 0x9c]), ...Array<Buffer>(megabytes).fill(block), last])
}
/** A picture with transparency whose pixels unpack to this many megabytes, whatever its size. `again`: a second size. */
export const swollenPng = (side: number, megabytes: number, again?: number): Buffer => {
  const size = (length: number): Buffer => {
    const head = Buffer.alloc(13)
    head.writeUInt32BE(length, 0)
    head.writeUInt32BE(length, 4)
    head.set([8, 6], 8)
    return chunk("IHDR", head)
  }
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    size(side),
    again === undefined ? Buffer.alloc(0) : size(again),
    chunk("IDAT", packedZeros(megabytes)),
    chunk("IEND", Buffer.alloc(0))
  ])
}
/** A picture with transparency whose rows are filtered by a filter that does not exist. */
export const unfilteredPng = (): Buffer => {
  const head = Buffer.alloc(13)
  head.set([0, 0, 0, 1, 0, 0, 0, 1, 8, 6])
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.from([9, 1, 2, 3, 4]))),
    chunk("IEND", Buffer.alloc(0))
  ])
}
/** A picture with transparency, and a chunk of another kind of pictures that leads the drawing library back. */
export const circlingPng = (): Buffer => {
  const whole = fadingPng(4, 4)
  return Buffer.concat([
    whole.subarray(0, 33),
    chunk("tRNS", Buffer.from("00000000fffffff461616161", "hex")),
    whole.subarray(33)
  ])
}
