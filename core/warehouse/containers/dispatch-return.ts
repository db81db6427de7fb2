/** Rules of containers: kits dispatched to an order, and all kinds returned and checked in (rules/availability 8.6). */
import { Result } from "effect"
import { decision, reject } from "../../kernel/index.ts"
import type { DecideContext, Decided, JsonObject, NewEvent, Rejection } from "../../kernel/index.ts"
import { holderText, liveLines, ownUnits, stockedProductOf, withLine } from "../../orders/opportunities/state/index.ts"
import type { DecisionState, HeldBack, HeldDemand } from "../../orders/opportunities/state/index.ts"
import { checking, dispatching, moveUnits, returning } from "../../orders/opportunities/units/lifecycle.ts"
import { allocate } from "../../orders/opportunities/units/decide.ts"
import { checked_in, dispatched, on_hire, prepared, statusNameOf } from "../../orders/opportunities/tables/index.ts"
import type { AssignmentRow, ItemRow } from "../../orders/opportunities/tables/index.ts"
import { inspectionWarnings, outOfServiceDuring, outOfServiceRefusal } from "../../products/stock/schema.ts"
import { openEnd } from "../../values/time.ts"
import { cameBack, caseDemanded, checkinVerified, containerDispatched, labelOf, repackStarted } from "./events.ts"
import type { ContainerFacts, Unit } from "./facts.ts"
import { outOfServiceInside } from "./lifecycle.ts"
import { type dispatch_shown, verification, type verifiedResult } from "./endpoint-parts.ts"
import type { ContainerRow } from "../../products/packing.ts"

const goes_out: ReadonlySet<string> = new Set(["active", "dispatched", "on_hire"])
/** Whether a container is dispatched and returned as one piece, not by its units. */
export const isKit = ({ as_case, container }: Pick<ContainerFacts, "as_case" | "container">): boolean =>
  !container.is_temporary && (as_case.container_mode === "kit" || as_case.container_mode === "hybrid")

export interface DispatchFacts {
  readonly target: ContainerFacts
  readonly known: DecisionState
  readonly housing: Unit["level"] | undefined
  /** Active demands on the case from its dispatch to the end of the order. */
  readonly housing_demands: ReadonlyArray<HeldDemand>
}

/**
 * Dispatches a sealed kit or hybrid to an order: allocates its case to a line for the container's product, unless done,
 * or else creates a demand on the case alone. 422: `container`, `opportunity_id`.
 */
export const dispatchContainer = (
  facts: DispatchFacts,
  dispatched_at: string,
  context: DecideContext
): Decided<typeof dispatch_shown.result.Type> =>
  Result.gen(function* () {
    const {
      housing,
      known,
      target: {
        chain: [, parent],
        container,
        inside = []
      }
    } = facts
    const { header } = known.opportunity
    if (!isKit(facts.target)) {
      return yield* reject(
        "container",
        "Only kits go out as one piece; what is in other containers goes out unit by unit."
      )
    }
    if (container.status !== "sealed")
      return yield* reject("container", `The container is ${container.status}; only sealed ones are dispatched.`)
    const broken = outOfServiceInside(facts.target, context)
    if (broken !== undefined) return yield* reject("container", broken)
    if (parent !== undefined)
      return yield* reject(
        "container",
        `The container is packed in ${parent.name}; it goes out with that one, or has to be taken out of it first.`
      )
    if (!goes_out.has(statusNameOf(header)))
      return yield* reject(
        "opportunity_id",
        "Only an order that is active, dispatched or on hire takes containers out."
      )
    const lines = liveLines(known.opportunity).filter((line) => stockedProductOf(line) === container.product_id)
    const stores = lines.length > 0 ? lines.map((line) => line.dispatch_store_id ?? header.store_id) : [header.store_id]
    if (container.store_id !== null && !stores.some((store) => store === null || store === container.store_id)) {
      return yield* reject("opportunity_id", "The opportunity takes its gear from another store.")
    }
    const holder = facts.housing_demands.find(
      (demand) => demand.opportunity_id !== null && demand.opportunity_id !== header.id
    )
    if (holder !== undefined)
      return yield* reject("opportunity_id", `The case is claimed by ${holderText(holder)} from ${holder.starts_at}.`)
    const out =
      housing === undefined ? { events: [], meta: null } : yield* caseOut(facts, housing, lines, dispatched_at, context)
    return {
      events: [
        ...out.events,
        containerDispatched.make({
          id: container.id,
          status: "dispatched",
          opportunity_id: header.id,
          dispatched_at,
          returned_at: null
        })
      ],
      result: { id: container.id, meta: out.meta, warnings: inspectionWarnings([...inside, housing], context) }
    }
  })

interface Moved {
  readonly events: ReadonlyArray<NewEvent>
  readonly meta: HeldBack | null
}

const caseOut = (
  facts: DispatchFacts,
  housing: Unit["level"],
  lines: ReadonlyArray<ItemRow>,
  dispatched_at: string,
  context: DecideContext
): Result.Result<Moved, Rejection> =>
  Result.gen(function* () {
    const {
      known,
      target: { container }
    } = facts
    const unit = known.opportunity.units.find((one) => one.stock_level_id === housing.id)
    const unfit = unit === undefined ? caseOutOfService(container, housing, context) : undefined
    if (unfit !== undefined) return yield* reject("container", unfit)
    if (unit === undefined && lines.length === 0)
      return {
        events: [caseDemanded(container, housing, dispatched_at, endOfDemand(known, dispatched_at), context)],
        meta: null
      }
    if (unit !== undefined && unit.status >= checked_in)
      return yield* reject("opportunity_id", "The case has been out on this order and is back.")
    if (unit !== undefined && unit.status > prepared) return { events: [], meta: null }
    // The first line with room; without one, allocating to the first line gives the error.
    const line =
      lines.find((one) => ownUnits(known, known.opportunity, one).length < Math.ceil(Number(one.quantity))) ?? lines[0]
    const given =
      unit !== undefined || line === undefined
        ? undefined
        : yield* allocate(
            known,
            [{ line, stock_level_id: housing.id, field: "opportunity_id", count_field: "opportunity_id" }],
            context
          )
    const after = given === undefined ? known : knownAfter(known, given.events, context)
    const there = unit ?? after.opportunity.units.find((one) => one.stock_level_id === housing.id)
    if (there === undefined) return yield* reject("opportunity_id", "The case is on no line of this order.")
    const gone = yield* moveUnits(
      after,
      [{ unit: there, field: "opportunity_id" }],
      [dispatching(dispatched_at, { dispatched_by: context.viewer.user_id || null, vehicle_id: null })],
      context
    )
    return { events: [...(given?.events ?? []), ...gone.events], meta: gone.result._meta }
  })

/** The opportunity's state after the events of an allocation. */
export const knownAfter = (
  known: DecisionState,
  events: ReadonlyArray<NewEvent>,
  context: DecideContext
): DecisionState => {
  let { opportunity } = known
  for (const { data, type } of events) {
    if (type === "opportunity.asset_allocated") {
      const row = {
        ...(data["assignment"] as JsonObject),
        created_at: context.now,
        updated_at: context.now,
        deleted_at: null
      } as JsonObject as AssignmentRow
      opportunity = { ...opportunity, units: [...opportunity.units, row] }
    }
    if (type === "opportunity.item_store_set")
      opportunity = withLine(opportunity, Number(data["item_id"]), data["set"] as Partial<ItemRow>)
  }
  return { ...known, opportunity }
}

/** End of the order; open if the order has ended when the case leaves. */
export const endOfDemand = ({ opportunity: { header } }: DecisionState, from: string): string =>
  header.ends_at === null || header.ends_at <= from ? openEnd : header.ends_at

/** Reason a case is out of service, with a remedy; undefined if it is in service. */
export const caseOutOfService = (
  container: ContainerRow,
  housing: Unit["level"],
  context: DecideContext
): string | undefined => {
  const out = outOfServiceDuring(housing, context)
  return out === undefined
    ? undefined
    : `${labelOf(housing)}, the case of ${container.name}, ${outOfServiceRefusal(out)}.`
}

interface ReturnFacts {
  readonly target: ContainerFacts
  /** State of the order it is out on; undefined if it is on none, or that was deleted. */
  readonly known: DecisionState | undefined
}
/**
 * Returns a container: books its case in, and the units of a box (checked, if a condition is given); they stay packed.
 * Starts repacking if the product requires it. 422: `container` unless dispatched, `returned_at` before the dispatch.
 */
export const returnContainer = (
  facts: ReturnFacts,
  returned_at: string,
  condition: number | null,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const {
      known,
      target: { container, items, product }
    } = facts
    if (container.status !== "dispatched")
      return yield* reject("container", `The container is ${container.status}; only dispatched ones come back.`)
    if (container.dispatched_at !== null && returned_at < container.dispatched_at) {
      return yield* reject("returned_at", "The returned at field must not be before the container went out.")
    }
    // Contents of a box were dispatched by unit, those of a kit with its case.
    const inside = isKit(facts.target) ? [] : items.map((item) => item.serialised_item_id)
    const units =
      known?.opportunity.units.filter(
        (one) =>
          (one.stock_level_id === container.serialised_item_id || inside.includes(one.stock_level_id)) &&
          (one.status === dispatched || one.status === on_hire)
      ) ?? []
    const back =
      known === undefined || units.length === 0
        ? undefined
        : yield* moveUnits(
            known,
            units.map((unit) => ({ unit, field: "container" })),
            [
              returning(returned_at, { received_by: context.viewer.user_id || null, return_store_id: null }),
              ...(condition === null
                ? []
                : [
                    checking(returned_at, { condition, checked_by: context.viewer.user_id || null, damage_notes: null })
                  ])
            ],
            context
          )
    return decision(container.id, [
      ...(back?.events ?? []),
      ...cameBack(container, returned_at, true),
      ...(product?.container_repack_on_return === true
        ? [repackStarted.make({ id: container.id, status: "open", repack_started_at: context.happened_at })]
        : [])
    ])
  })

/**
 * Records scanned units of a dispatched or returned container. In check-in mode `individual` the last one returns the
 * container. 422 `container` in other statuses.
 */
export const verifyCheckin = (
  facts: ReturnFacts,
  scanned: ReadonlyArray<number>,
  context: DecideContext
): Decided<typeof verifiedResult.Type> =>
  Result.gen(function* () {
    const { container, items, product } = facts.target
    if (container.status !== "dispatched" && container.status !== "returned") {
      return yield* reject(
        "container",
        `The container is ${container.status}; only dispatched and returned ones are checked in.`
      )
    }
    const found = verification(items, scanned)
    const fresh = items
      .filter((item) => scanned.includes(item.serialised_item_id) && item.verified_at === null)
      .map((item) => item.serialised_item_id)
    const back =
      found.complete &&
      container.status === "dispatched" &&
      product?.container_checkin_mode === "individual" &&
      items.length > 0
        ? yield* returnContainer(facts, context.happened_at, null, context)
        : undefined
    return {
      events: [
        ...(fresh.length === 0 ? [] : [checkinVerified(container.id, fresh, context.happened_at)]),
        ...(back?.events ?? [])
      ],
      result: { verification: found }
    }
  })
