/** Events of the waiting list, in the streams of the waiting lines' opportunities (rules/availability 9). */
import { Schema } from "effect"
import { eventType, keysOf, remove, rowMade, someColumns, update } from "../../../kernel/index.ts"
import { opportunityStream } from "./event-families.ts"
import { shortage_waits, type WaitRow } from "../tables/index.ts"

/** Reasons in `shortage.waitlist.left`, and what each means. */
const leave_reasons = {
  asked: "A user took it off the list",
  changed: "It changed, and is no longer short",
  removed: "The line was removed",
  closed: "The opportunity was closed",
  past: "Its dates passed",
  booked: "It was notified, and its opportunity reserves stock"
} as const
export type LeaveReason = keyof typeof leave_reasons

const stream = ({ opportunity_id }: { readonly opportunity_id: number }): string => opportunityStream(opportunity_id)
const line = () => ({
  id: Schema.Int,
  opportunity_id: Schema.Int,
  opportunity_item_id: Schema.Int,
  product_id: Schema.Int,
  quantity: Schema.Int
})
const lineOf = ({ id, opportunity_id, opportunity_item_id, product_id, quantity }: WaitRow) => ({
  id,
  opportunity_id,
  opportunity_item_id,
  product_id,
  quantity
})

export const waitJoined = rowMade("shortage.waitlist.joined", shortage_waits, {
  meaning: "A short line was put on the waiting list.",
  stream: ({ opportunity_id }) => opportunityStream(opportunity_id ?? 0),
  activity: ({ note, opportunity_item_id, product_id, quantity }) => ({
    old_values: null,
    new_values: {
      opportunity_item_id: opportunity_item_id ?? null,
      product_id: product_id ?? null,
      quantity: quantity ?? null,
      note: note ?? null
    }
  })
})

export const waitLeft = eventType("shortage.waitlist.left", {
  meaning: "A line left the waiting list; `reason` says why.",
  stream,
  data: () => Schema.Struct({ ...line(), reason: Schema.Literals(keysOf(leave_reasons)) }),
  project: ({ id }) => [remove(shortage_waits, id)],
  activity: ({ opportunity_item_id, product_id, quantity, reason }) => ({
    old_values: { opportunity_item_id, product_id, quantity },
    new_values: { reason }
  })
})
export const leaves = (row: WaitRow, reason: LeaveReason) => waitLeft.make({ ...lineOf(row), reason })

export const waitChanged = eventType("shortage.waitlist.changed", {
  meaning: "A waiting line changed and is still short: it keeps its position.",
  stream,
  data: () => Schema.Struct({ id: Schema.Int, opportunity_id: Schema.Int, set: someColumns(shortage_waits) }),
  project: ({ id, set }, { recorded_at }) => [update(shortage_waits, id, { ...set, updated_at: recorded_at })]
})

export const waitMatched = eventType("shortage.waitlist.matched", {
  meaning: "Everything a waiting line needs became available for its dates. Nothing is reserved.",
  stream,
  data: () =>
    Schema.Struct({
      ...line(),
      waitlisted_by: Schema.NullOr(Schema.Int),
      waitlisted_at: Schema.String,
      matched_at: Schema.String,
      /**
       * True if its opportunity holds no stock: the line keeps its position. Else its own demand secures the goods.
       */
      keeps_place: Schema.Boolean
    }),
  project: ({ id, keeps_place, matched_at }, { recorded_at }) => [
    keeps_place
      ? update(shortage_waits, id, { status: "matched", matched_at, updated_at: recorded_at })
      : remove(shortage_waits, id)
  ],
  activity: ({ opportunity_item_id, product_id, quantity, waitlisted_at, waitlisted_by }) => ({
    old_values: null,
    new_values: { opportunity_item_id, product_id, quantity, waitlisted_by, waitlisted_at }
  })
})
export const matches = (row: WaitRow, now: string, keeps_place: boolean) =>
  waitMatched.make({
    ...lineOf(row),
    waitlisted_by: row.waitlisted_by,
    waitlisted_at: row.waitlisted_at,
    matched_at: now,
    keeps_place
  })

export const waitingEvents = [waitJoined, waitChanged, waitLeft, waitMatched]
