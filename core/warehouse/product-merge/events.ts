/** Event of a merge of two products. */
import { Schema } from "effect"
import { eventType, streamOf, update, updateWhere } from "../../kernel/index.ts"
import { containers, live_statuses } from "../../products/packing.ts"
import { products } from "../../products/products/schema.ts"

/**
 * Products were merged. Other references to the secondary move to the primary where their columns declare `on_merge`.
 */
export const productMerged = eventType("product.merged", {
  meaning: "Two products were merged: records of the secondary moved to the primary.",
  data: () => Schema.Struct({ primary_id: Schema.Int, secondary_id: Schema.Int, moves_containers: Schema.Boolean }),
  stream: ({ primary_id }) => streamOf("product", primary_id),
  project: ({ moves_containers, primary_id, secondary_id }, { recorded_at }) => [
    ...(moves_containers
      ? [
          updateWhere(
            containers,
            { product_id: secondary_id, status: live_statuses },
            { product_id: primary_id, updated_at: recorded_at }
          )
        ]
      : []),
    update(products, secondary_id, { custom_fields: {} })
  ]
})
