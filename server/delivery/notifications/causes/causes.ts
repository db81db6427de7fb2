/**
 * Sources of notifications from journal events, by type. Not among them: login codes and test messages, which are
 * mailed only, and failed backups.
 */
import { Effect } from "effect"
import { isJsonObject, Store, type AnyEventType, type JsonObject } from "../../../../core/kernel/index.ts"
import { isAbandoned, opportunities, read } from "../../../../core/orders/opportunities/tables/index.ts"
import { read as opportunities_read, statuses } from "../../../../core/orders/opportunities/tables/index.ts"
import { statusNamed } from "../../../../core/orders/opportunities/tables/index.ts"
import { activityAssigned, type Cause, documentGeneratedCause, keyOf, userCauses } from "./happening.ts"
import { invoiceIssued, invoiceOverdue, paymentRecorded } from "../../../../core/billing/state/events.ts"
import { read as invoices_read } from "../../../../core/billing/state/fields.ts"
import { quotationAccepted } from "../../../../core/documents/links/events.ts"
import { opportunityCreated } from "../../../../core/orders/opportunities/events/header.ts"
import { inspectionDue } from "../../../../core/warehouse/inspections/schema.ts"
import { purchaseOrderReceived, read as purchase_orders_read } from "../../../../core/purchasing/schema.ts"
import { transferLate } from "../../../../core/warehouse/transfers/schema.ts"

// Cancelled opportunities, and lines with freed stock.

const about = (id: unknown) => ({ type: opportunities.name, id: Number(id) })
const abandoned_codes: ReadonlySet<unknown> = new Set([
  statuses.lost.status,
  statuses.dead.status,
  statuses.cancelled.status
])
const cancelled = "opportunity.cancelled"

/**
 * A quotation became Lost or Dead, or an order Cancelled. The event has only a status number, whose meaning depends on
 * the state, so the row decides; opportunities reinstated by then notify no one.
 */
const opportunityCancelled: Cause = {
  notification_type: cancelled,
  on: ["opportunity.status_changed"],
  may: ({ data: { set } }) => isJsonObject(set) && abandoned_codes.has(set["status"]),
  happenings: Effect.fnUntraced(function* (events) {
    const rows = yield* Store.getMany(
      opportunities,
      events.map(({ data }) => Number(data["id"]))
    )
    const byId = new Map(rows.map((row) => [row.id, row]))
    return events.flatMap((event) => {
      const { id, set } = event.data
      const row = byId.get(Number(id))
      const name = row === undefined ? undefined : statusNamed(row.state, row.status)
      if (row === undefined || name === undefined || !isAbandoned(name)) return []
      if (!isJsonObject(set) || set["status"] !== row.status) return []
      return [
        {
          notification_type: cancelled,
          key: keyOf(event),
          subject: about(id),
          details: { status: name },
          seen_with: read.permission,
          to: null,
          actor_id: event.actor_id,
          command_id: event.command_id
        }
      ]
    })
  })
}

const matched = "shortage.waitlist.matched"
/** Notifies the user who put the line on the waiting list, and the opportunity's owner. */
export const waitlistMatched: Cause = {
  notification_type: matched,
  on: ["shortage.waitlist.matched"],
  may: () => true,
  happenings: Effect.fnUntraced(function* (events) {
    const rows = yield* Store.getMany(
      opportunities,
      events.map(({ data }) => Number(data["opportunity_id"]))
    )
    const owners = new Map(rows.map((row) => [row.id, row.owned_by]))
    return events.map((event) => {
      const { opportunity_id, opportunity_item_id, waitlisted_by } = event.data
      return {
        notification_type: matched,
        key: keyOf(event),
        subject: about(opportunity_id),
        details: { opportunity_item_id: opportunity_item_id ?? null },
        seen_with: read.permission,
        to: {
          user_ids: typeof waitlisted_by === "number" ? [waitlisted_by] : [],
          member_ids: [owners.get(Number(opportunity_id)) ?? null]
        },
        actor_id: event.actor_id,
        command_id: event.command_id
      }
    })
  })
}

// Notification types with a single event, addressed to all users who may see the subject.

interface Plain {
  readonly on: AnyEventType
  /** Table of the subject, whose id is the event's `id`. */
  readonly about: string
  readonly seen_with: string
  readonly details?: (data: JsonObject) => JsonObject
}
const plain = (notification_type: string, { about, details = () => ({}), on, seen_with }: Plain): Cause => ({
  notification_type,
  on: [on.type],
  may: () => true,
  happenings: (events) =>
    Effect.succeed(
      events.map((event) => ({
        notification_type,
        key: keyOf(event),
        subject: { type: about, id: Number(event.data["id"]) },
        details: details(event.data),
        seen_with,
        to: null,
        actor_id: event.actor_id,
        command_id: event.command_id
      }))
    )
})
const idWithin =
  (name: string) =>
  (data: JsonObject): JsonObject => {
    const row = data[name]
    return { [`${name}_id`]: isJsonObject(row) ? (row["id"] ?? null) : null }
  }

const opportunity = { about: "opportunities", seen_with: opportunities_read.permission }
const invoice = { about: "invoices", seen_with: invoices_read.permission }

/** Permission to see inspections and transfers: that of the stock lists. */
export const stock_permission = "stock.view"

const simpleCauses: ReadonlyArray<Cause> = [
  // Copies record this event, too, so they notify as well.
  plain("opportunity.created", { ...opportunity, on: opportunityCreated }),
  plain("document.accepted", {
    ...opportunity,
    on: quotationAccepted,
    details: ({ document_id }) => ({ document_id: document_id ?? null })
  }),
  plain("invoice.issued", { ...invoice, on: invoiceIssued }),
  plain("invoice.overdue", { ...invoice, on: invoiceOverdue }),
  plain("payment.recorded", { ...invoice, on: paymentRecorded, details: idWithin("payment") }),
  plain("inspection.due", { about: "inspections", seen_with: stock_permission, on: inspectionDue }),
  plain("transfer.late", { about: "transfers", seen_with: stock_permission, on: transferLate }),
  plain("purchase_order.received", {
    about: "purchase_orders",
    seen_with: purchase_orders_read.permission,
    on: purchaseOrderReceived,
    details: idWithin("receipt")
  })
]

export const causes: ReadonlyArray<Cause> = [
  ...simpleCauses,
  opportunityCancelled,
  waitlistMatched,
  documentGeneratedCause,
  activityAssigned,
  ...userCauses
]
const by_event = new Map<string, Array<Cause>>()
for (const cause of causes) for (const type of cause.on) by_event.set(type, [...(by_event.get(type) ?? []), cause])

export const causesOf = (event_type: string): ReadonlyArray<Cause> => by_event.get(event_type) ?? []
/** Event types that may cause notifications. */
export const telling_events: ReadonlyArray<string> = [...by_event.keys()]
