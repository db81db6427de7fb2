/** Purchase orders whole, with their lines and with costs: whoever subscribes is an administrator. */
import { keys, objects } from "../../../core/kernel/answer-schema.ts"
import { boolean, decimal, integer, list, text } from "../../../core/kernel/field.ts"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { type WebhookKind, wholeRow } from "../kind.ts"

const with_items = { includes: ["items"] }

const receiptShown = keys({
  id: integer(),
  received_at: text(),
  reference: text({ nullable: true }),
  notes: text({ nullable: true }),
  lines: objects({
    id: integer(),
    item_id: integer(),
    quantity: decimal({ scale: 2 }),
    serial_numbers: list(text()),
    stock_level_ids: list(integer())
  })
})
/** The delivery as the event tells it. */
const receiptOf = ({ lines, receipt }: JsonObject): JsonObject => {
  const { id, notes, received_at, reference } = isJsonObject(receipt) ? receipt : {}
  return {
    id: id ?? 0,
    received_at: received_at ?? "",
    reference: reference ?? null,
    notes: notes ?? null,
    lines: (Array.isArray(lines) ? lines.filter(isJsonObject) : []).map((line) => ({
      id: line["id"] ?? 0,
      item_id: line["item_id"] ?? 0,
      quantity: line["quantity"] ?? "0.00",
      serial_numbers: line["serial_numbers"] ?? [],
      stock_level_ids: line["stock_level_ids"] ?? []
    }))
  }
}

export const procurementKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow(
    "purchase_orders",
    ["purchase_order.created", "purchase_order.sent", "purchase_order.cancelled", "purchase_order.return_due"],
    with_items
  ),
  ...wholeRow("purchase_orders", ["purchase_order.received"], {
    ...with_items,
    more: { receipt: receiptShown, fully_received: boolean() },
    more_of: (data) => ({
      receipt: receiptOf(data),
      fully_received: isJsonObject(data["set"]) && data["set"]["status"] === "received"
    })
  }),
  ...wholeRow("purchase_orders", ["purchase_order.returned"], {
    ...with_items,
    more: { receipt: receiptShown },
    more_of: (data) => ({ receipt: receiptOf(data) })
  })
]
