/** How answers show accessories and components (rules/availability 7.2, 7.3). */
import { resource } from "../kernel/resource.ts"
import { products } from "../products/schema.ts"
import { product_accessories, product_components } from "./schema.ts"
import { text } from "../kernel/field.ts"

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
  view: (base, _row, { other }) => ({ ...base, related_name: (other?.["name"] as string | undefined) ?? null })
})

export const componentResource = resource({
  singular: "component",
  plural: "components",
  shows: { component_name: text({ nullable: true }) },
  table: product_components,
  entity_type: "serialised_components",
  sorts: ["sort_order", "created_at"],
  order: ["sort_order", "id"],
  lookups: { other: { via: "component_product_id", table: products } },
  view: (base, _row, { other }) => ({ ...base, component_name: (other?.["name"] as string | undefined) ?? null })
})
