/** Endpoints of accessories, components and container templates (rules/availability 7.2, 7.3, 8.4). */
import { boolean, choice, command, crudResource, decided, decimal, get, integer, invalid } from "../../kernel/index.ts"
import { list, object, ok, ref, reject, resource, Shown, Store, text, updatedEvents } from "../../kernel/index.ts"
import { viewManageAccess } from "../../kernel/index.ts"
import type { Decided, FieldErrors, Input, SaveResult, Slice } from "../../kernel/index.ts"
import type { ContainerTemplate, ProductRow, TemplateSlot } from "../products/schema.ts"
import { checkin_modes, container_modes, products } from "../products/schema.ts"
import type { AccessoryRow, ComponentRow } from "./schema.ts"
import {
  accessoryFields,
  componentFields,
  kitDepthIn,
  part_quantity_max,
  product_accessories,
  product_components
} from "./schema.ts"
import { Effect, Result } from "effect"
import { type ComponentFacts, type Composed, deleteComponent, productTouched, saveComponent } from "./decide.ts"

// API representation of accessories and components (rules/availability 7.2, 7.3).

export const accessoryResource = resource({
  singular: "accessory",
  plural: "accessories",
  shows: { related_name: text({ nullable: true }) },
  table: product_accessories,
  entity_type: "accessories",
  sorts: ["sort_order", "created_at"],
  order: ["sort_order", "id"],
  lookups: { other: { via: "accessory_product_id", table: products } },
  includes: { accessory_product: { kind: "brief", via: "accessory_product_id", table: products } },
  view: (base, _row, { other }) => ({ ...base, related_name: other?.name ?? null })
})

const componentResource = resource({
  singular: "component",
  plural: "components",
  shows: { component_name: text({ nullable: true }) },
  table: product_components,
  entity_type: "serialised_components",
  sorts: ["sort_order", "created_at"],
  order: ["sort_order", "id"],
  lookups: { other: { via: "component_product_id", table: products } },
  view: (base, _row, { other }) => ({ ...base, component_name: other?.name ?? null })
})

// Queries for the kits above products and the parts below them, at any depth.

/** All pairs of product and component above the first products and below the second: one query. */
export const loadCompositionSteps = Effect.fnUntraced(function* (
  above: ReadonlyArray<number>,
  below: ReadonlyArray<number>
): Store.Reads<ReadonlyArray<Composed>> {
  const { sql } = yield* Store
  return yield* sql<{ product_id: number; component_product_id: number }>`
    with recursive up(id) as (select id from products where id in ${sql.in(above)}
    union select c.product_id from product_components c join up on c.component_product_id = up.id),
    down(id) as (select id from products where id in ${sql.in(below)}
    union select c.component_product_id from product_components c join down on c.product_id = down.id)
    select product_id, component_product_id from product_components
    where component_product_id in (select id from up) or product_id in (select id from down)`
})

// The container template: a product as a case, its limits and its content (rules/availability 8.4).

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

/**
 * API representation of a product's container template. By default kits and hybrids are checked in as one (`parent`).
 */
const containerTemplate = (product: ProductRow) => ({
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
 * Changes a container template. 422: `slots.N.product_id` for a product named twice or the case itself; `max_items`
 * below the total of the slots.
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
  return decided(product.id, updatedEvents(products, product, set))
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

const containerTemplateEndpoints = [
  get(path, {
    answer: templateShown,
    name: "container_templates.show",
    summary: "Show a product's container template",
    ability: "kits:read",
    permission: "kits.view",
    params,
    run: ({ rows }) => Effect.succeed(ok({ container_template: containerTemplate(rows.product) }))
  }),
  command("PUT", path, {
    answer: templateShown,
    name: "container_templates.update",
    summary: "Update a product's container template",
    ability: "kits:write",
    permission: "kits.manage",
    params,
    fields,
    streams: (given) => ["compositions", `product:${given["product"]}`],
    facts: () => Effect.succeed(undefined),
    decide: (_facts, { rows, values }) => changeTemplate(rows.product, values),
    respond: Effect.fnUntraced(function* (_result, { rows }) {
      const row = yield* Store.get(products, rows.product.id)
      return ok({ container_template: containerTemplate(row ?? rows.product) })
    })
  })
]

/** Checks an accessory. 422 `accessory_product_id`: the product itself, or already its accessory. */
const saveAccessory = (
  next: AccessoryRow,
  siblings: ReadonlyArray<AccessoryRow>
): SaveResult<typeof product_accessories> =>
  next.accessory_product_id === next.product_id
    ? reject("accessory_product_id", "A product cannot be its own accessory.")
    : siblings.some((one) => one.id !== next.id && one.accessory_product_id === next.accessory_product_id)
      ? reject("accessory_product_id", "This product is already an accessory of it.")
      : Result.succeed({ also: [productTouched(next.product_id)] })

const accessories = crudResource({
  resource: accessoryResource,
  fields: accessoryFields,
  path: "/api/v1/products/{product}/accessories",
  parent: { param: "product", table: products, column: "product_id" },
  access: viewManageAccess("products", "products.view", "products.edit"),
  only: ["list", "create", "update", "delete"],
  unpaged: true,
  rules: {
    facts: (input) => Store.find(product_accessories, { product_id: input.rows.product.id }),
    save: ({ next, facts }) => saveAccessory(next, facts),
    delete: ({ row }) => Result.succeed([productTouched(row.product_id)])
  }
})

const componentFacts = Effect.fnUntraced(function* (
  input: Pick<Input, "body" | "settings"> & { readonly rows: { readonly product: ProductRow } },
  before: ComponentRow | undefined
): Store.Reads<ComponentFacts> {
  const product = input.rows.product
  const component_id = before?.component_product_id ?? Number(input.body["component_product_id"])
  return {
    product,
    siblings: yield* Store.find(product_components, { product_id: product.id }),
    edges: before === undefined ? yield* loadCompositionSteps([product.id], [component_id]) : [],
    depth_max: kitDepthIn(input.settings)
  }
})

const components = crudResource({
  resource: componentResource,
  fields: componentFields,
  path: "/api/v1/products/{product}/components",
  parent: { param: "product", table: products, column: "product_id" },
  access: viewManageAccess("kits", "kits.view", "kits.manage"),
  only: ["list", "create", "update", "delete"],
  update_method: "PATCH",
  unpaged: true,
  // One lock for all compositions: otherwise two commands at once could make two kits parts of each other.
  streams: (params) => ["compositions", `product:${params["product"]}`],
  rules: {
    facts: componentFacts,
    save: ({ next, before, facts }) => saveComponent(next, before, facts),
    delete: ({ row, facts }) => deleteComponent(row, facts)
  }
})

export const kitsSlice: Slice = {
  name: "kits",
  tables: [product_accessories, product_components],
  resources: [accessoryResource, componentResource],
  events: [...(accessories.events ?? []), ...(components.events ?? [])],
  includes: {
    products: {
      accessories: { kind: "many", via: "product_id", resource: () => accessoryResource },
      components: { kind: "many", via: "product_id", resource: () => componentResource }
    }
  },
  endpoints: [...(accessories.endpoints ?? []), ...(components.endpoints ?? []), ...containerTemplateEndpoints]
}
