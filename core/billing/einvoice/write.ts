/** What an e-invoice says, as text (rules/billing 1.7). Loaded when one is asked for. */
import { Effect, Result } from "effect"
import type { Failure } from "../../kernel/failure.ts"
import { invalidField } from "../../kernel/rejection.ts"
import type { Settings } from "../../kernel/settings.ts"
import type { Store } from "../../kernel/store/store.ts"
import { type CreditNoteRow, type InvoiceRow } from "../schema.ts"
import { eInvoice } from "./build.ts"
import { ciiText } from "./cii.ts"
import { creditNoteSource, invoiceSource, type Reading } from "./facts.ts"
import type { EInvoiceForm } from "./model.ts"
import type { Source } from "./source.ts"
import { ublText } from "./ubl.ts"

const writers = { ubl: ublText, cii: ciiText }

/** As issued; where that lacks something, with what has been filled in since: else nothing could be mended. */
const textOf = Effect.fnUntraced(function* (
  sourceOf: (reading: Reading) => Effect.Effect<Source, Failure, Store>,
  settings: Settings,
  form: EInvoiceForm
) {
  const issued = eInvoice(yield* sourceOf({ settings, is_mended: false }), form)
  const made = Result.isSuccess(issued) ? issued : eInvoice(yield* sourceOf({ settings, is_mended: true }), form)
  return writers[form](yield* Effect.fromResult(made))
})
const without_number = invalidField("number", "It has no number yet: sync first, the server gives it.")

/** The invoice as XML; refused for drafts, voids and proformas, and where something is missing. */
export const invoiceXml = Effect.fnUntraced(function* (invoice: InvoiceRow, settings: Settings, form: EInvoiceForm) {
  if (invoice.type === "proforma")
    return yield* invalidField("type", "A proforma is no invoice, so there is no e-invoice of it.")
  if (invoice.status === "draft") return yield* invalidField("status", "A draft is no invoice yet: issue it first.")
  if (invoice.status === "voided") return yield* invalidField("status", "The invoice was voided.")
  if (invoice.number === null) return yield* without_number
  return yield* textOf((reading) => invoiceSource(invoice, reading), settings, form)
})
export const creditNoteXml = Effect.fnUntraced(function* (note: CreditNoteRow, settings: Settings, form: EInvoiceForm) {
  if (note.number === null) return yield* without_number
  return yield* textOf((reading) => creditNoteSource(note, reading), settings, form)
})
