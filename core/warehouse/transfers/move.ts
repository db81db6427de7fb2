/** Rules of sending, receiving and cancelling transfers (rules/transfers 4 to 6). */
import { Result } from "effect"
import { createdEvent, initialRow, invalid, itemsMoved, reject, unstamped, updatedEvents } from "../../kernel/index.ts"
import { withoutStamps } from "../../kernel/index.ts"
import type { DataOf, DecideContext, Decided, NewEvent, Rejection, RowOf } from "../../kernel/index.ts"
import { containers } from "../../products/packing.ts"
import { type ProductRow, serialised } from "../../products/products/schema.ts"
import { transferredEvents } from "../../products/stock/decide.ts"
import { stateWords, stock_levels, stockLevelFields, type StockLevelRow } from "../../products/stock/schema.ts"
import { labelOf } from "../containers/events.ts"
import { holdUnit } from "../containers/facts.ts"
import { claimed, type Goods, type GoodsFacts, homeAt, newPlan, unitProblem } from "./plan.ts"
import type { Item, TransferRow } from "./schema.ts"
import { transfer_items, transferCancelled, transferChange, transferCreated } from "./schema.ts"
import { transferExtended, transferReceived, transfers, transferSent } from "./schema.ts"

export interface MoveFacts extends Omit<GoodsFacts, "goods"> {
  readonly transfer: TransferRow
  readonly items: ReadonlyArray<RowOf<typeof transfer_items>>
  /** Goods named in the request; undefined for all. */
  readonly goods: ReadonlyArray<Goods> | undefined
  /** Stock levels of units on the transfer, by id. */
  readonly levels: ReadonlyMap<number, StockLevelRow>
  /** Bulk levels of the receiving store, by product. */
  readonly bulk_to: ReadonlyMap<number, StockLevelRow>
  /** Draft that brings earlier arrivals of this transfer home. */
  readonly home:
    | { readonly transfer: TransferRow; readonly items: ReadonlyArray<RowOf<typeof transfer_items>> }
    | undefined
}
type Way = "sent_quantity" | "received_quantity"
type Moved = Decided<{ readonly id: number; readonly warnings: ReadonlyArray<string> }>

const nameOf = (item: Item, { cases, levels, products }: Pick<MoveFacts, "cases" | "levels" | "products">): string => {
  const level = levels.get(item.stock_level_id ?? 0)
  const name = products.get(item.product_id ?? 0)?.name ?? `product ${item.product_id ?? ""}`
  return item.container_id !== null
    ? (cases.get(item.container_id)?.containers[0]?.name ?? `case ${item.container_id}`)
    : level === undefined
      ? `${item.quantity} × ${name}`
      : labelOf(level)
}

/** Why a unit or a case should not leave: out of service, or gone; undefined if it may. */
const unfitness = (level: StockLevelRow | undefined): string | undefined =>
  level === undefined || level.service_state === "in_service"
    ? level?.is_gone === true
      ? "no longer in stock"
      : undefined
    : stateWords[level.service_state]

/** Items of a transfer while goods are picked from them one by one. */
class Picking {
  readonly #items: Map<number, Item>
  readonly #picked = new Map<number, number>()
  readonly #facts: MoveFacts
  readonly #context: DecideContext
  readonly #way: Way
  constructor(facts: MoveFacts, way: Way, context: DecideContext) {
    this.#items = new Map(facts.items.map((item) => [item.id, withoutStamps(item)]))
    this.#facts = facts
    this.#way = way
    this.#context = context
  }
  get items(): ReadonlyArray<Item> {
    return [...this.#items.values()]
  }
  pickedOf({ id }: Item): number {
    return this.#picked.get(id) ?? 0
  }
  /** Quantity still to pick. Arrived goods are scanned as they leave, too: the other dock may sync first. */
  leftOf(item: Item): number {
    return item.quantity - (this.#way === "sent_quantity" ? 0 : item.received_quantity) - this.pickedOf(item)
  }
  /** Quantity that was picked and had not been counted before. */
  moveOf(item: Item): number {
    return this.#way === "sent_quantity" ? Math.max(0, this.pickedOf(item) - item.sent_quantity) : this.pickedOf(item)
  }
  take(item: Item, quantity: number): void {
    this.#picked.set(item.id, this.pickedOf(item) + quantity)
  }
  /** Replaces one piece of a quantity of the unit's product by the unit, and picks it. */
  #assign(line: Item, level: StockLevelRow): void {
    if (line.quantity === 1) this.#items.delete(line.id)
    else this.#items.set(line.id, { ...line, quantity: line.quantity - 1 })
    const id = this.#context.id(transfer_items)
    const unit = { ...line, id, stock_level_id: level.id, quantity: 1 }
    this.#items.set(id, unit)
    this.take(unit, 1)
  }
  /** Picks named goods; returns a reason if they are not on the transfer. Units and cases count once. */
  pick(one: Goods): string | undefined {
    if (one.kind === "nothing") return one.problem
    if (one.kind === "product") return this.#pickQuantity(one.product, one.quantity)
    if (one.kind === "unit") return this.#pickUnit(one.level)
    const item = this.items.find(({ container_id }) => container_id === one.container.id)
    return item === undefined ? `${one.container.name} is not ${this.#where}.` : this.#pickWhole(item)
  }
  get #where(): string {
    return `on transfer ${this.#facts.transfer.id}`
  }
  #pickWhole(item: Item): undefined {
    if (this.leftOf(item) > 0) this.take(item, 1)
  }
  #pickQuantity({ id, name, stock_method }: ProductRow, quantity: number): string | undefined {
    if (stock_method === serialised) return `${name} is tracked unit by unit: scan the code on the unit.`
    const item = this.items.find(({ container_id, product_id }) => product_id === id && container_id === null)
    if (item === undefined) return `${name} is not ${this.#where}.`
    const left = this.leftOf(item)
    if (quantity > left) return `${left} × ${name} ${left === 1 ? "is" : "are"} left ${this.#where}, not ${quantity}.`
    this.take(item, quantity)
    return undefined
  }
  #pickUnit(level: StockLevelRow): string | undefined {
    const item = this.items.find(({ stock_level_id }) => stock_level_id === level.id)
    if (item !== undefined) return this.#pickWhole(item)
    const line = this.items.find(
      (any) => any.product_id === level.product_id && any.stock_level_id === null && any.container_id === null
    )
    if (line === undefined) return `${labelOf(level)} is not ${this.#where}.`
    const problem = unitProblem(level, this.#facts)
    if (problem === undefined) this.#assign(line, level)
    return problem
  }
  /** Picks all that is left and may leave; returns a reason if units of a product are still to be chosen. */
  pickAll(): string | undefined {
    for (const item of this.items) {
      const is_leaving = this.#way === "sent_quantity" && item.received_quantity === 0
      const is_unfit = unfitness(this.#facts.levels.get(item.stock_level_id ?? 0)) !== undefined
      if (this.leftOf(item) <= 0 || (is_leaving && is_unfit)) continue
      const product = this.#facts.products.get(item.product_id ?? 0)
      if (item.stock_level_id === null && item.container_id === null && product?.stock_method === serialised)
        return `Scan the codes of the units: ${nameOf(item, this.#facts)}.`
      this.take(item, this.leftOf(item))
    }
    return undefined
  }
  /** Removes unpicked goods from the transfer, and returns them. */
  leaveRest(): ReadonlyArray<Item> {
    return this.items.flatMap((item) => {
      const left = item.quantity - Math.max(this.pickedOf(item), item.received_quantity)
      if (left <= 0) return []
      if (left === item.quantity) this.#items.delete(item.id)
      else this.#items.set(item.id, { ...item, quantity: item.quantity - left })
      return [{ ...item, quantity: left }]
    })
  }
  /** Items with their new quantities, and how they differ from before. */
  result(): { readonly items: ReadonlyArray<Item>; readonly moved: DataOf<typeof transferReceived>["items"] } {
    const items = this.items.map((item) => {
      const count = item[this.#way] + this.moveOf(item)
      return {
        ...item,
        [this.#way]: count,
        ...(this.#way === "received_quantity" ? { sent_quantity: Math.max(item.sent_quantity, count) } : {})
      }
    })
    const before = this.#facts.items.map(withoutStamps)
    return { items, moved: itemsMoved(before, items) ?? { added: [], altered: [], removed: [] } }
  }
}

const picked = (facts: MoveFacts, way: Way, context: DecideContext): Result.Result<Picking, Rejection> => {
  const picking = new Picking(facts, way, context)
  if (facts.goods === undefined) {
    const problem = picking.pickAll()
    return problem === undefined ? Result.succeed(picking) : reject("codes", problem)
  }
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  for (const one of facts.goods) {
    const problem = picking.pick(one)
    if (problem !== undefined) errors[one.field] = [problem]
  }
  return Object.keys(errors).length === 0 ? Result.succeed(picking) : Result.fail(invalid(errors))
}

const endedText = ({ cancelled_at, id, received_at, status }: TransferRow): string =>
  `Transfer ${id} was ${status} at ${cancelled_at ?? received_at ?? "an unknown time"}.`

/** Stock levels that an item moves: its unit, or all that is in its case. Bulk goods have none here. */
const unitsOf = (item: Item, { cases, levels }: MoveFacts): ReadonlyArray<StockLevelRow> => {
  if (item.container_id !== null) return (cases.get(item.container_id)?.units ?? []).map(({ level }) => level)
  return [...(levels.has(item.stock_level_id ?? 0) ? [levels.get(item.stock_level_id ?? 0)] : [])].filter(
    (level) => level !== undefined
  )
}

/** Collects the events that a transfer causes in the stock of both stores. */
class Ledger {
  readonly events: Array<NewEvent> = []
  readonly #at: { readonly at: string; readonly transfer_id: number }
  readonly #context: DecideContext
  constructor(transfer: TransferRow, context: DecideContext) {
    this.#at = { at: context.happened_at, transfer_id: transfer.id }
    this.#context = context
  }
  post(level: StockLevelRow, way: "out" | "in", quantity: number): void {
    this.events.push(...transferredEvents(level, { ...this.#at, way, quantity }, this.#context))
  }
}

/** Posts what leaves or comes back to the sending store. */
const postAtSender = (ledger: Ledger, item: Item, way: "out" | "in", quantity: number, facts: MoveFacts): void => {
  if (quantity <= 0) return
  const units = unitsOf(item, facts)
  for (const level of units) ledger.post(level, way, 1)
  const bulk = units.length === 0 ? facts.bulk_from.get(item.product_id ?? 0) : undefined
  if (bulk !== undefined) ledger.post(bulk, way, quantity)
}

/**
 * Sends a transfer: all of it, or the scanned goods; the rest stays behind and leaves the transfer. Goods that the
 * other store has already received count as sent. 422: `transfer` if it was sent or ended, and each code.
 */
export const send = (facts: MoveFacts, context: DecideContext): Moved =>
  Result.gen(function* () {
    const { transfer } = facts
    if (transfer.status === "cancelled" || transfer.sent_at !== null)
      return yield* reject(
        "transfer",
        transfer.status === "sent"
          ? `Transfer ${transfer.id} was sent at ${transfer.sent_at ?? ""}.`
          : endedText(transfer)
      )
    const picking = yield* picked(facts, "sent_quantity", context)
    const behind = picking.leaveRest().map((item) => {
      const state = unfitness(facts.levels.get(item.stock_level_id ?? 0))
      return `Left behind: ${nameOf(item, facts)}${state === undefined ? "" : ` (${state})`}.`
    })
    if (picking.items.length === 0) return yield* reject("codes", `Nothing of the transfer leaves. ${behind.join(" ")}`)
    const leaving = picking.items.filter((item) => picking.moveOf(item) > 0).flatMap((item) => unitsOf(item, facts))
    const unfit = leaving.filter((level) => unfitness(level) !== undefined)
    const ledger = new Ledger(transfer, context)
    for (const item of picking.items) postAtSender(ledger, item, "out", picking.moveOf(item), facts)
    const { items, moved } = picking.result()
    const status = isComplete(items) ? "received" : "sent"
    return {
      events: [
        transferSent.make({
          ...transferChange(transfer, {
            status,
            sent_at: context.happened_at,
            sent_by_user_id: context.viewer.user_id || null,
            ...(status === "received" && transfer.received_at === null ? { received_at: context.happened_at } : {})
          }),
          items: moved
        }),
        ...claimed(transfer, items, { cases: facts.cases, is_under_way: true }, context),
        ...ledger.events
      ],
      result: {
        id: transfer.id,
        warnings: [...behind, ...unfit.map((level) => `${labelOf(level)} leaves, though it is ${unfitness(level)}.`)]
      }
    }
  })
const isComplete = (items: ReadonlyArray<Item>): boolean =>
  items.every(({ quantity, received_quantity }) => received_quantity >= quantity)

/** Puts goods of an item in the receiving store's stock: units and cases change store, bulk goods are added. */
const putIn = (ledger: Ledger, item: Item, quantity: number, facts: MoveFacts, context: DecideContext): void => {
  const store_id = facts.to.id
  const units = unitsOf(item, facts)
  for (const level of units) {
    ledger.events.push(...updatedEvents(stock_levels, level, { store_id, location: null }))
    ledger.post({ ...level, store_id }, "in", 1)
  }
  const content = facts.cases.get(item.container_id ?? 0)
  for (const container of content?.containers ?? []) {
    ledger.events.push(...updatedEvents(containers, container, { store_id }))
  }
  for (const { is_held, item: packing, level } of content?.units ?? [])
    if (is_held && packing !== undefined)
      ledger.events.push(holdUnit(packing.container_id, packing, { ...level, store_id }, packing.packed_at, context))
  if (units.length > 0 || item.product_id === null || item.container_id !== null) return
  const there = facts.bulk_to.get(item.product_id)
  if (there !== undefined) return ledger.post(there, "in", quantity)
  const made = {
    ...initialRow(stock_levels, stockLevelFields),
    id: context.id(stock_levels),
    product_id: item.product_id,
    store_id,
    stock_category: 10,
    quantity_held: "0.00"
  }
  ledger.events.push(createdEvent(stock_levels, made))
  ledger.post({ ...made, ...unstamped }, "in", quantity)
}

/** Events of the transfer that brings arrived goods home: a new draft, or one that gets more items. */
const goesHome = (
  arrived: ReadonlyArray<Item>,
  { cases, home, transfer }: MoveFacts,
  context: DecideContext
): ReadonlyArray<NewEvent> => {
  const { ends_at } = transfer
  if (ends_at === null || arrived.length === 0) return []
  const back =
    home?.transfer ??
    newPlan(context.id(transfers), {
      from_store_id: transfer.to_store_id,
      to_store_id: transfer.from_store_id,
      opportunity_id: transfer.opportunity_id,
      starts_at: ends_at,
      arrives_at: homeAt(transfer, ends_at)
    })
  const items = new Map((home?.items ?? []).map((item) => [item.id, item]))
  const more = arrived.map((item): Item => {
    const same = [...items.values()].find(
      ({ container_id, product_id, stock_level_id }) =>
        stock_level_id === null &&
        container_id === null &&
        item.stock_level_id === null &&
        product_id === item.product_id
    )
    return same !== undefined && item.container_id === null
      ? { ...same, quantity: same.quantity + item.quantity }
      : { ...item, id: context.id(transfer_items), transfer_id: back.id, sent_quantity: 0, received_quantity: 0 }
  })
  const added = more.filter(({ id }) => !items.has(id))
  const altered = more.flatMap(({ id, quantity }) => (items.has(id) ? [{ id, quantity }] : []))
  const all = [
    ...[...items.values()].map((item) => ({ ...item, ...altered.find(({ id }) => id === item.id) })),
    ...added
  ]
  return [
    home === undefined
      ? transferCreated.make({ ...back, return_of_transfer_id: transfer.id, items: added })
      : transferExtended.make({ ...transferChange(home.transfer, {}), items: { added, altered, removed: [] } }),
    ...claimed({ ...back, return_of_transfer_id: transfer.id }, all, { cases, is_under_way: true }, context)
  ]
}

/**
 * Receives a transfer: everything outstanding or the named goods, in several steps if needed. Received goods count as
 * sent, whether or not that is recorded yet. 422: `transfer` if it ended, and each code that is not on it.
 */
export const receive = (facts: MoveFacts, context: DecideContext): Moved =>
  Result.gen(function* () {
    const { transfer } = facts
    if (transfer.status === "cancelled" || (transfer.status === "received" && facts.goods === undefined))
      return yield* reject("transfer", endedText(transfer))
    const picking = yield* picked(facts, "received_quantity", context)
    const ledger = new Ledger(transfer, context)
    const arrived: Array<Item> = []
    for (const item of picking.items) {
      const quantity = picking.pickedOf(item)
      if (quantity === 0) continue
      const unsent = item.received_quantity + quantity - item.sent_quantity
      postAtSender(ledger, item, "out", Math.min(unsent, quantity), facts)
      putIn(ledger, item, quantity, facts, context)
      arrived.push({ ...item, quantity })
    }
    const result = { id: transfer.id, warnings: [] }
    if (arrived.length === 0) return { events: [], result }
    const { items, moved } = picking.result()
    const is_complete = isComplete(items)
    return {
      events: [
        transferReceived.make({
          ...transferChange(transfer, {
            status: is_complete ? "received" : "sent",
            ...(is_complete
              ? { received_at: context.happened_at, received_by_user_id: context.viewer.user_id || null }
              : {})
          }),
          items: moved
        }),
        ...claimed(transfer, items, { cases: facts.cases, is_under_way: true }, context),
        ...ledger.events,
        ...goesHome(arrived, facts, context)
      ],
      result
    }
  })

/** Cancels a transfer: what has not arrived stays at the sending store, or is back there. 422 if it has ended. */
export const cancel = (facts: MoveFacts, context: DecideContext): Moved =>
  Result.gen(function* () {
    const { items, transfer } = facts
    if (transfer.status === "cancelled" || transfer.status === "received")
      return yield* reject("transfer", endedText(transfer))
    const ledger = new Ledger(transfer, context)
    for (const item of items) postAtSender(ledger, item, "in", item.sent_quantity - item.received_quantity, facts)
    return {
      events: [
        transferCancelled.make(
          transferChange(transfer, {
            status: "cancelled",
            cancelled_at: context.happened_at,
            cancelled_by_user_id: context.viewer.user_id || null
          })
        ),
        ...claimed(transfer, items, { cases: facts.cases, is_under_way: false }, context),
        ...ledger.events
      ],
      result: { id: transfer.id, warnings: [] }
    }
  })
