/**
 * The sweep that reminds of sub-hired goods that are due back. It looks every hour, as days begin at another hour in
 * each zone, and what a stopped server missed is made up at its next start (rules/billing 2.3).
 */
import { Clock, Effect, Schema } from "effect"
import { CommandRuntime, recordEvents } from "../../core/kernel/command-runtime.ts"
import { lockStreams } from "../../core/kernel/engine.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { type Settings, settingText } from "../../core/kernel/settings.ts"
import { chunked } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { members } from "../../core/members/schema.ts"
import { purchaseOrderChange, purchaseOrderStream } from "../../core/procurement/events.ts"
import { purchaseOrderReturnDue } from "../../core/procurement/receiving/events.ts"
import { dueBackAt, isHere, isReminderDue, reminderDaysIn } from "../../core/procurement/return-due.ts"
import {
  purchase_order_items,
  type PurchaseOrderItemRow,
  type PurchaseOrderRow,
  purchase_orders
} from "../../core/procurement/schema.ts"
import { stores } from "../../core/stores/stores.ts"
import { users } from "../../core/users/schema.ts"
import { exact } from "../../core/values/decimal.ts"
import { instantOf } from "../../core/values/time.ts"
import { dayOf, zoneOf } from "../../core/values/zone.ts"
import { jobKind, type TimedWork } from "../jobs/job-kind.ts"
import { queueMail } from "../mail/jobs.ts"

const at_once = 100

interface DueOrder {
  readonly order: PurchaseOrderRow
  readonly items: ReadonlyArray<PurchaseOrderItemRow>
  readonly due_at: string
  readonly zone: string
}

/** Orders with goods of their suppliers here that people are to be reminded of. */
const dueOf = Effect.fnUntraced(function* (rows: ReadonlyArray<PurchaseOrderRow>, now_millis: number) {
  const store = yield* Store
  const settings = yield* (yield* CommandRuntime).settings
  const zones = new Map((yield* store.find(stores, {})).map(({ id, timezone }) => [id, timezone]))
  const items = Map.groupBy(
    rows.length === 0 ? [] : yield* store.find(purchase_order_items, { purchase_order_id: rows.map(({ id }) => id) }),
    (item) => item.purchase_order_id
  )
  return rows.flatMap((order): ReadonlyArray<DueOrder> => {
    const own = items.get(order.id) ?? []
    const due_at = dueBackAt(order, own)
    const zone = zoneOf(zones.get(order.store_id) || settingText(settings, "company", "timezone"))
    return due_at !== null && isReminderDue(order, due_at, { days: reminderDaysIn(settings), now_millis, zone })
      ? [{ order, items: own, due_at, zone }]
      : []
  })
})

/** Whoever made the order, while they may log in; else the company. */
const recipientOf = Effect.fnUntraced(function* (order: PurchaseOrderRow, settings: Settings) {
  const user = order.created_by === null ? undefined : yield* (yield* Store).get(users, order.created_by)
  const company = settingText(settings, "company", "email")
  return user?.is_active === true ? user.email : company === "" ? undefined : company
})

const mailReminder = Effect.fnUntraced(function* (
  { due_at, items, order, zone }: DueOrder,
  settings: Settings
): Effect.fn.Return<void, Failure, Store> {
  const to = yield* recipientOf(order, settings)
  if (to === undefined) return
  const supplier = yield* (yield* Store).get(members, order.supplier_id)
  const name = `purchase order ${order.number ?? order.id}`
  const day = dayOf(Date.parse(due_at), zone)
  const goods = items
    .filter(isHere)
    .map((item) => `${exact(item.received_quantity).minus(item.returned_quantity).toNumber()} x ${item.name}`)
  yield* queueMail(
    {
      id: `purchase_order.${order.id}.return.${due_at}`,
      store_id: order.store_id,
      sender_user_id: null,
      to: [to],
      subject: `Due back on ${day}: ${name}`,
      text: [
        `These goods of ${supplier?.name ?? "the supplier"} are due back on ${day}:`,
        order.subject === null ? name : `${name}, ${order.subject}`,
        "",
        ...goods
      ].join("\n")
    },
    settings
  )
})

/** Records it for those that are due still, once nobody gives the goods back meanwhile, and queues the mails. */
const remind = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, now_millis: number) {
  const store = yield* Store
  const runtime = yield* CommandRuntime
  const settings = yield* runtime.settings
  yield* lockStreams(ids.map(purchaseOrderStream))
  const due = yield* dueOf(yield* store.getMany(purchase_orders, ids), now_millis)
  if (due.length === 0) return 0
  yield* recordEvents(
    due.map(({ due_at, order }) =>
      purchaseOrderReturnDue.make(purchaseOrderChange(order, { return_reminded_for: due_at }))
    ),
    { command_id: yield* runtime.commandId, actor_id: null, replica_id: null, recorded_at: instantOf(now_millis) }
  )
  for (const one of due) yield* mailReminder(one, settings)
  return due.length
})

export const returnSweep: TimedWork = {
  cron: "12 * * * *",
  kind: jobKind({
    kind: "purchase_orders.return_due",
    meaning: "reminds of sub-hired goods that are due back",
    data: Schema.Struct({ due_at: Schema.String }),
    attempts_max: 5,
    waits_seconds: [10, 60, 600],
    at_a_time: 1,
    run: () =>
      Effect.gen(function* () {
        const store = yield* Store
        const now_millis = yield* Clock.currentTimeMillis
        const open = yield* store.find(purchase_orders, {
          po_type: "sub_hire",
          status: ["partially_received", "received"],
          returned_at: null,
          deleted_at: null
        })
        const due = yield* dueOf(open, now_millis)
        let reminded = 0
        for (const some of chunked(due, at_once))
          reminded += yield* store.transaction(
            remind(
              some.map(({ order }) => order.id),
              now_millis
            )
          )
        return { reminded }
      })
  })
}
