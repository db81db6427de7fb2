/** Endpoints of products and how answers show them (rules/availability 7.1). */
import { Effect, Result } from "effect"
import type { Slice } from "../../kernel/endpoints/endpoint.ts"
import { text } from "../../kernel/fields/field.ts"
import { accessOf, crudResource } from "../../kernel/endpoints/crud-resource.ts"
import { resource } from "../../kernel/endpoints/resource.ts"
import { cost_groups } from "../../setup/reference-data/cost-groups.ts"
import { countries } from "../../setup/reference-data/countries.ts"
import { product_groups } from "./groups.ts"
import { revenue_groups } from "../../setup/reference-data/revenue-groups.ts"
import { assignedClass, classesFor, product_tax_classes } from "../../setup/reference-data/tax.ts"
import { product_tax_columns, productFields, products } from "./schema.ts"
import * as Shown from "../../kernel/lists/answer-schema.ts"

export const productResource = resource({
  singular: "product",
  called: { by: ["sku", "barcode", "name"] },
  shows: { product_group_name: text({ nullable: true }), icon: Shown.nothing() },
  table: products,
  filters: [
    "name",
    "product_type",
    "is_active",
    "product_group_id",
    "sku",
    "barcode",
    "tax_class_id",
    "allowed_stock_type",
    "stock_method",
    "accessory_only",
    "discountable",
    "created_at",
    "updated_at"
  ],
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
    custom_field_values: { kind: "always", key: "custom_fields" }
  },
  view: (base, _row, { product_group }) => ({
    ...base,
    product_group_name: (product_group?.["name"] as string | undefined) ?? null,
    icon: null
  })
})

export const productsSlice: Slice = crudResource({
  resource: productResource,
  fields: productFields,
  path: "/api/v1/products",
  access: accessOf("products"),
  rules: {
    facts: ({ settings }, before) =>
      before === undefined ? assignedClass(product_tax_classes, settings) : Effect.succeed(undefined),
    save: ({ facts, input }) => Result.succeed({ set: classesFor(product_tax_columns, input.body, facts) })
  }
})
