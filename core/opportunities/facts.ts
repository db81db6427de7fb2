/** Reading a deal and what must be known around it: a fixed number of queries, whatever the number of lines. */
import { Effect } from "effect"
import { booksForLines, type LineAtStore } from "../availability/lines-query.ts"
import { stockedProducts } from "../availability/load-products.ts"
import { type ClaimRow, claims } from "../claims/schema.ts"
import type { Fault } from "../kernel/endpoint.ts"
import { baseCurrency, type Settings } from "../kernel/settings.ts"
import { Store } from "../kernel/store/store.ts"
import { members } from "../members/schema.ts"
import type { TaxTable } from "../pricing/tax.ts"
import { products } from "../products/schema.ts"
import { discountFacts } from "../rates/discount-rules.ts"
import { rateFacts } from "../rates/facts.ts"
import { surchargeFacts } from "../rates/surcharge-groups.ts"
import { taxFacts } from "../registers/tax.ts"
import { stock_levels } from "../stock/schema.ts"
import { stores } from "../stores/stores.ts"
import { askedLines, claimSettings } from "./claims.ts"
import type { Customer, Deal, Holding, Known } from "./deal.ts"
import { asset_assignments, opportunity_costs, opportunity_items, opportunity_versions } from "./parts.ts"
import { opportunities, type OpportunityRow } from "./schema.ts"

export interface Wanted {
  /** Products beside those on the lines: of a line to be added or put in another's place. */
  readonly product_ids?: ReadonlyArray<number>
  /** Products whose rates may price a line. Rates are read for no others. */
  readonly rated?: ReadonlyArray<number>
  readonly level_ids?: ReadonlyArray<number>
  /** Nobody deletes its units or its store until the command is over: for moves that make it hold them again. */
  readonly hold?: boolean
  /** Read the stock the lines take from, to see whether it suffices. */
  readonly stock?: boolean
  /** Lines as the command may leave them, where windows or products change. */
  readonly lines?: ReadonlyArray<LineAtStore>
  /** The customer as the command leaves it. */
  readonly member_id?: number | null
  readonly store_id?: number | null
  readonly surcharge_group_ids?: ReadonlyArray<number>
  /** Lines of the active version only, and those of others that hold units: enough for all but choosing between versions and asking whether anything ever went out. */
  readonly live_only?: boolean
  /** The only stored lines whose claims and units the command may change: those of others are not read. Absent: any may. */
  readonly touches?: ReadonlyArray<number> | ((deal: Deal) => ReadonlyArray<number>)
  /** Lines to read whatever their version. */
  readonly line_ids?: ReadonlyArray<number>
}
const untaxed: TaxTable = { rules: [], rates: [], default_organisation_tax_class_id: null, default_product_tax_class_id: null }
interface Now { readonly settings: Settings; readonly now: string }

export const dealOf = Effect.fnUntraced(function*(header: OpportunityRow, { line_ids = [], live_only = false }: Wanted = {}): Effect.fn.Return<Deal, Fault, Store> {
  const store = yield* Store
  const units = yield* store.find(asset_assignments, { opportunity_id: header.id })
  const whole = !live_only || header.version_count < 2
  const found = yield* store.find(opportunity_items, { opportunity_id: header.id, ...(whole ? {} : { is_live: true }) }, { order: ["path", "id"] })
  const there = new Set(found.map((line) => line.id))
  const others = whole ? []
    : yield* store.getMany(opportunity_items, [...line_ids, ...units.map((unit) => unit.opportunity_item_id)].filter((id) => !there.has(id)))
  return {
    header, units,
    lines: others.length === 0 ? found : [...found, ...others],
    costs: yield* store.find(opportunity_costs, { opportunity_id: header.id }, { order: ["sort_order", "id"] })
  }
})

export const customerOf = Effect.fnUntraced(function*(member_id: number | null): Effect.fn.Return<Customer | undefined, Fault, Store> {
  return member_id === null ? undefined : yield* (yield* Store).get(members, member_id)
})

/** The deal, and what pricing, claims and guards ask about. */
export const knownOf = Effect.fnUntraced(function*(header: OpportunityRow, { now, settings }: Now, wanted: Wanted = {}): Effect.fn.Return<Known, Fault, Store> {
  const store = yield* Store
  const deal = yield* dealOf(header, wanted)
  const store_id = wanted.store_id === undefined ? header.store_id : wanted.store_id
  const product_ids = [...new Set([...deal.lines.map((line) => line.item_id).filter((id) => id !== null), ...wanted.product_ids ?? []])]
  const touches = typeof wanted.touches === "function" ? wanted.touches(deal) : wanted.touches
  const touched = touches === undefined ? deal.units : deal.units.filter((unit) => touches.includes(unit.opportunity_item_id))
  const level_ids = [...new Set([...touched.map((unit) => unit.stock_level_id), ...wanted.level_ids ?? []])]
  const customer = yield* customerOf(wanted.member_id === undefined ? header.member_id : wanted.member_id)
  const asked = wanted.stock === true ? [...askedLines(deal, claimSettings(settings, now)), ...wanted.lines ?? []] : undefined
  return {
    deal,
    versions: header.version_count === 0 ? [] : yield* store.find(opportunity_versions, { opportunity_id: header.id }, { order: ["version_number"] }),
    base_currency: baseCurrency(settings),
    products: new Map((yield* store.getMany(products, product_ids)).map((row) => [row.id, row])),
    stocked: yield* stockedProducts(product_ids),
    rates: wanted.rated === undefined || wanted.rated.length === 0 ? new Map() : yield* rateFacts(wanted.rated, { store_id }),
    // Nobody without a tax class is taxed, whatever the rules.
    tax: customer === undefined || customer.sale_tax_class_id === null ? untaxed : yield* taxFacts,
    customer,
    store: store_id === null ? undefined : wanted.hold === true ? (yield* store.getManyHeld(stores, [store_id]))[0] : yield* store.get(stores, store_id),
    discount_rules: yield* discountFacts(header.created_at === "" ? null : header.created_at),
    surcharge_groups: yield* surchargeFacts(wanted.surcharge_group_ids ?? header.surcharge_group_ids),
    levels: new Map((yield* (wanted.hold === true ? store.getManyHeld : store.getMany)(stock_levels, level_ids)).map((row) => [row.id, row])),
    claims: touches?.length === 0 ? [] : yield* store.find(claims, touches === undefined ? { opportunity_id: header.id }
      : { source_type: "opportunity_item", source_id: touches }),
    touches: touches === undefined ? undefined : new Set(touches),
    holdings: yield* holdingsOf(header.id, level_ids),
    books: asked === undefined ? undefined : yield* booksForLines(asked, { now, settings })
  }
})

/** Active claims of others on these units, each with the name of its holder. Two queries. */
export const holdingsOf = Effect.fnUntraced(function*(deal_id: number, level_ids: ReadonlyArray<number>): Effect.fn.Return<ReadonlyArray<Holding>, Fault, Store> {
  if (level_ids.length === 0) return []
  const store = yield* Store
  const found = (yield* store.find(claims, { asset_id: level_ids, is_active: true })).filter((claim) => claim.opportunity_id !== deal_id)
  const deals = yield* store.getMany(opportunities, found.map((claim) => claim.opportunity_id).filter((id) => id !== null))
  const names = new Map(deals.map((deal) => [deal.id, deal]))
  return found.map((claim) => ({ claim, holder: holderName(claim, claim.opportunity_id === null ? undefined : names.get(claim.opportunity_id)) }))
})
const holderName = (claim: ClaimRow, deal: OpportunityRow | undefined): string =>
  deal !== undefined ? `"${deal.subject}" (opportunity ${deal.number ?? deal.id})`
    : claim.source_type === "container" ? `container ${claim.container_id ?? claim.source_id}`
    : `${claim.source_type} ${claim.source_id}`
