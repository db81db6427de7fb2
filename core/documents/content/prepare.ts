/**
 * Prepares documents: reads facts, then texts with fields are rendered in a separate thread, and `compose` is pure.
 * Used by the server and, for documents of opportunities, by devices.
 */
import { Effect } from "effect"
import { paperOptions } from "../../billing/paper/document.ts"
import { buyerOf, nobody, sellerOf } from "../../billing/state/parties.ts"
import type { NamedParty } from "../../billing/state/tables.ts"
import { settingText, Store, type Failure, type Settings } from "../../kernel/index.ts"
import { members } from "../../people/members/schema.ts"
import { opportunities, opportunity_items, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { chargeableDays } from "../../pricing/pricing/line.ts"
import type { PrintDocument } from "../../pricing/print/blocks.ts"
import { brandOf, fragmentsOf, text_places } from "../brand.ts"
import { dataOf, type WarehouseFieldFacts, warehouseGroups } from "./shared-fields.ts"
import { placesOf } from "./sales-table.ts"
import { type DocumentSource, prepareCreditNote, type PreparedDocument, prepareInvoice } from "./invoices.ts"
import { warehousePaper } from "./warehouse.ts"
import type { DocumentType } from "../schema.ts"
import { preparePurchase } from "./purchase.ts"
import { prepareSales } from "./sales.ts"

// Warehouse documents with a layout's texts and branding.

/** Facts for the fields in a layout's texts; not called for a layout without texts. */
const fieldFacts = Effect.fnUntraced(function* (
  source: DocumentSource,
  header: OpportunityRow,
  settings: Settings
): Store.Reads<WarehouseFieldFacts> {
  const { member_id, venue_id } = header
  const people = yield* Store.getMany(
    members,
    [member_id, venue_id].filter((id) => id !== null)
  )
  const named = (id: number | null) => people.find((one) => one.id === id)
  const seller = yield* sellerOf(source.store_id ?? header.store_id, settings)
  const buyer: NamedParty | null = member_id === null ? null : yield* buyerOf(member_id)
  const lines = yield* Store.find(
    opportunity_items,
    { opportunity_id: header.id, is_live: true, item_type: ["product", "accessory"] },
    { order: ["path", "id"] }
  )
  return {
    header,
    seller,
    buyer: buyer ?? nobody,
    is_organisation: named(member_id)?.membership_type === "organisation",
    venue: named(venue_id)?.name ?? null,
    delivery_address: (yield* placesOf(header, seller.country_code)).delivery.join(", ") || null,
    rental_days: String(chargeableDays(header, header)),
    items: lines,
    website: settingText(settings, "company", "website") || null,
    document: {
      number: source.document_number,
      date: source.now,
      due_date: null,
      terms: settingText(settings, "invoicing", "terms").trim() || null,
      notes: header.external_description
    }
  }
})

const prepareWarehousePaper = Effect.fnUntraced(function* (
  source: DocumentSource,
  settings: Settings
): Store.Reads<PreparedDocument | undefined> {
  const paper = yield* warehousePaper(source, settings)
  const header = paper === undefined ? undefined : yield* Store.get(opportunities, source.documentable_id)
  if (paper === undefined || header === undefined) return paper
  const store_id = source.store_id ?? header.store_id
  const brand = yield* brandOf(source.document_type, store_id, settings)
  const fragments = fragmentsOf(brand, text_places)
  const { accent, page_size } = brand.layout
  const looked = (document: PrintDocument): PrintDocument => ({
    ...document,
    ...(accent == null ? {} : { accent }),
    page: page_size == null ? document.page : { ...document.page, size: page_size }
  })
  const branded: PreparedDocument = { ...paper, compose: (filled) => looked(paper.compose(filled)) }
  if (Object.keys(fragments).length === 0) return branded
  const { language, zone } = yield* paperOptions({ member_id: header.member_id, store_id }, settings)
  const facts = yield* fieldFacts(source, header, settings)
  const written = { language, zone, currency: header.currency_code }
  return { ...branded, fragments, data: dataOf(warehouseGroups, facts, written) }
})

export type { DocumentSource, PreparedDocument } from "./invoices.ts"

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
/** Prepares a document; undefined if its source is gone or does not fit the type. */
export const prepareDocument: Prepare = (source, settings) => prepare_by_type[source.document_type](source, settings)
