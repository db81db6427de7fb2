/** The procurement slice: purchase orders, receipts and returns, resolutions of shortages. */
import type { Slice } from "../kernel/index.ts"
import { orderEndpoints, purchaseOrderResource } from "./orders/api.ts"
import { hireExtended, receivingEndpoints } from "./receiving/extend.ts"
import { goodsGivenBack, goodsTakenIn, procurementSettings } from "./receiving/intake.ts"
import { onOrderFollows, resolutionEndpoints } from "./resolutions/api.ts"
import {
  procurementEvents,
  purchase_order_items,
  purchase_order_receipt_lines,
  purchase_order_receipts,
  purchase_orders,
  receivingEvents
} from "./schema.ts"

export const procurementSlice: Slice = {
  name: "procurement",
  tables: [purchase_orders, purchase_order_items, purchase_order_receipts, purchase_order_receipt_lines],
  resources: [purchaseOrderResource],
  events: [...procurementEvents, ...receivingEvents],
  endpoints: [...orderEndpoints, ...receivingEndpoints, ...resolutionEndpoints],
  settings: procurementSettings,
  react: [goodsTakenIn, goodsGivenBack, hireExtended, onOrderFollows]
}
