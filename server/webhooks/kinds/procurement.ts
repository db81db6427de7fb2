/** Purchase orders whole, with their lines and with costs: whoever subscribes is an administrator. */
import { type WebhookKind, wholeRow } from "../kind.ts"

const with_items = { includes: ["items"] }

export const procurementKinds: ReadonlyArray<WebhookKind> = wholeRow(
  "purchase_orders",
  ["purchase_order.created", "purchase_order.sent", "purchase_order.cancelled"],
  with_items
)
