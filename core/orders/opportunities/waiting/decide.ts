/** Lines are put on the waiting list and taken off it (rules/availability 9). */
import { Result } from "effect"
import type { LineShortage } from "../../availability/rules/line.ts"
import type { DecideContext, Decided } from "../../../kernel/endpoints/endpoint.ts"
import { invalidField, reject } from "../../../kernel/fields/rejection.ts"
import { leaves, waitJoined } from "../events/waiting.ts"
import { shortage_waits, type WaitRow } from "../tables/waiting.ts"

/** A line that is short, and how many pieces it asks for in all. */
interface Short {
  readonly shortage: LineShortage
  readonly requested_quantity: number
}
export interface Join {
  readonly short: ReadonlyArray<Short>
  /** Rows of the opportunity's lines. */
  readonly rows: ReadonlyArray<WaitRow>
  /** Absent: every line that is short and does not wait yet. */
  readonly line_ids: ReadonlyArray<number> | undefined
  readonly note: string | null
}

const pick = ({ line_ids, rows, short }: Join): Result.Result<ReadonlyArray<Short>, ReturnType<typeof invalidField>> =>
  Result.gen(function* () {
    if (short.length === 0) return yield* reject("shortages", "Nothing is short.")
    const waiting = new Set(
      rows.filter(({ status }) => status === "waiting").map(({ opportunity_item_id }) => opportunity_item_id)
    )
    if (line_ids === undefined) {
      const left = short.filter(({ shortage }) => !waiting.has(shortage.opportunity_item_id))
      if (left.length > 0) return left
      return yield* reject("shortages", "All that is short is on the waiting list already.")
    }
    const picked: Array<Short> = []
    for (const [at, id] of line_ids.entries()) {
      const refuse = (text: string) => reject(`lines.${at}.opportunity_item_id`, text)
      const one = short.find(({ shortage }) => shortage.opportunity_item_id === id)
      if (one === undefined) return yield* refuse("The line is not short; it has nothing to wait for.")
      if (waiting.has(id)) return yield* refuse("The line is on the waiting list already.")
      if (picked.includes(one)) return yield* refuse("The line is named twice.")
      picked.push(one)
    }
    return picked
  })

/** 422 on `shortages` where nothing is left to wait for, on `lines.N.opportunity_item_id` for one that cannot wait. */
export const joinWaiting = (opportunity_id: number, join: Join, context: DecideContext): Decided =>
  Result.gen(function* () {
    const picked = yield* pick(join)
    const told = new Map(join.rows.map((row) => [row.opportunity_item_id, row]))
    const events = picked.flatMap(({ requested_quantity, shortage }) => {
      // Notified once and short again: the line moves to the end of the queue.
      const before = told.get(shortage.opportunity_item_id)
      const { ends_at, opportunity_item_id, product_id, shortfall, starts_at, store_id } = shortage
      const joined = waitJoined.make({
        id: context.id(shortage_waits),
        opportunity_id,
        opportunity_item_id,
        product_id,
        store_id,
        status: "waiting",
        quantity: shortfall,
        requested_quantity,
        starts_at,
        ends_at,
        waitlisted_by: context.viewer.user_id === 0 ? null : context.viewer.user_id,
        waitlisted_at: context.now,
        matched_at: null,
        note: join.note
      })
      return before === undefined ? [joined] : [leaves(before, "asked"), joined]
    })
    return { events, result: { id: opportunity_id } }
  })

/** 422 on `opportunity_item_ids` where a line named, or all of them, are not on the list. */
export const leaveWaiting = (
  opportunity_id: number,
  rows: ReadonlyArray<WaitRow>,
  line_ids: ReadonlyArray<number> | null
): Decided =>
  Result.gen(function* () {
    const waiting = rows.filter(({ status }) => status === "waiting")
    if (line_ids === null && waiting.length === 0)
      return yield* reject("opportunity_item_ids", "No line of this opportunity is on the waiting list.")
    for (const [at, id] of (line_ids ?? []).entries())
      if (!waiting.some(({ opportunity_item_id }) => opportunity_item_id === id))
        return yield* reject(`opportunity_item_ids.${at}`, "The line is not on the waiting list.")
    const going = waiting.filter(({ opportunity_item_id }) => line_ids?.includes(opportunity_item_id) ?? true)
    return { events: going.map((row) => leaves(row, "asked")), result: { id: opportunity_id } }
  })
