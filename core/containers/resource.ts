/** How containers and what is in them are put into words (rules/availability 8.1 and 8.2). */
import { resource } from "../kernel/resource.ts"
import { container_modes, products } from "../products/schema.ts"
import { stores } from "../stores/stores.ts"
import { container_items, containers } from "../packing/schema.ts"
import { choice } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"

export const containerItemResource = resource({
  singular: "container_item",
  table: container_items,
  sorts: ["packed_at", "created_at"]
})

const contents = Shown.rows(() => containerItemResource, {
  describe: "What is in it now: with include=active_items, and always on one container"
})

export const containerResource = resource({
  singular: "container",
  called: { by: ["barcode"], in_use: [["q[status_not_eq]", "dissolved"]] },
  shows: {
    availability_mode: choice(container_modes),
    active_items: Shown.optional(contents),
    items: Shown.optional(contents)
  },
  table: containers,
  filters: [
    "name",
    "barcode",
    "status",
    "scan_mode",
    "is_temporary",
    "product_id",
    "store_id",
    "opportunity_id",
    "created_at",
    "updated_at"
  ],
  sorts: ["name", "barcode", "status", "created_at", "updated_at"],
  lookups: { case: { via: "product_id", table: products } },
  includes: {
    product: { kind: "brief", via: "product_id", table: products },
    store: { kind: "brief", via: "store_id", table: stores },
    active_items: {
      kind: "many",
      via: "container_id",
      where: { unpacked_at: null },
      resource: () => containerItemResource
    },
    container_items: { kind: "many", via: "container_id", resource: () => containerItemResource }
  },
  view: ({ active_items, ...base }, _row, found) => ({
    ...base,
    availability_mode: (found.case?.["container_availability_mode"] as string | null | undefined) ?? "transport",
    // Lists hold the contents only with include=active_items; the same list is also given as `items`.
    ...(active_items === null || active_items === undefined ? {} : { items: active_items, active_items })
  })
})
