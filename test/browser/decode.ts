/** Reads barcodes from pixels as a scanner would, and turns drawings into pixels. */
import {
  BarcodeFormat,
  BinaryBitmap,
  DecodeHintType,
  GlobalHistogramBinarizer,
  MultiFormatReader,
  RGBLuminanceSource
} from "@zxing/library"
import { PNG } from "pngjs"
import { all, type Element } from "./page.ts"

interface Pixels {
  readonly width: number
  readonly height: number
  readonly dark: (x: number, y: number) => boolean
}

/** Text of the one symbol in the picture. Throws if there is none. */
export const decoded = ({ dark, height, width }: Pixels, kind: "code128" | "qr"): string => {
  const light = new Uint8ClampedArray(width * height)
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) light[y * width + x] = dark(x, y) ? 0 : 255
  const reader = new MultiFormatReader()
  const hints = new Map<DecodeHintType, unknown>([
    [DecodeHintType.POSSIBLE_FORMATS, [kind === "qr" ? BarcodeFormat.QR_CODE : BarcodeFormat.CODE_128]],
    [DecodeHintType.TRY_HARDER, true],
    [DecodeHintType.PURE_BARCODE, true],
    [DecodeHintType.CHARACTER_SET, "UTF-8"]
  ])
  return reader
    .decode(new BinaryBitmap(new GlobalHistogramBinarizer(new RGBLuminanceSource(light, width, height))), hints)
    .getText()
}
export const pixelsOfPng = (bytes: Buffer): Pixels => {
  const { data, height, width } = PNG.sync.read(bytes)
  return {
    width,
    height,
    dark: (x, y) => {
      const at = (y * width + x) * 4
      return data[at + 3]! > 127 && data[at]! < 128
    }
  }
}

const numbers = (text: string): ReadonlyArray<number> =>
  [...text.matchAll(/-?\d+(?:\.\d+)?/g)].map(([one]) => Number(one))
/** Pixels of a drawing of bars (strokes) or polygons (filled), at `scale` pixels per unit. */
export const pixelsOfSvg = (svg: Element, scale = 4): Pixels => {
  const [, , units_wide, units_high] = numbers(svg.attributes["viewBox"]!) as [number, number, number, number]
  const paths = all(svg, "path")
  const bars = paths
    .filter(({ attributes }) => attributes["stroke-width"] !== undefined)
    .flatMap(({ attributes }) => {
      const half = Number(attributes["stroke-width"]) / 2
      return [...attributes["d"]!.matchAll(/M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)/g)].map(
        ([, x]) => [Number(x) - half, Number(x) + half] as const
      )
    })
  const polygons = paths
    .filter(({ attributes }) => attributes["stroke-width"] === undefined)
    .flatMap(({ attributes }) =>
      attributes["d"]!.split("Z")
        .filter((one) => one !== "")
        .map((one) => {
          const flat = numbers(one)
          return Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at]!, flat[2 * at + 1]!] as const)
        })
    )
  const inside = (x: number, y: number): boolean =>
    polygons.reduce(
      (odd, points) =>
        points.reduce((now, [x1, y1], at) => {
          const [x2, y2] = points[(at + 1) % points.length]!
          return x1 === x2 && x1 > x && Math.min(y1, y2) <= y && y < Math.max(y1, y2) ? !now : now
        }, odd),
      false
    )
  const columns = Array.from({ length: units_wide * scale }, (_, x) =>
    bars.some(([from, to]) => (x + 0.5) / scale > from && (x + 0.5) / scale < to)
  )
  const grid =
    polygons.length === 0
      ? []
      : Array.from({ length: units_high }, (_, y) =>
          Array.from({ length: units_wide }, (_, x) => inside(x + 0.5, y + 0.5))
        )
  return {
    width: units_wide * scale,
    height: units_high * scale,
    dark: (x, y) => (polygons.length === 0 ? columns[x]! : grid[Math.floor(y / scale)]![Math.floor(x / scale)]!)
  }
}
