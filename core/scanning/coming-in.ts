/** A unit or a case comes back. */
import { Result } from "effect"
import { isKit, returnContainer } from "../containers/dispatch-return.ts"
import { labelOf } from "../containers/seal.ts"
import type { DecideContext } from "../kernel/endpoint.ts"
import type { DecisionState } from "../opportunities/aggregate.ts"
import { checking, moveUnits, returning } from "../opportunities/units/lifecycle.ts"
import { type AssignmentRow, checked_in, dispatched, good, on_hire } from "../opportunities/units/schema.ts"
import type { StockLevelRow } from "../stock/schema.ts"
import type { ScanFacts } from "./facts.ts"
import { decidedAs, partOf, refuse, type ScanDecided, scannedOf, type Wanted } from "./wanted.ts"
import { checkedAt, returnedAt } from "./when.ts"

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
    const at = yield* returnedAt(wanted, container.name, container.dispatched_at, context.now)
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
    const { around, is_back_alone, known } = facts
    const units = known?.opportunity.units.filter((one) => one.stock_level_id === level.id) ?? []
    const unit = units.find((one) => one.status === dispatched || one.status === on_hire)
    if (known === undefined || unit === undefined) {
      const out = is_back_alone ? undefined : around?.chain.find(({ status }) => status === "dispatched")
      if (out !== undefined)
        return yield* refuse(
          wanted.field,
          `${labelOf(level)} is in ${out.name}, which is out; scan the code of the case.`
        )
      if (known === undefined) return yield* refuse(wanted.field, `${labelOf(level)} is not out`)
      const unchecked = units.find((one) => one.status === checked_in)
      if (unchecked !== undefined && checksOf(wanted, context).length > 0) {
        const at = yield* checkedAt(wanted, labelOf(level), unchecked.returned_at, context.now)
        const checks = checksOf({ ...wanted, at }, context)
        return yield* moved({ facts, known, level, unit: unchecked }, checks, wanted, context)
      }
      const back =
        unchecked !== undefined
          ? ": it came back already and is not checked; scan it in once more with finalise or a condition to check it"
          : units.some((one) => one.status > checked_in)
            ? ": it came back already"
            : ""
      return yield* refuse(wanted.field, `${labelOf(level)} is not out on this order${back}`)
    }
    const at = yield* returnedAt(wanted, labelOf(level), unit.dispatched_at, context.now)
    const received_by = context.viewer.user_id || null
    return yield* moved(
      { facts, known, level, unit },
      [
        returning(at, { received_by, return_store_id: wanted.return_store_id }),
        ...checksOf({ ...wanted, at }, context)
      ],
      wanted,
      context
    )
  })

/** The check of it, where the scan says how it is. */
const checksOf = (
  { at, condition, damage_notes, finalise }: Wanted,
  { viewer }: DecideContext
): ReadonlyArray<ReturnType<typeof checking>> =>
  condition === null && !finalise
    ? []
    : [checking(at, { condition: condition ?? good, checked_by: viewer.user_id || null, damage_notes })]

interface Coming {
  readonly facts: ScanFacts
  readonly known: DecisionState
  readonly level: StockLevelRow
  readonly unit: AssignmentRow
}
const moved = (
  { facts, known, level, unit }: Coming,
  steps: Parameters<typeof moveUnits>[2],
  { field }: Wanted,
  context: DecideContext
): ScanDecided =>
  Result.map(moveUnits(known, [{ unit, field }], steps, context), ({ events }) =>
    decidedAs(
      known,
      events,
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
  )
