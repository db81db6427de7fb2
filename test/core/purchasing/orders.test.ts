/** Creating, changing, deleting, sending and cancelling purchase orders (rules/billing 2.1, 2.3). */
import { describe, expect, it } from "vitest"
import type { JsonObject } from "../../../core/kernel/fields/field.ts"
import {
  cancelPurchaseOrder,
  createPurchaseOrder,
  deletePurchaseOrder,
  sendPurchaseOrder,
  updatePurchaseOrder
} from "../../../core/purchasing/orders/decide.ts"
import type { CreateValues, UpdateValues } from "../../../core/purchasing/fields.ts"
import { outstandingOf } from "../../../core/purchasing/orders/api.ts"
import type { PurchaseOrderStatus } from "../../../core/purchasing/schema.ts"
import { decided_at, type Facts } from "../decider.ts"
import {
  createFacts,
  given,
  header,
  line,
  orderIn,
  product,
  rowsOf,
  sendFacts,
  sent,
  supplier,
  updateFacts
} from "./order.ts"

const stream = "purchase_order:1"
const starts_at = "2026-07-01T09:00:00.000Z"
const ends_at = "2026-07-05T09:00:00.000Z"
const create =
  (values: CreateValues, set: Parameters<typeof createFacts>[0] = {}) =>
  (facts: Facts) =>
    createPurchaseOrder(createFacts(set), { values: { supplier_id: 7, ...values }, body: {} }, facts.context)
const update =
  (values: UpdateValues, body: JsonObject = {}, set: Parameters<typeof updateFacts>[1] = {}) =>
  (facts: Facts) =>
    updatePurchaseOrder(updateFacts(facts, set), { values, body, rows: { id: orderIn(facts) } }, facts.context)
const send =
  (set: Parameters<typeof sendFacts>[1] = {}, asked: object = {}) =>
  (facts: Facts) =>
    sendPurchaseOrder(orderIn(facts), sendFacts(facts, set), asked, facts.context)
const cancel =
  (reason: string | null = null) =>
  (facts: Facts) =>
    cancelPurchaseOrder(orderIn(facts), { items: updateFacts(facts).items }, reason, facts.context)

const updated = (set: JsonObject, was: JsonObject, items?: JsonObject) => ({
  stream,
  type: "purchase_order.updated",
  data: { id: 1, set, was, ...(items === undefined ? {} : { items }) }
})
/** Line 1001 of order 1001: four lamps at 12.50. */
const made_line = {
  id: 1_001,
  purchase_order_id: 1_001,
  product_id: 3,
  opportunity_item_id: null,
  name: "Lamp",
  description: null,
  quantity: "4.00",
  received_quantity: "0.00",
  returned_quantity: "0.00",
  unit_cost: 1_250,
  discount_percent: null,
  subtotal: 5_000,
  tax_class_id: 1,
  tax_rate: "20.0000",
  tax_total: 1_000,
  total: 6_000,
  cost_group_id: 4,
  starts_at,
  ends_at,
  sort_order: 0,
  currency_code: "GBP"
}
const van = { product_id: null, name: "Van", quantity: "1.00", unit_cost: 5_000, cost_group_id: null }

describe("a purchase order", () => {
  it("is created with all its columns and lines, without a number offline", () => {
    const lamp = product({ sub_rental_price: 1_250, purchase_tax_class_id: 1, sub_rental_cost_group_id: 4 })
    given()
      .when(
        create(
          {
            starts_at,
            ends_at,
            items: [sent({ product_id: 3, quantity: "4.00" }), sent({ name: "Van", unit_cost: 5_000 })]
          },
          { products: new Map([[3, lamp]]) }
        )
      )
      .thenEvents({
        stream: "purchase_order:1001",
        type: "purchase_order.created",
        data: {
          id: 1_001,
          number: null,
          subject: null,
          reference: null,
          po_type: "sub_hire",
          status: "draft",
          supplier_id: 7,
          store_id: 1,
          opportunity_id: null,
          currency_code: "GBP",
          exchange_rate: "1.0000000000",
          subtotal: 10_000,
          tax_total: 2_000,
          total: 12_000,
          expected_at: null,
          starts_at,
          ends_at,
          sent_at: null,
          received_at: null,
          returned_at: null,
          cancelled_at: null,
          cancellation_reason: null,
          delivery_instructions: null,
          notes: null,
          created_by: 1,
          return_reminded_for: null,
          custom_fields: {},
          items: [made_line, { ...made_line, ...van, id: 1_002, sort_order: 1 }]
        }
      })
  })
  it("is rejected for an archived supplier, a venue and a user", () => {
    const archived = "The supplier is archived; restore the member or name another one."
    given()
      .when(create({}, { supplier: supplier({ deleted_at: decided_at }) }))
      .thenRefused({ supplier_id: [archived] })
    given()
      .when(create({}, { supplier: undefined }))
      .thenRefused({ supplier_id: [archived] })
    for (const membership_type of ["venue", "user"] as const)
      given()
        .when(create({}, { supplier: supplier({ membership_type }) }))
        .thenRefused({ supplier_id: [`A ${membership_type} is no supplier; name an organisation or a contact.`] })
  })
  it("is rejected without an enabled currency, an exchange rate or a store", () => {
    given()
      .when(create({}, { currency: { code: "JPY", is_enabled: false } }))
      .thenRefused({ currency: ["JPY is not enabled; enable it first (PUT /api/v1/currencies/JPY)."] })
    given()
      .when(create({}, { currency: { code: "USD", is_enabled: true }, exchange_rate: undefined }))
      .thenRefused({ currency: ["No exchange rate for USD is known; enter one first."] })
    given()
      .when(create({}, { default_store_id: null }))
      .thenRefused({ store_id: ["The store id field is required: there is no default store."] })
  })
  it("is rejected with the errors of each line", () => {
    given()
      .when(
        create({ items: [sent({ unit_cost: 1 }), sent({ name: "x", unit_cost: -1 }), sent({ name: "y", id: 99 })] })
      )
      .thenRefused({
        "items.0.name": ["The name field is required without a product."],
        "items.1.unit_cost": ["The unit cost field must be at least 0."],
        "items.2.id": ["The order has no such line left; leave the id out to add one."]
      })
  })
  it("is rejected if one of its lines is for a line of an opportunity that the order does not name", () => {
    const items = [sent({ name: "x", opportunity_item_id: 5 })]
    given()
      .when(create({ items }))
      .thenRefused({
        "items.0.opportunity_item_id": ["Name the opportunity of this line as opportunity_id of the order."]
      })
    given()
      .when(create({ opportunity_id: 2, items }, { opportunity_of: new Map([[5, 3]]) }))
      .thenRefused({ "items.0.opportunity_item_id": ["The line belongs to another opportunity than the order."] })
  })
})

describe("changing a purchase order", () => {
  it("records the earlier subject", () => {
    given(...rowsOf(header(), line()))
      .when(update({ subject: "Rig" }, { subject: "Rig" }))
      .thenEvents(updated({ subject: "Rig" }, { subject: null }))
  })
  it("records nothing if the values are unchanged", () => {
    given(...rowsOf(header({ subject: "Rig" }), line({ starts_at, ends_at })))
      .when(update({ subject: "Rig" }, { subject: "Rig" }))
      .thenNothing()
  })
  it("records changed and removed lines, and new totals", () => {
    given(...rowsOf(header(), line(), line({ id: 12, sort_order: 1 })))
      .when(update({ items: [sent({ id: 12, quantity: "3.00" })] }, { items: [{ id: 12, quantity: "3.00" }] }))
      .thenEvents(
        updated(
          { subtotal: 30_000, tax_total: 6_000, total: 36_000 },
          { subtotal: 10_000, tax_total: 2_000, total: 12_000 },
          {
            added: [],
            altered: [{ id: 12, quantity: "3.00", subtotal: 30_000, tax_total: 6_000, total: 36_000, sort_order: 0 }],
            removed: [11]
          }
        )
      )
  })
  it("recomputes the lines' tax for a new supplier", () => {
    given(...rowsOf(header(), line()))
      .when(
        update({ supplier_id: 8 }, { supplier_id: 8 }, { supplier: supplier({ id: 8 }), supplier_tax_class_id: null })
      )
      .thenEvents(
        updated(
          { supplier_id: 8, tax_total: 0, total: 10_000 },
          { supplier_id: 7, tax_total: 2_000, total: 12_000 },
          { added: [], altered: [{ id: 11, tax_rate: "0.0000", tax_total: 0, total: 10_000 }], removed: [] }
        )
      )
  })
  it("moves the lines that had the old window, too", () => {
    const later = "2026-07-09T09:00:00.000Z"
    given(...rowsOf(header(), line({ starts_at, ends_at }), line({ id: 12, starts_at, ends_at: starts_at })))
      .when(update({ ends_at: later }, { ends_at: later }))
      .thenEvents(
        updated(
          { ends_at: later, subtotal: 20_000, tax_total: 4_000, total: 24_000 },
          { ends_at, subtotal: 10_000, tax_total: 2_000, total: 12_000 },
          { added: [], altered: [{ id: 11, ends_at: later }], removed: [] }
        )
      )
  })
  const closed: ReadonlyArray<readonly [PurchaseOrderStatus, string]> = [
    ["sent", "sent"],
    ["partially_received", "partially received"],
    ["received", "received"],
    ["cancelled", "cancelled"]
  ]
  it.each(closed)("is rejected if it is %s, and so are deleting and sending it", (status, words) => {
    const order = rowsOf(header({ status }), line())
    const refusal = (done: string) => ({ status: [`The order is ${words}; only a draft can be ${done}.`] })
    given(...order)
      .when(update({ subject: "x" }, { subject: "x" }))
      .thenRefused(refusal("changed"))
    given(...order)
      .when((facts) => deletePurchaseOrder(orderIn(facts)))
      .thenRefused(refusal("deleted"))
    given(...order)
      .when(send())
      .thenRefused(refusal("sent"))
  })
})

describe("sending a purchase order", () => {
  it("marks it as sent, to the supplier's known address", () => {
    const when = given(...rowsOf(header(), line())).when(send({ known: "bills@rig.example" }))
    when.thenEvents({
      stream,
      type: "purchase_order.sent",
      data: { id: 1, set: { status: "sent", sent_at: decided_at }, was: { status: "draft", sent_at: null } }
    })
    when.thenResult({
      purchase_order_id: 1,
      sent_at: decided_at,
      to: "bills@rig.example",
      message: null,
      sender_user_id: 1
    })
  })
  it("prefers a given address, and is possible without any", () => {
    const result = { purchase_order_id: 1, sent_at: decided_at, message: "Quick", sender_user_id: 1 }
    given(...rowsOf(header(), line()))
      .when(send({ known: "bills@rig.example" }, { email: "ann@rig.example", message: "Quick" }))
      .thenResult({ ...result, to: "ann@rig.example" })
    given(...rowsOf(header(), line()))
      .when(send({}, { message: "Quick" }))
      .thenResult({ ...result, to: null })
  })
  it("is rejected without lines, and for an archived or inactive supplier", () => {
    given(...rowsOf(header()))
      .when(send())
      .thenRefused({ items: ["An order without lines cannot be sent; add at least one."] })
    given(...rowsOf(header(), line()))
      .when(send({ supplier: supplier({ is_active: false }) }))
      .thenRefused({ supplier_id: ["The supplier is inactive; make the member active or name another one."] })
    given(...rowsOf(header(), line()))
      .when(send({ supplier: supplier({ deleted_at: decided_at }) }))
      .thenRefused({ supplier_id: ["The supplier is archived; restore the member or name another one."] })
  })
  it("requires a window on a sub-hire or on each of its lines, and none on a purchase", () => {
    const open = { starts_at: null, ends_at: null }
    const needed = (name: string) => [
      `The ${name} field is required to send a sub-hire: give it to the order or to each line.`
    ]
    given(...rowsOf(header(open), line({ starts_at, ends_at }), line({ id: 12 })))
      .when(send())
      .thenRefused({ starts_at: needed("starts at"), ends_at: needed("ends at") })
    for (const rows of [
      rowsOf(header(open), line({ starts_at, ends_at })),
      rowsOf(header({ ...open, po_type: "purchase" }), line())
    ])
      given(...rows)
        .when(send())
        .thenResult(expect.anything())
  })
})

describe("cancelling a purchase order", () => {
  it.each(["draft", "sent"] as const)("keeps the reason for a %s", (status) => {
    given(...rowsOf(header({ status }), line()))
      .when(cancel("No job"))
      .thenEvents({
        stream,
        type: "purchase_order.cancelled",
        data: {
          id: 1,
          set: { status: "cancelled", cancelled_at: decided_at, cancellation_reason: "No job" },
          was: { status, cancelled_at: null, cancellation_reason: null }
        }
      })
  })
  it.each([
    ["partially_received", "partially received"],
    ["received", "received"],
    ["cancelled", "cancelled"]
  ] as const)("is rejected if it is %s", (status, words) => {
    given(...rowsOf(header({ status }), line()))
      .when(cancel())
      .thenRefused({ status: [`The order is ${words}; only a draft or a sent order can be cancelled.`] })
  })
  it("is rejected once anything was received", () => {
    given(...rowsOf(header({ status: "sent" }), line({ received_quantity: "0.01" })))
      .when(cancel())
      .thenRefused({ status: ["Part of the order was received; it can no longer be cancelled."] })
  })
})

it("the outstanding quantity of a purchase order's line is never negative", () => {
  expect(outstandingOf({ quantity: "3.00", received_quantity: "1.25" })).toBe("1.75")
  expect(outstandingOf({ quantity: "3.00", received_quantity: "4.00" })).toBe("0.00")
})
