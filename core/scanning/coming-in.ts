/** A unit or a case comes back. */
import { Result } from "effect"
import { isKit, returnContainer } from "../containers/dispatch-return.ts"
import { labelOf } from "../containers/seal.ts"
import type { DecideContext } from "../kernel/endpoint.ts"
import { checking, moveUnits, returning } from "../opportunities/units/lifecycle.ts"
import { checked_in, dispatched, on_hire } from "../opportunities/units/schema.ts"
import type { StockLevelRow } from "../stock/schema.ts"
import type { ScanFacts } from "./facts.ts"
import { decidedAs, partOf, refuse, type ScanDecided, scannedOf, type Wanted } from "./wanted.ts"
import { returnedAt } from "./when.ts"

export const caseIn = (
  facts: ScanFacts,
  as_case: NonNullable<ScanFacts["as_case"]>,
  wanted: Wanted,
  context: DecideContext
): ScanDecided =>
  Result.gen(function* () {
    const { container, items } = as_case.target
    const { known } = facts
    if (known !== undefined && container.opportunity_id !== known.opportunity.header.id)
      return yield* refuse(
        wanted.field,
        `${container.name} is out with another order (id ${container.opportunity_id}).`
      )
    const condition = wanted.condition ?? (wanted.finalise ? 0 : null)
    const at = yield* returnedAt(wanted, container.name, container.dispatched_at)
    const back = yield* returnContainer({ target: as_case.target, known }, at, condition, context)
    return decidedAs(
      known,
      back.events,
      scannedOf(facts, {
        direction: "in",
        kind: "container",
        name: container.name,
        container_id: container.id,
        stock_level_id: container.serialised_item_id,
        product_id: container.product_id,
        quantity: isKit(as_case.target) ? 1 : items.length
      })
    )
  })

export const unitIn = (facts: ScanFacts, level: StockLevelRow, wanted: Wanted, context: DecideContext): ScanDecided =>
  Result.gen(function* () {
    const { around, known } = facts
    const units = known?.opportunity.units.filter((one) => one.stock_level_id === level.id) ?? []
    const unit = units.find((one) => one.status === dispatched || one.status === on_hire)
    if (known === undefined || unit === undefined) {
      const out = around?.chain.find(({ status }) => status === "dispatched")
      if (out !== undefined)
        return yield* refuse(
          wanted.field,
          `${labelOf(level)} is in ${out.name}, which is out; scan the code of the case.`
        )
      if (known === undefined) return yield* refuse(wanted.field, `${labelOf(level)} is not out`)
      const is_back = units.some((one) => one.status >= checked_in)
      return yield* refuse(
        wanted.field,
        `${labelOf(level)} is not out on this order${is_back ? ": it came back already" : ""}`
      )
    }
    const user_id = context.viewer.user_id || null
    const condition = wanted.condition ?? (wanted.finalise ? 0 : null)
    const at = yield* returnedAt(wanted, labelOf(level), unit.dispatched_at)
    const back = yield* moveUnits(
      known,
      [{ unit, field: wanted.field }],
      [
        returning(at, { received_by: user_id, return_store_id: wanted.return_store_id }),
        ...(condition === null
          ? []
          : [checking(at, { condition, checked_by: user_id, damage_notes: wanted.damage_notes })])
      ],
      context
    )
    return decidedAs(
      known,
      back.events,
      scannedOf(facts, {
        direction: "in",
        kind: "unit",
        name: labelOf(level),
        stock_level_id: level.id,
        product_id: level.product_id,
        opportunity_item_id: unit.opportunity_item_id,
        part_of: partOf(known, unit, level)
      })
    )
  })
