/** How many bytes of long bodies this process holds at once: each is in memory several times over until it is answered. */
import { json_body_bytes_max } from "../core/kernel/body-limits.ts"

/** One of the longest, and something beside it. */
export const long_bodies_bytes_max = 96 * 1_048_576

export interface BodyBudget {
  /** Sets bytes aside for a body, and gives the way to give them back; undefined when there are not so many left now. Ordinary bodies are not counted. */
  readonly take: (bytes: number) => (() => void) | undefined
}

export const makeBodyBudget = (bytes_max = long_bodies_bytes_max): BodyBudget => {
  let taken = 0
  return {
    take: (bytes) => {
      if (bytes <= json_body_bytes_max) return () => {}
      if (taken > 0 && taken + bytes > bytes_max) return undefined
      taken += bytes
      return () => {
        taken -= bytes
        bytes = 0
      }
    }
  }
}
