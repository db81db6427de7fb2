/** Whether a moment that a person or another program names has come: one rule for money, papers, goods and scans. */
import { plusMinutes } from "./time.ts"

/** Clocks of machines differ by this much at most; what is said to be later than that has not happened yet. */
const clocks_apart_minutes = 5
/** Nothing moves, and nothing is issued, in the future. */
export const isInFuture = (at: string, now: string): boolean => at > plusMinutes(now, clocks_apart_minutes)
