/** The parts we use of libraries that come without types. */
declare module "fontkit" {
  interface Font {
    readonly hasGlyphForCodePoint: (code_point: number) => boolean
  }
  /** Throws when the bytes are no font. */
  export const create: (bytes: Uint8Array) => Font | { readonly fonts: ReadonlyArray<Font> }
}
/** What draws the lines that pdfmake has laid out. */
declare module "pdfmake/js/Renderer.js" {
  interface DrawnLine {
    readonly inlines: ReadonlyArray<import("./direction.ts").Word>
  }
  const exported: {
    readonly default: {
      readonly prototype: {
        renderLine: (line: DrawnLine, x: number, y: number) => void
        /** The document is PDFKit's: it draws the texts of an SVG with fonts it knows by name. */
        renderSVG: (
          this: { readonly pdfDocument: { readonly registerFont: (name: string, bytes: Buffer) => void } },
          drawing: object
        ) => void
      }
    }
  }
  export default exported
}
/** Its own types do not fit how Node imports it. */
declare module "bidi-js" {
  interface Levels {
    readonly levels: Uint8Array
    readonly paragraphs: ReadonlyArray<{ readonly start: number; readonly end: number; readonly level: number }>
  }
  interface Bidi {
    readonly getEmbeddingLevels: (text: string, base: "ltr" | "rtl" | "auto") => Levels
    readonly getMirroredCharactersMap: (text: string, levels: Uint8Array) => ReadonlyMap<number, string>
  }
  export default function bidiFactory(): Bidi
}
/** Where pdfmake looks for fonts before it looks at the disk. */
declare module "pdfmake/js/virtual-fs.js" {
  const exported: {
    readonly default: {
      readonly existsSync: (name: string) => boolean
      readonly writeFileSync: (name: string, bytes: Buffer) => void
      readonly readFileSync: (name: string) => Buffer
    }
  }
  export default exported
}
