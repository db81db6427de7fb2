/**
 * Rate limits: requests per fixed minute (rules/conventions 10). On SQLite the one process counts in memory. On
 * Postgres each process reserves from a shared counter before admitting requests, so that together they never exceed
 * the limit while the database answers.
 */
import type { MonthQuota, OutageOptions, QuotaState, TakenUnits, TakingUnits } from "./limit-quota.ts"
import { makeMonthQuota, makeOutage, unitsGrantedSql } from "./limit-quota.ts"
import { Rejection, Store, type Failure } from "../../core/kernel/index.ts"
import { Context, Duration, Effect } from "effect"
import type { SqlError } from "effect/sql"
import { MonthHoldings, monthKey, monthUnits } from "./limit-month.ts"
import type { Log } from "../ports/log.ts"

export interface RateLimitState {
  readonly limit: number
  readonly remaining: number
  /** Whether this request exceeds the limit. */
  readonly exceeded: boolean
  /** Start of the next minute: seconds from now, and seconds since 1970. */
  readonly retry_after_seconds: number
  readonly reset_at_seconds: number
}
interface RateLimiter {
  /**
   * Counts a request of `who` in the minute of `now` (milliseconds since 1970), unless it exceeds the limit. Returns a
   * promise, which never rejects, if the shared counter must be queried.
   */
  readonly count: (who: string | number, limit: number, now: number) => RateLimitState | Promise<RateLimitState>
  /** State of `who` as known here, without counting a request. */
  readonly look: (who: string | number, limit: number, now: number) => RateLimitState
}

const minute = 60_000

const stateOf = (limit: number, remaining: number, exceeded: boolean, now: number): RateLimitState => {
  const reset = (Math.floor(now / minute) + 1) * minute
  return {
    limit,
    remaining: Math.max(0, remaining),
    exceeded,
    retry_after_seconds: Math.max(1, Math.ceil((reset - now) / 1000)),
    reset_at_seconds: Math.ceil(reset / 1000)
  }
}

/** State per client, cleared each minute, so that it holds one minute's clients at most. */
const makeMinuteMap = <A>(make: () => A) => {
  let current = -1
  const kept = new Map<string | number, A>()
  const begun = (now: number): number => {
    const window = Math.floor(now / minute)
    // A request in progress when the minute began counts in the new one: it must not reset the state.
    if (window === current || window === current - 1) return current
    kept.clear()
    current = window
    return current
  }
  return {
    /** Returns the minute (since 1970) in which a request of this instant counts. */
    begun,
    known: (who: string | number, now: number): A | undefined => {
      begun(now)
      return kept.get(who)
    },
    of: (who: string | number, now: number): A => {
      begun(now)
      let one = kept.get(who)
      if (one === undefined) kept.set(who, (one = make()))
      return one
    }
  }
}

/** A limiter that counts in this process alone. */
export const makeLocalRateLimiter = (): RateLimiter => {
  const counts = makeMinuteMap(() => ({ used: 0 }))
  return {
    count: (who, limit, now) => {
      const count = counts.of(who, now)
      if (count.used >= limit) return stateOf(limit, 0, true, now)
      count.used++
      return stateOf(limit, limit - count.used, false, now)
    },
    look: (who, limit, now) => {
      const used = counts.known(who, now)?.used ?? 0
      return stateOf(limit, limit - used, used >= limit, now)
    }
  }
}

/** A process reserves at most the remainder divided by this, unless its requests need more. */
const part_of_remaining = 8
/**
 * Number granted to a process that needs `needed` and has used `used` in this minute: the need or, if more, the lesser
 * of `used` and an eighth of the remainder, but no more than remains. A process that falls silent leaves little unused.
 */
export const grantOf = (remaining: number, needed: number, used: number): number =>
  Math.max(0, Math.min(remaining, Math.max(needed, Math.min(used, Math.floor(remaining / part_of_remaining)))))
/** `grantOf` in SQL with integers. */
const grantSql = (remaining: string, needed: string, used: string): string =>
  `greatest(0, least(${remaining}, greatest(${needed}, least(${used}, (${remaining}) / ${part_of_remaining}))))`

interface Taking {
  readonly who: string | number
  /** Minutes since 1970. */
  readonly minute: number
  readonly limit: number
  readonly needed: number
  readonly used: number
}
interface Taken {
  readonly granted: number
  /** Total of all processes, including the grant. */
  readonly taken: number
}
interface SharedMinutes extends OutageOptions {
  /** Reserves {@link grantOf} of the remainder of the shared counter. */
  readonly take: (taking: Taking) => Promise<Taken>
}

interface Waiting {
  readonly now: number
  readonly resolve: (state: RateLimitState) => void
}
interface Share {
  limit: number
  /** Number taken by all processes, as far as known here. */
  taken: number
  /** Number reserved by this process. */
  held: number
  used: number
  asking: boolean
  waiting: Array<Waiting>
}
const newShare = (): Share => ({ limit: 0, taken: 0, held: 0, used: 0, asking: false, waiting: [] })

const remainingOf = ({ held, taken, used }: Share, limit: number): number => limit - Math.max(taken, held) + held - used
const stands = (share: Share, exceeded: boolean, now: number): RateLimitState =>
  stateOf(share.limit, exceeded ? 0 : remainingOf(share, share.limit), exceeded, now)
const admit = (share: Share, now: number): RateLimitState => {
  share.used++
  return stands(share, false, now)
}
const admitAlone = (share: Share, now: number): RateLimitState => {
  if (share.used >= share.limit) return stands(share, true, now)
  share.held = Math.max(share.held, share.used + 1)
  return admit(share, now)
}
const answerWaiting = (share: Share): void => {
  const served = share.waiting.splice(0, Math.max(0, share.held - share.used))
  for (const { now, resolve } of served) resolve(admit(share, now))
  // Reservations are not returned within the minute.
  if (share.taken < share.limit) return
  for (const { now, resolve } of share.waiting.splice(0)) resolve(stands(share, true, now))
}

/** Shares each limit with other processes. Requests that arrive during a query of the counter wait for its result. */
export const makeSharedRateLimiter = ({ take, ...failing }: SharedMinutes): RateLimiter => {
  const shares = makeMinuteMap(newShare)
  const outage = makeOutage(failing)

  const ask = async (who: string | number, share: Share, window: number): Promise<void> => {
    share.asking = true
    while (share.waiting.length > 0) {
      try {
        const { limit, used, waiting } = share
        const { granted, taken } = await take({ who, minute: window, limit, needed: waiting.length, used })
        outage.answered()
        if (share.limit >= limit) share.held += granted
        share.taken = taken
      } catch (error) {
        outage.failed(error)
        for (const { now, resolve } of share.waiting.splice(0)) resolve(admitAlone(share, now))
      }
      answerWaiting(share)
    }
    share.asking = false
  }

  return {
    count: (who, limit, now) => {
      const share = shares.of(who, now)
      // Reservations made under a higher limit may exceed the current one.
      if (limit < share.limit) share.held = share.used
      share.limit = limit
      if (share.waiting.length === 0) {
        if (share.used < share.held) return admit(share, now)
        if (share.taken >= limit) return stands(share, true, now)
        if (outage.lasts()) return admitAlone(share, now)
      }
      return new Promise((resolve) => {
        share.waiting.push({ now, resolve })
        if (!share.asking) void ask(who, share, shares.begun(now))
      })
    },
    look: (who, limit, now) => {
      const share = shares.known(who, now)
      const remaining = share === undefined ? limit : remainingOf(share, limit)
      return stateOf(limit, remaining, remaining <= 0, now)
    }
  }
}

// Rejections of requests beyond a limit: 429.

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

/** 429 for an exceeded quota. `own_limit`: whether the limit is the token's rather than the setting's. */
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

// Counters shared by all processes on one Postgres: a process reserves from them in one statement.

/** Reserves from a minute's limit. Its commit does not wait for the disk: a crash of Postgres loses recent counts. */
const takeOfMinute = Effect.fnUntraced(function* ({
  who,
  minute,
  limit,
  needed,
  used
}: Taking): Effect.fn.Return<Taken, SqlError.SqlError, Store> {
  const first = grantSql("$3::bigint", "$4::bigint", "$5::bigint")
  const more = grantSql("$3::bigint - w.taken", "$4::bigint", "$5::bigint")
  const [row] = yield* Store.run<{ granted: number; taken: number }>(
    `with quick as materialized (select set_config('synchronous_commit', 'off', true)) ` +
      `insert into rate_windows as w (id, minute, taken, granted) ` +
      `select $1::text, $2::bigint, ${first}, ${first} from quick ` +
      `on conflict (id) do update set taken = w.taken + ${more}, granted = ${more} returning granted, taken`,
    [`${minute} ${who}`, minute, limit, needed, used]
  )
  return { granted: Number(row?.granted ?? 0), taken: Number(row?.taken ?? limit) }
})

/** Minutes whose counts are kept, for processes with slow clocks. */
const minutes_kept = 5
const dropOldMinutes = (minute: number): Effect.Effect<void, SqlError.SqlError, Store> =>
  Effect.asVoid(Store.run("delete from rate_windows where minute < $1", [minute - minutes_kept]))

/** Reserves from a month's quota. */
const takeOfMonth = Effect.fnUntraced(function* ({
  token_id,
  month,
  limit,
  needed,
  used
}: TakingUnits): Effect.fn.Return<TakenUnits, SqlError.SqlError, Store> {
  const first = unitsGrantedSql("$4::bigint", "$5::bigint", "$6::bigint")
  const more = unitsGrantedSql("($4::bigint - m.units)", "$5::bigint", "$6::bigint")
  const [row] = yield* Store.run<{ granted: number; units: number }>(
    `insert into month_units as m (id, month, personal_access_token_id, units, granted) ` +
      `values ($1::text, $2::text, $3::bigint, ${first}, ${first}) ` +
      `on conflict (id) do update set units = m.units + ${more}, granted = ${more} returning granted, units`,
    [monthKey(month, token_id), month, token_id, limit, needed, used]
  )
  const granted = Number(row?.granted ?? 0)
  const units = Number(row?.units ?? 0)
  return { granted: units - granted + needed > limit ? undefined : granted, units }
})

// Limits of one server process: shared with the others on Postgres, separate on SQLite.

export interface Limits {
  readonly rate: RateLimiter
  readonly quota: MonthQuota
  /** Services for slices that record responses. */
  readonly services: Context.Context<never>
}
interface LimitsOptions {
  /** Whether several processes may serve the database. */
  readonly shared: boolean
  readonly run: <A>(effect: Effect.Effect<A, unknown, Store>) => Promise<A>
  readonly log: Log
}

/** Time limit for querying a counter; afterwards the request is counted by this process alone. */
const patience = Duration.seconds(2)
const swept_every_minutes = 5

export const makeLimits = ({ shared, run, log }: LimitsOptions): Limits => {
  const soon = <A>(effect: Effect.Effect<A, Failure, Store>): Promise<A> => run(Effect.timeout(effect, patience))
  const failed =
    (counted: string) =>
    (error: unknown): void =>
      log.at("warn", "limits are not shared with other servers: the database does not answer", { counted, error })
  let swept_at = -Infinity
  const take = (taking: Taking): Promise<Taken> => {
    if (taking.minute - swept_at >= swept_every_minutes) {
      swept_at = taking.minute
      void run(dropOldMinutes(taking.minute)).catch(failed("minutes that are over"))
    }
    return soon(takeOfMinute(taking))
  }
  const quota = makeMonthQuota({
    take: shared ? (taking) => soon(takeOfMonth(taking)) : undefined,
    read: async (token_id, month) => (await soon(monthUnits([token_id], month))).get(token_id) ?? 0,
    failed: failed("units of the month")
  })
  return {
    rate: shared ? makeSharedRateLimiter({ take, failed: failed("requests a minute") }) : makeLocalRateLimiter(),
    quota,
    services: Context.make(MonthHoldings, quota)
  }
}
