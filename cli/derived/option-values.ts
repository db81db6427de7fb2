/**
 * Values that completion offers for flags and arguments, registered where these are created: commander would validate
 * its own choices, with its own messages.
 */
import type { Argument, Option } from "commander"

export interface OfferedValues {
  /** The table whose rows it names. */
  readonly table?: string
  /** Words it may be. */
  readonly words?: ReadonlyArray<string>
}
const noted = new WeakMap<Option | Argument, OfferedValues>()
export const withValues = <T extends Option | Argument>(made: T, values: OfferedValues): T => {
  noted.set(made, values)
  return made
}
export const valuesOf = (made: Option | Argument): OfferedValues => noted.get(made) ?? {}
