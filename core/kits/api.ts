/** Endpoints of accessories and components (rules/availability 7.2, 7.3). */
import { Effect, Result } from "effect"
import { kitDepthIn } from "./settings.ts"
import type { Slice } from "../kernel/catalogue.ts"
import type { Failure, Input } from "../kernel/endpoint.ts"
import { crudResource } from "../kernel/crud-resource.ts"
import { Store } from "../kernel/store/store.ts"
import { type ProductRow, products } from "../products/schema.ts"
import { type ComponentFacts, deleteComponent, productTouched, saveAccessory, saveComponent } from "./decide.ts"
import { accessoryResource, componentResource } from "./resource.ts"
import {
  accessoryFields,
  type ComponentRow,
  componentFields,
  product_accessories,
  product_components
} from "./schema.ts"
import { loadCompositionSteps } from "./steps.ts"
import { containerTemplateEndpoints } from "./template.ts"

const productOf = (input: Input): ProductRow =>
  (input.rows as { readonly [name: string]: unknown })["product"] as ProductRow

const accessories = crudResource({
  resource: accessoryResource,
  fields: accessoryFields,
  path: "/api/v1/products/{product}/accessories",
  parent: { param: "product", table: products, column: "product_id" },
  access: {
    read: "products:read",
    write: "products:write",
    view: "products.view",
    create: "products.edit",
    edit: "products.edit",
    delete: "products.edit"
  },
  only: ["list", "create", "update", "delete"],
  unpaged: true,
  rules: {
    facts: (input) =>
      Effect.flatMap(Store, (store) => store.find(product_accessories, { product_id: productOf(input).id })),
    save: ({ next, facts }) => saveAccessory(next, facts),
    delete: ({ row }) => Result.succeed([productTouched(row.product_id)])
  }
})

const componentFacts = Effect.fnUntraced(function* (
  input: Input,
  before: ComponentRow | undefined
): Effect.fn.Return<ComponentFacts, Failure, Store> {
  const product = productOf(input)
  const component_id = before?.component_product_id ?? Number(input.body["component_product_id"])
  return {
    product,
    siblings: yield* (yield* Store).find(product_components, { product_id: product.id }),
    edges: before === undefined ? yield* loadCompositionSteps([product.id], [component_id]) : [],
    depth_max: kitDepthIn(input.settings)
  }
})

const components = crudResource({
  resource: componentResource,
  fields: componentFields,
  path: "/api/v1/products/{product}/components",
  parent: { param: "product", table: products, column: "product_id" },
  access: {
    read: "kits:read",
    write: "kits:write",
    view: "kits.view",
    create: "kits.manage",
    edit: "kits.manage",
    delete: "kits.manage"
  },
  only: ["list", "create", "update", "delete"],
  update_method: "PATCH",
  unpaged: true,
  // Two commands that put each of two kits into the other must not both succeed: one lock for all compositions.
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
