/**
 * Endpoints of units: allocate them to lines and change their statuses, one or many at once (rules/opportunities 9.1,
 * 9.2).
 */
import { Effect } from "effect"
import { boolean, code, command, created, integer, invalid, isJsonObject, later, list } from "../../../kernel/index.ts"
import { lockStreams, longText, noContent, notFound, object, ok, ref, renderById } from "../../../kernel/index.ts"
import { Shown, Store, text, viewContext, warningsMeta, withMore, withRules } from "../../../kernel/index.ts"
import type { DecideContext, Endpoint, Fields, Input, JsonObject, Streams, ValuesOf } from "../../../kernel/index.ts"
import { assignmentResource, bulkResult, dispatchMeta, dispatchMetaShown, isHoldingStock } from "../state/index.ts"
import { itemResource, loadDecisionState, opportunityShown, plainAnswer, unitResult, warned } from "../state/index.ts"
import { withUnits, type DecisionState, type LoadOptions, type UnitDecided } from "../state/index.ts"
import { checking, dispatching, moveUnits, preparing, returning, type UnitMovement } from "./lifecycle.ts"
import { acts, bulkFields, unitAlternatives, unitFields, when } from "./actions.ts"
import { allocate, deallocate } from "./decide.ts"
import { asset, asset_assignments, condition_labels, fulfil, good, item, one, path } from "../tables/index.ts"

/** Serialises writers of one unit across opportunities. */
const unitStreams =
  (entries: (body: JsonObject) => ReadonlyArray<unknown>): Streams =>
  (params, body) => [
    `opportunity:${params["id"]}`,
    ...entries(body)
      .filter((id) => typeof id === "number" || typeof id === "string")
      .map((id) => `stock_level:${id}`)
  ]
const stockOf = (input: Input<typeof one>): LoadOptions => ({
  live_only: true,
  stock: isHoldingStock(input.rows.id, input.settings)
})

const quickAllocate = command("POST", `${path}/{id}/quick_allocate`, {
  answer: opportunityShown,
  name: "opportunities.quick_allocate",
  summary: "Allocate many units to an opportunity's lines, all or none",
  ...fulfil,
  params: one,
  streams: unitStreams((body) =>
    Array.isArray(body["allocations"])
      ? body["allocations"].map((one) => (isJsonObject(one) ? one["stock_level_id"] : undefined))
      : []
  ),
  fields: {
    allocations: list(
      object({
        opportunity_item_id: integer({ required: true, min: 1, names: "opportunity_items" }),
        stock_level_id: ref("stock_levels", { required: true })
      }),
      { required: true, min_items: 1, max_items: 1_000 }
    )
  },
  split_by: "allocations",
  alternatives: unitAlternatives,
  facts: (input) =>
    Effect.gen(function* () {
      const requested = input.values.allocations ?? []
      const ids = requested.map((one) => one.stock_level_id)
      const repeated = firstRepeated(ids)
      if (repeated >= 0)
        return yield* invalid({ [`allocations.${repeated}.stock_level_id`]: ["The unit is listed twice."] })
      const state = yield* loadDecisionState(input.rows.id, input, { level_ids: ids, ...stockOf(input) })
      const lines = new Map(state.opportunity.lines.map((line) => [line.id, line]))
      const allocations = requested.flatMap((one, at) => {
        const line = lines.get(one.opportunity_item_id)
        return line === undefined
          ? []
          : [
              {
                line,
                stock_level_id: one.stock_level_id,
                field: `allocations.${at}.stock_level_id`,
                count_field: "allocations"
              }
            ]
      })
      return allocations.length < requested.length
        ? yield* notFound("No such opportunity item.")
        : { state, allocations }
    }),
  decide: ({ state, allocations }, _input, context) => allocate(state, allocations, context),
  result: unitResult,
  respond: ({ warnings }, input) =>
    Effect.map(plainAnswer(input.rows.id.id, input, withUnits), (answer) => warned(answer, warnings))
})

/** Position of the first id that is there already; -1 if none. */
const firstRepeated = (ids: ReadonlyArray<number>): number => {
  const seen = new Set<number>()
  return ids.findIndex((id) => seen.size === seen.add(id).size)
}

/** The units in a body. 404 for units of other opportunities, 422 on `asset_ids.<n>` for duplicates. */
const namedUnits = Effect.fnUntraced(function* (input: Input<typeof one>, ids: ReadonlyArray<number>) {
  const header = input.rows.id
  const repeated = firstRepeated(ids)
  if (repeated >= 0) return yield* invalid({ [`asset_ids.${repeated}`]: ["The unit is listed twice."] })
  const units = yield* Store.pickMany(asset_assignments, ["opportunity_id", "stock_level_id"], ids)
  if (units.some((unit) => unit.opportunity_id !== header.id)) return yield* notFound("No such asset assignment.")
  yield* lockStreams(units.map((unit) => `stock_level:${unit.stock_level_id}`))
  const state = yield* loadDecisionState(header, input, { live_only: true, stock: true })
  const byId = new Map(state.opportunity.units.map((unit) => [unit.id, unit]))
  const moving = ids.flatMap((id, at): ReadonlyArray<UnitMovement> => {
    const unit = byId.get(id)
    return unit === undefined ? [] : [{ unit, field: `asset_ids.${at}` }]
  })
  return moving.length < ids.length ? yield* notFound("No such asset assignment.") : { state, moving }
})
const asset_ids = list(ref("asset_assignments"), { required: true, min_items: 1, max_items: 1_000 })
const batch = <const B extends Fields & { readonly asset_ids: typeof asset_ids }>(
  name: string,
  summary: string,
  fields: B,
  decide: (
    state: DecisionState,
    moving: ReadonlyArray<UnitMovement>,
    sent: Partial<ValuesOf<B>>,
    context: DecideContext
  ) => UnitDecided
): Endpoint =>
  command("POST", `${path}/{id}/${name}`, {
    answer: { ...opportunityShown, ...dispatchMetaShown },
    name: `opportunities.${name}`,
    summary,
    ...fulfil,
    params: one,
    fields,
    split_by: "asset_ids",
    facts: (input) => namedUnits(input, input.values["asset_ids"] as ReadonlyArray<number>),
    decide: ({ state, moving }, input, context) => decide(state, moving, input.values, context),
    result: unitResult,
    respond: ({ _meta, warnings }, input) =>
      Effect.map(plainAnswer(input.rows.id.id, input, withUnits), (answer) =>
        withMore(warned(answer, warnings), dispatchMeta(_meta))
      )
  })

const batches: ReadonlyArray<Endpoint> = [
  batch(
    "quick_prepare",
    "Mark many units of an opportunity as prepared, all or none",
    { prepared_at: when(), asset_ids },
    (state, moving, sent, context) =>
      moveUnits(state, moving, [preparing(sent.prepared_at ?? context.happened_at)], context)
  ),
  batch(
    "quick_book_out",
    "Dispatch many units of an opportunity, all or none",
    {
      dispatched_by: ref("users", { nullable: true }),
      vehicle_id: integer({ nullable: true }),
      dispatched_at: when(),
      asset_ids
    },
    (state, moving, sent, context) =>
      moveUnits(
        state,
        moving,
        [
          dispatching(sent.dispatched_at ?? context.happened_at, {
            dispatched_by: sent.dispatched_by ?? null,
            vehicle_id: sent.vehicle_id ?? null
          })
        ],
        context
      )
  ),
  batch(
    "quick_check_in",
    "Check in many units of an opportunity, all or none",
    {
      received_by: ref("users", { nullable: true }),
      return_store_id: ref("stores", { nullable: true }),
      finalise: boolean({ default: false }),
      condition: code(condition_labels, {
        nullable: true,
        describe: "Condition of all units; if given, they are finalised as well"
      }),
      damage_notes: longText({ nullable: true }),
      returned_at: when(),
      asset_ids
    },
    (state, moving, sent, context) => {
      const at = sent.returned_at ?? context.happened_at
      const received_by = sent.received_by ?? null
      const back = returning(at, { received_by, return_store_id: sent.return_store_id ?? null })
      return moveUnits(
        state,
        moving,
        sent.finalise === true || typeof sent.condition === "number"
          ? [
              back,
              checking(at, {
                condition: sent.condition ?? good,
                checked_by: received_by,
                damage_notes: sent.damage_notes ?? null
              })
            ]
          : [back],
        context
      )
    }
  )
]

const unitShown = {
  asset: Shown.row(() => assignmentResource),
  meta: Shown.optional(Shown.warnings()),
  ...dispatchMetaShown
}
const shownUnit = ({ _meta, assignment_id, warnings }: typeof unitResult.Type, input: Input) =>
  Effect.map(renderById(assignmentResource, Number(assignment_id), input.query, viewContext(input)), (body) => ({
    ...body,
    ...warningsMeta(warnings),
    ...dispatchMeta(_meta)
  }))

const allocateOne = command("POST", `${path}/{id}/items/{item}/assets`, {
  answer: unitShown,
  success_status: 201,
  name: "opportunities.allocate_asset",
  summary: "Allocate one unit to a line",
  ...fulfil,
  params: item,
  streams: unitStreams((body) => [body["stock_level_id"]]),
  fields: { stock_level_id: ref("stock_levels", { required: true }) },
  alternatives: unitAlternatives,
  facts: (input) =>
    loadDecisionState(input.rows.id, input, { level_ids: [input.values.stock_level_id], ...stockOf(input) }),
  decide: (state, input, context) =>
    allocate(
      state,
      [
        {
          line: input.rows.item,
          stock_level_id: input.values.stock_level_id,
          field: "stock_level_id",
          count_field: "stock_level_id"
        }
      ],
      context
    ),
  result: unitResult,
  respond: (result, input) => Effect.map(shownUnit(result, input), created)
})

const moveOne = command("PATCH", `${path}/{id}/items/{item}/assets/{asset}`, {
  answer: unitShown,
  name: "opportunities.move_asset",
  summary: "Prepare, dispatch, return, check, substitute or revert a unit",
  ...fulfil,
  params: asset,
  mode: "create",
  fields: unitFields,
  alternatives: unitAlternatives,
  streams: unitStreams((body) => [body["stock_level_id"]]),
  facts: (input) =>
    Effect.gen(function* () {
      const { stock_level_id } = input.values
      yield* lockStreams([`stock_level:${input.rows.asset.stock_level_id}`])
      return yield* loadDecisionState(input.rows.id, input, {
        live_only: true,
        stock: true,
        level_ids: typeof stock_level_id === "number" ? [stock_level_id] : []
      })
    }),
  decide: (state, input, context) => acts[input.values.action!](state, input.rows.asset, input.values, context),
  result: unitResult,
  respond: (result, input) => Effect.map(shownUnit(result, input), ok)
})

const release = command("DELETE", `${path}/{id}/items/{item}/assets/{asset}`, {
  name: "opportunities.deallocate_asset",
  summary: "Remove a unit from its line",
  ...fulfil,
  params: asset,
  fields: { reason: text({ nullable: true, max: 1000 }) },
  facts: (input) =>
    Effect.gen(function* () {
      yield* lockStreams([`stock_level:${input.rows.asset.stock_level_id}`])
      return yield* loadDecisionState(input.rows.id, input, stockOf(input))
    }),
  decide: (state, input, context) => deallocate(state, input.rows.asset, input.values.reason ?? null, context),
  respond: () => Effect.succeed(noContent)
})

// Endpoint that dispatches, returns and adjusts lines counted in bulk (rules/opportunities 9.3).

const counting = later(() => import("./bulk.ts"))

const fulfilBulk = command("PATCH", `${path}/{id}/items/{item}/fulfilment`, {
  answer: { item: Shown.row(() => itemResource), ...dispatchMetaShown },
  name: "opportunities.fulfil_item",
  summary: "Dispatch, return, adjust or revert a quantity of a bulk line",
  ...fulfil,
  params: item,
  mode: "create",
  fields: bulkFields,
  split_by: "quantity",
  facts: (input) => {
    const { id, item_id } = input.rows.item
    return withRules(counting, () =>
      loadDecisionState(input.rows.id, input, {
        live_only: true,
        line_ids: [id],
        stock: true,
        rated_product_ids: item_id === null ? [] : [item_id]
      })
    )
  },
  decide: ({ known, rules }, input, context) =>
    rules.bulkActs[input.values.action!](known, input.rows.item, input.values, context),
  result: bulkResult,
  respond: ({ _meta }, input) =>
    Effect.map(renderById(itemResource, input.rows.item.id, input.query, viewContext(input)), (body) =>
      ok({ ...body, ...dispatchMeta(_meta) })
    )
})

export const unitEndpoints: ReadonlyArray<Endpoint> = [
  quickAllocate,
  ...batches,
  allocateOne,
  moveOne,
  release,
  fulfilBulk
]
