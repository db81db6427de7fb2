/** Endpoints of deliveries and returns (interface 4.12). Who writes to one order waits for who did before. */
import { Effect, Schema } from "effect"
import * as Shown from "../../kernel/answer-schema.ts"
import { command, type Endpoint, type Input } from "../../kernel/endpoint.ts"
import { boolean, decimal, integer, list, text, timestamp } from "../../kernel/field.ts"
import { wholeNumber } from "../../kernel/field-schema.ts"
import { later, withRules } from "../../kernel/later.ts"
import { ok, renderById, viewContext } from "../../kernel/resource.ts"
import { Store } from "../../kernel/store/store.ts"
import { purchaseOrderAnswer, purchaseOrderShown } from "../orders/api.ts"
import { one, path, write } from "../paths.ts"
import { purchaseOrderResource } from "../resources.ts"
import { purchase_order_receipt_lines, purchase_order_receipts } from "../schema.ts"
import { type GoodsResult, receiveGoods } from "./decide.ts"
import { extendFactsOf, extendFields, extendHire } from "./extend.ts"
import { receiveFactsOf } from "./facts.ts"
import { receiveFields, returnFields } from "./fields.ts"
import { returnFactsOf } from "./give-back-facts.ts"

const givingBack = later(() => import("./give-back.ts"))

const receiptShown = {
  id: integer(),
  received_at: timestamp(),
  reference: text({ nullable: true }),
  notes: text({ nullable: true }),
  received_by: integer({ nullable: true }),
  lines: Shown.objects({
    id: integer(),
    item_id: integer(),
    quantity: decimal({ scale: 2 }),
    serial_numbers: list(text()),
    stock_level_ids: list(integer()),
    is_return: boolean(),
    notes: text({ nullable: true })
  })
}
export const goodsShown = {
  purchase_order: Shown.row(() => purchaseOrderResource),
  meta: Shown.keys({ receipt: Shown.keys(receiptShown) })
}
const result: Schema.Codec<GoodsResult> = Schema.suspend(() =>
  Schema.Struct({ id: wholeNumber, receipt_id: wholeNumber })
)
const with_items = ["include", "items"] as const

/** The delivery as it was recorded, with what each line became. */
const receiptOf = Effect.fnUntraced(function* (id: number) {
  const store = yield* Store
  const receipt = yield* store.get(purchase_order_receipts, id)
  if (receipt === undefined) return yield* Effect.die(new Error(`receipt ${id} vanished while it was being shown`))
  const lines = yield* store.find(purchase_order_receipt_lines, { receipt_id: id }, { order: ["id"] })
  const { notes, received_at, received_by, reference } = receipt
  return {
    id,
    received_at,
    reference,
    notes,
    received_by,
    lines: lines.map((line) => ({
      id: line.id,
      item_id: line.item_id,
      quantity: line.quantity,
      serial_numbers: line.serial_numbers,
      stock_level_ids: line.stock_level_ids,
      is_return: line.is_return,
      notes: line.notes
    }))
  }
})
const goodsAnswer = ({ id, receipt_id }: GoodsResult, input: Input) =>
  Effect.map(
    Effect.all({
      order: renderById(purchaseOrderResource, id, [with_items, ...input.query], viewContext(input)),
      receipt: receiptOf(receipt_id)
    }),
    ({ order, receipt }) => ok({ purchase_order: order.purchase_order, meta: { receipt } })
  )
const take = { ability: write, permission: "purchase_orders.receive" } as const

const receive = command("POST", `${path}/{id}/receive`, {
  answer: goodsShown,
  name: "purchase_orders.receive",
  summary: "Receive goods of an order that was sent: they become stock",
  ...take,
  params: one,
  fields: receiveFields,
  split_by: "lines",
  result,
  facts: ({ rows, values }) => receiveFactsOf(rows.id, values),
  decide: (facts, { values }, context) => receiveGoods(facts, values, context),
  respond: goodsAnswer
})
const giveBackGoods = command("POST", `${path}/{id}/return`, {
  answer: goodsShown,
  name: "purchase_orders.return",
  summary: "Give sub-hired goods back to the supplier: all that are here, or some of them",
  ...take,
  params: one,
  fields: returnFields,
  result,
  facts: ({ now, rows }) => withRules(givingBack, () => returnFactsOf(rows.id, now)),
  decide: ({ known, rules }, { values }, context) => rules.giveBack(known, values, context),
  respond: goodsAnswer
})

const extend = command("POST", `${path}/{id}/extend`, {
  answer: purchaseOrderShown,
  name: "purchase_orders.extend",
  summary: "Move the end of a hire that was sent: the supplier lets the goods stay, or wants them back sooner",
  ability: write,
  permission: "purchase_orders.edit",
  params: one,
  fields: extendFields,
  facts: ({ now, rows }) => extendFactsOf(rows.id, now),
  decide: (facts, { values }, context) => extendHire(facts, values, context),
  respond: purchaseOrderAnswer(ok)
})

export const receivingEndpoints: ReadonlyArray<Endpoint> = [receive, giveBackGoods, extend]
