/** What span a question is about: the dates of a query string, read on the store's own clock (rules/availability 4 and 6.3). */
import { Effect } from "effect"
import type { Json, JsonObject } from "../kernel/json.ts"
import { type FieldErrors, invalidField, type Rejection } from "../kernel/rejection.ts"
import { dayOfMoment, daysInclusive, type LocalMoment, momentOf, type Period } from "../values/period.ts"
import { KitNestedTooDeep } from "./kits.ts"
import { KitTooLarge } from "./line-demands.ts"
import { TooManySlots } from "./slots.ts"

const isSent = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && (typeof value !== "string" || value.trim() !== "")
const isPlainDate = (value: Json | undefined): boolean =>
  typeof value === "string" && /^\s*\d{4}-\d{2}-\d{2}\s*$/.test(value)
const reversed: FieldErrors = { to: ["The to field must be a date on or after from."] }

/** `to` before `from`, as far as it can be told before the store's zone is known. */
export const inOrderCheck = (values: JsonObject, body: JsonObject): FieldErrors =>
  isPlainDate(body["from"]) === isPlainDate(body["to"]) &&
  typeof values["from"] === "string" &&
  typeof values["to"] === "string" &&
  values["to"] < values["from"]
    ? reversed
    : {}

/** Either `date`, or `from` and `to`. */
export const dateOrRangeCheck = (values: JsonObject, body: JsonObject): FieldErrors => {
  const [date, from, to] = [isSent(body["date"]), isSent(body["from"]), isSent(body["to"])]
  if (date) {
    const both = (name: string): ReadonlyArray<string> => [`The ${name} field cannot be given together with date.`]
    return { ...(from ? { from: both("from") } : {}), ...(to ? { to: both("to") } : {}) }
  }
  if (!from && !to) return { date: ["The date field is required unless from and to are given."] }
  return {
    ...(from ? {} : { from: ["The from field is required when to is given."] }),
    ...(to ? {} : { to: ["The to field is required when from is given."] }),
    ...inOrderCheck(values, body)
  }
}

/** A field the kernel has already found to be a date or a time, with its plain date kept. */
export const momentIn = (body: JsonObject, name: string, zone: string): LocalMoment => {
  const moment = momentOf(String(body[name]), zone)
  if (moment === undefined) throw new Error(`${name} was checked and is no date`)
  return moment
}

export interface Span {
  readonly from: LocalMoment
  readonly to: LocalMoment
}
/** `from` and `to`; 422 on `to` when it lies before `from` or further than `days_max` days after it. */
export const spanIn = (
  body: JsonObject,
  zone: string,
  days_max = Number.POSITIVE_INFINITY
): Effect.Effect<Span, Rejection> => {
  const span = { from: momentIn(body, "from", zone), to: momentIn(body, "to", zone) }
  if (span.to.at < span.from.at) return Effect.fail(invalidField("to", reversed["to"]![0]!))
  return daysInclusive(dayOfMoment(span.from, zone), dayOfMoment(span.to, zone)) - 1 > days_max
    ? Effect.fail(invalidField("to", `The window must not be longer than ${days_max} days.`))
    : Effect.succeed(span)
}

const marginMillis = 2 * 86_400_000
/** The window with the days around it: whatever slots or days it is cut into lie inside. */
export const withMargin = ({ from, to }: Period): Period => ({ from: from - marginMillis, to: to + marginMillis })

/** Counts; a window of too many slots and a kit nested too deeply are told as what they are, on the fields to blame. */
export const rejectingLimits = <A>(
  count: () => A,
  fields: { readonly window: string; readonly product: string } = { window: "to", product: "product_id" }
): Effect.Effect<A, Rejection> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(count())
    } catch (thrown) {
      if (thrown instanceof TooManySlots) return Effect.fail(invalidField(fields.window, thrown.message))
      if (thrown instanceof KitNestedTooDeep || thrown instanceof KitTooLarge)
        return Effect.fail(invalidField(fields.product, thrown.message))
      throw thrown
    }
  })
