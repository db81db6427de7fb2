/** All kinds of events for webhooks. */
import { boolean, decimal, integer, isJsonObject, list, objectsIn, text } from "../../../core/kernel/index.ts"
import type { JsonObject } from "../../../core/kernel/index.ts"
import { idOnly, lean, merged, settingValues, type WebhookKind, type WebhookKinds, wholeRow } from "./payloads.ts"
import { documentGenerated } from "../../../core/documents/schema.ts"
import { pdf_generated } from "./fan-out.ts"
import { opportunityEvents } from "../../../core/orders/opportunities/events/participants.ts"
import { keys, objects } from "../../../core/kernel/lists/answer-schema.ts"

// Full invoices, credit notes and payments; payments with the id of their invoice.

const idWithin =
  (key: string) =>
  (data: JsonObject): number => {
    const row = data[key]
    return isJsonObject(row) ? Number(row["id"]) : 0
  }

export const billingKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow("invoices", ["invoice.created", "invoice.issued", "invoice.voided", "invoice.overdue"]),
  ...wholeRow("payments", ["payment.recorded", "payment.refunded"], {
    id_of: idWithin("payment"),
    more: { invoice_id: integer() },
    more_of: ({ id }) => ({ invoice_id: Number(id) })
  }),
  ...wholeRow("credit_notes", ["credit_note.issued"], { id_of: idWithin("credit_note") })
]

// Full containers and packed units; units with the id of their container.

const containerKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow("containers", [
    "container.created",
    "container.sealed",
    "container.unsealed",
    "container.dissolved",
    "container.dispatched",
    "container.returned",
    "container.repack.started"
  ]),
  ...wholeRow("container_items", ["container.item.packed", "container.item.unpacked", "container.repack.item"], {
    more: { container_id: integer() },
    more_of: ({ container_id }) => ({ container_id: Number(container_id) })
  })
]

const inspectionKinds = wholeRow("inspections", ["inspection.created"])

/** Full stocktakes, without their lines. */
const stocktakeKinds = wholeRow("stocktakes", ["stocktake.started", "stocktake.closed", "stocktake.cancelled"])

const transferKinds = wholeRow(
  "transfers",
  ["transfer.created", "transfer.sent", "transfer.received", "transfer.cancelled", "transfer.late"],
  { includes: ["items"] }
)

// Full documents, and every rendered PDF.

export const documentKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow("documents", ["document.generated", "document.finalised", "document.voided"]),
  ...wholeRow("document_acceptances", ["document.accepted"]),
  {
    name: pdf_generated,
    // Invoices and credit notes rendered on reading leave no event: `fan-out.ts` reports those.
    on: documentGenerated.type,
    payload: {
      form: "event",
      shown: {
        document_id: integer({ nullable: true }),
        documentable_type: text(),
        documentable_id: integer(),
        job_id: text({ nullable: true })
      },
      of: ({ documentable_id, documentable_type, id, job_id }) => ({
        document_id: Number(id),
        documentable_type: documentable_type ?? "",
        documentable_id: documentable_id ?? 0,
        job_id: job_id ?? null
      })
    }
  }
]

// Created, updated and copied opportunities in full; other events as `{ id, action }`.

const whole = ["opportunity.created", "opportunity.updated", "opportunity.cloned"]
/** Opportunity events shown in the activity log; price and demand events that follow other changes are not sent. */
const listed = opportunityEvents
  .filter(({ activity, type }) => activity !== undefined && type.startsWith("opportunity.") && !whole.includes(type))
  .map(({ type }) => type)

const opportunityKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow("opportunities", whole),
  ...lean(listed),
  ...lean(["shortage.acknowledged"], ({ opportunity_id }) => Number(opportunity_id)),
  {
    name: "shortage.waitlist.matched",
    on: "shortage.waitlist.matched",
    payload: {
      form: "event",
      shown: {
        opportunity_id: integer(),
        opportunity_item_id: integer(),
        product_id: integer(),
        quantity: integer(),
        waitlisted_by: integer({ nullable: true }),
        waitlisted_at: text()
      },
      of: ({ opportunity_id, opportunity_item_id, product_id, quantity, waitlisted_at, waitlisted_by }) => ({
        opportunity_id: opportunity_id ?? 0,
        opportunity_item_id: opportunity_item_id ?? 0,
        product_id: product_id ?? 0,
        quantity: quantity ?? 0,
        waitlisted_by: waitlisted_by ?? null,
        waitlisted_at: waitlisted_at ?? ""
      })
    }
  }
]

// Full purchase orders with lines and costs: subscribers are administrators.

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
/** The receipt as recorded in the event. */
const receiptOf = ({ lines, receipt }: JsonObject): JsonObject => {
  const { id, notes, received_at, reference } = isJsonObject(receipt) ? receipt : {}
  return {
    id: id ?? 0,
    received_at: received_at ?? "",
    reference: reference ?? null,
    notes: notes ?? null,
    lines: objectsIn(lines).map((line) => ({
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

// Users, settings, reference data and activities.

/** Kinds of a simple resource: created and updated rows in full, deleted ones as their id. */
const register = (plural: string, entity: string): ReadonlyArray<WebhookKind> => [
  ...wholeRow(plural, [`${entity}.created`, `${entity}.updated`]),
  ...idOnly(`${entity}.deleted`)
]

const registerKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow("users", ["user.invited", "user.updated", "user.activated", "user.deactivated", "user.reactivated"]),
  ...wholeRow("roles", ["role.created", "role.updated", "role.deleted"], { only: ["id", "name"] }),
  ...settingValues("settings.updated"),
  ...register("members", "member"),
  ...idOnly("member.archived", "member.restored", "member.anonymised"),
  ...merged("member.merged"),
  ...register("activities", "activity"),
  ...wholeRow("activities", ["activity.completed"]),
  ...register("products", "product"),
  ...merged("product.merged"),
  ...register("product_groups", "product_group"),
  ...register("tax_rates", "tax_rate"),
  ...register("tax_rules", "tax_rule"),
  ...register("rate_definitions", "rate_definition"),
  ...register("product_rates", "product_rate"),
  ...register("stock_levels", "stock_level"),
  ...wholeRow("stock_transactions", ["stock_transaction.created"]),
  ...idOnly("stock_transaction.deleted")
]

/** Indexes all kinds by name and event type. Throws if two kinds share a name. */
const kindsOf = (all: ReadonlyArray<WebhookKind>): WebhookKinds => {
  const by_type = Map.groupBy(all, ({ on }) => on)
  const names = new Set(all.map(({ name }) => name))
  if (names.size !== all.length) throw new Error("two kinds of webhook events share a name")
  return { all, has: (name) => names.has(name), causedBy: (type) => by_type.get(type) ?? [] }
}

export const webhookKinds: WebhookKinds = kindsOf([
  ...registerKinds,
  ...opportunityKinds,
  ...containerKinds,
  ...inspectionKinds,
  ...stocktakeKinds,
  ...transferKinds,
  ...billingKinds,
  ...procurementKinds,
  ...documentKinds
])
