/** Limits the bytes of long bodies in memory at a time: each is held several times over until it is answered. */
import { json_body_bytes_max } from "../../core/kernel/fields/input.ts"

/** Enough for one of the longest bodies and some shorter ones. */
const long_bodies_bytes_max = 96 * 1_048_576

export interface BodyBudget {
  /**
   * Reserves bytes for a body and returns the function that releases them; undefined when too few are left. Bodies
   * within the ordinary limit are not counted.
   */
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
