/**
 * Titles and bodies of notifications, written when they are read or sent, from rows as of then. Figures are in the
 * company's language, times in each store's zone; one query per table.
 */
import { Effect } from "effect"
import { activities } from "../../../core/office/activities/schema.ts"
import { invoices, payments } from "../../../core/billing/state/tables.ts"
import { document_types, documentable_tables, documents } from "../../../core/documents/schema.ts"
import { settingText, Store } from "../../../core/kernel/index.ts"
import type { JsonObject, RowOf, Settings, StoreRead, Table } from "../../../core/kernel/index.ts"
import { members } from "../../../core/people/members/schema.ts"
import { opportunities, opportunity_items, quotation, states } from "../../../core/orders/opportunities/tables/index.ts"
import { dateText, momentText, moneyText } from "../../../core/pricing/print/format.ts"
import { purchase_orders } from "../../../core/purchasing/schema.ts"
import { transfers } from "../../../core/warehouse/transfers/schema.ts"
import { stores } from "../../../core/setup/stores.ts"
import { users } from "../../../core/people/users/permissions.ts"
import { formatMoney } from "../../../core/values/money.ts"
import { dayOf, zoneOf } from "../../../core/values/time.ts"
import { inspection_kinds, inspections } from "../../../core/warehouse/inspections/schema.ts"
import { stock_levels } from "../../../core/products/stock/schema.ts"
import type { NotificationRow } from "./schema.ts"
import { notificationType } from "../../../core/office/notifications/types.ts"
import { printableLine } from "../../../core/values/text.ts"

// Subjects of notifications as text: rows loaded by table, once per page.

/** Columns of a notification that its texts need. */
type Telling = Pick<NotificationRow, "notification_type" | "subject_type" | "subject_id" | "details" | "user_id">

interface Named {
  /** "Order 0000012 for ACME Events"; "An opportunity" if the row is gone. */
  readonly subject: string
  /** Second line of the notification; null if none. */
  readonly about: string | null
  /** Whether the row exists; otherwise the notification links to nothing. */
  readonly is_there: boolean
  readonly payment: string | null
  readonly document: string | null
  readonly item: string | null
}

const idIn = (row: Telling, key: string): ReadonlyArray<number> => {
  const id = row.details[key]
  return typeof id === "number" ? [id] : []
}
const loaded = Effect.fnUntraced(function* (rows: ReadonlyArray<Telling>) {
  const ids = (table: Table): ReadonlyArray<number> =>
    rows.flatMap(({ subject_id, subject_type }) =>
      subject_type === table.name && subject_id !== null ? [subject_id] : []
    )
  const details = (key: string) => rows.flatMap((row) => idIn(row, key))
  const papers = yield* Store.byId(documents, [...ids(documents), ...details("document_id")])
  /** Ids of a table: subjects of notifications, and sources of the documents they mention. */
  const withPapersOf = (table: Table): ReadonlyArray<number> => [
    ...ids(table),
    ...[...papers.values()].flatMap(({ documentable_id, documentable_type }) =>
      documentable_tables[documentable_type] === table.name ? [documentable_id] : []
    )
  ]
  const found = {
    documents: papers,
    opportunities: yield* Store.byId(opportunities, withPapersOf(opportunities)),
    invoices: yield* Store.byId(invoices, withPapersOf(invoices)),
    purchase_orders: yield* Store.byId(purchase_orders, withPapersOf(purchase_orders)),
    transfers: yield* Store.byId(transfers, ids(transfers)),
    activities: yield* Store.byId(activities, ids(activities)),
    users: yield* Store.byId(users, ids(users)),
    inspections: yield* Store.byId(inspections, ids(inspections)),
    payments: yield* Store.byId(payments, details("payment_id")),
    items: yield* Store.byId(opportunity_items, details("opportunity_item_id"))
  }
  const inspected = [...found.inspections.values()]
  const units = yield* Store.byId(
    stock_levels,
    inspected.map((row) => row.stock_level_id)
  )
  return {
    ...found,
    inspection_kinds: yield* Store.byId(
      inspection_kinds,
      inspected.map((row) => row.inspection_kind_id)
    ),
    stock_levels: units,
    members: yield* Store.byId(members, [
      ...[...found.opportunities.values()].map(({ member_id }) => member_id),
      ...[...found.invoices.values()].map(({ member_id }) => member_id),
      ...[...found.purchase_orders.values()].map(({ supplier_id }) => supplier_id)
    ]),
    stores: yield* Store.byId(stores, [
      ...[...found.opportunities.values(), ...found.invoices.values(), ...units.values()].map(
        ({ store_id }) => store_id
      ),
      ...[...found.transfers.values()].flatMap(({ from_store_id, to_store_id }) => [from_store_id, to_store_id])
    ])
  }
})
type Loaded = Effect.Success<ReturnType<typeof loaded>>

interface Locale {
  readonly language: string
  /** The company's time zone, for subjects without a store. */
  readonly zone: string
}
interface Phrased {
  readonly subject: string
  readonly about: string | null
  readonly is_there: boolean
}
const called = (kind: string, number: string | null, of: string | undefined, joined = "for"): string =>
  `${kind}${number === null ? "" : ` ${number}`}${of === undefined ? "" : ` ${joined} ${of}`}`
const capitalised = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)
const zoneAt = (all: Loaded, store_id: number | null, { zone }: Locale): string =>
  zoneOf((store_id === null ? undefined : all.stores.get(store_id)?.timezone) || zone)
const dayText = (instant: string, zone: string, { language }: Locale): string =>
  dateText(dayOf(Date.parse(instant), zone), language)

type Speaker = (id: number, all: Loaded, locale: Locale) => Phrased | undefined
const speakers: { readonly [subject_type: string]: Speaker } = {
  [opportunities.name]: (id, all, locale) => {
    const row = all.opportunities.get(id)
    if (row === undefined) return undefined
    const kind = row.state < quotation ? "Opportunity" : (states[row.state] ?? "Opportunity")
    const zone = zoneAt(all, row.store_id, locale)
    const days = [row.starts_at, row.ends_at].flatMap((at) => (at === null ? [] : [dayText(at, zone, locale)]))
    return {
      subject: called(kind, row.number, row.member_id === null ? undefined : all.members.get(row.member_id)?.name),
      about: [row.subject, [...new Set(days)].join(" – ")].filter((part) => part !== "").join(", "),
      is_there: row.deleted_at === null
    }
  },
  [invoices.name]: (id, all, locale) => {
    const row = all.invoices.get(id)
    if (row === undefined) return undefined
    const total = moneyText(formatMoney(row.total, row.currency_code), row.currency_code, locale.language)
    const due = row.due_at === null ? [] : [`due ${dayText(row.due_at, zoneAt(all, row.store_id, locale), locale)}`]
    return {
      subject: called("Invoice", row.number, all.members.get(row.member_id)?.name),
      about: [total, ...due].join(", "),
      is_there: row.deleted_at === null
    }
  },
  [purchase_orders.name]: (id, all) => {
    const row = all.purchase_orders.get(id)
    if (row === undefined) return undefined
    return {
      subject: called("purchase order", row.number, all.members.get(row.supplier_id)?.name, "from"),
      about:
        row.returned_at !== null
          ? "It went back."
          : row.received_at === null
            ? "Some of it is still to come."
            : "All of it is here.",
      is_there: row.deleted_at === null
    }
  },
  [inspections.name]: (id, all, locale) => {
    const row = all.inspections.get(id)
    const unit = all.stock_levels.get(row?.stock_level_id ?? 0)
    if (row === undefined || unit === undefined) return undefined
    const kind = all.inspection_kinds.get(row.inspection_kind_id)?.name ?? "inspection"
    return {
      subject: `The ${kind} of ${unit.asset_number ?? unit.serial_number ?? unit.barcode ?? `unit ${unit.id}`}`,
      about: row.due_at === null ? null : `Due ${dayText(row.due_at, zoneAt(all, unit.store_id, locale), locale)}`,
      is_there: row.is_latest
    }
  },
  [transfers.name]: (id, all, locale) => {
    const row = all.transfers.get(id)
    if (row === undefined) return undefined
    const from = all.stores.get(row.from_store_id)?.name
    const to = all.stores.get(row.to_store_id)?.name
    const day = dayText(row.arrives_at ?? row.starts_at, zoneAt(all, row.to_store_id, locale), locale)
    return {
      subject: called("Transfer", String(id), from, "from"),
      about: `Expected${to === undefined ? "" : ` at ${to}`} on ${day}`,
      is_there: row.deleted_at === null
    }
  },
  [documents.name]: (id, all, locale) => {
    const row = all.documents.get(id)
    if (row === undefined) return undefined
    const of = speakers[documentable_tables[row.documentable_type]]?.(row.documentable_id, all, locale)
    const job =
      row.documentable_type === "Opportunity" ? all.opportunities.get(row.documentable_id)?.subject : undefined
    return {
      subject: called(document_types[row.document_type].name, row.document_number, undefined),
      about: of === undefined ? null : [capitalised(of.subject), ...(job ? [job] : [])].join(", "),
      is_there: row.deleted_at === null
    }
  },
  [activities.name]: (id, all, { language, zone }) => {
    const row = all.activities.get(id)
    if (row === undefined) return undefined
    return {
      subject: `The activity “${row.subject}”`,
      about: row.starts_at === null ? null : `Starts ${momentText(row.starts_at, zone, language, "long")}`,
      is_there: row.deleted_at === null
    }
  },
  [users.name]: (id, all) => {
    const row = all.users.get(id)
    return row === undefined ? undefined : { subject: row.name, about: null, is_there: row.deleted_at === null }
  }
}
/** Subject text for a missing row, by table. */
const gone: { readonly [subject_type: string]: string } = {
  [opportunities.name]: "An opportunity",
  [invoices.name]: "An invoice",
  [purchase_orders.name]: "a purchase order",
  [inspections.name]: "An inspection",
  [transfers.name]: "A transfer",
  [documents.name]: "A document",
  [activities.name]: "An activity",
  [users.name]: "Somebody"
}

const moneyOf = (row: RowOf<typeof payments> | undefined, currency: string | undefined, language: string) =>
  row === undefined || currency === undefined ? null : moneyText(formatMoney(row.amount, currency), currency, language)

/** Returns the named subject of each row, with figures in the company's language. */
const namesOf = (rows: ReadonlyArray<Telling>, settings: Settings): StoreRead<(row: Telling) => Named> =>
  Effect.map(loaded(rows), (all) => {
    const locale = {
      language: settingText(settings, "company", "locale") || "en-GB",
      zone: zoneOf(settingText(settings, "company", "timezone"))
    }
    return (row) => {
      const { subject_id, subject_type } = row
      const type = subject_type ?? ""
      const spoken = subject_id === null ? undefined : speakers[type]?.(subject_id, all, locale)
      const [payment] = idIn(row, "payment_id").map((id) => all.payments.get(id))
      const [item] = idIn(row, "opportunity_item_id").map((id) => all.items.get(id)?.name)
      const [document] = idIn(row, "document_id").map((id) => speakers[documents.name]?.(id, all, locale)?.subject)
      return {
        ...(spoken ?? { subject: gone[type] ?? "", about: null, is_there: false }),
        payment: moneyOf(payment, all.invoices.get(subject_id ?? 0)?.currency_code, locale.language),
        document: document ?? null,
        item: item ?? null
      }
    }
  })

interface Words {
  readonly title: string
  readonly body: string | null
}
interface Phrase {
  /** Title of one notification. `named`: the rows it mentions. */
  readonly title: (named: Named, row: Telling) => string
  readonly body?: (named: Named, row: Telling) => string | null
  /** Title of a row that counts several: "12 invoices are overdue". */
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
  "inspection.due": {
    title: ({ subject }) => `${subject} is due`,
    body: about,
    many: (count) => `${count} inspections are due`
  },
  "transfer.late": {
    title: ({ subject }) => `${subject} has not arrived`,
    body: about,
    many: (count) => `${count} transfers have not arrived`
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
  "system.test_email": { title: () => "Test message" },
  "backup.failed": { title: () => "The daily backup failed", body: (_, { details }) => String(details["error"] ?? "") }
}

const wordsOf = (row: Telling, named: Named): Words => {
  const phrase = phrases[row.notification_type]
  const name = notificationType(row.notification_type)?.name ?? row.notification_type
  if (phrase === undefined) return { title: name, body: null }
  if (row.details["of"] !== undefined)
    return { title: phrase.many?.(numberIn(row.details, "count")) ?? name, body: null }
  return { title: phrase.title(named, row), body: phrase.body?.(named, row) ?? null }
}

/** Returns a function that gives each of these rows its texts, and whether its subject exists. */
export const wordsFor = (
  rows: ReadonlyArray<Telling>,
  settings: Settings
): StoreRead<(row: Telling) => Words & { readonly is_there: boolean }> =>
  Effect.map(namesOf(rows, settings), (namedOf) => (row) => {
    const named = namedOf(row)
    const { body, title } = wordsOf(row, named)
    // Names are user input: they must neither break a mail's header nor control a terminal.
    return { title: printableLine(title), body: body === null ? null : printableLine(body), is_there: named.is_there }
  })
