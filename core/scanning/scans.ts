/** What one scan must know, by what was scanned, and the rules that decide on it. */
import { Effect } from "effect"
import type { Failure, Input } from "../kernel/endpoint.ts"
import { lockStreams } from "../kernel/engine.ts"
import { Store } from "../kernel/store/store.ts"
import { opportunities, type OpportunityRow } from "../opportunities/schema.ts"
import { asset_assignments, checked_in, dispatched, on_hire } from "../opportunities/units/schema.ts"
import { type Found, lookUp, unitById, unitWith } from "./codes.ts"
import { containerOf, loadScan, lockNamed } from "./facts.ts"

export { loadCounts, warningsOf } from "./counts.ts"
export { scanIn, scanOut } from "./decide.ts"

type Asking = Pick<Input, "now" | "settings">
interface Scanned {
  readonly code?: string | null
  readonly stock_level_id?: number | null
}
/** Looked up again once it is locked: somebody may have sealed, packed or sent it meanwhile. */
const found = Effect.fnUntraced(function* (
  { code, stock_level_id }: Scanned,
  more: ReadonlyArray<string> = []
): Effect.fn.Return<Found, Failure, Store> {
  const look =
    stock_level_id == null
      ? lookUp(code ?? "")
      : code == null
        ? unitById(stock_level_id)
        : unitWith(stock_level_id, code)
  const first = yield* look
  yield* lockNamed(first.named, more)
  return (yield* Store).dialect === "pg" && first.named !== undefined ? yield* look : first
})

/** The order that has the unit or the case now, or that the unit came back from last and unchecked; locked. */
const holderOf = Effect.fnUntraced(function* ({
  named: one
}: Found): Effect.fn.Return<OpportunityRow | undefined, Failure, Store> {
  const store = yield* Store
  const container = containerOf(one)
  const out =
    one?.kind !== "unit"
      ? undefined
      : ((yield* store.first(asset_assignments, { stock_level_id: one.level.id, status: [dispatched, on_hire] })) ??
        (yield* store.first(
          asset_assignments,
          { stock_level_id: one.level.id, status: checked_in },
          { order: ["-returned_at", "-id"] }
        )))
  const id = container?.status === "dispatched" ? container.opportunity_id : (out?.opportunity_id ?? null)
  if (id === null) return undefined
  yield* lockStreams([`opportunity:${id}`])
  const header = yield* store.get(opportunities, id)
  return header === undefined || header.deleted_at !== null ? undefined : header
})

/** A scan on an order that was named. */
export const scanOfOrder = (scanned: Scanned, order: OpportunityRow, input: Asking) =>
  Effect.flatMap(found(scanned), (code) => loadScan(code, order, input))
/** A scan on whichever order has it. */
export const scanOfWhoHasIt = Effect.fnUntraced(function* (scanned: Scanned, input: Asking) {
  const code = yield* found(scanned)
  return yield* loadScan(code, yield* holderOf(code), input)
})
