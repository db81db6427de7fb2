/**
 * What a document says, read from the store: by the server and, of papers of the warehouse, by devices as well. Reading
 * gives facts, texts with fields are filled in between (that needs a thread of its own), and `compose` is pure.
 */
import type { Effect } from "effect"
import type { Failure } from "../../kernel/failure.ts"
import type { Settings } from "../../kernel/settings.ts"
import type { Store } from "../../kernel/store/store.ts"
import type { DocumentType } from "../types.ts"
import { prepareCreditNote, prepareInvoice } from "./invoices.ts"
import { preparePurchase } from "./purchase.ts"
import { prepareSales } from "./sales.ts"
import type { DocumentSource, PreparedDocument } from "./source.ts"
import { prepareWarehousePaper } from "./warehouse-brand.ts"

export type { DocumentSource, PreparedDocument } from "./source.ts"

type Prepare = (
  source: DocumentSource,
  settings: Settings
) => Effect.Effect<PreparedDocument | undefined, Failure, Store>

const prepare_by_type: { readonly [T in DocumentType]: Prepare } = {
  quotation: prepareSales,
  order_confirmation: prepareSales,
  pick_list: prepareWarehousePaper,
  delivery_note: prepareWarehousePaper,
  return_note: prepareWarehousePaper,
  invoice: prepareInvoice,
  proforma_invoice: prepareInvoice,
  deposit_invoice: prepareInvoice,
  credit_note: prepareCreditNote,
  purchase_order: preparePurchase
}
/** Undefined where the source is gone or the type does not fit it. */
export const prepareDocument: Prepare = (source, settings) => prepare_by_type[source.document_type](source, settings)
