/** Facts and rules of one scan, by kind of goods. */
import { Effect, Result } from "effect"
import { invalidField, lockStreams, picked, reject, Store } from "../../kernel/index.ts"
import type { DecideContext, Decided, Input, NewEvent } from "../../kernel/index.ts"
import { demandSettings, liveLines, withLine } from "../../orders/opportunities/state/index.ts"
import type { DecisionState, HeldBack } from "../../orders/opportunities/state/index.ts"
import { asset_assignments, checked_in, dispatched, good, on_hire } from "../../orders/opportunities/tables/index.ts"
import { opportunities, type ItemRow, type OpportunityRow } from "../../orders/opportunities/tables/index.ts"
import { dispatchQuantity, returnQuantity } from "../../orders/opportunities/units/bulk.ts"
import type { ProductRow } from "../../products/products/schema.ts"
import { bulk_category, inspectionWarnings, stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import type { ScanDecided, ScanFacts, Wanted } from "./facts.ts"
import { containerOf, decidedAs, loadScan, orderWords, scannedOf } from "./facts.ts"
import { caseOut, kitsWith, spread } from "./cases.ts"
import { labelOf } from "../containers/events.ts"
import { caseIn, dispatchedAt, timeTold, unitIn } from "./coming-in.ts"
import { type Found, lookUp, type Named, unitById, unitWith } from "./codes.ts"
import { unitOut } from "./unit-out.ts"

// Dispatches and returns quantities of bulk products.

/** Error of a quantity for a product that is tracked by unit. */
const bulkText = (product: ProductRow): string => `${product.name} is tracked unit by unit; scan the code on the unit.`
const bulkQuantity = ({ found }: ScanFacts, { quantity }: Wanted): number => quantity ?? found.read.quantity ?? 1

/** Counted parts of kits have no line: the error says to scan their kit. */
const bulkOut = (
  facts: ScanFacts,
  known: DecisionState,
  product: ProductRow,
  wanted: Wanted,
  context: DecideContext
): ScanDecided =>
  Result.mapError(
    moveBulk(facts, known, product, wanted, "out", (state, line, quantity) =>
      dispatchQuantity(state, line, quantity, context.viewer.user_id || null, context)
    ),
    (rejection) => {
      const { errors, message } = rejection
      const kits = kitsWith(known, product.id, demandSettings(context.settings, context.now))
      const [[field, [text = ""] = []] = []] = Object.entries(errors ?? {})
      if (kits.length === 0 || (field !== "quantity" && field !== wanted.field)) return rejection
      const ways = kits.map(
        ({ name, pieces }) => `The ${pieces} that belong to ${name} go with it: scan the code of ${name}.`
      )
      return invalidField(field, [text === "" ? message : text, ...ways].join(" "))
    }
  )

const moveBulk = (
  facts: ScanFacts,
  known: DecisionState,
  product: ProductRow,
  wanted: Wanted,
  direction: "out" | "in",
  move: (
    state: DecisionState,
    line: ItemRow,
    quantity: string
  ) => Decided<{ readonly _meta: HeldBack | null; readonly id: number; readonly item_id: number }>
): ScanDecided =>
  Result.gen(function* () {
    if (known.stocked.get(product.id)?.is_serialised === true) return yield* reject(wanted.field, bulkText(product))
    const quantity = bulkQuantity(facts, wanted)
    if (quantity < 1) return yield* reject(wanted.field, `0 × ${product.name} moves nothing.`)
    const parts = spread(known, product.id, quantity, direction)
    if (parts.length === 0)
      return yield* reject(wanted.field, `${product.name} is not on this order (${orderWords(known)}).`)
    let state = known
    let _meta: HeldBack | null = null
    const events: Array<NewEvent> = []
    for (const { line, quantity: some } of parts) {
      const moved = yield* move(state, line, some.toFixed(2))
      events.push(...moved.events)
      _meta ??= moved.result._meta
      const column = direction === "out" ? "dispatched_quantity" : "returned_quantity"
      const before = liveLines(state.opportunity).find(({ id }) => id === line.id) ?? line
      state = {
        ...state,
        opportunity: withLine(state.opportunity, line.id, { [column]: (Number(before[column]) + some).toFixed(2) })
      }
    }
    return decidedAs(
      known,
      events,
      scannedOf(facts, {
        direction,
        kind: "bulk",
        name: parts[0]?.line.name ?? product.name,
        product_id: product.id,
        opportunity_item_id: parts[0]?.line.id ?? null,
        quantity
      }),
      _meta
    )
  })

// Rule of a scan (rules/opportunities 9.6). A unit is allocated if needed, prepared and dispatched, all or nothing; a
// case is dispatched with its contents; returned goods are checked in.

/**
 * Moves an error to the field that named the goods, as rules use fields of other bodies. Errors with more than a text
 * (blocked dispatch, seal) stay.
 */
const named = (decided: ScanDecided, { field }: Wanted): ScanDecided =>
  Result.mapError(decided, (rejection) => {
    const { errors } = rejection
    return errors === undefined ||
      ["break_seal", "quantity", "scanned_at", "shortages", field].some((key) => key in errors)
      ? rejection
      : invalidField(field, Object.values(errors).flat().join(" "))
  })
export const scanOut = (facts: ScanFacts, wanted: Wanted, context: DecideContext): ScanDecided =>
  named(
    Result.flatMap(timeTold(wanted, context.now), () =>
      Result.flatMap(leftAt(facts, wanted, context.now), (at) =>
        Result.map(out(facts, { ...wanted, at }, context), ({ events, result }) => ({
          events,
          result: { ...result, warnings: inspectionWarnings(leaving(facts), context) }
        }))
      )
    ),
    wanted
  )
export const scanIn = (facts: ScanFacts, wanted: Wanted, context: DecideContext): ScanDecided =>
  named(
    Result.flatMap(timeTold(wanted, context.now), () => back(facts, wanted, context)),
    wanted
  )

/** The scanned unit; of a case also its contents and the unit that it is itself. */
const leaving = ({ as_case, unit }: ScanFacts): ReadonlyArray<StockLevelRow> => [
  ...(unit === undefined || unit.level.id === as_case?.housing?.id ? [] : [unit.level]),
  ...[...(as_case?.units.values() ?? [])].map(({ level }) => level),
  ...(as_case?.housing === undefined ? [] : [as_case.housing])
]
/** Dispatch time of a unit, or of a case's contents, never before the last return of any of them. */
const leftAt = (facts: ScanFacts, wanted: Wanted, now: string) => {
  let latest: { readonly name: string; readonly at: string } | undefined
  for (const level of leaving(facts)) {
    const at = facts.returned.get(level.id)
    if (at !== undefined && (latest === undefined || at > latest.at)) latest = { name: labelOf(level), at }
  }
  return latest === undefined ? Result.succeed(wanted.at) : dispatchedAt(wanted, latest.name, latest.at, now)
}

/** Error of a quantity other than 1 for anything but a bulk product; undefined if none. */
const moreThanOne = (named: Exclude<Named, { kind: "product" }>, { quantity }: Wanted) =>
  quantity === null || quantity === 1
    ? undefined
    : reject("quantity", `${named.kind === "unit" ? labelOf(named.level) : named.container.name} is one piece.`)

/** Dispatches the scanned goods to the order, all or nothing. */
const out = (facts: ScanFacts, wanted: Wanted, context: DecideContext): ScanDecided => {
  const { as_case, found, known } = facts
  const { named } = found
  if (named === undefined || known === undefined) return reject(wanted.field, found.problem ?? "Name an order.")
  if (named.kind === "product") return bulkOut(facts, known, named.product, wanted, context)
  const more = moreThanOne(named, wanted)
  if (more !== undefined) return more
  const is_closed_case = as_case !== undefined && as_case.target.container.status !== "open"
  if (as_case !== undefined && (named.kind === "container" || is_closed_case || as_case.target.items.length > 0))
    return Result.map(caseOut(as_case, known, wanted, context), ({ _meta, events, pieces }) =>
      decidedAs(
        known,
        events,
        scannedOf(facts, {
          direction: "out",
          kind: "container",
          name: as_case.target.container.name,
          container_id: as_case.target.container.id,
          stock_level_id: as_case.housing?.id ?? null,
          product_id: as_case.target.container.product_id,
          quantity: pieces
        }),
        _meta
      )
    )
  return named.kind === "container"
    ? reject(wanted.field, `${named.container.name} is no longer in use.`)
    : unitOut(facts, known, named.level, wanted, context)
}

/** Warning where fewer pieces than came back unfit are in service at their stores; empty if none. */
const fewerOut = (
  { in_service }: ScanFacts,
  known: DecisionState,
  product_id: number,
  { name, quantity }: { readonly name: string; readonly quantity: number }
): ReadonlyArray<string> => {
  if (in_service === undefined) return []
  const left = new Map(in_service)
  let out = 0
  for (const { line, quantity: back } of spread(known, product_id, quantity, "in")) {
    const store_id = line.return_store_id ?? line.dispatch_store_id ?? known.opportunity.header.store_id ?? 0
    const there = left.get(store_id) ?? 0
    const some = Math.min(there, back)
    left.set(store_id, there - some)
    out += some
  }
  return out >= quantity
    ? []
    : [
        `${out === 0 ? "None" : `Only ${out}`} of the ${quantity} × ${name} could be taken out of service: ` +
          `no${out === 0 ? "thing" : " more"} of it is in service here.`
      ]
}

/** Checks in the scanned goods on the order they are out on, all or nothing. */
const back = (facts: ScanFacts, wanted: Wanted, context: DecideContext): ScanDecided => {
  const { as_case, found, known } = facts
  const { named } = found
  if (named === undefined) return reject(wanted.field, found.problem ?? "Scan a code.")
  if (named.kind === "product")
    return known === undefined
      ? reject(wanted.field, "no unit has this code; for a bulk product name the order: scan in ORDER")
      : Result.map(
          moveBulk(facts, known, named.product, wanted, "in", (state, line, quantity) =>
            returnQuantity(
              state,
              line,
              quantity,
              { received_by: context.viewer.user_id || null, ...picked(wanted, ["condition", "damage_notes"]) },
              context
            )
          ),
          ({ events, result }) => ({
            events,
            result: { ...result, warnings: fewerOut(facts, known, named.product.id, result.scanned) }
          })
        )
  const more = moreThanOne(named, wanted)
  if (more !== undefined) return more
  if (as_case !== undefined && as_case.target.container.status === "dispatched")
    return caseIn(facts, as_case, wanted, context)
  if (named.kind === "container")
    return reject(wanted.field, `${named.container.name} is not out: it is ${named.container.status}.`)
  return unitIn(facts, named.level, wanted, context)
}

export { loadCounts, warningsOf } from "./coming-in.ts"

type Asking = Pick<Input, "now" | "settings">
interface Scanned {
  readonly code?: string | null
  readonly stock_level_id?: number | null
  readonly condition?: number | null
}
/** Locks the streams of scanned goods; called before facts are read. */
const lockNamed = Effect.fnUntraced(function* (named: Named | undefined): Store.Reads<void> {
  const container = containerOf(named)
  const level_id = named?.kind === "unit" ? named.level.id : undefined
  yield* lockStreams([
    ...(container === undefined ? [] : ["compositions", `container:${container.id}`]),
    ...(level_id === undefined ? [] : [`stock_level:${level_id}`])
  ])
})

/** Looks the code up and locks its goods; on Postgres then again, as they may have been packed or sent meanwhile. */
const found = Effect.fnUntraced(function* ({ code, stock_level_id }: Scanned): Store.Reads<Found> {
  const look =
    stock_level_id == null
      ? lookUp(code ?? "")
      : code == null
        ? unitById(stock_level_id)
        : unitWith(stock_level_id, code)
  const first = yield* look
  yield* lockNamed(first.named)
  return (yield* Store).dialect === "pg" && first.named !== undefined ? yield* look : first
})

/** Order that the unit or case is out on, or was returned from without a check; locked. */
const holderOf = Effect.fnUntraced(function* ({ named: one }: Found): Store.Reads<OpportunityRow | undefined> {
  const container = containerOf(one)
  const out =
    one?.kind !== "unit"
      ? undefined
      : ((yield* Store.first(asset_assignments, { stock_level_id: one.level.id, status: [dispatched, on_hire] })) ??
        (yield* Store.first(
          asset_assignments,
          { stock_level_id: one.level.id, status: checked_in },
          { order: ["-returned_at", "-id"] }
        )))
  const id = container?.status === "dispatched" ? container.opportunity_id : (out?.opportunity_id ?? null)
  if (id === null) return undefined
  yield* lockStreams([`opportunity:${id}`])
  const header = yield* Store.get(opportunities, id)
  return header === undefined || header.deleted_at !== null ? undefined : header
})

export const scanOfOrder = Effect.fnUntraced(function* (scanned: Scanned, order: OpportunityRow, input: Asking) {
  const code = yield* found(scanned)
  const facts = yield* loadScan(code, order, input)
  return code.named?.kind === "product" && (scanned.condition ?? good) !== good
    ? { ...facts, in_service: yield* inServiceOf(code.named.product.id) }
    : facts
})
/** Pieces of a bulk product that are here and in service, by store. */
const inServiceOf = Effect.fnUntraced(function* (product_id: number): Store.Reads<ReadonlyMap<number, number>> {
  const where = { product_id, stock_category: bulk_category, given_back_at: null }
  const levels = yield* Store.pick(stock_levels, ["store_id", "quantity_held", "out_of_service"], where)
  const pieces = new Map<number, number>()
  for (const { out_of_service, quantity_held, store_id } of levels) {
    const out = out_of_service.reduce((sum, { quantity }) => sum + quantity, 0)
    pieces.set(store_id, (pieces.get(store_id) ?? 0) + Math.max(0, Math.floor(Number(quantity_held)) - out))
  }
  return pieces
})
/** Scans on the order that has the goods. */
export const scanOfWhoHasIt = Effect.fnUntraced(function* (scanned: Scanned, input: Asking) {
  const code = yield* found(scanned)
  return yield* loadScan(code, yield* holderOf(code), input)
})
