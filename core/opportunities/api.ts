/** How opportunities are asked for: list, show, create, header, moves and locks (rules/opportunities 1 to 6). */
import { Effect } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { customFieldFacts } from "../kernel/custom-field.ts"
import { command, type DecideContext, type Decided, type Failure, get, type Input } from "../kernel/endpoint.ts"
import { integer, longText, text } from "../kernel/field.ts"
import { listOf, noContent, ok, viewContext, withMore } from "../kernel/resource.ts"
import { baseCurrency } from "../kernel/settings.ts"
import { Store } from "../kernel/store/store.ts"
import { addresses, members } from "../members/schema.ts"
import { defaultSurchargeGroupIds } from "../rates/surcharge-groups.ts"
import { isExplained } from "../rates/explained.ts"
import { exchangeRateAt } from "../reference-data/currencies.ts"
import { linesTakingStock, demandSettings, hasShortageCheck } from "./demands.ts"
import { loadCustomer, loadDecisionState, type LoadOptions } from "./load.ts"
import { opportunityAnswer, opportunityShown, withParts } from "./responses.ts"
import type { DecisionState } from "./aggregate.ts"
import { cloneOpportunity } from "./header/clone.ts"
import { createOpportunity, updateOpportunity, windowErrors } from "./header/decide.ts"
import {
  changeStatus,
  convertToOrder,
  convertToQuotation,
  deleteOpportunity,
  lockRates,
  reinstate,
  reopen,
  restoreOpportunity,
  revertToDraft,
  revertToQuotation,
  unlockRates
} from "./status/decide.ts"
import { bulkEndpoints } from "./units/api-bulk.ts"
import { lineEndpoints } from "./lines/api.ts"
import { moneyEndpoints } from "./money/api.ts"
import { shortageEndpoints } from "./shortages/api.ts"
import { unitEndpoints } from "./units/api.ts"
import { versionEndpoints } from "./versions/api.ts"
import {
  asset_assignments,
  opportunity_costs,
  opportunity_items,
  opportunity_participants,
  opportunity_versions
} from "./child-tables.ts"
import { explanationOf } from "./money/explain.ts"
import { edit, one, path, read } from "./paths.ts"
import { opportunityEvents } from "./events.ts"
import { readEndpoints } from "./query.ts"
import { opportunityResource } from "./resources.ts"
import { createFields, opportunities, type OpportunityRow, updateFields } from "./schema.ts"
import { acknowledgements } from "./shortages/schema.ts"
import * as Shown from "../kernel/answer-schema.ts"
import { stepShown } from "../pricing/explain.ts"

const write = "opportunities:write"

const list = get(path, {
  answer: Shown.page(() => opportunityResource),
  name: "opportunities.list",
  summary: "List opportunities",
  ...read,
  run: (input: Input) => Effect.map(listOf(opportunityResource, input.query, viewContext(input)), ok)
})
const show = get(`${path}/{id}`, {
  answer: {
    ...opportunityShown,
    explanation: Shown.optional(Shown.objects(stepShown, { describe: "With explain=1" }))
  },
  name: "opportunities.show",
  summary: "Show one opportunity",
  ...read,
  params: one,
  fields: { explain: text({ nullable: true, describe: "1: say in words how each figure came about, too" }) },
  run: (input) =>
    isExplained(input.query)
      ? Effect.flatMap(explanationOf(input.rows.id, input), (explanation) =>
          Effect.map(opportunityAnswer(input.rows.id.id, input), (answer) => withMore(answer, { explanation }))
        )
      : opportunityAnswer(input.rows.id.id, input)
})

/** Reads the customer, the addresses and the custom fields a header speaks of. */
const headerFacts = Effect.fnUntraced(function* (sent: { readonly [name: string]: unknown }) {
  const store = yield* Store
  const id = (name: string): number | null => (typeof sent[name] === "number" ? sent[name] : null)
  const address_ids = [id("delivery_address_id"), id("collection_address_id")].filter((one) => one !== null)
  return {
    customer: yield* loadCustomer(id("member_id")),
    addresses: yield* store.getMany(addresses, address_ids),
    custom: yield* customFieldFacts("Opportunity")
  }
})

const create = command("POST", path, {
  answer: opportunityShown,
  name: "opportunities.create",
  summary: "Create an opportunity: a draft",
  ability: write,
  permission: "opportunities.create",
  fields: createFields,
  creates: [opportunities],
  check: windowErrors,
  facts: (input) =>
    Effect.gen(function* () {
      const base_currency = baseCurrency(input.settings)
      return {
        ...(yield* headerFacts(input.values)),
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
  respond: (result, input) => opportunityAnswer(result.id, input, withParts, 201)
})

const placing = ["store_id", "starts_at", "ends_at", "charge_starts_at", "charge_ends_at"] as const
/** Where a header decides when or from where its lines take stock, whether they are short is looked at again; what they claim stays (rules/opportunities 4). */
const stockFor = Effect.fnUntraced(function* (
  before: OpportunityRow,
  after: OpportunityRow,
  { settings, now }: Pick<Input, "settings" | "now">
): Effect.fn.Return<LoadOptions, Failure, Store> {
  if (!hasShortageCheck(after, settings)) return {}
  const lines = yield* (yield* Store).find(opportunity_items, { opportunity_id: before.id, is_live: true })
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
  summary: "Change the header of an opportunity; what is left out stays",
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
      return {
        ...(yield* headerFacts(input.values)),
        known: yield* loadDecisionState(input.rows.id, input, {
          ...(Object.keys(placed).length === 0
            ? {}
            : yield* stockFor(input.rows.id, { ...input.rows.id, ...placed }, input)),
          ...(typeof member_id === "number" ? { member_id } : {}),
          ...(typeof store_id === "number" ? { store_id } : {}),
          ...(surcharge_group_ids === undefined ? {} : { surcharge_group_ids })
        })
      }
    }),
  decide: updateOpportunity,
  respond: (_result, input) => opportunityAnswer(input.rows.id.id, input, withParts)
})

const reasonField = { reason: text({ nullable: true, max: 1000 }) }
/** A move without a body of its own but, perhaps, a reason. */
const move = (
  name: string,
  summary: string,
  decide: (state: DecisionState, reason: string | null, context: DecideContext) => Decided,
  options: { readonly permission?: string; readonly stock?: boolean } = {}
) =>
  command("POST", `${path}/{id}/${name}`, {
    answer: opportunityShown,
    name: `opportunities.${name}`,
    summary,
    ability: write,
    permission: options.permission ?? edit.permission,
    params: one,
    fields: reasonField,
    facts: (input) => loadDecisionState(input.rows.id, input, { stock: options.stock ?? false, lock: true }),
    decide: (state, input, context) => decide(state, input.values.reason ?? null, context),
    respond: (_result, input) => opportunityAnswer(input.rows.id.id, input)
  })

const moves = [
  move("convert_to_quotation", "Make a draft a quotation", convertToQuotation),
  move("reinstate", "Reinstate a lost, dead or postponed quotation or a cancelled order", reinstate, { stock: true }),
  move("reopen", "Reopen a complete order", reopen, { stock: true }),
  move("revert_to_quotation", "Make an order a quotation again", revertToQuotation, { stock: true }),
  move("revert_to_draft", "Make a provisional quotation a draft again", revertToDraft, { stock: true }),
  move("lock_locks", "Lock exchange rate and tax", (state, reason) => lockRates(state.opportunity.header, reason), {
    permission: "opportunities.unlock_rates"
  }),
  move(
    "unlock_locks",
    "Release the locks on exchange rate and tax",
    (state, reason) => unlockRates(state.opportunity.header, reason),
    { permission: "opportunities.unlock_rates" }
  )
]
const toOrder = command("POST", `${path}/{id}/convert_to_order`, {
  answer: opportunityShown,
  name: "opportunities.convert_to_order",
  summary: "Make a quotation an order",
  ...edit,
  params: one,
  fields: { shortage_notes: longText({ nullable: true, max: 2000 }) },
  facts: (input) => loadDecisionState(input.rows.id, input, { stock: true }),
  decide: (state, input, context) => convertToOrder(state, input.values.shortage_notes ?? null, context),
  respond: (_result, input) => opportunityAnswer(input.rows.id.id, input)
})
const status = command("POST", `${path}/{id}/change_status`, {
  answer: opportunityShown,
  name: "opportunities.change_status",
  summary: "Move to another status of the same state",
  ...edit,
  params: one,
  fields: { status: integer({ required: true }) },
  facts: (input) => loadDecisionState(input.rows.id, input, { stock: true }),
  decide: (state, input, context) => changeStatus(state, input.values.status!, context),
  respond: (_result, input) => opportunityAnswer(input.rows.id.id, input)
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
  summary: "Bring a deleted opportunity back",
  ability: write,
  permission: "opportunities.delete",
  params: { id: { table: opportunities, with_deleted: true } },
  facts: (input) => loadDecisionState(input.rows.id, input, { stock: true, lock: true }),
  decide: (state, _input, context) => restoreOpportunity(state, context),
  respond: (_result, input) => opportunityAnswer(input.rows.id.id, input, withParts)
})

const clone = command("POST", `${path}/{id}/clone`, {
  answer: opportunityShown,
  success_status: 201,
  name: "opportunities.clone",
  summary: "Make a new draft like this opportunity",
  ...edit,
  permission: "opportunities.create",
  params: one,
  fields: { subject: text({ nullable: true }) },
  creates: [opportunities],
  facts: (input) =>
    Effect.gen(function* () {
      const header = input.rows.id
      const store = yield* Store
      const lines = yield* store.find(opportunity_items, { opportunity_id: header.id, is_live: true })
      const customer = header.member_id === null ? undefined : yield* store.get(members, header.member_id)
      const base_currency = baseCurrency(input.settings)
      return {
        known: yield* loadDecisionState(header, input, {
          ...(yield* stockFor(header, { ...header, id: 0, state: 0, status: 0, deleted_at: null }, input)),
          rated_product_ids: [...new Set(lines.map((line) => line.item_id).filter((id) => id !== null))]
        }),
        customer_stands:
          header.member_id === null || (customer?.membership_type === "organisation" && customer.deleted_at === null),
        exchange_rate: yield* exchangeRateAt({
          from: header.currency_code,
          to: base_currency,
          base_currency,
          at: input.now
        })
      }
    }),
  decide: (facts, input, context) => cloneOpportunity(facts, input.values.subject ?? null, context),
  respond: (result, input) => opportunityAnswer(result.id, input, withParts, 201)
})

export const opportunitiesSlice: Slice = {
  name: "opportunities",
  tables: [
    opportunities,
    opportunity_items,
    opportunity_costs,
    opportunity_participants,
    asset_assignments,
    opportunity_versions,
    acknowledgements
  ],
  resources: [opportunityResource],
  events: opportunityEvents,
  endpoints: [
    list,
    show,
    ...readEndpoints,
    create,
    update,
    remove,
    restore,
    clone,
    ...moves,
    toOrder,
    status,
    ...lineEndpoints,
    ...moneyEndpoints,
    ...unitEndpoints,
    ...bulkEndpoints,
    ...versionEndpoints,
    ...shortageEndpoints
  ]
}
