/** Rate limits: a number of requests in each fixed minute (rules/conventions 10), counted in this process. */

export interface RateLimitState {
  readonly limit: number
  readonly remaining: number
  /** True when this request is one too many. */
  readonly exceeded: boolean
  /** When the next minute begins: seconds from now, and seconds since 1970. */
  readonly retry_after_seconds: number
  readonly reset_at_seconds: number
}
export interface RateLimiter {
  /** Counts a request of `who` in the minute of `now` (milliseconds since 1970). */
  readonly count: (who: string | number, limit: number, now: number) => RateLimitState
  /** The state of `who` without counting a request. */
  readonly look: (who: string | number, limit: number, now: number) => RateLimitState
}

const minute = 60_000

/** Counts are cleared with each new minute, so memory holds no more than the clients of one minute. */
export const makeRateLimiter = (): RateLimiter => {
  let current = -1
  const counts = new Map<string | number, number>()
  const stand = (who: string | number, limit: number, now: number, more: 0 | 1): RateLimitState => {
    const window = Math.floor(now / minute)
    if (window !== current) {
      counts.clear()
      current = window
    }
    const asked = (counts.get(who) ?? 0) + more
    if (more > 0) counts.set(who, asked)
    const reset = (window + 1) * minute
    return {
      limit,
      remaining: Math.max(0, limit - asked),
      exceeded: more > 0 ? asked > limit : asked >= limit,
      retry_after_seconds: Math.max(1, Math.ceil((reset - now) / 1000)),
      reset_at_seconds: Math.ceil(reset / 1000)
    }
  }
  return { count: (who, limit, now) => stand(who, limit, now, 1), look: (who, limit, now) => stand(who, limit, now, 0) }
}
