/**
 * What a document says, read from the store: by the server and, of papers of the warehouse, by devices as well. Reading
 * gives facts, texts with fields are filled in between (that needs a thread of its own), and `compose` is pure.
 */
import { Effect } from "effect"
import type { Failure } from "../../kernel/failure.ts"
import type { Settings } from "../../kernel/settings.ts"
import type { Store } from "../../kernel/store/store.ts"
import type { DocumentSource, PreparedDocument } from "./source.ts"
import { warehousePaper } from "./warehouse.ts"

export type { DocumentSource, PreparedDocument } from "./source.ts"

/** Undefined where the source is gone or the type does not fit it. */
export const prepareDocument = (
  source: DocumentSource,
  settings: Settings
): Effect.Effect<PreparedDocument | undefined, Failure, Store> => {
  switch (source.document_type) {
    case "pick_list":
    case "delivery_note":
    case "return_note":
      return warehousePaper(source, settings)
    default:
      return Effect.succeed(undefined)
  }
}
