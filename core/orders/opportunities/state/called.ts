/** Names of an opportunity in sentences, and the holder of a demanded unit. */
import { Effect } from "effect"
import type { DemandRow } from "../../demands/schema.ts"
import { type Failure, Store } from "../../../kernel/store/store.ts"
import { numberText } from "../../../values/text.ts"
import { opportunities, type OpportunityRow } from "../tables/opportunities.ts"
import { order } from "../tables/statuses.ts"

/** `"Gala" (order 12)`; of one that is not here its id. */
export const opportunityName = (id: number, opportunity: OpportunityRow | undefined): string => {
  if (opportunity === undefined) return `opportunity ${id}`
  const kind = opportunity.state === order ? "order" : "quotation"
  return `"${opportunity.subject}" (${kind} ${numberText(opportunity.number, id)})`
}
/** As an order is typed at a shell; without a number yet by its id. */
export const typedOrder = ({ id, number }: OpportunityRow): string =>
  number === null ? `${id}` : `'#${numberText(number, id)}'`

/** A demand with its opportunity's name; absent if it has none. */
export interface HeldDemand extends DemandRow {
  readonly holder?: string
}
/** One query for all of them, and none where no opportunity holds anything. */
export const withHolders = Effect.fnUntraced(function* (
  demands: ReadonlyArray<DemandRow>
): Effect.fn.Return<ReadonlyArray<HeldDemand>, Failure, Store> {
  const ids = [...new Set(demands.flatMap(({ opportunity_id }) => opportunity_id ?? []))]
  if (ids.length === 0) return demands
  const found = new Map((yield* Store.getMany(opportunities, ids)).map((one) => [one.id, one]))
  return demands.map((demand) => {
    const { opportunity_id: id } = demand
    return id === null ? demand : { ...demand, holder: opportunityName(id, found.get(id)) }
  })
})
export const holderText = ({ holder, opportunity_id }: HeldDemand): string =>
  holder ?? `opportunity ${opportunity_id ?? "unknown"}`
