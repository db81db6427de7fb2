/** What runs until it is stopped: the first signal asks it to end, the next one ends it at once. */
import { exit_codes } from "./exit-codes.ts"

interface StopSignals {
  readonly stop: AbortController
  /** What to exit with: interrupted after SIGINT, else ok. */
  readonly code: () => number
}

/** Takes the place of what the program does about these signals otherwise. */
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
