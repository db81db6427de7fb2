/** How answers show service records. */
import { boolean, text } from "../kernel/field.ts"
import { resource } from "../kernel/resource.ts"
import { products } from "../products/schema.ts"
import { service_states } from "../service/service.ts"
import { stock_levels } from "../stock/schema.ts"
import { stores } from "../stores/stores.ts"
import { service_records } from "./schema.ts"

const textOr = (value: unknown): string | null => (typeof value === "string" ? value : null)

export const serviceRecordResource = resource({
  singular: "service_record",
  heading: "Catalogue",
  shows: {
    state_name: text(),
    is_open: boolean(),
    product_name: text({ nullable: true }),
    store_name: text({ nullable: true }),
    asset_number: text({ nullable: true }),
    serial_number: text({ nullable: true }),
    barcode: text({ nullable: true })
  },
  table: service_records,
  filters: [
    "stock_level_id",
    "product_id",
    "store_id",
    "state",
    "reason",
    "starts_at",
    "expected_back_at",
    "ended_at",
    "opportunity_id",
    "created_at",
    "updated_at"
  ],
  sorts: ["starts_at", "expected_back_at", "ended_at", "state", "created_at", "updated_at"],
  lookups: {
    product: { via: "product_id", table: products },
    store: { via: "store_id", table: stores },
    level: { via: "stock_level_id", table: stock_levels }
  },
  order: ["-starts_at", "-id"],
  view: (base, row, { level, product, store }) => ({
    ...base,
    state_name: service_states[row.state],
    is_open: row.ended_at === null,
    product_name: textOr(product?.["name"]),
    store_name: textOr(store?.["name"]),
    asset_number: textOr(level?.["asset_number"]),
    serial_number: textOr(level?.["serial_number"]),
    barcode: textOr(level?.["barcode"])
  })
})
