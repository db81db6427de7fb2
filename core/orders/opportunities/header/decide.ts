/** Rules for creating an opportunity and changing its header (rules/opportunities 3 to 5). */
import { baseCurrency, changedColumns, initialRow, invalid, readCustomFields, reject } from "../../../kernel/index.ts"
import { settingText, type CustomFieldFacts, type DecideContext, type Decided } from "../../../kernel/index.ts"
import { type FieldErrors, type Input, type JsonObject, type Rejection, type Settings } from "../../../kernel/index.ts"
import { Result } from "effect"
import { numberWritten } from "../../../setup/settings/groups.ts"
import { formatDecimal } from "../../../values/decimal.ts"
import { leftBehind, recalculate, standingWarnings, withHeader } from "../state/index.ts"
import type { Customer, DecisionState, Opportunity, Owed, Warned } from "../state/index.ts"
import { headerUpdated, opportunityCreated } from "../events/header.ts"
import { opportunities, phases, requireTransition, type ItemRow, type OpportunityRow } from "../tables/index.ts"
import { instantOf, instantOfWall, millisOf, plusDays, wallOf } from "../../../values/time.ts"

/** Facts about the rows that a header refers to. */
interface HeaderFacts {
  readonly customer: Customer | undefined
  readonly addresses: ReadonlyArray<{ readonly id: number; readonly member_id: number }>
  readonly custom: CustomFieldFacts
}
interface CreateFacts extends HeaderFacts {
  /** Undefined without an exchange rate to the base currency. */
  readonly exchange_rate: string | undefined
  readonly surcharge_group_ids: ReadonlyArray<number>
  readonly owed?: Owed | undefined
}
type Values = Partial<OpportunityRow>

/**
 * Errors for ends before their starts; phases of a job are not checked (rules/opportunities 4). Reported along with
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

/**
 * Whether a member may be a customer: organisations may, contacts (private persons) only if the setting allows them.
 */
export const mayHire = (customer: Pick<Customer, "membership_type"> | undefined, settings: Settings): boolean =>
  customer?.membership_type === "organisation" ||
  (customer?.membership_type === "contact" && settings["opportunities"]?.["contacts_as_customers"] === true)

/** Errors if the customer may not hire, or an address is not the customer's. */
const headerErrors = (next: Values, sent: Values, facts: HeaderFacts, settings: Settings): FieldErrors => {
  const errors: { [field: string]: ReadonlyArray<string> } = { ...windowErrors(next) }
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

/** The next number, of one sequence per store or one for all; null on devices (rules/opportunities 3). */
export const nextNumber = (store_id: number | null, settings: Settings, context: DecideContext): string | null => {
  const is_shared = store_id === null || settingText(settings, "opportunities", "number_scope") === "global"
  const number = context.number(is_shared ? "opportunity" : `opportunity:store:${store_id}`)
  return number === null ? null : numberWritten("opportunity", number, { settings, store_id })
}

/** The exchange rate with ten decimals, as stored. 422 on `currency` if there is none. */
export const snapshotRate = (rate: string | undefined, currency: string): Result.Result<string, Rejection> =>
  rate === undefined
    ? reject("currency", `No exchange rate for ${currency} is known; enter one first.`)
    : Result.succeed(formatDecimal(rate, 10))

/** Totals of a manual estimate, which apply until there are lines or costs. */
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
    const custom = readCustomFields(facts.custom, input.body["custom_fields"])
    if (Object.keys({ ...errors, ...custom.errors }).length > 0)
      return yield* Result.fail(invalid({ ...errors, ...custom.errors }))
    const exchange_rate = yield* snapshotRate(facts.exchange_rate, currency_code)
    const row: OpportunityRow = {
      ...(initialRow(opportunities) as OpportunityRow),
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
/** Updates the header; absent fields are unchanged. `state.customer` is the customer after the change. */
export const updateOpportunity = (
  { state, ...facts }: UpdateFacts,
  input: Input,
  context: DecideContext
): Decided<Warned> =>
  Result.gen(function* () {
    const { header } = state.opportunity
    yield* requireTransition(header, "edit")
    const { charge_total, ...sent } = input.values
    const next = { ...header, ...sent }
    const errors = headerErrors(next, sent, facts, context.settings)
    const custom = readCustomFields(facts.custom, input.body["custom_fields"], header.custom_fields)
    const all = { ...errors, ...custom.errors }
    if (Object.keys(all).length > 0) return yield* Result.fail(invalid(all))
    const isUnpriced =
      state.opportunity.lines.length + state.opportunity.costs.length === 0 && header.deal_total === null
    const wanted: Values = {
      ...sent,
      custom_fields: custom.stored,
      ...(typeof charge_total === "number" && isUnpriced ? estimatedTotals(charge_total) : {})
    }
    const set = changedColumns(header, wanted)
    // Requests without changes are recorded as activity entries without values (rules/opportunities 4).
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

// Moves a hire to another time, as for a copy of last year's (rules/opportunities 5): dates keep their offset from the
// start, on the store's clock, and dates after the hire their offset from its end.

/** New start and end; null or absent: the start is unchanged, the end follows from the previous length. */
export interface NewDates {
  readonly starts_at?: string | null
  readonly ends_at?: string | null
}
type Shift = (instant: string) => string
type Shifted = <T extends string | null>(instant: T) => T | string

/** Returns a function that moves instants by the difference between two instants on the zone's clock. */
const shiftBy = (from: string, to: string, zone: string): Shift => {
  const by = wallOf(millisOf(to), zone) - wallOf(millisOf(from), zone)
  return by === 0
    ? (instant) => instant
    : (instant) => instantOf(instantOfWall(wallOf(millisOf(instant), zone) + by, zone))
}
const nullable =
  (shift: Shift): Shifted =>
  (instant) =>
    instant === null ? instant : shift(instant)

/** Phases of a job that come after the hire. */
const after_phases: ReadonlySet<string> = new Set(["takedown", "collect", "unload", "deprep"])

const ofHeader = (header: OpportunityRow, starts: Shifted, ends: Shifted): Partial<OpportunityRow> =>
  Object.fromEntries([
    ["charge_starts_at", starts(header.charge_starts_at)],
    ["charge_ends_at", ends(header.charge_ends_at)],
    ...phases.flatMap((phase) => {
      const move = after_phases.has(phase) ? ends : starts
      const names = [`${phase}_starts_at`, `${phase}_ends_at`] as const
      return names.map((name) => [name, move(header[name])] as const)
    })
  ])

/**
 * The opportunity moved to new dates; `zone`: the store's. 422 on `ends_at` if the hire or a line would end before it
 * begins, on `starts_at` if there is none.
 */
export const redated = (source: Opportunity, dates: NewDates, zone: string): Result.Result<Opportunity, Rejection> => {
  const { header } = source
  const starts_at = dates.starts_at ?? header.starts_at
  if ((dates.starts_at ?? null) === null && (dates.ends_at ?? null) === null) return Result.succeed(source)
  if (starts_at === null) return reject("starts_at", "It has no dates yet: give starts_at, too.")
  const starts = header.starts_at === null ? undefined : shiftBy(header.starts_at, starts_at, zone)
  const ends_at = dates.ends_at ?? (header.ends_at === null ? null : (starts ?? ((at) => at))(header.ends_at))
  const ends = header.ends_at === null || ends_at === null ? starts : shiftBy(header.ends_at, ends_at, zone)
  const line = (row: ItemRow): ItemRow => {
    if (row.item_type === "group") return row
    if (starts === undefined) return { ...row, starts_at, ends_at: ends_at ?? plusDays(starts_at, 1) }
    const own = nullable(starts)
    return {
      ...row,
      starts_at: row.starts_at === header.starts_at ? row.starts_at && starts_at : own(row.starts_at),
      ends_at: row.ends_at === header.ends_at ? row.ends_at && ends_at : own(row.ends_at)
    }
  }
  const lines = source.lines.map(line)
  const wrong = [{ name: "The hire", starts_at, ends_at }, ...lines].find(
    (one) => one.starts_at !== null && one.ends_at !== null && one.ends_at < one.starts_at
  )
  if (wrong !== undefined) return reject("ends_at", `${wrong.name} would end at ${wrong.ends_at}, before it begins.`)
  const moved = starts === undefined ? {} : ofHeader(header, nullable(starts), nullable(ends ?? starts))
  return Result.succeed({ ...source, header: { ...header, ...moved, starts_at, ends_at }, lines })
}
