/** The durable job that draws a purchase order and hands it to the mail queue (rules/billing 2.3). */
import { Effect } from "effect"
import { paperLanguage } from "../../core/billing/paper/words.ts"
import { sellerOf } from "../../core/billing/parties.ts"
import { brandOf, fragmentsOf, mail_places } from "../../core/documents/branding/brand.ts"
import type { PreparedDocument } from "../../core/documents/content/prepare.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { Rejection } from "../../core/kernel/rejection.ts"
import { type Settings, settingText } from "../../core/kernel/settings.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { members } from "../../core/members/schema.ts"
import { dateText } from "../../core/print/format.ts"
import { type PurchaseOrderMail, purchaseOrderMail } from "../../core/procurement/orders/mailing.ts"
import { standardOrderMail } from "../../core/procurement/paper-words.ts"
import { type PurchaseOrderRow, purchase_orders } from "../../core/procurement/schema.ts"
import { stores } from "../../core/stores/stores.ts"
import { dayOf, zoneOf } from "../../core/values/zone.ts"
import { drawn } from "../billing/draw.ts"
import { GivenUp, type JobKind, jobKind, type JobOffer, jobOffer } from "../jobs/job-kind.ts"
import { queueMail } from "../mail/jobs.ts"
import { filledDocument } from "../documents/filled.ts"
import { preparation } from "../documents/preparing.ts"
import { serverContext } from "../server-context.ts"

const standardOf = Effect.fnUntraced(function* (order: PurchaseOrderRow, settings: Settings) {
  const store = yield* Store
  const supplier = yield* store.get(members, order.supplier_id)
  const place = yield* store.get(stores, order.store_id)
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

/** The subject and text: as they were given, else as the layouts word them, else plainly. */
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
          // Checked when it was saved; one that a device recorded may not have been. The supplier gets the plain one.
          Effect.catchTag("TextInvalid", () => Effect.succeed({}))
        )
  return {
    subject: filled["mail_subject"]?.trim() || standard.subject,
    text: mail.message ?? (filled["mail_text"]?.trim() ? filled["mail_text"] : standard.text)
  }
})

/** The order as PDF. One that cannot be drawn is not mailed without it. */
const paperOf = Effect.fnUntraced(function* (mail: PurchaseOrderMail, order: PurchaseOrderRow, settings: Settings) {
  const prepare = yield* preparation
  const prepared = yield* prepare(
    {
      document_type: "purchase_order",
      documentable_id: order.id,
      store_id: order.store_id,
      document_number: order.number,
      now: mail.sent_at
    },
    settings
  )
  if (prepared === undefined)
    return yield* new GivenUp({
      message: `There is no document of purchase order ${order.number ?? order.id} to mail.`
    })
  const { bytes } = yield* drawn(yield* filledDocument(prepared), {
    limit_millis: (yield* Effect.promise(() => import("../print/renderer.ts"))).background_limit_millis
  })
  return { bytes, data: prepared.data, file_name: prepared.file_name }
})

export const mailPurchaseOrder: JobKind<PurchaseOrderMail> = jobKind({
  kind: "purchase_orders.mail",
  meaning: "draws a purchase order and queues the mail with it",
  data: purchaseOrderMail,
  attempts_max: 8,
  waits_seconds: [5, 60, 300, 1_800, 7_200],
  at_a_time: 1,
  names_people: true,
  run: (mail) =>
    Effect.gen(function* () {
      const { to } = mail
      const store = yield* Store
      const settings = yield* (yield* CommandRuntime).settings
      const order = yield* store.get(purchase_orders, mail.purchase_order_id)
      if (order === undefined) return yield* new GivenUp({ message: "The purchase order is gone." })
      if (to === null) return {}
      const { bytes, data, file_name } = yield* paperOf(mail, order, settings)
      const queued = yield* store.transaction(
        queueMail(
          {
            id: `purchase_order.${order.id}.${mail.sent_at}`,
            store_id: order.store_id,
            sender_user_id: senderOf(mail),
            to: [to],
            ...(yield* textsOf(mail, order, data, settings)),
            attachments: [{ name: `${file_name}.pdf`, mime_type: "application/pdf", bytes }]
          },
          settings
        )
      )
      return { mail_job_id: queued.job_id }
    }).pipe(
      Effect.catch((failure) =>
        Effect.fail(isForGood(failure) ? new GivenUp({ message: messageOf(failure) }) : failure)
      )
    )
})
/** What only a person can mend: the document, an address of the settings. */
const isForGood = (failure: unknown): boolean =>
  (failure instanceof Rejection && failure.kind === "invalid") ||
  (typeof failure === "object" &&
    failure !== null &&
    "_tag" in failure &&
    (failure._tag === "Undrawable" || failure._tag === "GivenUp"))
const messageOf = (failure: unknown): string =>
  failure instanceof Rejection
    ? (Object.values(failure.errors ?? {}).flat()[0] ?? failure.message)
    : failure instanceof Error
      ? failure.message
      : String(failure)
const senderOf = ({ sender_user_id }: PurchaseOrderMail): number | null =>
  sender_user_id === 0 ? null : sender_user_id

export const purchaseOrderMailOffer = (mail: PurchaseOrderMail): JobOffer<PurchaseOrderMail> =>
  jobOffer(mailPurchaseOrder, mail, { subject: `${mail.purchase_order_id}.${mail.sent_at}`, owner_id: senderOf(mail) })
