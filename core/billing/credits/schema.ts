/** What a request for a credit note holds (rules/billing 1.5). */
import { decimal, list, longText, money, object, ref, timestamp } from "../../kernel/field.ts"
import { items_max } from "../invoices/fields.ts"

export const creditFields = {
  items: list(
    object({
      invoice_item_id: ref("invoice_items", { required: true, live: false }),
      quantity: decimal({
        scale: 2,
        min: "0.01",
        nullable: true,
        describe: "Of the invoiced quantity; without it all that is left of the row"
      })
    }),
    { nullable: true, min_items: 1, max_items: items_max }
  ),
  amount: money({
    currency: "currency_code",
    nullable: true,
    describe: "With tax; spread over the rows by what is left of each. Without items and amount, all that is left"
  }),
  reason: longText({ nullable: true, max: 1_000 }),
  notes: longText({ nullable: true, max: 5_000 }),
  issued_at: timestamp({ nullable: true, describe: "Now where it is left out" })
}
