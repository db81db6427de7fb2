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
 * When it came back: never before it went out. Times a few minutes apart come of two clocks, and the later one counts;
 * so it does where the device's clock alone tells the time. What is scanned now is here, whatever was said of its
 * departure.
 */
export const returnedAt = (
  { at, is_time_told }: Wanted,
  name: string,
  dispatched_at: string | null,
  now: string
): Result.Result<string, Rejection> =>
  dispatched_at === null || dispatched_at <= at
    ? Result.succeed(at)
    : !isInFuture(dispatched_at, at)
      ? Result.succeed(dispatched_at)
      : is_time_told
        ? refuse("scanned_at", `${name} went out at ${dispatched_at} and cannot be back before that; ${way_out}`)
        : Result.succeed(dispatched_at <= now ? dispatched_at : at)
