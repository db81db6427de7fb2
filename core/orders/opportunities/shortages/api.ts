/**
 * Endpoints of shortages: of one opportunity, of all, and their acknowledgement (rules/opportunities 9.5,
 * rules/availability 9).
 */
import { Effect } from "effect"
import { boolean, choice, columnsSeen, command, created, date, decided, get, integer } from "../../../kernel/index.ts"
import { longText, ok, ref, reject, renderById, resource, Shown, Store, text } from "../../../kernel/index.ts"
import { timestamp, unpagedMeta, viewContext, type DecideContext, type Decided } from "../../../kernel/index.ts"
import { type Endpoint, type FieldErrors, type Input, type JsonObject, type Now } from "../../../kernel/index.ts"
import { acknowledgementOf, demandSettings, gatePolicy, hasShortageCheck, linesTakingStock } from "../state/index.ts"
import { loadDecisionState, loadLinePieces, shortagesOf, type DecisionState, type Opportunity } from "../state/index.ts"
import { type LineShortage, lowestFree, tracking_types } from "../../availability/rules/line.ts"
import { type AvailabilitySnapshot, compositionOf } from "../../availability/rules/snapshot.ts"
import { type DemandRow, demands } from "../../demands/schema.ts"
import { acknowledgements, asset_assignments, one, opportunities, opportunity_items, path } from "../tables/index.ts"
import { states, type OpportunityRow } from "../tables/index.ts"
import { spanMaxIn } from "../../availability/facts/load.ts"
import { inOrderCheck, snapshotsForLines, spanIn } from "../../availability/api/window.ts"
import { members } from "../../../people/members/schema.ts"
import { stores } from "../../../setup/stores.ts"
import { dateAfter, daysInclusive, endOfMoment, type Period } from "../../../values/period.ts"
import { dayOf, instantOf, millisOf, startOfDay, zoneOf } from "../../../values/time.ts"
import { countToReplace, toReplaceShown, unitsToReplace } from "../units/to-replace.ts"
import { waitingOf, waitingShown } from "../waiting/api.ts"

// Acknowledges shortages on request, apart from the conversion to an order (rules/opportunities 9.5).

/** 422 on `shortages` if nothing is short. `permission_used` is false, as no policy is overruled. */
const acknowledgeShortages = (state: DecisionState, notes: string | null, context: DecideContext): Decided => {
  const short = shortagesOf(state, state.opportunity, state.demands, context.settings, context.now)
  if (short.length === 0) return reject("shortages", "Nothing is short.")
  const id = context.id(acknowledgements)
  const { store } = gatePolicy(state, context.viewer)
  const policy = { store, effective: store }
  return decided(id, [acknowledgementOf(id, state.opportunity.header.id, short, { policy, notes }, context)])
}

// Loads opportunities with their demands and stock in a fixed number of queries, whatever their number.

/** An opportunity with its live lines and its demands. */
interface Loaded {
  readonly opportunity: Opportunity
  readonly demands: ReadonlyArray<DemandRow>
}
export interface WithDemands {
  readonly loaded: ReadonlyArray<Loaded>
  /** Stock by store, over the span of all lines. */
  readonly snapshots: ReadonlyMap<number, AvailabilitySnapshot>
}

/** Omits opportunities that need no more stock, unless `over_too`. */
export const loadWithDemands = Effect.fnUntraced(function* (
  all: ReadonlyArray<OpportunityRow>,
  { now, settings }: Now,
  over_too = false
): Store.Reads<WithDemands> {
  const headers = over_too ? all : all.filter((row) => hasShortageCheck(row, settings))
  if (headers.length === 0) return { loaded: [], snapshots: new Map() }
  const opportunity_id = headers.map(({ id }) => id)
  const lines = Map.groupBy(
    yield* Store.find(opportunity_items, { opportunity_id, is_live: true }, { order: ["path", "id"] }),
    (row) => row.opportunity_id
  )
  const units = Map.groupBy(yield* Store.find(asset_assignments, { opportunity_id }), (row) => row.opportunity_id)
  const own = Map.groupBy(yield* Store.find(demands, { opportunity_id }), (row) => row.opportunity_id)
  const loaded = headers.map((header) => ({
    opportunity: { header, lines: lines.get(header.id) ?? [], units: units.get(header.id) ?? [], costs: [] },
    demands: own.get(header.id) ?? []
  }))
  const needed = loaded.flatMap(({ opportunity }) => linesTakingStock(opportunity, demandSettings(settings, now)))
  return { loaded, snapshots: yield* snapshotsForLines(needed, { settings, now }) }
})

/** The facts of one opportunity, for the rules of shortages. */
export const stockFactsOf = ({ opportunity }: Loaded, { snapshots }: WithDemands) => ({
  opportunity,
  snapshots,
  touched_line_ids: undefined
})

/** Shortages of many opportunities, in their order. */
export const shortagesNow = Effect.fnUntraced(function* (
  headers: ReadonlyArray<OpportunityRow>,
  context: Now
): Store.Reads<ReadonlyArray<{ readonly opportunity: Opportunity; readonly shortages: ReadonlyArray<LineShortage> }>> {
  const found = yield* loadWithDemands(headers, context)
  return found.loaded.map((one) => ({
    opportunity: one.opportunity,
    shortages: shortagesOf(stockFactsOf(one, found), one.opportunity, one.demands, context.settings, context.now)
  }))
})

const acknowledgementResource = resource({
  singular: "acknowledgement",
  plural: "acknowledgements",
  table: acknowledgements
})

const number_of_pieces = integer({ describe: "Quantity on order from suppliers, not yet received, for this line" })
/** A short line in responses, as in `LineShortage`, with its opportunity. */
export const shortageShown = {
  opportunity_item_id: integer(),
  opportunity_id: integer(),
  opportunity: Shown.keys({
    id: integer(),
    number: text({ nullable: true }),
    name: text({ describe: "Subject of the opportunity" }),
    state_name: text({ nullable: true }),
    member: Shown.keys({ id: integer(), name: text() }, { nullable: true }),
    to_replace: integer({ describe: "Allocated units out of service; /opportunities/{id}/shortages lists them" })
  }),
  product_id: integer(),
  product_name: text({ nullable: true }),
  store_id: integer(),
  date: date({ describe: "First day on which the line is short, in the store's time" }),
  last_date: date({ describe: "Last day on which the line is short" }),
  requested_quantity: integer({ describe: "Quantity the line still needs" }),
  available: integer({ describe: "Lowest availability without the line; negative if overbooked" }),
  available_quantity: integer({ describe: "Lowest availability without the line, at least 0" }),
  shortfall: integer({ describe: "Quantity of the line that is unavailable" }),
  severity: integer({ describe: "Store's total shortage on the worst day" }),
  remaining_shortfall: integer({ describe: "Shortfall that is not on order" }),
  on_order_quantity: number_of_pieces,
  tracking_type: choice(tracking_types),
  starts_at: timestamp(),
  ends_at: timestamp(),
  is_critical: boolean({ describe: "Whether the line belongs to an order" }),
  is_out: boolean({ describe: "Whether the whole line is dispatched, so that the shortage affects other orders" })
}

/** Adds names of opportunities and customers, and `is_out`, in five queries. `to_replace`: units by opportunity. */
const withNames = Effect.fnUntraced(function* (
  found: ReadonlyArray<{ readonly header: OpportunityRow; readonly shortages: ReadonlyArray<LineShortage> }>,
  to_replace: ReadonlyMap<number, number>,
  { settings, viewer }: Pick<Input, "settings" | "viewer">
) {
  const piecesOf = yield* loadLinePieces(
    found.map(({ header }) => header.id),
    settings
  )
  const sees_customer = columnsSeen(opportunities, viewer)("member_id") && columnsSeen(members, viewer)("name")
  const customers = yield* Store.byId(
    members,
    sees_customer ? found.flatMap(({ header }) => header.member_id ?? []) : []
  )
  return found.flatMap(({ header, shortages }) => {
    const { id, member_id, number, state, subject } = header
    const customer = member_id === null ? undefined : customers.get(member_id)
    const member = customer === undefined ? null : { id: customer.id, name: customer.name }
    const state_name = states[state] ?? null
    const opportunity = { id, number, name: subject, state_name, member, to_replace: to_replace.get(id) ?? 0 }
    const all_out = new Set(
      piecesOf(id).flatMap(({ gone, opportunity_item_id, wanted }) => (gone >= wanted ? [opportunity_item_id] : []))
    )
    return shortages.map((shortage) => ({
      ...shortage,
      is_out: all_out.has(shortage.opportunity_item_id),
      opportunity
    }))
  })
})

/** Goods that other stores have free for a short line, from its start to its end; most first. */
export const elsewhereShown = Shown.objects(
  {
    opportunity_item_id: integer(),
    product_id: integer(),
    store_id: integer(),
    store_name: text(),
    available: integer({ describe: "Quantity free there for the whole time of the line" }),
    ready_on: date({ describe: "First day from which it is free there, up to the end of the line" }),
    needed_on: date({ describe: "First short day" }),
    starts_at: timestamp(),
    ends_at: timestamp()
  },
  { describe: "Other stores with free stock of the product, for a transfer" }
)
/** First day, from today on, from which a store has a quantity of a product free up to the end of a window. */
const readyOn = (
  snapshot: AvailabilitySnapshot,
  { available, product_id }: { readonly available: number; readonly product_id: number },
  { from, to }: Period,
  now: number
): string => {
  const today = dayOf(now, snapshot.zone)
  if (from <= now) return today
  // The later goods are needed, the more are free.
  let [first, last] = [0, daysInclusive(today, dayOf(from, snapshot.zone)) - 1]
  while (first < last) {
    const middle = Math.floor((first + last) / 2)
    const begins = Math.max(now, startOfDay(dateAfter(today, middle), snapshot.zone))
    if (lowestFree(snapshot, product_id, { from: begins, to }) >= available) last = middle
    else first = middle + 1
  }
  return dateAfter(today, first)
}
/** Goods free at other stores for short lines. Kits are left out, as transfers move their parts. */
export const loadElsewhere = Effect.fnUntraced(function* (short: ReadonlyArray<LineShortage>, context: Now) {
  if (short.length === 0) return []
  const places = yield* Store.find(stores, { include_in_default_queries: true }, { order: ["id"] })
  const snapshots = yield* snapshotsForLines(
    short.flatMap((line) =>
      places.map(({ id }) => ({
        ...line,
        id: line.opportunity_item_id,
        store_id: id,
        starts_at: line.starts_at < context.now ? line.starts_at : context.now,
        quantity: line.requested_quantity
      }))
    ),
    context
  )
  return short.flatMap(({ date: needed_on, ends_at, opportunity_item_id, product_id, starts_at, store_id }) =>
    places
      .flatMap(({ id, name }) => {
        const snapshot = id === store_id ? undefined : snapshots.get(id)
        const window = { from: millisOf(starts_at), to: millisOf(ends_at) }
        if (snapshot === undefined || compositionOf(snapshot.products.get(product_id)) !== "plain") return []
        const available = lowestFree(snapshot, product_id, window)
        const goods = { opportunity_item_id, product_id, store_id: id, store_name: name, available }
        const ready_on = readyOn(snapshot, goods, window, millisOf(context.now))
        return available <= 0 ? [] : [{ ...goods, ready_on, needed_on, starts_at, ends_at }]
      })
      .sort((one, other) => other.available - one.available)
  )
})

/**
 * For a draft, its shortages if ordered; empty once an opportunity is over. Unpaged, with the total in `meta`
 * (rules/conventions 2).
 */
const ofOpportunity = get(`${path}/{id}/shortages`, {
  answer: {
    shortages: Shown.objects(shortageShown),
    waiting: waitingShown,
    to_replace: toReplaceShown,
    elsewhere: elsewhereShown,
    meta: Shown.meta
  },
  name: "opportunities.shortages",
  summary: "List an opportunity's short lines, and its allocated units that need replacing",
  ability: "opportunities:read",
  permission: "shortages.view",
  params: one,
  run: Effect.fnUntraced(function* (input) {
    const found = yield* shortagesNow([input.rows.id], input)
    const { id } = input.rows.id
    const waiting = yield* waitingOf(id, input)
    const to_replace = yield* unitsToReplace(input.rows.id, input)
    const shortages = yield* withNames(
      found.map(({ opportunity, shortages: own }) => ({ header: opportunity.header, shortages: own })),
      new Map([[id, to_replace.length]]),
      input
    )
    const elsewhere = yield* loadElsewhere(shortages, input)
    return ok({ shortages, waiting, to_replace, elsewhere, meta: unpagedMeta(shortages.length, input.query) })
  })
})

/** Opportunities flagged as short, and those with goods on order, whose lines may be short without them. */
const withShortages = Effect.fnUntraced(function* (): Store.Reads<ReadonlyArray<OpportunityRow>> {
  const ordered_for = yield* Store.run<{ readonly id: number | string }>(
    `select distinct opportunity_id as id from ${opportunity_items.name} where on_order_quantity > 0`
  )
  const flagged = yield* Store.find(opportunities, { has_shortage: true, deleted_at: null })
  const known = new Set(flagged.map(({ id }) => id))
  const others = ordered_for.map(({ id }) => Number(id)).filter((id) => !known.has(id))
  return [...flagged, ...(others.length === 0 ? [] : yield* Store.getMany(opportunities, others))]
})

/** Period that listed lines must overlap: the days from `from` to `to` (inclusive); undefined without a filter. */
const spanOf = Effect.fnUntraced(function* (input: Input<{}, typeof listFields>) {
  const { store_id } = input.values
  const store = typeof store_id === "number" ? yield* Store.get(stores, store_id) : undefined
  const zone = zoneOf(store?.timezone)
  if (typeof input.values.from !== "string" || typeof input.values.to !== "string") return undefined
  const span = yield* spanIn(input.body, zone, spanMaxIn(input.settings))
  return { from: instantOf(span.from.at), to: instantOf(endOfMoment(span.to, zone)) }
})
const listFields = {
  from: timestamp({
    nullable: true,
    describe: "First day; requires the parameter to; selects lines that overlap these days"
  }),
  to: timestamp({ nullable: true }),
  store_id: ref("stores", { nullable: true }),
  product_id: ref("products", { nullable: true, live: false }),
  per_page: integer({ min: 1, max: 200, default: 50, describe: "Rows per page" }),
  page: integer({ min: 1, default: 1, describe: "Page number, from 1" })
}
const bothOrNone = ({ from = null, to = null }: JsonObject): FieldErrors =>
  (from === null) === (to === null)
    ? {}
    : { [from === null ? "from" : "to"]: ["The fields from and to are given together, or neither."] }
const byStart = (one: LineShortage, other: LineShortage): number =>
  one.date === other.date
    ? one.opportunity_id - other.opportunity_id || one.opportunity_item_id - other.opportunity_item_id
    : one.date < other.date
      ? -1
      : 1

const listOfAll = get("/api/v1/shortages", {
  answer: { shortages: Shown.objects(shortageShown), meta: Shown.meta },
  name: "shortages.list",
  summary: "List short lines of orders, quotations and drafts, with dates and quantities",
  ability: "opportunities:read",
  permission: "shortages.view",
  metering_weight: 5,
  fields: listFields,
  check: (values, body) => ({ ...inOrderCheck(values, body), ...bothOrNone(values) }),
  run: Effect.fnUntraced(function* (input) {
    const { page = 1, per_page = 50, product_id, store_id } = input.values
    const span = yield* spanOf(input)
    const found = yield* shortagesNow(yield* withShortages(), input)
    const meets = (short: LineShortage): boolean =>
      (span === undefined ? short.ends_at > input.now : short.starts_at < span.to && short.ends_at > span.from) &&
      (typeof store_id !== "number" || short.store_id === store_id) &&
      (typeof product_id !== "number" || short.product_id === product_id)
    const headers = new Map(found.map(({ opportunity }) => [opportunity.header.id, opportunity.header]))
    const all = found.flatMap(({ shortages }) => shortages.filter(meets)).sort(byStart)
    const shown = all.slice((page - 1) * per_page, page * per_page).flatMap((short) => {
      const header = headers.get(short.opportunity_id)
      return header === undefined ? [] : [{ header, shortages: [short] }]
    })
    const to_replace = yield* countToReplace([...new Set(shown.map(({ header }) => header.id))], input)
    return ok({
      shortages: yield* withNames(shown, to_replace, input),
      meta: { ...unpagedMeta(all.length, input.query), per_page, page }
    })
  })
})

const acknowledge = command("POST", `${path}/{id}/shortages/acknowledge`, {
  answer: { acknowledgement: Shown.row(() => acknowledgementResource) },
  name: "opportunities.acknowledge_shortages",
  summary: "Acknowledge an opportunity's shortages",
  ability: "opportunities:write",
  permission: "shortages.resolve",
  params: one,
  success_status: 201,
  creates: [acknowledgements],
  fields: { notes: longText({ nullable: true, max: 2000 }) },
  facts: (input) => loadDecisionState(input.rows.id, input, { live_only: true, stock: true }),
  decide: (state, input, context) => acknowledgeShortages(state, input.values.notes ?? null, context),
  respond: (result, input) =>
    Effect.map(renderById(acknowledgementResource, result.id, input.query, viewContext(input)), created)
})

export const shortageEndpoints: ReadonlyArray<Endpoint> = [ofOpportunity, listOfAll, acknowledge]
