/**
 * Chooses a font per character: the store's first font if it has one, Roboto, DejaVu Sans (Arabic, Hebrew, symbols),
 * then the store's other fonts. Characters that none has, such as emoji, are shown as an empty box.
 */
import type { PrintDocument } from "../../core/pricing/print/blocks.ts"
import type { PictureData } from "../../core/pricing/print/picture.ts"
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliDecompressSync } from "node:zlib"
import { create } from "fontkit"

// Messages between the server and its drawing threads.

/** A store's own font, as TTF or OTF. */
export interface StoreFont {
  readonly name: string
  readonly normal: Uint8Array
  readonly bold?: Uint8Array
  readonly italic?: Uint8Array
  /** `first`: preferred for all text; `missing`: only for characters that other fonts lack (Chinese, Thai). */
  readonly use: "first" | "missing"
}

export interface PdfTask {
  readonly kind: "pdf"
  readonly document: PrintDocument
  readonly fonts: ReadonlyArray<StoreFont>
  /** Validated pictures by SHA-256; embedded ones by their base64. */
  readonly pictures: ReadonlyMap<string, PictureData>
  /** Invoice as CII XML to embed in the file (Factur-X). */
  readonly carried_xml?: string
}
/** Fills in texts with Liquid fields, by name. */
interface TextsTask {
  readonly kind: "texts"
  readonly fragments: { readonly [name: string]: string }
  readonly data: object
}
/** Finds the fields of texts without filling them in. */
interface FieldsTask {
  readonly kind: "fields"
  readonly fragments: { readonly [name: string]: string }
}
export type Task = PdfTask | TextsTask | FieldsTask

export interface Asked {
  readonly id: number
  readonly task: Task
}
/** A fault in a text and its position; lines and columns count from 1. */
export interface TextFault {
  readonly name: string
  readonly message: string
  readonly line: number | undefined
  readonly column: number | undefined
}
export type Answer =
  | { readonly kind: "pdf"; readonly bytes: Uint8Array; readonly pages: number }
  | { readonly kind: "texts"; readonly texts: { readonly [name: string]: string } }
  | { readonly kind: "fields"; readonly fields: { readonly [name: string]: ReadonlyArray<string> } }
  /** The task itself is invalid. */
  | { readonly kind: "refused"; readonly message: string; readonly faults?: ReadonlyArray<TextFault> }
/** Messages of a thread. `started`: the task's libraries are loaded and its time limit begins. */
export type Said =
  | { readonly kind: "started"; readonly id: number }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer }

interface Faces {
  readonly normal: string
  readonly bold: string
  readonly italics: string
  readonly bolditalics: string
}
/** A font family for pdfmake; its faces are files in the virtual folder. */
export interface Family {
  readonly name: string
  readonly faces: Faces
  readonly has: (code_point: number) => boolean
}

const own = {
  Roboto: {
    normal: "Roboto-Regular.ttf",
    bold: "Roboto-Medium.ttf",
    italics: "Roboto-Italic.ttf",
    bolditalics: "Roboto-Medium.ttf"
  },
  DejaVu: {
    normal: "DejaVuSans.ttf",
    bold: "DejaVuSans-Bold.ttf",
    italics: "DejaVuSans.ttf",
    bolditalics: "DejaVuSans-Bold.ttf"
  }
} as const satisfies { readonly [family: string]: Faces }

/** A font's bytes: compressed in `fonts/` next to the bundled program, else from its package. */
const readFont = (name: string): Buffer => {
  const here = dirname(fileURLToPath(import.meta.url))
  const bundled = join(here, "fonts", `${name}.br`)
  if (existsSync(bundled)) return brotliDecompressSync(readFileSync(bundled))
  const { resolve } = createRequire(import.meta.url)
  return readFileSync(
    name.startsWith("Roboto")
      ? join(dirname(resolve("pdfmake/package.json")), "fonts/Roboto", name)
      : join(dirname(resolve("dejavu-fonts-ttf/package.json")), "ttf", name)
  )
}

const loaded = new Map<string, Buffer>()
const bytesOf = (name: string): Buffer => {
  const bytes = loaded.get(name) ?? readFont(name)
  loaded.set(name, bytes)
  return bytes
}

/** pdfmake's virtual folder of fonts. */
interface FontFolder {
  readonly existsSync: (name: string) => boolean
  readonly writeFileSync: (name: string, bytes: Buffer) => void
}

/** Returns whether a font has a character; fontkit is asked once per character. */
const coverage = (open: () => { readonly hasGlyphForCodePoint: (code_point: number) => boolean }) => {
  const known = new Map<number, boolean>()
  let font: ReturnType<typeof open> | undefined
  return (code_point: number): boolean => {
    const before = known.get(code_point)
    if (before !== undefined) return before
    font ??= open()
    const has = font.hasGlyphForCodePoint(code_point)
    known.set(code_point, has)
    return has
  }
}
const opened = (bytes: Buffer) => {
  const font = create(bytes)
  if (!("hasGlyphForCodePoint" in font)) throw new Error("the file holds several fonts")
  return font
}

let own_families: ReadonlyArray<Family> | undefined
const ownFamilies = (folder: FontFolder): ReadonlyArray<Family> => {
  own_families ??= Object.entries(own).map(([name, faces]) => {
    for (const face of Object.values(faces)) if (!folder.existsSync(face)) folder.writeFileSync(face, bytesOf(face))
    return { name, faces, has: coverage(() => opened(bytesOf(faces.normal))) }
  })
  return own_families
}

/** Error of a font that cannot be used, with the reason. */
export class UnusableFont extends Error {}

const storeFamily = (folder: FontFolder, font: StoreFont, at: number): Family => {
  const write = (face: string, bytes: Uint8Array): string => {
    const name = `store-${at}-${face}`
    folder.writeFileSync(name, Buffer.from(bytes))
    return name
  }
  const normal = write("normal", font.normal)
  try {
    const bytes = Buffer.from(font.normal)
    const kit = opened(bytes)
    return {
      name: `store-${at}`,
      faces: {
        normal,
        bold: font.bold === undefined ? normal : write("bold", font.bold),
        italics: font.italic === undefined ? normal : write("italics", font.italic),
        bolditalics: font.bold === undefined ? normal : write("bold", font.bold)
      },
      has: coverage(() => kit)
    }
  } catch (cause) {
    throw new UnusableFont(
      `The font ${font.name} cannot be used: ${cause instanceof Error ? cause.message : "damaged"}.`
    )
  }
}

/** Font families of a document in order of preference: each character is drawn in the first that has it. */
export const familiesFor = (folder: FontFolder, fonts: ReadonlyArray<StoreFont>): ReadonlyArray<Family> => {
  const given = fonts.map((font, at) => ({ font, family: storeFamily(folder, font, at) }))
  return [
    ...given.filter(({ font }) => font.use === "first").map(({ family }) => family),
    ...ownFamilies(folder),
    ...given.filter(({ font }) => font.use !== "first").map(({ family }) => family)
  ]
}

const box = "\u25a1"
/** Characters that join or change the preceding one. */
const joins = /^[\p{M}\u200c\u200d]$/u
/** Characters that are invisible alone: variation selectors, joiners, direction marks. */
const unseen = /^[\p{Cf}\p{Variation_Selector}]$/u

export interface Piece {
  readonly text: string
  readonly family: string
  readonly level: number
  /** Index in the text. */
  readonly at: number
}
/** Splits text where its font or level changes (`levels`: one per UTF-16 unit). */
export const pieces = (families: ReadonlyArray<Family>, text: string, levels?: Uint8Array): ReadonlyArray<Piece> => {
  const made: Array<{ text: string; family: string; level: number; at: number }> = []
  const [first] = families
  if (first === undefined) return made
  let next = 0
  for (const character of text) {
    const at = next
    const level = levels?.[at] ?? 0
    next += character.length
    const joiner = character === "\u200c" || character === "\u200d"
    if (!joiner && unseen.test(character)) continue
    const last = made.at(-1)
    if (last !== undefined && joins.test(character)) {
      last.text += joinedTo(families, last.family, character)
      continue
    }
    // A space does not start a new piece: it joins the preceding word.
    if (last !== undefined && last.level === level && /\s/.test(character)) {
      last.text += character
      continue
    }
    const { family, sign } = fontFor(families, first, character)
    if (last !== undefined && last.family === family && last.level === level) last.text += sign
    else made.push({ text: sign, family, level, at })
  }
  return made
}
/** The character if the family has it, else nothing. */
const joinedTo = (families: ReadonlyArray<Family>, family: string, character: string): string =>
  families.find(({ name }) => name === family)?.has(character.codePointAt(0) ?? 0) === true ? character : ""
const fontFor = (
  families: ReadonlyArray<Family>,
  first: Family,
  character: string
): { readonly family: string; readonly sign: string } => {
  if (/\s/.test(character)) return { family: first.name, sign: character }
  const code_point = character.codePointAt(0) ?? 0
  const family = families.find(({ has }) => has(code_point))
  if (family !== undefined) return { family: family.name, sign: character }
  const with_box = families.find(({ has }) => has(box.charCodeAt(0)))
  return { family: (with_box ?? first).name, sign: box }
}
