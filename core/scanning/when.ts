/** When something was scanned, as whoever scanned it says: what offline devices send was true some time ago. */
import { Result } from "effect"
import type { Rejection } from "../kernel/rejection.ts"
import { isInFuture } from "../values/future.ts"
import { plusDays } from "../values/time.ts"
import { refuse, type Wanted } from "./wanted.ts"

/** No device is without its server for longer: an earlier time is a clock that was never set, or a slip. */
const days_back_max = 366
const way_out = "leave it out where the scan is now."

export const timeTold = ({ at, is_time_told }: Wanted, now: string): Result.Result<void, Rejection> =>
  !is_time_told
    ? Result.succeed(undefined)
    : isInFuture(at, now)
      ? refuse("scanned_at", `The scanned at field must not be in the future; ${way_out}`)
      : at < plusDays(now, -days_back_max)
        ? refuse("scanned_at", `The scanned at field must not be more than a year ago; ${way_out}`)
        : Result.succeed(undefined)

/**
 * The later one of when it was scanned and of what it was before that. Times a few minutes apart come of two clocks;
 * so does what the device's clock alone tells. What is scanned now is as it is, whatever was said of the step before.
 * 422 `scanned_at` for an earlier time that somebody told.
 */
const notBefore = (
  { at, is_time_told }: Wanted,
  before: string | null,
  now: string,
  refusal: (before: string) => string
): Result.Result<string, Rejection> =>
  before === null || before <= at
    ? Result.succeed(at)
    : !isInFuture(before, at)
      ? Result.succeed(before)
      : is_time_told
        ? refuse("scanned_at", `${refusal(before)}; ${way_out}`)
        : Result.succeed(before <= now ? before : at)

/** When it came back: never before it went out. */
export const returnedAt = (wanted: Wanted, name: string, dispatched_at: string | null, now: string) =>
  notBefore(wanted, dispatched_at, now, (at) => `${name} went out at ${at} and cannot be back before that`)
/** When it was looked at: never before it came back. */
export const checkedAt = (wanted: Wanted, name: string, returned_at: string | null, now: string) =>
  notBefore(wanted, returned_at, now, (at) => `${name} came back at ${at} and cannot be checked before that`)
/** When it went out: never before it came back the last time, from whichever order. */
export const dispatchedAt = (wanted: Wanted, name: string, returned_at: string | null, now: string) =>
  notBefore(wanted, returned_at, now, (at) => `${name} came back at ${at} and cannot go out before that`)
