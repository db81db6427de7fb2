/** Response of POST /products/{product}/calculate_rate, from body and facts. Pure (rules/rates 6.3). */
import { Result } from "effect"
import type { FieldErrors, Json, JsonObject } from "../../kernel/index.ts"
import { parseMoment } from "../../values/moment.ts"
import type { RateBreakdown, RateTransactionType } from "../pricing/modifiers.ts"
import { isRateTransactionType, rateTransactionTypes } from "../pricing/modifiers.ts"
import { calculateRate, noRateMethod, type PricedRate, resolveProductRate } from "../pricing/engine.ts"
import type { Step } from "./explain-step.ts"
import { explainCalculation, explainChoice } from "./explain.ts"

interface CalculateFacts {
  readonly rates: ReadonlyArray<PricedRate>
  readonly base_currency: string
  readonly store_exists: (store_id: number) => boolean
}

interface CalculateAnswer {
  readonly rate_breakdown: RateBreakdown
  readonly meta: {
    /** Whether a rate matched; otherwise the price is zero, which is not an error. */
    readonly resolved: boolean
    readonly rate_definition_id: number | null
    readonly product_rate_id: number | null
  }
  readonly explanation?: ReadonlyArray<Step>
}

interface CalculateQuestion {
  readonly quantity: number
  readonly start: string
  readonly end: string
  readonly transaction_type: RateTransactionType
  readonly store_id: number | null
}

/** Calculates the price of a hire; `explained`: with steps. Errors are keyed by field of the body. */
export const calculateEndpoint = (
  body: JsonObject,
  facts: CalculateFacts,
  explained = false
): Result.Result<CalculateAnswer, FieldErrors> =>
  Result.flatMap(readQuestion(body, facts), (question) => {
    const rate = resolveProductRate(facts.rates, question)
    const priced =
      rate === null
        ? { ...noRateMethod, price: 0, currency: facts.base_currency }
        : { ...rate.method, price: rate.price, currency: rate.currency }
    const { end, quantity, start } = question
    const request = { ...priced, start, end, quantity }
    return Result.map(calculateRate(request), (rate_breakdown) => ({
      rate_breakdown,
      meta: {
        resolved: rate !== null,
        rate_definition_id: rate?.rate_definition_id ?? null,
        product_rate_id: rate?.id ?? null
      },
      ...(explained ? { explanation: [explainChoice(facts.rates, question), ...explainCalculation(request)] } : {})
    }))
  })

const MAX_QUANTITY = 2_147_483_647

const readQuestion = (body: JsonObject, facts: CalculateFacts): Result.Result<CalculateQuestion, FieldErrors> => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const quantity = wholeNumber(body["quantity"])
  if (isAbsent(body["quantity"])) errors["quantity"] = ["The quantity field is required."]
  else if (quantity === undefined) errors["quantity"] = ["The quantity must be a whole number."]
  else if (quantity < 1 || quantity > MAX_QUANTITY) {
    errors["quantity"] = [`The quantity must be between 1 and ${MAX_QUANTITY}.`]
  }
  const { end, start } = body
  for (const [field, value] of [
    ["start", start],
    ["end", end]
  ] as const) {
    if (isAbsent(value)) errors[field] = [`The ${field} field is required.`]
    else if (momentOf(value) === undefined) errors[field] = [`The ${field} is not a valid date.`]
  }
  const from = momentOf(start)
  const to = momentOf(end)
  if (from !== undefined && to !== undefined && to.epoch_ms < from.epoch_ms) {
    errors["end"] = ["The end must be a date after or equal to start."]
  }
  // Must be lower case here, unlike in bodies that store a product rate.
  const transaction_type = isAbsent(body["transaction_type"]) ? "rental" : body["transaction_type"]
  if (!isRateTransactionType(transaction_type)) {
    errors["transaction_type"] = [
      `The transaction type must be one of: ${Object.keys(rateTransactionTypes).join(", ")}.`
    ]
  }
  const store_id = wholeNumber(body["store_id"])
  if (!isAbsent(body["store_id"]) && (store_id === undefined || !facts.store_exists(store_id))) {
    errors["store_id"] = ["The selected store does not exist."]
  }
  if (Object.keys(errors).length > 0 || quantity === undefined || !isRateTransactionType(transaction_type)) {
    return Result.fail(errors)
  }
  return Result.succeed({
    quantity,
    start: String(start),
    end: String(end),
    transaction_type,
    store_id: store_id ?? null
  })
}

const isAbsent = (value: Json | undefined): boolean => value === undefined || value === null || value === ""
const momentOf = (value: Json | undefined) => (typeof value === "string" ? parseMoment(value) : undefined)
const wholeNumber = (value: Json | undefined): number | undefined => {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined
  return typeof value === "string" && /^-?\d{1,15}$/.test(value.trim()) ? Number(value) : undefined
}
