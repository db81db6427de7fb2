/** Orders in a calendar: the hire, when it goes out and when it comes back (rules/members-activities 7). */
import type { OpportunityRow } from "../../orders/opportunities/tables/opportunities.ts"
import { statuses } from "../../orders/opportunities/tables/statuses.ts"
import { spokenNumber } from "../../values/text.ts"
import { dayOf, instantOf, millisOf, startOfDay, wallOf } from "../../values/time.ts"
import type { FeedEntry } from "./feed.ts"
import type { CalendarKind } from "./kinds.ts"

/** Names of rows an order refers to; null if there is none, or the reader may not see it. */
export interface OrderNames {
  readonly customer: string | null
  readonly venue: string | null
  readonly store: string | null
  readonly delivery_address: string | null
  readonly collection_address: string | null
  /** Time zone of its store, else the company's. */
  readonly zone: string
}
const { cancelled, checked, complete, on_hire, returned } = statuses
const gone_out: ReadonlySet<number> = new Set([on_hire, returned, checked, complete].map(({ status }) => status))
const come_back: ReadonlySet<number> = new Set([returned, checked, complete].map(({ status }) => status))

/** Calendar entries of one order, by kind; those before `since` are left out. */
export const orderEntries = (
  order: OpportunityRow,
  names: OrderNames,
  kinds: ReadonlyArray<CalendarKind>,
  since: string
): ReadonlyArray<FeedEntry> => [
  ...(kinds.includes("orders") ? hire(order, names, since) : []),
  ...(kinds.includes("dispatch") ? goingOut(order, names, since) : []),
  ...(kinds.includes("returns") ? comingBack(order, names, since) : [])
]

const hire = (order: OpportunityRow, names: OrderNames, since: string): ReadonlyArray<FeedEntry> => {
  const { ends_at, id, starts_at } = order
  if (starts_at === null || (ends_at ?? starts_at) < since) return []
  return [
    {
      ...common(order, names),
      uid: `order-${id}`,
      subject: titleOf(order, names),
      location: placeOf(names.venue, names.delivery_address),
      starts_at,
      ends_at,
      is_completed: order.status === complete.status
    }
  ]
}
/** Entry for the load or else the delivery, if planned; otherwise for the start of the hire. */
const goingOut = (order: OpportunityRow, names: OrderNames, since: string): ReadonlyArray<FeedEntry> => {
  const [starts_at, ends_at] = firstPlanned([
    [order.load_starts_at, order.load_ends_at],
    [order.deliver_starts_at, order.deliver_ends_at],
    [order.starts_at, null]
  ])
  if (starts_at === null || starts_at < since) return []
  return [
    {
      ...common(order, names),
      uid: `order-${order.id}-dispatch`,
      subject: `Out: ${titleOf(order, names)}`,
      location: order.customer_collecting ? names.store : placeOf(names.venue, names.delivery_address),
      starts_at,
      ends_at,
      is_completed: gone_out.has(order.status)
    }
  ]
}
/** Entry for the collection or else the unloading, if planned; otherwise for the end of the hire. */
const comingBack = (order: OpportunityRow, names: OrderNames, since: string): ReadonlyArray<FeedEntry> => {
  const [starts_at, ends_at] = firstPlanned([
    [order.collect_starts_at, order.collect_ends_at],
    [order.unload_starts_at, order.unload_ends_at],
    [order.ends_at === null ? null : dueBack(order.ends_at, names.zone), null]
  ])
  if (starts_at === null || starts_at < since) return []
  return [
    {
      ...common(order, names),
      uid: `order-${order.id}-return`,
      subject: `Back: ${titleOf(order, names)}`,
      location: order.customer_returning ? names.store : placeOf(names.venue, names.collection_address),
      starts_at,
      ends_at,
      is_completed: come_back.has(order.status)
    }
  ]
}
type Span = readonly [starts_at: string | null, ends_at: string | null]
const firstPlanned = (spans: ReadonlyArray<Span>): Span =>
  spans.find(([starts_at]) => starts_at !== null) ?? [null, null]

/** Due time of a hire's return. One that ends at 23:59 is due on that day, as an entry for the full day. */
const dueBack = (ends_at: string, zone: string): string => {
  const at = millisOf(ends_at)
  return instantOf(wallOf(at, zone)).slice(11, 16) === "23:59" ? instantOf(startOfDay(dayOf(at, zone), zone)) : ends_at
}

const common = (order: OpportunityRow, { customer, zone }: OrderNames) => ({
  description: [
    ...(order.number === null ? [] : [`Order ${spokenNumber(order.number)}`]),
    ...(customer === null ? [] : [`Customer: ${customer}`]),
    ...(order.reference === null || order.reference === "" ? [] : [`Reference: ${order.reference}`]),
    ...(order.customer_collecting ? ["The customer collects."] : []),
    ...(order.customer_returning ? ["The customer brings it back."] : [])
  ].join("\n"),
  zone,
  is_cancelled: order.status === cancelled.status,
  // Orders leave time free, as they do not keep people busy for the whole hire.
  is_free: true,
  owner: null
})
const titleOf = ({ number, subject }: OpportunityRow, { customer }: OrderNames): string =>
  [number === null ? "" : spokenNumber(number), subject, customer === null ? "" : `(${customer})`]
    .filter((part) => part !== "")
    .join(" ")
const placeOf = (venue: string | null, address: string | null): string | null =>
  [venue, address].filter((part) => part !== null && part !== "").join(", ") || null
