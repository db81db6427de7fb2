/**
 * Reactions of the workshop: goods checked in damaged go to quarantine, missing ones are lost, and stock moved out by
 * the ledger leaves the workshop (rules/availability 13.3).
 */
import { Effect, Result } from "effect"
import { dataOf, type DecideContext, lockStreams, type NewEvent, picked, reaction } from "../../kernel/index.ts"
import { referredRows, rowCreated, rowUpdated, type Settings, Store, streamOf } from "../../kernel/index.ts"
import { later, updatedEvents, withRules } from "../../kernel/index.ts"
import { lineWindow } from "../../orders/availability/rules/line-demands.ts"
import { demandDateSourceIn } from "../../orders/availability/facts/load.ts"
import { allocated, asset_assignments, damaged, isClosed, missing } from "../../orders/opportunities/tables/index.ts"
import { opportunities, opportunity_items, prepared, statuses } from "../../orders/opportunities/tables/index.ts"
import type { OutOfServiceState, StockLevelRow } from "../../products/stock/schema.ts"
import { bulk_category, outOfServiceIn, stock_levels, stock_transactions } from "../../products/stock/schema.ts"
import { millisOf } from "../../values/time.ts"
import { followLedger, isUnit, release, type ServiceFacts, takeOut } from "./decide.ts"
import { service_records } from "./schema.ts"
import { statusChanges } from "../../orders/opportunities/events/header.ts"
import { bulkReturned, bulkReturnReverted, unitChecked, unitReverted } from "../../orders/opportunities/events/lines.ts"

// Reads facts of the workshop, and allocations of units out of service.

/** Facts of these levels by id: three queries; two without `newest`, for several levels. */
export const loadServiceFacts = Effect.fnUntraced(function* (
  ids: ReadonlyArray<number>
): Store.Reads<ReadonlyMap<number, ServiceFacts>> {
  if (ids.length === 0) return new Map()
  const levels = yield* Store.getMany(stock_levels, ids)
  const open = Map.groupBy(
    yield* Store.find(service_records, { stock_level_id: [...ids], ended_at: null }, { order: ["starts_at", "id"] }),
    (row) => row.stock_level_id
  )
  const lines = Map.groupBy(
    ids.length > 1
      ? []
      : yield* Store.find(
          stock_transactions,
          { stock_level_id: [...ids] },
          { order: ["-transaction_at", "-id"], limit: 1 }
        ),
    (row) => row.stock_level_id
  )
  return new Map(
    levels.map((level) => [level.id, { level, open: open.get(level.id) ?? [], newest: lines.get(level.id)?.[0] }])
  )
})

/** A line with an allocated, undispatched unit that is out of service in that period. */
interface Promised {
  readonly opportunity_id: number
  readonly opportunity_item_id: number
  readonly asset_assignment_id: number
  readonly stock_level_id: number
  readonly number: string | null
  readonly subject: string
  readonly line_name: string
  readonly starts_at: string
  readonly ends_at: string
}
/**
 * Allocations of these units in their periods out of service, by start: they need another unit. Three queries for any
 * number of units.
 */
export const promisedTo = Effect.fnUntraced(function* (
  levels: ReadonlyArray<StockLevelRow>,
  { now, settings }: { readonly now: string; readonly settings: Settings }
): Store.Reads<ReadonlyArray<Promised>> {
  const out = new Map(levels.filter((one) => one.out_of_service.length > 0 || one.is_gone).map((one) => [one.id, one]))
  if (out.size === 0) return []
  const units = yield* Store.find(asset_assignments, { stock_level_id: [...out.keys()], status: [allocated, prepared] })
  const headers = new Map(
    (yield* Store.getMany(opportunities, [...new Set(units.map((unit) => unit.opportunity_id))]))
      .filter((row) => row.deleted_at === null && !isClosed(row))
      .map((row) => [row.id, row])
  )
  const lines = new Map(
    (yield* Store.getMany(opportunity_items, [...new Set(units.map((unit) => unit.opportunity_item_id))]))
      .filter((row) => row.is_live)
      .map((row) => [row.id, row])
  )
  const date_source = { demand_date_source: demandDateSourceIn(settings), now }
  return units
    .flatMap((unit): ReadonlyArray<Promised> => {
      const header = headers.get(unit.opportunity_id),
        line = lines.get(unit.opportunity_item_id),
        level = out.get(unit.stock_level_id)
      if (header === undefined || line === undefined || level === undefined) return []
      const { ends_at, starts_at } = lineWindow(line, header, date_source)
      const window = { from: millisOf(starts_at), to: millisOf(ends_at) }
      if (!level.is_gone && outOfServiceIn(level.out_of_service, window, millisOf(now)) === undefined) return []
      return [
        {
          opportunity_id: header.id,
          opportunity_item_id: line.id,
          asset_assignment_id: unit.id,
          stock_level_id: unit.stock_level_id,
          number: header.number,
          subject: header.subject,
          line_name: line.name,
          starts_at,
          ends_at
        }
      ]
    })
    .sort((one, other) => (one.starts_at < other.starts_at ? -1 : one.starts_at > other.starts_at ? 1 : 0))
})

/** Returned stock in bad condition: quantity per line, and the levels it may be of, in the order they are taken. */
interface CameBack {
  readonly stock_level_ids: ReadonlyArray<number>
  readonly quantity: number
  readonly condition: number
  readonly note: string | null
  readonly opportunity_id: number
  readonly opportunity_item_id: number
}
interface CameBackFacts {
  readonly back: ReadonlyArray<CameBack>
  readonly levels: ReadonlyMap<number, ServiceFacts>
}
const textOf = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null)
const isUnfit = (condition: unknown): condition is number => condition === damaged || condition === missing
/** Units of these checks, by assignment: one query. */
const unitsBack = Effect.fnUntraced(function* (
  checks: ReadonlyArray<ReturnType<typeof dataOfChecks>[number]>
): Store.Reads<ReadonlyArray<CameBack>> {
  const unfit = checks.filter(({ also }) => isUnfit(also["condition"]))
  if (unfit.length === 0) return []
  const units = yield* referredRows(asset_assignments, unfit, "assignment_id")
  return unfit.flatMap(({ also, assignment_id, set }): ReadonlyArray<CameBack> => {
    const unit = units.get(assignment_id)
    return unit === undefined
      ? []
      : [
          {
            stock_level_ids: [unit.stock_level_id],
            quantity: 1,
            condition: Number(also["condition"]),
            note: textOf(set.notes),
            opportunity_id: unit.opportunity_id,
            opportunity_item_id: unit.opportunity_item_id
          }
        ]
  })
})
const dataOfChecks = (all: ReadonlyArray<NewEvent>) => dataOf(unitChecked, all)

/**
 * Damaged or missing quantities of bulk returns, with the levels at the return store: own ones, then sub-hired ones
 * that are here, the longest first. Three queries.
 */
const quantitiesBack = Effect.fnUntraced(function* (
  returns: ReadonlyArray<ReturnType<typeof dataOfReturns>[number]>
): Store.Reads<ReadonlyArray<CameBack>> {
  const unfit = returns.filter(({ also }) => isUnfit(also["condition"]) && Number(also["quantity"]) >= 1)
  if (unfit.length === 0) return []
  const lines = yield* referredRows(opportunity_items, unfit, "item_id")
  const headers = yield* referredRows(opportunities, unfit, "id")
  const product_id = [...lines.values()].flatMap(({ item_id }) => item_id ?? [])
  const where = { product_id, stock_category: bulk_category, given_back_at: null }
  const levels = yield* Store.find(stock_levels, where, { order: ["is_sub_hired", "-ends_at", "id"] })
  return unfit.map(({ also, id, item_id }): CameBack => {
    const line = lines.get(item_id)
    const store_id = line?.return_store_id ?? line?.dispatch_store_id ?? headers.get(id)?.store_id
    return {
      stock_level_ids: levels.flatMap((one) =>
        one.product_id === line?.item_id && one.store_id === store_id ? one.id : []
      ),
      quantity: Math.floor(Number(also["quantity"])),
      condition: Number(also["condition"]),
      note: textOf(also["damage_notes"]),
      opportunity_id: id,
      opportunity_item_id: item_id
    }
  })
})
const dataOfReturns = (all: ReadonlyArray<NewEvent>) => dataOf(bulkReturned, all)

/** Service state after a check-in; undefined if unchanged, as for stock that is gone or in the workshop. */
const outAfterCheck = ({ level, open }: ServiceFacts, condition: number): OutOfServiceState | undefined => {
  if (level.is_gone || level.given_back_at !== null) return undefined
  const wanted = condition === missing ? "lost" : "quarantine"
  const [first] = isUnit(level) ? open : []
  return first?.state === wanted || (first?.state === "in_repair" && wanted === "quarantine") ? undefined : wanted
}

/**
 * Events for goods checked in damaged or missing. They never reject a check-in: at most the quantities of the levels go
 * out of service. Parts of one level are handled in turn.
 */
const checkedOut = (
  { back, levels }: CameBackFacts,
  context: DecideContext
): Result.Result<ReadonlyArray<NewEvent>, never> => {
  const events: Array<NewEvent> = []
  const now = new Map(levels)
  for (const one of back) {
    let left = one.quantity
    for (const id of one.stock_level_ids) {
      const facts = now.get(id)
      const taken = facts === undefined ? undefined : takenOut(facts, one, left, context)
      if (taken === undefined) continue
      events.push(...taken.events)
      now.set(id, taken.after)
      left -= taken.quantity
    }
  }
  return Result.succeed(events)
}
/** Takes what came back out of service, up to `most`; undefined if nothing of the level is to be taken. */
const takenOut = (facts: ServiceFacts, back: CameBack, most: number, context: DecideContext) => {
  const state = outAfterCheck(facts, back.condition)
  const there = Math.floor(Number(facts.level.quantity_held)) - facts.open.reduce((sum, row) => sum + row.quantity, 0)
  const quantity = isUnit(facts.level) ? most : Math.min(most, there)
  if (state === undefined || quantity < 1) return undefined
  const decided = takeOut(
    facts,
    state,
    {
      quantity,
      reason: state === "lost" ? "Missing at check-in" : "Checked in damaged",
      ...picked(back, ["note", "opportunity_id", "opportunity_item_id"])
    },
    context
  )
  return Result.isFailure(decided) ? undefined : { ...decided.success, quantity }
}

const checkedInUnfit = reaction({
  on: [unitChecked, bulkReturned],
  facts: ({ all }) =>
    Effect.gen(function* (): Store.Reads<CameBackFacts> {
      const back = [...(yield* unitsBack(dataOfChecks(all))), ...(yield* quantitiesBack(dataOfReturns(all)))]
      const ids = [...new Set(back.flatMap(({ stock_level_ids }) => stock_level_ids))]
      if (ids.length === 0) return { back: [], levels: new Map() }
      yield* lockStreams(ids.map((id) => streamOf("stock_level", id)))
      return { back, levels: yield* loadServiceFacts(ids) }
    }),
  decide: (_happened, facts, context) => checkedOut(facts, context)
})

const levelChanged = rowUpdated(stock_levels),
  levelMade = rowCreated(stock_levels),
  lineMade = rowCreated(stock_transactions)
const sellType = 7

/** Follows levels that the ledger moved out or back in, that changed store, or that went back to their supplier. */
const levelFollowed = reaction({
  on: [levelChanged],
  facts: ({ all }) => {
    const changed = dataOf(levelChanged, all)
    // Leaves out levels changed by the workshop's own commands.
    const settled = new Set(changed.flatMap((one) => ("out_of_service" in one || "service_state" in one ? one.id : [])))
    // Where a part of a level went back, that part is a new level.
    const is_part_back = dataOf(levelMade, all).some(({ given_back_at }) => typeof given_back_at === "string")
    const ids = changed.flatMap((one) =>
      ("is_gone" in one || "store_id" in one || "given_back_at" in one || is_part_back) && !settled.has(one.id)
        ? one.id
        : []
    )
    return loadServiceFacts([...new Set(ids)])
  },
  decide: ({ all }, levels, context) =>
    Result.succeed(
      dataOf(levelChanged, all).flatMap(({ given_back_at, id, is_gone, quantity_held, store_id }) => {
        const facts = levels.get(id)
        if (facts === undefined) return []
        if (typeof given_back_at === "string" || (facts.level.is_sub_hired && typeof quantity_held === "string")) {
          const stays = typeof given_back_at === "string" ? 0 : Number(quantity_held)
          // Lost pieces are settled with the supplier last: only pieces that are here go back.
          const isLost = ({ state }: ServiceFacts["open"][number]): boolean => state === "lost"
          const open = [...facts.open.filter((one) => !isLost(one)), ...facts.open.filter(isLost)]
          const note = "Given back to, or settled with, the supplier"
          return followLedger({ ...facts, open }, { is_gone: true, sold: false, stays, note }, context)
        }
        const moved =
          typeof store_id !== "number"
            ? []
            : facts.open.flatMap((record) => updatedEvents(service_records, record, { store_id }))
        if (typeof is_gone !== "boolean") return moved
        const sold = dataOf(lineMade, all).some(
          (line) => line["stock_level_id"] === id && line["transaction_type"] === sellType
        )
        return [...moved, ...followLedger(facts, { is_gone, sold }, context)]
      })
    )
})

/** Reverting a check puts units it quarantined or marked lost back in service, unless they were changed since. */
const checkReverted = reaction({
  on: [unitReverted],
  facts: ({ events }) =>
    Effect.gen(function* () {
      const unfit = events.filter(({ data }) => isUnfit(data.was.condition_on_return))
      const units = yield* Store.getMany(
        asset_assignments,
        unfit.map(({ data }) => data.assignment_id)
      )
      yield* lockStreams(units.map((unit) => streamOf("stock_level", unit.stock_level_id)))
      return { units, levels: yield* loadServiceFacts(units.map((unit) => unit.stock_level_id)) }
    }),
  decide: (_happened, { levels, units }, context) =>
    Result.succeed(
      units.flatMap((unit) => {
        const facts = levels.get(unit.stock_level_id)
        const record = facts?.open[0]
        if (facts === undefined || record?.opportunity_item_id !== unit.opportunity_item_id) return []
        if (record.state !== (unit.condition_on_return === missing ? "lost" : "quarantine")) return []
        const decided = release(facts, { note: "The check-in was reverted" }, context)
        return Result.isSuccess(decided) ? decided.success.events : []
      })
    )
})

/**
 * Reverting a bulk return: of its line no more stays in quarantine or lost than was returned. Records the workshop has
 * changed stay.
 */
const returnReverted = reaction({
  on: [bulkReturnReverted],
  facts: ({ events }) =>
    Effect.gen(function* () {
      const line_ids = events.map(({ data }) => data.item_id)
      const open = yield* Store.find(service_records, { opportunity_item_id: line_ids, ended_at: null })
      const ids = [...new Set(open.map((one) => one.stock_level_id))]
      yield* lockStreams(ids.map((id) => streamOf("stock_level", id)))
      return yield* loadServiceFacts(ids)
    }),
  decide: ({ events }, levels, context) => {
    const now = new Map(levels)
    return Result.succeed(
      events.flatMap(({ data }) => releasedTo(now, data.item_id, Number(data.set["returned_quantity"]), context))
    )
  }
})
/** Releases open records of a line above quantity `back`, newest first, and brings `levels` up to date. */
const releasedTo = (
  levels: Map<number, ServiceFacts>,
  item_id: number,
  back: number,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const own = [...levels.values()]
    .flatMap(({ open }) => open.filter((one) => one.opportunity_item_id === item_id))
    .sort((one, other) =>
      one.starts_at === other.starts_at ? one.id - other.id : one.starts_at < other.starts_at ? -1 : 1
    )
  let beyond = own.reduce((sum, one) => sum + one.quantity, 0) - Math.floor(back)
  const events: Array<NewEvent> = []
  for (const { id, quantity, state, stock_level_id } of own.toReversed()) {
    const facts = levels.get(stock_level_id)
    const some = Math.min(quantity, beyond)
    if (facts === undefined || some < 1 || (state !== "quarantine" && state !== "lost")) continue
    const sent = { service_record_id: id, quantity: some, note: "The return was reverted" }
    const decided = release(facts, sent, context)
    if (Result.isFailure(decided)) continue
    events.push(...decided.success.events)
    levels.set(stock_level_id, decided.success.after)
    beyond -= some
  }
  return events
}

const { status: complete } = statuses.complete
const leavingStore = later(() => import("./leaving-store.ts"))
/** Posts the sale of goods with their order's completion, and takes it back when the order is reopened. */
const goodsSold = reaction({
  on: [statusChanges.named.reopened, statusChanges.named.status_changed],
  facts: ({ events }) =>
    Effect.gen(function* () {
      const ids = events.flatMap(({ data: { id, set, was } }) =>
        was.status === complete || set.status === complete ? id : []
      )
      return ids.length === 0 ? undefined : yield* withRules(leavingStore, ({ sales }) => sales.load(ids))
    }),
  decide: ({ events }, facts, context) =>
    facts === undefined
      ? Result.succeed([])
      : facts.rules.sales.decide(
          facts.known,
          events.flatMap(({ data }) => (data.set.status === complete ? data.id : [])),
          context
        )
})

export const workshopReactions = [checkedInUnfit, checkReverted, levelFollowed, returnReverted, goodsSold]
