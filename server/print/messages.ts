/** What the server and its drawing threads tell each other. */
import type { PrintDocument } from "../../core/print/blocks.ts"
import type { PictureData } from "../../core/print/picture.ts"

/** A font of the store's own, as TTF or OTF. */
export interface StoreFont {
  /** As people know it, for messages. */
  readonly name: string
  readonly normal: Uint8Array
  readonly bold?: Uint8Array
  readonly italic?: Uint8Array
  /** `first`: all text is set in it. `missing`: only characters that the others do not have (Chinese, Thai). */
  readonly use: "first" | "missing"
}

export interface PdfTask {
  readonly kind: "pdf"
  readonly document: PrintDocument
  readonly fonts: ReadonlyArray<StoreFont>
  /** Checked, by their hash. */
  readonly pictures: ReadonlyMap<string, PictureData>
  /** The invoice as CII, to be carried in the file (Factur-X). */
  readonly carried_xml?: string
}
/** Texts with fields in Liquid, by name. */
export interface TextsTask {
  readonly kind: "texts"
  readonly fragments: { readonly [name: string]: string }
  readonly data: object
}
/** Reads texts without filling them. */
export interface FieldsTask {
  readonly kind: "fields"
  readonly fragments: { readonly [name: string]: string }
}
export type Task = PdfTask | TextsTask | FieldsTask

export interface Asked {
  readonly id: number
  readonly task: Task
}
/** What is wrong with a text, and where; lines and columns from 1. */
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
  /** The thread did its work and found the task wrong. */
  | { readonly kind: "refused"; readonly message: string; readonly faults?: ReadonlyArray<TextFault> }
/** `started` once what the task needs is loaded: from then on it is timed. */
export type Said =
  | { readonly kind: "started"; readonly id: number }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer }
