/** Stop signals for commands that run until stopped: the first ends them gracefully, a second of its kind at once. */
import { exit_codes } from "./exit-codes.ts"

interface StopSignals {
  readonly stop: AbortController
  /** Exit code: interrupted after SIGINT, else ok. */
  readonly code: () => number
}

/** Replaces the program's other handlers of stop signals. */
export const stopOnSignals = (): StopSignals => {
  const stop = new AbortController()
  let code: number = exit_codes.ok
  for (const [signal, ends_with] of [
    ["SIGTERM", exit_codes.ok],
    ["SIGHUP", exit_codes.ok],
    ["SIGINT", exit_codes.interrupted]
  ] as const) {
    process.removeAllListeners(signal)
    process.once(signal, () => {
      code = ends_with
      stop.abort()
      process.once(signal, () => process.exit(ends_with))
    })
  }
  return { stop, code: () => code }
}
