/** Rules of stocktakes: scanning, closing and cancelling (rules/stocktakes). */
import { Result } from "effect"
import { decided, decision, isJsonObject, reject } from "../../kernel/index.ts"
import type { DecideContext, Decided, JsonObject, NewEvent, Rejection } from "../../kernel/index.ts"
import { postTransaction } from "../../products/stock/decide.ts"
import { stock_transactions } from "../../products/stock/schema.ts"
import { isInFuture } from "../../values/time.ts"
import { leaveStock, release, type ServiceFacts, takeOut } from "../workshop/decide.ts"
import { stocktakeCancelled, stocktakeClosed, stocktakeScanned, stocktakeStarted } from "./events.ts"
import { type CountLine, totalsOf } from "./lines.ts"
import { ledger_source, type missing_records, type StocktakeRow, stocktakes, type StocktakeScanRow } from "./schema.ts"

export const start = (
  sent: Partial<Pick<StocktakeRow, "store_id" | "product_group_id" | "notes">>,
  context: DecideContext
): Decided => {
  const id = context.id(stocktakes)
  return decided(id, [
    stocktakeStarted.make({
      id,
      store_id: sent.store_id ?? 0,
      product_group_id: sent.product_group_id ?? null,
      notes: sent.notes ?? null,
      status: "open",
      started_at: context.happened_at,
      started_by_user_id: context.viewer.user_id || null,
      closed_at: null,
      closed_by_user_id: null,
      cancelled_at: null,
      cancelled_by_user_id: null,
      missing_as: null,
      totals: null,
      outcome: null
    })
  ])
}

/** 422 unless the stocktake is open; devices keep such scans as conflicts. */
const requireOpen = (take: StocktakeRow): Result.Result<void, Rejection> =>
  take.status === "open"
    ? Result.succeed(undefined)
    : reject(
        "stocktake",
        `Stocktake ${take.id} was ${take.status} at ${take.closed_at ?? take.cancelled_at ?? "an unknown time"}; ` +
          `start another for what is still to be counted: flightcase count start --store ${take.store_id}`
      )

/** A resolved code. */
export type CodeFound = { readonly code: string } & (
  | {
      readonly kind: "unit" | "case"
      readonly name: string
      readonly container_id: number | null
      readonly levels: ReadonlyArray<{ readonly id: number; readonly product_id: number }>
    }
  | { readonly kind: "bulk"; readonly name: string; readonly product_id: number; readonly quantity: number }
  | { readonly kind: "unknown"; readonly note: string }
)
export interface ScanFacts {
  readonly take: StocktakeRow
  readonly codes: ReadonlyArray<CodeFound>
  /** Scans so far in this stocktake of the goods that the codes name. */
  readonly scans: ReadonlyArray<StocktakeScanRow>
}
interface ScanInput {
  readonly counted_at?: string | null
  readonly take_back?: boolean
}
export const unitKey = (stocktake_id: number, level_id: number): string => `${stocktake_id}/unit/${level_id}`
export const codeKey = (stocktake_id: number, code: string): string => `${stocktake_id}/code/${code}`

/** Result for one code. `quantity`: pieces it added or removed. */
export interface Verdict {
  readonly code: string
  readonly kind: "unit" | "case" | "bulk" | "unknown"
  readonly outcome: "counted" | "counted_before" | "taken_back" | "not_counted"
  readonly name: string | null
  readonly quantity: number
  readonly level_ids: ReadonlyArray<number>
  readonly product_id: number | null
  readonly note: string | null
}

type Added = Parameters<typeof stocktakeScanned.make>[0]["added"][number]
/** State of scans while codes are processed one by one. */
class Tally {
  readonly added: Array<Added> = []
  readonly removed: Array<string> = []
  readonly #scans: Map<string, Pick<StocktakeScanRow, "key" | "product_id" | "quantity" | "stock_level_id">>
  readonly #nth = new Map<number, number>()
  readonly #take: StocktakeRow
  readonly #at: Pick<Added, "counted_at" | "counted_by_user_id">
  constructor(take: StocktakeRow, scans: ReadonlyArray<StocktakeScanRow>, at: Tally["at"]) {
    this.#take = take
    this.#at = at
    this.#scans = new Map(scans.map((scan) => [scan.key, scan]))
    for (const { key, product_id, stock_level_id } of scans)
      if (stock_level_id === null && product_id !== null)
        this.#nth.set(product_id, Math.max(this.#nth.get(product_id) ?? 0, Number(key.split("/").at(-1))))
  }
  get at(): Pick<Added, "counted_at" | "counted_by_user_id"> {
    return this.#at
  }
  has(key: string): boolean {
    return this.#scans.has(key)
  }
  add(row: Omit<Added, "counted_at" | "counted_by_user_id">): void {
    const made = { ...row, ...this.#at }
    this.#scans.set(row.key, made)
    this.added.push(made)
  }
  addBulk(code: string, product_id: number, quantity: number): void {
    const nth = (this.#nth.get(product_id) ?? 0) + 1
    this.#nth.set(product_id, nth)
    const key = `${this.#take.id}/product/${product_id}/${nth}`
    this.add({ key, code, product_id, stock_level_id: null, container_id: null, quantity, note: null })
  }
  remove(key: string): void {
    this.#scans.delete(key)
    const at = this.added.findIndex((row) => row.key === key)
    if (at < 0) this.removed.push(key)
    else this.added.splice(at, 1)
  }
  countsOf(product_id: number) {
    return [...this.#scans.values()].filter((one) => one.stock_level_id === null && one.product_id === product_id)
  }
}

const verdictOf = (found: CodeFound, outcome: Verdict["outcome"], quantity: number, note?: string): Verdict => ({
  code: found.code,
  kind: found.kind,
  outcome,
  name: found.kind === "unknown" ? null : found.name,
  quantity,
  level_ids: "levels" in found ? found.levels.map(({ id }) => id) : [],
  product_id: found.kind === "bulk" ? found.product_id : null,
  note: note ?? (found.kind === "unknown" && outcome !== "taken_back" ? found.note : null)
})

const count = (found: CodeFound, take: StocktakeRow, tally: Tally): Verdict => {
  if (found.kind === "bulk") {
    tally.addBulk(found.code, found.product_id, found.quantity)
    return verdictOf(found, "counted", found.quantity)
  }
  const keys =
    found.kind === "unknown"
      ? [{ key: codeKey(take.id, found.code), stock_level_id: null, product_id: null }]
      : found.levels.map(({ id, product_id }) => ({ key: unitKey(take.id, id), stock_level_id: id, product_id }))
  const fresh = keys.filter(({ key }) => !tally.has(key))
  for (const one of fresh)
    tally.add({
      ...one,
      code: found.code,
      container_id: found.kind === "case" ? found.container_id : null,
      quantity: 1,
      note: found.kind === "unknown" ? found.note : null
    })
  return verdictOf(found, fresh.length === 0 ? "counted_before" : "counted", fresh.length)
}

const takeBack = (found: CodeFound, take: StocktakeRow, tally: Tally): Verdict => {
  if (found.kind === "bulk") {
    const counts = tally.countsOf(found.product_id)
    const same = counts.findLast(({ quantity }) => quantity === found.quantity)
    if (same === undefined)
      return verdictOf(
        found,
        "not_counted",
        0,
        counts.length === 0
          ? `No ${found.name} was counted.`
          : `${found.name} was counted as ${counts.map(({ quantity }) => quantity).join(", ")}: name one of these.`
      )
    tally.remove(same.key)
    return verdictOf(found, "taken_back", found.quantity)
  }
  const keys =
    found.kind === "unknown" ? [codeKey(take.id, found.code)] : found.levels.map(({ id }) => unitKey(take.id, id))
  const counted = keys.filter((key) => tally.has(key))
  for (const key of counted) tally.remove(key)
  return counted.length === 0
    ? verdictOf(found, "not_counted", 0, "It was not counted.")
    : verdictOf(found, "taken_back", counted.length)
}

/**
 * Counts codes, or removes them: units and unknown codes once, bulk goods by each count. 422: `stocktake` if it has
 * ended, `counted_at` in the future.
 */
export const scan = (
  { codes, scans, take }: ScanFacts,
  { counted_at = null, take_back = false }: ScanInput,
  context: DecideContext
): Decided<{ readonly id: number; readonly verdicts: ReadonlyArray<Verdict> }> =>
  Result.gen(function* () {
    yield* requireOpen(take)
    if (counted_at !== null && isInFuture(counted_at, context.now))
      return yield* reject("counted_at", "The counted at field must not be in the future.")
    const tally = new Tally(take, scans, {
      counted_at: counted_at ?? context.happened_at,
      counted_by_user_id: context.viewer.user_id || null
    })
    const verdicts = codes.map((found) => (take_back ? takeBack : count)(found, take, tally))
    const { added, removed } = tally
    return {
      events: added.length + removed.length === 0 ? [] : [stocktakeScanned.make({ id: take.id, added, removed })],
      result: { id: take.id, verdicts }
    }
  })

export interface CloseFacts {
  readonly take: StocktakeRow
  readonly lines: ReadonlyArray<CountLine>
  /** Users who scanned in the stocktake. */
  readonly counted_by: ReadonlyArray<number | null>
  /** Workshop facts of stock levels that closing changes. */
  readonly levels: ReadonlyMap<number, ServiceFacts>
}
type MissingAs = keyof typeof missing_records

const requireSecondPerson = (
  { counted_by, take }: CloseFacts,
  { settings, viewer }: DecideContext
): Result.Result<void, Rejection> => {
  if (settings["stocktakes"]?.["second_person"] !== true) return Result.succeed(undefined)
  const is_alone = counted_by.every((id) => id === viewer.user_id)
  return take.started_by_user_id === viewer.user_id || is_alone
    ? reject(
        "stocktake",
        "Somebody else has to close this stocktake: the company's settings ask for a second person " +
          "(stocktakes.second_person), and you started it or counted everything in it."
      )
    : Result.succeed(undefined)
}

/** Ledger line that corrects records; its source distinguishes it from movements. */
const posted = (
  facts: ServiceFacts,
  quantity: number,
  take: StocktakeRow,
  context: DecideContext
): Result.Result<ReadonlyArray<NewEvent>, Rejection> =>
  Result.map(
    postTransaction(
      facts.level,
      {
        transaction_type: quantity < 0 ? write_off : find,
        quantity: String(Math.abs(quantity)),
        transaction_at: context.happened_at,
        description: `Stocktake ${take.id}`,
        store_id: null
      },
      facts.newest,
      context
    ),
    ({ events }) => events.map((one) => asCorrection(one, take))
  )
const write_off = 6,
  find = 5
const asCorrection = (one: NewEvent, take: StocktakeRow): NewEvent =>
  one.type === `${stock_transactions.entity}.created`
    ? { ...one, data: { ...one.data, source_type: ledger_source, source_id: take.id, manual: false } }
    : one

/** Events that closing records for a line. */
const recorded = (
  line: CountLine,
  facts: ServiceFacts,
  take: StocktakeRow,
  missing_as: MissingAs,
  context: DecideContext
): Result.Result<ReadonlyArray<NewEvent>, Rejection> => {
  const reason = `Stocktake ${take.id}`
  if (line.on_close === "difference") return posted(facts, line.counted - line.expected, take, context)
  if (line.on_close === "found")
    return facts.level.is_gone
      ? posted(facts, 1, take, context)
      : Result.map(release(facts, { note: `Found: ${reason}` }, context), ({ events }) => events)
  const sent = { reason: `Missing: ${reason}` }
  return missing_as === "written_off" && !facts.level.is_sub_hired
    ? Result.map(leaveStock(facts, "lost", sent, context), ({ events }) => events.map((one) => asCorrection(one, take)))
    : Result.map(takeOut(facts, "lost", sent, context), ({ events }) => events)
}

/**
 * Whether the closing event includes a line; units found in place are known by their scans, and units out by their
 * orders.
 */
const isKept = ({ is_counted, kind, on_close, status }: CountLine): boolean =>
  !(
    kind === "unit" &&
    on_close === "nothing" &&
    ((status === "found" && is_counted) || (status === "out" && !is_counted))
  )

/**
 * Closes a stocktake: missing units are lost or written off, found ones return, and bulk differences become ledger
 * lines. Other stores are unaffected. 422: `stocktake` if ended or nothing is counted, and for excluded users.
 */
export const close = (
  facts: CloseFacts,
  { missing_as = "lost" }: { readonly missing_as?: MissingAs },
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const { counted_by, levels, lines, take } = facts
    yield* requireOpen(take)
    if (counted_by.length === 0)
      return yield* reject(
        "stocktake",
        `Nothing is counted yet, and closing would record everything as missing; to give up the count, ` +
          `flightcase count cancel ${take.id}`
      )
    yield* requireSecondPerson(facts, context)
    const events: Array<NewEvent> = []
    for (const line of lines) {
      const level = line.on_close === "nothing" ? undefined : levels.get(line.stock_level_id ?? 0)
      if (level !== undefined) events.push(...(yield* recorded(line, level, take, missing_as, context)))
    }
    const closed = stocktakeClosed.make({
      id: take.id,
      closed_at: context.happened_at,
      closed_by_user_id: context.viewer.user_id || null,
      missing_as,
      totals: totalsOf(lines),
      lines: lines.filter(isKept).filter((line): line is CountLine & JsonObject => isJsonObject(line))
    })
    return decision(take.id, [closed, ...events])
  })

/** Cancels a stocktake: scans stay, and stock is unchanged. 422 `stocktake` if it has ended. */
export const cancel = (take: StocktakeRow, context: DecideContext): Decided =>
  Result.map(requireOpen(take), () =>
    decision(take.id, [
      stocktakeCancelled.make({
        id: take.id,
        cancelled_at: context.happened_at,
        cancelled_by_user_id: context.viewer.user_id || null
      })
    ])
  )
