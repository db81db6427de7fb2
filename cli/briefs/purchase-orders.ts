/** Brief output of a purchase order after a command, with the usual next command; `--json` prints all of it. */
import type { QueryResult } from "../../sync/device/device.ts"
import { metaIn, type Row, rowIn } from "../base/answers.ts"
import type { CommandContext } from "../context/context.ts"
import { notePending } from "../context/print.ts"
import { printPurchaseOrder } from "./purchase-orders-shown.ts"

export const printBrief = (context: CommandContext, answer: QueryResult): void => {
  const order = rowIn(answer.body, "purchase_order")
  printPurchaseOrder(context, order)
  notePending(context, answer)
  const { is_mailed } = metaIn(answer.body)
  if (is_mailed === true) context.note("Its PDF goes to the supplier by e-mail.")
  if (is_mailed === false)
    context.note(
      "Nothing is mailed: the supplier has no e-mail address. " +
        `documents generate --type purchase_order --purchase-order ${order.id} -o FILE makes the PDF.`
    )
  const next = nextStep(order)
  if (next !== undefined) context.note(next)
}

const nextStep = ({ id, items, po_type, status }: Row<"purchase_order">): string | undefined => {
  switch (status) {
    case "draft":
      return items?.length === 0
        ? `purchase-orders add ${id} PRODUCT --quantity N --cost C adds a line.`
        : `purchase-orders send ${id} sends it.`
    case "sent":
    case "partially_received":
      return `receive ${id} takes codes at the dock.`
    case "received":
      return po_type === "sub_hire" ? `purchase-orders return ${id} gives back what is here.` : undefined
    default:
      return undefined
  }
}
