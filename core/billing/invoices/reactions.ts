/** Effects of issuing and voiding on the opportunity: its `invoiced` flag (rules/rulings, `invoiced` flag). */
import { Effect, Result } from "effect"
import { lockStreams } from "../../kernel/runtime/engine.ts"
import { reaction } from "../../kernel/events/react.ts"
import { Store } from "../../kernel/store/store.ts"
import { opportunityStream } from "../../orders/opportunities/events/event-families.ts"
import { headerUpdated } from "../../orders/opportunities/events/header.ts"
import { opportunities } from "../../orders/opportunities/tables/opportunities.ts"
import { invoiceIssued, invoiceVoided } from "../state/events.ts"
import { invoices, standing_statuses } from "../state/tables.ts"

/** An opportunity is invoiced while a standard invoice of it stands; deposits and proformas do not count. */
export const invoicedFlag = reaction({
  on: [invoiceIssued, invoiceVoided],
  facts: ({ events }) =>
    Effect.gen(function* () {
      const ids = events.map(({ data }) => data.id)
      const rows = (yield* Store.getMany(invoices, ids)).filter(
        (row) => row.type === "standard" && row.opportunity_id !== null
      )
      const opportunity_ids = [...new Set(rows.flatMap((row) => row.opportunity_id ?? []))]
      yield* lockStreams(opportunity_ids.map(opportunityStream))
      const standing =
        opportunity_ids.length === 0
          ? []
          : yield* Store.find(invoices, {
              opportunity_id: opportunity_ids,
              type: "standard",
              status: [...standing_statuses],
              deleted_at: null
            })
      return { opportunities: yield* Store.getMany(opportunities, opportunity_ids), rows, standing }
    }),
  decide: ({ events }, { opportunities: named, rows, standing }) => {
    const status = new Map(events.map(({ data }) => [data.id, data.set.status]))
    return Result.succeed(
      named.flatMap((opportunity) => {
        const own = (row: { readonly opportunity_id: number | null }): boolean => row.opportunity_id === opportunity.id
        const invoiced =
          rows.some((row) => own(row) && status.get(row.id) !== "voided") ||
          standing.some((row) => own(row) && !status.has(row.id))
        return invoiced === opportunity.invoiced ? [] : [headerUpdated(opportunity, { invoiced })]
      })
    )
  }
})
