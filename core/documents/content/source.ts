/** What a document is asked for with, and what is prepared of it. */
import type { PrintDocument } from "../../print/blocks.ts"
import type { DocumentType } from "../types.ts"

export interface DocumentSource {
  readonly document_type: DocumentType
  readonly documentable_id: number
  /** Whose branding and texts; null: the source's own store's. */
  readonly store_id: number | null
  /** Null while it is pending. */
  readonly document_number: string | null
  /** What dates the document. */
  readonly now: string
}
export interface PreparedDocument {
  /** Texts with fields (Liquid) to be filled with `data`, by their place; empty where there are none. */
  readonly fragments: { readonly [place: string]: string }
  readonly data: object
  /**
   * `filled`: the texts of `fragments`, as filled. One that is missing leaves its place to what a document says without
   * a text of its own: where texts cannot be filled, `compose({})` still gives a right document.
   */
  readonly compose: (filled: { readonly [place: string]: string }) => PrintDocument
  /** Of a mail that carries it: its texts with fields, filled with `data` too, and what it says without them. */
  readonly mail?: {
    readonly fragments: { readonly mail_subject?: string; readonly mail_text?: string }
    readonly plain: { readonly subject: string; readonly text: string }
  }
  /** Without its ending: `quotation-0000000012`. Plain signs only. */
  readonly file_name: string
}
