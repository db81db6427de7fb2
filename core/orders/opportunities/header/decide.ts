/** Making an opportunity and changing its header (rules/opportunities 3 to 5). */
import { Result } from "effect"
import { type CustomFieldFacts, readCustomFields } from "../../../kernel/lists/custom-field.ts"
import type { DecideContext, Decided, Input } from "../../../kernel/endpoints/endpoint.ts"
import { type Json, type JsonObject, sameJson } from "../../../kernel/fields/field.ts"
import { initialRow } from "../../../kernel/endpoints/crud-resource.ts"
import { type FieldErrors, invalid, reject, type Rejection } from "../../../kernel/fields/rejection.ts"
import { baseCurrency, type Settings, settingText } from "../../../kernel/events/settings.ts"
import { numberWritten } from "../../../setup/settings/numbering.ts"
import { formatDecimal } from "../../../values/decimal.ts"
import { type Customer, type DecisionState, type Owed, type Warned, withHeader } from "../state/aggregate.ts"
import { headerUpdated, opportunityCreated } from "../events/header.ts"
import { opportunities, type OpportunityRow } from "../tables/opportunities.ts"
import { recalculate } from "../state/recalculate.ts"
import { leftBehind } from "../state/left-behind.ts"
import { standingWarnings } from "../state/standing.ts"
import { requireTransition } from "../tables/statuses.ts"

/** Facts about the rows that a header refers to. */
interface HeaderFacts {
  readonly customer: Customer | undefined
  readonly addresses: ReadonlyArray<{ readonly id: number; readonly member_id: number }>
  readonly custom: CustomFieldFacts
}
interface CreateFacts extends HeaderFacts {
  /** Undefined: no exchange rate to the base currency is known. */
  readonly exchange_rate: string | undefined
  readonly surcharge_group_ids: ReadonlyArray<number>
  readonly owed?: Owed | undefined
}
type Values = Partial<OpportunityRow>

/**
 * Errors for ends before their starts; the phases of a job are not checked (rules/opportunities 4). Reported along with
 * errors of single fields.
 */
export const windowErrors = (values: JsonObject): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  for (const prefix of ["", "charge_"]) {
    const start = values[`${prefix}starts_at`],
      end = values[`${prefix}ends_at`]
    if (typeof start === "string" && typeof end === "string" && end < start) {
      errors[`${prefix}ends_at`] = [
        `The ${prefix.replace("_", " ")}ends at field must be a date after or equal to ${prefix.replace("_", " ")}starts at.`
      ]
    }
  }
  return errors
}

/** Customers are organisations, and contacts (private persons) where the setting allows them. */
export const mayHire = (customer: Pick<Customer, "membership_type"> | undefined, settings: Settings): boolean =>
  customer?.membership_type === "organisation" ||
  (customer?.membership_type === "contact" && settings["opportunities"]?.["contacts_as_customers"] === true)

/** The customer must be one who may hire; addresses must be the customer's. */
const headerErrors = (next: Values, sent: Values, facts: HeaderFacts, settings: Settings): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = { ...windowErrors(next as JsonObject) }
  if (typeof sent.member_id === "number" && !mayHire(facts.customer, settings))
    errors["member_id"] = [
      facts.customer?.membership_type === "contact"
        ? "The selected member is a contact; the setting opportunities.contacts_as_customers lets contacts hire."
        : "The selected member is not an organisation."
    ]
  for (const field of ["delivery_address_id", "collection_address_id"] as const) {
    const id = sent[field]
    if (typeof id !== "number") continue
    const address = facts.addresses.find((one) => one.id === id)
    if (address === undefined || address.member_id !== next.member_id)
      errors[field] = ["The selected address does not belong to the member."]
  }
  return errors
}

/** One sequence per store, or one for all (rules/opportunities 3). */
export const nextNumber = (store_id: number | null, settings: Settings, context: DecideContext): string | null => {
  const is_shared = store_id === null || settingText(settings, "opportunities", "number_scope") === "global"
  const number = context.number(is_shared ? "opportunity" : `opportunity:store:${store_id}`)
  return number === null ? null : numberWritten("opportunity", number, { settings, store_id })
}

/** The exchange rate as stored: ten decimals. 422 on `currency` when none is known. */
export const snapshotRate = (rate: string | undefined, currency: string): Result.Result<string, Rejection> =>
  rate === undefined
    ? reject("currency", `No exchange rate for ${currency} is known; enter one first.`)
    : Result.succeed(formatDecimal(rate, 10))

/** Totals from an estimate by hand, kept until there are lines or costs. */
const estimatedTotals = (charge_total: number): Values => ({
  charge_total,
  charge_excluding_tax_total: charge_total,
  charge_including_tax_total: charge_total
})

export const createOpportunity = (facts: CreateFacts, input: Input, context: DecideContext): Decided<Warned> =>
  Result.gen(function* () {
    const { currency, charge_total, prices_include_tax, surcharge_group_ids, ...sent } = input.values as Values & {
      currency?: string | null
    }
    const currency_code = currency ?? baseCurrency(context.settings)
    const errors = headerErrors(sent, sent, facts, context.settings)
    const custom = readCustomFields(facts.custom, input.body["custom_fields"], {}, "create")
    if (Object.keys({ ...errors, ...custom.errors }).length > 0)
      return yield* Result.fail(invalid({ ...errors, ...custom.errors }))
    const exchange_rate = yield* snapshotRate(facts.exchange_rate, currency_code)
    const row: OpportunityRow = {
      ...(initialRow(opportunities, {}) as OpportunityRow),
      ...sent,
      id: context.id(opportunities),
      custom_fields: custom.stored,
      number: nextNumber(sent.store_id ?? null, context.settings, context),
      state: 0,
      status: 0,
      currency_code,
      exchange_rate,
      prices_include_tax: prices_include_tax ?? context.settings["opportunities"]?.["prices_include_tax"] === true,
      surcharge_group_ids: surcharge_group_ids ?? facts.surcharge_group_ids,
      ...(typeof charge_total === "number" ? estimatedTotals(charge_total) : {})
    }
    const warnings = standingWarnings(facts.customer, facts.owed, row, context.settings)
    return { events: [opportunityCreated.make(row)], result: { id: row.id, warnings } }
  })

interface UpdateFacts extends HeaderFacts {
  readonly state: DecisionState
}
/** Fields that are absent stay. `state.customer` is the customer after the change. */
export const updateOpportunity = (
  { state, ...facts }: UpdateFacts,
  input: Input,
  context: DecideContext
): Decided<Warned> =>
  Result.gen(function* () {
    const { header } = state.opportunity
    yield* requireTransition(header, "edit")
    const { charge_total, ...sent } = input.values as Values
    const next = { ...header, ...sent }
    const errors = headerErrors(next, sent, facts, context.settings)
    const custom =
      "custom_fields" in input.body && input.body["custom_fields"] !== null
        ? readCustomFields(facts.custom, input.body["custom_fields"], header.custom_fields, "update")
        : undefined
    const all = { ...errors, ...custom?.errors }
    if (Object.keys(all).length > 0) return yield* Result.fail(invalid(all))
    const isUnpriced =
      state.opportunity.lines.length + state.opportunity.costs.length === 0 && header.deal_total === null
    const wanted: Values = {
      ...sent,
      ...(custom === undefined ? {} : { custom_fields: custom.stored }),
      ...(typeof charge_total === "number" && isUnpriced ? estimatedTotals(charge_total) : {})
    }
    const set = Object.fromEntries(
      Object.entries(wanted).filter(
        ([name, value]) => !sameJson((header[name as keyof OpportunityRow] ?? null) as Json, (value ?? null) as Json)
      )
    )
    // A request that changes nothing is still an entry of the activity, with empty values (rules/opportunities 4).
    if (Object.keys(set).length === 0)
      return { events: [headerUpdated(header, set)], result: { id: header.id, warnings: [] } }
    const retaxed = "member_id" in set
    const repriced = retaxed || "surcharge_group_ids" in set || "discount_rule_ids" in set
    const { events } = yield* recalculate(
      state,
      withHeader(state.opportunity, set),
      { taxed: retaxed, ...(repriced ? {} : { totals: false }) },
      context
    )
    return {
      events: [headerUpdated(header, set), ...events],
      result: {
        id: header.id,
        warnings: [
          ...leftBehind(state.opportunity, set),
          ...(retaxed ? standingWarnings(state.customer, state.owed, { ...header, ...set }, context.settings) : [])
        ]
      }
    }
  })
