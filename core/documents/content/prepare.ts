/**
 * What a document says, read from the store: by the server and, of papers of the warehouse, by devices as well. Reading
 * gives facts, texts with fields are filled in between (that needs a thread of its own), and `compose` is pure.
 */
import { Effect } from "effect"
import type { Failure } from "../../kernel/failure.ts"
import type { Settings } from "../../kernel/settings.ts"
import type { Store } from "../../kernel/store/store.ts"
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
  /** `filled`: the texts of `fragments`, as filled. */
  readonly compose: (filled: { readonly [place: string]: string }) => PrintDocument
  /** Without its ending: `quotation-0000000012`. Plain signs only. */
  readonly file_name: string
}

/** Undefined where the source is gone or the type does not fit it. */
export const prepareDocument = (
  _source: DocumentSource,
  _settings: Settings
): Effect.Effect<PreparedDocument | undefined, Failure, Store> => Effect.succeed(undefined)
