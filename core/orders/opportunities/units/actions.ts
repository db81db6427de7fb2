/** Actions on one unit by `PATCH …/assets/{asset}`: fields and rules (rules/opportunities 9.1). */
import { Effect } from "effect"
import { choice, code, decimal, integer, isJsonObject, longText, ref, reject, text } from "../../../kernel/index.ts"
import { objectsIn, timestamp, wholeNumberOf } from "../../../kernel/index.ts"
import type { Alternative, Alternatives, AskEndpoint, DecideContext, Json, JsonObject } from "../../../kernel/index.ts"
import type { RefusedReference, ValuesOf } from "../../../kernel/index.ts"
import type { DecisionState, UnitDecided } from "../state/index.ts"
import { substitute } from "./decide.ts"
import {
  checking,
  dispatching,
  goingOnHire,
  moveUnits,
  preparing,
  returning,
  revertUnit,
  setContainer,
  unpreparing
} from "./lifecycle.ts"
import { assignment_statuses, condition_labels, type AssignmentRow } from "../tables/index.ts"

// Alternatives to a unit that cannot be allocated, offered with the refusal.

const objectIn = (body: JsonObject | undefined, key: string): JsonObject | undefined => {
  const value = body?.[key]
  return isJsonObject(value) ? value : undefined
}

/** The line that the refused unit was meant for: named next to the unit in the body, or in the path. */
const lineOf = (opportunity: JsonObject, { body, field, params }: RefusedReference): JsonObject | undefined => {
  const around = field
    .split(".")
    .slice(0, -1)
    .reduce<Json | undefined>(
      (at, step) => (Array.isArray(at) ? at[Number(step)] : isJsonObject(at) ? at[step] : undefined),
      body
    )
  const id = wholeNumberOf((isJsonObject(around) ? around["opportunity_item_id"] : undefined) ?? params["item"])
  return objectsIn(opportunity["items"]).find((line) => line["id"] === id)
}

const unitShown = (unit: JsonObject): ReadonlyArray<Alternative> => {
  const { asset_number, barcode, id, item_name, location, serial_number } = unit
  if (typeof id !== "number") return []
  const name = asset_number ?? serial_number ?? barcode ?? item_name
  return [
    {
      id,
      name: typeof name === "string" ? name : `unit ${id}`,
      location: typeof location === "string" ? location : null
    }
  ]
}

/** Units of the line's product that are free during its window. */
const find = Effect.fnUntraced(function* (refused: RefusedReference, ask: AskEndpoint) {
  const opportunity = objectIn(
    yield* ask(`/api/v1/opportunities/${refused.params["id"] ?? 0}`, [["include", "items"]]),
    "opportunity"
  )
  const line = opportunity === undefined ? undefined : lineOf(opportunity, refused)
  const product_id =
    line?.["item_id"] ?? objectIn(yield* ask(`/api/v1/stock_levels/${refused.id}`), "stock_level")?.["product_id"]
  const from = line?.["starts_at"] ?? opportunity?.["starts_at"]
  const to = line?.["ends_at"] ?? opportunity?.["ends_at"]
  if (typeof product_id !== "number" || typeof from !== "string" || typeof to !== "string") return []
  const store_id = line?.["dispatch_store_id"] ?? opportunity?.["store_id"]
  const found = yield* ask(`/api/v1/products/${product_id}/available-assets`, [
    ["from", from],
    ["to", to],
    ["per_page", "100"],
    ...(typeof store_id === "number" ? [["store_id", String(store_id)] as const] : [])
  ])
  return objectsIn(found?.["available_assets"]).flatMap(unitShown)
})

export const unitAlternatives: Alternatives = {
  field: "stock_level_id",
  none: "No other unit of the product is free in that time.",
  find
}

export const when = () => timestamp({ nullable: true })

/** Actions on one unit; `unitFields` combines the fields of all. */
const actions = {
  prepare: "Prepare",
  revert: "Revert preparation",
  set_container: "Set container",
  clear_container: "Clear container",
  substitute: "Substitute",
  dispatch: "Dispatch",
  on_hire: "On hire",
  return: "Return",
  check: "Check",
  revert_status: "Revert status"
} as const
export const unitFields = {
  action: choice(actions, { required: true }),
  prepared_at: when(),
  dispatched_at: when(),
  on_hire_at: when(),
  returned_at: when(),
  checked_at: when(),
  stock_level_id: ref("stock_levels", { nullable: true }),
  container_stock_level_id: ref("stock_levels", { nullable: true }),
  dispatched_by: ref("users", { nullable: true }),
  received_by: ref("users", { nullable: true }),
  checked_by: ref("users", { nullable: true }),
  vehicle_id: integer({ nullable: true }),
  return_store_id: ref("stores", { nullable: true }),
  condition: code(condition_labels, { nullable: true }),
  damage_notes: longText({ nullable: true }),
  notes: longText({ nullable: true }),
  status: code(assignment_statuses, { nullable: true }),
  reason: text({ nullable: true, max: 1000 })
}
type UnitBody = Partial<ValuesOf<typeof unitFields>>
type Act = (state: DecisionState, unit: AssignmentRow, sent: UnitBody, context: DecideContext) => UnitDecided
const stepping =
  (step: (sent: UnitBody, now: string) => Parameters<typeof moveUnits>[2][number]): Act =>
  (state, unit, sent, context) =>
    moveUnits(state, [{ unit, field: "action" }], [step(sent, context.happened_at)], context)
const requiring =
  <F extends keyof UnitBody>(field: F, words: string, act: (value: NonNullable<UnitBody[F]>) => Act): Act =>
  (state, unit, sent, context) => {
    const value = sent[field]
    return value === null || value === undefined
      ? reject(field, `The ${words} field is required.`)
      : act(value)(state, unit, sent, context)
  }
export const acts: { readonly [A in keyof typeof actions]: Act } = {
  prepare: stepping(({ prepared_at }, now) => preparing(prepared_at ?? now)),
  revert: stepping(() => unpreparing),
  set_container: requiring(
    "container_stock_level_id",
    "container stock level",
    (id) => (state, unit) => setContainer(state, unit, id)
  ),
  clear_container: (state, unit) => setContainer(state, unit, null),
  substitute: requiring(
    "stock_level_id",
    "stock level",
    (id) =>
      (state, unit, { reason = null }, context) =>
        substitute(state, unit, id, reason, context)
  ),
  dispatch: stepping(({ dispatched_at, dispatched_by = null, notes = null, vehicle_id = null }, now) =>
    dispatching(dispatched_at ?? now, { dispatched_by, vehicle_id, notes })
  ),
  on_hire: stepping(({ on_hire_at }, now) => goingOnHire(on_hire_at ?? now)),
  return: stepping(({ received_by = null, return_store_id = null, returned_at }, now) =>
    returning(returned_at ?? now, { received_by, return_store_id })
  ),
  check: requiring("condition", "condition", (condition) =>
    stepping(({ checked_at, checked_by = null, damage_notes = null }, now) =>
      checking(checked_at ?? now, { condition, checked_by, damage_notes })
    )
  ),
  revert_status: requiring(
    "status",
    "status",
    (status) =>
      (state, unit, { reason = null }, context) =>
        revertUnit(state, unit, status, reason, context)
  )
}

// Fields of lines counted in bulk: dispatched, returned, adjusted (rules/opportunities 9.3).

const bulk_actions = {
  dispatch: "Dispatch",
  return: "Return",
  adjust: "Adjust",
  revert_dispatch: "Revert dispatch",
  revert_return: "Revert return"
} as const
export const bulkFields = {
  action: choice(bulk_actions, { required: true }),
  quantity: decimal({ scale: 2, min: "0.01", max: "1000000000", nullable: true }),
  dispatched_by: ref("users", { nullable: true }),
  received_by: ref("users", { nullable: true }),
  condition: code(condition_labels, { nullable: true }),
  damage_notes: longText({ nullable: true }),
  new_quantity: decimal({ scale: 2, min: "0", max: "1000000000", nullable: true }),
  reason: text({ nullable: true })
}
