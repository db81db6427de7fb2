/** What a quotation or order confirmation is drawn from: a fixed number of queries, whatever the number of lines. */
import { Effect } from "effect"
import { chargedSource, depositsOf } from "../../billing/checkout/facts.ts"
import { billedRows } from "../../billing/checkout/rows.ts"
import type { Deposit } from "../../billing/checkout/deposits.ts"
import { addressLines } from "../../billing/paper/letter.ts"
import { nobody } from "../../billing/paper/facts.ts"
import { buyerOf, sellerOf } from "../../billing/parties.ts"
import type { NamedParty } from "../../billing/schema.ts"
import type { Failure } from "../../kernel/failure.ts"
import { type Settings, settingText } from "../../kernel/settings.ts"
import { Store } from "../../kernel/store/store.ts"
import type { RowOf } from "../../kernel/table.ts"
import { addresses, members } from "../../members/schema.ts"
import type { OpportunityRow } from "../../opportunities/schema.ts"
import { opportunity_versions, type VersionRow } from "../../opportunities/versions/schema.ts"
import { chargeableDays } from "../../pricing/line.ts"
import { countries } from "../../reference-data/countries.ts"
import type { SalesSource } from "./sales-table.ts"
import type { CommonFacts, CustomerFacts, PricedJobFacts } from "./shared-fields.ts"
import type { DocumentSource } from "./source.ts"

export interface SalesFacts extends SalesSource, CommonFacts, CustomerFacts, PricedJobFacts {
  readonly source: DocumentSource
  readonly version: VersionRow | undefined
  readonly deposits: ReadonlyArray<Deposit>
  /** Lines of the address; empty where there is none. */
  readonly delivery: ReadonlyArray<string>
  readonly collection: ReadonlyArray<string>
}

/** Addresses by their ids, and the first of the venue's, each as lines. */
export const placesOf = Effect.fnUntraced(function* (
  { collection_address_id, delivery_address_id, venue_id }: OpportunityRow,
  home: string | null
): Effect.fn.Return<
  { readonly delivery: ReadonlyArray<string>; readonly collection: ReadonlyArray<string> },
  Failure,
  Store
> {
  const store = yield* Store
  const named = yield* store.getMany(
    addresses,
    [delivery_address_id, collection_address_id].filter((id) => id !== null)
  )
  const of_venue = venue_id === null ? [] : yield* store.find(addresses, { member_id: venue_id }, { order: ["id"] })
  const at_venue = of_venue.find(({ is_primary }) => is_primary) ?? of_venue[0]
  const codes = new Map(
    (yield* store.getMany(
      countries,
      [...named, ...of_venue].flatMap(({ country_id }) => country_id ?? [])
    )).map(({ code, id }) => [id, code])
  )
  const linesOf = (address: RowOf<typeof addresses> | undefined): ReadonlyArray<string> =>
    address === undefined
      ? []
      : addressLines({ ...address, country_code: codes.get(address.country_id ?? 0) ?? null }, home)
  const byId = (id: number | null) => named.find((one) => one.id === id)
  return {
    delivery: linesOf(byId(delivery_address_id) ?? at_venue),
    collection: linesOf(byId(collection_address_id) ?? byId(delivery_address_id) ?? at_venue)
  }
})

export const salesFacts = Effect.fnUntraced(function* (
  source: DocumentSource,
  header: OpportunityRow,
  settings: Settings
): Effect.fn.Return<SalesFacts, Failure, Store> {
  const store = yield* Store
  const { member_id, venue_id } = header
  const [member, venue] = yield* membersOf([member_id, venue_id])
  const charged = yield* chargedSource(header, member?.sale_tax_class_id ?? null)
  const version =
    header.active_version_id === 0 ? undefined : yield* store.get(opportunity_versions, header.active_version_id)
  const seller = yield* sellerOf(source.store_id ?? header.store_id, settings)
  const buyer: NamedParty | null = member_id === null ? null : yield* buyerOf(member_id)
  const places = yield* placesOf(header, seller.country_code)
  return {
    source,
    header,
    version,
    lines: charged.lines,
    costs: charged.costs,
    billed: billedRows(charged, { id: 0, currency_code: header.currency_code }),
    totals: charged.totals,
    deposits: yield* depositsOf(header),
    seller,
    buyer: buyer ?? nobody,
    is_organisation: member?.membership_type === "organisation",
    venue: venue?.name ?? null,
    ...places,
    delivery_address: places.delivery.join(", ") || null,
    rental_days: String(chargeableDays(header, header)),
    website: settingText(settings, "company", "website") || null,
    document: {
      number: source.document_number,
      date: source.now,
      due_date: header.quote_invalid_at,
      terms: settingText(settings, "invoicing", "terms").trim() || null,
      notes: header.external_description
    }
  }
})

const membersOf = Effect.fnUntraced(function* (ids: ReadonlyArray<number | null>) {
  const found = yield* (yield* Store).getMany(
    members,
    ids.filter((id) => id !== null)
  )
  return ids.map((id) => found.find((one) => one.id === id))
})
