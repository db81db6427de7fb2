/**
 * Text from right to left. pdfmake breaks lines well but sets their words from left to right; here text is cut where
 * its direction changes (Unicode's bidirectional algorithm), and the words of a line are put where they belong.
 */
import bidiFactory from "bidi-js"

let bidi: ReturnType<typeof bidiFactory> | undefined

/** Letters written from right to left; text without them needs none of this. */
const from_right = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
export const hasRightToLeft = (text: string): boolean => from_right.test(text)

export interface Directed {
  readonly text: string
  /** Even from left to right, odd from right to left. */
  readonly level: number
}
export interface Paragraph {
  /** Of the paragraph that holds a unit of the text: 0 from left to right, 1 from right to left. */
  readonly baseAt: (at: number) => number
  /** For each UTF-16 unit of the text. */
  readonly levels: Uint8Array
  /** With brackets mirrored where they are read from right to left. */
  readonly text: string
}

/** The levels of a paragraph; its direction follows its first letter that has one. */
export const directionOf = (text: string, base: "ltr" | "rtl" | "auto" = "auto"): Paragraph => {
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

/** A word that pdfmake has set on a line, with what {@link directionOf} said of it. */
export interface Word {
  text: string
  x: number
  width: number
  trailingCut?: number
  leadingCut?: number
  /** Our own properties, which pdfmake copies from the text to its words. */
  readonly level?: number
  readonly base?: number
  turned?: boolean
}

/** Puts the words of one line where they belong. Doing it again changes nothing. */
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

/** Spaces at the ends of a line take no room; within a word read from the right they would, on its other side. */
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
/** Fonts turn round what has letters; signs alone ("- ") are turned here. */
const turnSigns = (word: Word): void => {
  if (word.turned === true || (word.level ?? 0) % 2 === 0 || hasRightToLeft(word.text)) return
  word.text = [...word.text].reverse().join("")
  word.turned = true
}
/** From the highest level down to the lowest odd one, each row of words at or above it is reversed (rule L2). */
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
