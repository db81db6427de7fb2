/** Endpoint that merges a duplicate product into another: stock, kits and containers in one command. */
import { Effect } from "effect"
import { loadPackedUnits } from "../containers/facts.ts"
import { command, integer, later, ok, renderById, Shown, Store, viewContext, withRules } from "../../kernel/index.ts"
import type { Slice } from "../../kernel/index.ts"
import { kitDepthIn, product_accessories, product_components } from "../../products/kits/schema.ts"
import { loadCompositionSteps } from "../../products/kits/api.ts"
import { containers, live_statuses } from "../../products/packing.ts"
import { productResource } from "../../products/products/api.ts"
import { products } from "../../products/products/schema.ts"
import { stock_levels } from "../../products/stock/schema.ts"
import { productMerged } from "./events.ts"

const merging = later(() => import("./decide.ts"))

const distinct = <Row extends { readonly id: number }>(rows: ReadonlyArray<Row>): ReadonlyArray<Row> => [
  ...new Map(rows.map((row) => [row.id, row])).values()
]

const merge = command("POST", "/api/v1/products/{id}/merge", {
  answer: { product: Shown.row(() => productResource) },
  name: "products.merge",
  summary: "Merge another product into this one",
  destructive: true,
  ability: "products:write",
  permission: "products.edit",
  params: { id: { table: products } },
  fields: { secondary_id: integer({ required: true, names: "products" }) },
  streams: (params, body) => ["compositions", `product:${params["id"]}`, `product:${String(body["secondary_id"])}`],
  facts: ({ now, rows, settings, values }) =>
    withRules(merging, () =>
      Effect.gen(function* () {
        const store = yield* Store
        const secondary = yield* store.get(products, values.secondary_id ?? 0)
        const depth_max = kitDepthIn(settings)
        if (secondary === undefined)
          return { secondary, levels: [], accessories: [], components: [], edges: [], depth_max, cases: [], packed: [] }
        const both = [rows.id.id, secondary.id]
        const either = (name: string) => [{ product_id: both }, { [name]: both }] as const
        const [accessoriesOf, accessoriesTo] = either("accessory_product_id"),
          [componentsOf, componentsTo] = either("component_product_id")
        return {
          secondary,
          levels: yield* store.find(stock_levels, { product_id: both }),
          accessories: distinct([
            ...(yield* store.find(product_accessories, accessoriesOf)),
            ...(yield* store.find(product_accessories, accessoriesTo))
          ]),
          components: distinct([
            ...(yield* store.find(product_components, componentsOf)),
            ...(yield* store.find(product_components, componentsTo))
          ]),
          edges: yield* loadCompositionSteps(both, both),
          depth_max,
          cases: yield* store.find(products, { is_containerable: true }),
          packed: yield* loadPackedUnits(
            yield* store.find(containers, { product_id: both, status: live_statuses }),
            now
          )
        }
      })
    ),
  decide: ({ known, rules }, input, context) => rules.mergeProducts(input.rows.id, known, context),
  respond: (_result, input) =>
    Effect.map(renderById(productResource, input.rows.id.id, input.query, viewContext(input)), ok)
})

export const productMergeSlice: Slice = { name: "product_merge", endpoints: [merge], events: [productMerged] }
