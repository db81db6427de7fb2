/**
 * The container template: how a product serves as a case, its limits and what belongs in it (rules/availability 8.4).
 */
import { Effect, Result } from "effect"
import { command, type Decided, get } from "../kernel/endpoint.ts"
import { boolean, choice, decimal, integer, list, object, ref } from "../kernel/field.ts"
import { updatedEvent } from "../kernel/crud-resource.ts"
import { type FieldErrors, invalid } from "../kernel/rejection.ts"
import { ok } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import {
  checkin_modes,
  type ContainerTemplate,
  container_modes,
  type ProductRow,
  products,
  type TemplateSlot
} from "../products/schema.ts"
import { part_quantity_max } from "./schema.ts"
import * as Shown from "../kernel/answer-schema.ts"

const fields = {
  is_containerable: boolean(),
  availability_mode: choice(container_modes, { nullable: true, on_null: "clear" }),
  checkin_mode: choice(checkin_modes, { nullable: true, on_null: "clear" }),
  max_nesting_depth: integer({ min: 1, max: 20 }),
  repack_on_return: boolean(),
  slots: list(
    object({
      product_id: ref("products", { required: true }),
      quantity: decimal({ scale: 4, min: "1", max: part_quantity_max, default: "1.0000", strict: false }),
      binding: choice({ pool: "Pool", fixed: "Fixed" }, { nullable: true })
    }),
    { nullable: true, on_null: "clear", max_items: 500 }
  ),
  max_items: integer({ min: 1, nullable: true, on_null: "clear" })
}
type Sent = {
  readonly [K in keyof typeof fields]?: (typeof fields)[K] extends { readonly _type?: infer T } ? T : never
}

/** The template in answers. Kits and hybrids are checked in as one (`parent`) unless the product says otherwise. */
export const containerTemplate = (product: ProductRow) => ({
  product_id: product.id,
  is_containerable: product.is_containerable,
  availability_mode: product.container_availability_mode,
  checkin_mode:
    product.container_checkin_mode ??
    (product.container_availability_mode === "kit" || product.container_availability_mode === "hybrid"
      ? "parent"
      : null),
  max_nesting_depth: product.container_max_nesting_depth,
  repack_on_return: product.container_repack_on_return,
  slots: product.container_template?.slots ?? [],
  max_items: product.container_template?.max_items ?? null
})

const templateShown = {
  container_template: Shown.keys({
    product_id: integer(),
    is_containerable: boolean(),
    availability_mode: choice(container_modes, { nullable: true }),
    checkin_mode: choice(checkin_modes, { nullable: true }),
    max_nesting_depth: integer(),
    repack_on_return: boolean(),
    slots: Shown.objects({
      product_id: integer(),
      quantity: Shown.number(),
      binding: choice({ pool: "Pool", fixed: "Fixed" }, { nullable: true })
    }),
    max_items: integer({ nullable: true })
  })
}

/**
 * 422: `slots.N.product_id` for a second slot of a product or one of the case itself; `max_items` below their total.
 */
const changeTemplate = (product: ProductRow, sent: Sent): Decided => {
  const before = product.container_template
  const slots: ReadonlyArray<TemplateSlot> =
    sent.slots === undefined
      ? (before?.slots ?? [])
      : (sent.slots ?? []).map((slot) => ({
          product_id: slot.product_id,
          quantity: Number(slot.quantity),
          binding: slot.binding ?? null
        }))
  const max_items = sent.max_items === undefined ? (before?.max_items ?? null) : sent.max_items
  const errors = templateErrors(product.id, slots, max_items)
  if (Object.keys(errors).length > 0) return Result.fail(invalid(errors))
  const template: ContainerTemplate | null = slots.length === 0 && max_items === null ? null : { slots, max_items }
  const set = {
    is_containerable: sent.is_containerable ?? product.is_containerable,
    container_availability_mode:
      sent.availability_mode === undefined ? product.container_availability_mode : sent.availability_mode,
    container_checkin_mode: sent.checkin_mode === undefined ? product.container_checkin_mode : sent.checkin_mode,
    container_max_nesting_depth: sent.max_nesting_depth ?? product.container_max_nesting_depth,
    container_repack_on_return: sent.repack_on_return ?? product.container_repack_on_return,
    container_template: template
  }
  const updated = updatedEvent(products, product, set)
  return Result.succeed({ events: updated === undefined ? [] : [updated], result: { id: product.id } })
}

const templateErrors = (
  product_id: number,
  slots: ReadonlyArray<TemplateSlot>,
  max_items: number | null
): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  slots.forEach((slot, at) => {
    if (slots.findIndex((one) => one.product_id === slot.product_id) < at)
      errors[`slots.${at}.product_id`] = ["Each product has one slot; raise its quantity instead."]
    if (slot.product_id === product_id) errors[`slots.${at}.product_id`] = ["A case cannot be a slot of itself."]
  })
  const total = slots.reduce((sum, slot) => sum + Math.ceil(slot.quantity), 0)
  if (max_items !== null && total > max_items) errors["max_items"] = [`The slots already ask for ${total} items.`]
  return errors
}

const path = "/api/v1/products/{product}/container_template"
const params = { product: { table: products } } as const

export const containerTemplateEndpoints = [
  get(path, {
    answer: templateShown,
    name: "container_templates.show",
    summary: "Show how a product serves as a case",
    ability: "kits:read",
    permission: "kits.view",
    params,
    run: ({ rows }) => Effect.succeed(ok({ container_template: containerTemplate(rows.product) }))
  }),
  command("PUT", path, {
    answer: templateShown,
    name: "container_templates.update",
    summary: "Change how a product serves as a case; what is left out stays",
    ability: "kits:write",
    permission: "kits.manage",
    params,
    fields,
    streams: (given) => ["compositions", `product:${given["product"]}`],
    facts: () => Effect.succeed(undefined),
    decide: (_facts, { rows, values }) => changeTemplate(rows.product, values),
    respond: (_result, { rows }) =>
      Effect.gen(function* () {
        const row = yield* (yield* Store).get(products, rows.product.id)
        return ok({ container_template: containerTemplate(row ?? rows.product) })
      })
  })
]
