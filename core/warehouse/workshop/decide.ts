/**
 * Rules of the workshop: stock goes out of service and returns (rules/availability 13). A unit has at most one open
 * record, a bulk level may have several, each for a part of its quantity.
 */
import { Result } from "effect"
import { createdEvent, picked, reject, updatedEvents } from "../../kernel/index.ts"
import type { DecideContext, NewEvent, Rejection } from "../../kernel/index.ts"
import { postTransaction } from "../../products/stock/decide.ts"
import type { OutOfService, OutOfServiceState, ServiceState, StockLevelRow } from "../../products/stock/schema.ts"
import { came_back_text, out_of_service_labels, stateWords, stock_levels } from "../../products/stock/schema.ts"
import { type StockTransactionRow, transitionRefusal, unit_category } from "../../products/stock/schema.ts"
import { isInFuture } from "../../values/time.ts"
import { service_records, type ServiceRecordRow } from "./schema.ts"

export const isUnit = (level: StockLevelRow): boolean => level.stock_category === unit_category

export interface ServiceFacts {
  readonly level: StockLevelRow
  /** Open records of the level, by start. */
  readonly open: ReadonlyArray<ServiceRecordRow>
  /** Newest ledger line of the level; undefined if facts of several levels were read at once. */
  readonly newest: StockTransactionRow | undefined
  /** Open record that a check-in made of the loss to be recorded. */
  readonly loss?: number | undefined
}
/** Request to take stock out of service, from a user or a check-in. */
interface ServiceInput {
  readonly quantity?: number | null | undefined
  readonly service_record_id?: number | null | undefined
  readonly reason?: string | null | undefined
  readonly note?: string | null | undefined
  readonly starts_at?: string | null | undefined
  readonly expected_back_at?: string | null | undefined
  readonly cost?: number | null | undefined
  readonly opportunity_id?: number | null | undefined
  readonly opportunity_item_id?: number | null | undefined
}
interface ServiceDecision {
  readonly events: ReadonlyArray<NewEvent>
  readonly result: { readonly id: number; readonly service_record_id: number | null }
}
type ServiceDecided = Result.Result<ServiceDecision, Rejection>
/** Result with `after`: facts for the next rule of the same command on this level. */
type Followed = Result.Result<ServiceDecision & { readonly after: ServiceFacts }, Rejection>

export const levelName = (level: StockLevelRow): string =>
  level.asset_number ?? level.serial_number ?? level.barcode ?? level.item_name ?? `Stock level ${level.id}`

/** Columns of the level that follow from its records still open after the command. */
const levelSet = (level: StockLevelRow, open: ReadonlyArray<ServiceRecordRow>, gone_as?: ServiceState) => {
  const [first] = open
  return {
    out_of_service: open.map(entryOf),
    service_state: gone_as ?? (isUnit(level) && first !== undefined ? first.state : "in_service")
  }
}
const levelFollows = (
  level: StockLevelRow,
  open: ReadonlyArray<ServiceRecordRow>,
  gone_as?: ServiceState
): ReadonlyArray<NewEvent> => {
  return updatedEvents(stock_levels, level, levelSet(level, open, gone_as))
}
const factsWith = (facts: ServiceFacts, open: ReadonlyArray<ServiceRecordRow>): ServiceFacts => ({
  ...facts,
  level: { ...facts.level, ...levelSet(facts.level, open) },
  open
})
const entryOf = (row: ServiceRecordRow): OutOfService => ({
  service_record_id: row.id,
  state: outOfServiceState(row.state),
  ...picked(row, ["quantity", "starts_at", "expected_back_at"])
})
/** State of an open record, which is never "sold". */
const outOfServiceState = (state: string): OutOfServiceState =>
  Object.hasOwn(out_of_service_labels, state) ? (state as OutOfServiceState) : "quarantine"

/** Quantity of a bulk level that is in service. */
const inService = ({ level, open }: ServiceFacts): number =>
  Math.floor(Number(level.quantity_held)) - open.reduce((sum, one) => sum + one.quantity, 0)

/** Open record that the command refers to; undefined for stock in service. */
const recordMeant = (
  { level, open }: ServiceFacts,
  id: number | null | undefined
): Result.Result<ServiceRecordRow | undefined, Rejection> => {
  if (id === null || id === undefined) return Result.succeed(isUnit(level) ? open[0] : undefined)
  const found = open.find((one) => one.id === id)
  return found === undefined
    ? reject("service_record_id", `${levelName(level)} has no open service record ${id}.`)
    : Result.succeed(found)
}
/**
 * Quantity that the command refers to; default: 1 for a unit, else the record's or 1. 422 `quantity` if not 1 for a
 * unit, or above what the record or the level in service has.
 */
const quantityMeant = (
  facts: ServiceFacts,
  record: ServiceRecordRow | undefined,
  sent: number | null | undefined
): Result.Result<number, Rejection> => {
  const { level } = facts
  if (isUnit(level))
    return sent === null || sent === undefined || sent === 1
      ? Result.succeed(1)
      : reject("quantity", "The quantity field must be 1 for a serialised unit.")
  const quantity = sent ?? record?.quantity ?? 1
  const most = record?.quantity ?? inService(facts)
  return quantity <= most
    ? Result.succeed(quantity)
    : reject(
        "quantity",
        record === undefined
          ? `${Math.max(0, most)} of stock level ${level.id} are in service; ${quantity} cannot be taken out.`
          : `Service record ${record.id} is for ${most}; ${quantity} cannot be taken from it.`
      )
}

const isHere = (level: StockLevelRow): Result.Result<void, Rejection> =>
  level.given_back_at !== null
    ? reject("stock_level", `${levelName(level)} went back to its supplier.`)
    : level.is_gone
      ? reject("stock_level", `${levelName(level)} is no longer in stock; ${came_back_text}`)
      : Result.succeed(undefined)
const inOrder = (starts_at: string, sent: ServiceInput, context: DecideContext): Result.Result<void, Rejection> =>
  isInFuture(starts_at, context.now)
    ? reject("starts_at", "The starts at field must not be in the future; record it when it happens.")
    : sent.expected_back_at !== null && sent.expected_back_at !== undefined && sent.expected_back_at <= starts_at
      ? reject("expected_back_at", "The expected back at field must be a date after it went out of service.")
      : Result.succeed(undefined)

const newRecord = (
  level: StockLevelRow,
  state: ServiceState,
  quantity: number,
  sent: ServiceInput,
  context: DecideContext
): ServiceRecordRow => ({
  id: context.id(service_records),
  stock_level_id: level.id,
  product_id: level.product_id,
  store_id: level.store_id,
  state: state === "in_service" ? "quarantine" : state,
  quantity,
  reason: sent.reason ?? null,
  note: sent.note ?? null,
  starts_at: sent.starts_at ?? context.happened_at,
  expected_back_at: sent.expected_back_at ?? null,
  ended_at: null,
  end_note: null,
  cost: sent.cost ?? null,
  opportunity_id: sent.opportunity_id ?? null,
  opportunity_item_id: sent.opportunity_item_id ?? null,
  opportunity_cost_id: null,
  created_by_user_id: context.viewer.user_id || null,
  ended_by_user_id: null,
  created_at: context.now,
  updated_at: context.now,
  deleted_at: null
})

interface End {
  readonly at: string
  readonly note?: string | null | undefined
  readonly cost?: number | null | undefined
}
/**
 * Ends a record, or `quantity` of it, which becomes a record of its own, so that the history adds up. `left`: quantity
 * that stays open.
 */
const ended = (
  record: ServiceRecordRow,
  quantity: number,
  { at, cost, note }: End,
  context: DecideContext
): { readonly events: ReadonlyArray<NewEvent>; readonly left: ReadonlyArray<ServiceRecordRow> } => {
  const set = {
    ended_at: at < record.starts_at ? record.starts_at : at,
    ended_by_user_id: context.viewer.user_id || null,
    end_note: note ?? null,
    ...(cost === null || cost === undefined ? {} : { cost })
  }
  if (quantity >= record.quantity) {
    return { events: updatedEvents(service_records, record, set), left: [] }
  }
  const left = { ...record, quantity: record.quantity - quantity }
  const part = { ...record, ...set, id: context.id(service_records), quantity, opportunity_cost_id: null }
  return {
    events: [
      createdEvent(service_records, part),
      ...updatedEvents(service_records, record, { quantity: left.quantity })
    ],
    left: [left]
  }
}
const without = (open: ReadonlyArray<ServiceRecordRow>, record: ServiceRecordRow | undefined) =>
  open.filter((one) => one.id !== record?.id)

/**
 * Takes stock out of service, or changes its state; an equal state updates the open record. 422: `stock_level` (gone,
 * or state not allowed), `quantity`, `service_record_id`, `starts_at` in the future, `expected_back_at` before the
 * start.
 */
export const takeOut = (
  facts: ServiceFacts,
  state: OutOfServiceState,
  sent: ServiceInput,
  context: DecideContext
): Followed =>
  Result.gen(function* () {
    const { level, open } = facts
    yield* isHere(level)
    const record = yield* recordMeant(facts, sent.service_record_id)
    const quantity = yield* quantityMeant(facts, record, sent.quantity)
    const refusal = record === undefined ? undefined : transitionRefusal(record.state, state)
    if (refusal !== undefined) return yield* reject("stock_level", `${levelName(level)} ${refusal}`)
    if (record !== undefined && record.state === state && quantity === record.quantity)
      return yield* changed(facts, record, sent, context)
    const starts_at = sent.starts_at ?? context.happened_at
    yield* inOrder(starts_at, sent, context)
    const before = record === undefined ? undefined : ended(record, quantity, { at: starts_at }, context)
    // Keeps the origin through all steps of a repair.
    const row = newRecord(
      level,
      state,
      quantity,
      {
        opportunity_id: record?.opportunity_id ?? null,
        opportunity_item_id: record?.opportunity_item_id ?? null,
        ...sent,
        ...(sent.reason === undefined && record !== undefined ? { reason: record.reason } : {})
      },
      context
    )
    const now_open = [...without(open, record), ...(before?.left ?? []), row]
    return {
      events: [...(before?.events ?? []), createdEvent(service_records, row), ...levelFollows(level, now_open)],
      result: { id: level.id, service_record_id: row.id },
      after: factsWith(facts, now_open)
    }
  })

const changed = (facts: ServiceFacts, record: ServiceRecordRow, sent: ServiceInput, context: DecideContext): Followed =>
  Result.map(inOrder(sent.starts_at ?? record.starts_at, sent, context), () => {
    const { level, open } = facts
    const given = (["reason", "note", "expected_back_at", "cost", "opportunity_id"] as const).filter(
      (name) => sent[name] !== undefined
    )
    const set = {
      ...Object.fromEntries(given.map((name) => [name, sent[name]])),
      ...(typeof sent.starts_at === "string" ? { starts_at: sent.starts_at } : {})
    }
    const changed = updatedEvents(service_records, record, set)
    const after = open.map((one) => (one.id === record.id ? { ...record, ...set } : one))
    return {
      events: changed.length === 0 ? [] : [...changed, ...levelFollows(level, after)],
      result: { id: level.id, service_record_id: record.id },
      after: factsWith(facts, after)
    }
  })

interface ReleaseInput {
  readonly quantity?: number | null | undefined
  readonly service_record_id?: number | null | undefined
  readonly note?: string | null | undefined
  readonly cost?: number | null | undefined
}
/**
 * Returns stock to service and ends its record; a bulk level with several needs the record's id. 422: `stock_level` if
 * in service already, `service_record_id`, `quantity`.
 */
export const release = (facts: ServiceFacts, sent: ReleaseInput, context: DecideContext): Followed =>
  Result.gen(function* () {
    const { level, open } = facts
    yield* isHere(level)
    const [only] = open
    if (only === undefined) return yield* reject("stock_level", `${levelName(level)} is in service already.`)
    if (open.length > 1 && typeof sent.service_record_id !== "number")
      return yield* reject("service_record_id", `Say which service record ends: ${listed(open)}.`)
    const record = (yield* recordMeant(facts, sent.service_record_id)) ?? only
    const quantity = yield* quantityMeant(facts, record, sent.quantity)
    const { events, left } = ended(record, quantity, { ...sent, at: context.happened_at }, context)
    const now_open = [...without(open, record), ...left]
    return {
      events: [...events, ...levelFollows(level, now_open)],
      result: { id: level.id, service_record_id: record.id },
      after: factsWith(facts, now_open)
    }
  })
const listed = (open: ReadonlyArray<ServiceRecordRow>): string =>
  open.map((one) => `${one.id} (${one.quantity} ${stateWords[one.state]})`).join(", ")

const ledger_types = { sold: 7, lost: 6 } as const
/**
 * Records stock as sold or permanently lost: posts Sell or Write Off, ends the open record, and adds one to the
 * history. 422 as `takeOut`, and `stock_level` for sub-hired stock.
 */
export const leaveStock = (
  facts: ServiceFacts,
  state: "sold" | "lost",
  sent: ServiceInput,
  context: DecideContext
): ServiceDecided =>
  Result.gen(function* () {
    const { level, newest, open } = facts
    yield* isHere(level)
    const record = yield* recordMeant(facts, sent.service_record_id)
    const quantity = yield* quantityMeant(facts, record, sent.quantity)
    const refusal = transitionRefusal(record?.state ?? "in_service", state)
    if (refusal !== undefined) return yield* reject("stock_level", `${levelName(level)} ${refusal}`)
    const at = sent.starts_at ?? context.happened_at
    yield* inOrder(at, {}, context)
    const posted = yield* postTransaction(
      level,
      {
        transaction_type: ledger_types[state],
        quantity: String(quantity),
        transaction_at: at,
        description: sent.note ?? sent.reason ?? null,
        store_id: null
      },
      newest,
      context
    )
    const before = record === undefined ? undefined : ended(record, quantity, { at, note: sent.note }, context)
    const made = newRecord(level, state, quantity, sent, context)
    const row = { ...made, ended_at: at, ended_by_user_id: made.created_by_user_id }
    const kept = [...without(open, record), ...(before?.left ?? [])]
    return {
      events: [
        ...posted.events,
        ...(before?.events ?? []),
        createdEvent(service_records, row),
        ...levelFollows(level, kept, isUnit(level) ? state : undefined)
      ],
      result: { id: level.id, service_record_id: row.id }
    }
  })

/**
 * Follows stock that leaves or comes back: ends open records, oldest first, beyond the quantity that stays, and returns
 * a unit to service once it is back. `sold`: the line of the ledger is a sale.
 */
export const followLedger = (
  { level, open }: Pick<ServiceFacts, "level" | "open">,
  gone: { readonly is_gone: boolean; readonly sold: boolean; readonly stays?: number; readonly note?: string },
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  let beyond = open.reduce((sum, one) => sum + one.quantity, 0) - Math.floor(gone.stays ?? 0)
  const events: Array<NewEvent> = []
  const left = open.flatMap((one) => {
    const some = Math.min(one.quantity, beyond)
    if (some < 1) return one
    beyond -= some
    const end = ended(one, some, { at: context.happened_at, note: gone.note }, context)
    events.push(...end.events)
    return end.left
  })
  const state = !gone.is_gone
    ? "in_service"
    : gone.sold
      ? "sold"
      : level.service_state === "lost"
        ? "lost"
        : "in_service"
  return [...events, ...levelFollows(level, left, state)]
}
