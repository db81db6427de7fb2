/**
 * Titles and bodies, made when a notification is read or sent: of rows as they are then, in the company's language for
 * figures and in each store's time. One query for each table, however many notifications.
 */
import { Effect } from "effect"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { StoreRead } from "../../core/kernel/failure.ts"
import type { Settings } from "../../core/kernel/settings.ts"
import { notificationType } from "../../core/notifications/types.ts"
import { printableLine } from "../../core/values/printable.ts"
import { type Named, namesOf, type Telling } from "./names.ts"

export interface Words {
  readonly title: string
  readonly body: string | null
}
interface Phrase {
  /** Of one; `named` are the rows it is about. */
  readonly title: (named: Named, row: Telling) => string
  readonly body?: (named: Named, row: Telling) => string | null
  /** Of many at once: "12 invoices are overdue". */
  readonly many?: (count: number) => string
}
const account = (own: string, of: (name: string) => string): Phrase => ({
  title: ({ subject }, { subject_id, user_id }) => (subject_id === user_id ? own : of(subject))
})
const about = (named: Named): string | null => named.about
const numberIn = (details: JsonObject, key: string): number => Number(details[key] ?? 0)

const documentsReady = (details: JsonObject): string => {
  const count = numberIn(details, "count")
  const failed = numberIn(details, "failed")
  return failed === 0
    ? `${count} documents are ready`
    : `${count - failed} of ${count} documents are ready; ${failed} could not be drawn`
}

const abandoned: { readonly [status: string]: string } = { lost: "was lost", dead: "is dead" }
const phrases: { readonly [type: string]: Phrase } = {
  "opportunity.created": {
    title: ({ subject }) => `${subject} was made`,
    body: about,
    many: (count) => `${count} opportunities were made`
  },
  "opportunity.cancelled": {
    title: ({ subject }, { details }) => `${subject} ${abandoned[String(details["status"])] ?? "was cancelled"}`,
    body: about,
    many: (count) => `${count} opportunities were cancelled or lost`
  },
  "shortage.waitlist.matched": {
    title: ({ item, subject }) => `Stock came free for ${item ?? "a line"} on ${subject}`,
    body: about,
    many: (count) => `Stock came free for ${count} lines on the waiting list`
  },
  "purchase_order.received": {
    title: ({ subject }) => `Goods of ${subject} came in`,
    body: about,
    many: (count) => `${count} deliveries of purchase orders came in`
  },
  "invoice.issued": {
    title: ({ subject }) => `${subject} was issued`,
    body: about,
    many: (count) => `${count} invoices were issued`
  },
  "invoice.overdue": {
    title: ({ subject }) => `${subject} is overdue`,
    body: about,
    many: (count) => `${count} invoices are overdue`
  },
  "payment.recorded": {
    title: ({ payment, subject }) => `A payment${payment === null ? "" : ` of ${payment}`} was recorded: ${subject}`,
    many: (count) => `${count} payments were recorded`
  },
  "document.generated": {
    title: ({ subject }, { details }) =>
      details["count"] === undefined ? `${subject} is ready` : documentsReady(details),
    body: about,
    many: (count) => `${count} documents are ready`
  },
  "document.accepted": {
    title: ({ document, subject }) => `${document ?? "The quotation"} was accepted: ${subject}`,
    body: about,
    many: (count) => `${count} quotations were accepted`
  },
  "activity.assigned": {
    title: ({ subject }) => `${subject} was given to you`,
    body: about,
    many: (count) => `${count} activities were given to you`
  },
  "user.invited": {
    ...account("You were invited to work here", (name) => `${name} was invited`),
    many: (count) => `${count} people were invited`
  },
  "user.deactivated": {
    ...account("Your account was closed", (name) => `The account of ${name} was closed`),
    many: (count) => `${count} accounts were closed`
  },
  "user.reactivated": {
    ...account("Your account was opened again", (name) => `The account of ${name} was opened again`),
    many: (count) => `${count} accounts were opened again`
  },
  "password.reset": { title: () => "You were sent a code to log in with" },
  "system.test_email": { title: () => "Test message" }
}

const wordsOf = (row: Telling, named: Named): Words => {
  const phrase = phrases[row.notification_type]
  const name = notificationType(row.notification_type)?.name ?? row.notification_type
  if (phrase === undefined) return { title: name, body: null }
  if (row.details["of"] !== undefined)
    return { title: phrase.many?.(numberIn(row.details, "count")) ?? name, body: null }
  return { title: phrase.title(named, row), body: phrase.body?.(named, row) ?? null }
}

/** The words of each, in their order. */
export const wordsFor = (
  rows: ReadonlyArray<Telling>,
  settings: Settings
): StoreRead<(row: Telling) => Words & { readonly is_there: boolean }> =>
  Effect.map(namesOf(rows, settings), (namedOf) => (row) => {
    const named = namedOf(row)
    const { body, title } = wordsOf(row, named)
    // Names are what others wrote: they begin no line of a mail, and steer no terminal.
    return { title: printableLine(title), body: body === null ? null : printableLine(body), is_there: named.is_there }
  })
