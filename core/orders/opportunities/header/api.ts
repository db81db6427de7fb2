/** Endpoints of opportunities: create, change, delete, restore, clone (rules/opportunities 4, 5). */
import { Effect, Result } from "effect"
import { baseCurrency, command, customFieldFacts, decision, initialRow, noContent } from "../../../kernel/index.ts"
import { reject, Store, text, timestamp } from "../../../kernel/index.ts"
import type { DecideContext, Decided, Endpoint, FieldErrors, Input } from "../../../kernel/index.ts"
import { costTaxRateOf, demandSettings, depthOf, hasShortageCheck, linesTakingStock } from "../state/index.ts"
import { liveLines, loadCustomer, loadDecisionState, loadOwed, opportunityAnswer } from "../state/index.ts"
import { opportunityShown, recalculate, restructured, warnedOpportunity, warnedResult } from "../state/index.ts"
import { withOwed, withParts, type DecisionState, type LoadOptions, type Opportunity } from "../state/index.ts"
import { opportunityCloned, opportunityCreated } from "../events/header.ts"
import { lineAdded } from "../events/lines.ts"
import { costAdded } from "../events/money.ts"
import { createFields, edit, one, opportunities, opportunity_costs, opportunity_items, path } from "../tables/index.ts"
import { phases, updateFields, write, type CostRow, type ItemRow, type OpportunityRow } from "../tables/index.ts"
import { zoneOf } from "../../../values/time.ts"
import {
  createOpportunity,
  mayHire,
  type NewDates,
  nextNumber,
  redated,
  snapshotRate,
  updateOpportunity,
  windowErrors
} from "./decide.ts"
import { addresses, members } from "../../../people/members/schema.ts"
import { defaultSurchargeGroupIds } from "../../../products/rates/discounts-surcharges.ts"
import { exchangeRateAt } from "../../../setup/reference-data/currencies.ts"
import { stores } from "../../../setup/stores.ts"
import { deleteOpportunity, restoreOpportunity } from "../status/decide.ts"

// Copies an opportunity as a new draft (rules/opportunities 5, rules/rulings 6).

interface CloneFacts {
  readonly state: DecisionState
  /** Whether the customer may hire and is not archived; true without a customer. */
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
const cloneOpportunity = (
  facts: CloneFacts,
  { subject, ...dates }: NewDates & { readonly subject?: string | null },
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const source = yield* redated(facts.state.opportunity, dates, zoneOf(facts.state.store?.timezone))
    if (!facts.customer_is_valid) return yield* reject("member_id", "The customer is archived or may no longer be one.")
    const exchange_rate = yield* snapshotRate(facts.exchange_rate, source.header.currency_code)
    const header: OpportunityRow = {
      ...(initialRow(opportunities) as OpportunityRow),
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
      .map((cost): CostRow => ({
        ...cost,
        id: context.id(opportunity_costs),
        opportunity_id: header.id,
        tax_rate: costTaxRateOf(facts.state, header)
      }))
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
    return decision(header.id, [
      opportunityCreated.make(header),
      ...recalculated.opportunity.lines.map(lineAdded),
      ...costs.map(costAdded),
      ...recalculated.events,
      opportunityCloned.make({ id: header.id, source_opportunity_id: source.header.id })
    ])
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

/** Reads the customer, addresses and custom fields that a request refers to. */
const headerFacts = Effect.fnUntraced(function* (sent: { readonly [name: string]: unknown }) {
  const id = (name: string): number | null => (typeof sent[name] === "number" ? sent[name] : null)
  const address_ids = [id("delivery_address_id"), id("collection_address_id")].filter((one) => one !== null)
  return {
    customer: yield* loadCustomer(id("member_id")),
    addresses: yield* Store.getMany(addresses, address_ids),
    custom: yield* customFieldFacts("Opportunity")
  }
})

const create = command("POST", path, {
  answer: opportunityShown,
  name: "opportunities.create",
  summary: "Create a draft opportunity",
  ability: write,
  permission: "opportunities.create",
  fields: createFields,
  creates: [opportunities],
  check: windowErrors,
  facts: (input) =>
    Effect.gen(function* () {
      const base_currency = baseCurrency(input.settings)
      const facts = yield* headerFacts(input.values)
      return {
        ...facts,
        owed: yield* loadOwed(facts.customer, null, input.settings),
        exchange_rate: yield* exchangeRateAt({
          from: input.values.currency ?? base_currency,
          to: base_currency,
          base_currency,
          at: input.now
        }),
        surcharge_group_ids: yield* defaultSurchargeGroupIds(input.values.store_id ?? null)
      }
    }),
  decide: createOpportunity,
  result: warnedResult,
  respond: (result, input) => warnedOpportunity(result, input, withParts, 201)
})

const placing = ["store_id", "starts_at", "ends_at", "charge_starts_at", "charge_ends_at"] as const
/**
 * Load options for a header that changes its lines' times or store: reads their stock, as shortages are checked again.
 * Demands stay (rules/opportunities 4).
 */
const stockFor = Effect.fnUntraced(function* (
  before: OpportunityRow,
  after: OpportunityRow,
  { settings, now }: Pick<Input, "settings" | "now">,
  as_they_will_be?: ReadonlyArray<ItemRow>
): Store.Reads<LoadOptions> {
  if (!hasShortageCheck(after, settings)) return {}
  const lines = as_they_will_be ?? (yield* Store.find(opportunity_items, { opportunity_id: before.id, is_live: true }))
  const isCopy = after.id !== before.id
  return {
    stock: true,
    lines: linesTakingStock(
      {
        header: after,
        lines: isCopy ? lines.map((line) => ({ ...line, dispatch_store_id: null })) : lines,
        costs: [],
        units: []
      },
      demandSettings(settings, now)
    )
  }
})

const update = command("PUT", `${path}/{id}`, {
  answer: opportunityShown,
  name: "opportunities.update",
  summary: "Update an opportunity's header",
  ...edit,
  params: one,
  fields: updateFields,
  check: windowErrors,
  facts: (input) =>
    Effect.gen(function* () {
      const { member_id, store_id, surcharge_group_ids } = input.values
      const placed = Object.fromEntries(
        placing.flatMap((name) => (input.values[name] === undefined ? [] : [[name, input.values[name]]]))
      )
      const state = yield* loadDecisionState(input.rows.id, input, {
        ...(Object.keys(placed).length === 0
          ? {}
          : yield* stockFor(input.rows.id, { ...input.rows.id, ...placed }, input)),
        ...(typeof member_id === "number" ? { member_id } : {}),
        ...(typeof store_id === "number" ? { store_id } : {}),
        ...(surcharge_group_ids === undefined ? {} : { surcharge_group_ids })
      })
      return {
        ...(yield* headerFacts(input.values)),
        state: typeof member_id === "number" ? yield* withOwed(state, input.settings) : state
      }
    }),
  decide: updateOpportunity,
  result: warnedResult,
  respond: (result, input) => warnedOpportunity(result, input, withParts)
})

const remove = command("DELETE", `${path}/{id}`, {
  name: "opportunities.delete",
  summary: "Delete an opportunity; it can be restored",
  ability: write,
  permission: "opportunities.delete",
  params: one,
  facts: (input) => loadDecisionState(input.rows.id, input),
  decide: (state, _input, context) => deleteOpportunity(state, context),
  respond: () => Effect.succeed(noContent)
})
const restore = command("POST", `${path}/{id}/restore`, {
  answer: opportunityShown,
  name: "opportunities.restore",
  summary: "Restore a deleted opportunity",
  ability: write,
  permission: "opportunities.delete",
  params: { id: { table: opportunities, with_deleted: true } },
  facts: (input) => loadDecisionState(input.rows.id, input, { stock: true, lock: true }),
  decide: (state, _input, context) => restoreOpportunity(state, context),
  result: warnedResult,
  respond: (result, input) => warnedOpportunity(result, input, withParts)
})

/** Error if both dates are sent and `ends_at` is before `starts_at`. */
const newDatesErrors = ({ ends_at, starts_at }: { readonly [name: string]: unknown }): FieldErrors =>
  typeof starts_at === "string" && typeof ends_at === "string" && ends_at < starts_at
    ? { ends_at: ["The ends at field must be a date after or equal to starts at."] }
    : {}

const clone = command("POST", `${path}/{id}/clone`, {
  answer: opportunityShown,
  success_status: 201,
  name: "opportunities.clone",
  summary: "Copy an opportunity to a new draft",
  ...edit,
  permission: "opportunities.create",
  params: one,
  fields: {
    subject: text({ nullable: true }),
    starts_at: timestamp({ nullable: true, describe: "Start of the copy; lines and phases shift with it" }),
    ends_at: timestamp({ nullable: true, describe: "End of the copy; default: same duration as the original" })
  },
  check: newDatesErrors,
  creates: [opportunities],
  facts: (input) =>
    Effect.gen(function* () {
      const header = input.rows.id
      const lines = yield* Store.find(opportunity_items, { opportunity_id: header.id, is_live: true })
      const customer = header.member_id === null ? undefined : yield* Store.get(members, header.member_id)
      const base_currency = baseCurrency(input.settings)
      const place = header.store_id === null ? undefined : yield* Store.get(stores, header.store_id)
      const source = { header, lines, units: [], costs: [] }
      // The rule refuses invalid dates.
      const copy = Result.getOrElse(redated(source, input.values, zoneOf(place?.timezone)), () => source)
      return {
        state: yield* loadDecisionState(header, input, {
          ...(yield* stockFor(
            copy.header,
            { ...copy.header, id: 0, state: 0, status: 0, deleted_at: null },
            input,
            copy.lines
          )),
          rated_product_ids: [...new Set(lines.map((line) => line.item_id).filter((id) => id !== null))]
        }),
        customer_is_valid:
          header.member_id === null || (mayHire(customer, input.settings) && customer?.deleted_at === null),
        exchange_rate: yield* exchangeRateAt({
          from: header.currency_code,
          to: base_currency,
          base_currency,
          at: input.now
        })
      }
    }),
  decide: (facts, { values }, context) => cloneOpportunity(facts, values, context),
  respond: (result, input) => opportunityAnswer(result.id, input, withParts, 201)
})

export const headerEndpoints: ReadonlyArray<Endpoint> = [create, update, remove, restore, clone]
