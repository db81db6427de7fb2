/** A new draft that copies an opportunity (rules/opportunities 5, rules/rulings 6). */
import { Result } from "effect"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import { initialRow } from "../../kernel/crud-resource.ts"
import { invalidField } from "../../kernel/rejection.ts"
import { type Opportunity, type DecisionState, liveLines } from "../aggregate.ts"
import { opportunityCloned, opportunityCreated } from "./events.ts"
import { lineAdded } from "../lines/events.ts"
import { costAdded } from "../money/events.ts"
import { type CostRow, opportunity_costs } from "../money/schema.ts"
import { type ItemRow, opportunity_items } from "../lines/schema.ts"
import { opportunities, type OpportunityRow, phases } from "../schema.ts"
import { recalculate } from "../recalculate.ts"
import { depthOf, restructured } from "../lines/tree.ts"
import { zoneOf } from "../../values/zone.ts"
import { nextNumber, snapshotRate } from "./decide.ts"
import { type NewDates, redated } from "./redated.ts"

interface CloneFacts {
  readonly state: DecisionState
  /** The customer is an organisation and not archived, or there is none. */
  readonly customer_is_valid: boolean
  readonly exchange_rate: string | undefined
}

const windows = phases.flatMap((phase) => [`${phase}_starts_at`, `${phase}_ends_at`] as const)
const copied = [
  "member_id",
  "store_id",
  "owned_by",
  "venue_id",
  "reference",
  "description",
  "external_description",
  "starts_at",
  "ends_at",
  "charge_starts_at",
  "charge_ends_at",
  ...windows,
  "currency_code",
  "prices_include_tax",
  "tag_list",
  "custom_fields",
  "use_chargeable_days",
  "chargeable_days",
  "open_ended_rental",
  "customer_collecting",
  "customer_returning",
  "delivery_address_id",
  "collection_address_id",
  "delivery_instructions",
  "collection_instructions",
  "surcharge_group_ids",
  "discount_rule_ids"
] as const satisfies ReadonlyArray<keyof OpportunityRow>

const suffix = " (cloned)"
/** The source's subject with the suffix, shortened to 255 characters. */
export const clonedSubject = (subject: string): string => [...subject].slice(0, 255 - suffix.length).join("") + suffix

/**
 * Copies the header, the lines of the active version with their manual prices, and the costs; no status, unit or
 * version.
 */
export const cloneOpportunity = (
  facts: CloneFacts,
  { subject, ...dates }: NewDates & { readonly subject?: string | null },
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const source = yield* redated(facts.state.opportunity, dates, zoneOf(facts.state.store?.timezone))
    if (!facts.customer_is_valid)
      return yield* Result.fail(invalidField("member_id", "The customer is archived or no longer an organisation."))
    const exchange_rate = yield* snapshotRate(facts.exchange_rate, source.header.currency_code)
    const header: OpportunityRow = {
      ...(initialRow(opportunities, {}) as OpportunityRow),
      ...Object.fromEntries(copied.map((name) => [name, source.header[name]])),
      id: context.id(opportunities),
      subject: subject ?? clonedSubject(source.header.subject),
      exchange_rate,
      number: nextNumber(source.header.store_id, context.settings, context),
      source_opportunity_id: source.header.id
    }
    const lines = yield* copiedLines(source, header, context)
    const costs = source.costs
      .filter((cost) => cost.surcharge_id === null)
      .map((cost): CostRow => ({ ...cost, id: context.id(opportunity_costs), opportunity_id: header.id }))
    const empty: Opportunity = { header, lines: [], costs: [], units: [] }
    const ids = lines.map(({ id }) => id)
    const state: DecisionState = {
      ...facts.state,
      opportunity: empty,
      versions: [],
      demands: [],
      touched_line_ids: undefined,
      unit_holds: [],
      units_out_elsewhere: new Map()
    }
    const recalculated = yield* recalculate(state, { ...empty, lines, costs }, { priced: ids, demanded: ids }, context)
    return {
      events: [
        opportunityCreated.make(header),
        ...recalculated.opportunity.lines.map(lineAdded),
        ...costs.map(costAdded),
        ...recalculated.events,
        opportunityCloned.make({ id: header.id, source_opportunity_id: source.header.id })
      ],
      result: { id: header.id }
    }
  })

/** Lines of the active version with paths without gaps; nothing is allocated, dispatched or returned. */
const copiedLines = (source: Opportunity, header: OpportunityRow, context: DecideContext) => {
  const live = liveLines(source).toSorted((one, other) => (one.path < other.path ? -1 : 1))
  const byId = new Map(live.map((line) => [line.id, line]))
  const nodes = live.map((line) => ({ id: line.id, depth: depthOf(line.path) }))
  return Result.map(restructured(nodes, byId), (paths) =>
    paths.flatMap(({ id, path }): ReadonlyArray<ItemRow> => {
      const line = byId.get(id)
      if (line === undefined) return []
      return [
        {
          ...line,
          id: context.id(opportunity_items),
          opportunity_id: header.id,
          path,
          version_id: null,
          is_live: true,
          dispatched_quantity: "0.00",
          on_order_quantity: "0.00",
          returned_quantity: "0.00",
          dispatch_store_id: null,
          return_store_id: null,
          origin_item_id: null,
          first_made_at: null,
          rule_discount: 0,
          created_at: ""
        }
      ]
    })
  )
}
