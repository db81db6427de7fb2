/** Resolving shortages: matching order lines, facts and rules (rules/availability 9). */
import { Effect, Result } from "effect"
import { type LineShortage, requestedUnits } from "../../orders/availability/rules/line.ts"
import { dataOf, forbidden, hasOnePermission, invalidField, lockStreams, reject, Store } from "../../kernel/index.ts"
import type { CommandRuntime, DecideContext, Decided, Failure, Input, NewEvent, Rejection } from "../../kernel/index.ts"
import { purchase_orders, type PurchaseOrderRow, purchaseOrderStream, type PurchaseOrderType } from "../schema.ts"
import { purchaseOrderCreated, purchaseOrderUpdated } from "../schema.ts"
import type { CreateValues, ResolveValues, SentItem } from "../fields.ts"
import { demandSettings, hasShortageCheck, loadDecisionState } from "../../orders/opportunities/state/index.ts"
import { recalculate, shortagesOf, unitWindow, withLine } from "../../orders/opportunities/state/index.ts"
import type { DecisionState, Warned } from "../../orders/opportunities/state/index.ts"
import { lineChanged } from "../../orders/opportunities/events/lines.ts"
import { requireTransition, shortage_waits, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { compositionOf } from "../../orders/availability/rules/snapshot.ts"
import { type Join, joinWaiting } from "../../orders/opportunities/waiting/decide.ts"
import { instantOf } from "../../values/time.ts"
import { openEndMillis } from "../../values/period.ts"
import type { CreateFacts, UpdateFacts } from "../orders/decide.ts"
import { createPurchaseOrder, draftOnly, updatePurchaseOrder } from "../orders/decide.ts"
import { createFactsOf, updateFactsOf } from "../orders/api.ts"

/** A line with a shortage, and the period its goods are needed for: with buffers, null where open-ended. */
interface ShortLine {
  readonly shortage: LineShortage
  readonly name: string
  /** Whether the line is a kit, of which only components can be short. */
  readonly is_kit: boolean
  readonly starts_at: string | null
  readonly ends_at: string | null
}
interface Wanted {
  readonly short: ShortLine
  readonly quantity: string
  readonly unit_cost: SentItem["unit_cost"]
}
type Refusable<A> = Result.Result<A, Rejection>

/** Whether goods ordered for `one` are there for the whole period of `other`. */
const covers = (one: LineShortage, other: LineShortage): boolean =>
  one.product_id === other.product_id &&
  one.store_id === other.store_id &&
  one.starts_at <= other.starts_at &&
  one.ends_at >= other.ends_at

/** Quantities to order for all shortages. Goods ordered for a line count for later ones within its period, too. */
const everything = (short: ReadonlyArray<ShortLine>): ReadonlyArray<Wanted> => {
  const wanted: Array<Wanted> = []
  for (const one of short.filter(({ is_kit }) => !is_kit)) {
    const served = wanted
      .filter((other) => covers(other.short.shortage, one.shortage))
      .reduce((sum, { quantity }) => sum + Number(quantity), 0)
    const left = one.shortage.remaining_shortfall - served
    if (left > 0) wanted.push({ short: one, quantity: String(left), unit_cost: null })
  }
  return wanted
}

const named = (
  short: ReadonlyArray<ShortLine>,
  lines: NonNullable<ResolveValues["lines"]>
): Refusable<ReadonlyArray<Wanted>> =>
  Result.gen(function* () {
    const wanted: Array<Wanted> = []
    for (const [at, line] of lines.entries()) {
      const field = `lines.${at}.opportunity_item_id`
      const one = short.find(({ shortage }) => shortage.opportunity_item_id === line.opportunity_item_id)
      if (one === undefined) return yield* reject(field, "The line is not short; nothing has to be ordered for it.")
      if (one.is_kit)
        return yield* reject(field, `"${one.name}" is a kit: order those of its parts that are short by an order.`)
      if (wanted.some(({ short: other }) => other === one)) return yield* reject(field, "The line is named twice.")
      const left = one.shortage.remaining_shortfall
      if (left === 0 && line.quantity === null)
        return yield* reject(field, "All that is short of the line is on order already; say how many more are wanted.")
      wanted.push({ short: one, quantity: line.quantity ?? String(left), unit_cost: line.unit_cost })
    }
    return wanted
  })

const blank: SentItem = {
  id: null,
  product_id: null,
  opportunity_item_id: null,
  name: null,
  description: null,
  quantity: null,
  unit_cost: null,
  discount_percent: null,
  tax_class_id: null,
  cost_group_id: null,
  starts_at: null,
  ends_at: null,
  sort_order: null
}

interface Resolved {
  readonly items: ReadonlyArray<SentItem>
  readonly store_id: number
  readonly starts_at: string | null
  readonly ends_at: string | null
}
const outer = (values: ReadonlyArray<string | null>, pick: (sorted: ReadonlyArray<string>) => string | undefined) =>
  values.includes(null) ? null : (pick(values.filter((one) => one !== null).sort()) ?? null)

/**
 * Order lines for shortages: the requested ones, else all at the store of the first. 422: `shortages` if nothing is
 * left to order, `lines.N.opportunity_item_id` for a line not short, a kit, or at another store than the first.
 */
const resolvingLines = (
  short: ReadonlyArray<ShortLine>,
  { lines, resolution }: { readonly lines: ResolveValues["lines"] | undefined; readonly resolution: PurchaseOrderType }
): Refusable<Resolved> =>
  Result.gen(function* () {
    if (short.length === 0) return yield* reject("shortages", "Nothing is short.")
    const wanted = lines === null || lines === undefined ? everything(short) : yield* named(short, lines)
    const [first] = wanted
    if (first === undefined)
      return yield* reject(
        "shortages",
        short.some(({ is_kit }) => is_kit)
          ? "Only kits are short: order those of their parts that are short by an order."
          : "All that is short is on order already."
      )
    const { store_id } = first.short.shortage
    const elsewhere = wanted.findIndex(({ short: one }) => one.shortage.store_id !== store_id)
    if (elsewhere >= 0 && lines !== null && lines !== undefined)
      return yield* reject(
        `lines.${elsewhere}.opportunity_item_id`,
        "The line takes stock from another store than the first one; order it by an order of its own."
      )
    const here = wanted.filter(({ short: one }) => one.shortage.store_id === store_id)
    const is_hire = resolution === "sub_hire"
    return {
      store_id,
      starts_at: is_hire
        ? outer(
            here.map(({ short: one }) => one.starts_at),
            (all) => all[0]
          )
        : null,
      ends_at: is_hire
        ? outer(
            here.map(({ short: one }) => one.ends_at),
            (all) => all.at(-1)
          )
        : null,
      items: here.map(({ quantity, short: one, unit_cost }) => ({
        ...blank,
        product_id: one.shortage.product_id,
        opportunity_item_id: one.shortage.opportunity_item_id,
        quantity,
        unit_cost,
        starts_at: is_hire ? one.starts_at : null,
        ends_at: is_hire ? one.ends_at : null
      }))
    }
  })

// Turns fully sub-hired lines into sub-rentals at unchanged prices (rules/availability 9).

const rental = 0,
  sub_rental = 3

/**
 * Events that turn lines into sub-rentals. 422 on `sub_rental` for purchases, and on `state` if the opportunity is
 * closed to changes; 403 without `opportunities.edit`.
 */
const subRentedEvents = (
  state: DecisionState,
  items: ReadonlyArray<SentItem>,
  po_type: PurchaseOrderType,
  context: DecideContext
): Result.Result<ReadonlyArray<NewEvent>, Rejection> =>
  Result.gen(function* () {
    if (po_type !== "sub_hire")
      return yield* reject("sub_rental", "What is bought is no sub-rental; leave the field out.")
    if (!hasOnePermission(context.viewer, "opportunities.edit"))
      return yield* Result.fail(forbidden("This needs the permission opportunities.edit."))
    const hired = new Map(items.map((item) => [item.opportunity_item_id, Number(item.quantity)]))
    const whole = state.opportunity.lines.filter(
      (line) => line.transaction_type === rental && (hired.get(line.id) ?? 0) >= Number(line.quantity)
    )
    if (whole.length === 0) return []
    yield* requireTransition(state.opportunity.header, "edit")
    const set = { transaction_type: sub_rental }
    const after = whole.reduce((opportunity, line) => withLine(opportunity, line.id, set), state.opportunity)
    const { events } = yield* recalculate(state, after, {}, context)
    return [...whole.map((line) => lineChanged(line, "item_sub_rented", set)), ...events]
  })

type Asked = Pick<Input, "now" | "settings"> & { readonly values: ResolveValues; readonly row: OpportunityRow }
interface ResolveFacts {
  readonly resolved: Result.Result<Resolved, Rejection>
  readonly opportunity: OpportunityRow
  readonly state: DecisionState
  /** The draft to add lines to; undefined for a new order. */
  readonly draft: { readonly row: PurchaseOrderRow; readonly facts: UpdateFacts } | undefined
  /** Values and facts of a new order; undefined if a draft is used. */
  readonly fresh: { readonly values: CreateValues; readonly facts: CreateFacts } | undefined
}
const typeOf = ({ resolution }: ResolveValues): PurchaseOrderType =>
  resolution === "purchase" ? "purchase" : "sub_hire"

/** Lines with shortages, and the period their goods are needed for, with preparation and turnaround. */
const shortLines = (state: DecisionState, { now, settings }: Asked): ReadonlyArray<ShortLine> => {
  const { opportunity } = state
  const lines = new Map(opportunity.lines.map((line) => [line.id, line]))
  return shortagesOf(state, opportunity, state.demands, settings, now).flatMap((shortage) => {
    const line = lines.get(shortage.opportunity_item_id)
    if (line === undefined) return []
    const { from, to } = unitWindow(state, opportunity, line, demandSettings(settings, now))
    return [
      {
        shortage,
        name: line.name,
        is_kit: compositionOf(state.stocked.get(shortage.product_id)) !== "plain",
        starts_at: instantOf(from),
        ends_at: to >= openEndMillis ? null : instantOf(to)
      }
    ]
  })
}

const resolveFactsOf = Effect.fnUntraced(function* (asked: Asked): Store.Reads<ResolveFacts> {
  const { row, values } = asked
  const state = yield* loadDecisionState(row, asked, { live_only: true, stock: true })
  const resolved = resolvingLines(shortLines(state, asked), { lines: values.lines, resolution: typeOf(values) })
  const facts = { resolved, state, opportunity: row, draft: undefined, fresh: undefined }
  if (Result.isFailure(resolved)) return facts
  const { ends_at, items, starts_at, store_id } = resolved.success
  const draft_id = values.purchase_order_id
  if (typeof draft_id === "number") {
    yield* lockStreams([purchaseOrderStream(draft_id)])
    const draft = yield* Store.get(purchase_orders, draft_id)
    return draft === undefined
      ? facts
      : { ...facts, draft: { row: draft, facts: yield* updateFactsOf(draft, { items }, asked) } }
  }
  const order: CreateValues = {
    supplier_id: values.supplier_id ?? 0,
    store_id,
    opportunity_id: row.id,
    po_type: typeOf(values),
    currency: values.currency ?? null,
    expected_at: values.expected_at ?? null,
    subject: row.subject,
    reference: row.number,
    starts_at,
    ends_at,
    items
  }
  return typeof values.supplier_id === "number"
    ? { ...facts, fresh: { values: order, facts: yield* createFactsOf(asked, order) } }
    : facts
})

/** Lines as a request would send them, without empty fields, for the rule that detects omitted fields. */
const rawOf = (items: Resolved["items"]) =>
  items.map((item) => Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null)))

/** Reason the lines cannot be added to this draft; undefined if they can. */
const draftRefusal = (
  draft: PurchaseOrderRow,
  resolved: Resolved,
  opportunity: OpportunityRow,
  values: ResolveValues
): Rejection | undefined => {
  const refuse = (text: string): Rejection => invalidField("purchase_order_id", text)
  if (draft.po_type !== typeOf(values))
    return refuse("The order is of another type; sub-hires and purchases are ordered apart.")
  if (draft.store_id !== resolved.store_id) return refuse("The order's goods come to another store than the line's.")
  if (draft.opportunity_id !== null && draft.opportunity_id !== opportunity.id)
    return refuse("The order is for another opportunity; name one of this opportunity, or one for none.")
  return typeof values.supplier_id === "number" && values.supplier_id !== draft.supplier_id
    ? invalidField("supplier_id", "The order is to another supplier; leave the supplier or the order out.")
    : undefined
}

const addToDraft = (
  { facts, row }: NonNullable<ResolveFacts["draft"]>,
  resolved: Resolved,
  opportunity: OpportunityRow,
  values: ResolveValues,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    yield* draftOnly(row, "added to")
    const refusal = draftRefusal(row, resolved, opportunity, values)
    if (refusal !== undefined) return yield* Result.fail(refusal)
    const there = facts.items.map(({ id }) => ({ ...blank, id }))
    const opportunity_id = opportunity.id
    return yield* updatePurchaseOrder(
      facts,
      {
        rows: { id: row },
        values: { opportunity_id, items: [...there, ...resolved.items] },
        body: { opportunity_id, items: [...facts.items.map(({ id }) => ({ id })), ...rawOf(resolved.items)] }
      },
      context
    )
  })

const resolveShortages = (
  { draft, fresh, opportunity, resolved }: ResolveFacts,
  values: ResolveValues,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const lines = yield* resolved
    if (draft !== undefined) return yield* addToDraft(draft, lines, opportunity, values, context)
    if (fresh === undefined)
      return yield* reject(
        "supplier_id",
        "The supplier id field is required for a new order; or name a draft to add to."
      )
    return yield* createPurchaseOrder(
      fresh.facts,
      { values: fresh.values, body: { items: rawOf(lines.items) } },
      context
    )
  })

/**
 * Facts for the waiting list: short and waiting lines. Lines wait for all not yet returned, allocated units included.
 */
const waitFactsOf = Effect.fnUntraced(function* (asked: Asked): Store.Reads<Join> {
  const { row, values } = asked
  const state = yield* loadDecisionState(row, asked, { live_only: true, stock: true })
  const lines = new Map(state.opportunity.lines.map((line) => [line.id, line]))
  const rows = yield* Store.find(shortage_waits, { opportunity_id: row.id }, { order: ["id"] })
  const checked = hasShortageCheck(row, asked.settings)
  return {
    rows,
    line_ids: values.lines?.map(({ opportunity_item_id }) => opportunity_item_id),
    note: values.note ?? null,
    short: shortLines(state, asked).flatMap(({ shortage }) => {
      const line = lines.get(shortage.opportunity_item_id)
      const left = Number(line?.quantity ?? 0) - Number(line?.returned_quantity ?? 0)
      return !checked || shortage.ends_at <= asked.now ? [] : [{ shortage, requested_quantity: requestedUnits(left) }]
    })
  }
})
/** 422 on fields that apply only to purchase orders. */
const onlyWaits = (values: ResolveValues): Result.Result<void, Rejection> => {
  const refuse = (field: string) => reject(field, "Whoever waits orders nothing; leave the field out.")
  for (const name of ["supplier_id", "purchase_order_id", "currency", "expected_at"] as const)
    if (values[name] !== null && values[name] !== undefined) return refuse(name)
  if (values.sub_rental === true) return refuse("sub_rental")
  for (const [at, line] of (values.lines ?? []).entries()) {
    if (line.unit_cost !== null) return refuse(`lines.${at}.unit_cost`)
    if (line.quantity !== null)
      return reject(`lines.${at}.quantity`, "A line waits for all it asks for; leave the quantity out.")
  }
  return Result.succeed(undefined)
}

/** Warning of lines priced neither by the request nor by their product. */
const unpricedWarnings = (events: ReadonlyArray<NewEvent>, sent: ReadonlyArray<SentItem>): ReadonlyArray<string> => {
  const open = sent.filter((item) => item.unit_cost === null).map((item) => item.opportunity_item_id)
  const names = [...dataOf(purchaseOrderCreated, events), ...dataOf(purchaseOrderUpdated, events)]
    .flatMap(({ items = [] }) => ("added" in items ? items.added : items))
    .filter((row) => row.unit_cost === 0 && open.includes(row.opportunity_item_id ?? null))
    .map(({ name }) => name)
  return names.length === 0
    ? []
    : [`No price was given, and the product has none: 0.00 for ${[...new Set(names)].join(", ")}.`]
}

/** Facts for joining the waiting list, or for a purchase order. */
type ResolutionFacts = { readonly wait: Join } | { readonly order: ResolveFacts }
export const resolutionFacts = (asked: Asked): Effect.Effect<ResolutionFacts, Failure, Store | CommandRuntime> =>
  asked.values.resolution === "waitlist"
    ? Effect.map(waitFactsOf(asked), (wait) => ({ wait }))
    : Effect.map(resolveFactsOf(asked), (order) => ({ order }))

export const decideResolution = (
  opportunity_id: number,
  known: ResolutionFacts,
  values: ResolveValues,
  context: DecideContext
): Decided<Warned> =>
  Result.gen(function* () {
    for (const name of ["from_store_id", "starts_at", "arrives_at"] as const)
      if (values[name] != null) return yield* reject(name, "Only a transfer has this; leave the field out.")
    if ("wait" in known) {
      yield* onlyWaits(values)
      const { events, result } = yield* joinWaiting(opportunity_id, known.wait, context)
      return { events, result: { ...result, warnings: [] } }
    }
    const facts = known.order
    if (typeof values.note === "string")
      return yield* reject("note", "A note is kept on the waiting list; orders have their own.")
    const { events, result } = yield* resolveShortages(facts, values, context)
    const { items } = yield* facts.resolved
    const marked = values.sub_rental === true ? yield* subRentedEvents(facts.state, items, typeOf(values), context) : []
    const warnings = hasOnePermission(context.viewer, "costs.view") ? unpricedWarnings(events, items) : []
    return { events: [...events, ...marked], result: { ...result, warnings } }
  })
