/** Endpoints and API representation of products (rules/availability 7.1). */
import { Effect, Result } from "effect"
import { accessOf, bindings, crudResource, hasOnePermission, integer, json, longText } from "../../kernel/index.ts"
import { ref, reject, resource, Shown, Store, table, text, whereSql } from "../../kernel/index.ts"
import type { JsonObject, Resource, Slice } from "../../kernel/index.ts"
import { countries } from "../../setup/reference-data/currencies.ts"
import {
  assignedClass,
  classesFor,
  cost_groups,
  product_tax_classes,
  revenue_groups
} from "../../setup/reference-data/tax.ts"
import { product_tax_columns, productFields, products, sameCodeText } from "./schema.ts"
import { codeForms } from "../../values/text.ts"
import type { ViewColumn } from "../../kernel/lists/custom-view.ts"

// Product groups: the tree of the catalogue (rules/availability 11).

const fields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true }),
  parent_id: ref("product_groups", { nullable: true, on_null: "clear", on_delete: "clear" }),
  sort_order: integer({ default: 0, min: 0 }),
  custom_fields: json<JsonObject>({ default: {} })
}
export const product_groups = table("product_groups", fields, {
  visibility: { all_columns: ["products.*", "stock.*"] },
  reference: true,
  indexes: [["parent_id"], ["name_folded"]]
})

/** Number of products in each group, without its subgroups. */
const productsCounted: ViewColumn = Effect.fnUntraced(function* (rows) {
  const store = yield* Store
  const bound = bindings(store.dialect)
  const where = whereSql(
    products,
    { product_group_id: rows.map((row) => Number(row["id"])), deleted_at: null },
    store.dialect,
    bound
  )
  const counted = yield* store.run<{ id: number; count: number }>(
    `select "product_group_id" as id, count(*) as count from "products" where ${where} group by 1`,
    bound.values
  )
  const counts = new Map<unknown, number>(counted.map(({ id, count }) => [Number(id), Number(count)]))
  return (row) => counts.get(row["id"]) ?? 0
})

const productGroupResource: Resource<typeof product_groups> = resource({
  singular: "product_group",
  called: { by: ["name"] },
  shows: { description: text(), icon: Shown.nothing() },
  table: product_groups,
  filters: ["name", "parent_id", "created_at", "updated_at"],
  sorts: ["name", "sort_order", "created_at", "updated_at"],
  custom_module: "ProductGroup",
  columns: { products_count: productsCounted },
  includes: {
    parent: { kind: "brief", via: "parent_id", table: product_groups },
    children: { kind: "many", via: "parent_id", resource: () => productGroupResource }
  },
  view: (base) => ({ ...base, description: base["description"] ?? "", icon: null })
})

export const productGroups = crudResource({
  resource: productGroupResource,
  fields,
  path: "/api/v1/product_groups",
  access: accessOf("products"),
  rules: {
    facts: (input, before) =>
      Effect.gen(function* () {
        const ancestors: Array<number> = []
        for (
          let at = input.values["parent_id"];
          before !== undefined && typeof at === "number" && !ancestors.includes(at);
        ) {
          ancestors.push(at)
          at = (yield* Store.get(product_groups, at))?.parent_id
        }
        return ancestors
      }),
    save: ({ before, facts }) =>
      before !== undefined && facts.includes(before.id)
        ? reject("parent_id", "A group cannot lie inside itself or one of its own subgroups.")
        : Result.succeed({})
  }
})

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
  // Added to the object itself: a spread of more than 50 keys takes ten times as long.
  view: (base, _row, { product_group }) =>
    Object.assign(base, { product_group_name: product_group?.name ?? null, icon: null })
})

export const productsSlice: Slice = crudResource({
  resource: productResource,
  fields: productFields,
  path: "/api/v1/products",
  access: accessOf("products"),
  rules: {
    facts: ({ settings, values, viewer }, before) =>
      Effect.gen(function* () {
        const warnings: Array<string> = []
        // Names of other products are for those who may see them.
        for (const column of hasOnePermission(viewer, "products.view") ? (["sku", "barcode"] as const) : []) {
          const code = values[column]
          if (code == null || code === before?.[column]) continue
          const same = { [column]: codeForms(code), deleted_at: null }
          const found = yield* Store.find(products, same, { order: ["id"], limit: 2 })
          const other = found.find(({ id }) => id !== before?.id)
          if (other !== undefined) warnings.push(sameCodeText(column, code, other))
        }
        return {
          class_id: before === undefined ? yield* assignedClass(product_tax_classes, settings) : undefined,
          warnings
        }
      }),
    save: ({ facts: { class_id, warnings }, input }) =>
      Result.succeed({ set: classesFor(product_tax_columns, input.body, class_id), warnings }),
    meta_shows: Shown.optional(Shown.warnings())
  }
})
