/** How products are asked for (spec 4.14). */
import { Effect, Result } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { accessoryResource, componentResource } from "../kits/resource.ts"
import { product_accessories, product_components } from "../kits/schema.ts"
import { stepsAround } from "../kits/steps.ts"
import { command } from "../kernel/endpoint.ts"
import { integer, text } from "../kernel/field.ts"
import { accessOf, register } from "../kernel/register.ts"
import { ok, resource, shownById, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { productRateResource } from "../rates/product-rate-resource.ts"
import { cost_groups } from "../registers/cost-groups.ts"
import { countries } from "../registers/countries.ts"
import { product_groups } from "../registers/product-groups.ts"
import { revenue_groups } from "../registers/revenue-groups.ts"
import { product_tax_classes } from "../registers/tax.ts"
import { stockLevelResource } from "../stock/resource.ts"
import { stock_levels } from "../stock/schema.ts"
import { stores } from "../stores/stores.ts"
import { kitDepthIn } from "../availability/settings.ts"
import { packedIn } from "../containers/hold.ts"
import { containers, live_statuses } from "../containers/schema.ts"
import { firstStockLevel } from "./decide.ts"
import { productMerged } from "./events.ts"
import { mergeProducts } from "./merge.ts"
import { productFields, products } from "./schema.ts"
import * as Shown from "../kernel/shown.ts"

export const productResource = resource({
  singular: "product",
  shows: { product_group_name: text({ nullable: true }), icon: Shown.nothing() },
  table: products,
  filters: ["name", "product_type", "is_active", "product_group_id", "sku", "barcode", "tax_class_id", "allowed_stock_type", "stock_method",
    "accessory_only", "discountable", "created_at", "updated_at"],
  sorts: ["name", "product_type", "sku", "created_at", "updated_at"],
  aliases: { type: "product_type", active: "is_active" },
  related: {
    "productGroup.name": { via: "product_group_id", table: product_groups, column: "name" },
    "product_group.name": { via: "product_group_id", table: product_groups, column: "name" }
  },
  custom_module: "Product",
  lists_archived: true,
  lookups: { product_group: { via: "product_group_id", table: product_groups } },
  includes: {
    product_group: { kind: "brief", via: "product_group_id", table: product_groups },
    tax_class: { kind: "brief", via: "tax_class_id", table: product_tax_classes },
    purchase_tax_class: { kind: "brief", via: "purchase_tax_class_id", table: product_tax_classes },
    rental_revenue_group: { kind: "brief", via: "rental_revenue_group_id", table: revenue_groups },
    sale_revenue_group: { kind: "brief", via: "sale_revenue_group_id", table: revenue_groups },
    sub_rental_cost_group: { kind: "brief", via: "sub_rental_cost_group_id", table: cost_groups },
    purchase_cost_group: { kind: "brief", via: "purchase_cost_group_id", table: cost_groups },
    country_of_origin: { kind: "brief", via: "country_of_origin_id", table: countries },
    custom_field_values: { kind: "always", key: "custom_fields" },
    rates: { kind: "many", via: "product_id", resource: () => productRateResource },
    stock_levels: { kind: "many", via: "product_id", resource: () => stockLevelResource },
    accessories: { kind: "many", via: "product_id", resource: () => accessoryResource },
    components: { kind: "many", via: "product_id", resource: () => componentResource }
  },
  view: (base, _row, { product_group }) => ({
    ...base, product_group_name: product_group?.["name"] as string | undefined ?? null, icon: null
  })
})

const crud = register({
  resource: productResource,
  fields: productFields,
  path: "/api/v1/products",
  access: accessOf("products"),
  rules: {
    facts: (_input, before) => Effect.gen(function*() {
      return before === undefined ? yield* (yield* Store).find(stores, {}) : []
    }),
    save: ({ next, before, facts, context }) => Result.succeed({ also: before === undefined ? firstStockLevel(next, facts, context) : [] })
  }
})

const distinct = <Row extends { readonly id: number }>(rows: ReadonlyArray<Row>): ReadonlyArray<Row> => [...new Map(rows.map((row) => [row.id, row])).values()]

const merge = command("POST", "/api/v1/products/{id}/merge", {
  answer: { product: Shown.row(() => productResource) },
  name: "products.merge", summary: "Merge another product into this one", ability: "products:write", permission: "products.edit",
  params: { id: { table: products } },
  fields: { secondary_id: integer({ required: true }) },
  streams: (params, body) => ["compositions", `product:${params["id"]}`, `product:${String(body["secondary_id"])}`],
  facts: ({ now, rows, settings, values }) => Effect.gen(function*() {
    const store = yield* Store
    const secondary = yield* store.get(products, values.secondary_id ?? 0)
    const depth_max = kitDepthIn(settings)
    if (secondary === undefined) return { secondary, levels: [], accessories: [], components: [], edges: [], depth_max, cases: [], packed: [] }
    const both = [rows.id.id, secondary.id]
    const either = (name: string) => [{ product_id: both }, { [name]: both }] as const
    const [accessoriesOf, accessoriesTo] = either("accessory_product_id"), [componentsOf, componentsTo] = either("component_product_id")
    return {
      secondary,
      levels: yield* store.find(stock_levels, { product_id: both }),
      accessories: distinct([...yield* store.find(product_accessories, accessoriesOf), ...yield* store.find(product_accessories, accessoriesTo)]),
      components: distinct([...yield* store.find(product_components, componentsOf), ...yield* store.find(product_components, componentsTo)]),
      edges: yield* stepsAround(both, both), depth_max,
      cases: yield* store.find(products, { is_containerable: true }),
      packed: yield* packedIn(yield* store.find(containers, { product_id: both, status: live_statuses }), now)
    }
  }),
  decide: (facts, input, context) => mergeProducts(input.rows.id, facts, context),
  respond: (_result, input) => Effect.map(shownById(productResource, input.rows.id.id, input.query, viewContext(input)), ok)
})

export const productsSlice: Slice = {
  ...crud,
  endpoints: [...crud.endpoints ?? [], merge],
  events: [...crud.events ?? [], productMerged]
}
