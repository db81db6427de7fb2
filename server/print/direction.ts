/**
 * Right-to-left text. pdfmake breaks lines correctly but places words left to right; here text is split where its
 * direction changes (Unicode's bidirectional algorithm), and the words of each line are reordered.
 */
import bidiFactory from "bidi-js"
import type { Alignment, Picture, Run } from "../../core/pricing/print/blocks.ts"
import type { PictureData } from "../../core/pricing/print/picture.ts"
import { type Family, type Piece, pieces } from "./fonts.ts"

let bidi: ReturnType<typeof bidiFactory> | undefined

/** Letters written right to left; text without them needs no reordering. */
const from_right = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
const hasRightToLeft = (text: string): boolean => from_right.test(text)

interface Paragraph {
  /** Base direction of the paragraph at a UTF-16 index: 0 left to right, 1 right to left. */
  readonly baseAt: (at: number) => number
  /** Embedding level of each UTF-16 unit. */
  readonly levels: Uint8Array
  /** The text with mirrored brackets in right-to-left parts. */
  readonly text: string
}

/** Embedding levels of a text. By default a paragraph has the direction of its first letter that has one. */
const directionOf = (text: string, base: "ltr" | "rtl" | "auto" = "auto"): Paragraph => {
  bidi ??= bidiFactory()
  const found = bidi.getEmbeddingLevels(text, base)
  const mirrored = bidi.getMirroredCharactersMap(text, found.levels)
  const signs = text.split("")
  for (const [at, sign] of mirrored) signs[at] = sign
  return {
    baseAt: (at) => found.paragraphs.find(({ end, start }) => at >= start && at <= end)?.level ?? 0,
    levels: found.levels,
    text: signs.join("")
  }
}

/** A word placed on a line by pdfmake, with its {@link directionOf}. */
interface Word {
  text: string
  x: number
  width: number
  trailingCut?: number
  leadingCut?: number
  /** Our own properties, which pdfmake copies from the text to its words. */
  readonly block?: Tag
  readonly level?: number
  readonly base?: number
  turned?: boolean
}

/** Reorders the words of a line in place. Repeating it changes nothing. */
export const placeWords = (words: ReadonlyArray<Word>): void => {
  if (words.length === 0 || !words.some(({ level }) => level !== undefined && level > 0)) return
  const base = words[0]?.base ?? 0
  dropOuterSpaces(words)
  for (const word of words) turnSigns(word)
  let x = 0
  for (const word of inVisualOrder(words, base)) {
    word.x = x
    x += word.width
  }
}

/** Removes spaces at the ends of a line: within right-to-left words they would take room on the wrong side. */
const dropOuterSpaces = (words: ReadonlyArray<Word>): void => {
  const first = words[0],
    last = words.at(-1)
  if (first !== undefined && first.leadingCut !== undefined && first.leadingCut > 0) {
    first.text = first.text.trimStart()
    first.width -= first.leadingCut
    first.leadingCut = 0
  }
  if (last !== undefined && last.trailingCut !== undefined && last.trailingCut > 0) {
    last.text = last.text.trimEnd()
    last.width -= last.trailingCut
    last.trailingCut = 0
  }
}
/** Reverses a right-to-left word without such letters ("- "); in others the font does so. */
const turnSigns = (word: Word): void => {
  if (word.turned === true || (word.level ?? 0) % 2 === 0 || hasRightToLeft(word.text)) return
  word.text = [...word.text].reverse().join("")
  word.turned = true
}
/** Reverses each run of words at or above a level, from the highest level to the lowest odd one (rule L2). */
const inVisualOrder = (words: ReadonlyArray<Word>, base: number): ReadonlyArray<Word> => {
  const levelOf = (word: Word): number => word.level ?? base
  const order = [...words]
  for (let level = Math.max(...words.map(levelOf)); level > 0; level--) {
    for (let start = 0; start < order.length;) {
      const word = order[start]
      if (word === undefined || levelOf(word) < level) {
        start++
        continue
      }
      let end = start
      for (let next = order[end]; next !== undefined && levelOf(next) >= level; next = order[end]) end++
      order.splice(start, end - start, ...order.slice(start, end).reverse())
      start = end
    }
  }
  return order
}

// Splits text into pdfmake's runs, each with one font and one direction.

/** State shared by the parts of a document while it is converted to pdfmake's definition. */
export interface Drawing {
  readonly families: ReadonlyArray<Family>
  readonly is_rtl: boolean
  readonly accent: string
  /** Height available for blocks on a page, in points. */
  readonly page_height: number
  /** Content of pictures, by name in the definition. */
  readonly images: { [name: string]: string }
  readonly pictureOf: (picture: Picture) => PictureData
  /** A symbol as SVG, with the width and height of its `viewBox`. */
  readonly symbolOf: (
    symbology: "qr" | "code128",
    value: string
  ) => { readonly svg: string; readonly width: number; readonly height: number }
}

/** Tag of a text, by its name in the PDF standard. */
export interface Tag {
  readonly tag: "P" | "H1" | "H2" | "H3"
}
interface Inline {
  readonly text: string
  readonly font: string
  readonly level?: number
  readonly base?: number
  readonly bold?: boolean
  readonly italics?: boolean
  readonly link?: string
  readonly color?: string
  readonly decoration?: "underline"
  /** Block that a line belongs to: one per text (draw.ts). */
  readonly block?: Tag
}

/** Writes line ends as `\n` and tabs as four spaces; removes other control characters. */
const clean = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n?/g, "\n")
    .replace(/\t/g, "    ")
    .replace(/[\u0085\u2028\u2029\v\f]/g, "\n")
    .replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, "")

/** More than 500 characters without a space at which a line may end. */
const long_word = /[\S\u00a0\u2007\u202f\ufeff]{501}/u
const word_parts = /[\S\u00a0\u2007\u202f\ufeff]{1,500}[\p{M}\u200c\u200d]{0,20}|[^\S\u00a0\u2007\u202f\ufeff]+/gu
const begins_with_space = /^[^\S\u00a0\u2007\u202f\ufeff]/u
/** Splits long words, as pdfmake measures the rest of a word again for each line it breaks it into. */
const withoutLongWords = (piece: Piece): ReadonlyArray<Piece> => {
  if (!long_word.test(piece.text)) return [piece]
  const parts: Array<{ text: string; at: number }> = []
  for (const { 0: text, index } of piece.text.matchAll(word_parts)) {
    const last = parts.at(-1)
    if (last !== undefined && (begins_with_space.test(text) || last.text.length + text.length <= 500)) last.text += text
    else parts.push({ text, at: piece.at + index })
  }
  return parts.map((part) => ({ ...piece, ...part }))
}

/** Runs of a text. Never empty, as pdfmake needs an empty text for an empty line. */
export const inlines = (drawing: Drawing, runs: ReadonlyArray<Run>, tag: Tag["tag"] = "P"): Array<Inline> => {
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
    const short = pieces(drawing.families, shown, levels).flatMap(withoutLongWords)
    return short.map(({ at: offset, family, level, text: part }) => ({
      text: part,
      font: family,
      ...(direction === undefined ? {} : { level, base: direction.baseAt(start + offset) }),
      ...(bold === true ? { bold } : {}),
      ...(italic === true ? { italics: true } : {}),
      ...(link === undefined ? {} : { link, color: drawing.accent, decoration: "underline" as const })
    }))
  })
  if (made.length === 0) return [{ text: "", font: drawing.families[0]?.name ?? "Roboto" }]
  const block = { tag }
  return made.map((one) => ({ ...one, block }))
}
export const inlineText = (drawing: Drawing, text: string, tag?: Tag["tag"]): Array<Inline> =>
  inlines(drawing, [{ text }], tag)

export const alignmentOf = (drawing: Drawing, alignment: Alignment | undefined): "left" | "center" | "right" =>
  alignment === "center" ? "center" : (alignment === "end") === drawing.is_rtl ? "left" : "right"
