/** Types for the parts we use of libraries without types, or with unsuitable ones. */
declare module "fontkit" {
  interface Font {
    readonly hasGlyphForCodePoint: (code_point: number) => boolean
  }
  /** Parses a font; throws if the bytes are no font. */
  export const create: (bytes: Uint8Array) => Font | { readonly fonts: ReadonlyArray<Font> }
}
/** Its own types would declare browser globals for all source files. */
declare module "pdfmake" {
  type Sides = [left: number, top: number, right: number, bottom: number]
  interface Look {
    bold?: boolean
    color?: string
    font?: string
    fontSize?: number
    lineHeight?: number
    alignment?: "left" | "center" | "right"
    margin?: Sides
    pageBreak?: "after"
    unbreakable?: boolean
  }
  interface Line {
    type: "line"
    x1: number
    y1: number
    x2: number
    y2: number
    lineWidth: number
    lineColor: string
  }
  interface ContentText extends Look {
    text: string | Array<import("./direction.ts").Inline>
  }
  interface ContentStack extends Look {
    stack: Array<Content>
  }
  interface ContentColumns extends Look {
    columns: Array<Column>
    columnGap?: number
  }
  interface ContentImage extends Look {
    image: string
    fit: [width: number, height: number]
  }
  interface ContentSvg extends Look {
    svg: string
    fit?: [width: number, height: number]
    width?: number
    height?: number
    options?: object
  }
  interface ContentCanvas extends Look {
    canvas: Array<Line>
  }
  export interface CustomTableLayout {
    hLineWidth: (line: number) => number
    hLineColor: (line: number) => string
    vLineWidth: (line: number) => number
    paddingLeft: () => number
    paddingRight: () => number
    paddingTop: () => number
    paddingBottom: () => number
  }
  export interface ContentTable extends Look {
    table: {
      headerRows?: number
      keepWithHeaderRows?: number
      dontBreakRows: boolean
      widths: Array<number>
      body: Array<Array<TableCell>>
    }
    layout: CustomTableLayout
  }
  export type Content =
    | ContentText
    | ContentStack
    | ContentColumns
    | ContentImage
    | ContentSvg
    | ContentCanvas
    | ContentTable
  export type Column = Content & { width?: number | "auto" | "*" }
  export type TableCell = Content & { colSpan?: number; fillColor?: string }
  /** A file to attach; its source is a data URL. */
  export interface Attachment {
    src: string
    name: string
    type: string
    description: string
    relationship: "Alternative"
    creationDate: Date
    modifiedDate: Date
  }
  export interface TDocumentDefinitions {
    pageSize: { width: number; height: number }
    pageMargins: Sides
    content: Array<Content>
    images: { [name: string]: string }
    defaultStyle: Look
    language: string
    displayTitle: boolean
    version: string
    subset?: "PDF/A-3b"
    files?: { [name: string]: Attachment }
    info: { title: string; author?: string; creator: string; producer: string; creationDate: Date; modDate: Date }
    header?: () => Content
    footer: (current: number, pages: number) => Content
    watermark?: { text: string; color: string; opacity: number; bold: boolean; font: string; fontSize: number }
  }
  interface Pdfmake {
    readonly setLocalAccessPolicy: (may: (path: string) => boolean) => void
    readonly setUrlAccessPolicy: (may: (url: string) => boolean) => void
    readonly setFonts: (fonts: { readonly [family: string]: { readonly [face: string]: string } }) => void
    readonly createPdf: (definition: TDocumentDefinitions) => {
      /** The PDFKit document, before its end. */
      readonly getStream: () => Promise<object>
      readonly getBuffer: () => Promise<Buffer>
    }
  }
  const exported: Pdfmake
  export default exported
}
/** pdfmake's class that draws lines after layout. */
declare module "pdfmake/js/Renderer.js" {
  interface DrawnLine {
    readonly inlines: ReadonlyArray<import("./direction.ts").Word>
  }
  export interface StructureElement {
    readonly add: (child: StructureElement | StructureContent) => void
  }
  type StructureContent = { readonly __content: never }
  /** PDFKit's document, which draws texts of SVGs in fonts by name. */
  export interface PdfDocument {
    readonly page: { readonly height: number }
    readonly registerFont: (name: string, bytes: Buffer) => void
    readonly markContent: (tag: "Artifact", options: { readonly type: "Layout" | "Pagination" }) => void
    readonly markStructureContent: (tag: string) => StructureContent
    readonly endMarkedContent: () => void
    readonly struct: (tag: string) => StructureElement
    readonly addStructure: (root: StructureElement) => void
  }
  interface Drawer {
    readonly pdfDocument: PdfDocument
  }
  const exported: {
    readonly default: {
      readonly prototype: {
        renderLine: (this: Drawer, line: DrawnLine, x: number, y: number) => void
        renderSVG: (this: Drawer, drawing: object) => void
        renderVector: (this: Drawer, drawing: object) => void
        renderImage: (this: Drawer, drawing: object) => void
        renderWatermark: (this: Drawer, page: object) => void
      }
    }
  }
  export default exported
}
/** Its own types do not match how Node imports it. */
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
/** pdfmake's virtual folder, searched for fonts before the disk. */
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
