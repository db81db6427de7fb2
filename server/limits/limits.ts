/** The limits of one server process: shared with the others on Postgres, by itself on SQLite. */
import { Context, Duration, Effect } from "effect"
import type { Failure } from "../../core/kernel/endpoint.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import type { Log } from "../log.ts"
import { makeLocalRateLimiter, makeSharedRateLimiter, type RateLimiter, type Taken, type Taking } from "./minute.ts"
import { MonthHoldings, monthUnits } from "./month.ts"
import { makeMonthQuota, type MonthQuota } from "./quota.ts"
import { dropOldMinutes, takeOfMinute, takeOfMonth } from "./shared.ts"

export interface Limits {
  readonly rate: RateLimiter
  readonly quota: MonthQuota
  /** For those who record what was answered. */
  readonly services: Context.Context<never>
}
export interface LimitsOptions {
  /** Several processes may serve one database. */
  readonly shared: boolean
  readonly run: <A>(effect: Effect.Effect<A, unknown, Store>) => Promise<A>
  readonly log: Log
}

/** A request does not wait longer for a counter: it is counted by this process alone then. */
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
