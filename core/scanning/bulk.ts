/** So many of a bulk product go out or come back. */
import { Result } from "effect"
import type { DecideContext, Decided } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { invalidField } from "../kernel/rejection.ts"
import { type DecisionState, liveLines, withLine } from "../opportunities/aggregate.ts"
import { demandSettings } from "../opportunities/demands.ts"
import type { ItemRow } from "../opportunities/lines/schema.ts"
import type { HeldBack } from "../opportunities/status/progress.ts"
import { dispatchQuantity } from "../opportunities/units/decide-bulk.ts"
import type { ProductRow } from "../products/schema.ts"
import type { ScanFacts } from "./facts.ts"
import { kitsWith, spread } from "./lines.ts"
import { decidedAs, orderWords, refuse, type ScanDecided, scannedOf, type Wanted } from "./wanted.ts"

/** What the quantity of a bulk product moves: refusals of lines name the field that gave the quantity. */
const bulkText = (product: ProductRow): string => `${product.name} is tracked unit by unit; scan the code on the unit.`
const bulkQuantity = ({ found }: ScanFacts, { quantity }: Wanted): number => quantity ?? found.read.quantity ?? 1

/** Counted parts of kits have no line of their own: a refusal says that they go with their kit, by its code. */
export const bulkOut = (
  facts: ScanFacts,
  known: DecisionState,
  product: ProductRow,
  wanted: Wanted,
  context: DecideContext
): ScanDecided =>
  Result.mapError(bulkOutOfLines(facts, known, product, wanted, context), (rejection) => {
    const { errors, message } = rejection
    const kits = kitsWith(known, product.id, demandSettings(context.settings, context.now))
    const [[field, [text = ""] = []] = []] = Object.entries(errors ?? {})
    if (kits.length === 0 || (field !== "quantity" && field !== wanted.field)) return rejection
    const ways = kits.map(
      ({ name, pieces }) => `The ${pieces} that belong to ${name} go with it: scan the code of ${name}.`
    )
    return invalidField(field, [text === "" ? message : text, ...ways].join(" "))
  })
const bulkOutOfLines = (
  facts: ScanFacts,
  known: DecisionState,
  product: ProductRow,
  wanted: Wanted,
  context: DecideContext
): ScanDecided =>
  moveBulk(facts, known, product, wanted, "out", (state, line, quantity) =>
    dispatchQuantity(state, line, quantity, context.viewer.user_id || null, context)
  )

export const moveBulk = (
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
    if (known.stocked.get(product.id)?.is_serialised === true) return yield* refuse(wanted.field, bulkText(product))
    const quantity = bulkQuantity(facts, wanted)
    if (quantity < 1) return yield* refuse(wanted.field, `0 × ${product.name} moves nothing.`)
    const parts = spread(known, product.id, quantity, direction)
    if (parts.length === 0)
      return yield* refuse(wanted.field, `${product.name} is not on this order (${orderWords(known)}).`)
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
