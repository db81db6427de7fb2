/** Server part of purchasing: mail to suppliers, and scheduled reminders. */
import { Context, Effect } from "effect"
import { paperLanguage } from "../../core/billing/paper/words.ts"
import { sellerOf } from "../../core/billing/state/parties.ts"
import { brandOf, fragmentsOf, mail_places } from "../../core/documents/brand.ts"
import type { PreparedDocument } from "../../core/documents/content/prepare.ts"
import { CommandRuntime, lockStreams, settingText, Store, type Settings } from "../../core/kernel/index.ts"
import { members } from "../../core/people/members/schema.ts"
import { dateText } from "../../core/pricing/print/format.ts"
import { type PurchaseOrderMail, purchaseOrderMail, PurchaseOrderMailer } from "../../core/purchasing/fields.ts"
import { standardOrderMail } from "../../core/purchasing/orders/paper-words.ts"
import type { PurchaseOrderItemRow, PurchaseOrderRow } from "../../core/purchasing/schema.ts"
import {
  purchase_order_items,
  purchase_orders,
  purchaseOrderChange,
  purchaseOrderReturnDue,
  purchaseOrderStream
} from "../../core/purchasing/schema.ts"
import { stores } from "../../core/setup/stores.ts"
import { queueMail } from "../delivery/mail/jobs.ts"
import { queuedNow } from "../delivery/mail/transport.ts"
import { mailDocument, mailing, senderOf } from "../documents/papers/filled.ts"
import type { JobKind, JobOffer } from "../ports/server-context.ts"
import { GivenUp, jobKind, jobOffer, recordByServer, serverContext, sweep } from "../ports/server-context.ts"
import { dueBackAt, isHere, isReminderDue, reminderDaysIn } from "../../core/purchasing/receiving/intake.ts"
import { users } from "../../core/people/users/permissions.ts"
import { exact } from "../../core/values/decimal.ts"
import { dayOf, instantOf, zoneOf } from "../../core/values/time.ts"
import type { ServerSlice } from "../ports/server-slice.ts"

// The durable job that draws a purchase order and hands it to the mail queue (rules/billing 2.3).

const standardOf = Effect.fnUntraced(function* (order: PurchaseOrderRow, settings: Settings) {
  const supplier = yield* Store.get(members, order.supplier_id)
  const place = yield* Store.get(stores, order.store_id)
  const company = yield* sellerOf(order.store_id, settings)
  const language = paperLanguage(supplier?.locale || settingText(settings, "company", "locale"))
  const zone = zoneOf(place?.timezone || settingText(settings, "company", "timezone"))
  const day = (instant: string): string => dateText(dayOf(Date.parse(instant), zone), language)
  const { ends_at, number, po_type, starts_at, subject } = order
  return standardOrderMail(
    {
      number,
      subject,
      supplier: supplier?.name ?? "",
      company: company.name,
      window:
        po_type === "sub_hire" && starts_at !== null && ends_at !== null
          ? { from: day(starts_at), to: day(ends_at) }
          : null
    },
    language
  )
})

/** Subject and text of the mail by the layouts, else the default; a given text takes precedence. */
const textsOf = Effect.fnUntraced(function* (
  mail: PurchaseOrderMail,
  order: PurchaseOrderRow,
  data: PreparedDocument["data"],
  settings: Settings
) {
  const { renderer } = yield* serverContext
  const standard = yield* standardOf(order, settings)
  const worded = fragmentsOf(yield* brandOf("purchase_order", order.store_id, settings), mail_places)
  const fragments = Object.fromEntries(
    Object.entries(worded).filter(([place]) => place !== "mail_text" || mail.message === null)
  )
  const filled: { readonly [name: string]: string } =
    Object.keys(fragments).length === 0
      ? {}
      : yield* renderer.texts(fragments, data).pipe(
          // Texts recorded by a device may be invalid, as only the server checks them; the supplier then gets the
          // default text.
          Effect.catchTag("TextInvalid", () => Effect.succeed({}))
        )
  return {
    subject: filled["mail_subject"]?.trim() || standard.subject,
    text: mail.message ?? (filled["mail_text"]?.trim() ? filled["mail_text"] : standard.text)
  }
})

const mailPurchaseOrder: JobKind<PurchaseOrderMail> = jobKind({
  ...mailing,
  kind: "purchase_orders.mail",
  meaning: "renders a purchase order and queues the mail with it",
  data: purchaseOrderMail,
  run: Effect.fnUntraced(function* (mail) {
    const { sender_user_id, sent_at: now, to } = mail
    const order = yield* Store.get(purchase_orders, mail.purchase_order_id)
    if (order === undefined) return yield* new GivenUp({ message: "The purchase order is gone." })
    if (to === null) return {}
    const { id, number, store_id } = order
    return yield* mailDocument(
      { document_type: "purchase_order", documentable_id: id, store_id, document_number: number, now },
      `There is no document of purchase order ${number ?? id} to mail.`,
      { id: `purchase_order.${id}.${now}`, store_id, sender_user_id, to: [to] },
      (prepared, settings) => textsOf(mail, order, prepared.data, settings)
    )
  })
})

const purchaseOrderMailOffer = (mail: PurchaseOrderMail): JobOffer<PurchaseOrderMail> =>
  jobOffer(mailPurchaseOrder, mail, { subject: `${mail.purchase_order_id}.${mail.sent_at}`, owner_id: senderOf(mail) })

// The hourly sweep that reminds of sub-hired goods due back. Hourly, as days begin at another hour in each zone; what a
// stopped server missed is caught up at its next start (rules/billing 2.3).

interface DueOrder {
  readonly order: PurchaseOrderRow
  readonly items: ReadonlyArray<PurchaseOrderItemRow>
  readonly due_at: string
  readonly zone: string
}

/** Orders with sub-hired goods for which a reminder is due. */
const dueOf = Effect.fnUntraced(function* (rows: ReadonlyArray<PurchaseOrderRow>, now_millis: number) {
  const settings = yield* (yield* CommandRuntime).settings
  const zones = new Map((yield* Store.find(stores, {})).map(({ id, timezone }) => [id, timezone]))
  const items = Map.groupBy(
    rows.length === 0 ? [] : yield* Store.find(purchase_order_items, { purchase_order_id: rows.map(({ id }) => id) }),
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

/** Recipient of the reminder: the order's creator if they may log in, else the company. */
const recipientOf = Effect.fnUntraced(function* (order: PurchaseOrderRow, settings: Settings) {
  const user = order.created_by === null ? undefined : yield* Store.get(users, order.created_by)
  const company = settingText(settings, "company", "email")
  return user?.is_active === true ? user.email : company === "" ? undefined : company
})

const mailReminder = Effect.fnUntraced(function* (
  { due_at, items, order, zone }: DueOrder,
  settings: Settings
): Store.Reads<void> {
  const to = yield* recipientOf(order, settings)
  if (to === undefined) return
  const supplier = yield* Store.get(members, order.supplier_id)
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

/** Records the reminder for orders still due, under a lock against concurrent returns, and queues the mails. */
const remind = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, now_millis: number) {
  const settings = yield* (yield* CommandRuntime).settings
  yield* lockStreams(ids.map(purchaseOrderStream))
  const due = yield* dueOf(yield* Store.getMany(purchase_orders, ids), now_millis)
  if (due.length === 0) return 0
  yield* recordByServer(
    due.map(({ due_at, order }) =>
      purchaseOrderReturnDue.make(purchaseOrderChange(order, { return_reminded_for: due_at }))
    ),
    instantOf(now_millis)
  )
  for (const one of due) yield* mailReminder(one, settings)
  return due.length
})

export const returnSweep = sweep({
  cron: "12 * * * *",
  kind: "purchase_orders.return_due",
  meaning: "sends reminders of sub-hired goods that are due back",
  candidates: Effect.fnUntraced(function* (now_millis: number) {
    const open = yield* Store.find(purchase_orders, {
      po_type: "sub_hire",
      status: ["partially_received", "received"],
      returned_at: null,
      deleted_at: null
    })
    return (yield* dueOf(open, now_millis)).map(({ order }) => order.id)
  }),
  record: remind,
  counted: "reminded"
})

export const procurementServerSlice: ServerSlice = {
  name: "procurement_server",
  jobs: [mailPurchaseOrder],
  timed: [returnSweep],
  services: ({ jobs }) =>
    Context.make(
      PurchaseOrderMailer,
      Effect.fnUntraced(function* (mail) {
        if (mail.to === null) return []
        yield* jobs.offer(purchaseOrderMailOffer(mail))
        const { leaves, text } = yield* queuedNow("The order", mail.to)
        return leaves ? [] : [text]
      })
    )
}
