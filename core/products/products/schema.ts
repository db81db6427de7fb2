/** The table of products: what a rental business hires out, sells and bills (rules/availability 7.1). */
import { allColumnsExcept, boolean, choice, code, decimal, integer, json, longText, money } from "../../kernel/index.ts"
import { ref, table, tags, text, type JsonObject, type RowOf } from "../../kernel/index.ts"

export const product_types = {
  rental: "Rental",
  sale: "Sale",
  service: "Service",
  loss_and_damage: "Loss & Damage"
} as const
export const bulk = 1
export const serialised = 2
const stock_methods = { [bulk]: "Bulk", [serialised]: "Serialised" }

/** Fields of request bodies. Buffers are minutes (rules/availability 2.6); money is parsed to minor units. */
export const productFields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true, search: true }),
  product_type: choice(product_types, { default: "rental", any_case: true }),
  product_group_id: ref("product_groups", { nullable: true, on_delete: "clear" }),
  sku: text({ nullable: true, search: true }),
  barcode: text({ nullable: true, search: true }),
  is_active: boolean({ default: true }),
  stock_method: code(stock_methods, { default: bulk }),
  allowed_stock_type: code({ 1: "Rental", 2: "Sale", 3: "Both" }, { default: 1 }),
  weight: decimal({ scale: 4, min: "0", nullable: true }),
  replacement_charge: money({ default: 0 }),
  sub_rental_price: money({ default: 0, visible_to: "costs.view" }),
  purchase_price: money({ default: 0, visible_to: "costs.view" }),
  buffer_percent: decimal({ scale: 2, min: "0", max: "100", default: "0.00" }),
  buffer_before_minutes: integer({ min: 0, max: 5_256_000, default: 0 }),
  post_rent_unavailability: integer({
    min: 0,
    max: 5_256_000,
    default: 0,
    describe: "Buffer after each hire, in minutes"
  }),
  track_availability: boolean({ default: true }),
  accessory_only: boolean({ default: false }),
  system: boolean({ default: false }),
  discountable: boolean({ default: true }),
  tax_class_id: ref("product_tax_classes", { nullable: true, on_delete: "clear" }),
  purchase_tax_class_id: ref("product_tax_classes", { nullable: true, on_delete: "clear" }),
  rental_revenue_group_id: ref("revenue_groups", { nullable: true, on_delete: "clear" }),
  sale_revenue_group_id: ref("revenue_groups", { nullable: true, on_delete: "clear" }),
  sub_rental_cost_group_id: ref("cost_groups", { nullable: true, on_delete: "clear" }),
  purchase_cost_group_id: ref("cost_groups", { nullable: true, on_delete: "clear" }),
  country_of_origin_id: ref("countries", { nullable: true, on_delete: "keep" }),
  tag_list: tags(),
  custom_fields: json<JsonObject>({ default: {} })
}
export const product_tax_columns = ["tax_class_id", "purchase_tax_class_id"] as const
/** A slot of a case: a product and its quantity, always in the case (`fixed`) or packed for each hire (`pool`). */
export interface TemplateSlot extends JsonObject {
  readonly product_id: number
  readonly quantity: number
  readonly binding: "pool" | "fixed" | null
}
export interface ContainerTemplate extends JsonObject {
  readonly slots: ReadonlyArray<TemplateSlot>
  readonly max_items: number | null
}
export const container_modes = { kit: "Kit", transport: "Transport", hybrid: "Hybrid" } as const
export const checkin_modes = {
  parent: "Parent",
  individual: "Individual",
  parent_then_verify: "Parent, then verify"
} as const

/** Settings of a product that is a case; changed through its container template (rules/availability 8.4). */
const containerSettings = {
  is_containerable: boolean({ computed: true, default: false }),
  container_template: json<
    ContainerTemplate,
    { readonly nullable: true; readonly computed: true; readonly hidden: true }
  >({ nullable: true, computed: true, hidden: true }),
  container_availability_mode: choice(container_modes, { nullable: true, computed: true }),
  container_checkin_mode: choice(checkin_modes, { nullable: true, computed: true }),
  container_max_nesting_depth: integer({ min: 1, max: 20, default: 2, computed: true }),
  container_repack_on_return: boolean({ default: false, computed: true })
}
const columns = {
  ...productFields,
  /** Whether the product has components (rules/availability 7.3). */
  is_kit: boolean({ computed: true, default: false }),
  ...containerSettings
}
export const products = table("products", columns, {
  soft_delete: true,
  searched: { columns: ["name", "sku", "barcode"], never_erased: true },
  merged_by: { event: "product.merged", from: "secondary_id", into: "primary_id" },
  visibility: {
    all_columns: ["products.*"],
    granted_columns: [
      // Costs, descriptions and custom fields are for people who manage products.
      {
        to: [
          "availability.view",
          "containers.*",
          "kits.*",
          "opportunities.*",
          "purchase_orders.*",
          "rates.*",
          "shortages.*",
          "stock.*"
        ],
        columns: allColumnsExcept(
          columns,
          "replacement_charge",
          "sub_rental_price",
          "purchase_price",
          "description",
          "custom_fields",
          "country_of_origin_id",
          "purchase_tax_class_id",
          "sub_rental_cost_group_id",
          "purchase_cost_group_id"
        )
      },
      // Product data needed for purchase order lines (rules/billing 2.3); costs only for users who may see them.
      {
        to: ["purchase_orders.*"],
        columns: [
          "name",
          "stock_method",
          "sub_rental_price",
          "purchase_price",
          "purchase_tax_class_id",
          "sub_rental_cost_group_id",
          "purchase_cost_group_id"
        ]
      },
      { to: ["activities.*"], columns: ["name"] }
    ]
  },
  counted_by: ["product_group_id", "is_active"],
  indexes: [
    ["sku"],
    ["barcode"],
    ["name_folded"],
    ["product_group_id"],
    ["product_type", "name_folded"],
    ["created_at"]
  ]
})
export type ProductRow = RowOf<typeof products>

export type CodedProduct = Pick<ProductRow, "id" | "name" | "sku" | "barcode">
/** Warning that another product has a code, too; `found` says which one it is. */
export const sameCodeText = (
  column: "barcode" | "sku",
  code: string,
  other: CodedProduct,
  found = `id ${other.id}`
): string => {
  const how = other[column] === code ? "too" : "the same but for capitals"
  return `"${other.name}" (${found}) has the ${column} ${other[column]}, ${how}.`
}
