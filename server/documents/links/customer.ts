/** Recipient of a document's mail. */
import { Effect } from "effect"
import { billingTypeIds, chosenContact } from "../../../core/billing/state/parties.ts"
import { credit_notes, invoices } from "../../../core/billing/state/tables.ts"
import type { DocumentRow } from "../../../core/documents/schema.ts"
import type { StoreRead } from "../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { emails } from "../../../core/people/members/schema.ts"
import { opportunities } from "../../../core/orders/opportunities/tables/opportunities.ts"
import { purchase_orders } from "../../../core/purchasing/schema.ts"

const memberOf = ({ documentable_id, documentable_type }: DocumentRow): StoreRead<number | null | undefined> =>
  Effect.gen(function* () {
    switch (documentable_type) {
      case "Opportunity":
        return (yield* Store.get(opportunities, documentable_id))?.member_id
      case "Invoice":
        return (yield* Store.get(invoices, documentable_id))?.member_id
      case "CreditNote": {
        const note = yield* Store.get(credit_notes, documentable_id)
        return note === undefined ? undefined : (yield* Store.get(invoices, note.invoice_id))?.member_id
      }
      case "PurchaseOrder":
        return (yield* Store.get(purchase_orders, documentable_id))?.supplier_id
    }
  })
/** Bills go where bills go; everything else to the primary address, else the first. */
export const customerOf = (document: DocumentRow): StoreRead<string | undefined> =>
  Effect.gen(function* () {
    const member_id = yield* memberOf(document)
    if (member_id === null || member_id === undefined) return undefined
    const rows = yield* Store.find(emails, { member_id }, { order: ["id"] })
    const is_bill = document.documentable_type === "Invoice" || document.documentable_type === "CreditNote"
    return chosenContact(rows, is_bill ? yield* billingTypeIds : new Set())?.address
  })
