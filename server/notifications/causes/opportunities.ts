/** Opportunities that will not take place, and lines that stock came free for. */
import { Effect } from "effect"
import { isJsonObject } from "../../../core/kernel/json.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { read } from "../../../core/opportunities/paths.ts"
import { opportunities } from "../../../core/opportunities/schema.ts"
import { isAbandoned, statusNamed, statuses } from "../../../core/opportunities/status/statuses.ts"
import { type Cause, keyOf } from "../happening.ts"

const about = (id: unknown) => ({ type: opportunities.name, id: Number(id) })
const abandoned_codes: ReadonlySet<unknown> = new Set([
  statuses.lost.status,
  statuses.dead.status,
  statuses.cancelled.status
])
const cancelled = "opportunity.cancelled"

/**
 * A quotation was set to Lost or Dead, or an order to Cancelled. The event names the status by a number that means
 * something else in another state, so the row decides; what was reinstated before anybody was told is told to nobody.
 */
export const opportunityCancelled: Cause = {
  notification_type: cancelled,
  on: ["opportunity.status_changed"],
  may: ({ data: { set } }) => isJsonObject(set) && abandoned_codes.has(set["status"]),
  happenings: (events) =>
    Effect.gen(function* () {
      const rows = yield* (yield* Store).getMany(
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
/** Told to whoever put the line on the list, and to the opportunity's owner. */
export const waitlistMatched: Cause = {
  notification_type: matched,
  on: ["shortage.waitlist.matched"],
  may: () => true,
  happenings: (events) =>
    Effect.gen(function* () {
      const rows = yield* (yield* Store).getMany(
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
