/**
 * Credit checks before a customer gets more: whether they are on stop or would exceed their limit (rules/opportunities
 * 4.4). The settings `opportunities.on_stop_policy` and `credit_limit_policy` decide between warning, refusal and
 * nothing.
 */
import { Effect, Result } from "effect"
import { baseCurrency, bindings, CommandRuntime, decodeValue, hasOnePermission } from "../../../kernel/index.ts"
import { invalid, settingText, Store, type Viewer } from "../../../kernel/index.ts"
import type { AnyRow, DecideContext, FieldErrors, NewEvent, Rejection, Settings, Table } from "../../../kernel/index.ts"
import { exact, roundHalfAway } from "../../../values/decimal.ts"
import { formatMoney, scaleOf } from "../../../values/money.ts"
import type { Customer, DecisionState, Owed } from "./aggregate.ts"
import { opportunities, order, statuses, type OpportunityRow } from "../tables/index.ts"
import type { LineShortage } from "../../availability/rules/line.ts"
import { shortageAcknowledged } from "../events/header.ts"

/** An amount in minor units of the base currency. `exchange_rate`: one unit of the currency in the base currency. */
const inBase = (minor: number, currency: string, exchange_rate: string, base: string): number =>
  roundHalfAway(
    exact(minor)
      .times(exact(exchange_rate))
      .times(exact(10).pow(scaleOf(base) - scaleOf(currency)))
  ).toNumber()

interface SumRow extends AnyRow {
  readonly currency_code: string
  readonly amount: number | string
}
/** Sum of a column in minor units of the base currency, from one row per currency and rate. */
const sumOf = Effect.fnUntraced(function* (
  table: Table,
  column: string,
  where: (bind: (value: unknown) => string) => string,
  base: string
): Store.Reads<number> {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const rows = yield* store.run<SumRow>(
    `select currency_code, exchange_rate, sum(${column}) as amount from ${table.name} ` +
      `where ${where(bind)} group by currency_code, exchange_rate`,
    values
  )
  return rows.reduce((sum, row) => {
    const rate = decodeValue(opportunities.columns.exchange_rate, row["exchange_rate"], store.dialect)
    return sum + inBase(Number(row.amount), row.currency_code, String(rate), base)
  }, 0)
})

/** Loads the customer's debt in two queries; undefined, without a query, if there is no credit limit. */
export const loadOwed = Effect.fnUntraced(function* (
  customer: Customer | undefined,
  opportunity_id: number | null,
  settings: Settings
): CommandRuntime.Reads<Owed | undefined> {
  if (customer === undefined || customer.credit_limit === null) return undefined
  const base = baseCurrency(settings)
  const orders = yield* sumOf(
    opportunities,
    "charge_including_tax_total",
    (bind) =>
      `member_id = ${bind(customer.id)} and state = ${bind(order)} and status <> ${bind(statuses.cancelled.status)} ` +
      `and invoiced = ${bind(false)} and deleted_at is null and id <> ${bind(opportunity_id ?? 0)}`,
    base
  )
  // The table is looked up by name, as billing is a later district that orders cannot import.
  const { catalogue } = yield* CommandRuntime
  const billed = catalogue.tables.find(({ name }) => name === "invoices")
  const invoices =
    billed === undefined
      ? 0
      : yield* sumOf(
          billed,
          "amount_outstanding",
          (bind) =>
            `member_id = ${bind(customer.id)} and status in (${["issued", "partially_paid"].map(bind).join(", ")}) ` +
            `and type <> ${bind("proforma")} and deleted_at is null`,
          base
        )
  return { orders, invoices }
})

/** Adds the customer's other debt to the state. */
export const withOwed = Effect.fnUntraced(function* (
  state: DecisionState,
  settings: Settings
): CommandRuntime.Reads<DecisionState> {
  return { ...state, owed: yield* loadOwed(state.customer, state.opportunity.header.id, settings) }
})

interface Concern {
  readonly policy: string
  readonly text: string
}
const concernsOf = (
  customer: Customer | undefined,
  owed: Owed | undefined,
  header: OpportunityRow,
  settings: Settings
): ReadonlyArray<Concern> => {
  if (customer === undefined) return []
  const concerns: Array<Concern> = []
  if (customer.is_on_stop)
    concerns.push({
      policy: settingText(settings, "opportunities", "on_stop_policy"),
      text: `${customer.name} is on stop: agree with whoever keeps the account before anything is promised.`
    })
  const { credit_limit } = customer
  if (credit_limit === null || owed === undefined) return concerns
  const base = baseCurrency(settings)
  const own = inBase(header.charge_including_tax_total, header.currency_code, header.exchange_rate, base)
  // An invoiced order is among the invoices.
  const total = owed.orders + owed.invoices + (header.invoiced ? 0 : own)
  if (total <= credit_limit) return concerns
  const money = (minor: number): string => `${formatMoney(Math.round(minor), base)} ${base}`
  concerns.push({
    policy: settingText(settings, "opportunities", "credit_limit_policy"),
    text:
      `${customer.name} would owe ${money(total)}, over the limit of ${money(credit_limit)}: ` +
      `invoices ${money(owed.invoices)}, other orders ${money(owed.orders)}, this ${money(header.invoiced ? 0 : own)}.`
  })
  return concerns
}
type Given = Parameters<typeof concernsOf>

export const standingWarnings = (...given: Given): ReadonlyArray<string> =>
  concernsOf(...given).flatMap(({ policy, text }) => (policy === "allow" ? [] : [text]))
/**
 * 422 on `member_id` if the policy for customers on stop or for the credit limit blocks; otherwise the warnings. For
 * conversion to an order and longer hires; other commands only warn.
 */
export const requireStanding = (...given: Given): Result.Result<ReadonlyArray<string>, Rejection> => {
  const blocked = concernsOf(...given).filter(({ policy }) => policy === "block")
  const errors: FieldErrors = { member_id: blocked.map(({ text }) => text) }
  return blocked.length > 0 ? Result.fail(invalid(errors)) : Result.succeed(standingWarnings(...given))
}

// A store's shortage policy, and records of acknowledgements (rules/opportunities 9.5).

type GatePolicy = "block" | "warn" | "allow"
/** The store's shortage policy, one step milder for users who may ignore shortages (rules/opportunities 9.5). */
export const gatePolicy = (
  state: DecisionState,
  viewer: Viewer
): { readonly store: GatePolicy; readonly effective: GatePolicy } => {
  const store = state.store?.shortage_policy ?? "warn"
  return {
    store,
    effective: !hasOnePermission(viewer, "shortages.ignore") ? store : store === "block" ? "warn" : "allow"
  }
}
/** Event of an acknowledged shortage. `permission_used`: whether the store's policy alone would have refused. */
export const acknowledgementOf = (
  id: number,
  opportunity_id: number,
  short: ReadonlyArray<LineShortage>,
  { notes, policy }: { readonly policy: ReturnType<typeof gatePolicy>; readonly notes: string | null },
  { now, viewer }: DecideContext
): NewEvent =>
  shortageAcknowledged.make({
    opportunity_id,
    id,
    user_id: viewer.user_id === 0 ? null : viewer.user_id,
    acknowledged_at: now,
    policy_at_time: policy.store,
    permission_used: policy.store !== policy.effective,
    shortages_snapshot: short.map((one) => ({ ...one })),
    notes
  })
/** Whether to warn of shortages: always, also users who may ignore them, unless the store's policy allows shortages. */
export const isTold = ({ store }: Pick<DecisionState, "store">): boolean => store?.shortage_policy !== "allow"
/** Text about the shortage; says so if only the user's permission to ignore shortages lets it pass. */
export const shortageToldText = (state: DecisionState, short: ReadonlyArray<LineShortage>, viewer: Viewer): string => {
  const { effective, store } = gatePolicy(state, viewer)
  const passes = "The store blocks shortages; your permission to ignore them lets this one through."
  return store === "block" && effective !== "block" ? `${shortageText(short)} ${passes}` : shortageText(short)
}
export const shortageText = (short: ReadonlyArray<LineShortage>): string =>
  `Stock is short: ${short
    .map((one) => `${one.product_name ?? `product ${one.product_id}`} by ${one.remaining_shortfall}`)
    .join(", ")}.`
