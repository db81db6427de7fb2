/** Faults of purchase orders: sent twice, or cancelled after receipt. */
import type { Mutant } from "./mutant.ts"

const decide = "core/purchasing/orders/decide.ts"
const orders_test = "test/core/purchasing/orders.test.ts"
const goods_test = "test/core/purchasing/received-goods.test.ts"

export const purchase_order_mutants: ReadonlyArray<Mutant> = [
  {
    name: "a purchase order can be sent twice",
    file: decide,
    within: "sendPurchaseOrder",
    find: 'yield* draftOnly(row, "sent")',
    replace: "",
    killed_by: [
      { file: orders_test, test: "is rejected if it is %s, and so are deleting and sending it" },
      { file: "test/api/purchase-races.test.ts", test: "send the order once" }
    ]
  },
  {
    name: "a purchase order with deliveries can be cancelled",
    file: decide,
    within: "cancelPurchaseOrder",
    find: "exact(received_quantity).gt(0)",
    replace: "exact(received_quantity).gt(9)",
    killed_by: [{ file: orders_test, test: "is rejected once anything was received" }]
  },
  {
    name: "a sub-hire needs no dates",
    file: decide,
    within: "windowed",
    find: 'row.po_type !== "sub_hire"',
    replace: 'row.po_type !== "purchase"',
    killed_by: [
      { file: orders_test, test: "requires a window on a sub-hire or on each of its lines, and none on a purchase" }
    ]
  },
  {
    name: "a purchase order can be sent to an inactive supplier",
    file: decide,
    within: "sendPurchaseOrder",
    find: "!supplier.is_active",
    replace: "supplier.id < 0",
    killed_by: [{ file: orders_test, test: "is rejected without lines, and for an archived or inactive supplier" }]
  },
  {
    name: "a line can refer to another opportunity than its purchase order",
    file: "core/purchasing/orders/items.ts",
    within: "checkRow",
    find: "facts.opportunity_of.get(line) !== header.opportunity_id",
    replace: "header.opportunity_id < 0",
    killed_by: [
      {
        file: orders_test,
        test: "is rejected if one of its lines is for a line of an opportunity that the order does not name"
      }
    ]
  },
  {
    name: "lines keep the former supplier's tax",
    file: decide,
    within: "rowsAfter",
    find: "next.supplier_id !== before.supplier_id",
    replace: "next.supplier_id < 0",
    killed_by: [{ file: orders_test, test: "recomputes the lines' tax for a new supplier" }]
  },
  {
    name: "sub-hired goods count for ever",
    file: "core/purchasing/receiving/intake.ts",
    within: "newLevel",
    find: "...windowOf(order, item)",
    replace: "starts_at: windowOf(order, item).starts_at",
    killed_by: [{ file: goods_test, test: "count as stock during their hire, until its new end if it is extended" }]
  },
  {
    name: "more is received than was ordered",
    file: "core/purchasing/receiving/decide.ts",
    within: "receivedRows",
    find: "quantity.greaterThan(left)",
    replace: "quantity.greaterThan(item.quantity)",
    killed_by: [{ file: goods_test, test: "cannot be received beyond the ordered quantity" }]
  },
  {
    name: "a packed unit can be returned to its supplier",
    file: "core/purchasing/receiving/give-back.ts",
    within: "heldUnit",
    find: "holds.has(unit.id)",
    replace: "unit.id < 0",
    killed_by: [{ file: goods_test, test: "cannot be returned while they are packed" }]
  },
  {
    name: "two units can have one serial number",
    file: "core/purchasing/receiving/decide.ts",
    within: "serialsRefusal",
    find: "serials.find((serial) => taken_serials.has(serial))",
    replace: "serials.find((serial) => taken_serials.has(`${serial}-`))",
    killed_by: [{ file: goods_test, test: "are rejected with a serial number that is taken or given twice" }]
  },
  {
    name: "stock of an extended sub-hire ends at its former date",
    file: "core/purchasing/receiving/extend.ts",
    within: "hireExtended",
    find: "{ ends_at: data.ends_at }",
    replace: "{}",
    killed_by: [{ file: goods_test, test: "count as stock during their hire, until its new end if it is extended" }]
  }
]
