/** Outcome of a job's failed attempt: pure. */
import { Cause } from "effect"
import { printableLine } from "../../../core/values/text.ts"
import { type AnyJobKind, GivenUp } from "../../ports/job-kind.ts"

interface FailedAttempt {
  /** Why, in one line for people. */
  readonly error: string
  /** A defect of ours rather than something that was to be expected. */
  readonly is_defect: boolean
  /** Undefined: no further attempt follows. */
  readonly wait_seconds: number | undefined
}

export const failedAttempt = (
  kind: Pick<AnyJobKind, "attempts_max" | "waits_seconds">,
  job_id: string,
  attempt: number,
  cause: Cause.Cause<unknown>
): FailedAttempt => {
  const failure = Cause.squash(cause)
  const is_over = failure instanceof GivenUp || attempt >= kind.attempts_max
  return {
    error: lineOf(failure),
    is_defect: cause.reasons.some((reason) => reason._tag === "Die"),
    wait_seconds: is_over ? undefined : waitSeconds(kind.waits_seconds, job_id, attempt)
  }
}

const default_wait_seconds = 60
/** The wait after an attempt, with 0 to 10 % added that depend on job and attempt alone. */
export const waitSeconds = (waits_seconds: ReadonlyArray<number>, job_id: string, attempt: number): number => {
  const wait = waits_seconds[attempt - 1] ?? waits_seconds.at(-1) ?? default_wait_seconds
  return wait * (1 + spread(`${job_id} ${attempt}`) / 10)
}
/** From 0 to below 1, evenly over texts (FNV-1a). */
const spread = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0
  // Texts that differ at their end only differ in the low bits until these are mixed in.
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b) >>> 0
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32
}

const line_characters_max = 500
/** A failure in one line for people: its message, without a stack. */
export const lineOf = (failure: unknown): string => {
  const message =
    typeof failure === "string"
      ? failure
      : typeof failure === "object" && failure !== null && "message" in failure
        ? String(failure.message)
        : ""
  return clean(message) || "It failed without saying why."
}
const clean = (text: string): string => {
  const line = printableLine(text.replace(/\s+/g, " ").trim())
  return line.length > line_characters_max ? `${line.slice(0, line_characters_max - 1)}…` : line
}

export const ended_with_server = "The server ended during the last attempt."

/** The error that is stored with a job, as it is shown: the queue itself writes whole stacks. */
export const shownError = (stored: string | null): string | null => {
  if (stored === null) return null
  if (stored.startsWith("Lock expired after final attempt")) return ended_with_server
  // A Schema says `at ["word"]`, which belongs to its message.
  const [first = ""] = stored.split(/\n\s*at (?!\[)/)
  return clean(first.replace(/^(?:\w*Error|Error): /, "")) || "It failed without saying why."
}
