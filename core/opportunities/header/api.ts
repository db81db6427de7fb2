/** Endpoints of an opportunity as a whole: create, change, delete, restore, clone (rules/opportunities 4, 5). */
import { Effect, Result } from "effect"
import { customFieldFacts } from "../../kernel/custom-field.ts"
import { command, type Endpoint, type Failure, type Input } from "../../kernel/endpoint.ts"
import { text, timestamp } from "../../kernel/field.ts"
import { noContent } from "../../kernel/resource.ts"
import { baseCurrency } from "../../kernel/settings.ts"
import { Store } from "../../kernel/store/store.ts"
import { addresses, members } from "../../members/schema.ts"
import { defaultSurchargeGroupIds } from "../../rates/surcharge-groups.ts"
import { exchangeRateAt } from "../../reference-data/currencies.ts"
import { demandSettings, hasShortageCheck, linesTakingStock } from "../demands.ts"
import { type ItemRow, opportunity_items } from "../lines/schema.ts"
import { stores } from "../../stores/stores.ts"
import { zoneOf } from "../../values/zone.ts"
import { loadCustomer, loadDecisionState, type LoadOptions } from "../load.ts"
import { edit, one, path, write } from "../paths.ts"
import { loadOwed, withOwed } from "../standing.ts"
import { opportunityAnswer, opportunityShown, warnedOpportunity, warnedResult, withParts } from "../responses.ts"
import { createFields, opportunities, type OpportunityRow, updateFields } from "../schema.ts"
import { cloneOpportunity } from "./clone.ts"
import { deleteOpportunity, restoreOpportunity } from "../status/decide.ts"
import { createOpportunity, updateOpportunity, windowErrors } from "./decide.ts"
import { newDatesErrors, redated } from "./redated.ts"

/** Reads the customer, addresses and custom fields that a request refers to. */
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
 * What to read where a header changes the times or the store of its lines: shortages are checked again, demands stay
 * (rules/opportunities 4).
 */
const stockFor = Effect.fnUntraced(function* (
  before: OpportunityRow,
  after: OpportunityRow,
  { settings, now }: Pick<Input, "settings" | "now">,
  as_they_will_be?: ReadonlyArray<ItemRow>
): Effect.fn.Return<LoadOptions, Failure, Store> {
  if (!hasShortageCheck(after, settings)) return {}
  const lines =
    as_they_will_be ?? (yield* (yield* Store).find(opportunity_items, { opportunity_id: before.id, is_live: true }))
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
  fields: {
    subject: text({ nullable: true }),
    starts_at: timestamp({ nullable: true, describe: "When the copy begins; lines and phases keep their place in it" }),
    ends_at: timestamp({ nullable: true, describe: "When it ends (default: after as long as it lasted)" })
  },
  check: newDatesErrors,
  creates: [opportunities],
  facts: (input) =>
    Effect.gen(function* () {
      const header = input.rows.id
      const store = yield* Store
      const lines = yield* store.find(opportunity_items, { opportunity_id: header.id, is_live: true })
      const customer = header.member_id === null ? undefined : yield* store.get(members, header.member_id)
      const base_currency = baseCurrency(input.settings)
      const place = header.store_id === null ? undefined : yield* store.get(stores, header.store_id)
      const source = { header, lines, units: [], costs: [] }
      // Dates that cannot be are refused by the rule.
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
          header.member_id === null || (customer?.membership_type === "organisation" && customer.deleted_at === null),
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
