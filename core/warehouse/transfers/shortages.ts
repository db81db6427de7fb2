/** Transfers that bring what an order is short of: stores that have it, quantities and times (rules/transfers 8). */
import { Effect, Result } from "effect"
import { invalid, reject, Store } from "../../kernel/index.ts"
import type { FieldErrors, Rejection, Settings, DecideContext } from "../../kernel/index.ts"
import type { LineShortage } from "../../orders/availability/rules/line.ts"
import { loadElsewhere, shortagesNow } from "../../orders/opportunities/shortages/api.ts"
import { opportunities, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import type { ResolveValues } from "../../purchasing/fields.ts"
import { openEnd } from "../../values/time.ts"
import { loadPlan, type SentPlan } from "./facts.ts"

/** A request to resolve shortages by a transfer. */
interface ResolutionAsked {
  /** Default: the store that has most of it. */
  readonly from_store_id?: number | null
  /** Default: the store of the first short line. */
  readonly to_store_id?: number | null
  readonly starts_at?: string | null
  readonly arrives_at?: string | null
  readonly ends_at?: string | null
  /** Default: all that are short. */
  readonly lines?: ReadonlyArray<{ readonly opportunity_item_id: number; readonly quantity: string | null }> | null
}
/** The transfer that brings what is short. */
interface Shortfall {
  readonly opportunity_id: number
  readonly from_store_id: number
  readonly to_store_id: number
  readonly starts_at: string
  readonly arrives_at: string
  readonly ends_at: string | null
  readonly items: ReadonlyArray<{ readonly product_id: number; readonly quantity: number }>
}
/** A line with the quantity to move; `named`: whether the request gives it. */
interface Wanted {
  readonly line: LineShortage
  readonly quantity: number
  readonly named: boolean
  readonly field: string
}

/** Lines to move goods for: the named ones, else all at the first one's store. 422 at each that is not short there. */
const wantedOf = (
  short: ReadonlyArray<LineShortage>,
  { lines, to_store_id }: ResolutionAsked
): Result.Result<ReadonlyArray<Wanted>, Rejection> => {
  const named = lines?.map(({ opportunity_item_id }) => opportunity_item_id)
  const first = short.find((line) => named?.includes(line.opportunity_item_id) ?? line.remaining_shortfall > 0)
  const store_id = to_store_id ?? first?.store_id
  const here = short.filter((line) => line.store_id === store_id && line.remaining_shortfall > 0)
  if (short.length === 0) return reject("shortages", "Nothing is short.")
  if (!lines) {
    const all = here.map((line) => ({ line, quantity: line.remaining_shortfall, named: false, field: "shortages" }))
    return all.length === 0 ? reject("shortages", "All that is short is on order already.") : Result.succeed(all)
  }
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const wanted = lines.flatMap(({ opportunity_item_id, quantity }, at) => {
    const line = here.find((one) => one.opportunity_item_id === opportunity_item_id)
    const of = { quantity: Math.ceil(Number(quantity ?? line?.remaining_shortfall)), named: quantity !== null }
    if (line !== undefined) return [{ line, ...of, field: `lines.${at}.quantity` }]
    errors[`lines.${at}.opportunity_item_id`] = ["The line is not short, or at another store than the first one."]
    return []
  })
  return Object.keys(errors).length > 0 ? Result.fail(invalid(errors)) : Result.succeed(wanted)
}

/** Quantities of products that a store can send. `errors`: named quantities that the store lacks. */
const itemsFrom = (
  wanted: ReadonlyArray<Wanted>,
  offers: ReadonlyArray<Effect.Success<ReturnType<typeof loadElsewhere>>[number]>
): { readonly items: Shortfall["items"]; readonly errors: FieldErrors } => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const items = [...Map.groupBy(wanted, ({ line }) => line.product_id)].flatMap(([product_id, of]) => {
    const free = of.map(({ line }) => offers.find((offer) => offer.opportunity_item_id === line.opportunity_item_id))
    const available = Math.min(...free.map((offer) => offer?.available ?? 0))
    const asked = of.reduce((sum, { quantity }) => sum + quantity, 0)
    // Lines at one time may each be short of the same pieces.
    const missing = of.some(({ named }) => named) ? asked : Math.max(...of.map(({ line }) => line.severity))
    for (const { field, named } of of)
      if (named && asked > available)
        errors[field] = [`${offers[0]?.store_name ?? "The store"} has ${available} free then.`]
    const quantity = Math.min(asked, missing, available)
    return quantity <= 0 ? [] : [{ product_id, quantity }]
  })
  return { items, errors }
}
const piecesIn = (items: Shortfall["items"]): number => items.reduce((sum, { quantity }) => sum + quantity, 0)

/**
 * The transfer that brings what an opportunity is short of, for the time of its lines. 422: `shortages` if nothing is
 * short or no store has it, `from_store_id` if that store has not, `lines.N`.
 */
const loadShort = Effect.fnUntraced(function* (
  header: OpportunityRow,
  asked: ResolutionAsked,
  context: { readonly settings: Settings; readonly now: string }
): Store.Reads<Result.Result<Shortfall, Rejection>> {
  const found = yield* shortagesNow([header], context)
  const wanted = wantedOf(
    found.flatMap(({ shortages }) => shortages),
    asked
  )
  if (Result.isFailure(wanted)) return Result.fail(wanted.failure)
  const short = wanted.success.map(({ line }) => line)
  const offers = Map.groupBy(yield* loadElsewhere(short, context), ({ store_id }) => store_id)
  const senders = [...offers].filter(([id]) => asked.from_store_id == null || id === asked.from_store_id)
  const [best] = senders
    .map(([from_store_id, of]) => {
      const offered = new Set(of.map(({ opportunity_item_id }) => opportunity_item_id))
      const served = wanted.success.filter(({ line, named }) => named || offered.has(line.opportunity_item_id))
      return { from_store_id, lines: served.map(({ line }) => line), ...itemsFrom(served, of) }
    })
    .sort((one, other) => piecesIn(other.items) - piecesIn(one.items) || one.from_store_id - other.from_store_id)
  if (best !== undefined && Object.keys(best.errors).length > 0) return Result.fail(invalid(best.errors))
  if (best === undefined || best.items.length === 0)
    return asked.from_store_id == null
      ? reject("shortages", "No other store has what is missing.")
      : reject("from_store_id", "The store has nothing of what is missing.")
  const { lines } = best
  const needed_at = lines.map(({ starts_at }) => starts_at).toSorted()[0] ?? context.now
  const needed_until =
    lines
      .map(({ ends_at }) => ends_at)
      .toSorted()
      .at(-1) ?? openEnd
  const starts_at = asked.starts_at ?? (needed_at < context.now ? context.now : needed_at)
  const arrives_at = asked.arrives_at ?? starts_at
  const ends_at = needed_until >= openEnd ? null : needed_until
  return Result.succeed({
    opportunity_id: header.id,
    from_store_id: best.from_store_id,
    to_store_id: lines[0]?.store_id ?? 0,
    ...{ starts_at, arrives_at, ends_at },
    items: best.items
  })
})

/** Facts for planning a transfer. Without named goods, it moves what the order is short of. */
export const loadPlanned = Effect.fnUntraced(function* (
  sent: SentPlan,
  context: Pick<DecideContext, "now" | "settings" | "viewer">
) {
  const is_named = [...(sent.codes ?? []), ...(sent.items ?? [])].length > 0
  const header = is_named ? undefined : yield* Store.get(opportunities, sent.opportunity_id ?? 0)
  const short = header === undefined ? undefined : yield* loadShort(header, sent, context)
  const items = short !== undefined && Result.isSuccess(short) ? { items: short.success.items } : {}
  return yield* loadPlan({ ...sent, ...items }, context)
})

/** 422 on fields that apply only to purchase orders or the waiting list. */
const onlyMoves = (values: ResolveValues): Result.Result<void, Rejection> => {
  const refuse = (field: string) => reject(field, "A transfer orders nothing; leave the field out.")
  for (const name of ["supplier_id", "purchase_order_id", "currency", "expected_at", "note"] as const)
    if (values[name] != null) return refuse(name)
  if (values.sub_rental === true) return refuse("sub_rental")
  const at = values.lines?.findIndex(({ unit_cost }) => unit_cost !== null) ?? -1
  return at < 0 ? Result.succeed(undefined) : refuse(`lines.${at}.unit_cost`)
}
/** The transfer that resolves shortages, and facts of planning it. */
export const loadResolution = Effect.fnUntraced(function* (
  header: OpportunityRow,
  values: ResolveValues,
  context: Pick<DecideContext, "now" | "settings" | "viewer">
) {
  const short = Result.andThen(onlyMoves(values), yield* loadShort(header, values, context))
  if (Result.isFailure(short)) return Result.fail(short.failure)
  const { arrives_at, ends_at } = short.success
  if (ends_at !== null && ends_at <= arrives_at)
    return reject("arrives_at", `The goods are needed until ${ends_at} only; they have to arrive before that.`)
  return Result.succeed({ sent: short.success, facts: yield* loadPlan(short.success, context) })
})
