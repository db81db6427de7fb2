/** What callers are told of limits: 429 where one is reached, and headers of every answer. */
import { Rejection } from "../../core/kernel/rejection.ts"
import type { RateLimitState } from "./minute.ts"
import type { QuotaState } from "./quota.ts"

export const tooMany = (standing: RateLimitState, message: string): Rejection =>
  new Rejection({
    kind: "too_many",
    message,
    headers: {
      "retry-after": String(standing.retry_after_seconds),
      "x-ratelimit-reset": String(standing.reset_at_seconds)
    }
  })

const counted = new Intl.NumberFormat("en-GB")
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" })

/** `own_limit`: the limit is the token's, not the setting's. */
export const quotaUsed = (state: QuotaState, own_limit: boolean): Rejection => {
  const { limit, reset_at_seconds, retry_after_seconds, used, weight } = state
  const units = `${counted.format(used)} of this month's ${counted.format(limit)} units are used`
  const too_heavy = used < limit ? `, and this request needs ${counted.format(weight)}` : ""
  const anew = `It begins anew on ${day.format(reset_at_seconds * 1000)}, 00:00 UTC`
  const raise = own_limit
    ? "an administrator may raise the token's monthly_units"
    : "an administrator may raise the setting api.monthly_units, or give the token monthly_units of its own"
  return new Rejection({
    kind: "too_many",
    message: `${units}${too_heavy}. ${anew}; ${raise}.`,
    headers: { "retry-after": String(retry_after_seconds) }
  })
}

export const limitHeaders = (
  standing: RateLimitState | undefined,
  quota: QuotaState | undefined
): { readonly [name: string]: string } => ({
  ...(standing === undefined
    ? {}
    : { "x-ratelimit-limit": String(standing.limit), "x-ratelimit-remaining": String(standing.remaining) }),
  ...(quota === undefined
    ? {}
    : {
        "x-quota-limit": String(quota.limit),
        "x-quota-remaining": String(quota.remaining),
        "x-quota-reset": String(quota.reset_at_seconds)
      })
})
