/** Procurement as a whole: orders to suppliers, receipts and returns, resolutions of shortages. */
import type { Slice } from "../kernel/catalogue.ts"
import { procurementEvents } from "./events.ts"
import { orderEndpoints } from "./orders/api.ts"
import { receivingEndpoints } from "./receiving/api.ts"
import { receivingEvents } from "./receiving/events.ts"
import { hireExtended } from "./receiving/extend.ts"
import { goodsGivenBack, goodsTakenIn } from "./receiving/intake.ts"
import { resolutionEndpoints } from "./resolutions/api.ts"
import { purchaseOrderResource } from "./resources.ts"
import { onOrderFollows } from "./resolutions/on-order.ts"
import { procurementSettings } from "./return-due.ts"
import {
  purchase_order_items,
  purchase_order_receipt_lines,
  purchase_order_receipts,
  purchase_orders
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
