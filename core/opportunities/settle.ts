/**
 * After a change to a deal: the lines it touched are priced, rules, surcharges, totals and tax are worked out, and what
 * the deal claims of stock is set anew. Untouched lines are read, never rewritten. Events carry absolute results.
 */
import { Result } from "effect"
import type { LineShortage } from "../availability/line.ts"
import type { NewClaim } from "../claims/claim.ts"
import { claimsPhased, claimsSet } from "../claims/events.ts"
import { type ClaimRow, claims as claims_table } from "../claims/schema.ts"
import type { DecideContext } from "../kernel/endpoint.ts"
import { type NewEvent } from "../kernel/event.ts"
import { type Json, sameJson } from "../kernel/json.ts"
import { invalid, invalidField, type Rejection } from "../kernel/rejection.ts"
import { type Without, without, withoutStamps } from "../kernel/stored-schema.ts"
import type { AnyRow } from "../kernel/table.ts"
import type { PricedOpportunity } from "../pricing/stages.ts"
import { SURCHARGE_COST_TYPE } from "../pricing/totals.ts"
import { claimsOf, claimSettings, heldText, holderOf, holds, isMeasured, shortagesOf } from "./claims.ts"
import type { Deal, Known } from "./deal.ts"
import { opportunityPriced, streamOfDeal } from "./header-events.ts"
import { type CostRow, type ItemRow, opportunity_costs } from "./parts.ts"
import { priceOne, priceTogether, taxRateOf } from "./pricing.ts"
import type { OpportunityRow } from "./schema.ts"

export interface Touched {
  /** Lines whose own price is worked out again. */
  readonly priced?: ReadonlyArray<number>
  /** Lines whose claims are worked out again; those that are gone release theirs. */
  readonly claimed?: ReadonlyArray<number> | "all"
  /** Totals are left as they are: nothing that counts has changed. */
  readonly totals?: false
  /** The customer changed: every line's tax is looked up again. */
  readonly taxed?: boolean
}
export interface Settled {
  readonly deal: Deal
  /** The deal's claims after the change. */
  readonly claims: ReadonlyArray<ClaimRow>
  /** Lines that would be short, for deals that hold stock and whose stock was read. */
  readonly shortages: ReadonlyArray<LineShortage>
  /** What follows from the change; the change's own event comes before. */
  readonly events: ReadonlyArray<NewEvent>
}

/** `after` is the deal as the command leaves it, lines added included. `known.deal` is the deal before. */
export const settle = (known: Known, after: Deal, touched: Touched, context: DecideContext): Result.Result<Settled, Rejection> =>
  Result.gen(function*() {
    let deal = yield* pricedLines(known, after, touched)
    if (touched.totals !== false && (counts(deal) || counts(known.deal))) deal = withPrices(deal, yield* priceTogether(known, deal, context.now), context)
    const claimed = yield* claimsAfter(known, deal, touched.claimed ?? [], context)
    const holding = holds(deal.header, context.settings)
    const isTold = isMeasured(deal.header, context.settings)
    const short = isTold ? shortagesOf(known, deal, claimed.claims, context.settings, context.now) : []
    const shortages = holding ? short : []
    const has_shortage = isTold && (known.books === undefined ? deal.header.has_shortage : short.length > 0)
    deal = { ...deal, header: { ...deal.header, has_shortage } }
    const priced = pricedEvent(after, known.deal, deal)
    return { deal, claims: claimed.claims, shortages, events: [...(priced === undefined ? [] : [priced]), ...claimed.events] }
  })

/** The deal with the prices of the lines touched, and every line's tax rate where the customer changed. */
const pricedLines = (known: Known, deal: Deal, touched: Touched): Result.Result<Deal, Rejection> => Result.gen(function*() {
  const wanted = new Set(touched.priced ?? [])
  const retaxed = touched.taxed === true && !deal.header.tax_locked
  if (wanted.size === 0 && !retaxed) return deal
  const lines: Array<ItemRow> = []
  for (const line of deal.lines) {
    const priced = wanted.has(line.id) ? { ...line, ...yield* Result.mapError(priceOne(known, deal.header, line), invalid) } : line
    lines.push(retaxed && line.item_type !== "group" ? { ...priced, tax_rate: taxRateOf(known, line) } : priced)
  }
  return { ...deal, lines }
})

/** Is there anything to add up? Until then a total guessed by hand stands. */
const counts = (deal: Deal): boolean => deal.lines.length + deal.costs.length > 0 || deal.header.deal_total !== null

/** The deal with line nets, totals and computed costs as pricing gives them. */
const withPrices = (deal: Deal, priced: PricedOpportunity, context: DecideContext): Deal => {
  const lines = deal.lines.map((line): ItemRow => {
    const total = priced.line_nets.get(line.id)
    if (total === undefined) return line.item_type === "group" ? { ...line, total: 0 } : line
    const rule_discount = priced.line_discounts.get(line.id) ?? 0
    return line.total === total && line.rule_discount === rule_discount ? line : { ...line, total, rule_discount }
  })
  const computed = priced.surcharges.map((one, index): CostRow => {
    const before = deal.costs.find((cost) => cost.surcharge_id === one.surcharge_id)
    const fresh = { ...newCost(deal.header, context), sort_order: 1_000_000 + index }
    return {
      ...(before ?? fresh), description: one.name, cost_type: SURCHARGE_COST_TYPE, amount: one.net,
      surcharge_id: one.surcharge_id, surcharge_group_id: one.surcharge_group_id, product_tax_class_id: one.product_tax_class_id
    }
  })
  return {
    ...deal,
    header: { ...deal.header, ...priced.totals, applied_discounts: priced.applied_rules.map((rule) => ({ ...rule })) },
    lines,
    costs: [...deal.costs.filter((cost) => cost.surcharge_id === null), ...computed]
  }
}

const unstamped = { created_at: "", updated_at: "", deleted_at: null }
/** A cost of the deal with everything at its default. Stamps are given when it is folded. */
export const newCost = (header: OpportunityRow, context: DecideContext): CostRow => ({
  id: context.id(opportunity_costs), opportunity_id: header.id, description: "", cost_type: 5, transaction_type: 2, amount: 0, quantity: "1.00",
  tax_rate: null, currency_code: header.currency_code, is_optional: false, sort_order: 0, notes: null, surcharge_id: null,
  surcharge_group_id: null, product_tax_class_id: null, ...unstamped
})

/** A claim as events tell it: how far it reaches follows from the rest. */
const asClaimed = <R extends AnyRow>(row: R): Without<R, "reaches_to" | "created_at" | "updated_at" | "deleted_at"> => without(row, "reaches_to", "created_at", "updated_at", "deleted_at")
const changed = <R extends AnyRow>(before: AnyRow, after: R): Partial<R> =>
  Object.fromEntries(Object.entries(after).filter(([name, value]) => !sameJson((before[name] ?? null) as Json, (value ?? null) as Json))) as Partial<R>

/** Everything pricing changed, in one event; undefined when it changed nothing. `change` is the deal the command's own events leave. */
const pricedEvent = (change: Deal, before: Deal, after: Deal): NewEvent | undefined => {
  const set = changed(change.header, after.header)
  const known = new Map(before.lines.map((line) => [line.id, line]))
  const sent = new Map(change.lines.map((line) => [line.id, line]))
  const lines = after.lines.flatMap((line) => {
    // New lines are recorded whole, with their prices.
    if (!known.has(line.id) || sent.get(line.id) === line) return []
    const difference = changed(sent.get(line.id) ?? {}, line)
    return Object.keys(difference).length === 0 ? [] : [{ ...difference, id: line.id }]
  })
  const costsBefore = new Map(change.costs.map((cost) => [cost.id, cost]))
  const surcharges = after.costs.filter((cost) => cost.surcharge_id !== null)
  const kept = new Set(surcharges.map(({ id }) => id))
  const removed = change.costs.filter((cost) => cost.surcharge_id !== null && !kept.has(cost.id)).map(({ id }) => id)
  const added = surcharges.filter((cost) => !costsBefore.has(cost.id)).map(withoutStamps)
  const altered = surcharges.flatMap((cost) => {
    const earlier = costsBefore.get(cost.id)
    const difference = earlier === undefined ? {} : changed(earlier, cost)
    return Object.keys(difference).length === 0 ? [] : [{ ...difference, id: cost.id }]
  })
  const isNothing = Object.keys(set).length + lines.length + removed.length + added.length + altered.length === 0
  const { active_version_id, id } = after.header
  const version = active_version_id === 0 ? {} : { version: { id: active_version_id, ...versionTotals(after.header) } }
  return isNothing ? undefined
    : opportunityPriced.make({ id, set, lines, costs: { added, altered, removed }, ...version })
}
/** The totals a version keeps of its own; the active one's are the opportunity's (opportunities 8). */
export const versionTotals = ({ charge_excluding_tax_total, charge_including_tax_total, charge_total, tax_total }: OpportunityRow) =>
  ({ charge_excluding_tax_total, tax_total, charge_including_tax_total, charge_total })

interface Claimed { readonly claims: ReadonlyArray<ClaimRow>; readonly events: ReadonlyArray<NewEvent> }

/** The claims of the touched lines, keeping the ids of those that stay; 422 when a unit is held by somebody else meanwhile. */
const claimsAfter = (known: Known, deal: Deal, touched: ReadonlyArray<number> | "all", context: DecideContext): Result.Result<Claimed, Rejection> =>
  Result.gen(function*() {
    const settings = claimSettings(context.settings, context.now)
    const own = known.claims
    // Lines that were not read are those of versions that are not active: they hold nothing, and nothing of theirs changes.
    const lines = new Set(touched === "all" ? [...deal.lines, ...known.deal.lines].map(({ id }) => id) : touched)
    const events: Array<NewEvent> = []
    const set: Array<ClaimRow> = []
    const phased = new Map<ClaimRow["phase"], Array<number>>()
    const lineOf = new Map(deal.lines.map((line) => [line.id, line]))
    const claimed = Map.groupBy(own, (claim) => claim.source_id)
    for (const id of lines) {
      const line = lineOf.get(id)
      const wanted = line === undefined ? [] : yield* claimsOf(known, deal, line, settings)
      yield* heldByNobodyElse(known, wanted, context)
      const before = claimed.get(id) ?? []
      const rows = withIds(wanted, before, context)
      set.push(...rows)
      if (sameClaims(rows, before)) continue
      const phase = onlyPhased(rows, before)
      if (phase === undefined) {
        events.push(claimsSet(streamOfDeal(deal.header.id), "opportunity_item", id, rows.map(asClaimed)))
        continue
      }
      const others = phased.get(phase)
      if (others === undefined) phased.set(phase, [id])
      else others.push(id)
    }
    for (const [phase, ids] of phased) events.push(claimsPhased(streamOfDeal(deal.header.id), "opportunity_item", ids, phase))
    const rest = own.filter((claim) => !lines.has(claim.source_id))
    return { claims: [...rest, ...set], events }
  })

/** The database would refuse it as well, but could not say by whom. */
const heldByNobodyElse = (known: Known, wanted: ReadonlyArray<NewClaim>, context: DecideContext): Result.Result<void, Rejection> => {
  for (const claim of wanted) {
    if (claim.asset_id === null || !claim.is_active) continue
    const window = { from: Date.parse(claim.buffered_starts_at ?? claim.starts_at), to: Date.parse(claim.buffered_ends_at ?? claim.ends_at) }
    const holding = holderOf(known.holdings, claim.asset_id, window, context.now)
    if (holding !== undefined) return Result.fail(invalidField("state", heldText(unitName(known, claim.asset_id), holding)))
  }
  return Result.succeed(undefined)
}
/** What people call a unit: its name, else its asset number, else its id (opportunities 9.1). */
export const unitName = (known: Known, stock_level_id: number): string => {
  const level = known.levels.get(stock_level_id)
  return level?.item_name ?? level?.asset_number ?? `Stock level ${stock_level_id}`
}

/** A claim on the same unit, or the same product, keeps the id it had; the first of several first. */
const withIds = (wanted: ReadonlyArray<NewClaim>, before: ReadonlyArray<ClaimRow>, context: DecideContext): ReadonlyArray<ClaimRow> => {
  const free = Map.groupBy(before, sameThing)
  const used = new Map<string, number>()
  return wanted.map((claim) => {
    const thing = sameThing(claim)
    const at = used.get(thing) ?? 0
    used.set(thing, at + 1)
    return {
      ...unstamped, ...claim, id: free.get(thing)?.[at]?.id ?? context.id(claims_table),
      buffered_starts_at: claim.buffered_starts_at ?? claim.starts_at, buffered_ends_at: claim.buffered_ends_at ?? claim.ends_at
    }
  })
}
const sameThing = ({ asset_id, product_id }: NewClaim): string => `${product_id}/${asset_id}`
/** The one phase all claims of a line come to, where nothing else about them changes. */
const onlyPhased = (rows: ReadonlyArray<ClaimRow>, before: ReadonlyArray<ClaimRow>): ClaimRow["phase"] | undefined => {
  const phase = rows[0]?.phase
  return phase !== undefined && rows.every((row) => row.phase === phase) && sameClaims(rows, before, "phase") ? phase : undefined
}
const told = Object.keys(asClaimed(claims_table.columns as AnyRow)) as ReadonlyArray<keyof ClaimRow>
/** Equal in all that is told of a claim, `but` perhaps one thing. */
const sameClaims = (one: ReadonlyArray<ClaimRow>, other: ReadonlyArray<ClaimRow>, but?: keyof ClaimRow): boolean => {
  if (one.length !== other.length) return false
  const before = new Map(other.map((row) => [row.id, row]))
  return one.every((row) => {
    const earlier = before.get(row.id)
    return earlier !== undefined && told.every((name) => name === but || (row[name] ?? null) === (earlier[name] ?? null))
  })
}
