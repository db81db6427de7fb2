/**
 * Tables of accessories, which go along with a product, and components, which a kit is made of (rules/availability 7.2,
 * 7.3).
 */
import { boolean, choice, decimal, integer, ref, settingNumber, table } from "../../kernel/index.ts"
import type { RowOf, Settings } from "../../kernel/index.ts"
import type { ProductRow } from "../products/schema.ts"

/** Maximum quantity of an accessory, component or slot; quantities of lines and nested kits multiply it. */
export const part_quantity_max = "1000000"

export const accessoryFields = {
  accessory_product_id: ref("products", { required: true, on_delete: "keep" }),
  quantity: decimal({ scale: 4, min: "0", max: part_quantity_max, default: "1.0000", strict: false, shown_scale: 1 }),
  included: boolean({ default: false }),
  zero_priced: boolean({ default: false }),
  sort_order: integer({ min: 0, default: 0 })
}
export const product_accessories = table(
  "product_accessories",
  { product_id: ref("products", { computed: true, on_delete: "keep" }), ...accessoryFields },
  {
    entity: "accessory",
    visibility: { all_columns: ["products.*", "opportunities.*"] },
    indexes: [["accessory_product_id"]],
    uniques: [
      {
        columns: ["product_id", "accessory_product_id"],
        field: "accessory_product_id",
        message: "This product is already an accessory of it."
      }
    ]
  }
)
export type AccessoryRow = RowOf<typeof product_accessories>

/**
 * Fields of a component. `binding`: `pool` parts come from general stock, `fixed` ones are always packed in the case.
 */
export const componentFields = {
  component_product_id: ref("products", { required: true, create_only: true, on_delete: "keep" }),
  quantity: decimal({ scale: 4, min: "1", max: part_quantity_max, default: "1.0000", strict: false }),
  binding: choice({ pool: "Pool", fixed: "Fixed" }, { default: "pool" }),
  sort_order: integer({ min: 0, default: 0 })
}
export const product_components = table(
  "product_components",
  { product_id: ref("products", { computed: true, on_delete: "keep" }), ...componentFields },
  {
    entity: "component",
    visibility: {
      all_columns: ["kits.*", "products.*", "availability.view", "containers.*", "opportunities.*", "shortages.*"]
    },
    indexes: [["component_product_id"]],
    uniques: [
      {
        columns: ["product_id", "component_product_id"],
        field: "component_product_id",
        message: "This product is already a component of it."
      }
    ]
  }
)
export type ComponentRow = RowOf<typeof product_components>

// Maximum nesting depth of kits, set in `availability` (rules/rulings 15).

export const defaultKitDepth = 3
export const kitDepthIn = (settings: Settings): number =>
  settingNumber(settings, "availability", "kit_nesting_max_depth") || defaultKitDepth

// A product as a case: its mode and its parts, which decide what packing reserves (rules/availability 8.5).

export type ContainerMode = "kit" | "hybrid" | "transport"

/**
 * A part of a kit. `pool` parts come from general stock, `fixed` ones are packed in the case. Quantities have 4
 * decimals.
 */
export interface KitPart {
  readonly component_product_id: number
  readonly quantity: number
  readonly binding: "pool" | "fixed"
}

export interface CaseProduct {
  readonly container_mode: ContainerMode | null
  readonly parts: ReadonlyArray<KitPart>
}

/** Converts a stored component to a part for rules. */
export const kitPartOf = ({
  binding,
  component_product_id,
  quantity
}: Pick<ComponentRow, "component_product_id" | "quantity" | "binding">): KitPart => ({
  component_product_id,
  quantity: Number(quantity),
  binding
})

export const caseOf = (
  product: Pick<ProductRow, "container_availability_mode">,
  components: ReadonlyArray<ComponentRow>
): CaseProduct => ({ container_mode: product.container_availability_mode, parts: components.map(kitPartOf) })
