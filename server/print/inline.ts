/** Runs of text as pdfmake takes them: one font and one direction each. */
import type { Alignment, Picture, Run } from "../../core/print/blocks.ts"
import type { PictureData } from "../../core/print/picture.ts"
import { directionOf, hasRightToLeft } from "./direction.ts"
import { type Family, pieces } from "./fonts.ts"

/** What the parts of one document share while it is turned into pdfmake's definition. */
export interface Drawing {
  readonly families: ReadonlyArray<Family>
  readonly is_rtl: boolean
  readonly accent: string
  /** Height of the room for blocks on a page. */
  readonly page_height: number
  /** Content of pictures by the name the definition uses. */
  readonly images: { [name: string]: string }
  readonly pictureOf: (picture: Picture) => PictureData
  /** A drawing of the symbol, as SVG, with its width and height in modules. */
  readonly symbolOf: (
    symbology: "qr" | "code128",
    value: string
  ) => { readonly svg: string; readonly width: number; readonly height: number }
}

export interface Inline {
  readonly text: string
  readonly font: string
  readonly level?: number
  readonly base?: number
  readonly bold?: boolean
  readonly italics?: boolean
  readonly link?: string
  readonly color?: string
  readonly decoration?: "underline"
}

/** Lines end where their writer ended them; other controls are not drawn. */
const clean = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n?/g, "\n")
    .replace(/\t/g, "    ")
    .replace(/[\u0085\u2028\u2029\v\f]/g, "\n")
    .replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, "")

/** Never empty: pdfmake sets an empty text as an empty line, as it should be. */
export const inlines = (drawing: Drawing, runs: ReadonlyArray<Run>): Array<Inline> => {
  const cleaned = runs.map((run) => ({ ...run, text: clean(run.text) }))
  const whole = cleaned.map(({ text }) => text).join("")
  const direction =
    drawing.is_rtl || hasRightToLeft(whole) ? directionOf(whole, hasRightToLeft(whole) ? "auto" : "ltr") : undefined
  let at = 0
  const made = cleaned.flatMap(({ bold, italic, link, text }) => {
    const shown = direction === undefined ? text : direction.text.slice(at, at + text.length)
    const levels = direction?.levels.subarray(at, at + text.length)
    const start = at
    at += text.length
    return pieces(drawing.families, shown, levels).map(({ at: offset, family, level, text: part }) => ({
      text: part,
      font: family,
      ...(direction === undefined ? {} : { level, base: direction.baseAt(start + offset) }),
      ...(bold === true ? { bold } : {}),
      ...(italic === true ? { italics: true } : {}),
      ...(link === undefined ? {} : { link, color: drawing.accent, decoration: "underline" as const })
    }))
  })
  return made.length === 0 ? [{ text: "", font: drawing.families[0]?.name ?? "Roboto" }] : made
}
export const inlineText = (drawing: Drawing, text: string): Array<Inline> => inlines(drawing, [{ text }])

export const alignmentOf = (drawing: Drawing, alignment: Alignment | undefined): "left" | "center" | "right" =>
  alignment === "center" ? "center" : (alignment === "end") === drawing.is_rtl ? "left" : "right"
