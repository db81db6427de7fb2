/** Charging the customer for damage or loss: a cost on the opportunity, never by itself (rules/availability 13.5). */
import { Effect, Result } from "effect"
import { updatedEvent } from "../kernel/crud-resource.ts"
import { command } from "../kernel/endpoint.ts"
import { lockStreams } from "../kernel/engine.ts"
import { money, ref, text } from "../kernel/field.ts"
import { invalidField } from "../kernel/rejection.ts"
import { created, renderById, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import * as Shown from "../kernel/answer-schema.ts"
import { opportunityStream } from "../opportunities/event-families.ts"
import { loadDecisionState } from "../opportunities/load.ts"
import { addCost } from "../opportunities/money/decide.ts"
import { opportunity_costs } from "../opportunities/money/schema.ts"
import { opportunities } from "../opportunities/schema.ts"
import { products } from "../products/schema.ts"
import { service_states } from "../service/service.ts"
import { stock_levels } from "../stock/schema.ts"
import { requireHire } from "./hire.ts"
import { serviceRecordResource } from "./resource.ts"
import { service_records } from "./schema.ts"

const lossOrDamage = 4

export const charge = command("POST", "/api/v1/service_records/{id}/charge", {
  answer: { service_record: Shown.row(() => serviceRecordResource) },
  name: "service_records.charge",
  summary: "Charge the customer: adds a cost for loss or damage to the hire it came from",
  ability: "opportunities:write",
  permission: "opportunities.edit",
  success_status: 201,
  params: { id: { table: service_records } },
  fields: {
    amount: money({
      nullable: true,
      describe: "For one, in the opportunity's currency; of what is lost the product's replacement charge unless said"
    }),
    opportunity_id: ref("opportunities", { nullable: true, describe: "Where the record names no hire" }),
    description: text({ nullable: true })
  },
  creates: [opportunity_costs],
  streams: (params) => [`service_record:${params["id"]}`],
  facts: (input) =>
    Effect.gen(function* () {
      const record = input.rows.id
      const store = yield* Store
      const id = input.values.opportunity_id ?? record.opportunity_id
      if (id === null || id === undefined)
        return yield* invalidField("opportunity_id", "The record names no hire; say which opportunity is charged.")
      const level = yield* store.get(stock_levels, record.stock_level_id)
      if (level !== undefined && id !== record.opportunity_id && record.state !== "sold") yield* requireHire(level, id)
      yield* lockStreams([opportunityStream(id)])
      const header = yield* store.get(opportunities, id)
      if (header === undefined || header.deleted_at !== null)
        return yield* invalidField("opportunity_id", `Opportunity ${id} no longer exists.`)
      return {
        state: yield* loadDecisionState(header, input, { live_only: true, touched_line_ids: [] }),
        product: yield* store.get(products, record.product_id)
      }
    }),
  decide: ({ product, state }, { rows: { id: record }, values }, context) =>
    Result.gen(function* () {
      if (record.opportunity_cost_id !== null)
        return yield* Result.fail(
          invalidField(
            "service_record",
            `The record is charged already by cost ${record.opportunity_cost_id}; change or remove that cost first.`
          )
        )
      const in_base = state.opportunity.header.currency_code === state.base_currency
      const replacement = record.state === "lost" && in_base ? (product?.replacement_charge ?? 0) : 0
      const amount = values.amount ?? (replacement > 0 ? replacement : undefined)
      if (amount === undefined || amount <= 0)
        return yield* Result.fail(
          invalidField(
            "amount",
            record.state === "lost"
              ? "The product has no replacement charge in the opportunity's currency; say what is charged."
              : "Say what is charged for the damage."
          )
        )
      const added = yield* addCost(
        state,
        {
          description:
            values.description ?? `${service_states[record.state]}: ${product?.name ?? "stock"}`.slice(0, 255),
          cost_type: lossOrDamage,
          amount,
          quantity: `${record.quantity}.00`,
          notes: record.reason
        },
        context
      )
      const linked = updatedEvent(service_records, record, {
        opportunity_id: state.opportunity.header.id,
        opportunity_cost_id: added.result.cost_id
      })
      return { events: [...added.events, ...(linked === undefined ? [] : [linked])], result: { id: record.id } }
    }),
  respond: (result, input) => Effect.map(renderById(serviceRecordResource, result.id, [], viewContext(input)), created)
})
